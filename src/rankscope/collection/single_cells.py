"""Single cells of ratings, decisions and costs: what is empty, or a number."""

from __future__ import annotations


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
