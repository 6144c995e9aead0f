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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question, ties_at_cut
from rankscope.retrieval.engines.filters import spellings
from rankscope.retrieval.engines.loaded import Batch
from rankscope.retrieval.engines.stored import ServedEngine, ServerOptions
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import RetryLater
from rankscope.retrieval.registry import SYSTEMS, engine, engine_version
from rankscope.retrieval.web import LONGEST_ANSWER, refused

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
    key_header, main_file = "api-key", "meta.json"
    options: QdrantOptions
    _sign = 1.0

    @property
    def is_exact(self) -> bool:
        """Whether every vector is compared."""
        return self.options.url is None or bool(self.options.params.get("exact"))

    @property
    def _models(self) -> Any:
        return engine("qdrant_client.models", **self.package)

    # --- reaching it -----------------------------------------------------------------------------

    def open_folder(self, folder: Path) -> Any:
        """Return a client in local mode."""
        make = engine("qdrant_client", **self.package).QdrantClient
        with _quietly():  # of many points; it is slow, but right
            return make(path=str(folder), force_disable_check_same_thread=True)

    def open_server(self, url: str) -> tuple[Any, Callable[[], Any]]:
        """Make sure that the server is there, and return a client."""
        self.first_answer("", "version")
        with _quietly():  # of a key without encryption; a note says it
            client = engine("qdrant_client", **self.package).QdrantClient(
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
        return client, client.close

    def translated(self, error: Any) -> Exception:
        """Say in one sentence what a server refused, or that it did not answer."""
        match type(error).__name__:
            case "ResourceExhaustedResponse":
                return RetryLater(float(getattr(error, "retry_after_s", 1)), f"{self.host} is busy")
            case "ResponseHandlingException":
                return self.no_answer(getattr(error, "source", error))
            case "UnexpectedResponse":
                problem = refused(self.host, error.status_code, error.headers, error.content)
            case _:
                made: Exception = error
                return made
        remedies = {
            401: "is the key right",
            403: "is the key right",
            404: f"is {self.source} there",
        }
        if problem.status == 400 and "dimension" in str(problem):
            remedies[400] = "does the embedder make such vectors"
        if problem.status in remedies:
            return InputError(f"{problem}; {remedies[problem.status]}?")
        return problem

    # --- loading ---------------------------------------------------------------------------------

    def is_loaded(self) -> bool:
        """Tell whether all points are there, and the server has built its graph."""
        if not self.client.collection_exists(self.index_name) or self.count() != len(self.doc_ids):
            return False
        self._wait_for_graph()
        return True

    def create(self) -> None:
        """Make a collection, and the indexes that filters need before the graph is built."""
        models, client, name = self._models, self.client, self.index_name
        # unit vectors: the product is the cosine, which a folder would make them unit again for
        distance = models.Distance.COSINE if self.is_remote else models.Distance.DOT
        vectors = models.VectorParams(size=self.size, distance=distance)
        if not client.collection_exists(name):
            client.create_collection(name, vectors_config=vectors, **self.options.create)
        for place in self.places.values() if self.is_remote else ():
            client.create_payload_index(name, place, models.PayloadSchemaType.KEYWORD)

    def add(self, batch: Batch) -> None:
        """Send points; one that is there already is replaced by the same."""
        assert batch.vectors is not None
        vectors, most = batch.vectors, max(1, _FLOATS // max(self.size, 1))
        points = [
            self._models.PointStruct.model_construct(
                id=batch.first + row,
                # without a direction: a point without a vector, which is counted and never found
                vector=vectors[row].tolist() if vectors[row].any() else {},
                payload={
                    **{self.places[name]: held for name, held in values.items() if held},
                    "doc_id": batch.doc_ids[row],
                },
            )
            for row, values in enumerate(batch.values)
        ]
        with _quietly():
            for low in range(0, len(points), most):
                self.client.upsert(self.index_name, points[low : low + most], wait=True)

    def _wait_for_graph(self) -> None:
        """Wait until a server has built its graph; there is none in a folder."""
        end, wait = time.monotonic() + _LONGEST_BUILD, 0.05
        while self.is_remote:
            match self.client.get_collection(self.index_name).status.value:
                case "green":
                    return
                case "red":
                    problem = f"qdrant says that {self.source} has failed; look at its log"
                    raise InputError(problem)
                case "grey":  # it waits for a change since it was started
                    change = self._models.OptimizersConfigDiff()
                    self.client.update_collection(self.index_name, optimizers_config=change)
            if time.monotonic() > end:
                raise InputError(
                    f"qdrant did not build {self.source} within an hour; run again when it has"
                )
            self.work.sleep(wait)
            wait = min(2 * wait, 2.0)

    def drop(self) -> None:
        """Delete the collection."""
        if self.client.collection_exists(self.index_name):
            self.client.delete_collection(self.index_name)

    def attach(self) -> int | None:
        """Find the collection of the user's, and the vectors that are searched."""
        name, client = self.index_name, self.client
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

    def nearest(self, question: Question, depth: int, params: Mapping[str, Any]) -> Pairs:
        """Return the nearest points."""
        assert question.vector is not None
        id_field = self.options.id_field if self.is_attached else "doc_id"
        vector = question.vector.astype(np.float64).tolist()

        def best(limit: int) -> Pairs:
            points = self.client.query_points(
                self.index_name,
                query=vector,
                using=self.options.vector,
                query_filter=self._condition(question.filters),
                search_params=self._models.SearchParams(**params) if self.is_remote else None,
                limit=limit,
                with_payload=False if id_field is None else [id_field],
                timeout=math.ceil(self.work.time_limit or LONGEST_ANSWER),
            ).points
            return [self._pair(point, id_field) for point in points]

        return ties_at_cut(best, depth) if self.is_exact else best(depth)

    def exhaustive(self) -> dict[str, Any]:
        """Take as many candidates as there are points."""
        return {"hnsw_ef": max(self.count(), 1)}

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
        models, fields = self._models, []
        for name, texts in filters.items():
            key = name if self.is_attached else self.places[name]
            matches = [models.MatchAny(any=texts)]
            if self.is_attached:
                matches += [models.MatchValue(value=value) for value in spellings(texts)]
            ways = [models.FieldCondition(key=key, match=match) for match in matches]
            fields.append(models.Filter(should=ways) if len(ways) > 1 else ways[0])
        return models.Filter(must=fields) if fields else None

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the server, or of the client whose local mode answers."""
        if not self.is_remote:
            return f"{engine_version('qdrant-client')}, local mode"
        return str(self.client.info().version)

    def count(self) -> int:
        """Count the points."""
        return int(self.client.count(self.index_name, exact=True).count)

    def settings(self) -> dict[str, Any]:
        """Say how it searches, and what the server chose itself."""
        if not self.is_remote:
            return {"search": "vector", "mode": "folder", "index": "none"}
        collection = self.client.get_collection(self.index_name)
        chosen = collection.config.hnsw_config.model_dump(mode="json", exclude_none=True)
        about = {"indexed_vectors": collection.indexed_vectors_count, "hnsw": chosen}
        return {**super().settings(), "mode": "server", "engine": about}


@contextmanager
def _quietly() -> Iterator[None]:
    """Within it, the client warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
