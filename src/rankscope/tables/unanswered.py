"""Questions that are meant to have no answer: how a golden set marks them.

Such a question has no relevant document by intention; the mark tells it from one for which nobody
has named a document yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.tables.columns import ALIASES, find_name

YES = frozenset({"true", "t", "yes", "y", "1", "1.0"})
"""The words for yes, as compared: without case."""

NO = frozenset({"false", "f", "no", "n", "0", "0.0"})
"""The words for no."""

_BLANK = frozenset({"", "none", "null", "nan"})

MARKS = ("no_answer", "answerable")
"""The roles of columns that mark a question, or mark all others."""


def find_mark(names: Iterable[str]) -> str | None:
    """Return the column that marks questions, or None."""
    return find_name(list(names), tuple(name for role in MARKS for name in ALIASES[role]))


def is_marked(name: str, value: Any, source: str) -> bool:
    """Tell whether the value of a column marks a question as having no answer."""
    word = "" if value is None else str(value).strip().casefold()
    if word not in YES | NO | _BLANK:
        raise InputError(f"{source}: {name} is {shown(value)}; expected true or false")
    if find_name([name], ALIASES["answerable"]) is None:
        return word in YES
    return word in NO


def is_unanswered(fields: Mapping[str, Any], source: str) -> bool:
    """Tell whether the fields of a question mark it as having no answer."""
    name = find_mark(fields)
    return name is not None and is_marked(name, fields[name], source)


def refuse_answer(query_id: str, source: str) -> InputError:
    """Return the error for a marked question that has relevant documents."""
    return InputError(
        f"{source}: query {shown(query_id)} is marked as having no answer, and has a relevant "
        "document; take one of the two away"
    )
