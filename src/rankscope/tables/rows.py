"""Rows: a table of pairs as it was read, before its content is checked.

Every reader of pairs returns `Rows` and every check starts from them. Columns are named by role;
values are still as they were given (text, numbers), so that a problem can be shown as it is in the
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import FormatError, InputError, Place, shown
from rankscope.tables.columns import NO_QUESTIONS, UNREAD, Questions, Reading, rater_columns

if TYPE_CHECKING:
    from rankscope.tables.columns import PairLayout


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that could not be split into columns."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table as read: ``frame`` with one column per role, and where each row came from."""

    frame: pl.DataFrame
    source: str
    layout: PairLayout
    line_of: Callable[[int], int] | None = None
    malformed: tuple[Malformed, ...] = ()
    malformed_count: int = 0
    ids_complete: bool = False  # the reader made sure that no id is missing
    empty_queries: tuple[str, ...] = ()  # queries without documents
    no_answer: tuple[str, ...] = ()  # queries that are marked as having none
    questions: Questions = NO_QUESTIONS  # what is asked, if there are ids beside it
    languages: Mapping[str, str] = field(default_factory=dict)  # of cases, by query
    listed: tuple[str, ...] = ()  # all queries in order, if each was given with its list
    is_numbered: bool = False  # queries have no ids, and are known by their place
    is_list: bool = True  # the order of rows is meant, and not only that of their scores
    reading: Reading = UNREAD  # by which shape, and in which columns

    def place(self, row: int) -> Place:
        """Return where a row was read."""
        line = None if self.line_of is None else self.line_of(row)
        ids = {
            role: None if (value := self.frame[role][row]) is None else str(value)
            for role in ("query_id", "doc_id")
            if role in self.frame.columns
        }
        source = self.source if line is not None else f"{self.source}, row {row + 1}"
        return Place(source, line, ids.get("query_id"), ids.get("doc_id"))


def as_ids(column: pl.Series, rows: Rows) -> pl.Series:
    """Return a column of ids as text, exactly as given; numbers become their decimal digits.

    Missing ids stay null, for the checks to find. Categories of text stay categories.
    """
    dtype = column.dtype
    if dtype in (pl.String, pl.Categorical):
        return column
    if dtype in (pl.Null, pl.Enum) or dtype.is_integer() or dtype.is_decimal():
        return column.cast(pl.String)
    if dtype.is_float():
        return _float_ids(column, rows)
    raise InputError(
        f"{rows.source}: the column of {column.name}s has type {dtype}; expected text or "
        "whole numbers"
    )


def _float_ids(column: pl.Series, rows: Rows) -> pl.Series:
    """Return whole floats as integers; fractions and large ones are no exact ids, and refused."""
    limit = 2**53 if column.dtype == pl.Float64 else 2**24 if column.dtype == pl.Float32 else 2**11
    whole = column.is_finite() & (column == column.floor()) & (column.abs() < limit)
    bad = ~whole.fill_null(True)
    if bad.any():
        row = bad.arg_max() or 0
        raise InputError(
            f"{rows.place(row)}: the {column.name} {column[row]!r} is a fraction or too large "
            "to be exact as a floating-point number; give ids as text or whole numbers"
        )
    return column.cast(pl.Int64).cast(pl.String)


def missing(ids: pl.Series) -> pl.Series:
    """Return which ids are missing or empty."""
    return ids.is_null() | (ids.cast(pl.String) == "").fill_null(True)


def as_numbers(column: pl.Series) -> pl.Series:
    """Return a column as Float64 or integers; text that is not a number becomes null."""
    dtype = column.dtype
    if dtype.is_integer() or dtype == pl.Float64:
        return column
    if dtype == pl.String:
        return column.str.strip_chars().cast(pl.Float64, strict=False)
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64)
    if dtype in (pl.Categorical, pl.Enum):
        return as_numbers(column.cast(pl.String))
    raise InputError(f"the column {shown(column.name)} has type {dtype}; expected numbers")


def with_values(rows: Rows) -> Rows:
    """Give pairs without a number theirs: all are relevant, or they are listed best first."""
    frame, layout = rows.frame, rows.layout
    has_raters = layout.kind == "qrels" and rater_columns(frame.columns)
    if layout.value in frame.columns or "rank" in frame.columns or has_raters:
        return rows
    if layout.kind == "run":
        value = -pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64)
    else:
        value = pl.lit(1)
    return replace(rows, frame=frame.with_columns(value.alias(layout.value)))


def ranks_or_scores(rows: Rows, *, surely_ranks: bool = False) -> Rows:
    """Return a run of three columns without a header with the third under its right name.

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
