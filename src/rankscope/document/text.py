r"""How values and foreign text are written, the same in every form.

Numbers, intervals and p-values become text here and nowhere else. Names and messages come from
anywhere: `rankscope.printing.visible` spells out what could steer a terminal or hide what is shown;
what is special to one form (``<``, ``|``, ``\``) is escaped by that form's renderer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.errors import counted
from rankscope.printing import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.document.blocks import Cell, Column, Table
    from rankscope.findings import Finding

NOTHING = "–"
"""How a value that does not exist is written."""

SIGNS = {"error": "✗", "warning": "!", "note": "·"}
"""The sign of each severity."""


LONGEST_TEXT = 10_000
"""Characters of one text that a document shows: a longer one is read by nobody, and breaking a name
of megabytes into lines, or aligning a column with it, takes minutes."""


def readable(text: object) -> str:
    """Return text on one line, as `visible`, and cut where it is far too long.

    >>> readable("a" * 12_000)[-24:]
    'aaa… (12,000 characters)'
    """
    line = str(text)
    if len(line) <= LONGEST_TEXT:
        return visible(line)
    return f"{visible(line[:LONGEST_TEXT])}… ({counted(len(line), 'character')})"


def percent(share: float) -> str:
    """Return ``95 %`` for 0.95."""
    return f"{100 * share:.4g} %"


def p_value(p: float) -> str:
    """Return a p-value; it is never written as 0.

    >>> p_value(0.0312), p_value(0.5), p_value(1.0), p_value(0.00002)
    ('0.031', '0.50', '1.00', '< 0.0001')
    """
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.2f}" if p >= 0.095 else f"{p:.2g}"


def number(value: float, *, digits: int | None = 3, signed: bool = False) -> str:
    """Return a number; an ``int`` is a count, and what rounds to 0 has no sign.

    >>> number(1024), number(0.05, digits=None), number(0.5, signed=True), number(-1e-9)
    ('1,024', '0.05', '+0.500', '0.000')
    """
    if isinstance(value, int):
        return f"{value:+,}" if signed and value else f"{value:,}"
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "undefined"
    text = f"{value:g}" if digits is None else f"{value:z.{digits}f}"
    return f"+{text}" if signed and text.strip("0.") and value > 0 else text


def interval(ends: tuple[float, float], *, digits: int | None = 3, signed: bool = False) -> str:
    """Return an interval as it is, in brackets.

    >>> interval((0.735, 1.0)), interval((-0.01, 0.02), signed=True)
    ('[0.735, 1.000]', '[-0.010, +0.020]')
    """
    low, high = (number(end, digits=digits, signed=signed) for end in ends)
    return f"[{low}, {high}]"


def span(ends: tuple[float, float], *, digits: int | None = 3, signed: bool = False) -> str:
    """Return an interval that fills a column of its own.

    >>> span((0.735, 1.0)), span((-0.01, 0.02), signed=True)
    ('0.735–1.000', '-0.010 to +0.020')
    """
    low, high = (number(end, digits=digits, signed=signed) for end in ends)
    return f"{low}{' to ' if signed else '–'}{high}"


def value_of(cell: Cell, column: Column) -> str:
    """Return a cell's value as its column writes it; text as it is."""
    value = cell.value
    if column.kind == "interval" and cell.interval is not None:
        return span(cell.interval, digits=column.digits, signed=column.signed)
    if value is None or isinstance(value, str):
        return NOTHING if value is None else value
    if column.kind == "p" and isinstance(value, float):
        return p_value(value)
    return number(value, digits=column.digits, signed=column.signed)


def interval_of(cell: Cell, column: Column) -> str:
    """Return a cell's interval; '' if it has none."""
    if cell.interval is None or column.kind == "interval":
        return ""
    return interval(cell.interval, digits=column.digits, signed=column.signed)


def note_of(cell: Cell) -> str:
    """Return a cell's note in parentheses, which is drawn last; '' if it has none."""
    return f"({cell.note})" if cell.note else ""


def title_of(column: Column) -> str:
    """Return a column's title with its note."""
    return f"{column.title} ({column.note})" if column.note else column.title


def for_text(table: Table) -> Table:
    """Return a table without the columns that only pages draw."""
    return _with_columns(table, lambda column: column.only != "page" and column.kind != "whisker")


def for_page(table: Table) -> Table:
    """Return a table without the columns that only forms without pictures draw."""
    return _with_columns(table, lambda column: column.only != "text")


def _with_columns(table: Table, is_drawn: Callable[[Column], bool]) -> Table:
    places = [at for at, column in enumerate(table.columns) if is_drawn(column)]
    if len(places) == len(table.columns):
        return table
    rows = tuple(tuple(row[at] for at in places) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in places), rows=rows)


def table_notes(table: Table, best_sign: str) -> list[str]:
    """Return the notes of a table; what marks the best values comes first."""
    has_best = table.best and any(cell.best for row in table.rows for cell in row)
    return [*([f"{best_sign} {table.best}"] if has_best else []), *table.notes]


def finding_texts(finding: Finding) -> list[str]:
    """Return what a finding says: its head, the message, what to do, and where it was seen."""
    count = counted(finding.count, finding.unit)
    who = "" if finding.system is None else f"{finding.system}: "
    lines = [
        f"{SIGNS[finding.severity]} {finding.severity} {finding.code} {finding.name}, {count}",
        f"{who}{finding.message}",
        f"What to do: {finding.advice}",
    ]
    if finding.places:
        more = finding.count - len(finding.places)
        where = ", ".join(map(str, finding.places))
        lines.append(f"Seen at {where}{f' and {more:,} more' if more > 0 else ''}")
    return lines
