"""The rows of a run before they are one: their scores, documents that occur twice, errors."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn, get_args

import polars as pl

from rankscope.errors import InvalidDataError, UnknownNameError
from rankscope.tables.columns import Duplicates
from rankscope.tables.rows import Rows, as_ids, as_numbers


def without_duplicates(rows: Rows, duplicates: Duplicates | None) -> Rows:
    """Keep each document of a query once: the first, or the one with the highest score."""
    if duplicates is None:
        return rows
    if duplicates not in get_args(Duplicates):
        raise UnknownNameError("way to treat duplicates", duplicates, get_args(Duplicates))
    pairs = pl.DataFrame(
        [
            as_ids(rows.frame["query_id"], rows).cast(pl.String),
            as_ids(rows.frame["doc_id"], rows).cast(pl.String),
            scores_of(rows),
        ]
    ).with_row_index("row")
    if duplicates == "best":
        pairs = pairs.sort("score", descending=True, nulls_last=True, maintain_order=True)
    first = pairs.unique(["query_id", "doc_id"], keep="first")["row"].sort()
    if len(first) == rows.frame.height:
        return rows
    line_of = rows.line_of
    placed = None if line_of is None else lambda row: line_of(int(first[row]))
    return replace(rows, frame=rows.frame[first], line_of=placed)


def scores_of(rows: Rows) -> pl.Series:
    """Return the scores as Float64, null where there is no number; or ranks, negated."""
    frame = rows.frame
    if "score" in frame.columns:
        return as_numbers(frame["score"]).cast(pl.Float64).alias("score")
    return (-as_numbers(frame["rank"]).cast(pl.Float64)).alias("score")


def refuse(rows: Rows) -> NoReturn:
    """Raise for the errors of a run, in the words of the checks."""
    from rankscope.runs.checks import RUN_CHECKS  # noqa: PLC0415
    from rankscope.runs.under_test import RunUnderTest  # noqa: PLC0415

    findings = RUN_CHECKS.errors(RunUnderTest(rows))
    more = len(findings) - 1
    hint = f" (and {more} more kind{'s' * (more > 1)} of error)" if more else ""
    raise InvalidDataError(f"{findings[0].sentence}{hint}", findings)
