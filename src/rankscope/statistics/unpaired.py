"""Two groups of queries under one system: how far their means are apart.

Queries are not paired here: they are different ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.statistics.arrays import as_rows, constant_rows, special
from rankscope.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.intervals import Bounds


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
