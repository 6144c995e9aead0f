"""How tables are to be read, where a user says so: names of columns, and what of duplicates.

Commands, functions and the readers themselves share these options; `reading` lets them hold for all
tables that are read meanwhile, whatever reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from rankscope.errors import InputError, shown

Duplicates = Literal["first", "best"]
"""Which of several rows of one query and document counts."""


class TableOptions(TypedDict, total=False):
    """What `evaluate`, `compare` and `gate` take for all tables that they read."""

    query_key: str | None
    """The column or key of the query, where it goes by no known name."""
    doc_key: str | None
    """That of the document."""
    score_key: str | None
    """That of a run's score."""
    grade_key: str | None
    """That of a judgment's grade."""
    duplicates: Duplicates | None
    """Which row of a document counts that a run lists twice; an error if not given."""


@dataclass(slots=True)
class _Reading:
    """The options that hold, and which columns the tables read so far had."""

    keys: Mapping[str, str] = field(default_factory=dict)
    duplicates: Duplicates | None = None
    matched: set[str] = field(default_factory=set)
    names: dict[str, None] = field(default_factory=dict)


_NOW: ContextVar[_Reading] = ContextVar("rankscope_reading", default=_Reading())  # noqa: B039


def check_options(function: Callable[..., object], options: Iterable[str]) -> None:
    """Refuse options that are none of tables, naming the function that was called with them."""
    known = TableOptions.__annotations__
    for option in options:
        if option not in known:
            import inspect  # noqa: PLC0415
            from difflib import get_close_matches  # noqa: PLC0415

            named = [*inspect.signature(function).parameters, *known]
            nearest = get_close_matches(option, named, n=1)
            advice = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument {option!r}{advice}"
            )


@contextmanager
def reading(
    *,
    query_key: str | None = None,
    doc_key: str | None = None,
    score_key: str | None = None,
    grade_key: str | None = None,
    duplicates: Duplicates | None = None,
) -> Iterator[None]:
    """Let tables that are read meanwhile have these columns and duplicates.

    Tables may differ in their names: one that lacks a key goes by the known names. `check_keys`
    then refuses a key that none of them has.
    """
    outer = _NOW.get()
    given = {"query_id": query_key, "doc_id": doc_key, "score": score_key, "grade": grade_key}
    keys = {role: key for role, key in given.items() if key is not None}
    now = _Reading({**outer.keys, **keys}, duplicates or outer.duplicates)
    if outer.keys:  # options one by one: what is found is found for all
        now.matched, now.names = outer.matched, outer.names
    token = _NOW.set(now)
    try:
        yield
    finally:
        _NOW.reset(token)


def check_keys() -> None:
    """Refuse a key that none of the tables has that were read; call it before using them."""
    now = _NOW.get()
    for role, key in now.keys.items():
        if role not in now.matched:
            key_name = role.removesuffix("_id")
            there = ", ".join(shown(name, 30) for name in list(now.names)[:12])
            raise InputError(
                f"nothing that was read has a column or key {shown(key)} (--{key_name}-key, "
                f"{key_name}_key in Python); "
                + (f"there are {there}" if there else "the tables do not name their columns")
            )


def named_keys() -> Mapping[str, str]:
    """Return the keys that hold now, by role."""
    return _NOW.get().keys


def kept_duplicates() -> Duplicates | None:
    """Return which duplicates are kept now."""
    return _NOW.get().duplicates


def saw_columns(names: Sequence[str], columns: Mapping[str, str]) -> None:
    """Remember the columns of a table, and which keys were among them, for `check_keys`."""
    now = _NOW.get()
    if now.keys:
        now.matched.update(role for role, key in now.keys.items() if columns.get(role) == key)
        if len(now.names) < 100:
            now.names.update(dict.fromkeys(names[:100]))
