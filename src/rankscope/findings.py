"""Findings: what a check saw, as data.

A check has a stable code; a finding is one check that fired on one input. Readers, ``runs
validate`` and ``evaluate`` all speak through findings, so a problem has the same code and the same
words wherever it is met.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from rankscope.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "PLACES_SHOWN",
    "Check",
    "Checks",
    "Finding",
    "Place",
    "Seen",
    "Severity",
    "worst_first",
]

Subject = TypeVar("Subject")

Severity = Literal["error", "warning", "note"]

PLACES_SHOWN = 3
"""How many places a finding names; its ``count`` tells how many there are."""

_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen; what does not apply is None."""

    source: str
    line: int | None = None
    query_id: str | None = None
    doc_id: str | None = None

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        if self.query_id is not None:
            where += f", query {shown(self.query_id, 40)}"
        if self.doc_id is not None:
            where += f", document {shown(self.doc_id, 40)}"
        return where


@dataclass(frozen=True, slots=True)
class Finding:
    """One check that fired.

    ``message`` is what was seen, ``advice`` the recovery action, ``count`` how many cases there are
    (lines, documents, queries: ``unit`` says which), ``places`` the first three of them, and
    ``evidence`` the numbers behind the message.
    """

    code: str
    name: str
    severity: Severity
    message: str
    advice: str
    count: int = 1
    unit: str = "line"
    places: tuple[Place, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The finding as one sentence: where, what, what to do."""
        where = f"{self.places[0]}: " if self.places else ""
        return f"{where}{self.message} [{self.code}]; {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "places": [asdict(place) for place in self.places]}


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order findings by severity, then by code."""
    return sorted(findings, key=lambda finding: (_ORDER[finding.severity], finding.code))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a check saw when it fired: how often, in which words, where first."""

    message: str
    count: int = 1
    places: tuple[Place, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """One check: a stable code and name, how bad it is, what to do, and the function that looks."""

    code: str
    name: str
    severity: Severity
    unit: str
    advice: str
    look: Callable[[Subject], Seen | None]

    def __call__(self, subject: Subject) -> Finding | None:
        """Look at a subject; a finding if the check fires."""
        seen = self.look(subject)
        if seen is None:
            return None
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            message=seen.message,
            advice=self.advice,
            count=seen.count,
            unit=self.unit,
            places=seen.places[:PLACES_SHOWN],
            evidence=seen.evidence,
        )


class Checks(Generic[Subject]):
    """The checks of one kind of subject; each is registered where it is written."""

    def __init__(self) -> None:
        self._checks: list[Check[Subject]] = []

    def __iter__(self) -> Iterator[Check[Subject]]:
        return iter(self._checks)

    def add(
        self, code: str, name: str, severity: Severity, *, unit: str, advice: str
    ) -> Callable[[Callable[[Subject], Seen | None]], Check[Subject]]:
        """Register the decorated function as a check."""

        def register(look: Callable[[Subject], Seen | None]) -> Check[Subject]:
            if any(known.code == code for known in self._checks):
                raise ValueError(f"check {code} stands twice")
            self._checks.append(Check(code, name, severity, unit, advice, look))
            return self._checks[-1]

        return register

    def errors(self, subject: Subject) -> list[Finding]:
        """Run the checks that are errors."""
        found = (check(subject) for check in self._checks if check.severity == "error")
        return [finding for finding in found if finding is not None]

    def all(self, subject: Subject) -> list[Finding]:
        """Run every check."""
        found = (check(subject) for check in self._checks)
        return [finding for finding in found if finding is not None]
