"""Scans of tables: what a pass over a `Run` in memory tells; a part of a larger one, or all of it.

Ranks are found as alignment finds them (`rankscope.scoring.align_tables`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.runs import order
from rankscope.scoring.align_tables import Ranking, candidates
from rankscope.scoring.scans import PackedPairs, Scan

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.runs.order import Precision
    from rankscope.runs.table import Run


def scan_of(run: Run, packed: PackedPairs, precision: Precision) -> Scan:
    """Scan a run in which each query has one stretch."""
    query_ids, pairs = unpacked(packed)
    in_run = run.query_ids
    position = {query_id: place for place, query_id in enumerate(in_run)}
    group = np.fromiter(
        (position.get(query_id, -1) for query_id in query_ids), np.int64, len(query_ids)
    )
    judged = pairs.with_columns(pl.Series("group", group[pairs["query"].to_numpy()])).filter(
        pl.col("group") >= 0
    )
    rows = candidates(run, judged)
    likely = pl.DataFrame(
        {
            "row": rows,
            "group": order.groups_of(run.offsets, rows),
            "doc_id": run.doc_ids.gather(rows),
        }
    )
    hits = likely.join(judged, on=["group", "doc_id"]).sort("row")
    row, stretch = hits["row"].to_numpy(), hits["group"].to_numpy()
    by_id, first, size = Ranking(run, "trec", precision).ranks(row, stretch)
    as_given, _, _ = Ranking(run, "given", precision).ranks(row, stretch)
    scores = order.compared(run.scores.to_numpy(), precision).astype(np.float64)
    offsets = run.offsets
    return Scan(
        query_ids=tuple(in_run),
        sizes=run.sizes,
        first_score=_edges(scores, offsets[:-1], run.sizes),
        last_score=_edges(scores, offsets[1:] - 1, run.sizes),
        rises=order.unsettled(offsets, scores, ties=False),
        falls=order.unsettled(offsets, -scores, ties=False),
        hit_stretch=stretch,
        hit_pair=hits["pair"].to_numpy(),
        hit_place=row - offsets[stretch],
        hit_score=scores[row],
        above=first - 1,
        tied=size,
        ahead_by_id=by_id - first,
        ahead_as_given=as_given - first,
        tied_across=ties_by_place(offsets, scores, np.unique(group[group >= 0])),
    )


def unpacked(packed: PackedPairs) -> tuple[tuple[str, ...], pl.DataFrame]:
    """Return the queries, and the pairs: query, pair, doc_id."""
    return _unpacked(
        packed.query_text,
        packed.query_ends.tobytes(),
        packed.pair_offsets.tobytes(),
        packed.doc_text,
        packed.doc_ends.tobytes(),
    )


@lru_cache(maxsize=2)  # the parts of a run share it, also where each brings a copy of the bytes
def _unpacked(
    query_text: bytes, query_ends: bytes, pair_offsets: bytes, doc_text: bytes, doc_ends: bytes
) -> tuple[tuple[str, ...], pl.DataFrame]:
    ends: list[IntArray] = [
        np.frombuffer(edges, np.int64) for edges in (query_ends, pair_offsets, doc_ends)
    ]
    packed = PackedPairs(query_text, ends[0], ends[1], doc_text, ends[2])
    count = len(ends[2]) - 1
    frame = pl.DataFrame(
        {
            "query": np.repeat(np.arange(len(ends[0]) - 1), np.diff(ends[1])),
            "pair": np.arange(count),
            "doc_id": pl.Series(packed.doc_ids(range(count)), dtype=pl.String),
        }
    )
    return packed.query_ids(), frame


def _edges(scores: FloatArray, rows: IntArray, sizes: IntArray) -> FloatArray:
    """Return the scores of some rows, by query; NaN for a query without rows."""
    edges = np.full(len(sizes), np.nan)
    edges[sizes > 0] = scores[rows[sizes > 0]]
    return edges


def ties_by_place(offsets: IntArray, scores: FloatArray, groups: IntArray) -> IntArray:
    """Count, at place k, the groups whose documents at ranks k and k + 1 have the same score."""
    rows, inner = order.rows_of(offsets, groups)
    ranked = scores[rows]
    falling = order.falling(inner, ranked)
    if falling is not None:
        ranked = ranked[falling]
    place = np.arange(len(ranked)) - np.repeat(inner[:-1], np.diff(inner))
    return np.bincount(place[~order.tie_starts(inner, ranked)])
