"""Confidence intervals of means: BCa and percentile bootstrap, Student t, Wilson.

All rows share one set of resamples: a resample is a row of counts (how often each query was drawn),
so the means of all rows under a batch of resamples are one matrix product.

Where a bootstrap would claim a certainty it cannot have, it does not answer: with fewer than
`FEWEST` queries Student's t answers instead (and with more than `MOST`, where it says the same at
once), and where all values are equal the interval comes from what could have gone unseen
(`mean_intervals`). The interval's ``method`` and ``note`` say so.
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
    check_level,
    check_name,
    check_resamples,
    constant_rows,
    random_source,
    row_batches,
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
"""With fewer values than this a bootstrap interval is too narrow; Student's t is used instead."""

MOST = 100_000
"""With more values than this Student's t answers in place of a bootstrap: the two agree to a
thousandth of their width, and resampling a million queries takes minutes."""

GATHERED = 3
"""Up to so many rows it is faster to look drawn values up than to count draws."""

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
    """The method that answered: bca, percentile, t, wilson, newcombe (of an AUC), order (of a
    percentile), or unseen (values that do not vary)."""
    note: str = ""
    """Why that is not the method asked for; '' if it is."""


def mean_intervals(
    values: npt.ArrayLike,
    *,
    method: Method = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    bounds: Bounds | Sequence[Bounds] | None = None,
) -> list[Interval]:
    """Return a confidence interval for the mean of each row of ``values[k, n]``.

    ``bca``: bootstrap quantiles, corrected for bias (z₀, the share of resampled means below the
    mean, half of the equal ones counted) and acceleration a = Σ(x−x̄)³ / (6 (Σ(x−x̄)²)^1.5).
    ``percentile``: the plain quantiles. ``t``: x̄ ± t·s/√n, cut at the bounds. ``wilson``: the
    score interval of a proportion, for values 0 and 1 only.

    ``bounds`` are the lowest and highest value possible (0 and 1 for nDCG), for all rows or for
    each. Edges:

    - no value: `InputError`.
    - one value: there is no interval (−∞, ∞).
    - all n values equal c: nothing varies, and yet a share p of the population may differ
      without having been seen: p = 1 − (α/2)^(1/n). It can pull the mean as far as the bounds:
      [c − p(c−lowest), c + p(highest−c)]. For 0/1 values this is the exact (Clopper-Pearson)
      interval. Without bounds nothing holds the mean: (−∞, ∞).
    - fewer than `FEWEST` values, or more than `MOST`: Student's t in place of a bootstrap.

    The order of the values does not matter, and the interval of −x is the mirror image of x's.

    Reference: Efron, Better bootstrap confidence intervals, JASA 1987; Wilson, JASA 1927.

    >>> [interval] = mean_intervals([0.2, 0.4, 0.9, 0.5], method="t", bounds=(0, 1))
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.032, 0.968)
    """
    check_name("interval method", method, METHODS)
    check_level(level)
    check_resamples(resamples)
    rows = as_rows(values)
    if method == "wilson":
        return _wilson(rows, level)
    row_bounds = bounds_of(bounds, len(rows))
    constant = constant_rows(rows)
    intervals: list[Interval | None] = [
        _unseen(float(row[0]), len(row), level, row_bound) if is_constant else None
        for row, is_constant, row_bound in zip(rows, constant, row_bounds, strict=True)
    ]
    varying = np.flatnonzero(~constant)
    if len(varying):
        count = rows.shape[1]
        if method == "t" or not FEWEST <= count <= MOST:
            few = f"fewer than {FEWEST}" if count < FEWEST else f"more than {MOST:,}"
            note = "" if method == "t" else f"{few} values: Student t"
            answers = _student(rows[varying], level, [row_bounds[row] for row in varying], note)
        else:
            answers = _bootstrap(rows[varying], method, level, resamples, seed)
        for row, interval in zip(varying, answers, strict=True):
            intervals[row] = interval
    return [interval for interval in intervals if interval is not None]


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
    note = "one value" if count == 1 else f"all {count:,} values are equal"
    if bounds is None and count > 1:
        note += ", and no bounds are known"
    elif bounds is not None and count > 1:
        share = 1 - ((1 - level) / 2) ** (1 / count)
        low = value - share * (value - bounds[0]) if value > bounds[0] else value
        high = value + share * (bounds[1] - value) if value < bounds[1] else value
        note += f": up to {share:.2g} of the queries may differ unseen"
    return Interval(low=low, high=high, level=level, method="unseen", note=note)


def _student(
    rows: FloatArray, level: float, bounds: Sequence[Bounds | None], note: str = ""
) -> list[Interval]:
    count = rows.shape[1]
    means = row_means(rows)
    reach = special().stdtrit(count - 1, (1 + level) / 2) * row_deviations(rows, means)
    reach = reach / math.sqrt(count)
    ends = np.array([(-math.inf, math.inf) if ends is None else ends for ends in bounds])
    lows, highs = np.maximum(means - reach, ends[:, 0]), np.minimum(means + reach, ends[:, 1])
    return [
        Interval(low=low, high=high, level=level, method="t", note=note)
        for low, high in zip(lows, highs, strict=True)
    ]


def _wilson(rows: FloatArray, level: float) -> list[Interval]:
    if not np.isin(rows, (0.0, 1.0)).all():
        raise InputError("Wilson's interval is for values 0 and 1 only; use bca or t")
    count = rows.shape[1]
    share = rows.mean(axis=1)
    square = float(special().ndtri((1 + level) / 2)) ** 2
    centre = (share + square / (2 * count)) / (1 + square / count)
    reach = np.sqrt(square * (share * (1 - share) / count + square / (4 * count * count)))
    reach = reach / (1 + square / count)
    lows = np.where(share == 0, 0.0, np.maximum(centre - reach, 0.0))
    highs = np.where(share == 1, 1.0, np.minimum(centre + reach, 1.0))
    return [
        Interval(low=low, high=high, level=level, method="wilson")
        for low, high in zip(lows, highs, strict=True)
    ]


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
    few = len(rows) <= GATHERED
    for size in sizes(resamples, count * 4 if few else max(count, len(rows) // 4)):
        drawn = random.integers(0, count, size=(size, count))
        if few:
            means = np.stack([row[drawn].sum(axis=1) for row in rows])
        else:
            # how often each query was drawn, as [size, n]: one count over all resamples, each with
            # numbers of its own for its queries
            drawn += np.arange(size)[:, np.newaxis] * count
            counts = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
            means = (counts.astype(np.float64) @ columns).T
        means /= count
        yield means


def _bootstrap(
    rows: FloatArray, method: Method, level: float, resamples: int, seed: int
) -> list[Interval]:
    """Return bootstrap intervals; each row is put in one form first: sorted, mean above 0."""
    mirrored = row_means(rows) < 0
    rows = np.sort(np.where(mirrored[:, np.newaxis], -rows, rows), axis=1)
    intervals = []
    for batch in row_batches(len(rows), resamples):
        part = rows[batch]
        means = resampled_means(part, resamples=resamples, seed=seed)
        means.sort(axis=1)
        if method == "bca":
            shares = _bca_shares(part, means, level)
        else:
            tail = (1 - level) / 2
            shares = np.tile([tail, 1 - tail], (len(part), 1))
        quantiles = _quantiles(means, shares).tolist()
        for (low, high), mirror in zip(quantiles, mirrored[batch], strict=True):
            ends = (-high, -low) if mirror else (low, high)
            intervals.append(Interval(low=ends[0], high=ends[1], level=level, method=method))
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
