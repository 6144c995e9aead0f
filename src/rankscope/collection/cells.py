"""Cells of decisions, costs and ratings: what is empty, a number, or what its column takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rankscope.errors import shown
from rankscope.tables.columns import RecordLayout
from rankscope.tables.records import Record, identified, records_of

Reader = Callable[[Any], Any]
"""Reads a cell; raises a ValueError that says what is expected of it."""


def read_cells(
    data: Any, layout: RecordLayout, column_of: Callable[[str], tuple[str, Reader] | None]
) -> Iterator[tuple[Record, str, dict[str, Any]]]:
    """Yield each record, its id, and its cells that say something, as they are read.

    ``column_of`` returns what a column is called, and how its cells are read; None for one that is
    passed over.
    """
    for record, record_id, fields in identified(records_of(data, layout), layout):
        cells: dict[str, Any] = {}
        for name, value in fields.items():
            column = column_of(str(name))
            if column is None or is_empty(value):
                continue
            if column[0] in cells:
                problem = f"{shown(name, 30)} is the {column[0]}, as is another column; keep one"
                raise record.error(problem)
            try:
                cells[column[0]] = column[1](value)
            except ValueError as error:
                raise record.error(
                    f"{layout.id_column.removesuffix('_id')} {shown(record_id)}: "
                    f"{shown(name, 30)} is {shown(value, 40)}; expected {error}, or an empty cell "
                    "where it is not known"
                ) from None
        yield record, record_id, cells


def is_empty(value: object) -> bool:
    """Tell whether a cell says nothing."""
    return value is None or (isinstance(value, str) and not value.strip())


def number(value: object) -> float | None:
    """Return a cell as a number, also as one that is not finite; None if it is none.

    Python's ``1_000`` and digits beyond ASCII are no numbers in a table, and truth is none.
    """
    is_odd = isinstance(value, str) and ("_" in value or not value.isascii())
    if is_odd or isinstance(value, bool | bytes):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def whole(value: object) -> object:
    """Return a whole number as one: frames with missing cells have them as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
