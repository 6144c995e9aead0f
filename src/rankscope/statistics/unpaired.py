"""Two groups of queries under one system: whether their means differ.

Queries are not paired here: one group was routed rightly, the other wrongly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.arrays import SMALLEST, as_rows, constant_rows, special
from rankscope.statistics.intervals import Interval, mean_intervals

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.intervals import Bounds


class GroupDifference(Part):
    """The means of two groups of queries, and their difference."""

    first_n: int
    """Queries of the first group."""
    second_n: int
    """Queries of the second group."""
    first: float
    """The mean of the first group."""
    second: float
    """The mean of the second group."""
    difference: float
    """First minus second."""
    interval: Interval | None
    """Of the difference; null where a group has fewer than two queries."""
    p: float | None
    """Two-sided; null where a group has fewer than two queries."""

    def is_shown(self, alpha: float) -> bool:
        """Tell whether the means differ by more than chance: test and interval must agree."""
        if self.p is None or self.interval is None:
            return False
        return self.p <= alpha and not self.interval.low <= 0 <= self.interval.high


def group_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> GroupDifference:
    """Compare two groups of queries that have no query in common, by Welch's t.

    Where neither group varies, t says nothing: the interval is then put together from what may not
    have been seen in each (`mean_intervals`; without ``bounds`` it has no ends), and p is the
    chance that equal values fall into the two groups just so, 2 / (n over n₁), or 1 where all are
    equal.

    Reference: Welch, Biometrika 1947; Zou and Donner, Statist. Med. 2008 (intervals put together).

    >>> result = group_difference([0.9, 0.8, 1.0], [0.2, 0.4, 0.3])
    >>> round(result.difference, 3), round(result.p, 4)
    (0.6, 0.0018)
    """
    groups = [as_rows(first)[0], as_rows(second)[0]]
    one_mean, other_mean = (math.fsum(group) / len(group) for group in groups)
    difference = one_mean - other_mean
    interval = p = None
    if min(map(len, groups)) > 1:
        variances = [float(group.var(ddof=1)) / len(group) for group in groups]
        if max(float(np.ptp(group)) for group in groups) > 0:
            interval, p = _welch(difference, variances, groups[0].size, groups[1].size, level)
        else:
            ranges = [mean_intervals(group, level=level, bounds=bounds)[0] for group in groups]
            below = math.hypot(one_mean - ranges[0].low, ranges[1].high - other_mean)
            above = math.hypot(ranges[0].high - one_mean, other_mean - ranges[1].low)
            interval = Interval(
                low=difference - below,
                high=difference + above,
                level=level,
                method="unseen",
                note="neither group varies",
            )
            ways = math.comb(groups[0].size + groups[1].size, groups[0].size)
            p = 1.0 if difference == 0 else max(SMALLEST, min(1.0, 2 / ways))
    return GroupDifference(
        first_n=groups[0].size,
        second_n=groups[1].size,
        first=one_mean,
        second=other_mean,
        difference=difference,
        interval=interval,
        p=p,
    )


def group_changes(
    first: npt.ArrayLike, second: npt.ArrayLike, *, level: float, bounds: Bounds
) -> list[tuple[float, Interval]]:
    """Return for each row of ``first[k, n]`` and ``second[k, m]`` the difference and its interval.

    Student's, with the larger of Welch's and the pooled standard error: a group that does not vary
    says nothing about how much it could. Where neither varies the interval is as wide as
    ``bounds``, the lowest and highest difference.

    >>> [(difference, interval)] = group_changes([1.0, 1.0], [0.0, 1.0], level=0.9, bounds=(-1, 1))
    >>> difference, interval.low
    (0.5, -1.0)
    """
    groups = [as_rows(first), as_rows(second)]
    counts = np.array([[group.shape[1]] for group in groups])
    means = np.array([group.mean(axis=1) for group in groups])
    # values that differ by rounding only do not vary
    variances = np.array(
        [np.where(constant_rows(group), 0.0, group.var(axis=1, ddof=1)) for group in groups]
    )
    parts = variances / counts
    pooled = ((counts - 1) * variances).sum(axis=0) / (counts.sum() - 2)
    squares = np.maximum(parts.sum(axis=0), pooled * (1 / counts).sum())
    freedom = np.full(means.shape[1], float(counts.sum() - 2))
    spread = (parts**2 / (counts - 1)).sum(axis=0)
    varying = spread > 0
    freedom[varying] = parts.sum(axis=0)[varying] ** 2 / spread[varying]
    reach = special().stdtrit(freedom, (1 + level) / 2) * np.sqrt(squares)
    changes = []
    for change, end in zip((means[0] - means[1]).tolist(), reach.tolist(), strict=True):
        low, high = (change - end, change + end) if end else (-math.inf, math.inf)
        interval = Interval(
            low=max(low, bounds[0]), high=min(high, bounds[1]), level=level, method="t"
        )
        changes.append((change, interval))
    return changes


def _welch(
    difference: float, variances: list[float], first: int, second: int, level: float
) -> tuple[Interval, float]:
    total = sum(variances)
    freedom = total**2 / (variances[0] ** 2 / (first - 1) + variances[1] ** 2 / (second - 1))
    reach = float(special().stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)
    interval = Interval(low=difference - reach, high=difference + reach, level=level, method="t")
    p = 2 * float(special().stdtr(freedom, -abs(difference) / math.sqrt(total)))
    return interval, max(SMALLEST, min(1.0, p))
