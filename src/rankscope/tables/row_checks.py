"""What the checks of runs and of qrels look at alike: rows, their ids and their numbers.

Each function returns what it saw, or None; `rankscope.runs.checks` and
`rankscope.collection.qrels_checks` give it its code and advice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.errors import Place, shown
from rankscope.findings import PLACES_SHOWN, Seen

if TYPE_CHECKING:
    import polars as pl

    from rankscope.tables.rows import Rows


def seen_rows(message: str, rows: Rows, numbers: pl.Series) -> Seen | None:
    """Say something about some rows, by their numbers; nothing if there are none."""
    if not len(numbers):
        return None
    places = tuple(rows.place(int(number)) for number in numbers[:PLACES_SHOWN])
    return Seen(message, len(numbers), places)


def no_row(rows: Rows, message: str) -> Seen | None:
    """See that there is no row at all."""
    if rows.frame.height or rows.malformed_count:
        return None
    return Seen(message, places=(Place(rows.source),))


def malformed(rows: Rows) -> Seen | None:
    """See lines that could not be split into columns."""
    if not rows.malformed_count:
        return None
    places = tuple(Place(rows.source, line.line) for line in rows.malformed)
    return Seen(rows.malformed[0].reason, rows.malformed_count, places)


def id_missing(rows: Rows) -> Seen | None:
    """See rows without a query id or document id."""
    return seen_rows("an id is missing", rows, rows.without_id())


def not_a_number(rows: Rows, numbers: pl.Series, role: str) -> Seen | None:
    """See rows that have no number where one is expected; ``numbers`` is null there."""
    lost = numbers.is_null().arg_true()
    if not len(lost):
        return None
    value = rows.frame[role][int(lost[0])]
    what = "missing" if value is None else f"{shown(value, 30)}, which is not a number"
    return seen_rows(f"the {role} is {what}", rows, lost)


def not_finite(rows: Rows, numbers: pl.Series) -> Seen | None:
    """See numbers that are NaN or infinite."""
    odd = (~numbers.is_finite()).arg_true()
    return seen_rows(f"the {numbers.name} is {numbers[int(odd[0])] if len(odd) else ''}", rows, odd)
