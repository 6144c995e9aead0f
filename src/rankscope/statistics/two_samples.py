"""Two samples that are not paired: do the queries of one group score higher than all others?

Paired tests compare systems on the same queries; this compares different queries under one system.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.statistics.arrays import special

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Welch:
    """The difference of two means, and how sure it is."""

    difference: float
    """Mean of the first minus mean of the second."""
    low: float
    high: float
    p: float


def welch(first: FloatArray, second: FloatArray, *, level: float = 0.95) -> Welch | None:
    """Compare the means of two independent samples, whose variances may differ.

    t = (m₁ − m₂) / √(s₁²/n₁ + s₂²/n₂), with the degrees of freedom of Welch and Satterthwaite. None
    where a sample has fewer than two values, or neither varies: then nothing is known about chance.

    Reference: Welch, The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 1947.

    >>> result = welch(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0, 8.0]))
    >>> round(result.difference, 4), round(result.p, 4)
    (-3.0, 0.1055)
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = np.array([sample.var(ddof=1) / len(sample) for sample in (first, second)])
    error = float(parts.sum())
    if not error > 0:
        return None
    freedom = error**2 / float(parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1))
    difference = float(first.mean() - second.mean())
    t = difference / math.sqrt(error)
    p = float(2 * special().stdtr(freedom, -abs(t)))
    reach = float(special().stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(error)
    return Welch(difference, difference - reach, difference + reach, min(p, 1.0))
