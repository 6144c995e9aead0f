"""Runs of three columns without a header: does the third hold ranks or scores?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import FormatError

if TYPE_CHECKING:
    from rankscope.tables.rows import Rows


def ranks_or_scores(rows: Rows, *, surely_ranks: bool = False) -> Rows:
    """Return a run's rows with the third column under its right name.

    Numbers that are not whole can only be scores. Whole numbers are taken as ranks where they rise
    from 0 or 1 within each query, and refused otherwise: guessing wrong would turn the run upside
    down.
    """
    columns = rows.frame.columns
    if rows.layout.kind != "run" or "score" not in columns or "rank" in columns:
        return rows
    as_ranks = replace(rows, frame=rows.frame.rename({"score": "rank"}))
    if surely_ranks:
        return as_ranks
    number = rows.frame["score"].cast(pl.Float64, strict=False)
    if not (number == number.floor()).fill_null(True).all():
        return rows
    rising = pl.col("n").first().is_in([0.0, 1.0]) & (pl.col("n").diff().drop_nulls() > 0).all()
    numbers = pl.DataFrame({"query_id": rows.frame["query_id"], "n": number}).drop_nulls()
    if numbers.group_by("query_id").agg(rising)["n"].all():
        return as_ranks
    raise FormatError(
        "the third column is neither ranks rising from 1 nor scores with a fraction; "
        "add a header (query_id, doc_id, score), or write six TREC columns",
        source=rows.source,
        line=1,
    )
