"""From what happened to each query to the record of a load test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import counted, shown
from rankscope.findings import Finding, worst_first
from rankscope.retrieval.load.histograms import latencies_of
from rankscope.retrieval.load.open_loop import ANSWERED, WAITING, Log
from rankscope.runs.load_codes import (
    BEHIND,
    FAILED,
    HELD_UP,
    ONE_AT_A_TIME,
    OVERLOADED,
    OWN_LIMIT,
    UNFINISHED,
)
from rankscope.runs.load_record import LoadFailure, LoadRecord, LoadSettings
from rankscope.runs.origin import Identity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.retrieval.load.arrivals import Schedule

MOST_FAILURES = 5
"""How many ways of failing a record lists."""

KEPT_UP = 0.95
"""A share of the rate that counts as the rate."""

OWN_SHARE = 0.1
"""From this share of response times on, the delay of this program is worth a warning."""

SHORT_LAG = 0.001
"""Seconds of delay that are never worth one."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded, and how.

    ``limits`` are the models that it asks, and how many requests to each may be under way.
    """

    system: str
    identity: Identity
    settings: LoadSettings
    one_at_a_time: bool
    created: str
    limits: tuple[tuple[str, int], ...] = ()


def measured(loaded: Loaded, schedule: Schedule, log: Log) -> LoadRecord:
    """Make the record of what happened."""
    kept = _Counted(loaded, schedule, log)
    settings = loaded.settings
    record = LoadRecord(
        system=loaded.system,
        created=loaded.created,
        identity=loaded.identity,
        settings=settings,
        one_at_a_time=loaded.one_at_a_time,
        warmed_up=schedule.warm_up,
        planned=len(schedule) - schedule.warm_up,
        sent=int(kept.sent.sum()),
        answered=int(kept.answered.sum()),
        failed=int(kept.failed.sum()),
        unfinished=int(kept.unfinished.sum()),
        failures=tuple(kept.failures()),
        throughput=kept.throughput(),
        response=latencies_of(kept.response()),
        service=latencies_of((kept.ended - kept.started)[kept.answered]),
        lag=latencies_of(kept.lag()),
        held_up=int(kept.held_up.sum()),
        most_at_once=log.most_at_once,
        interrupted=True if log.interrupted else None,
        findings=(),
    )
    findings = worst_first([*_findings(record, kept), *_limited(record, loaded.limits)])
    return record.model_copy(update={"findings": tuple(findings)})


class _Counted:
    """The queries that count, with their times from the beginning of the test."""

    def __init__(self, loaded: Loaded, schedule: Schedule, log: Log) -> None:
        self.settings = loaded.settings
        self._log = log
        after = slice(schedule.warm_up, None)
        self.planned = schedule.times[after]
        ended = np.array(log.ended) - log.began
        outcomes = np.array(log.outcomes)
        self.handed = (np.array(log.handed) - log.began)[after]
        self.started = (np.array(log.started) - log.began)[after]
        self.ended = ended[after]
        self.outcomes = outcomes[after]
        self.sent: NDArray[np.bool_] = ~np.isnan(self.handed)
        self.held_up = np.frombuffer(bytes(log.held_up), np.uint8)[after].astype(bool) & self.sent
        self.answered = self.outcomes == ANSWERED
        self.failed = self.outcomes > ANSWERED
        self.unfinished = (self.outcomes == WAITING) & self.sent
        self.stopped = log.stopped - log.began
        start, end = self.settings.warm_up, self.settings.warm_up + self.settings.seconds
        if log.interrupted:
            end = max(start, min(end, self.stopped))
        self.window = (start, end)
        within = (ended > start) & (ended <= end)
        self.answers_in_time = int((within & (outcomes == ANSWERED)).sum())

    @property
    def duration(self) -> float:
        """How many seconds were measured; fewer than planned if it was ended early."""
        return self.window[1] - self.window[0]

    def throughput(self) -> float:
        """Return the answers in a second, until the last of them.

        What the warm-up left behind is answered in the same time, but does not count: else there
        could be more answers than queries. The time that was to be measured is the least.
        """
        ends = self.ended[self.answered]
        low, high = self.window
        spent = max(high, float(ends.max())) - low if ends.size else high - low
        return ends.size / spent if spent > 0 else 0.0

    def response(self) -> NDArray[np.float64]:
        """Return response times; of what has no answer, the time that it had waited."""
        waited = self.stopped - self.planned[self.unfinished]
        return np.concatenate([(self.ended - self.planned)[self.answered], waited])

    def mean_service(self) -> float:
        """Return how long an answer took on average."""
        return float((self.ended - self.started)[self.answered].mean()) if any(self.answered) else 0

    def lag(self) -> NDArray[np.float64]:
        """Return how late queries were sent that nothing held up."""
        free = ~np.isnan(self.started) & ~self.held_up
        return (self.started - self.planned)[free]

    def failures(self) -> Iterator[LoadFailure]:
        """Yield the most frequent ways of failing."""
        sentences = {place: text for text, place in self._log.failures.items()}
        for place, count in Counter(self.outcomes[self.failed].tolist()).most_common(MOST_FAILURES):
            yield LoadFailure(sentence=sentences[place], count=count)

    def sent_in_time(self) -> int:
        """Return how many queries were sent within the time that was measured."""
        return int((self.handed[self.sent] <= self.window[1]).sum())


def _findings(record: LoadRecord, kept: _Counted) -> Iterator[Finding]:
    if record.failed:
        yield FAILED.finding(
            f"{counted(record.failed, 'query')} of {record.sent:,} failed, such as: "
            f"{record.failures[0].sentence}",
            count=record.failed,
            system=record.system,
        )
    if record.unfinished and not record.interrupted:
        yield UNFINISHED.finding(
            f"{counted(record.unfinished, 'query')} of {record.sent:,} had no answer "
            f"{record.settings.grace:g} s after the last was sent; they count with the time that "
            "they had waited",
            count=record.unfinished,
            system=record.system,
        )
    is_behind = False
    for finding in _behind(record, kept):
        is_behind = True
        yield finding
    if not is_behind:
        yield from _overloaded(record, kept)
    if record.held_up:
        yield _held_up(record)


def _behind(record: LoadRecord, kept: _Counted) -> Iterator[Finding]:
    """Say that this machine was too slow, where it was."""
    due = int((kept.planned <= kept.window[1]).sum())
    sent = kept.sent_in_time()
    is_many = record.lag.p99 is not None and record.response.p99 is not None
    what = "p99" if is_many else "max"
    lag, response = getattr(record.lag, what) or 0.0, getattr(record.response, what)
    evidence = {"sent": sent, "due": due, "lag": lag}
    if due and sent < KEPT_UP * due:
        rate = sent / kept.duration if kept.duration > 0 else 0.0
        yield BEHIND.finding(
            f"this machine could not send {record.settings.rate:,.4g} queries a second (it sent "
            f"{rate:,.4g}); the numbers are about it, not about the system",
            count=due - sent,
            evidence=evidence,
            system=record.system,
        )
    elif response and lag > SHORT_LAG and lag > OWN_SHARE * response:
        yield BEHIND.finding(
            f"this machine sent queries up to {1000 * lag:,.3g} ms late ({what}) though nothing "
            f"held them up, with response times up to {1000 * response:,.3g} ms ({what}); the "
            "numbers are about it as well as about the system",
            count=record.lag.count,
            evidence=evidence,
            system=record.system,
        )


def _overloaded(record: LoadRecord, kept: _Counted) -> Iterator[Finding]:
    """Say that queries arrived faster than they were answered, where they did."""
    due = int((kept.planned <= kept.window[1]).sum())
    offered = due / kept.duration if kept.duration > 0 else 0.0
    # answers to what the warm-up left behind count here: they are part of keeping up
    answering = kept.answers_in_time / kept.duration if kept.duration > 0 else 0.0
    missing = due - kept.answers_in_time - record.failed
    on_their_way = 2 * offered * kept.mean_service()  # at any time, at a steady pace
    if answering < KEPT_UP * offered and missing > 5 + on_their_way:
        yield OVERLOADED.finding(
            f"{answering:,.4g} queries a second were answered of the {offered:,.4g} that "
            "arrived meanwhile, so more and more were waiting: response times would be longer in a "
            "longer test",
            count=int(missing),
            evidence={"answered": answering, "offered": offered},
            system=record.system,
        )


def _limited(record: LoadRecord, limits: Sequence[tuple[str, int]]) -> Iterator[Finding]:
    """Say of which models fewer requests could be under way than queries were in flight."""
    most = 1 if record.one_at_a_time else record.settings.most_in_flight
    in_flight = min(record.most_at_once, most)
    for model, jobs in limits:
        if jobs < in_flight:
            under_way = f"{counted(jobs, 'request')} be under way at a time"
            yield OWN_LIMIT.finding(
                f"the option jobs of the model {shown(model)} lets {under_way}, and up to "
                f"{counted(in_flight, 'query')} were in flight, so waiting for it is in the "
                "service time",
                count=in_flight - jobs,
                evidence={"jobs": jobs, "in_flight": in_flight},
                system=record.system,
            )


def _held_up(record: LoadRecord) -> Finding:
    some = f"{counted(record.held_up, 'query')} of {record.sent:,} waited to be sent"
    if record.one_at_a_time:
        return ONE_AT_A_TIME.finding(
            f"{some}, as {record.system} can be asked one at a time only",
            count=record.held_up,
            system=record.system,
        )
    return HELD_UP.finding(
        f"{some}, as {counted(record.settings.most_in_flight, 'query')} were in flight",
        count=record.held_up,
        evidence={"most_in_flight": record.settings.most_in_flight},
        system=record.system,
    )
