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
from rankscope.document.text import for_text

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    table = for_text(table)
    head: list[str] = []
    columns: list[Iterable[Value]] = []
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        if column.kind != "interval":
            head.append(column.title)
            columns.append([cell.value for cell in cells])
        if any(cell.interval is not None for cell in cells):
            head += [f"{column.title} low", f"{column.title} high"]
            columns += zip(*(cell.interval or (None, None) for cell in cells), strict=True)
    writer.writerow(map(write_field, head))
    writer.writerows(map(write_field, row) for row in zip(*columns, strict=True))
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
