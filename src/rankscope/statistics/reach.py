"""What these queries can show: the smallest p-value, and the smallest difference, within reach.

Most changes leave most queries as they were. Thousands of queries of which four differ cannot make
a sign flip test significant, whatever the four say; and what they could show of a true difference
depends on how many differ, not only on a standard deviation. These functions take the ties as they
are, and say so where no outcome could have been significant.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import (
    as_rows,
    check_alpha,
    check_name,
    check_resamples,
    noncentral_t,
    special,
)
from rankscope.statistics.choices import TESTS
from rankscope.statistics.detectable import detectable_difference

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.choices import Test

MOST_QUERIES = 10_000_000
"""No answer names more queries than this."""


def smallest_p(
    differing: int, *, test: Test = "permutation", resamples: int = 10_000, family: int = 1
) -> float:
    """Return the smallest two-sided p-value that any outcome on ``differing`` queries can have.

    Sign flips (``permutation``), signed ranks and signs: all differences point one way, and of 2^m
    flips two are as extreme: 2^(1−m). Sampled flips (more than 16 queries that differ) and the
    bootstrap also have 1/(B + 1). ``t`` has no floor from two queries on. ``family``: how many
    tests a Bonferroni or Holm correction is over.

    >>> smallest_p(5), smallest_p(6), smallest_p(6, family=10)
    (0.0625, 0.03125, 0.3125)
    """
    check_name("test", test, TESTS)
    check_resamples(resamples)
    if differing < 0 or family < 1:
        raise InputError("the number of queries must be 0 or more, and of tests 1 or more")
    if differing < 2:
        return 1.0
    floor = 0.0 if test in ("t", "bootstrap") else 2.0 ** (1 - differing)
    if test == "bootstrap" or (test == "permutation" and differing > 16):
        floor = max(floor, 1 / (resamples + 1))
    return min(1.0, floor * family)


def must_differ(
    *, alpha: float = 0.05, test: Test = "permutation", resamples: int = 10_000, family: int = 1
) -> int | None:
    """Return how few queries may differ for any outcome to be significant at all.

    None means that alpha cannot be reached over this family: the sampled flips are too few, and
    all flips (of up to 16 queries that differ) are too.

    >>> must_differ(), must_differ(family=1_000_000)
    (6, None)
    """
    check_alpha(alpha)
    for differing in range(2, 64):
        if smallest_p(differing, test=test, resamples=resamples, family=family) <= alpha:
            return differing
    return None


def queries_like_these(
    differences: npt.ArrayLike,
    difference: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """Return about how many queries like these show a true difference, ties kept as they are.

    None if fewer than two differ, if the difference is 0, or if more than ten million are needed.

    >>> queries_like_these([0.0] * 40 + [0.3, -0.2, 0.1, 0.25, -0.3, 0.2, 0.1, -0.15, 0.3, -0.1], 0.02)
    226
    """  # noqa: E501
    check_alpha(alpha)
    check_alpha(power, "power")
    row = as_rows(differences, "differences")[0]
    share, variance = _split(row)
    if not difference or not variance:
        return None
    ratio = _ratio(abs(difference), share, variance)
    least = must_differ(alpha=alpha) or 2
    high = max(2, math.ceil(least / share))
    low = high - 1
    while _power(ratio, high, alpha) < power:
        low, high = high, high * 2
        if low > MOST_QUERIES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = _power(ratio, middle, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def _split(row: FloatArray) -> tuple[float, float]:
    """Return the share that differs and the variance of those around their own mean."""
    moving = row[row != 0]
    variance = float(moving.var(ddof=1)) if len(moving) > 1 else 0.0
    return len(moving) / len(row), variance


def _ratio(difference: float, share: float, variance: float) -> float:
    """Return difference over standard deviation, if a share of the queries makes all of it."""
    return difference / math.sqrt(share * variance + difference**2 * (1 / share - 1))


def _power(ratio: float, count: int, alpha: float) -> float:
    """Return how often the paired t test shows a difference of ``ratio`` standard deviations."""
    critical = float(special().stdtrit(count - 1, 1 - alpha / 2))
    below, above = noncentral_t(count - 1, ratio * math.sqrt(count), [-critical, critical])
    return float(1 - above + below)


def detectable_rows(
    rows: FloatArray, *, alpha: float, power: float, largest: npt.ArrayLike
) -> FloatArray:
    """Return about the smallest true difference that queries like each of ``rows[k, n]`` show.

    It keeps the ties: a share u of the queries differs, as observed, by δ/u on average with the
    observed spread s_u around it, and the rest does not. The variance is then
    u·s_u² + δ²·(1/u − 1), which grows with δ; with e the ratio of difference and deviation that the
    paired t test at alpha shows with this power (by its noncentral t),
    δ = e·√(u·s_u²) / √(1 − e²·(1/u − 1)). Infinite where no δ does, or where δ/u would be more than
    ``largest``, the most a query can differ by.

    Reference: Cohen, Statistical Power Analysis, 1988 (noncentral t); Lachenbruch, Comparisons of
    two-part models with competitors, Stat. Med. 2001 (a share of zeros).
    """
    count = rows.shape[1]
    ratio = detectable_difference(n=count, sd=1.0, alpha=alpha, power=power) if count > 1 else 0.0
    split = [_split(row) for row in rows]
    share = np.array([part[0] for part in split])
    variance = np.array([part[1] for part in split])
    left = np.zeros(len(rows))
    np.divide(1.0, share, out=left, where=share > 0)
    left = 1 - ratio**2 * (left - 1)
    answers = np.full(len(rows), math.inf)
    within = (left > 0) & (variance > 0)
    np.divide(ratio * np.sqrt(share * variance), np.sqrt(np.abs(left)), out=answers, where=within)
    by_query = np.divide(answers, share, out=np.full(len(rows), math.inf), where=share > 0)
    return np.where(by_query > np.asarray(largest), math.inf, answers)
