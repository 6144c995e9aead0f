"""Chroma: vectors in a folder of this process, or on a server, searched by its graph.

A document is a record under its id. What filters look at is in its metadata as flags, so that a
document may hold several values of a field. The collection's own metadata says whether all
documents were sent: one whose vector is zero has no direction and is not, so counting would not
tell. A record is sent again as the same, so a load that was stopped is repeated over what is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question
from rankscope.retrieval.engines.filters import spellings
from rankscope.retrieval.engines.loaded import Batch
from rankscope.retrieval.engines.stored import ServedEngine, ServerOptions
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.registry import SYSTEMS, engine, engine_version
from rankscope.retrieval.web import LONGEST_ANSWER, WebError

_COMPLETE = {"rankscope_complete": True}
_LONGEST_VALUE = 100


class ChromaOptions(ServerOptions):
    """Where Chroma is, its graph, and how it is searched."""

    search: Literal["vector"] = "vector"
    """Vectors are compared."""
    tenant: Text = "default_tenant"
    """Of a server: whose databases are used."""
    database: Text = "default_database"
    """Of a server: in which database the collection is."""
    create: dict[str, Any] = Field(default_factory=dict)
    """Given to create_collection as the hnsw of its configuration: {max_neighbors: 16,
    ef_construction: 100, ef_search: 100}. ef_search belongs to a collection, too."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Given to each query as it is, such as {where_document: {$contains: soup}}."""


@SYSTEMS.add("chroma", ChromaOptions, summary="Chroma: vectors in a folder, or on a server")
class Chroma(ServedEngine):
    """A collection of Chroma."""

    kind, module, packages = "chroma", "chromadb", ("chromadb",)
    key_header, main_file = "x-chroma-token", "chroma.sqlite3"
    options: ChromaOptions
    _collection: Any = None

    # --- reaching it -----------------------------------------------------------------------------

    def open_folder(self, folder: Path) -> Any:
        """Return a client that keeps its files in a folder."""
        package = engine("chromadb", **self.package)
        return package.PersistentClient(str(folder), settings=self._settings())

    def open_server(self, url: str) -> tuple[Any, Callable[[], Any]]:
        """Make sure that the server and the database are there, and return a client."""
        tenant, database, parts = self.options.tenant, self.options.database, urlsplit(url)
        self.first_answer("/api/v2/heartbeat", "nanosecond heartbeat")
        place = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}"
        missing = f"is there a database {shown(database)} of the tenant {shown(tenant)}?"
        self.first_answer(place, "name", missing=missing)
        is_safe = parts.scheme == "https"
        client = engine("chromadb", **self.package).HttpClient(
            host=url if parts.path.strip("/") else str(parts.hostname),
            port=parts.port or (443 if is_safe else 80),
            ssl=is_safe,
            headers=self.headers,
            settings=self._settings(chroma_server_ssl_verify=self.options.verify),
            tenant=tenant,
            database=database,
        )
        # the client neither limits its connections in time nor closes them
        servers: list[Any] = [client._server, client._admin_client._server]
        sessions = [server._session for server in servers]
        for session in sessions:
            session.timeout = LONGEST_ANSWER
        return client, lambda: [session.close() for session in sessions]

    def _settings(self, **options: Any) -> Any:
        """Return settings under which nothing is sent to anybody but the server."""
        settings = engine("chromadb.config", **self.package).Settings
        return settings(anonymized_telemetry=False, **options)

    def translated(self, error: Exception) -> Exception:
        """Say in one sentence what the client raises."""
        if isinstance(error, InputError | WebError):
            return error
        text = sentence(error)
        if "dimension" in text:
            return InputError(f"{text}; does the embedder make such vectors?")
        if isinstance(error, TypeError) and self.options.params:
            return InputError(f"params: {text}")
        errors = engine("chromadb.errors", **self.package)
        if isinstance(error, errors.NotFoundError):
            return InputError(f"{text}; is the name right, and the tenant and database?")
        if not self.is_remote:
            return error
        if isinstance(error, errors.AuthorizationError | errors.ChromaAuthError):
            return InputError(f"{text}; is the key right?")
        if isinstance(error, errors.ChromaError):
            may_repeat = isinstance(error, errors.InternalError | errors.RateLimitError)
            return WebError(f"{self.host} refused: {text}", may_repeat=may_repeat)
        return self.no_answer(error)

    # --- loading ---------------------------------------------------------------------------------

    def is_loaded(self) -> bool:
        """Tell whether the collection says that all documents were sent."""
        try:
            self._collection = self.client.get_collection(self.index_name, embedding_function=None)
        except engine("chromadb.errors", **self.package).NotFoundError:
            return False
        return _COMPLETE.items() <= (self._collection.metadata or {}).items()

    def create(self) -> None:
        """Make an empty collection; another process may make the same at the same time."""
        self._collection = self.client.get_or_create_collection(
            self.index_name,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine", **self.options.create}},
        )

    def add(self, batch: Batch) -> None:
        """Send records; one that is there already is replaced by the same."""
        assert batch.vectors is not None
        most = max(int(self.client.get_max_batch_size()), 1)
        chosen = [row for row in range(len(batch)) if batch.vectors[row].any()]
        for low in range(0, len(chosen), most):
            rows = chosen[low : low + most]
            flags = [self._flags(batch.values[row]) or None for row in rows]
            self._collection.upsert(
                ids=[batch.doc_ids[row] for row in rows],
                embeddings=batch.vectors[rows],
                metadatas=flags if self.places else None,
            )

    def _flags(self, values: Mapping[str, list[str]]) -> dict[str, bool]:
        return {
            _flag(place, text): True
            for name, place in self.places.items()
            for text in values.get(name, ())
        }

    def finish(self) -> None:
        """Say that all documents are there; the graph was made with them."""
        self._collection.modify(metadata=_COMPLETE)

    def drop(self) -> None:
        """Delete the collection."""
        if self.index_name in {collection.name for collection in self.client.list_collections()}:
            self.client.delete_collection(self.index_name)

    def attach(self) -> int | None:
        """Find the collection of the user's, and how long its vectors are."""
        self._collection = self.client.get_collection(self.index_name, embedding_function=None)
        sample = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        return len(sample[0]) if sample is not None and len(sample) else None

    # --- searching -------------------------------------------------------------------------------

    def nearest(self, question: Question, depth: int, params: Mapping[str, Any]) -> Pairs:
        """Return the nearest records."""
        id_field = self.options.id_field
        answer = self._collection.query(
            query_embeddings=[question.vector],
            n_results=depth,
            where=self._condition(question.filters),
            include=["distances", *(["metadatas"] if id_field else [])],
            **params,
        )
        doc_ids = answer["ids"][0]
        if id_field is not None:
            doc_ids = [
                self._doc_id(record, metadata or {}, id_field)
                for record, metadata in zip(doc_ids, answer["metadatas"][0], strict=True)
            ]
        graph = (self._collection.configuration_json or {}).get("hnsw") or {}
        whole = 0.0 if (graph.get("space") or "l2") == "l2" else 1.0
        pairs = zip(doc_ids, answer["distances"][0], strict=True)
        return [(doc_id, whole - far) for doc_id, far in pairs]

    def _doc_id(self, record: str, metadata: Mapping[str, Any], id_field: str) -> str:
        if metadata.get(id_field) is None:
            raise InputError(
                f"record {shown(record)} of {self.source} has no metadata {shown(id_field)}; name "
                "the one with the document id as id_field"
            )
        return str(metadata[id_field])

    def _condition(self, filters: Mapping[str, list[str]]) -> dict[str, Any] | None:
        fields = []
        for name, texts in filters.items():
            if self.is_attached:
                ways: list[dict[str, Any]] = [{name: {"$in": texts}}]
                ways += [{name: value} for value in spellings(texts)]
            else:
                ways = [{_flag(self.places[name], text): True} for text in texts]
            fields.append(ways[0] if len(ways) == 1 else {"$or": ways})
        if not fields:
            return None
        return fields[0] if len(fields) == 1 else {"$and": fields}

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the server, or of the library."""
        if not self.is_remote:
            return engine_version("chromadb")
        return f"chroma {self.client.get_version()}"

    def count(self) -> int | None:
        """Count the records."""
        return None if self._collection is None else int(self._collection.count())

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and with which graph."""
        chosen = (getattr(self._collection, "configuration_json", None) or {}).get("hnsw") or {}
        mode = "server" if self.is_remote else "folder"
        return {**super().settings(), "mode": mode, "engine": dict(chosen)}


def _flag(place: str, text: str) -> str:
    """Return the metadata that says that a field holds a text."""
    if len(text) <= _LONGEST_VALUE:
        return f"{place}={text}"
    return f"{place}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
