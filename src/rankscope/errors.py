"""Every exception rankscope raises on purpose.

The hierarchy::

    RankscopeError           anything below; on the command line one sentence and exit 2
    ├── InputError           what the user gave cannot be used (also a ValueError)
    │   ├── FormatError      not what the format asks for; knows file and line
    │   └── InvalidDataError well-formed, but breaks a rule (a NaN); holds findings
    ├── UnknownNameError     a name nobody registered; knows the nearest (also a LookupError)
    └── MissingExtraError    an optional package is missing (also an ImportError)

A message is one sentence: what was expected, what was found, where, and what to do. `Place` says
where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.findings import Finding

__all__ = [
    "FormatError",
    "InputError",
    "InvalidDataError",
    "MissingExtraError",
    "Place",
    "RankscopeError",
    "UnknownNameError",
]


def shown(text: object, limit: int = 60) -> str:
    """Quote a piece of user input for a message: escaped, and never longer than ``limit``."""
    quoted = repr(text if isinstance(text, str) else str(text))
    return quoted if len(quoted) <= limit else f"{quoted[: limit - 1]}…"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``3 queries``, ``1 line``, ``1,024 lines``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen; what does not apply is None."""

    source: str
    """The file, or what it is called."""
    line: int | None = None
    """The line, counted from 1."""
    query_id: str | None = None
    """The query."""
    doc_id: str | None = None
    """The document."""

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        if self.query_id is not None:
            where += f", query {shown(self.query_id, 40)}"
        if self.doc_id is not None:
            where += f", document {shown(self.doc_id, 40)}"
        return where


class RankscopeError(Exception):
    """Base of every error raised on purpose."""


class InputError(RankscopeError, ValueError):
    """Something the user gave cannot be used."""


class FormatError(InputError):
    """A file's content is not what its format asks for.

    ``source`` is the file as the user named it and ``line`` the line, counted from 1, if known.
    """

    def __init__(self, problem: str, *, source: str, line: int | None = None) -> None:
        self.problem = problem
        self.source = source
        self.line = line
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {problem}")


class InvalidDataError(InputError):
    """Data that could be read but breaks a rule; ``findings`` says which, most severe first."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__(message)


_FEW = 8
"""Up to so many names are all listed."""


class UnknownNameError(RankscopeError, LookupError):
    """A name that is not among the known ones; ``nearest`` holds up to three that look like it."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        names = list(known)
        folded = {candidate.casefold(): candidate for candidate in names}
        from difflib import get_close_matches  # noqa: PLC0415

        close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
        self.nearest = tuple(folded[match] for match in close)
        hint = f"; nearest: {', '.join(self.nearest)}" if self.nearest else ""
        others = [other for other in names if other not in self.nearest]
        if others and len(names) <= _FEW:
            hint += f"; {'others' if self.nearest else 'there are'}: {', '.join(sorted(others))}"
        super().__init__(f"unknown {what} {shown(name)}{hint}")


class MissingExtraError(RankscopeError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, *, needed_for: str, extra: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package}; install it with: "
            f"pip install 'rankscope[{extra}]'"
        )


class LeftoverWarning(UserWarning):
    """Something that was to be taken away at the end is still there; nothing else is wrong."""
