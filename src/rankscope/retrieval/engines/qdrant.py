"""Qdrant: vectors in a folder of this process, or on a server, or a collection of yours.

In a folder (local mode of its client) every vector is compared, so answers are exact, and what
``create`` and ``params`` say of the graph and of quantisation does nothing. A server searches its
graph unless ``params: {exact: true}``. A document is a point: its number is its place among all, by
id from high to low, and its payload holds the id and what filters look at. A point is sent again
as the same, so a load that was stopped is repeated over what is there.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from typing import Any, Literal
from weakref import finalize

import numpy as np
from pydantic import Field

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question, best_of_each, ties_at_cut
from rankscope.retrieval.engines.engine_folder import opened
from rankscope.retrieval.engines.filters import spellings
from rankscope.retrieval.engines.loaded import Batch
from rankscope.retrieval.engines.stored import ServedEngine, ServerOptions
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import RetryLater
from rankscope.retrieval.registry import SYSTEMS, Context, engine, engine_version
from rankscope.retrieval.web import AGAIN, LONGEST_ANSWER, WebError, seconds_to_wait

_FLOATS = 1_000_000
"""Numbers in one request: a server takes 32 MB, and a number is up to 13 bytes of JSON."""
_LONGEST_BUILD = 3600.0
_LOWER_IS_BETTER = ("Euclid", "Manhattan")


class QdrantOptions(ServerOptions):
    """Where Qdrant is, its index, and how it is searched."""

    search: Literal["vector"] = "vector"
    """Vectors are compared."""
    vector: Text | None = None
    """Of a collection of yours with named vectors: which one is searched."""
    create: dict[str, Any] = Field(default_factory=dict)
    """Given to create_collection as it is: {hnsw_config: {m: 16}, quantization_config: {scalar:
    {type: int8}}, optimizers_config: {indexing_threshold: 1000}}."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Given to each search of a server as its params: {hnsw_ef: 128, exact: false, quantization:
    {rescore: true, oversampling: 2}}."""


@SYSTEMS.add("qdrant", QdrantOptions, summary="Qdrant: vectors in a folder, or on a server")
class Qdrant(ServedEngine):
    """A collection of Qdrant."""

    kind, module, packages = "qdrant", "qdrant_client", ("qdrant-client",)
    ending, key_header, repeats = "qdrant", "api-key", True
    options: QdrantOptions

    def __init__(self, options: QdrantOptions, context: Context) -> None:
        super().__init__(options, context)
        self._is_exact = options.url is None or bool(options.params.get("exact"))
        is_remote = options.url is not None
        self.promise(exact=self._is_exact, deterministic=self._is_exact, remote=is_remote)
        self._client: Any = None
        self._give_back: Any = None
        self._sign = 1.0
        self._places = {name: f"f{at}" for at, name in enumerate(sorted(options.filters))}

    @property
    def _models(self) -> Any:
        return engine("qdrant_client.models", **self.package)

    # --- reaching it -----------------------------------------------------------------------------

    def connect(self) -> None:
        """Open the folder, or make sure that the server is there."""
        self.disconnect()
        make, url = engine("qdrant_client", **self.package).QdrantClient, self.options.url
        if url is None:
            if self.is_attached and not (self.folder / "meta.json").is_file():
                place = shown(str(self.folder))
                raise InputError(f"Qdrant has nothing in the folder {place}; is path right?")

            def local(place: Any) -> Any:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of many points; it is slow, but right
                    return make(path=str(place), force_disable_check_same_thread=True)

            self._client, give_back = opened(self.kind, self.folder, local)
            self._give_back = finalize(self, give_back)
            return
        self.first_answer("", "version")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a key without encryption; a note says it
            self._client = make(
                url=url,
                port=443 if url.startswith("https:") else 80,
                prefer_grpc=False,
                headers=self.headers,
                timeout=math.ceil(LONGEST_ANSWER),
                check_compatibility=False,
                verify=self.options.verify,
                trust_env=not self.is_here,
                follow_redirects=False,
            )
        self._give_back = finalize(self, self._client.close)

    def disconnect(self) -> None:
        """Close the client."""
        give_back, self._client, self._give_back = self._give_back, None, None
        if give_back is not None:
            give_back()

    def translated(self, error: Exception) -> Exception:
        """Say in one sentence what a server refused, or that it did not answer."""
        if self.options.url is None:
            return error
        match type(error).__name__:
            case "ResourceExhaustedResponse":
                return RetryLater(float(getattr(error, "retry_after_s", 1)), f"{self.host} is busy")
            case "ResponseHandlingException":
                return self.no_answer(getattr(error, "source", error))
            case "UnexpectedResponse":
                return self._refusal(error)
        return error

    def _refusal(self, error: Any) -> Exception:
        status = error.status_code
        try:
            reason = error.structured()["status"]["error"]
        except (ValueError, LookupError, TypeError):
            reason = error.content.decode("utf-8", "replace")
        text = f"{self.host} answered {status}: {shown(' '.join(str(reason).split()), 200)}"
        remedies = {
            401: "is the key right",
            403: "is the key right",
            404: f"is {self.source} there",
        }
        if status == 400 and "dimension" in str(reason):
            remedies[400] = "does the embedder make such vectors"
        if status in remedies:
            return InputError(f"{text}; {remedies[status]}?")
        may = status in AGAIN
        wait = seconds_to_wait(error.headers.get("retry-after")) if may else None
        return WebError(text, status=status, may_repeat=may, retry_after=wait)

    # --- loading ---------------------------------------------------------------------------------

    def is_loaded(self) -> bool:
        """Tell whether all points are there, and the server has built its graph."""
        name, client = self.index_name, self._client
        if not client.collection_exists(name):
            return False
        if client.count(name, exact=True).count != len(self.kept):
            return False
        self._wait_for_graph()
        return True

    def create(self) -> None:
        """Make a collection, and the indexes that filters need before the graph is built."""
        models, client, name = self._models, self._client, self.index_name
        in_folder = self.options.url is None
        # unit vectors: the product is the cosine, which a folder would make them unit again for
        distance = models.Distance.DOT if in_folder else models.Distance.COSINE
        vectors = models.VectorParams(size=self.size, distance=distance)
        if not client.collection_exists(name):
            client.create_collection(name, vectors_config=vectors, **self.options.create)
        if not in_folder:
            for place in self._places.values():
                client.create_payload_index(name, place, models.PayloadSchemaType.KEYWORD)

    def add(self, batch: Batch) -> None:
        """Send points; one that is there already is replaced by the same."""
        rows = max(1, _FLOATS // max(self.size, 1))
        with warnings.catch_warnings():
            if self.options.url is None:
                warnings.simplefilter("ignore")  # of many points; it is slow, but right
            for low in range(0, len(batch), rows):
                points = [self._point(batch, at) for at in range(low, min(low + rows, len(batch)))]
                self._client.upsert(self.index_name, points, wait=True)

    def _point(self, batch: Batch, row: int) -> Any:
        assert batch.vectors is not None
        values = batch.values[row]
        payload: dict[str, Any] = {
            place: values[name] for name, place in self._places.items() if values.get(name)
        }
        payload["doc_id"] = batch.doc_ids[row]
        # without a direction it is a point without a vector, which is counted and never found
        vector = batch.vectors[row].tolist() if batch.vectors[row].any() else {}
        return self._models.PointStruct.model_construct(
            id=batch.first + row, vector=vector, payload=payload
        )

    def finish(self) -> None:
        """Do nothing: `is_loaded` waits for the graph."""

    def _wait_for_graph(self) -> None:
        """Wait until a server has built its graph."""
        if self.options.url is None:
            return
        end, wait = time.monotonic() + _LONGEST_BUILD, 0.05
        while time.monotonic() < end:
            match self._client.get_collection(self.index_name).status.value:
                case "green":
                    return
                case "red":
                    problem = f"qdrant says that {self.source} has failed; look at its log"
                    raise InputError(problem)
                case "grey":  # it waits for a change since it was started
                    change = self._models.OptimizersConfigDiff()
                    self._client.update_collection(self.index_name, optimizers_config=change)
            self.work.sleep(wait)
            wait = min(2 * wait, 2.0)
        raise InputError(
            f"qdrant did not build {self.source} within an hour; run again when it has"
        )

    def drop(self) -> None:
        """Delete the collection."""
        if self._client.collection_exists(self.index_name):
            self._client.delete_collection(self.index_name)

    def attach(self) -> int | None:
        """Find the collection of the user's, and the vectors that are searched."""
        name, client = self.index_name, self._client
        if not client.collection_exists(name):
            known = sorted(entry.name for entry in client.get_collections().collections)
            there = ", ".join(known[:10]) or "none"
            raise InputError(f"qdrant has no collection {shown(name)}; there is {there}")
        vectors = client.get_collection(name).config.params.vectors
        if isinstance(vectors, Mapping):
            if self.options.vector not in vectors:
                names = ", ".join(sorted(vectors))
                raise InputError(f"{self.source} has the vectors {names}; name one as vector")
            vectors = vectors[self.options.vector]
        elif self.options.vector is not None:
            raise InputError(f"{self.source} has no named vectors; leave out vector")
        self._sign = -1.0 if vectors.distance.value in _LOWER_IS_BETTER else 1.0
        return int(vectors.size)

    # --- searching -------------------------------------------------------------------------------

    def ask(self, question: Question, depth: int) -> Pairs:
        """Return the nearest points."""
        return self._ask(question, depth, self.options.params)

    def ask_stored(self, question: Question, depth: int) -> Pairs | None:
        """Compare all that is stored, with as many candidates as there are points."""
        everything = {"hnsw_ef": max(self.count() or 1, 1)}
        return self._ask(question, depth, {**self.options.params, **everything})

    def _ask(self, question: Question, depth: int, params: dict[str, Any]) -> Pairs:
        if not question.has_direction or not all(question.filters.values()):
            return []  # a list of allowed texts without one allows nothing
        assert question.vector is not None
        id_field = self.options.id_field if self.is_attached else "doc_id"
        vector = question.vector.astype(np.float64).tolist()
        is_server = self.options.url is not None

        def best(limit: int) -> Pairs:
            points = self._client.query_points(
                self.index_name,
                query=vector,
                using=self.options.vector,
                query_filter=self._condition(question.filters),
                search_params=self._models.SearchParams(**params) if is_server else None,
                limit=limit,
                with_payload=False if id_field is None else [id_field],
                timeout=math.ceil(self.work.time_limit or LONGEST_ANSWER),
            ).points
            return [self._pair(point, id_field) for point in points]

        return best_of_each(ties_at_cut(best, depth) if self._is_exact else best(depth))

    def _pair(self, point: Any, id_field: str | None) -> tuple[str, float]:
        score = self._sign * float(np.float32(point.score))  # a folder adds in another order
        if id_field is None:
            return str(point.id), score
        doc_id = (point.payload or {}).get(id_field)
        if doc_id is None:
            raise InputError(
                f"point {point.id} of {self.source} has no field {shown(id_field)}; name the one "
                "with the document id as id_field"
            )
        return str(doc_id), score

    def _condition(self, filters: Mapping[str, list[str]]) -> Any:
        """Return filters as Qdrant takes them; None: there are none.

        Our collections hold texts; those of the user may also hold whole numbers and truth values.
        """
        models = self._models
        fields = []
        for name, texts in filters.items():
            key = name if self.is_attached else self._places[name]
            matches = [models.MatchAny(any=texts)]
            if self.is_attached:
                matches += [models.MatchValue(value=value) for value in spellings(texts)]
            ways = [models.FieldCondition(key=key, match=match) for match in matches]
            fields.append(models.Filter(should=ways) if len(ways) > 1 else ways[0])
        return models.Filter(must=fields) if fields else None

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the server, or of the client whose local mode answers."""
        if self.options.url is None:
            return f"{engine_version('qdrant-client')}, local mode"
        return str(self._client.info().version)

    def count(self) -> int | None:
        """Count the points."""
        return int(self._client.count(self.index_name, exact=True).count)

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and what the server chose itself."""
        if self.options.url is None:
            return {"search": "vector", "mode": "folder", "index": "none"}
        collection = self._client.get_collection(self.index_name)
        chosen = collection.config.hnsw_config.model_dump(mode="json", exclude_none=True)
        about = {"indexed_vectors": collection.indexed_vectors_count, "hnsw": chosen}
        return {**super().settings(), "mode": "server", "engine": about}
