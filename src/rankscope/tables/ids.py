"""Ids are text, exactly as given; a whole number becomes its decimal digits.

The first step of every table made from Python objects. It loads nothing, so that scoring plain
dicts can use it.
"""

from __future__ import annotations

from rankscope.errors import shown


def id_text(value: object) -> str:
    """Return an id as text; raise a ValueError that says what it is if it cannot be one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        given = "null" if value is None else f"{shown(value)} ({type(value).__name__})"
        raise ValueError(f"{given}; expected text or a whole number")
    try:
        return str(value.__index__())
    except ValueError:  # Python refuses to print such a number
        raise ValueError("a number of thousands of digits; expected text") from None
