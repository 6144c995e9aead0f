"""Findings: what a check saw, as data.

A check has a stable code; a finding is one check that fired on one input. Readers, ``runs
validate`` and ``evaluate`` all speak through findings, so a problem has the same code and the same
words wherever it is met.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rankscope.errors import shown

__all__ = ["PLACES_SHOWN", "Finding", "Place", "Severity", "worst_first"]

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


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Order findings by severity, then by code."""
    return sorted(findings, key=lambda finding: (_ORDER[finding.severity], finding.code))
