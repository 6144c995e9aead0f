"""Ids are text, exactly as given; a whole number stands for its decimal digits.

The first step of every table made from Python objects. It loads nothing, so that scoring plain
dicts can use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope.errors import InputError, shown


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


def are_text(documents: Mapping[Any, Any]) -> bool:
    """Tell whether all ids are text, so that they need not be made text."""
    try:
        "".join(documents)  # the quickest way to look at the type of each
    except TypeError:
        return False
    return True


def with_text_ids(documents: Mapping[Any, Any], wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return documents such that those wanted, by ids that are text, can be found.

    Documents come back as they are, unless a wanted id is missing as text and there as a number.
    Only wanted ids are looked up, since documents may be many.
    """
    missing = wanted.keys() - documents.keys()
    digits = (doc_id for doc_id in missing if doc_id.isdecimal() and len(doc_id) < 20)
    if not any(int(doc_id) in documents for doc_id in digits):
        return documents
    texts: dict[str, Any] = {}
    for given, value in documents.items():
        try:
            doc_id = id_text(given)
        except ValueError as error:
            raise InputError(f"a doc_id is {error}") from None
        if doc_id in texts:
            raise InputError(f"the doc_id {shown(doc_id)} appears twice, as text and as a number")
        texts[doc_id] = value
    return texts
