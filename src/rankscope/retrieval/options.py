"""Options of systems: a frozen dataclass says their names, defaults and meanings.

Each field is made by `option`, with a check that takes a raw value (from a config file or a call)
and returns the right one, or raises a `ValueError` whose text completes "… must be".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

from rankscope.errors import InputError, UnknownNameError, shown

__all__ = [
    "Option",
    "as_is",
    "choice",
    "option",
    "optional",
    "read_options",
    "real",
    "table",
    "text",
    "truth",
    "whole",
    "words",
]

Check = Callable[[Any], Any]
T = TypeVar("T")
REQUIRED: Any = MISSING


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a system, as documentation shows it; ``required`` has no default."""

    name: str
    doc: str
    default: Any
    required: bool


def option(default: Any, doc: str, check: Check) -> Any:
    """Declare a field of an options dataclass; `REQUIRED` for one without a default."""
    return field(default=default, metadata={"doc": doc, "check": check})


def described(kind: type[Any]) -> list[Option]:
    """List the options of a dataclass, in order."""
    return [
        Option(one.name, one.metadata["doc"], one.default, one.default is MISSING)
        for one in _fields(kind)
    ]


def _fields(kind: type[Any]) -> list[Field[Any]]:
    return [one for one in fields(kind) if "check" in one.metadata]


def read_options(kind: type[T], given: object, owner: str) -> T:
    """Make the options of ``owner`` from raw data; what is not given has its default.

    A value that is no table stands for the first option.

    Raises:
        UnknownNameError: an option there is not; names the nearest.
        InputError: a value that is not allowed, or one that is missing.
    """
    known = {one.name: one for one in _fields(kind)}
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        if not known:
            raise InputError(f"{owner} has no options, but {shown(given)} was given")
        given = {next(iter(known)): given}
    values = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownNameError(f"option of {owner}", str(name), known)
        try:
            values[name] = known[name].metadata["check"](value)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"option {name} of {owner} must be {error}, not {shown(value)}"
            ) from None
    for name, one in known.items():
        if name not in values and one.default is MISSING:
            raise InputError(f"{owner} needs the option {name}: {one.metadata['doc']}")
    return kind(**values)


def as_is(value: Any) -> Any:
    """Take anything."""
    return value


def text(value: Any) -> str:
    """Take text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("text")
    return value


def any_text(value: Any) -> str:
    """Take text, empty or not."""
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def truth(value: Any) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def whole(low: int) -> Check:
    """Take a whole number from ``low`` up."""

    def check(value: Any) -> int:
        is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if not is_whole or int(value) < low:
            raise ValueError(f"a whole number from {low} up")
        return int(value)

    return check


def real(low: float, high: float = math.inf) -> Check:
    """Take a finite number from ``low`` to ``high``."""
    span = f"from {low:g} up" if high == math.inf else f"from {low:g} to {high:g}"

    def check(value: Any) -> float:
        is_real = hasattr(value, "__float__") and not isinstance(value, bool | str)
        if not is_real or not math.isfinite(float(value)) or not low <= float(value) <= high:
            raise ValueError(f"a number {span}")
        return float(value)

    return check


def choice(what: str, known: Callable[[], list[str]]) -> Check:
    """Take one of some names; another is answered with the nearest."""

    def check(value: Any) -> str:
        names = known()
        if not isinstance(value, str):
            raise ValueError(f"one of {', '.join(names)}")
        if value not in names:
            raise UnknownNameError(what, value, names)
        return value

    return check


def optional(check: Check) -> Check:
    """Take nothing, too."""
    return lambda value: None if value is None else check(value)


def words(value: Any) -> tuple[str, ...]:
    """Take a list of texts."""
    if isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value):
        return tuple(value)
    raise ValueError("a list of texts")


def table(kind: type[Any], owner: str) -> Check:
    """Take a table of options of its own."""
    return lambda value: value if isinstance(value, kind) else read_options(kind, value, owner)
