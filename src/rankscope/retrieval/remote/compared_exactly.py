"""An engine's approximate answers against exact search over the same vectors.

The vectors are those that the engine was given, before it stored them in its own way. A document
of the answer is a hit if it is as near as the k-th of the exact answer, up to a tolerance: which of
two documents at the same distance is returned is no loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.approximation import Exactness, QueryExactness
from rankscope.retrieval.protocol import Query, Ranking, System
from rankscope.retrieval.remote.attached_engine import AttachedEngine
from rankscope.retrieval.remote.filters import passes
from rankscope.retrieval.remote.loaded_engine import Asked, LoadedEngine
from rankscope.retrieval.vector.similarity import Vectors
from rankscope.runs.table import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def approximate(system: System) -> LoadedEngine | None:
    """Return the engine that a system is, if it searches vectors of ours approximately.

    Which vectors a collection of the user's holds is not known.
    """
    if not isinstance(system, LoadedEngine) or system.options.search != "vector":
        return None
    if isinstance(system, AttachedEngine) and system.is_attached:
        return None
    return None if system.capabilities.exact else system


@dataclass(frozen=True, slots=True)
class Compared:
    """How answers are compared: the first ``k``, of ``depth`` that the engine was asked for.

    Documents whose similarity is less than that of the k-th by no more than ``tolerance`` count.
    """

    k: int
    depth: int
    tolerance: float


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """What can be found: ids, their vectors, and where each is."""

    doc_ids: list[str]
    matrix: Floats
    values: list[dict[str, list[str]]]
    places: Mapping[str, int]

    @classmethod
    def of(cls, engine: LoadedEngine) -> _Stored:
        texts, embeddings = engine.texts, engine.embeddings
        assert texts is not None
        assert embeddings is not None
        kept = [at for at, text in enumerate(texts.texts) if text.strip()]
        prefix = engine.options.document_prefix
        matrix = embeddings.of([prefix + texts.texts[at] for at in kept])
        directed = np.flatnonzero(matrix.any(axis=1)).tolist() if len(matrix) else []
        doc_ids = [texts.doc_ids[kept[at]] for at in directed]
        values = [engine.values[kept[at]] if engine.values else {} for at in directed]
        places = {doc_id: at for at, doc_id in enumerate(doc_ids)}
        return cls(doc_ids, matrix[directed], values, places)


def exactness(
    engine: LoadedEngine,
    queries: Sequence[Query],
    run: Run,
    settings: Compared,
    name: str,
) -> Exactness:
    """Compare the answers of an engine, those of a run, with exact search over its vectors."""
    engine.prepare()
    with engine.speaking("compare"):
        return _compared(engine, queries, run, settings, name)


def _compared(
    engine: LoadedEngine, queries: Sequence[Query], run: Run, settings: Compared, name: str
) -> Exactness:
    stored = _Stored.of(engine)
    answered = set(run.query_ids)
    asked = [query for query in queries if query.query_id in answered and query.text.strip()]
    rows: list[QueryExactness] = []
    if stored.doc_ids:
        rows = list(_rows(engine, stored, asked, run, settings))
    return Exactness(
        system=name,
        k=settings.k,
        tolerance=settings.tolerance,
        documents=len(stored.doc_ids),
        queries=tuple(rows),
    )


def _rows(
    engine: LoadedEngine,
    stored: _Stored,
    queries: Sequence[Query],
    run: Run,
    settings: Compared,
) -> Iterator[QueryExactness]:
    k, tolerance = settings.k, settings.tolerance
    groups: dict[str, list[Asked]] = {}
    for entry in engine.asked(queries):
        if not isinstance(entry, Ranking):
            groups.setdefault(repr(sorted(entry[0].filters.items())), []).append(entry[0])
    by_query: dict[str, QueryExactness] = {}
    for group in groups.values():
        allowed = _allowed(stored, group[0])
        if not len(allowed):
            continue
        matrix = stored.matrix[allowed]
        vectors = np.stack([_vector(asked) for asked in group])
        best = Vectors(matrix, np.arange(len(matrix))).best(vectors, k)
        for asked, (_, scores) in zip(group, best, strict=True):
            floor = float(scores[-1]) - tolerance
            answer = list(run[asked.query.query_id])[:k]
            exhaustive = engine.ask_stored(asked, settings.depth)
            by_query[asked.query.query_id] = QueryExactness(
                query_id=asked.query.query_id,
                wanted=len(scores),
                hits=min(_hits(stored, asked, answer, floor), len(scores)),
                stored_hits=None
                if exhaustive is None
                else min(
                    _hits(stored, asked, Ranking.of(exhaustive, k).doc_ids, floor), len(scores)
                ),
            )
    yield from (by_query[query.query_id] for query in queries if query.query_id in by_query)


def _vector(asked: Asked) -> Floats:
    assert asked.vector is not None
    return asked.vector


def _allowed(stored: _Stored, asked: Asked) -> NDArray[np.intp]:
    """Return the places of documents that a query may find."""
    if not asked.filters:
        return np.arange(len(stored.doc_ids))
    kept = [at for at, values in enumerate(stored.values) if passes(values, asked.filters)]
    return np.array(kept, np.intp)


def _hits(stored: _Stored, asked: Asked, doc_ids: Sequence[str], floor: float) -> int:
    """Count the documents that are near enough."""
    places = [stored.places[doc_id] for doc_id in doc_ids if doc_id in stored.places]
    if not places:
        return 0
    scores = (stored.matrix[places] * _vector(asked)).sum(axis=1)
    return int(np.count_nonzero(scores >= floor))
