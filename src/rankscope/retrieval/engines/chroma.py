"""Chroma: vectors in a folder of this process, or on a server, searched by its graph.

A document is a record under its id. What filters look at is in its metadata as flags, so that a
document may hold several values of a field. The collection's own metadata says whether all
documents were sent: one whose vector is zero has no direction and is not, so counting would not
tell. A record is sent again as the same, so a load that was stopped is repeated over what is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote, urlsplit
from weakref import finalize

from pydantic import Field

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question, best_of_each
from rankscope.retrieval.engines.engine_folder import opened
from rankscope.retrieval.engines.filters import spellings
from rankscope.retrieval.engines.loaded import Batch
from rankscope.retrieval.engines.stored import ServedEngine, ServerOptions
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.registry import SYSTEMS, Context, engine, engine_version
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
    ending, key_header, repeats = "chroma", "x-chroma-token", True
    options: ChromaOptions

    def __init__(self, options: ChromaOptions, context: Context) -> None:
        super().__init__(options, context)
        self.promise(exact=False, deterministic=False, remote=options.url is not None)
        self._client: Any = None
        self._give_back: Any = None
        self._collection: Any = None
        self._places = {name: f"f{at}" for at, name in enumerate(sorted(options.filters))}

    # --- reaching it -----------------------------------------------------------------------------

    def connect(self) -> None:
        """Open the folder, or make sure that the server is there."""
        self.disconnect()
        package, url = engine("chromadb", **self.package), self.options.url
        if url is None:
            if self.is_attached and not (self.folder / "chroma.sqlite3").is_file():
                raise InputError(f"Chroma has nothing in the folder {shown(str(self.folder))}")
            self._client, give_back = opened(
                self.kind,
                self.folder,
                lambda folder: package.PersistentClient(str(folder), settings=self._settings()),
            )
            self._give_back = finalize(self, give_back)
            return
        self.first_answer("/api/v2/heartbeat", "nanosecond heartbeat")
        tenant, database = self.options.tenant, self.options.database
        place = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}"
        missing = f"is there a database {shown(database)} of the tenant {shown(tenant)}?"
        self.first_answer(place, "name", missing=missing)
        parts = urlsplit(url)
        is_safe = parts.scheme == "https"
        self._client = package.HttpClient(
            host=url if parts.path.strip("/") else str(parts.hostname),
            port=parts.port or (443 if is_safe else 80),
            ssl=is_safe,
            headers=self.headers,
            settings=self._settings(chroma_server_ssl_verify=self.options.verify),
            tenant=tenant,
            database=database,
        )
        sessions = _sessions(self._client)
        for session in sessions:
            session.timeout = LONGEST_ANSWER
        self._give_back = finalize(self, lambda: [session.close() for session in sessions])

    def _settings(self, **options: Any) -> Any:
        """Return settings under which nothing is sent to anybody but the server."""
        settings = engine("chromadb.config", **self.package).Settings
        return settings(anonymized_telemetry=False, **options)

    def disconnect(self) -> None:
        """Close the client."""
        give_back, self._client, self._give_back = self._give_back, None, None
        self._collection = None
        if give_back is not None:
            give_back()

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
        if self.options.url is None:
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
            self._collection = self._client.get_collection(self.index_name, embedding_function=None)
        except engine("chromadb.errors", **self.package).NotFoundError:
            return False
        return _COMPLETE.items() <= (self._collection.metadata or {}).items()

    def create(self) -> None:
        """Make an empty collection; another process may make the same at the same time."""
        self._collection = self._client.get_or_create_collection(
            self.index_name,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine", **self.options.create}},
        )

    def add(self, batch: Batch) -> None:
        """Send records; one that is there already is replaced by the same."""
        assert batch.vectors is not None
        most = max(int(self._client.get_max_batch_size()), 1)
        chosen = [row for row in range(len(batch)) if batch.vectors[row].any()]
        for low in range(0, len(chosen), most):
            rows = chosen[low : low + most]
            flags: list[Any] | None = None
            if self._places:
                flags = [self._flags(batch.values[row]) or None for row in rows]
            self._collection.upsert(
                ids=[batch.doc_ids[row] for row in rows],
                embeddings=batch.vectors[rows],
                metadatas=flags,
            )

    def _flags(self, values: Mapping[str, list[str]]) -> dict[str, bool]:
        return {
            _flag(place, text): True
            for name, place in self._places.items()
            for text in values.get(name, ())
        }

    def finish(self) -> None:
        """Say that all documents are there; the graph was made with them."""
        self._collection.modify(metadata=_COMPLETE)

    def drop(self) -> None:
        """Delete the collection."""
        if self.index_name in {collection.name for collection in self._client.list_collections()}:
            self._client.delete_collection(self.index_name)

    def attach(self) -> int | None:
        """Find the collection of the user's, and how long its vectors are."""
        self._collection = self._client.get_collection(self.index_name, embedding_function=None)
        sample = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        return len(sample[0]) if sample is not None and len(sample) else None

    # --- searching -------------------------------------------------------------------------------

    def ask(self, question: Question, depth: int) -> Pairs:
        """Return the nearest records."""
        if not question.has_direction or not all(question.filters.values()):
            return []  # a list of allowed texts without one allows nothing
        id_field = self.options.id_field
        answer = self._collection.query(
            query_embeddings=[question.vector],
            n_results=depth,
            where=self._condition(question.filters),
            include=["distances", *(["metadatas"] if id_field else [])],
            **self.options.params,
        )
        doc_ids = answer["ids"][0]
        if id_field is not None:
            doc_ids = [
                self._doc_id(record, metadata or {}, id_field)
                for record, metadata in zip(doc_ids, answer["metadatas"][0], strict=True)
            ]
        graph = (self._collection.configuration_json or {}).get("hnsw") or {}
        whole = 0.0 if (graph.get("space") or "l2") == "l2" else 1.0
        distances = answer["distances"][0]
        return best_of_each(
            [(doc, whole - far) for doc, far in zip(doc_ids, distances, strict=True)]
        )

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
                ways = [{_flag(self._places[name], text): True} for text in texts]
            fields.append(ways[0] if len(ways) == 1 else {"$or": ways})
        if not fields:
            return None
        return fields[0] if len(fields) == 1 else {"$and": fields}

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the server, or of the library."""
        if self.options.url is None:
            return engine_version("chromadb")
        return f"chroma {self._client.get_version()}"

    def count(self) -> int | None:
        """Count the records."""
        return None if self._collection is None else int(self._collection.count())

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and with which graph."""
        chosen = (getattr(self._collection, "configuration_json", None) or {}).get("hnsw") or {}
        mode = "folder" if self.options.url is None else "server"
        return {**super().settings(), "mode": mode, "engine": dict(chosen)}


def _sessions(client: Any) -> list[Any]:
    """Return the connections of a client, which it neither limits in time nor closes."""
    clients = (client, getattr(client, "_admin_client", None))
    servers = (getattr(part, "_server", None) for part in clients)
    sessions = (getattr(server, "_session", None) for server in servers)
    return [session for session in sessions if session is not None]


def _flag(place: str, text: str) -> str:
    """Return the metadata that says that a field holds a text."""
    if len(text) <= _LONGEST_VALUE:
        return f"{place}={text}"
    return f"{place}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
