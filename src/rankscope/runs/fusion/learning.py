"""What trained fusion learns from judged queries, and how it scores lists by it.

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

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Pool, Ranking, SideBySide
    from rankscope.runs.order import Bools, Floats, Ints

RELEVANT = 1.0
"""The lowest grade that counts as relevant."""

UNIT = float(1 << 40)
"""Fractions are added up as whole numbers of 1 / UNIT."""

BAYES_EDGES = np.array([0, 5, 10, 15, 20, 30, 100, 200, 500, 1000])
SEGMENT_EDGES = np.array([0, *(10 * 2**k - 5 for k in range(10))])
"""Where the parts of lists begin and end; behind the last edge nothing is learnt."""


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """One run's lists for a block of queries, with what is relevant in them."""

    ranking: Ranking
    queries: int
    """How many queries the block has."""
    depth: int
    """The length of the run's longest list, over all queries."""
    hit: Bools
    """By row: whether the document is relevant."""
    relevant: Ints
    """By query: how many documents are, returned or not."""

    def counted(self, column: Ints, columns: int, rows: Bools | None = None) -> Ints:
        """Count rows by query and by the column that each belongs to: (queries, columns)."""
        cell = self.ranking.row_query * columns + column
        cell = cell if rows is None else cell[rows]
        return np.bincount(cell, minlength=self.queries * columns).reshape(self.queries, columns)


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """What the other judged queries show, for each query of a block."""

    counts: Ints
    """What was observed, added up over them: (queries, columns)."""
    queries: Ints
    """By query: how many others are judged."""

    def mean(self, width: Floats | float = 1.0) -> Floats:
        """Return counts over the number of judged queries and a width by column."""
        return self.counts / (self.queries[:, None] * width)


Observe = Callable[..., "Ints"]
"""From lists (and options) to counts: (queries, columns)."""


class Training:
    """The counts of all judged queries, by run, and of each query's own."""

    def __init__(
        self, side: SideBySide, method: str, qrels: Any, observe: Callable[[Lists], Ints]
    ) -> None:
        if qrels is None:
            raise InputError(f"{method} learns from judgments; give qrels of queries in the runs")
        self._side, self._observe = side, observe
        self._judge(qrels)
        judged = np.flatnonzero(self._judged)
        if not judged.size:
            raise InputError(f"{method} has nothing to learn from: no judged query is in the runs")
        if judged.size == 1:
            raise InputError(
                f"{method} never fuses a query by its own judgments, and "
                f"{shown(side.query_ids[judged[0]])} is the only judged query in the runs; give "
                "judgments of at least two"
            )
        self._total = [
            np.sum(
                [self._counts(which, side.ranking(which, *block), *block).sum(axis=0)
                 for block in side.blocks()],
                axis=0,
            )
            for which in range(len(side.runs))
        ]  # fmt: skip

    def _judge(self, qrels: Any) -> None:
        """Find the judged queries and their relevant documents, by number of the query."""
        table, ids = as_qrels(qrels), self._side.query_ids
        known = set(table.query_ids)
        self._judged = np.array([query_id in known for query_id in ids], np.bool_)
        numbers = pl.DataFrame({"query_id": pl.Series(ids, dtype=pl.String)}).with_row_index(
            "query"
        )
        self._pairs = (
            table.to_polars()
            .filter(pl.col("grade") >= RELEVANT)
            .join(numbers, on="query_id")
            .select(pl.col("query").cast(pl.Int64), "doc_id")
            .unique()
        )
        self._relevant = np.bincount(self._pairs["query"].to_numpy(), minlength=len(ids))

    def _counts(self, which: int, ranking: Ranking, low: int, high: int) -> Ints:
        """Return what is observed of a block's judged queries; 0 for others."""
        rows = pl.DataFrame({"query": ranking.row_query + low, "doc_id": ranking.doc_id})
        hits = rows.with_row_index().join(self._pairs, on=["query", "doc_id"], how="semi")["index"]
        hit = np.zeros(len(ranking.score), np.bool_)
        hit[hits.to_numpy()] = True
        depth = int(self._side.sizes(which).max(initial=1))
        lists = Lists(ranking, high - low, depth, hit, self._relevant[low:high])
        return self._observe(lists) * self._judged[low:high, None]

    def of_others(self, which: int, pool: Pool) -> Learnt:
        """Return what one run's lists for the judged queries show, a query's own left out."""
        low, high = pool.low, pool.low + pool.queries
        mine = self._counts(which, pool.rankings[which], low, high)
        judged = np.count_nonzero(self._judged) - self._judged[low:high]
        return Learnt(self._total[which] - mine, judged)


# --- what is observed of lists ---------------------------------------------------------------


def positions(lists: Lists) -> Ints:
    """Count by rank the relevant documents, and behind them the lists that are so long."""
    place = lists.ranking.rank - 1
    hits = lists.counted(place, lists.depth, lists.hit)
    return np.concatenate([hits, lists.counted(place, lists.depth)], axis=1)


def part_of(ranking: Ranking, edges: Ints) -> Ints:
    """Return the part that each row is in; the last is behind all edges."""
    return np.searchsorted(edges, ranking.rank - 1, side="right") - 1


def parts(edges: Ints) -> Callable[[Lists], Ints]:
    """Count the relevant documents in the parts of a list between edges."""
    return lambda lists: lists.counted(part_of(lists.ranking, edges), len(edges), lists.hit)


def widths(edges: Ints) -> Floats:
    """Return how many ranks each part has; infinitely many behind the last edge."""
    return np.append(np.diff(edges), np.inf)


def segment_of(ranking: Ranking, segments: int) -> Ints:
    """Return the segment of each row: a list of n is cut into pieces of ⌈n / segments⌉."""
    return (ranking.rank - 1) // -(-ranking.row_size // segments)


def segment_shares(segments: int) -> Callable[[Lists], Ints]:
    """Return the share of each segment's documents that is relevant, in units."""

    def observe(lists: Lists) -> Ints:
        segment = segment_of(lists.ranking, segments)
        hits = lists.counted(segment, segments, lists.hit)
        return _in_units(hits / np.maximum(lists.counted(segment, segments), 1))

    return observe


def average_precision(lists: Lists) -> Ints:
    """Return the average precision of each list, in units."""
    ranking = lists.ranking
    hits = np.cumsum(lists.hit)
    before = np.append(0, hits)[ranking.first]
    precision = (hits - np.repeat(before, ranking.size)) / ranking.rank * lists.hit
    total = np.bincount(ranking.row_query, precision, minlength=lists.queries)
    return _in_units(total / np.maximum(lists.relevant, 1))[:, None]


def _in_units(share: Floats) -> Ints:
    return np.rint(share * UNIT).astype(np.int64)


# --- what was learnt, for the rows of a ranking ----------------------------------------------


def at_rank(learnt: Learnt) -> Floats:
    """Return by rank how often documents were relevant: (queries, depth); 0 where none was."""
    hits, lists = np.split(learnt.counts, 2, axis=1)
    return hits / np.maximum(lists, 1)


def log_odds(probability: Floats) -> Floats:
    """Return ln(p / (1 − p)), with 0.001 in the place of a part that is 0."""
    for_it = np.where(probability > 0, probability, 0.001)
    odds: Floats = np.log(for_it / np.where(for_it < 1, 1 - for_it, 0.001))
    return odds
