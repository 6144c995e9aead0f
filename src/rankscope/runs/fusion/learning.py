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
from rankscope.errors import InputError

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Pool, SideBySide
    from rankscope.runs.order import Floats, Ints

RELEVANT = 1.0
"""The lowest grade that counts as relevant."""

UNIT = 1 << 40
"""Fractions are added up as whole numbers of 1 / UNIT."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a method learns of a run: the share that is relevant in each cell of its lists.

    All functions return something for each row of a pool.
    """

    cell: Callable[[Pool], Ints]
    """The cell that it is in; these rise from rank to rank, and are at most the rank less 1."""
    worth: Callable[[Pool, Floats, Ints], Floats] = lambda _, hit, __: hit
    """What it adds, from whether it is relevant, and how many documents are for its query."""
    of: Callable[[Pool], Ints] | None = None
    """What a query adds to what is divided by; None: as much as it has rows in the cell."""
    unit: int = 1
    """What 1 is in whole numbers."""


class Training:
    """What the judged queries show of each run, a query's own judgments left out."""

    def __init__(self, side: SideBySide, method: str, qrels: Any, lesson: Lesson) -> None:
        if qrels is None:
            raise InputError(f"{method} learns from judgments; give qrels of queries in the runs")
        table = as_qrels(qrels)
        if sum(query_id in table for query_id in side.query_ids) < 2:
            raise InputError(f"{method} needs judgments of two queries that are in the runs")
        self._lesson = lesson
        self._judged = np.array([query_id in table for query_id in side.query_ids], np.int64)
        ids = pl.DataFrame({"query_id": pl.Series(side.query_ids, dtype=pl.String)})
        self._pairs = (
            table.to_polars()
            .filter(pl.col("grade") >= RELEVANT)
            .join(ids.with_row_index("query"), on="query_id")
            .select(pl.col("query").cast(pl.Int64), "doc_id")
            .unique()
        )
        self._relevant = np.bincount(self._pairs["query"], minlength=len(self._judged))
        self._depth = int(side.sizes.max(initial=1))
        self._total = np.zeros((len(side.runs) * self._depth, 2), np.int64)
        for pool in side.pools():
            place, part, shown_by_part = self._shown(pool)
            begins = np.flatnonzero(np.diff(part, prepend=-1))
            np.add.at(self._total, place[begins], shown_by_part)

    def _shown(self, pool: Pool) -> tuple[Ints, Ints, Ints]:
        """Return what judged queries show: by row its cell's place in the total, and its part.

        A part is all rows of a list that are in one cell; by part, how much is relevant, and how
        many rows there are.
        """
        rows = pool.rows.with_columns(pl.col("query") + pool.low).with_row_index()
        found_in = rows.join(self._pairs, on=["query", "doc_id"], how="semi")["index"].to_numpy()
        hit, query = np.zeros(len(pool.rank)), pool.query + pool.low
        hit[found_in] = 1.0
        worth = self._lesson.worth(pool, hit, self._relevant[query])
        place = pool.run * self._depth + self._lesson.cell(pool)
        part = np.cumsum((np.diff(place, prepend=-1) != 0) | (pool.rank == 1)) - 1
        worths = np.rint(np.bincount(part, worth) * self._lesson.unit)
        judged = np.bincount(part, self._judged[query])
        return place, part, np.stack([worths, judged], axis=1).astype(np.int64)

    def chances(self, pool: Pool) -> Floats:
        """Return by row how often documents in its cell were relevant; 0 if none was seen."""
        place, part, shown_by_part = self._shown(pool)
        relevant, of = (self._total[place] - shown_by_part[part]).T
        if self._lesson.of is not None:
            others = self._judged.sum() - self._judged[pool.query + pool.low]
            of = others * self._lesson.of(pool)
        return np.where(of > 0, relevant / np.maximum(of, 1), 0.0)


BY_RANK = Lesson(lambda pool: pool.rank - 1)
"""The share of relevant documents among those at each rank."""


def by_part(edges: Ints) -> Lesson:
    """Learn how many of the ranks between two edges are relevant; nothing behind the last edge."""
    widths = np.append(np.diff(edges), 0)

    def cell(pool: Pool) -> Ints:
        return np.searchsorted(edges, pool.rank - 1, side="right") - 1

    return Lesson(cell, of=lambda pool: widths[cell(pool)])


def by_segment(segments: int) -> Lesson:
    """Learn the share of relevant documents in each segment, as a mean over queries."""

    def worth(pool: Pool, hit: Floats, _: Ints) -> Floats:
        step = -(-pool.size // segments)
        return hit / np.minimum(step, pool.size - segment_of(pool, segments) * step)

    return Lesson(lambda pool: segment_of(pool, segments), worth, _unit_of_queries, UNIT)


def segment_of(pool: Pool, segments: int) -> Ints:
    """Return the segment of each row, from 0: a list of n is cut into pieces of ⌈n / segments⌉."""
    return (pool.rank - 1) // -(-pool.size // segments)


def _unit_of_queries(pool: Pool) -> Ints:
    return np.full(len(pool.rank), UNIT)


def _precision_share(pool: Pool, hit: Floats, relevant: Ints) -> Floats:
    so_far = np.cumsum(hit)
    before = pool.spread((so_far - hit)[pool.first])
    return hit * (so_far - before) / pool.rank / np.maximum(relevant, 1)


AVERAGE_PRECISION = Lesson(lambda pool: 0 * pool.rank, _precision_share, _unit_of_queries, UNIT)
"""The mean average precision."""
