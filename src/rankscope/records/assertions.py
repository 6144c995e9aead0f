"""What assertions in tests found: the record behind ``pytest --rankscope-report``."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from rankscope.document.views import Shown
from rankscope.part import Part, Private, Record, left_out, left_out_if_empty
from rankscope.statistics.gate import GateResult
from rankscope.statistics.intervals import Interval

Outcome = Literal["passed", "undecided", "failed", "no answer"]


class WorstQuery(Part):
    """One of the queries with the worst values."""

    query_id: str
    """The query."""
    value: float
    """Its value of the measure."""


class LimitCheck(Part):
    """One run's mean of one measure beside what it must reach."""

    run: str
    """The run."""
    measure: str
    """The measure."""
    mean: float
    """Its mean."""
    interval: Interval | None
    """Of the mean; null for what is no mean, such as a sum."""
    limit: float
    """The least mean; where lower is better, the largest."""
    reached: bool
    """Whether it is reached."""
    verdict: str
    """That in one sentence."""
    worst: tuple[WorstQuery, ...]
    """The queries with the worst values, worst first; none where the limit is reached."""


class Assertion(Part):
    """One assertion of a test, and its outcome."""

    test: str
    """The test that made it; '' outside of one."""
    outcome: Outcome
    """Undecided: a gate's data show neither, and that does not stop it; no answer: an error."""
    verdict: str
    """The outcome in one sentence."""
    limits: tuple[LimitCheck, ...] = left_out_if_empty()
    """The limits that were asked for."""
    gate: GateResult | None = left_out()
    """The gate that was asked."""
    texts: Annotated[dict[str, str], Private()] = Field(default_factory=dict)
    """The texts of the queries that are listed, as far as they are known."""


class AssertionReport(Record, Shown):
    """All assertions of a test session."""

    kind: ClassVar[str] = "assertions"

    created: str
    """When it was made, in UTC (ISO 8601)."""
    rankscope: str
    """The version of rankscope."""
    assertions: tuple[Assertion, ...]
    """By test, in the order they were made."""
