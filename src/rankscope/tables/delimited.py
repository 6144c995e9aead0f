"""Tables separated by commas, tabs or semicolons, with quoting as in RFC 4180."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.tables.columns import is_header, rater_columns, require_columns
from rankscope.tables.rows import Rows
from rankscope.tables.third_column import ranks_or_scores
from rankscope.tables.whitespace import BOM

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.tables.columns import Layout

__all__ = ["cells_of", "decoded", "read_delimited", "separator_of"]

_ROW = "_row"


def decoded(data: bytes, *, source: str, line: int = 1) -> str:
    """Decode UTF-8 that starts on this line of its file, or say on which line it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8",
            source=source,
            line=line + data.count(b"\n", 0, error.start),
        ) from None


def separator_of(line: str) -> str:
    """Return the separator of a header or first line: tab, comma or semicolon."""
    return max("\t,;", key=line.count)


def cells_of(line: str, separator: str) -> list[str]:
    """Split one line; where the quotes make no sense they are ordinary characters."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def read_delimited(data: bytes, layout: Layout, *, source: str, separator: str) -> Rows:
    """Read a table with a header, or without one if the first line names no known column."""
    data = data.removeprefix(BOM)
    first = decoded(data.split(b"\n", 1)[0].rstrip(b"\r"), source=source)
    header = cells_of(first, separator)
    has_header = is_header(header, layout)
    frame = _parsed(data, separator=separator, has_header=has_header, source=source)
    names = frame.columns
    if has_header:
        roles = require_columns(names, layout, source=source, line=1)
    elif (placed := layout.headerless.get(len(names))) is not None:
        roles = {role: name for role, name in zip(placed, names, strict=True) if role}
    else:
        expected = " or ".join(str(count) for count in sorted(layout.headerless))
        raise FormatError(
            f"no header and {len(names)} columns, expected {expected} for a {layout.kind} table; "
            f"add a header such as query_id{separator}doc_id{separator}{layout.value}",
            source=source,
            line=1,
        )
    raters = [name for name in rater_columns(names) if name not in roles.values()]
    frame = frame.with_row_index(_ROW).filter(~pl.all_horizontal(pl.col(*names) == ""))
    rows = frame[_ROW]
    line_of = _line_finder(data, has_header=has_header)
    read = Rows(
        frame=frame.select(
            *(pl.col(column).alias(role) for role, column in roles.items()), *raters
        ),
        source=source,
        layout=layout,
        line_of=lambda row: line_of(rows[row]),
    )
    return read if has_header else ranks_or_scores(read)


def _parsed(data: bytes, *, separator: str, has_header: bool, source: str) -> pl.DataFrame:
    try:
        return pl.read_csv(
            data,
            separator=separator,
            has_header=has_header,
            infer_schema=False,
            empty_string_is_null=False,
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _located(data, separator, source) or FormatError(
            f"could not be read as a table ({shown(str(error).splitlines()[0])})", source=source
        ) from None


def _located(data: bytes, separator: str, source: str) -> FormatError | None:
    """Find the first line that does not fit, the slow and certain way."""
    text = decoded(data, source=source)
    if not text.strip():
        return FormatError("is empty", source=source)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        width = len(next(reader))
        for record in reader:
            if len(record) > width:
                return FormatError(
                    f"expected {width} columns, found {len(record)}; quote values that hold a "
                    "separator",
                    source=source,
                    line=reader.line_num,
                )
    except csv.Error as error:
        return FormatError(f"a broken quoted value ({error})", source=source, line=reader.line_num)
    return None


def _line_finder(data: bytes, *, has_header: bool) -> Callable[[int], int]:
    """Return a function from row to line; only quoted line breaks make it more than an addition."""
    if b'"' not in data:
        return lambda row: row + 1 + has_header

    def find(row: int) -> int:
        text = np.frombuffer(data, np.uint8)
        ends, quotes = np.flatnonzero(text == ord("\n")), np.flatnonzero(text == ord('"'))
        outside = np.searchsorted(quotes, ends) % 2 == 0  # a line end within quotes ends no row
        begins = np.concatenate(([1], np.flatnonzero(outside) + 2))
        return int(begins[min(row + has_header, len(begins) - 1)])

    return find
