"""When queries arrive, and which: drawn before the first is sent, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.runs.load_record import Arrivals, LoadSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_QUERIES = 1_000_000
"""A load test sends no more than this."""

LONGEST = 3600.0
"""Seconds that a load test measures at most."""

LONGEST_ASIDE = 600.0
"""Seconds of warm-up and of grace at most."""

MOST_IN_FLIGHT = 10_000
"""Queries that may be on their way at the same time at most: each has a thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """What is sent when: for each query to send its time, in seconds, and its place in a list.

    The first ``warm_up`` of them are not counted.
    """

    times: NDArray[np.float64]
    places: NDArray[np.int64]
    warm_up: int

    def __len__(self) -> int:
        return len(self.times)


def check_settings(settings: LoadSettings) -> None:
    """Refuse what is out of bounds.

    Raises:
        InputError: what it is, and what is possible.
    """
    _between("rate", settings.rate, 0, MOST_QUERIES, above=True)
    _between("seconds", settings.seconds, 0, LONGEST, above=True)
    _between("warm_up", settings.warm_up, 0, LONGEST_ASIDE)
    _between("grace", settings.grace, 0, LONGEST_ASIDE)
    _between("most_in_flight", settings.most_in_flight, 1, MOST_IN_FLIGHT)
    if settings.seed < 0:
        raise InputError(f"seed must be a whole number from 0 up, not {settings.seed}")
    warm_up, counted = counts(settings)
    if not counted:
        raise InputError(
            f"{settings.rate:g} queries a second for {settings.seconds:g} s make less than one "
            "query; raise the rate or the seconds"
        )
    if warm_up + counted > MOST_QUERIES:
        raise InputError(
            f"{settings.rate:g} queries a second for {settings.warm_up + settings.seconds:g} s "
            f"make {warm_up + counted:,} queries, and a load test may send {MOST_QUERIES:,}; "
            "lower the rate or the seconds"
        )


def _between(name: str, value: float, low: float, high: float, *, above: bool = False) -> None:
    is_high_enough = value > low if above else value >= low
    if not (is_high_enough and value <= high):
        start = f"above {low:g} and up to" if above else f"from {low:g} to"
        raise InputError(f"{name} must be a number {start} {high:,.0f}, not {value:g}")


def counts(settings: LoadSettings) -> tuple[int, int]:
    """Return how many queries are sent to warm up, and how many are counted."""
    return _count(settings.rate, settings.warm_up), _count(settings.rate, settings.seconds)


def _count(rate: float, seconds: float) -> int:
    return int(rate * seconds + 1e-9)  # 0.1 a second for 30 s are three queries


def make_schedule(settings: LoadSettings, queries: int) -> Schedule:
    """Draw when each query is sent, and which of so many it is.

    Random times are those of a Poisson process of which it is known how many arrive: the numbers
    of queries to send are the same for each seed. The queries are taken in a random order, which
    is repeated as often as needed.
    """
    warm_up, counted = counts(settings)
    random = np.random.default_rng(settings.seed)
    times = np.concatenate(
        [
            _times(warm_up, settings.warm_up, settings.rate, settings.arrivals, random),
            settings.warm_up
            + _times(counted, settings.seconds, settings.rate, settings.arrivals, random),
        ]
    )
    places = np.resize(random.permutation(queries), len(times))
    return Schedule(times, places, warm_up)


def _times(
    count: int, seconds: float, rate: float, arrivals: Arrivals, random: np.random.Generator
) -> NDArray[np.float64]:
    if arrivals == "poisson":
        return np.sort(random.uniform(0, seconds, count))
    return np.arange(count) / rate
