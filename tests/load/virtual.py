"""A clock that only moves when somebody waits, and systems whose times are scripted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankscope import Corpus
from rankscope.retrieval.load.arrivals import Schedule, make_schedule
from rankscope.retrieval.load.measuring import Loaded, measured
from rankscope.retrieval.load.open_loop import Log, send
from rankscope.retrieval.protocol import Capabilities, Identity, Query, Ranking, System
from rankscope.runs.load_record import LoadRecord, LoadSettings

IDENTITY = Identity(kind="fake", version="1", parameters={})
QUERIES = [Query(f"q{number}", f"text {number}") for number in range(7)]


def settings(**changes: Any) -> LoadSettings:
    usual = {
        "rate": 50.0,
        "seconds": 4.0,
        "warm_up": 0.0,
        "arrivals": "constant",
        "seed": 0,
        "most_in_flight": 256,
        "grace": 10.0,
        "depth": 10,
    }
    return LoadSettings(**{**usual, **changes})


class VirtualClock:
    """Time that passes only in `sleep`."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class AtOnce:
    """Asks in the thread that submits: one at a time, each as soon as the one before has ended.

    ``service`` says how many seconds the query of a number takes. With ``times``, those at which
    queries were to be sent, they were, and waited for each other; without, sending them is what
    took so long.
    """

    def __init__(
        self,
        log: Log,
        clock: VirtualClock,
        service: Callable[[int], float],
        errors: Callable[[int], str | None] = lambda _: None,
        times: Sequence[float] | None = None,
    ) -> None:
        self._log, self._clock = log, clock
        self._service, self._errors = service, errors
        self._times = times

    def submit(self, number: int) -> None:
        log, clock = self._log, self._clock
        log.most_at_once = 1
        if self._times is not None:
            log.handed[number] = log.began + self._times[number]
            log.held_up[number] = clock.now() > log.handed[number] + 1e-9
        log.started[number] = clock.now()
        clock.time += self._service(number)
        log.end(number, clock.now(), self._errors(number))

    def wait(self, seconds: float) -> None:
        """Everything is answered."""

    def close(self) -> None:
        """Nobody waits."""


def simulated(
    wanted: LoadSettings,
    service: Callable[[int], float],
    errors: Callable[[int], str | None] = lambda _: None,
    *,
    slow_sender: bool = False,
) -> tuple[LoadRecord, Schedule, Log]:
    """Load a system that takes scripted times, in no time at all."""
    schedule = make_schedule(wanted, len(QUERIES))
    log, clock = Log(len(schedule)), VirtualClock()
    times = None if slow_sender else schedule.times.tolist()
    asking = AtOnce(log, clock, service, errors, times)
    send(schedule, log, asking, grace=wanted.grace, clock=clock)
    loaded = Loaded("fake", IDENTITY, wanted, one_at_a_time=True, created="2025-01-01T00:00:00Z")
    return measured(loaded, schedule, log), schedule, log


class Fake(System):
    """A system that does what a function says."""

    def __init__(
        self, answer: Callable[[Query], Ranking | None], *, concurrent: bool = True
    ) -> None:
        self.name = "fake"
        self.capabilities = Capabilities(concurrent=concurrent)
        self._answer = answer
        self.batches: list[int] = []

    def index(self, corpus: Corpus) -> None:
        """Do nothing."""

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:  # noqa: ARG002
        self.batches.append(len(queries))
        return [self._answer(query) or Ranking(("a",), (1.0,)) for query in queries]

    def identity(self) -> Identity:
        return IDENTITY
