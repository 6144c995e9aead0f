"""Waiting and stopping: a pace that is kept, pauses that end at once, calls that take too long.

A fetch gives the system it asks, and all its parts, one `Work`: they wait and report by that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeVar

Answer = TypeVar("Answer")

Progress = Callable[[int, int], None]
"""Is told how much is done, and of how much."""


class Stop:
    """Says when a fetch has to end: its caller wants it to, or one of its batches has failed."""

    def __init__(self, cancel: threading.Event | None) -> None:
        self._cancel = cancel
        self.failed = threading.Event()

    def check(self) -> None:
        """Raise if the fetch has to end."""
        if self.failed.is_set() or (self._cancel is not None and self._cancel.is_set()):
            raise CancelledError("the fetch was cancelled")

    def sleep(self, seconds: float) -> None:
        """Wait for so long, or until the fetch has to end."""
        end = time.monotonic() + seconds
        self.check()
        while (left := end - time.monotonic()) > 0:
            self.failed.wait(min(left, 0.1))  # two events cannot be waited for at once
            self.check()


class Pace:
    """When the next query may be asked: not above the rate, and not before the system wants it."""

    def __init__(self, stop: Stop, rate: float | None) -> None:
        self.stop = stop
        self._interval = 0.0 if rate is None else 1 / rate
        self._lock = threading.Lock()
        self._next = 0.0
        self._held = 0.0

    def wait_for(self, count: int) -> None:
        """Wait until so many queries may be asked."""
        while True:
            with self._lock:
                now = time.monotonic()
                start = max(now, self._next)
                self._next = start + count * self._interval
            self.stop.sleep(start - now)
            with self._lock:
                if start >= self._held:  # nobody asked to wait meanwhile
                    return

    def hold(self, seconds: float) -> None:
        """Ask nothing for some seconds."""
        with self._lock:
            self._held = max(self._held, time.monotonic() + seconds)
            self._next = max(self._next, self._held)


@dataclass(frozen=True, slots=True)
class Work:
    """What a component needs to know of the fetch it works for; without one nothing is set.

    ``time_limit`` is how many seconds one query may take (None: any), ``pace`` when the next may
    be asked and whether the fetch goes on, and ``progress`` watches an index being made.
    """

    time_limit: float | None = None
    pace: Pace | None = None
    progress: Progress | None = None

    def check(self) -> None:
        """Raise if the fetch has to end."""
        self._stop.check()

    def sleep(self, seconds: float) -> None:
        """Wait for so long, or until the fetch has to end."""
        self._stop.sleep(seconds)

    def report(self, done: int, total: int) -> None:
        """Say how much is done, and of how much."""
        if self.progress is not None:
            self.progress(done, total)

    @property
    def _stop(self) -> Stop:
        return Stop(None) if self.pace is None else self.pace.stop


class TimedOutError(Exception):
    """A call has not returned in time."""


def within(seconds: float, call: Callable[[], Answer], alone: threading.Lock | None) -> Answer:
    """Return what a call gives, made in a thread of its own.

    A call that takes longer is left behind. ``alone`` keeps later calls from a system that must not
    be called twice at the same time; one that is still waiting for it when its time is up is never
    made.
    """
    future: Future[Answer] = Future()

    def work() -> None:
        with alone or nullcontext():
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    done, _ = wait([future], timeout=min(seconds, threading.TIMEOUT_MAX))
    if not done:
        future.cancel()
        raise TimedOutError
    return future.result()
