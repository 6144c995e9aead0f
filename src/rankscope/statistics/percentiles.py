"""Percentiles of latencies and the like, with intervals that assume no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import check_level, special
from rankscope.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt


class Percentile(Part):
    """A value below which some per cent of all values are."""

    percentile: int
    """Which one: 95 is p95."""
    value: float
    """Interpolated linearly between the two nearest values."""
    interval: Interval
    """By order statistics; an end that the values are too few for is null."""


def percentiles(
    values: npt.ArrayLike, wanted: Sequence[int], *, level: float = 0.95
) -> tuple[Percentile, ...]:
    """Return percentiles as NumPy's default does: linear between the two nearest values.

    The interval is between two of the sorted values: how many values are below the true
    percentile is binomial, so x₍ᵣ₎ ≤ q holds with at least (1+level)/2 if P(B < r) ≤ (1−level)/2,
    and likewise from above. With too few values there is no upper end (p99 of 100 values).

    Reference: David and Nagaraja, Order Statistics, 2003, section 7.1.

    >>> [p95] = percentiles(range(1, 102), [95])
    >>> p95.value, p95.interval.low, p95.interval.high
    (96.0, 91.0, 101.0)
    """
    check_level(level)
    ordered = np.sort(np.asarray(values, np.float64))
    if ordered.ndim != 1 or not len(ordered) or not np.isfinite(ordered).all():
        raise InputError("percentiles are of finite numbers, at least one")
    return tuple(
        Percentile(
            percentile=each,
            value=float(np.percentile(ordered, each)),
            interval=_by_order(ordered, each / 100, level),
        )
        for each in wanted
    )


def _by_order(ordered: npt.NDArray[np.float64], share: float, level: float) -> Interval:
    count, tail = len(ordered), (1 - level) / 2
    at_most = special().bdtr(np.arange(count), count, share)  # P(B ≤ r), r = 0 … count − 1
    # the lower end is the r-th value with the largest r for which P(B ≤ r − 1) ≤ tail
    below = int(np.searchsorted(at_most, tail, side="right"))
    # the upper end is the s-th value with the smallest s for which P(B ≥ s) ≤ tail
    above = int(np.searchsorted(at_most, 1 - tail, side="left")) + 1
    return Interval(
        low=float(ordered[below - 1]) if below else -math.inf,
        high=float(ordered[above - 1]) if above <= count else math.inf,
        level=level,
        method="order",
    )
