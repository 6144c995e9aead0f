"""A document's numbers as csv: every digit, no signs, for programs and spreadsheets.

A spreadsheet takes text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end for a
formula. Such text gets an apostrophe before it, as spreadsheets themselves write it, and so does
text that begins with an apostrophe before such a sign, so that a reader can take one away without
looking further. Numbers stay as they are, also negative ones, and text that is one.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING

from rankscope.document.blocks import Lines, Table

if TYPE_CHECKING:
    from rankscope.document.blocks import Document, Value


_FORMULA = re.compile(r"(?![+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?\Z)'*[=+@\t\r\n-]", re.IGNORECASE)


def as_csv(document: Document, *, raw: bool = False) -> str:
    """Return the document's data, or its first table; an interval takes two more columns.

    ``raw``: text is left as it is, also where a spreadsheet would take it for a formula.
    """
    tables = (block for block in document.blocks if isinstance(block, Table))
    table = document.data() if document.data else next(tables, None)
    if table is None:
        return ""
    write_field = _field if raw else _safe_field
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")
    if isinstance(table, Lines):
        writer.writerow(map(write_field, table.titles))
        writer.writerows(map(write_field, row) for row in table.rows())
        return "".join(lines)
    with_interval = [
        any(row[place].interval is not None for row in table.rows)
        for place in range(len(table.columns))
    ]
    head: list[str] = []
    for column, has_ends in zip(table.columns, with_interval, strict=True):
        ends = [f"{column.title} low", f"{column.title} high"] if has_ends else []
        head += [column.title, *ends]
    writer.writerow(map(write_field, head))
    for row in table.rows:
        values: list[str] = []
        for cell, has_ends in zip(row, with_interval, strict=True):
            low, high = cell.interval or (None, None)
            values += map(write_field, (cell.value, *((low, high) if has_ends else ())))
        writer.writerow(values)
    return "".join(lines)


class _Lines(list[str]):
    """Takes rows that end with both line ends, so that fields with either are quoted."""

    def write(self, row: str) -> None:
        """Keep a row."""
        self.append(row.removesuffix("\r\n") + "\n")


def _safe_field(value: Value) -> str:
    text = _field(value)
    is_formula = isinstance(value, str) and _FORMULA.match(text)
    return f"'{text}" if is_formula else text


def _field(value: Value) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
