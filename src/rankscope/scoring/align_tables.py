"""Alignment of `Run` tables: hashes find the few rows that may be judged, text decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.runs import order
from rankscope.scoring.align import Hits
from rankscope.scoring.soundness import Lists

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.runs.order import Precision, Ties
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

SMALL = 1 << 17
"""A run of so many rows is joined as it is; in a larger one hashes say where to look."""

_BLOCK = 1 << 20
_MARK_BITS = 22
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd and without pattern: moves groups far apart


def hits_in_table(
    judgments: Judgments,
    run: Run,
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits:
    """Find the judged documents of a run and their ranks."""
    ids = judgments.query_ids
    position = {query_id: place for place, query_id in enumerate(run.query_ids)}
    group = np.fromiter((position.get(query_id, -1) for query_id in ids), np.int64, len(ids))
    row, query, grade = _judged_rows(run, judgments, group)
    ranking = Ranking(run, ties, precision)
    rank, tie_first, tie_size = ranking.ranks(row, group[query])
    sizes = np.append(run.sizes, 0)  # group -1, of queries the run lacks, takes the last
    by_rank = np.lexsort((rank, query))
    return Hits(
        query=query[by_rank],
        rank=rank[by_rank],
        tie_first=tie_first[by_rank],
        tie_size=tie_size[by_rank],
        grade=grade[by_rank],
        doc_ids=lambda: run.doc_ids.gather(row[by_rank]).to_list(),
        retrieved=sizes[group],
        tied_at={cutoff: ranking.tied_across(cutoff, group[group >= 0]) for cutoff in cutoffs},
        lists=ranking.lists(group[group >= 0]),
    )


def _judged_rows(
    run: Run, judgments: Judgments, group: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the run's judged rows: row, number of the judged query, grade."""
    pairs = judgments.pairs
    judged = pl.DataFrame(
        {
            "group": group[judgments.query],
            "query": judgments.query,
            "doc_id": pairs["doc_id"],
            "grade": pairs["grade"].cast(pl.Float64),
        }
    ).filter(pl.col("group") >= 0)
    rows = candidates(run, judged)
    likely = pl.DataFrame(
        {
            "row": rows,
            "group": order.groups_of(run.offsets, rows),
            "doc_id": run.doc_ids.gather(rows),
        }
    )
    joined = likely.join(judged, on=["group", "doc_id"])
    return joined["row"].to_numpy(), joined["query"].to_numpy(), joined["grade"].to_numpy()


def candidates(run: Run, judged: pl.DataFrame) -> IntArray:
    """Return rows that may be judged: all of a small run, else those whose hash is marked.

    ``judged`` holds pairs: the number of the query in the run (``group``) and the ``doc_id``.

    Marks are a table of 2^22 bits, set for the top bits of the hash of each judged pair; a row
    whose pair hits a mark by accident is dropped when the text is compared.
    """
    size = len(run)
    if size <= SMALL:
        return np.arange(size)
    marks = np.zeros(1 << _MARK_BITS, np.bool_)
    shift = np.uint64(64 - _MARK_BITS)
    groups = judged["group"].to_numpy().astype(np.uint64) * _SPREAD
    marks[(judged["doc_id"].hash().to_numpy() + groups) >> shift] = True
    rows = []
    for low in range(0, size, _BLOCK):
        high = min(low + _BLOCK, size)
        first = int(np.searchsorted(run.offsets, low, side="right")) - 1
        last = int(np.searchsorted(run.offsets, high))
        edges: IntArray = np.clip(run.offsets[first : last + 1], low, high)
        keys = np.repeat(np.arange(first, last, dtype=np.uint64) * _SPREAD, np.diff(edges))
        keys += run.doc_ids.slice(low, high - low).hash().to_numpy()
        rows.append(np.flatnonzero(marks[keys >> shift]) + low)
    return np.concatenate(rows)


class Ranking:
    """The order of a run by score, looked into only where it is needed.

    Where the scores of a query's rows fall, a row's rank is its place. Queries whose scores do not
    are sorted, and ids are compared only among equal scores; unless the run knows its order.
    """

    def __init__(self, run: Run, ties: Ties, precision: Precision) -> None:
        self._run = run
        self._ties = ties
        self._offsets = run.offsets
        self._scores = order.compared(run.scores.to_numpy(), precision)
        self._is_known = run.is_sorted and ties == "trec" and precision == "double"
        if self._is_known and run.best_first() is None:
            self._falls = np.ones(len(run.offsets) - 1, np.bool_)
        else:
            self._falls = ~order.unsettled(run.offsets, self._scores, ties=False)

    def ranks(self, row: IntArray, group: IntArray) -> IntArray:
        """Return for some rows rank, first rank of its tie and size of the tie: (3, rows)."""
        low, high = self._offsets[group], self._offsets[group + 1]
        place = row - low + 1
        ranks = np.stack([place, place, np.ones_like(place)])
        scores, last = self._scores, len(self._scores) - 1
        slow = ~self._falls[group]
        if len(row):
            mine = scores[row]
            slow |= (row > low) & (scores[np.maximum(row - 1, 0)] == mine)
            slow |= (row < high - 1) & (scores[np.minimum(row + 1, last)] == mine)
        if slow.any():
            ranks[:, slow] = self._ranks_by_sorting(row[slow], np.unique(group[slow]))
        return ranks

    def _ranks_by_sorting(self, row: IntArray, groups: IntArray) -> IntArray:
        """Return the ranks of some rows of some queries, which are put in order for it."""
        if self._is_known:
            rows, inner = order.rows_of(self._offsets, groups)
            known = self._run.best_first()
            best = rows if known is None else known[rows]
        else:
            rows, inner, best = order.best_first_rows(
                self._offsets, groups, self._scores, self._run.doc_ids, ties=self._ties, only=row
            )
        starts = order.tie_starts(inner, self._scores[best])
        tie = np.cumsum(starts) - 1  # by place: the number of its tie
        place = np.empty(len(rows), np.int64)
        gap = rows - np.arange(len(rows))  # the same for all rows of a query
        place[best - gap] = np.arange(len(rows))
        at = place[np.searchsorted(rows, row)]
        before = inner[order.groups_of(inner, at)] - 1
        first, size = np.flatnonzero(starts), np.bincount(tie)
        return np.stack([at - before, first[tie[at]] - before, size[tie[at]]])

    def lists(self, groups: IntArray) -> Lists:
        """Count some queries by how their scores go down the list."""
        offsets, scores = self._offsets, self._scores
        several = groups[offsets[groups + 1] - offsets[groups] > 1]
        falls = self._falls[several]
        ends = scores[offsets[several]] == scores[offsets[several + 1] - 1]
        rising, climbing = int(np.count_nonzero(~falls)), 0
        if rising:
            ever_falls = order.unsettled(offsets, -scores, ties=False)
            climbing = int(np.count_nonzero(~falls & ~ever_falls[several]))
        return Lists(len(several), rising, climbing, int(np.count_nonzero(falls & ends)))

    def tied_across(self, cutoff: int, groups: IntArray) -> int:
        """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` share a score."""
        deep = groups[self._offsets[groups + 1] - self._offsets[groups] > cutoff]
        falls = self._falls[deep]
        at = self._offsets[deep[falls]] + cutoff
        count = int(np.count_nonzero(self._scores[at] == self._scores[at - 1]))
        for group in deep[~falls].tolist():
            low, high = self._offsets[group], self._offsets[group + 1]
            best = np.partition(-self._scores[low:high], (cutoff - 1, cutoff))
            count += bool(best[cutoff - 1] == best[cutoff])
        return count
