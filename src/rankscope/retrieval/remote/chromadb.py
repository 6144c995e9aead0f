"""Chroma: vectors in a folder of this process, or on a server, searched by its graph.

A document is a record under its id. What filters look at is in its metadata as flags, so that a
document may hold several values of a field. The collection's own metadata says how many documents
were sent and whether all were: a document whose vector is zero has no direction and is not sent, so
counting records would not tell.

The graph's number of candidates, ``ef_search``, belongs to the collection: once it is open, Chroma
takes no notice of another one. So each value has a collection of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import Field, model_validator

from rankscope.errors import InputError, shown
from rankscope.retrieval.options import SpecError, Text
from rankscope.retrieval.protocol import Capabilities, sentence
from rankscope.retrieval.registry import SYSTEMS, Context, check_engine, engine, engine_version
from rankscope.retrieval.remote.attached_engine import AttachedEngine
from rankscope.retrieval.remote.cut import Pairs
from rankscope.retrieval.remote.engine_folder import (
    closed_with,
    engine_folder,
    opened,
    passing_folder,
)
from rankscope.retrieval.remote.loaded_engine import Asked, Batch, Loading
from rankscope.retrieval.remote.served import (
    ServedOptions,
    first_answer,
    host_of,
    is_loopback,
    no_answer,
    repeated,
)
from rankscope.retrieval.remote.web import LONGEST_ANSWER, WebError

_PACKAGE = {"package": "chromadb", "needed_for": "the system chroma", "extra": "chroma"}
_MARK, _SENT, _COMPLETE = "rankscope", "rankscope_documents", "rankscope_complete"
_KEY_HEADER = "x-chroma-token"
_LONGEST_VALUE = 100


class ChromaOptions(ServedOptions):
    """Where Chroma is, its graph, and how it is searched."""

    attached: ClassVar[str] = "collection"
    without_attached: ClassVar[tuple[str, ...]] = (
        *("max_neighbors", "ef_construction", "ef_search", "document_prefix"),
    )

    search: Literal["vector"] = "vector"
    """Vectors are compared."""
    collection: Text | None = None
    """A collection of yours, which is searched as it is; nothing is loaded, and no corpus needed.
    If not given, the corpus is loaded into one of its own."""
    id_field: Text | None = None
    """In a collection of yours, the metadata with the document id. If not given, the id of the
    record. Of several records with one document id the best counts."""
    tenant: Text = "default_tenant"
    """Of a server: whose databases are used."""
    database: Text = "default_database"
    """Of a server: in which database the collection is."""
    max_neighbors: int | None = Field(default=None, ge=2)
    """Edges of each point of the graph; if not given, Chroma's choice (16)."""
    ef_construction: int | None = Field(default=None, ge=1)
    """Candidates that are looked at while the graph is built; if not given, Chroma's choice
    (100)."""
    ef_search: int | None = Field(default=None, ge=1)
    """Candidates that a search keeps; if not given, Chroma's choice (100). It belongs to a
    collection, so each value has one of its own."""

    @model_validator(mode="after")
    def _of_a_server(self) -> Self:
        for name in ("tenant", "database"):
            if self.url is None and name in self.model_fields_set:
                raise SpecError(f"{name} is for a server; give its url", (name,))
        return self


@SYSTEMS.add("chroma", ChromaOptions, summary="Chroma: vectors in a folder, or on a server")
class Chroma(AttachedEngine):
    """A collection of Chroma."""

    kind = "chroma"
    packages = ("chromadb",)
    build = ("max_neighbors", "ef_construction", "ef_search")
    options: ChromaOptions

    def __init__(self, options: ChromaOptions, context: Context) -> None:
        check_engine("chromadb", **_PACKAGE)
        super().__init__(options, context)
        self.capabilities = Capabilities(
            deterministic=False,
            exact=False,
            ties="trec",
            concurrent=True,
            remote=options.url is not None,
        )
        self._client: Any = None
        self._give_back: Any = None
        self._collection: Any = None
        self._passing: Path | None = None
        self._space = "cosine"
        self._places = {name: f"f{at}" for at, name in enumerate(sorted(options.filters))}

    # --- opening ---------------------------------------------------------------------------------

    def remarks(self) -> Sequence[str]:
        """Say whether a key is sent in the open."""
        options = self.options
        sends = options.url is not None and (options.key or options.headers)
        if not sends or options.url is None or not options.url.startswith("http:"):
            return ()
        if is_loopback(options.url):
            return ()
        return (f"the key is sent to {host_of(options.url)} unencrypted; use https",)

    @property
    def files(self) -> Path | None:
        """The folder with its files, if it runs in this process."""
        if self.options.url is not None:
            return None
        return engine_folder(self.context, self.options.path, f"{self.index_name}.chroma")

    def open(self) -> None:
        """Open the folder, or make sure that the server is there."""
        self.disconnect()
        url = self.options.url
        if url is None:
            folder = self.files
            if folder is None:
                folder = self._passing = self._passing or passing_folder(self)
            if self.is_attached and not (folder / "chroma.sqlite3").is_file():
                raise InputError(f"Chroma has nothing in the folder {shown(str(folder))}")
            self._client, give_back = opened(self.kind, folder, _connected)
            self._give_back = closed_with(self, give_back)
            return
        answer = first_answer(self.options, "/api/v2/heartbeat", _KEY_HEADER, self.kind)
        if not isinstance(answer, Mapping) or "nanosecond heartbeat" not in answer:
            raise InputError(f"{host_of(url)} does not answer as Chroma does; is the url right?")
        tenant, database = self.options.tenant, self.options.database
        place = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}"
        missing = f"is there a database {shown(database)} of the tenant {shown(tenant)}?"
        first_answer(self.options, place, _KEY_HEADER, self.kind, missing=missing)
        parts = urlsplit(url)
        is_safe = parts.scheme == "https"
        with self._speaking():
            self._client = engine("chromadb", **_PACKAGE).HttpClient(
                host=url if parts.path.strip("/") else str(parts.hostname),
                port=parts.port or (443 if is_safe else 80),
                ssl=is_safe,
                headers=self.options.sent_headers(_KEY_HEADER),
                settings=_settings(chroma_server_ssl_verify=self.options.verify),
                tenant=tenant,
                database=database,
            )
        sessions = _sessions(self._client)
        for session in sessions:
            session.timeout = LONGEST_ANSWER
        self._give_back = closed_with(self, lambda: [session.close() for session in sessions])

    def disconnect(self) -> None:
        """Close the client."""
        give_back, self._client, self._give_back = self._give_back, None, None
        self._collection = None
        if give_back is not None:
            give_back()

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Make one sentence of what the client raises about a server."""
        errors = engine("chromadb.errors", **_PACKAGE)
        url = self.options.url
        try:
            yield
        except (InputError, WebError):
            raise
        except errors.NotFoundError:
            there = "" if url is None else f" on {host_of(url)}"
            raise InputError(
                f"chroma has no collection {shown(self.index_name)}{there}; is the name right, and "
                "the tenant and database?"
            ) from None
        except (errors.AuthorizationError, errors.ChromaAuthError) as error:
            raise InputError(f"{sentence(error)}; is the key right?") from None
        except errors.InvalidDimensionException as error:
            raise InputError(f"{sentence(error)}; does the embedder make such vectors?") from None
        except Exception as error:
            if "dimension" in str(error) and isinstance(error, errors.InvalidArgumentError):
                problem = f"{sentence(error)}; does the embedder make such vectors?"
                raise InputError(problem) from None
            if url is None:
                raise
            if isinstance(error, errors.ChromaError):
                may_repeat = isinstance(error, errors.InternalError | errors.RateLimitError)
                raise WebError(
                    f"{host_of(url)} refused: {sentence(error)}", may_repeat=may_repeat
                ) from None
            raise no_answer(url, error) from None

    # --- loading ---------------------------------------------------------------------------------

    def _found(self) -> Any:
        """Return the collection; None if there is none."""
        errors = engine("chromadb.errors", **_PACKAGE)
        try:
            return self._client.get_collection(self.index_name, embedding_function=None)
        except errors.NotFoundError:
            return None

    def loading(self) -> Loading | None:
        """Say how many documents were sent."""
        with self._speaking():
            self._collection = self._found()
        if self._collection is None:
            return None
        state = self._collection.metadata or {}
        if self.options.index is not None:
            self.check_content(state.get(_MARK))
        return Loading(int(state.get(_SENT, 0)), is_complete=bool(state.get(_COMPLETE)))

    def _state(self, sent: int, *, is_complete: bool) -> dict[str, Any]:
        return {_MARK: self.content_name, _SENT: sent, _COMPLETE: is_complete}

    def create(self) -> None:
        """Make an empty collection; another process may make the same at the same time."""
        given = {name: getattr(self.options, name) for name in self.build}
        graph = {name: value for name, value in given.items() if value is not None}
        with self._speaking():
            self._collection = self._client.get_or_create_collection(
                self.index_name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", **graph}},
                metadata=self._state(0, is_complete=False),
            )

    def add(self, batch: Batch) -> None:
        """Send records; one that is there already is replaced by the same."""
        if batch.vectors is None:
            raise AssertionError("chroma stores vectors")
        with self._speaking():
            most = max(int(self._client.get_max_batch_size()), 1)
        chosen = [row for row in range(len(batch.doc_ids)) if batch.vectors[row].any()]
        for low in range(0, len(chosen), most):
            rows = chosen[low : low + most]
            repeated(lambda rows=rows: self._upsert(batch, rows))  # type: ignore[misc]
        sent = batch.first + len(batch.doc_ids)
        repeated(lambda: self._mark(sent, is_complete=False))

    def _upsert(self, batch: Batch, rows: list[int]) -> None:
        metadatas: list[Any] | None = None
        if self._places:
            metadatas = [self._flags(batch.values[row]) or None for row in rows]
        with self._speaking():
            self._collection.upsert(
                ids=[batch.doc_ids[row] for row in rows],
                embeddings=None if batch.vectors is None else batch.vectors[rows],
                metadatas=metadatas,
            )

    def _flags(self, values: Mapping[str, list[str]]) -> dict[str, bool]:
        return {
            _flag(place, text): True
            for name, place in self._places.items()
            for text in values.get(name, ())
        }

    def _mark(self, sent: int, *, is_complete: bool) -> None:
        with self._speaking():
            self._collection.modify(metadata=self._state(sent, is_complete=is_complete))

    def finish(self) -> None:
        """Say that all documents are there; the graph was made with them."""
        repeated(lambda: self._mark(self.total, is_complete=True))

    def drop(self) -> None:
        """Delete the collection."""
        with self._speaking():
            self._client.delete_collection(self.index_name)

    def attach(self) -> int | None:
        """Find the collection of the user's, and how its vectors are compared."""
        with self._speaking():
            self._collection = self._client.get_collection(self.index_name, embedding_function=None)
            sample = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        graph = (self._collection.configuration_json or {}).get("hnsw") or {}
        self._space = str(graph.get("space") or "l2")
        return len(sample[0]) if sample is not None and len(sample) else None

    # --- searching -------------------------------------------------------------------------------

    def ask(self, asked: Asked, depth: int) -> Pairs:
        """Return the nearest records."""
        if asked.vector is None or not all(asked.filters.values()):  # a list without a value
            return []
        if self._client is None:
            self.open()
        id_field = self.options.id_field
        with self._speaking():
            if self._collection is None:
                self._collection = self._client.get_collection(
                    self.index_name, embedding_function=None
                )
            answer = self._collection.query(
                query_embeddings=[asked.vector],
                n_results=depth,
                where=self._condition(asked.filters),
                include=["distances", *(["metadatas"] if id_field else [])],
            )
        doc_ids = answer["ids"][0]
        if id_field is not None:
            doc_ids = [
                self._doc_id(record, metadata or {}, id_field)
                for record, metadata in zip(doc_ids, answer["metadatas"][0], strict=True)
            ]
        whole = 0.0 if self._space == "l2" else 1.0
        scores: dict[str, float] = {}
        for doc_id, distance in zip(doc_ids, answer["distances"][0], strict=True):
            scores.setdefault(doc_id, whole - distance)  # best first
        return list(scores.items())

    def _doc_id(self, record: str, metadata: Mapping[str, Any], id_field: str) -> str:
        if metadata.get(id_field) is None:
            raise InputError(
                f"record {shown(record)} of {self.source} has no metadata {shown(id_field)}; name "
                "the one with the document id as id_field"
            )
        return str(metadata[id_field])

    def _condition(self, filters: Mapping[str, list[str]]) -> dict[str, Any] | None:
        if self.is_attached:
            fields = [_any_of(_typed(name, allowed)) for name, allowed in filters.items()]
        else:
            fields = [
                _any_of([{_flag(self._places[name], text): True} for text in allowed])
                for name, allowed in filters.items()
            ]
        if not fields:
            return None
        return fields[0] if len(fields) == 1 else {"$and": fields}

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the server, or of the library."""
        if self.options.url is None:
            return engine_version("chromadb")
        with self._speaking():
            return f"chroma {self._client.get_version()}"

    def count(self) -> int | None:
        """Count the records."""
        with self._speaking():
            return int(self._collection.count())

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and with which graph."""
        collection = self._collection
        chosen = (getattr(collection, "configuration_json", None) or {}).get("hnsw") or {}
        mode = "folder" if self.options.url is None else "server"
        return {**super().settings(), "mode": mode, "engine": dict(chosen)}


def _settings(**options: Any) -> Any:
    """Return settings under which nothing is sent to anybody but the server."""
    settings = engine("chromadb.config", **_PACKAGE).Settings
    return settings(anonymized_telemetry=False, **options)


def _connected(folder: Path) -> tuple[Any, Any]:
    client = engine("chromadb", **_PACKAGE).PersistentClient(path=str(folder), settings=_settings())
    return client, getattr(client, "close", lambda: None)


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


def _any_of(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return conditions[0] if len(conditions) == 1 else {"$or": conditions}


def _typed(name: str, allowed: list[str]) -> list[dict[str, Any]]:
    """Return the ways in which metadata of the user's may hold one of some texts."""
    ways: list[dict[str, Any]] = [{name: {"$in": allowed}}]
    whole = [int(text) for text in allowed if text.removeprefix("-").isdecimal()]
    ways += [{name: {"$in": whole}}] if whole else []
    truths = {"true": True, "false": False}
    ways += [{name: truths[text]} for text in allowed if text in truths]
    return ways
