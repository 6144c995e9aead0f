"""The time of questions to a language model: what they take, or took when replies were made.

A reply that was kept counts with the seconds that it took to get it, and what reading and keeping
replies takes does not count. So a system looks as fast when its replies are kept as it was when
they were asked for.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_WATCH: ContextVar[Stopwatch | None] = ContextVar("watch", default=None)


class Stopwatch:
    """How long work took, as if each of its replies had been asked for."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._corrections: list[float] = []

    @property
    def seconds(self) -> float:
        """Since it began."""
        return max(0.0, time.perf_counter() - self._began + sum(self._corrections))

    def correct(self, seconds: float) -> None:
        """Add seconds that did not pass, or take off some that did."""
        self._corrections.append(seconds)


@contextmanager
def timed() -> Iterator[Stopwatch]:
    """Measure how long the work within takes."""
    watch = Stopwatch()
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


@contextmanager
def counted_as() -> Iterator[list[float]]:
    """Let the work within count with the seconds that it puts into the list, if it does."""
    began = time.perf_counter()
    seconds: list[float] = []
    yield seconds
    watch = _WATCH.get()
    if watch is not None and seconds:
        watch.correct(sum(seconds) - (time.perf_counter() - began))


def side_by_side(seconds: Iterable[float], workers: int) -> float:
    """Return how long pieces of work take in all, so many at a time, each begun in its turn.

    >>> side_by_side([3.0, 1.0, 1.0, 1.0], 2), side_by_side([3.0, 1.0], 1)
    (3.0, 4.0)
    """
    busy = [0.0] * max(workers, 1)  # until when each worker is
    for spent in seconds:
        heapq.heapreplace(busy, busy[0] + spent)
    return max(busy)
