"""Scans of tables: what a pass over a `Run` in memory tells; a part of a larger one, or all of it.

Hashes find the few rows that may be judged, text decides. Where the scores of a query's rows fall,
a row's place is its rank. Queries whose scores do not are sorted, and ids are compared only in ties
that hold a judged document.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.runs import order
from rankscope.scoring.scans import Scan

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.order import Precision
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

SMALL = 1 << 17
"""A run of so many rows is joined as it is; in a larger one hashes say where to look."""

_BLOCK = 1 << 20
_MARK_BITS = 22
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd and without pattern: moves groups far apart


def scan_of(run: Run, judgments: Judgments, precision: Precision) -> Scan:
    """Scan a run in which each query has one stretch."""
    position = {query_id: place for place, query_id in enumerate(run.query_ids)}
    count = len(judgments.query_ids)
    group = np.fromiter(map(position.get, judgments.query_ids, repeat(-1)), np.int64, count)
    offsets, sizes = run.offsets, run.sizes
    scores = order.compared(run.scores.to_numpy(), precision)
    first, last = (np.full(len(sizes), np.nan) for _ in range(2))
    some = np.flatnonzero(sizes)
    first[some], last[some] = scores[offsets[some]], scores[offsets[some + 1] - 1]
    rises = order.unsettled(offsets, scores, ties=False)
    falls = first > last
    if rises.any():
        falls |= order.unsettled(offsets, -scores, ties=False)
    row, pair = _judged_rows(run, judgments, group)
    best = _best_first(offsets, scores, np.flatnonzero(rises))
    starts = order.tie_starts(offsets, scores if best is None else scores[best])
    return Scan(
        query_ids=tuple(run.query_ids),
        sizes=sizes,
        first_score=first,
        last_score=last,
        rises=rises,
        falls=falls,
        pair=pair,
        **_ahead(run, row, best, starts),
        tied_across=_by_place(offsets, starts, group[group >= 0]),
    )


def _best_first(offsets: IntArray, scores: FloatArray, rising: IntArray) -> IntArray | None:
    """Return the rows of each query by falling score; None says that they are listed so."""
    if not rising.size:
        return None
    best = np.arange(len(scores))
    rows, inner = order.rows_of(offsets, rising)
    best[rows] = rows[order.falling(inner, scores[rows])]
    return best


def _ahead(run: Run, row: IntArray, best: IntArray | None, starts: BoolArray) -> dict[str, Any]:
    """Return for some rows what is ahead of them: `Scan.above` and the columns after it."""
    edges = np.append(np.flatnonzero(starts), len(starts))  # where ties begin, of one row or more
    place = row
    if best is not None:
        place = np.empty(len(best), np.int64)
        place[best] = np.arange(len(best))
        place = place[row]
    tie = np.searchsorted(edges, place, side="right") - 1
    tied = edges[tie + 1] - edges[tie]
    by_id, as_given = np.zeros_like(row), np.zeros_like(row)
    several = np.flatnonzero(tied > 1)
    if several.size:
        places, inner = order.rows_of(edges, np.unique(tie[several]))
        rows = places if best is None else best[places]
        number = np.repeat(np.arange(len(inner) - 1), np.diff(inner))
        within = np.arange(len(rows)) - inner[number]
        frame = pl.DataFrame({"tie": number, "doc_id": run.doc_ids.gather(rows), "row": rows})
        for ahead, sorting, downwards in ((by_id, "doc_id", True), (as_given, "row", False)):
            ordered = frame.sort("tie", sorting, descending=[False, downwards])["row"].to_numpy()
            by_row = np.argsort(ordered)
            at = np.searchsorted(ordered, row[several], sorter=by_row)
            ahead[several] = within[by_row[at]]
    above = edges[tie] - run.offsets[order.groups_of(run.offsets, row)]
    return {"above": above, "tied": tied, "ahead_by_id": by_id, "ahead_as_given": as_given}


def ties_by_place(offsets: IntArray, scores: FloatArray, groups: IntArray) -> IntArray:
    """Count, at place k, the groups whose documents at ranks k and k + 1 have the same score."""
    rises = order.unsettled(offsets, scores, ties=False)
    best = _best_first(offsets, scores, np.flatnonzero(rises))
    starts = order.tie_starts(offsets, scores if best is None else scores[best])
    return _by_place(offsets, starts, groups)


def _by_place(offsets: IntArray, starts: BoolArray, groups: IntArray) -> IntArray:
    same = np.flatnonzero(~starts)
    group = order.groups_of(offsets, same)
    wanted = np.zeros(len(offsets) - 1, np.bool_)
    wanted[groups] = True
    return np.bincount((same - offsets[group])[wanted[group]])


def _judged_rows(run: Run, judgments: Judgments, group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of a run that are judged, rising, and the number of the pair of each."""
    judged = (
        pl.DataFrame([pl.Series("group", group[judgments.query]), judgments.pairs["doc_id"]])
        .with_row_index("pair")
        .filter(pl.col("group") >= 0)
    )
    rows = _candidates(run, judged)
    likely = pl.DataFrame(
        {
            "row": rows,
            "group": order.groups_of(run.offsets, rows),
            "doc_id": run.doc_ids.gather(rows),
        }
    )
    hits = likely.join(judged, on=["group", "doc_id"], maintain_order="left")
    return hits["row"].to_numpy(), hits["pair"].to_numpy().astype(np.int64)


def _candidates(run: Run, judged: pl.DataFrame) -> IntArray:
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
