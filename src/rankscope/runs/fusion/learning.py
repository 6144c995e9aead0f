"""What trained fusion learns from judged queries: how often a run's documents were relevant.

Between pooling and the fusion methods. What is learnt for a query comes from the other judged
queries: a query's own judgments have no say in its own list, so that a fused run can be scored by
the judgments it was trained on. Counts are whole numbers: taking a query's own away from the total
leaves no trace of them, not even by rounding.

Ranks count from 1, and a document with a grade of 1 or more is relevant; unjudged ones are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.collection.qrels import as_qrels
from rankscope.errors import InputError, shown
from rankscope.runs.fusion.pooling import Ranking

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Pool, SideBySide
    from rankscope.runs.order import Bools, Floats, Ints

RELEVANT = 1.0
"""The lowest grade that counts as relevant."""

UNIT = 1 << 40
"""Fractions are added up as whole numbers of 1 / UNIT."""


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """One run's lists for a block of queries, with what is relevant in them."""

    ranking: Ranking
    depth: int
    """The length of the run's longest list, over all queries."""
    hit: Bools
    """By row: whether the document is relevant."""
    relevant: Ints
    """By query: how many documents are, returned or not."""

    def counted(self, cell: Ints, cells: int) -> tuple[Ints, Ints]:
        """Count the relevant rows and all rows, by query and by the cell that each row is in."""
        place, shape = self.ranking.query * cells + cell, (len(self.relevant), cells)
        hits, rows = (
            np.bincount(at, minlength=shape[0] * cells) for at in (place[self.hit], place)
        )
        return hits.reshape(shape), rows.reshape(shape)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a method learns: a share of relevant documents for each cell that lists are cut into."""

    cell: Callable[[Ranking], Ints]
    """The cell that each row is in."""
    counts: Callable[[Lists], tuple[Ints, Ints | int]]
    """What is relevant, by query and cell, and of how much; both in whole numbers."""


class Training:
    """What the judged queries show of each run, a query's own judgments left out."""

    def __init__(self, side: SideBySide, method: str, qrels: Any, lesson: Lesson) -> None:
        if qrels is None:
            raise InputError(f"{method} learns from judgments; give qrels of queries in the runs")
        self._side, self._lesson = side, lesson
        table = as_qrels(qrels)
        self._judged = np.array([query_id in table for query_id in side.query_ids], np.bool_)
        judged = np.flatnonzero(self._judged)
        if not judged.size:
            raise InputError(f"{method} has nothing to learn from: no judged query is in the runs")
        if judged.size == 1:
            raise InputError(
                f"{method} never fuses a query by its own judgments, and "
                f"{shown(side.query_ids[judged[0]])} is the only judged query in the runs; give "
                "judgments of at least two"
            )
        ids = pl.DataFrame({"query_id": pl.Series(side.query_ids, dtype=pl.String)})
        self._pairs = (
            table.to_polars()
            .filter(pl.col("grade") >= RELEVANT)
            .join(ids.with_row_index("query"), on="query_id")
            .select(pl.col("query").cast(pl.Int64), "doc_id")
            .unique()
        )
        numbers = self._pairs["query"].to_numpy()
        self._relevant = np.bincount(numbers, minlength=len(side.query_ids))
        self._total = [
            sum(
                self._counts(which, Ranking.of(run, low, high), low, high).sum(axis=1)
                for low, high in side.blocks()
            )
            for which, run in enumerate(side.runs)
        ]

    def _counts(self, which: int, ranking: Ranking, low: int, high: int) -> Ints:
        """Return the counts of a block's judged queries, 0 for others: (2, queries, cells)."""
        rows = pl.DataFrame({"query": ranking.query + low, "doc_id": ranking.doc_id})
        hits = rows.with_row_index().join(self._pairs, on=["query", "doc_id"], how="semi")["index"]
        hit = np.zeros(len(ranking.score), np.bool_)
        hit[hits.to_numpy()] = True
        depth = int(self._side.runs[which].sizes.max(initial=1))
        lists = Lists(ranking, depth, hit, self._relevant[low:high])
        relevant, of = self._lesson.counts(lists)
        counts = np.stack([relevant, np.broadcast_to(of, relevant.shape)])
        return counts * self._judged[low:high, None]

    def chances(self, pool: Pool) -> list[Floats]:
        """Return by run how often documents were relevant: (queries, cells); 0 if none was seen."""
        made = []
        for which, ranking in enumerate(pool.rankings):
            counts = self._counts(which, ranking, pool.low, pool.low + pool.queries)
            relevant, of = self._total[which][:, None] - counts
            made.append(relevant / np.maximum(of, 1))
        return made

    def chance(self, pool: Pool, chances: list[Floats]) -> Floats:
        """Return the table of these, for the cell that each candidate is in."""
        return pool.table(
            chance[ranking.query, self._lesson.cell(ranking)]
            for chance, ranking in zip(chances, pool.rankings, strict=True)
        )


def by_rank() -> Lesson:
    """Learn the share of relevant documents among those at each rank."""

    def cell(ranking: Ranking) -> Ints:
        return ranking.rank - 1

    return Lesson(cell, lambda lists: lists.counted(cell(lists.ranking), lists.depth))


def by_part(edges: Ints) -> Lesson:
    """Learn how many of the ranks between two edges are relevant; nothing behind the last edge."""

    def cell(ranking: Ranking) -> Ints:
        return np.searchsorted(edges, ranking.rank - 1, side="right") - 1

    def counts(lists: Lists) -> tuple[Ints, Ints]:
        hits, _ = lists.counted(cell(lists.ranking), len(edges))
        hits[:, -1] = 0
        return hits, np.append(np.diff(edges), 1)

    return Lesson(cell, counts)


def by_segment(segments: int) -> Lesson:
    """Learn the share of relevant documents in each segment, as a mean over queries."""

    def counts(lists: Lists) -> tuple[Ints, int]:
        hits, rows = lists.counted(segment_of(lists.ranking, segments), segments)
        return _in_units(hits / np.maximum(rows, 1)), UNIT

    return Lesson(lambda ranking: segment_of(ranking, segments), counts)


def segment_of(ranking: Ranking, segments: int) -> Ints:
    """Return the segment of each row, from 0: a list of n is cut into pieces of ⌈n / segments⌉."""
    return (ranking.rank - 1) // -(-ranking.size // segments)


def average_precision() -> Lesson:
    """Learn the mean average precision."""

    def counts(lists: Lists) -> tuple[Ints, int]:
        ranking, hits = lists.ranking, np.cumsum(lists.hit)
        before = ranking.spread(np.append(0, hits)[:-1][ranking.first])
        precision = (hits - before) / ranking.rank * lists.hit
        total = np.bincount(ranking.query, precision, minlength=len(lists.relevant))
        return _in_units(total / np.maximum(lists.relevant, 1))[:, None], UNIT

    return Lesson(lambda ranking: np.zeros(len(ranking.score), np.int64), counts)


def _in_units(share: Floats) -> Ints:
    return np.rint(share * UNIT).astype(np.int64)
