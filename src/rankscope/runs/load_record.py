"""What a load test measured: how a system answers while queries arrive at a given rate."""

from __future__ import annotations

from typing import ClassVar, Literal

from rankscope.document.views import Shown
from rankscope.findings import Finding
from rankscope.part import Part, Record, left_out
from rankscope.runs.origin import Identity

Arrivals = Literal["constant", "poisson"]
"""How queries arrive: one as long after the other, or at random times."""


class LoadSettings(Part):
    """How a system was loaded."""

    rate: float
    """Queries that arrive in a second, whether or not earlier ones are answered."""
    seconds: float
    """How long was measured."""
    warm_up: float
    """How many seconds before that queries arrived that are not counted."""
    arrivals: Arrivals
    """constant: equal gaps between queries; poisson: random times, as of many users."""
    seed: int
    """Of the order of the queries and of random times."""
    most_in_flight: int
    """How many queries could be on their way at the same time at most."""
    grace: float
    """How many seconds after the last arrival answers were still waited for."""
    depth: int
    """How many documents were asked for."""


class Latencies(Part):
    """How long something took, in seconds, to three significant digits.

    A percentile that so few values cannot show is null: p99 needs 100 of them, p99.9 needs 1,000.
    """

    count: int
    """How many values there are."""
    p50: float | None
    """Half of them took no longer."""
    p90: float | None
    """The 90th percentile."""
    p95: float | None
    """The 95th percentile."""
    p99: float | None
    """The 99th percentile."""
    p999: float | None
    """The 99.9th percentile."""
    max: float | None
    """The longest."""
    histogram: str
    """All values, in microseconds, as an HdrHistogram (V2, compressed, base64); those of several
    load tests can be added."""


class LoadFailure(Part):
    """A way in which queries failed."""

    sentence: str
    """What the system said."""
    count: int
    """How many queries failed so."""


class LoadRecord(Record, Shown):
    """How a system answers while queries arrive at a given rate.

    Queries arrive at times that were set before (open loop): none waits for the answer to another.
    Response times count from these times, so that waiting for a slow system is part of them.
    """

    kind: ClassVar[str] = "load"
    written_by: ClassVar[str] = "rankscope load"

    system: str
    """The system's name in the config."""
    created: str
    """When it was measured, in UTC (ISO 8601)."""
    identity: Identity
    """What exactly answered."""
    settings: LoadSettings
    """How it was loaded."""
    one_at_a_time: bool
    """Whether the system can be asked one query at a time only."""
    warmed_up: int
    """Queries that arrived before those that are counted."""
    planned: int
    """Queries that were to be counted."""
    sent: int
    """Those of them that were sent."""
    answered: int
    """Those of them that were answered."""
    failed: int
    """Those of them that failed; they are in no percentile."""
    unfinished: int
    """Those of them without an answer at the end; in response times, they count with the time that
    they had waited by then."""
    failures: tuple[LoadFailure, ...]
    """How queries failed, the most frequent first; at most five."""
    throughput: float
    """Answers in a second, from the first arrival that counts to the last answer."""
    response: Latencies
    """From the time at which a query was to be sent to its answer."""
    service: Latencies
    """From the time at which a query was sent to its answer."""
    lag: Latencies
    """How much later than planned queries were sent that nothing held up: this program's delay."""
    held_up: int
    """Queries that had to wait, as no more could be in flight."""
    most_at_once: int
    """The most queries that were in flight, or waiting for that, at the same time."""
    interrupted: bool | None = left_out()
    """Whether somebody ended it early; left out if nobody did."""
    findings: tuple[Finding, ...]
    """What a reader should know, worst first."""
