"""Qdrant: vectors in a folder of this process, which are scanned, or on a server, with its graph.

In a folder (local mode of its client) every vector is compared, so answers are exact, and options
of the graph and of quantisation do nothing. A server searches its graph unless ``exact`` is set.

A document is a point: its number is the place of the document among all, by id from high to low,
and its payload holds the id and what filters look at. A document whose vector is zero is a point
without a vector, which is counted and never found. The first point also holds the name that follows
from all that is stored, so that a collection under a name of the user's is known again.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Capabilities, RetryLater, time_limit
from rankscope.retrieval.registry import SYSTEMS, Context, check_engine, engine, engine_version
from rankscope.retrieval.remote.attached_engine import AttachedEngine
from rankscope.retrieval.remote.cut import Pairs, with_ties
from rankscope.retrieval.remote.engine_folder import closed_with, engine_folder, opened
from rankscope.retrieval.remote.loaded_engine import Asked, Batch, Loading
from rankscope.retrieval.remote.qdrant_options import QdrantOptions
from rankscope.retrieval.remote.qdrant_requests import (
    PACKAGE,
    condition,
    given,
    models,
    plain,
    quantisation,
    refusal_by,
)
from rankscope.retrieval.remote.served import (
    first_answer,
    host_of,
    is_loopback,
    no_answer,
    repeated,
)
from rankscope.retrieval.remote.web import LONGEST_ANSWER, WebError
from rankscope.retrieval.waiting import PACE, Stop

_FLOATS = 1_000_000
"""Numbers in one request: a server takes 32 MB, and a number is up to 13 bytes of JSON."""
_IDS = 10_000
_LONGEST_BUILD = 3600.0
_META = "meta.json"
"""The file by which a folder is known as one of Qdrant."""
_LOWER_IS_BETTER = ("Euclid", "Manhattan")


@SYSTEMS.add("qdrant", QdrantOptions, summary="Qdrant: vectors in a folder, or on a server")
class Qdrant(AttachedEngine):
    """A collection of Qdrant."""

    kind = "qdrant"
    packages = ("qdrant-client",)
    build = (
        *("m", "ef_construct", "full_scan_threshold", "indexing_threshold"),
        *("quantisation", "quantile", "compression"),
    )
    options: QdrantOptions

    def __init__(self, options: QdrantOptions, context: Context) -> None:
        check_engine("qdrant_client", **PACKAGE)
        super().__init__(options, context)
        is_exact = options.url is None or options.exact
        self.capabilities = Capabilities(
            deterministic=is_exact,
            exact=is_exact,
            ties="trec",
            concurrent=True,
            remote=options.url is not None,
        )
        self._client: Any = None
        self._give_back: Any = None
        self._places = {name: f"f{at}" for at, name in enumerate(sorted(options.filters))}
        self._sign = 1.0
        self._chosen: dict[str, Any] = {}

    # --- opening ---------------------------------------------------------------------------------

    def remarks(self) -> Sequence[str]:
        """Say what options do nothing, and whether a key is sent in the open."""
        options = self.options
        if options.url is None:
            names = ("exact", "hnsw_ef", *self.build, "rescore", "oversampling")
            idle = [name for name in names if name in options.model_fields_set]
            if not idle:
                return ()
            have = "has" if len(idle) == 1 else "have"
            note = (
                f"qdrant compares every vector in a folder, so {', '.join(idle)} {have} no effect; "
                "give the url of a server"
            )
            return (note,)
        if (options.key or options.headers) and options.url.startswith("http:"):
            if is_loopback(options.url):
                return ()
            return (f"the key is sent to {host_of(options.url)} unencrypted; use https",)
        return ()

    def open(self) -> None:
        """Open the folder, or make sure that the server is there."""
        self.disconnect()
        package = engine("qdrant_client", **PACKAGE)
        url = self.options.url
        if url is None:
            self._open_folder(package)
            return
        answer = first_answer(self.options, "", "api-key", self.kind)
        if not isinstance(answer, Mapping) or "version" not in answer:
            raise InputError(f"{host_of(url)} does not answer as Qdrant does; is the url right?")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a key without encryption; `remarks` says it
            self._client = package.QdrantClient(
                url=url,
                port=443 if url.startswith("https:") else 80,
                prefer_grpc=False,
                headers=self.options.sent_headers("api-key"),
                timeout=math.ceil(LONGEST_ANSWER),
                check_compatibility=False,
                verify=self.options.verify,
                trust_env=not is_loopback(url),
                follow_redirects=False,
            )
        self._give_back = closed_with(self, self._client.close)

    @property
    def files(self) -> Path | None:
        """The folder with its files, if it runs in this process."""
        if self.options.url is not None:
            return None
        return engine_folder(self.context, self.options.path, f"{self.index_name}.qdrant")

    def _open_folder(self, package: Any) -> None:
        folder = self.files
        if folder is None:
            self._client = package.QdrantClient(":memory:")
            self._give_back = closed_with(self, self._client.close)
            return
        if self.is_attached and not (folder / _META).is_file():  # opening it would make it
            raise InputError(
                f"Qdrant has nothing in the folder {shown(str(folder))}; is path right?"
            )

        def connect(place: Any) -> tuple[Any, Any]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of many points; it is slow, but right
                client = package.QdrantClient(path=str(place), force_disable_check_same_thread=True)
            return client, client.close

        self._client, give_back = opened(self.kind, folder, connect)
        self._give_back = closed_with(self, give_back)

    def disconnect(self) -> None:
        """Close the client."""
        give_back, self._client, self._give_back = self._give_back, None, None
        if give_back is not None:
            give_back()

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        """Give the client; what it raises about a server becomes one sentence."""
        if self._client is None:
            self.open()
        url = self.options.url
        if url is None:
            yield self._client
            return
        errors = engine("qdrant_client.http.exceptions", **PACKAGE)
        others = engine("qdrant_client.common.client_exceptions", **PACKAGE)
        try:
            yield self._client
        except others.ResourceExhaustedResponse as error:
            raise RetryLater(float(error.retry_after_s), f"{host_of(url)} is busy") from None
        except errors.ResponseHandlingException as error:
            raise no_answer(url, error.source) from None
        except errors.UnexpectedResponse as error:
            raise refusal_by(error, host_of(url), self.source) from None

    # --- loading ---------------------------------------------------------------------------------

    def loading(self) -> Loading | None:
        """Say how many points there are from the first on, without a gap."""
        name = self.index_name
        with self._asking() as client:
            if not client.collection_exists(name):
                return None
            points = client.count(name, exact=True).count
            if not points:
                return Loading(0, is_complete=False)
            if self.options.index is not None:
                first = client.retrieve(name, [0], with_payload=["of"])
                self.check_content((first[0].payload or {}).get("of") if first else None)
            if points == self.total and self._is_finished(client):
                return Loading(points, is_complete=True)
            return Loading(self._without_gap(client), is_complete=False)

    def _without_gap(self, client: Any) -> int:
        """Count the points from the first to the first that is missing."""
        expected, offset = 0, 0
        while True:
            points, offset = client.scroll(
                self.index_name, limit=_IDS, offset=offset, with_payload=False
            )
            for point in points:  # by number, from low to high
                if point.id != expected:
                    return expected
                expected += 1
            if offset is None:
                return expected

    def _is_finished(self, client: Any) -> bool:
        if self.options.url is None:
            return True
        collection = client.get_collection(self.index_name)
        return {*self._places.values()} <= {*collection.payload_schema} and (
            collection.status.value == "green"
        )

    def create(self) -> None:
        """Make a collection, and the indexes that filters need before the graph is built."""
        known, options = models(), self.options
        in_folder = options.url is None
        # unit vectors: the product is the cosine, which a folder would make them unit again for
        distance = known.Distance.DOT if in_folder else known.Distance.COSINE
        try:
            with self._asking() as client:
                client.create_collection(
                    self.index_name,
                    vectors_config=known.VectorParams(size=self.size, distance=distance),
                    hnsw_config=given(
                        known.HnswConfigDiff,
                        m=options.m,
                        ef_construct=options.ef_construct,
                        full_scan_threshold=options.full_scan_threshold,
                    ),
                    optimizers_config=given(
                        known.OptimizersConfigDiff, indexing_threshold=options.indexing_threshold
                    ),
                    quantization_config=quantisation(options),
                )
        except WebError as error:
            if error.status != 409:  # made by another process that loads the same
                raise
        self._index_payload()

    def _index_payload(self) -> None:
        if self.options.url is None:
            return
        with self._asking() as client:
            for place in self._places.values():
                client.create_payload_index(
                    self.index_name, place, models().PayloadSchemaType.KEYWORD, wait=True
                )

    def add(self, batch: Batch) -> None:
        """Send points; one that is there already is replaced by the same."""
        rows = max(1, _FLOATS // max(self.size, 1))
        for low in range(0, len(batch.doc_ids), rows):
            points = self._points(batch, range(low, min(low + rows, len(batch.doc_ids))))
            repeated(lambda points=points: self._upsert(points))  # type: ignore[misc]

    def _points(self, batch: Batch, rows: range) -> list[Any]:
        point, vectors = models().PointStruct, batch.vectors
        if vectors is None:
            raise AssertionError("qdrant stores vectors")
        points = []
        for row in rows:
            number = batch.first + row
            values = batch.values[row]
            payload: dict[str, Any] = {
                place: values[name] for name, place in self._places.items() if values.get(name)
            }
            payload["doc_id"] = batch.doc_ids[row]
            if number == 0:
                payload["of"] = self.content_name
            vector = vectors[row].tolist() if vectors[row].any() else {}
            points.append(point.model_construct(id=number, vector=vector, payload=payload))
        return points

    def _upsert(self, points: list[Any]) -> None:
        with self._asking() as client, warnings.catch_warnings():
            if self.options.url is None:
                warnings.simplefilter("ignore")  # of many points; it is slow, but right
            client.upsert(self.index_name, points, wait=True)

    def finish(self) -> None:
        """Wait until a server has built its graph."""
        self._index_payload()
        if self.options.url is None:
            return
        pace, end = PACE.get(), time.monotonic() + _LONGEST_BUILD
        stop = Stop(None) if pace is None else pace.stop
        pause = 0.05
        while time.monotonic() < end:
            with self._asking() as client:
                status = client.get_collection(self.index_name).status.value
                if status == "green":
                    return
                if status == "red":
                    raise InputError(
                        f"qdrant says that {self.source} has failed; look at the server's log"
                    )
                if status == "grey":  # it waits for a change since it was started
                    client.update_collection(
                        self.index_name, optimizers_config=models().OptimizersConfigDiff()
                    )
            stop.sleep(pause)
            pause = min(2 * pause, 2.0)
        raise InputError(
            f"qdrant has not built the index of {self.source} within {_LONGEST_BUILD:g} s; run "
            "again when it has"
        )

    def drop(self) -> None:
        """Delete the collection."""
        with self._asking() as client:
            client.delete_collection(self.index_name)

    def attach(self) -> int | None:
        """Find the collection of the user's, and the vectors that are searched."""
        name = self.index_name
        with self._asking() as client:
            if not client.collection_exists(name):
                known = sorted(entry.name for entry in client.get_collections().collections)
                there = ", ".join(known[:10]) or "none"
                raise InputError(f"qdrant has no collection {shown(name)}; there is {there}")
            vectors = client.get_collection(name).config.params.vectors
        if isinstance(vectors, Mapping):
            wanted = self.options.vector or ""
            if wanted not in vectors:
                names = ", ".join(sorted(vectors))
                raise InputError(f"{self.source} has the vectors {names}; name one as vector")
            vectors = vectors[wanted]
        elif self.options.vector is not None:
            raise InputError(f"{self.source} has no named vectors; leave out vector")
        self._sign = -1.0 if vectors.distance.value in _LOWER_IS_BETTER else 1.0
        return int(vectors.size)

    # --- searching -------------------------------------------------------------------------------

    def ask(self, asked: Asked, depth: int) -> Pairs:
        """Return the nearest points."""
        return self._ask(asked, depth, hnsw_ef=self.options.hnsw_ef, exact=self.options.exact)

    def ask_stored(self, asked: Asked, depth: int) -> Pairs | None:
        """Compare all that is stored.

        An exact search does not look at quantised vectors. There, the graph is searched with as
        many candidates as there are points, and with the same rescoring.
        """
        if self.options.url is None or self.options.exact or self.options.quantisation == "none":
            return self._ask(asked, depth, hnsw_ef=None, exact=True)
        return self._ask(asked, depth, hnsw_ef=max(self.count() or 1, 1), exact=False)

    def _ask(self, asked: Asked, depth: int, *, hnsw_ef: int | None, exact: bool) -> Pairs:
        if asked.vector is None or not all(asked.filters.values()):  # a list without a value
            return []
        options, known = self.options, models()
        id_field = options.id_field if self.is_attached else "doc_id"
        searching = None
        if options.url is not None:
            quantised = given(
                known.QuantizationSearchParams,
                rescore=options.rescore,
                oversampling=options.oversampling,
            )
            searching = known.SearchParams(hnsw_ef=hnsw_ef, exact=exact, quantization=quantised)
        query = asked.vector.astype(np.float64).tolist()
        places = None if self.is_attached else self._places

        def best(limit: int) -> Pairs:
            with self._asking() as client:
                points = client.query_points(
                    self.index_name,
                    query=query,
                    using=options.vector,
                    query_filter=condition(asked.filters, places),
                    search_params=searching,
                    limit=limit,
                    with_payload=False if id_field is None else [id_field],
                    timeout=math.ceil(time_limit() or LONGEST_ANSWER),
                ).points
            return [self._pair(point, id_field) for point in points]

        pairs = with_ties(best, depth) if exact or options.url is None else best(depth)
        scores: dict[str, float] = {}
        for doc_id, score in pairs:
            scores.setdefault(doc_id, score)  # best first
        return list(scores.items())

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

    # --- what it says ----------------------------------------------------------------------------

    def version(self) -> str:
        """Say the version of the server, or of the client whose local mode answers."""
        with self._asking() as client:
            collection = client.get_collection(self.index_name)
            if self.options.url is None:
                return f"{engine_version('qdrant-client')}, local mode"
            self._chosen = {
                "indexed_vectors": collection.indexed_vectors_count,
                "segments": collection.segments_count,
                "hnsw": plain(collection.config.hnsw_config),
                "indexing_threshold": getattr(
                    collection.config.optimizer_config, "indexing_threshold", None
                ),
            }
            return str(client.info().version)

    def count(self) -> int | None:
        """Count the points."""
        with self._asking() as client:
            return int(client.count(self.index_name, exact=True).count)

    def settings(self) -> dict[str, Any]:
        """Say how it searches."""
        options = self.options
        if options.url is None:
            return {"search": options.search, "mode": "folder", "index": "none"}
        names = ("exact", "hnsw_ef", "rescore", "oversampling")
        return {
            **super().settings(),
            "mode": "server",
            **{name: getattr(options, name) for name in names},
            "engine": self._chosen,
        }
