"""The open loop: every query is sent at its time, whatever became of those before.

`send` goes through a schedule and hands each query over at its time; it never waits for an answer.
A `Crew` of threads does the asking. If all of its threads are busy, a query waits, and as its
response time counts from the planned time, that waiting is part of it: a system that stalls for a
second delays all that arrive meanwhile, as it would delay its users.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Protocol

from rankscope.errors import InputError
from rankscope.retrieval.progress import Progress

if TYPE_CHECKING:
    from rankscope.retrieval.load.arrivals import Schedule

WAITING, ANSWERED = -1, 0
"""What became of a query: there is no answer, there is one, or (from 1 up) how it failed."""

_STEP = 0.2
"""Seconds between two reports of progress."""

_LATEST = 1.0
"""Seconds after the end in which queries are still sent that are late."""

_ENOUGH = 5
"""So many queries that fail while none is answered end a test with its warm-up."""


class Clock(Protocol):
    """Tells the time, and waits."""

    def now(self) -> float:
        """Return the time in seconds; only differences mean something."""

    def sleep(self, seconds: float) -> None:
        """Wait for so long."""


class RealClock:
    """The clock of the machine."""

    now = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)


@dataclass(slots=True)
class Log:
    """What happened to each query that was to be sent: times in seconds, NaN where it did not.

    ``outcomes`` are `WAITING`, `ANSWERED`, or the place of a sentence in ``failures``, from 1 up.
    """

    size: int
    handed: array[float] = field(init=False)
    started: array[float] = field(init=False)
    ended: array[float] = field(init=False)
    outcomes: array[int] = field(init=False)
    held_up: bytearray = field(init=False)
    failures: dict[str, int] = field(default_factory=dict)
    most_at_once: int = 0
    began: float = 0.0
    stopped: float = 0.0
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.handed, self.started, self.ended = (array("d", [nan]) * self.size for _ in range(3))
        self.outcomes = array("i", [WAITING]) * self.size
        self.held_up = bytearray(self.size)

    def end(self, number: int, moment: float, error: str | None) -> None:
        """Take what became of a query."""
        self.ended[number] = moment
        if error is None:
            self.outcomes[number] = ANSWERED
        else:
            self.outcomes[number] = self.failures.setdefault(error, len(self.failures) + 1)


class Asking(Protocol):
    """Takes queries to ask."""

    def submit(self, number: int) -> None:
        """Ask a query as soon as possible; this does not wait for the answer."""

    def wait(self, seconds: float) -> None:
        """Wait until all are answered, for so long at most."""

    def close(self) -> None:
        """Ask no more; what is answered from now on no longer counts."""


Ask = Callable[[int], Callable[[], str | None]]
"""Asks the query of this number; what it returns says, later, how that failed, or None.

The time until it returns is the system's; that of looking at the answer is not.
"""


class Crew:
    """Threads that ask, at most ``most`` at a time; more are started when they are needed.

    Queries that find all of them busy wait in the order in which they arrive.
    """

    def __init__(self, ask: Ask, log: Log, most: int, clock: Clock) -> None:
        self._ask, self._log, self._most, self._clock = ask, log, most, clock
        self._waiting: deque[int] = deque()
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._done = threading.Condition(self._lock)
        self._threads = self._idle = self._outstanding = 0
        self._closed = threading.Event()

    def submit(self, number: int) -> None:
        """Give a query to an idle thread, or to a new one if there may be more."""
        with self._lock:
            self._log.held_up[number] = self._outstanding >= self._most
            self._outstanding += 1
            self._log.most_at_once = max(self._log.most_at_once, self._outstanding)
            self._waiting.append(number)
            is_short = len(self._waiting) > self._idle and self._threads < self._most
            self._threads += is_short
            self._work.notify()
        if is_short:
            context = copy_context()
            threading.Thread(target=context.run, args=(self._serve,), daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Wait until all queries that were given are answered, for so long at most."""
        with self._lock:
            self._done.wait_for(lambda: not self._outstanding, timeout=max(seconds, 0.0))

    def close(self) -> None:
        """Let idle threads end; those that still ask are left behind."""
        with self._lock:
            self._closed.set()
            self._waiting.clear()
            self._work.notify_all()

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
                self._work.wait_for(lambda: self._waiting or self._closed.is_set())
                self._idle -= 1
                if self._closed.is_set():
                    return
                number = self._waiting.popleft()
                self._log.started[number] = self._clock.now()
            judge = self._ask(number)
            moment = self._clock.now()
            error = judge()
            with self._lock:
                if self._closed.is_set():
                    return
                self._log.end(number, moment, error)
                self._outstanding -= 1
                if not self._outstanding:
                    self._done.notify_all()


def send(
    schedule: Schedule,
    log: Log,
    asking: Asking,
    *,
    grace: float,
    clock: Clock,
    progress: Progress | None = None,
) -> None:
    """Send every query at its time, and wait for the answers, ``grace`` seconds at most.

    Ctrl-C ends it at once, and what was measured until then stays. So does a schedule that this
    machine is too slow for: what was not sent when the grace is over is not sent.

    Raises:
        InputError: all queries of the warm-up failed, so the rest would, too.
    """
    times = schedule.times.tolist()
    began = log.began = clock.now()
    last = began + times[-1] + grace
    reported = began
    try:
        for number, planned in enumerate(times):
            while (left := began + planned - clock.now()) > 0:
                clock.sleep(min(left, _STEP))
                if progress is not None and clock.now() - reported >= _STEP:
                    reported = clock.now()
                    progress(number, len(times))
            if clock.now() > last + _LATEST:
                break
            if number == schedule.warm_up:
                _check_warm_up(log, number)
            log.handed[number] = clock.now()
            asking.submit(number)
        if progress is not None:
            progress(len(times), len(times))
        asking.wait(last - clock.now())
    except KeyboardInterrupt:
        log.interrupted = True
    finally:
        asking.close()
        log.stopped = clock.now()


def _check_warm_up(log: Log, count: int) -> None:
    """Refuse to go on where nothing was answered yet and everything fails."""
    seen = log.outcomes[:count]
    failed = sum(outcome > ANSWERED for outcome in seen)
    if failed >= _ENOUGH and ANSWERED not in seen:
        raise InputError(
            f"all of the {failed:,} queries asked to warm up failed "
            f"({next(iter(log.failures))}); see whether the system can be asked, with "
            "'rankscope runs fetch', before you load it"
        )
