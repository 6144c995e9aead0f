"""Equivalence: are two systems shown to be practically the same?

"No significant difference" is not "no difference": few queries show nothing either way. Equivalence
turns the burden of proof around: two systems count as equivalent when the data rule out a
difference as large as a margin that somebody who knows the use named beforehand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import (
    as_rows,
    check_alpha,
    constant_rows,
    row_deviations,
    row_means,
    special,
)
from rankscope.statistics.intervals import Bounds, Interval, bounds_of, mean_intervals
from rankscope.statistics.noise import noisy_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.noise import RunNoise


class Equivalence(Part):
    """Whether a difference as large as a margin is ruled out."""

    margin: float
    """The margin."""
    equivalent: bool
    """Whether it is ruled out."""
    p: float
    """The larger of two one-sided p-values."""
    interval: Interval
    """Of level 1 − 2α; it must be within the margin."""
    method: str
    """What answered."""


def check_margin(margin: float) -> None:
    """Refuse a margin that is not a finite number above 0."""
    if not (math.isfinite(margin) and margin > 0):
        raise InputError(f"margin must be a finite number above 0, such as 0.01, not {margin}")


def equivalence_tests(
    differences: npt.ArrayLike,
    *,
    margin: float,
    alpha: float = 0.05,
    bounds: Bounds | Sequence[Bounds] | None = None,
) -> list[Equivalence]:
    """Test each row of ``differences[k, n]``: is the mean difference within ±margin?

    Two one-sided t tests: p = max(P(T ≥ (x̄+m)/se), P(T ≤ (x̄−m)/se)), equivalent if p ≤ α. That is
    the same as the 1 − 2α Student interval lying within the margin.

    Edges: without spread (identical runs, one query) t has no answer; the interval for unseen
    queries decides (`rankscope.statistics.intervals.mean_intervals` with these ``bounds``), and p
    is the α at which it would just fit: identical runs on n queries are equivalent within 3/n or
    so of the measure's range at α = 0.05.

    Reference: Schuirmann, J. Pharmacokinet. Biopharm. 1987.

    >>> [result] = equivalence_tests([0.01, -0.02, 0.0, 0.01], margin=0.05)
    >>> result.equivalent, round(result.p, 4)
    (True, 0.0029)
    """
    check_alpha(alpha)
    check_margin(margin)
    if alpha >= 0.5:
        raise InputError(f"alpha must be below 0.5 for two one-sided tests, not {alpha}")
    rows = as_rows(differences, "differences")
    intervals = mean_intervals(rows, method="t", level=1 - 2 * alpha, bounds=bounds)
    constant = constant_rows(rows)
    p_values = np.empty(len(rows))
    row_bounds = bounds_of(bounds, len(rows))
    for row in np.flatnonzero(constant):
        p_values[row] = _unseen_p(float(rows[row, 0]), rows.shape[1], margin, row_bounds[row])
    if not constant.all():
        p_values[~constant] = _two_one_sided(rows[~constant], margin)
    return [
        Equivalence(
            margin=margin,
            equivalent=p <= alpha,
            p=p,
            interval=interval,
            method="two one-sided t tests" if interval.method == "t" else interval.method,
        )
        for p, interval in zip(p_values.tolist(), intervals, strict=True)
    ]


def noisy_equivalence(
    result: Equivalence,
    differences: FloatArray,
    noises: Sequence[tuple[RunNoise, float]],
    *,
    alpha: float = 0.05,
    bounds: Bounds | None = None,
) -> Equivalence:
    """Return a result that holds for new runs as well as for new queries.

    Both one-sided tests count the noise of the systems, as `noisy_difference` does: p is at most
    alpha if and only if the interval of level 1 − 2α that counts it is within the margin.
    """
    wider = noisy_difference(differences, noises, level=1 - 2 * alpha, bounds=bounds)
    shifts = (result.margin + differences, result.margin - differences)
    p = max(result.p, *(_above_zero(shift, noises) for shift in shifts))
    interval = Interval(
        low=min(wider.low, result.interval.low),
        high=max(wider.high, result.interval.high),
        level=result.interval.level,
        method="t, with noise",
        note=wider.note,
    )
    return result.model_copy(update={"p": p, "equivalent": p <= alpha, "interval": interval})


def _above_zero(values: FloatArray, noises: Sequence[tuple[RunNoise, float]]) -> float:
    """Return the one-sided p-value of a mean above 0."""
    test = noisy_difference(values, noises)
    return test.p / 2 if test.difference > 0 else 1 - test.p / 2


def _two_one_sided(rows: FloatArray, margin: float) -> FloatArray:
    count = rows.shape[1]
    error = row_deviations(rows) / math.sqrt(count)
    means = row_means(rows)
    above = special().stdtr(count - 1, (means - margin) / error)
    below = special().stdtr(count - 1, -(means + margin) / error)
    return np.asarray(np.maximum(above, below))


def _unseen_p(value: float, count: int, margin: float, bounds: Bounds | None) -> float:
    """Return the α at which the interval of equal differences just fits within the margin."""
    if abs(value) >= margin or bounds is None:
        return 1.0
    shares = [
        (margin - abs(value)) / reach
        for reach in (value - bounds[0], bounds[1] - value)
        if reach > 0
    ]
    return float(max(0.0, 1 - min(shares, default=1.0)) ** count)
