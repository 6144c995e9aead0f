"""Alignment of `Run` tables: hashes find the few rows that may be judged, text decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.scoring.policies import Hits

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.policies import Precision, Ties

__all__ = ["hits_in_table"]

SMALL = 1 << 17
"""A run of so many rows is joined as it is; in a larger one hashes say where to look."""

_BLOCK = 1 << 20
_MARK_BITS = 22
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


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
    order = _Order(run, precision)
    rank, tie_first, tie_size = order.ranks(row, group[query], ties)
    sizes = np.append(np.diff(run.offsets), 0)  # the last is for queries that are not there
    by_rank = np.lexsort((rank, query))
    return Hits(
        query=query[by_rank],
        rank=rank[by_rank],
        tie_first=tie_first[by_rank],
        tie_size=tie_size[by_rank],
        grade=grade[by_rank],
        doc_ids=lambda: run.doc_ids.gather(row[by_rank]).to_list(),
        retrieved=sizes[group],
        tied_at={cutoff: order.tied_across(cutoff, group[group >= 0]) for cutoff in cutoffs},
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
    rows = _candidates(run, judged)
    candidates = pl.DataFrame(
        {
            "row": rows,
            "group": np.searchsorted(run.offsets, rows, side="right") - 1,
            "doc_id": run.doc_ids.gather(rows),
        }
    )
    joined = candidates.join(judged, on=["group", "doc_id"])
    return joined["row"].to_numpy(), joined["query"].to_numpy(), joined["grade"].to_numpy()


def _candidates(run: Run, judged: pl.DataFrame) -> IntArray:
    """Return rows that may be judged: all of a small run, else those whose hash is marked."""
    size = len(run)
    if size <= SMALL:
        return np.arange(size)
    marks = np.zeros(1 << _MARK_BITS, np.bool_)
    shift = np.uint64(64 - _MARK_BITS)
    groups = judged["group"].to_numpy().astype(np.uint64) * _SPREAD
    marks[(judged["doc_id"].hash().to_numpy() + groups) >> shift] = True
    found = []
    for low in range(0, size, _BLOCK):
        high = min(low + _BLOCK, size)
        first = int(np.searchsorted(run.offsets, low, side="right")) - 1
        last = int(np.searchsorted(run.offsets, high))
        edges: IntArray = np.clip(run.offsets[first : last + 1], low, high)
        keys = np.repeat(np.arange(first, last, dtype=np.uint64) * _SPREAD, np.diff(edges))
        keys += run.doc_ids.slice(low, high - low).hash().to_numpy()
        found.append(np.flatnonzero(marks[keys >> shift]) + low)
    return np.concatenate(found)


class _Order:
    """The order of a run by score, looked into only where it is needed.

    Where a query's rows come with falling scores, a row's rank is its place. Queries that come
    otherwise are sorted, and ids are compared only among equal scores.
    """

    def __init__(self, run: Run, precision: Precision) -> None:
        scores = run.scores.to_numpy()
        if precision == "single":
            with np.errstate(over="ignore"):
                scores = scores.astype(np.float32)
        self._scores: FloatArray = scores
        self._offsets = run.offsets
        self._doc_ids = run.doc_ids
        rising = np.flatnonzero(scores[1:] > scores[:-1]) + 1
        groups = np.searchsorted(run.offsets, rising, side="right") - 1
        self._sorted = np.ones(len(run.offsets) - 1, np.bool_)
        self._sorted[groups[run.offsets[groups] != rising]] = False

    def ranks(self, row: IntArray, group: IntArray, ties: Ties) -> IntArray:
        """Return for some rows the rank, and the first rank and size of its tie."""
        low, high = self._offsets[group], self._offsets[group + 1]
        place = row - low + 1
        ranks = np.stack([place, place, np.ones_like(place)])
        scores, last = self._scores, len(self._scores) - 1
        slow = ~self._sorted[group]
        if len(row):
            own = scores[row]
            slow |= (row > low) & (scores[np.maximum(row - 1, 0)] == own)
            slow |= (row < high - 1) & (scores[np.minimum(row + 1, last)] == own)
        if slow.any():
            ranks[:, slow] = self._ranks_by_sorting(row[slow], np.unique(group[slow]), ties)
        return ranks

    def _ranks_by_sorting(self, row: IntArray, groups: IntArray, ties: Ties) -> IntArray:
        """Return the ranks of some rows of some queries, which are put in order for it."""
        lengths = self._offsets[groups + 1] - self._offsets[groups]
        begins = np.cumsum(lengths) - lengths
        rows = np.arange(lengths.sum()) + np.repeat(self._offsets[groups] - begins, lengths)
        query = np.repeat(np.arange(len(groups)), lengths)
        score = self._scores[rows]
        order = np.lexsort((-score, query))  # stable: equal scores stay as given
        mine = np.searchsorted(rows, row)
        new = np.ones(len(order), np.bool_)
        np.not_equal(score[order[1:]], score[order[:-1]], out=new[1:])
        new[begins] = True
        tie = np.cumsum(new) - 1
        if ties != "given":
            self._break_ties(order, rows, tie, mine, ties)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        at = place[mine]
        before = begins[query[mine]] - 1
        first, size = np.flatnonzero(new), np.bincount(tie)
        return np.stack([at - before, first[tie[at]] - before, size[tie[at]]])

    def _break_ties(
        self, order: IntArray, rows: IntArray, tie: IntArray, wanted: IntArray, ties: Ties
    ) -> None:
        """Put equal scores in the order of their ids, where a wanted row is among them.

        ``tie`` numbers the stretches of equal scores along ``order``.
        """
        is_wanted = np.zeros(len(order), np.bool_)
        is_wanted[wanted] = True
        looked_at = np.zeros(int(tie[-1]) + 1, np.bool_)
        looked_at[tie[is_wanted[order]]] = True
        members = np.flatnonzero(looked_at[tie] & (np.bincount(tie)[tie] > 1))
        by_id = (
            pl.DataFrame(
                {
                    "tie": tie[members],
                    "doc_id": self._doc_ids.gather(rows[order[members]]),
                    "member": order[members],
                }
            )
            .sort("tie", "doc_id", descending=[False, ties == "trec"])["member"]
            .to_numpy()
        )
        order[members] = by_id

    def tied_across(self, cutoff: int, groups: IntArray) -> int:
        """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` share a score."""
        deep = groups[self._offsets[groups + 1] - self._offsets[groups] > cutoff]
        in_order = self._sorted[deep]
        at = self._offsets[deep[in_order]] + cutoff
        count = int(np.count_nonzero(self._scores[at] == self._scores[at - 1]))
        for group in deep[~in_order].tolist():
            low, high = self._offsets[group], self._offsets[group + 1]
            best = np.partition(-self._scores[low:high], (cutoff - 1, cutoff))
            count += bool(best[cutoff - 1] == best[cutoff])
        return count
