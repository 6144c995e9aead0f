"""Relative changes: by how many per cent one mean is above another, with its interval.

The interval is Fieller's, for two means of the same queries: all ratios ρ for which a paired t test
does not reject "mean of system − ρ · base is 0". It takes the uncertainty of the base into account,
which dividing the interval of a difference by the base's mean does not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import as_rows, check_level, constant_rows, row_means, special
from rankscope.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt


def relative_change(
    base: npt.ArrayLike, system: npt.ArrayLike, *, level: float = 0.95
) -> tuple[float | None, Interval | None]:
    """Return (mean of system − mean of base) / mean of base over the same queries, and its interval.

    Edges: none where the base's mean is not above 0; no interval with a single query, where nothing
    varies, or where the base's mean itself could be 0: then no finite interval holds the ratio.

    Reference: Fieller, Some problems in interval estimation, JRSS B 1954.

    >>> change, interval = relative_change([0.4, 0.5, 0.6, 0.5], [0.5, 0.7, 0.7, 0.7])
    >>> round(change, 3), round(interval.low, 3), round(interval.high, 3)
    (0.3, 0.114, 0.53)
    """  # noqa: E501
    check_level(level)
    rows = np.concatenate([as_rows(base, "base"), as_rows(system, "system")])
    if len(rows) != 2:
        raise InputError("expected one row of values on each side")
    low_mean, high_mean = row_means(rows).tolist()
    if low_mean <= 0:
        return None, None
    change = (high_mean - low_mean) / low_mean
    count = rows.shape[1]
    if count < 2 or constant_rows(rows).all():
        return change, None
    (var_base, covariance), (_, var_system) = np.cov(rows).tolist()
    reach = float(special().stdtrit(count - 1, (1 + level) / 2)) ** 2 / count
    # (system − ρ·base)² ≤ reach·(var_system − 2ρ·covariance + ρ²·var_base): a quadratic in ρ
    square = low_mean**2 - reach * var_base
    middle = low_mean * high_mean - reach * covariance
    rest = high_mean**2 - reach * var_system
    inside = middle**2 - square * rest
    if square <= 0 or inside < 0:
        return change, None
    root = math.sqrt(inside)
    low, high = (middle - root) / square - 1, (middle + root) / square - 1
    return change, Interval(low=low, high=high, level=level, method="fieller")
