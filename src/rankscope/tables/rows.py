"""Rows: a table as it was read, before anybody judged its content.

Every reader ends here and every check starts here. Columns are named by role; values are still as
they came (text, numbers), so that a problem can be shown as it stands in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import InputError, Place, shown

if TYPE_CHECKING:
    from rankscope.tables.columns import Layout
    from rankscope.tables.grouping import Groups

__all__ = ["Malformed", "Rows", "as_ids", "as_numbers", "missing"]


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
    layout: Layout
    line_of: Callable[[int], int] | None = None
    malformed: tuple[Malformed, ...] = ()
    malformed_count: int = 0
    ids_complete: bool = False  # the reader made sure that no id is missing
    empty_queries: tuple[str, ...] = ()  # present, with nothing under them
    groups: Groups | None = None  # of the queries, where the reader had to find them

    def place(self, row: int) -> Place:
        """Return where a row stands."""
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

    Missing ids stay null, for the checks to find. Categories of text are left as they are.
    """
    dtype = column.dtype
    if dtype in (pl.String, pl.Categorical):
        return column
    if dtype in (pl.Null, pl.Enum) or dtype.is_integer() or dtype.is_decimal():
        return column.cast(pl.String)
    if dtype.is_float():
        return _float_ids(column, rows)
    raise InputError(
        f"{rows.source}: the column of {column.name}s has type {dtype}; ids are text or integers"
    )


def _float_ids(column: pl.Series, rows: Rows) -> pl.Series:
    """Take whole floats as the integers they are; others, and large ones, lost digits already."""
    limit = 2**53 if column.dtype == pl.Float64 else 2**24 if column.dtype == pl.Float32 else 2**11
    whole = column.is_finite() & (column == column.floor()) & (column.abs() < limit)
    bad = ~whole.fill_null(True)
    if bad.any():
        row = bad.arg_max() or 0
        raise InputError(
            f"{rows.place(row)}: the {column.name} {column[row]!r} is a fraction or too large "
            "to be exact as a floating-point number; pass ids as text or integers"
        )
    return column.cast(pl.Int64).cast(pl.String)


def missing(ids: pl.Series) -> pl.Series:
    """Return which ids are missing or empty."""
    return ids.is_null() | (ids.cast(pl.String) == "").fill_null(True)


def as_numbers(column: pl.Series) -> pl.Series:
    """Return a column as Float64 or integers; text that is no number becomes null."""
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
