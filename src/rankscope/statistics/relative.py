"""Relative changes: how many per cent one mean is above another, with Fieller's interval.

The ratio of two means over the same queries. Fieller's interval holds no change (0 %) if and only
if Student's interval of the mean difference holds 0, so a change in per cent and the difference
beside it never contradict each other; a bootstrap of the ratio would, now and then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import SAME, as_rows, check_level, row_means, special
from rankscope.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.intervals import Bounds


class RelativeChange(Part):
    """A change in per cent of the mean it starts from."""

    percent: float | None
    """(system − base) / base × 100, of the two means; null where the base's mean is not above
    0."""
    interval: Interval | None
    """Of the per cents, by Fieller; an end that nothing holds is null. Null if they are."""


def relative_change(
    base: npt.ArrayLike,
    system: npt.ArrayLike,
    *,
    level: float = 0.95,
    bounds: Bounds = (0.0, 1.0),
) -> RelativeChange:
    """Return how many per cent the mean of ``system`` is above that of ``base``, query by query.

    δ = (ȳ − x̄) / x̄ for base x and system y, in per cent. Fieller's interval holds every δ for which
    the paired t test does not reject that the mean of (y − x) − δx is 0: the roots of
    (d̄ − δx̄)² = t²(s²_d − 2δ·s_dx + δ²s²_x)/n with d = y − x and n − 1 degrees of freedom.

    ``bounds`` are the lowest and the highest value of the measure. Edges:

    - the mean of the base is 0, or below: there is no change in per cent.
    - the mean of the base is not shown to differ from 0: no end is known; from −100 % where no
      value is below 0.
    - one query, or y the same multiple of x on all n: nothing varies, and yet a share
      p = 1 − (α/2)^(1/n) of the population may differ unseen; it can pull both means to the bounds.

    Reference: Fieller, Some problems in interval estimation, JRSS B 1954.

    >>> change = relative_change([0.2, 0.5, 0.8, 0.5], [0.3, 0.5, 0.9, 0.7])
    >>> round(change.percent, 6)
    20.0
    >>> round(change.interval.low, 1), round(change.interval.high, 1)
    (-6.5, 108.4)
    """
    check_level(level)
    x, y = as_rows(base, "values of the base"), as_rows(system, "values of the system")
    if x.shape != y.shape or len(x) != 1:
        raise InputError("base and system must be one row of values each, for the same queries")
    mean_x, mean_y = row_means(np.concatenate([x, y])).tolist()
    if mean_x <= 0:
        return RelativeChange(percent=None, interval=None)
    rows = np.concatenate([y - x, x])
    change = float(row_means(rows[:1])[0]) / mean_x
    count = x.shape[1]
    rest = rows[0] - change * rows[1]  # what the ratio does not explain; its mean is 0
    if count == 1 or np.abs(rest).max() <= SAME * np.abs(rows).max():
        interval = _unseen(mean_x, mean_y, count, level, bounds)
    else:
        interval = _fieller(rows, level, lowest=-1.0 if bounds[0] >= 0 else -math.inf)
    return RelativeChange(percent=100 * change, interval=interval)


def _fieller(rows: npt.NDArray[np.float64], level: float, lowest: float) -> Interval:
    """Return the interval of mean(d) / mean(x); ``rows`` are d and x."""
    count = rows.shape[1]
    d, x = row_means(rows).tolist()
    squares = float(special().stdtrit(count - 1, (1 + level) / 2)) ** 2
    spread = np.cov(rows) / count * squares  # t² times the variances of the means
    a, b, c = x * x - spread[1, 1], d * x - spread[0, 1], d * d - spread[0, 0]
    note = ""
    if a <= 0:
        low, high = -math.inf, math.inf
        note = "the mean of the base is not shown to differ from 0"
    else:
        # rounding can make the discriminant negative where both roots are the same
        reach = math.sqrt(max(b * b - a * c, 0.0))
        low, high = (b - reach) / a, (b + reach) / a
    return _in_per_cent(max(low, lowest), high, level, "fieller", note)


def _unseen(base: float, system: float, count: int, level: float, bounds: Bounds) -> Interval:
    """Return how far the ratio can be, if a share of the queries differs unseen."""
    share = 1 - ((1 - level) / 2) ** (1 / count)
    lowest, highest = (share * bound for bound in bounds)  # either may be infinite
    below, above = (1 - share) * base + highest, (1 - share) * base + lowest
    seen = (1 - share) * system
    low = (seen + lowest) / below - 1 if lowest > -math.inf else -math.inf
    high = (seen + highest) / above - 1 if above > 0 else math.inf
    values = "one value" if count == 1 else f"the same ratio for all {count:,} values"
    note = f"{values}: up to {share:.2g} of the queries may differ unseen"
    return _in_per_cent(low, high, level, "unseen", note)


def _in_per_cent(low: float, high: float, level: float, method: str, note: str) -> Interval:
    return Interval(low=100 * low, high=100 * high, level=level, method=method, note=note)
