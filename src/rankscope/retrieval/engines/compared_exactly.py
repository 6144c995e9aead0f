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
from rankscope.retrieval.engines.base import Question
from rankscope.retrieval.engines.filters import passes
from rankscope.retrieval.engines.loaded import LoadedEngine
from rankscope.retrieval.protocol import Query, Ranking, System
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
    if not isinstance(system, LoadedEngine) or system.is_attached or not system.needs_vectors:
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
        matrix = engine.embeddings.of(engine.embedded(engine.kept)) if engine.embeddings else None
        if matrix is None or engine.texts is None or not len(matrix):
            return cls([], np.empty((0, 0), np.float32), [], {})
        directed = np.flatnonzero(matrix.any(axis=1)).tolist()
        doc_ids = [engine.texts.doc_ids[engine.kept[at]] for at in directed]
        places = {doc_id: at for at, doc_id in enumerate(doc_ids)}
        return cls(doc_ids, matrix[directed], [engine.values[at] for at in directed], places)


def exactness(
    engine: LoadedEngine, queries: Sequence[Query], run: Run, settings: Compared, name: str
) -> Exactness:
    """Compare the answers of an engine, those of a run, with exact search over its vectors."""
    engine.prepare()
    with engine.speaking("be compared"):
        stored, answered = _Stored.of(engine), set(run.query_ids)
        asked = [query for query in queries if query.query_id in answered and query.text.strip()]
        return Exactness(
            system=name,
            k=settings.k,
            tolerance=settings.tolerance,
            documents=len(stored.doc_ids),
            queries=tuple(_rows(engine, stored, asked, run, settings)) if stored.doc_ids else (),
        )


def _rows(
    engine: LoadedEngine,
    stored: _Stored,
    queries: Sequence[Query],
    run: Run,
    settings: Compared,
) -> Iterator[QueryExactness]:
    k, tolerance = settings.k, settings.tolerance
    groups: dict[str, list[Question]] = {}
    for question, _ in engine.questions(queries):
        if not isinstance(question, str) and question.has_direction:
            groups.setdefault(repr(sorted(question.filters.items())), []).append(question)
    by_query: dict[str, QueryExactness] = {}
    for group in groups.values():
        allowed = _allowed(stored, group[0])
        if not len(allowed):
            continue
        matrix = stored.matrix[allowed]
        vectors = np.stack([_vector(question) for question in group])
        best = Vectors(matrix, np.arange(len(matrix))).best(vectors, k)
        for question, (_, scores) in zip(group, best, strict=True):
            floor, query_id = float(scores[-1]) - tolerance, question.query.query_id
            everything = engine.ask_stored(question, settings.depth)
            stored_hits = None
            if everything is not None:
                nearest = Ranking.of(everything, k).doc_ids
                stored_hits = min(_hits(stored, question, nearest, floor), len(scores))
            answer = list(run[query_id])[:k]
            by_query[query_id] = QueryExactness(
                query_id=query_id,
                wanted=len(scores),
                hits=min(_hits(stored, question, answer, floor), len(scores)),
                stored_hits=stored_hits,
            )
    yield from (by_query[query.query_id] for query in queries if query.query_id in by_query)


def _vector(question: Question) -> Floats:
    assert question.vector is not None
    return question.vector


def _allowed(stored: _Stored, question: Question) -> NDArray[np.intp]:
    """Return the places of documents that a query may find."""
    if not question.filters:
        return np.arange(len(stored.doc_ids))
    kept = [at for at, values in enumerate(stored.values) if passes(values, question.filters)]
    return np.array(kept, np.intp)


def _hits(stored: _Stored, question: Question, doc_ids: Sequence[str], floor: float) -> int:
    """Count the documents that are near enough."""
    places = [stored.places[doc_id] for doc_id in doc_ids if doc_id in stored.places]
    if not places:
        return 0
    scores = (stored.matrix[places] * _vector(question)).sum(axis=1)
    return int(np.count_nonzero(scores >= floor))
