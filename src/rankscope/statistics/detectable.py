"""What n queries can show: how often a difference is seen, the smallest one, how many are needed.

There are two answers to each question. The *formula* is the paired t test's exact power, for
differences that vary normally. The *simulation* draws queries from the differences at hand, moved
to the true difference in question (queries that do not differ stay as they are), and counts how
often the test sees it: no assumption on their shape, but it needs scores.

A system that differs by δ on average, with standard deviation σ of the difference from query to
query, is seen with n queries in the share P(|T'| > t) of cases: T' noncentral t with n − 1 degrees
of freedom and noncentrality δ√n/σ, t the critical value at α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import (
    as_rows,
    check_alpha,
    check_name,
    constant_rows,
    noncentral_t,
    random_source,
    row_means,
    sizes,
    special,
)
from rankscope.statistics.choices import TESTS
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.choices import Test

POWER = 0.8
"""With this power comparisons name the smallest detectable difference."""

MOST_QUERIES = 10_000_000
"""No answer names more queries than this."""


def _check(*, sd: float, alpha: float, power: float | None = None) -> None:
    check_alpha(alpha)
    if not (math.isfinite(sd) and sd >= 0):
        raise InputError(f"sd must be a finite number from 0 up, not {sd}")
    if power is not None:
        check_alpha(power, "power")
        if power <= alpha:
            raise InputError(f"power must be above alpha ({alpha}), not {power}")


def power_for(difference: float, *, n: int, sd: float, alpha: float = 0.05) -> float:
    """Return how often n queries show a true difference, by the paired t formula.

    Edges: with one query, or with sd = 0 (a spread nobody has seen), 0.

    >>> round(power_for(0.05, n=50, sd=0.2), 3)
    0.41
    """
    _check(sd=sd, alpha=alpha)
    if n < 2 or sd == 0:
        return 0.0
    critical = float(special().stdtrit(n - 1, 1 - alpha / 2))
    shift = abs(difference) * math.sqrt(n) / sd
    above, below = noncentral_t(n - 1, shift, [critical, -critical])
    return float(min(max(1 - above + below, 0.0), 1.0))


def detectable_difference(*, n: int, sd: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest true difference that n queries show with the given power.

    Edges: with one query, or with sd = 0 (a spread nobody has seen), infinite.

    >>> round(detectable_difference(n=50, sd=0.2), 4)
    0.0808
    """
    _check(sd=sd, alpha=alpha, power=power)
    if n < 2 or sd == 0:
        return math.inf
    return _detectable_effect(n, alpha, power) * sd


@lru_cache(maxsize=4096)
def _detectable_effect(n: int, alpha: float, power: float) -> float:
    """Return the smallest difference that is shown, in standard deviations.

    Kept, as a comparison asks for it with the same n and α for each of its pairs.
    """
    low, high = 0.0, 1.0
    while power_for(high, n=n, sd=1.0, alpha=alpha) < power:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        enough = power_for(middle, n=n, sd=1.0, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def queries_needed(difference: float, *, sd: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return how many queries show a true difference with the given power.

    Edges: a difference of 0 or a spread of 0 is an `InputError`: no number, or any, would do.

    >>> queries_needed(0.05, sd=0.2)
    128
    """
    _check(sd=sd, alpha=alpha, power=power)
    if not difference or not math.isfinite(difference):
        raise InputError(f"the difference to be seen must not be 0 or infinite, not {difference}")
    if sd == 0:
        raise InputError("sd is 0: a spread is needed to say how many queries are enough")
    low, high = 1, 2
    while power_for(difference, n=high, sd=sd, alpha=alpha) < power:
        low, high = high, high * 2
        if low > MOST_QUERIES:
            raise InputError(f"more than {MOST_QUERIES:,} queries would be needed")
    while high - low > 1:
        middle = (low + high) // 2
        enough = power_for(difference, n=middle, sd=sd, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class _Moments:
    """Samples of n differences: how their mean and spread move with a true difference.

    A query that does not differ (a tie) stays one. With u the share that differs, a true difference
    of δ adds δ/u to those, and nothing to the others.
    """

    n: int
    share: float
    mean: FloatArray
    """Of the differences, those that are not 0 centred."""
    moving: FloatArray
    """Share that differs."""
    variance: FloatArray
    covariance: FloatArray
    moving_variance: FloatArray

    @classmethod
    def drawn(cls, row: FloatArray, n: int, repetitions: int, seed: int) -> _Moments:
        """Draw n of the centred differences with replacement, repeatedly."""
        random = np.random.Generator(random_source(seed, 3))
        mask = (row != 0).astype(np.float64)
        parts = []
        for size in sizes(repetitions, 2 * n):
            places = random.integers(0, len(row), size=(size, n))
            values, moving = row[places], mask[places]
            mean, share = values.mean(axis=1), moving.mean(axis=1)
            away, apart = values - mean[:, np.newaxis], moving - share[:, np.newaxis]
            squares = [
                (a * b).sum(axis=1) for a, b in ((away, away), (away, apart), (apart, apart))
            ]
            parts.append([mean, share, *(square / (n - 1) for square in squares)])
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return cls(n, float(mask.mean()), *columns)

    def seen(self, difference: float, critical: float) -> float:
        """Return the share of samples in which a true difference is significant."""
        shift = difference / self.share
        spread = self.variance + 2 * shift * self.covariance + shift**2 * self.moving_variance
        errors = np.sqrt(np.maximum(spread, 0.0) / self.n)
        return float(np.mean(np.abs(self.mean + shift * self.moving) > critical * errors))


def _centred(differences: npt.ArrayLike) -> FloatArray:
    """Return the differences in order, those that are not 0 moved to mean 0; all 0 if none vary."""
    rows = as_rows(differences, "differences")
    row = np.sort(rows[0])
    moving = row[row != 0]
    if len(moving) < 2 or constant_rows(moving[np.newaxis])[0]:
        return np.zeros(len(row))  # what is left is rounding
    centred = moving - row_means(moving[np.newaxis])[0]
    centred[centred == 0] = np.finfo(np.float64).tiny  # it differs all the same
    row[row != 0] = centred
    return np.asarray(row)


def simulated_power(
    differences: npt.ArrayLike,
    difference: float,
    *,
    n: int | None = None,
    alpha: float = 0.05,
    test: Test = "t",
    repetitions: int = 2_000,
    seed: int = 0,
) -> float:
    """Return how often a test on n queries shows a true difference, by simulation.

    The n (as many as there are, if not given) are drawn with replacement from the per-query
    ``differences``, of which those that are not 0 are moved such that the mean of all is
    ``difference``; ties stay ties. ``test`` is any of `rankscope.statistics.paired.TESTS`;
    resampling tests use 999 resamples.

    >>> simulated_power([0.1, -0.1, 0.3, -0.2] * 10, 0.5)
    1.0
    """
    check_alpha(alpha)
    check_name("test", test, TESTS)
    centred = _centred(differences)
    n = len(centred) if n is None else n
    if n < 2 or not centred.any():
        return 0.0
    if test == "t":
        critical = float(special().stdtrit(n - 1, 1 - alpha / 2))
        return _Moments.drawn(centred, n, repetitions, seed).seen(difference, critical)
    moved = np.where(centred != 0, centred + difference / np.mean(centred != 0), 0.0)
    random = np.random.Generator(random_source(seed, 3))
    seen = 0
    for size in sizes(repetitions, n):
        drawn = moved[random.integers(0, len(moved), size=(size, n))]
        results = paired_tests(drawn, test=test, resamples=999, seed=seed)
        seen += sum(result.p <= alpha for result in results)
    return seen / repetitions


def simulated_detectable_difference(
    differences: npt.ArrayLike,
    *,
    n: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    largest: float = math.inf,
    repetitions: int = 2_000,
    seed: int = 0,
) -> float:
    """Return the smallest true difference n queries show with the given power, by simulation.

    As in `simulated_power` with Student's t, in both directions; the larger of the two differences
    is returned. Infinite if none is shown with which no query would differ by more than
    ``largest``. Edges: as in `detectable_difference`.
    """
    _check(sd=0.0, alpha=alpha, power=power)
    centred = _centred(differences)
    n = len(centred) if n is None else n
    if n < 2 or not centred.any():
        return math.inf
    moments = _Moments.drawn(centred, n, repetitions, seed)
    critical = float(special().stdtrit(n - 1, 1 - alpha / 2))
    limit = min(largest, 1e6 * float(np.abs(centred).max())) * moments.share
    smallest = []
    for sign in (-1.0, 1.0):
        low, high = 0.0, limit
        if moments.seen(sign * high, critical) < power:
            return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            enough = moments.seen(sign * middle, critical) >= power
            low, high = (low, middle) if enough else (middle, high)
        smallest.append(high)
    return max(smallest)


def simulated_queries_needed(
    differences: npt.ArrayLike,
    difference: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    repetitions: int = 2_000,
    seed: int = 0,
    most: int = 20_000,
) -> int | None:
    """Return how many queries like these show a true difference, by simulation with Student's t.

    To half a percent. None if more than ``most`` are needed, or if the differences do not vary.
    """
    _check(sd=0.0, alpha=alpha, power=power)
    centred = _centred(differences)
    if not centred.any() or not difference:
        return None

    def enough(n: int) -> bool:
        return (
            simulated_power(
                centred, difference, n=n, alpha=alpha, repetitions=repetitions, seed=seed
            )
            >= power
        )

    guess = queries_needed(difference, sd=float(centred.std(ddof=1)), alpha=alpha, power=power)
    low, high = 1, max(2, min(guess, most))
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(most, math.ceil(high * 1.25) + 1)
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
