"""Findings: what a check saw, as data, under a code that does not change.

Every code is declared once, where its check is written, and is in one registry (`CODES`) that the
documentation is generated from. Readers, ``runs validate``, analyses and benchmarks all speak
through findings, so a problem has the same code and the same words wherever it is met. A check
that cannot look says so: `NotApplicable`, with its reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import Field

from rankscope.errors import Place
from rankscope.part import Part, left_out

__all__ = ["Finding", "Place"]

Subject = TypeVar("Subject")

Severity = Literal["error", "warning", "note"]

PLACES_SHOWN = 3
"""How many places a finding names; its ``count`` tells how many there are."""

_ORDER = {"error": 0, "warning": 1, "note": 2}


class Finding(Part):
    """Something a reader should know: one check that fired on one input."""

    code: str
    """Such as RS101; docs/reference/checks.md lists them."""
    name: str
    """The same in words."""
    severity: Severity
    """How bad it is."""
    message: str
    """What was seen."""
    advice: str
    """What to do about it."""
    count: int = 1
    """How many cases there are."""
    unit: str = "line"
    """What is counted: lines, documents, queries, …"""
    places: tuple[Place, ...] = ()
    """The first three of them."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """The numbers behind the message."""
    system: str | None = left_out()
    """In a benchmark, the system it is about; left out where it is about all of them."""
    gain: float | None = left_out()
    """How much the mean of the main measure could gain at most if it were mended, or how much of it
    is in doubt; by this the summary of all analyses orders what to fix."""

    @property
    def sentence(self) -> str:
        """The finding as one sentence: where, what, what to do."""
        where = f"{self.places[0]}: " if self.places else ""
        return f"{where}{self.message} [{self.code}]; {self.advice}"


class NotApplicable(Part):
    """A check or an analysis that could not look, and why; this is not the same as "passed"."""

    name: str
    """The check or analysis."""
    reason: str
    """Why it could not look, such as "no corpus was given"."""
    code: str | None = None
    """The check's code; null for an analysis, which may have several."""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order findings by severity, then by code."""
    return sorted(findings, key=lambda finding: (_ORDER[finding.severity], finding.code))


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: everything about it that is the same each time."""

    code: str
    name: str
    severity: Severity
    unit: str
    advice: str
    meaning: str
    """What it means, in a sentence or two, for the documentation."""

    def finding(
        self,
        message: str,
        *,
        count: int = 1,
        places: tuple[Place, ...] = (),
        evidence: Mapping[str, Any] | None = None,
        severity: Severity | None = None,
        system: str | None = None,
        gain: float | None = None,
    ) -> Finding:
        """Make a finding; ``severity`` replaces the usual one where a case is less grave."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            advice=self.advice,
            count=count,
            unit=self.unit,
            places=places[:PLACES_SHOWN],
            evidence=dict(evidence or {}),
            system=system,
            gain=gain,
        )


CODES: dict[str, Code] = {}
"""Every code of the modules that have been loaded."""


def declare(
    code: str, name: str, severity: Severity, *, unit: str, advice: str, meaning: str
) -> Code:
    """Register a code; each may be declared once."""
    if code in CODES:
        raise ValueError(f"the code {code} is declared twice")
    CODES[code] = Code(code, name, severity, unit, advice, " ".join(meaning.split()))
    return CODES[code]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a check saw when it fired: how often, in which words, where first."""

    message: str
    count: int = 1
    places: tuple[Place, ...] = ()


class CannotLookError(Exception):
    """What a check raises if it cannot look, with the reason."""


Look: TypeAlias = Callable[[Subject], Seen | None]
"""What looks at a subject, and says what it saw."""


class Checks(dict[Code, Look[Subject]]):
    """The checks of one kind of subject; each is registered where it is written."""

    def add(
        self, code: str, severity: Severity, *, unit: str = "line", advice: str = ""
    ) -> Callable[[Look[Subject]], Code]:
        """Register the decorated function as a check.

        Its name is the check's, with hyphens. Its docstring says what the check means and, behind
        ``Do:``, what to do about it, unless that is given as ``advice``.
        """

        def register(look: Look[Subject]) -> Code:
            meaning, _, remedy = (inspect.getdoc(look) or "").partition("\n\nDo: ")
            remedy = advice or " ".join(remedy.split()).removesuffix(".")
            name = look.__name__.replace("_", "-")
            declaration = declare(code, name, severity, unit=unit, advice=remedy, meaning=meaning)
            self[declaration] = look
            return declaration

        return register

    def errors(self, subject: Subject) -> list[Finding]:
        """Run the checks that are errors."""
        errors = [code for code in self if code.severity == "error"]
        return self._results(subject, errors)[0]

    def all(self, subject: Subject) -> tuple[list[Finding], list[NotApplicable]]:
        """Run every check; also tell which could not look."""
        return self._results(subject, self)

    def _results(
        self, subject: Subject, codes: Iterable[Code]
    ) -> tuple[list[Finding], list[NotApplicable]]:
        findings, unable = [], []
        for code in codes:
            try:
                seen = self[code](subject)
            except CannotLookError as why:
                unable.append(NotApplicable(name=code.name, reason=str(why), code=code.code))
                continue
            if seen is not None:
                findings.append(code.finding(seen.message, count=seen.count, places=seen.places))
        return findings, unable
