"""A document's numbers as csv: every digit, no signs, for programs."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankscope.document.blocks import Document, Value


def as_csv(document: Document) -> str:
    """Return the document's data, or its first table; an interval takes two more columns."""
    table = document.data() if document.data else document.first_table
    if table is None:
        return ""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")
    with_interval = [
        any(row[place].interval is not None for row in table.rows)
        for place in range(len(table.columns))
    ]
    head: list[str] = []
    for column, has_ends in zip(table.columns, with_interval, strict=True):
        ends = [f"{column.title} low", f"{column.title} high"] if has_ends else []
        head += [column.title, *ends]
    writer.writerow(head)
    for row in table.rows:
        values: list[str] = []
        for cell, has_ends in zip(row, with_interval, strict=True):
            low, high = cell.interval or (None, None)
            values += map(_field, (cell.value, *((low, high) if has_ends else ())))
        writer.writerow(values)
    return "".join(lines)


class _Lines(list[str]):
    """Takes rows that end with both line ends, so that fields with either are quoted."""

    def write(self, row: str) -> None:
        """Keep a row."""
        self.append(row.removesuffix("\r\n") + "\n")


def _field(value: Value) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
