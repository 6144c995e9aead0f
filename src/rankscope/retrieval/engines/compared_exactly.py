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


def exactness(
    engine: LoadedEngine, queries: Sequence[Query], run: Run, settings: Compared, name: str
) -> Exactness:
    """Compare the answers of an engine, those of a run, with exact search over its vectors."""
    engine.prepare()
    with engine.speaking("be compared"):
        matrix = engine.vectors() if engine.doc_ids else None
        stored = None if matrix is None else _Stored(engine, matrix, settings)
        answered = set(run.query_ids)
        asked = [query for query in queries if query.query_id in answered and query.text.strip()]
        groups: dict[str, list[Question]] = {}  # by what they may find: searched together
        for question, _ in engine.questions(asked) if stored else ():
            if not isinstance(question, str) and question.has_direction:
                groups.setdefault(repr(sorted(question.filters.items())), []).append(question)
        rows = {
            row.query_id: row
            for group in groups.values()
            for row in (stored.compared(group, run) if stored else ())
        }
        return Exactness(
            system=name,
            k=settings.k,
            tolerance=settings.tolerance,
            documents=len(stored.doc_ids) if stored else 0,
            queries=tuple(rows[query.query_id] for query in asked if query.query_id in rows),
        )


class _Stored:
    """The documents of an engine that have a direction, and their vectors."""

    def __init__(self, engine: LoadedEngine, matrix: Floats, settings: Compared) -> None:
        directed = np.flatnonzero(matrix.any(axis=1)).tolist()
        self.doc_ids = [engine.doc_ids[at] for at in directed]
        self._values = [engine.values[at] for at in directed] if engine.values else []
        self._matrix = matrix[directed]
        self._places = {doc_id: at for at, doc_id in enumerate(self.doc_ids)}
        self._engine, self._settings = engine, settings

    def compared(self, questions: Sequence[Question], run: Run) -> Iterator[QueryExactness]:
        """Compare the answers to some questions that may find the same documents, if any."""
        k, filters, matrix = self._settings.k, questions[0].filters, self._matrix
        if filters:
            matrix = matrix[[passes(values, filters) for values in self._values]]
        if not len(matrix):
            return
        vectors = np.stack([np.asarray(question.vector) for question in questions])
        best = Vectors(matrix, np.arange(len(matrix))).best(vectors, k)
        for question, vector, (_, scores) in zip(questions, vectors, best, strict=True):
            query_id, floor = question.query.query_id, float(scores[-1]) - self._settings.tolerance
            everything = self._engine.ask_stored(question, self._settings.depth)
            nearest = [] if everything is None else Ranking.of(everything, k).doc_ids
            hits, stored_hits = (
                min(self._hits(vector, doc_ids, floor), len(scores))
                for doc_ids in (list(run[query_id])[:k], nearest)
            )
            yield QueryExactness(
                query_id=query_id,
                wanted=len(scores),
                hits=hits,
                stored_hits=None if everything is None else stored_hits,
            )

    def _hits(self, vector: Floats, doc_ids: Sequence[str], floor: float) -> int:
        """Count the documents that are near enough."""
        places = [self._places[doc_id] for doc_id in doc_ids if doc_id in self._places]
        scores = (self._matrix[places] * vector).sum(axis=1)
        return int(np.count_nonzero(scores >= floor))
