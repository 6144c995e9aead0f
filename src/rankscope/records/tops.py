"""Tops: the first documents of every answer, as they were scored, and what each adds to a measure.

What a document adds is what the value gains when the run is read one document further, as in
`rankscope.scoring.explain`; here for all queries at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.measures.registry import compute
from rankscope.runs.order import best_first, compared
from rankscope.scoring.align import align
from rankscope.scoring.inputs import without_identical

if TYPE_CHECKING:
    from rankscope.measures.language import Measure
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import Profile

SCHEMA = {
    "query_id": pl.String,
    "rank": pl.Int64,
    "doc_id": pl.String,
    "score": pl.Float64,
    "adds": pl.Float64,
}


def tops(
    judgments: Judgments, run: Run, measure: Measure, *, profile: Profile, depth: int
) -> pl.DataFrame:
    """Return the first documents of all answers: query_id, rank, doc_id, score, adds.

    The order is that in which the measure sees them under the rules of the profile. ``adds`` is
    null where the query is not judged.
    """
    rules = profile.rules_for(measure)
    table: Any = run if rules.identical_ids else without_identical(run)
    score = compared(table.scores.to_numpy(), rules.precision)
    order = best_first(table.offsets, score, table.doc_ids.gather, ties=rules.ties)
    sizes = np.diff(table.offsets)
    rank = np.arange(1, len(score) + 1) - np.repeat(table.offsets[:-1], sizes)
    rows = np.flatnonzero(rank <= depth)
    source = rows if order is None else order[rows]
    group = np.repeat(np.arange(len(sizes)), sizes)[rows]
    adds = np.full((len(sizes), depth), np.nan)
    judged = align(judgments, run, rules, sound=False).judged  # it was checked when scored
    cuts = [compute(measure, judged.cut(rank)) for rank in range(depth + 1)]
    place = {query_id: at for at, query_id in enumerate(judged.query_ids)}
    at = [place.get(query_id, -1) for query_id in table.query_ids]
    known = np.flatnonzero(np.array(at, np.int64) >= 0)
    adds[known] = np.diff(cuts, axis=0).T[[at[number] for number in known]]
    return pl.DataFrame(
        {
            "query_id": pl.Series(list(table.query_ids), dtype=pl.String).gather(group),
            "rank": rank[rows],
            "doc_id": table.doc_ids.gather(source).cast(pl.String),
            "score": table.scores.gather(source),
            "adds": pl.Series(adds[group, rank[rows] - 1], nan_to_null=True),
        },
        schema=SCHEMA,
    )


def best_judged(judged: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return the documents that are best on top, by grade; among equals the higher id first.

    ``judged`` has the columns query_id, doc_id and grade; those that gain nothing are left out.
    """
    order = judged.filter(pl.col("grade") > 0).with_row_index("row")
    first = pl.col("row").min().over("query_id")  # queries stay in their order
    keys = [first, pl.col("grade"), pl.col("doc_id")]
    best = order.sort(keys, descending=[False, True, True])
    rank = pl.int_range(1, pl.len() + 1).over("query_id").alias("rank")
    return best.with_columns(rank).filter(pl.col("rank") <= depth).drop("row")
