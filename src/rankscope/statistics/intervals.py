"""Confidence intervals of means: Student's t for few queries, BCa for many, Wilson for shares.

All rows share one set of resamples: a resample is a row of counts (how often each query was drawn),
so the means of all rows under a batch of resamples are one matrix product.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import High, Low, Part
from rankscope.statistics.arrays import (
    SAME,
    as_rows,
    blocks,
    check_level,
    check_name,
    check_resamples,
    constant_rows,
    random_source,
    row_deviations,
    row_means,
    sizes,
    special,
)
from rankscope.statistics.choices import METHODS, Method

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from rankscope.measures.language import Measure
    from rankscope.statistics.arrays import FloatArray

FEWEST = 10
"""From fewer values than this no bootstrap interval is made, and no group is reported on."""

BOOTSTRAPPED = 25
"""From so many values on BCa answers, below it Student's t: at 10 topics of official runs BCa holds
the mean in .895 to .910 of cases, t in .924 to .939."""

MOST = 100_000
"""With more values than this Student's t answers in place of a bootstrap: the two agree to a
thousandth of their width, and resampling a million queries takes minutes."""

SMALL = 1e-3
"""The part of a difference by which an interval that does not hold 0 stays away from it."""

Bounds = tuple[float, float]


class Interval(Part):
    """Where a mean lies with some confidence."""

    low: Low
    """The lower end; null where there is none."""
    high: High
    """The upper end; null where there is none."""
    level: float
    """The confidence, such as 0.95."""
    method: str
    """The method that answered: bca, percentile, t, wilson, score (of paired shares), newcombe (of
    an AUC), order (of a percentile), or unseen (values that do not vary)."""


def mean_intervals(
    values: npt.ArrayLike,
    *,
    method: Method = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    bounds: Bounds | Sequence[Bounds] | None = None,
) -> list[Interval]:
    """Return a confidence interval for the mean of each row of ``values[k, n]``.

    ``auto``: Wilson's score interval of a proportion where all values are 0 or 1 and these are the
    bounds; else Student's t for fewer than `BOOTSTRAPPED` values, and BCa from there on.
    ``t``: x̄ ± t·s/√n, cut at the bounds. ``bca``: bootstrap quantiles, corrected for bias (z₀, the
    share of resampled means below the mean, half of the equal ones counted) and acceleration
    a = Σ(x−x̄)³ / (6 (Σ(x−x̄)²)^1.5); t for fewer than `FEWEST` values. More than `MOST` values get
    t in any case.

    ``bounds`` are the lowest and highest value possible (0 and 1 for nDCG), for all rows or for
    each. Edges:

    - no value: `InputError`.
    - one value: there is no interval (−∞, ∞).
    - all n values equal c: nothing varies, and yet a share p of the population may differ
      without having been seen: p = 1 − (α/2)^(1/n). It can pull the mean as far as the bounds:
      [c − p(c−lowest), c + p(highest−c)]. Without bounds nothing holds the mean: (−∞, ∞).

    The order of the values does not matter, and the interval of −x is the mirror image of x's.

    Reference: Efron, Better bootstrap confidence intervals, JASA 1987; Wilson, JASA 1927.

    >>> [interval] = mean_intervals([0.2, 0.4, 0.9, 0.5], bounds=(0, 1))
    >>> round(interval.low, 3), round(interval.high, 3), interval.method
    (0.032, 0.968, 't')
    """
    check_name("interval method", method, METHODS)
    check_level(level)
    check_resamples(resamples)
    rows = as_rows(values)
    count = rows.shape[1]
    row_bounds = bounds_of(bounds, len(rows))
    shares = np.array([ends == (0.0, 1.0) for ends in row_bounds], dtype=bool)
    shares &= method == "auto" and count > 1
    shares &= np.isin(rows, (0.0, 1.0)).all(axis=1)
    constant = constant_rows(rows) & ~shares
    varying = np.flatnonzero(~constant & ~shares)
    intervals: dict[int, Interval] = {
        row: _unseen(float(rows[row, 0]), count, level, row_bounds[row])
        for row in np.flatnonzero(constant).tolist()
    }
    for row in np.flatnonzero(shares).tolist():
        intervals[row] = wilson(int(rows[row].sum()), count, level)
    if len(varying):
        fewest = BOOTSTRAPPED if method == "auto" else FEWEST
        if method == "t" or not fewest <= count <= MOST:
            answers = _student(rows[varying], level, [row_bounds[row] for row in varying])
        else:
            answers = _bca(rows[varying], level, resamples, seed)
        intervals.update(zip(varying.tolist(), answers, strict=True))
    return [intervals[row] for row in range(len(rows))]


def run_intervals(measures: Sequence[Measure], values: FloatArray) -> dict[str, Interval]:
    """Return the interval of each mean of a run by measure; ``values[m, n]`` has a row for each.

    A value is NaN where a measure leaves a query out. Measures that are no mean over queries have
    no interval, and neither has a mean of one query.
    """
    counted = ~np.isnan(values)
    rows = [
        row
        for row, measure in enumerate(measures)
        if measure.definition.aggregate == "mean" and counted[row].sum() > 1
    ]
    ranges = {row: measures[row].definition.range for row in rows}
    whole = [row for row in rows if counted[row].all()]  # these share their resamples
    intervals = {}
    if whole:
        answers = mean_intervals(values[whole], bounds=[ranges[row] for row in whole])
        intervals = dict(zip(whole, answers, strict=True))
    for row in rows:
        if row not in intervals:
            [intervals[row]] = mean_intervals(values[row, counted[row]], bounds=ranges[row])
    return {str(measures[row]): intervals[row] for row in sorted(intervals)}


def agreeing(interval: Interval, difference: float, p: float, alpha: float) -> Interval:
    """Return an interval that holds 0 if and only if the p-value is above alpha.

    For tests that have no interval of their own, such as a permutation of labels. Where the two
    contradict each other, the end next to 0 goes where the p-value puts it: the distance from the
    difference to 0 is z(p) standard errors by the test's own account, so the end is z(alpha) of
    these away.

    >>> interval = Interval(low=-0.01, high=0.2, level=0.95, method="t")
    >>> round(agreeing(interval, 0.1, 0.04, 0.05).low, 4)
    0.0046
    """
    low, high = interval.low, interval.high
    separated = p <= alpha and difference != 0
    if separated != (low <= 0 <= high):
        return interval
    size = abs(difference)
    errors = -float(special().ndtri(p / 2)) if 0 < p < 1 else 0.0
    reach = 2 * size if not errors else -float(special().ndtri(alpha / 2)) / errors * size
    # an end is never at 0 itself, not even where p is alpha
    reach = min(reach, (1 - SMALL) * size) if separated else max(min(reach, 2 * size), size)
    end = {"low": difference - reach} if difference > 0 else {"high": difference + reach}
    if difference == 0:
        end = {"low": min(low, 0.0), "high": max(high, 0.0)}
    return interval.model_copy(update=end)


def bounds_of(bounds: Bounds | Sequence[Bounds] | None, count: int) -> list[Bounds | None]:
    """Return the bounds of each row."""
    if bounds is None:
        return [None] * count
    ends = np.asarray(bounds, dtype=np.float64)
    if ends.shape not in ((2,), (count, 2)) or not (ends[..., 0] <= ends[..., 1]).all():
        raise InputError(f"bounds must be the lowest and the highest value, not {bounds}")
    return [(float(low), float(high)) for low, high in np.broadcast_to(ends, (count, 2))]


def _unseen(value: float, count: int, level: float, bounds: Bounds | None) -> Interval:
    """Return the interval of a mean of equal values, from what may not have been seen."""
    low, high = -math.inf, math.inf
    if bounds is not None and count > 1:
        share = 1 - ((1 - level) / 2) ** (1 / count)
        low = value - share * (value - bounds[0]) if value > bounds[0] else value
        high = value + share * (bounds[1] - value) if value < bounds[1] else value
    return Interval(low=low, high=high, level=level, method="unseen")


def _student(rows: FloatArray, level: float, bounds: Sequence[Bounds | None]) -> list[Interval]:
    count = rows.shape[1]
    means = row_means(rows)
    reach = special().stdtrit(count - 1, (1 + level) / 2) * row_deviations(rows, means)
    reach = reach / math.sqrt(count)
    ends = np.array([(-math.inf, math.inf) if ends is None else ends for ends in bounds])
    lows, highs = np.maximum(means - reach, ends[:, 0]), np.minimum(means + reach, ends[:, 1])
    return [
        Interval(low=low, high=high, level=level, method="t")
        for low, high in zip(lows, highs, strict=True)
    ]


def wilson(count: int, total: int, level: float) -> Interval:
    """Return Wilson's score interval of ``count`` of ``total``, which holds at the edges too."""
    share = count / total
    square = float(special().ndtri((1 + level) / 2)) ** 2
    centre = (share + square / (2 * total)) / (1 + square / total)
    reach = math.sqrt(square * (share * (1 - share) / total + square / (4 * total * total)))
    reach /= 1 + square / total
    low = max(centre - reach, 0.0) if count else 0.0
    high = min(centre + reach, 1.0) if count < total else 1.0
    return Interval(low=low, high=high, level=level, method="wilson")


def resampled_means(rows: FloatArray, *, resamples: int, seed: int) -> FloatArray:
    """Return the mean of each row under each resample, as ``[k, resamples]``.

    A resample draws n of n values with replacement; all rows share the draws.
    """
    means = np.empty((len(rows), resamples))
    done = 0
    for part in resampled_batches(rows, resamples=resamples, seed=seed):
        means[:, done : done + part.shape[1]] = part
        done += part.shape[1]
    return means


def resampled_batches(rows: FloatArray, *, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Yield `resampled_means` in batches of resamples, for what only counts them."""
    count = rows.shape[1]
    random = np.random.Generator(random_source(seed, 0))
    columns = np.ascontiguousarray(rows.T)  # [n, k], as the matrix product reads them
    for size in sizes(resamples, max(count, len(rows) // 4)):
        drawn = random.integers(0, count, size=(size, count))
        # how often each query was drawn, as [size, n]: one count over all resamples, each with
        # numbers of its own for its queries
        drawn += np.arange(size)[:, np.newaxis] * count
        counts = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        yield (counts.astype(np.float64) @ columns).T / count


def _bca(rows: FloatArray, level: float, resamples: int, seed: int) -> list[Interval]:
    """Return BCa intervals; each row is put in one form first: sorted, mean above 0."""
    mirrored = row_means(rows) < 0
    rows = np.sort(np.where(mirrored[:, np.newaxis], -rows, rows), axis=1)
    intervals = []
    for batch in blocks(len(rows), resamples, 4):
        part = rows[batch]
        means = resampled_means(part, resamples=resamples, seed=seed)
        means.sort(axis=1)
        quantiles = _quantiles(means, _bca_shares(part, means, level)).tolist()
        for (low, high), mirror in zip(quantiles, mirrored[batch], strict=True):
            ends = (-high, -low) if mirror else (low, high)
            intervals.append(Interval(low=ends[0], high=ends[1], level=level, method="bca"))
    return intervals


def _bca_shares(rows: FloatArray, means: FloatArray, level: float) -> FloatArray:
    """Return which quantiles of the sorted resampled means are the ends, as ``[k, 2]``."""
    resamples = means.shape[1]
    centres = rows.mean(axis=1, keepdims=True)
    reach = SAME * np.abs(rows).max(axis=1, keepdims=True)
    below = np.count_nonzero(means < centres - reach, axis=1)
    up_to = np.count_nonzero(means <= centres + reach, axis=1)
    share = np.clip((below + up_to) / (2 * resamples), 0.5 / resamples, 1 - 0.5 / resamples)
    functions = special()
    bias = functions.ndtri(share)[:, np.newaxis]
    away = rows - centres
    skew = (away**3).sum(axis=1) / (6 * (away**2).sum(axis=1) ** 1.5)
    tail = float(functions.ndtri((1 + level) / 2))
    moved = bias + np.array([-tail, tail])
    room = np.maximum(1 - skew[:, np.newaxis] * moved, 1e-9)
    return np.asarray(functions.ndtr(bias + moved / room), dtype=np.float64)


def _quantiles(ordered: FloatArray, shares: FloatArray) -> FloatArray:
    """Return quantiles of sorted rows, interpolated linearly; each row has its own shares."""
    place = shares * (ordered.shape[1] - 1)
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, ordered.shape[1] - 1)
    row = np.arange(len(ordered))[:, np.newaxis]
    low, high = ordered[row, lower], ordered[row, upper]
    return np.asarray(low + (high - low) * (place - lower))
