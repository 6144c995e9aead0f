"""Noise of the systems themselves: repeated runs, seeds, rebuilt indexes.

The spread of per-query differences says how far a difference moves with other queries. It cannot
say how far it moves when the *same* system is run again: a rebuilt HNSW index or another seed moves
all queries at once. Repeated runs ``values[r, n]`` (a row for each run, a column for each query)
show it, and the two errors add up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import High, Low, Part, Unbounded
from rankscope.statistics.arrays import (
    SMALLEST,
    as_rows,
    check_level,
    constant_rows,
    row_deviations,
    row_means,
    special,
)
from rankscope.statistics.intervals import mean_intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Bounds = tuple[float, float]

LEAST = 1e-100
"""No p-value found by bisection is smaller: further out quantiles of t are not to be trusted."""


class RunNoise(Part):
    """How much a system's mean moves from run to run on the same queries."""

    runs: int
    """How many runs there are."""
    queries: int
    """How many queries each has."""
    run_means: tuple[float, ...]
    """The mean of each run."""
    deviation: float
    """Standard deviation of the run means: what one sees when the same system is run again."""
    between: float
    """The part of its square that moves all queries of a run at once; at least 0."""


class NoisyDifference(Part):
    """A mean difference with the error that new queries and new runs leave it."""

    difference: float
    """The mean difference."""
    query_error: Unbounded
    """Standard error for new queries alone."""
    run_error: float
    """Standard error for new runs on the same queries."""
    standard_error: Unbounded
    """For both: the root of the sum of the two squares."""
    run_freedom: float
    """Degrees of freedom of the runs' error (Satterthwaite); 0 if there is no noise."""
    low: Low
    """Lower end of the interval."""
    high: High
    """Upper end."""
    level: float
    """Confidence of the interval."""
    p: float
    """Two-sided p-value of Student's t; with spread, at most 1 − level if and only if 0 is outside
    the interval."""
    note: str = ""
    """What could not be known."""


def run_noise(values: npt.ArrayLike) -> RunNoise:
    """Return the noise of repeated runs ``values[r, n]`` of one system, r ≥ 2.

    ``deviation`` is the standard deviation of the run means. Two-way random effects, x = mean +
    query + run + rest, split its square: the rest moves queries on their own; ``between`` =
    deviation² − MS_rest/n moves all of them together, and no number of queries averages it out.

    Edges: one run is an `InputError`; with one query, run and rest cannot be separated, and all of
    the variance counts as between runs. Identical runs give 0.

    Reference: Searle, Casella and McCulloch, Variance Components, 1992.

    >>> noise = run_noise([[0.2, 0.6, 0.4], [0.3, 0.7, 0.5], [0.2, 0.5, 0.5]])
    >>> round(noise.deviation, 3), round(noise.between, 4)
    (0.058, 0.0022)
    """
    rows = as_rows(values)
    runs, queries = rows.shape
    if runs < 2:
        raise InputError("at least two runs of the same system are needed to see its noise")
    means = row_means(rows)
    deviation = float(row_deviations(means[np.newaxis])[0])
    alone = 0.0  # what queries that move on their own leave in the square
    if queries > 1:
        rest = rows - means[:, np.newaxis] - (row_means(rows.T) - means.mean())
        alone = float((rest**2).sum()) / ((runs - 1) * (queries - 1) * queries)
    return RunNoise(
        runs=runs,
        queries=queries,
        run_means=tuple(means.tolist()),
        deviation=deviation,
        between=max(0.0, deviation**2 - alone),
    )


def noisy_difference(
    differences: npt.ArrayLike,
    noises: Sequence[tuple[RunNoise, float]],
    *,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> NoisyDifference:
    """Return a mean difference whose interval holds for new queries *and* new runs.

    Two errors: s/√n for new queries (s the standard deviation of the n differences), and
    √Σ weight·deviation² for new runs. Each noise has a weight: how often it is in the difference.
    One run of a noisy system against a fixed one has weight 1, one run each of two systems on the
    same noisy engine 2, a mean over r runs 1/r. Each error has its own t: n − 1 degrees of freedom
    for queries, Satterthwaite's for runs (runs − 1 for a single noise). The interval reaches as far
    as the root of the sum of both squared half-widths; p is where it would just reach 0.

    That is on the safe side: queries that move on their own are in both errors, and with two runs
    (t = 12.7) little is known of their noise. Where nothing differs, p ≤ 0.05 in 0.00 to 0.055 of
    cases, for 2 to 10 runs and noise from none to many times that of queries
    (`benches/dependence.py`); one standard error with Satterthwaite's degrees of freedom was wrong
    in up to 0.10.

    Edges: with no noise this is the paired t test. A single difference says nothing about other
    queries: the error is infinite. No spread at all: the interval of
    `rankscope.statistics.intervals.mean_intervals`, and the sign test's p.

    Reference: Satterthwaite, An approximate distribution of estimates of variance components,
    Biometrics Bulletin 1946; Graybill and Wang, Confidence intervals on nonnegative linear
    combinations of variances, JASA 1980 (adding squared half-widths).

    >>> noise = run_noise([[0.2, 0.6, 0.4, 0.3], [0.3, 0.7, 0.5, 0.4], [0.2, 0.5, 0.5, 0.2]])
    >>> changes = [0.10, 0.14, 0.08, 0.12]
    >>> round(noisy_difference(changes, []).low, 3)
    0.069
    >>> round(noisy_difference(changes, [(noise, 1)]).low, 3)
    -0.178
    """
    check_level(level)
    row = as_rows(differences, "differences")
    count, mean = row.shape[1], float(row_means(row)[0])
    still = bool(constant_rows(row)[0])
    query = 0.0 if still else float(row_deviations(row)[0]) / math.sqrt(count)
    shares = [weight * noise.deviation**2 for noise, weight in noises]
    run = math.sqrt(sum(shares))
    freedom = 0.0
    if run:
        known = zip(shares, noises, strict=True)
        freedom = run**4 / sum(share**2 / (noise.runs - 1) for share, (noise, _) in known)
    if count == 1 or not (query or run):
        [interval] = mean_intervals(row, method="t", level=level, bounds=bounds)
        query = math.inf if count == 1 else 0.0
        low, high, note = interval.low, interval.high, interval.note
        p = max(2.0 ** (1 - count), SMALLEST) if mean else 1.0
    else:
        reach = _reach((1 - level) / 2, query, count - 1, run, freedom)
        low, high, note = mean - reach, mean + reach, ""
        p = _tail(abs(mean), query, count - 1, run, freedom)
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return NoisyDifference(
        difference=mean,
        query_error=query,
        run_error=run,
        standard_error=math.hypot(query, run),
        run_freedom=freedom,
        low=low,
        high=high,
        level=level,
        p=p,
        note=note,
    )


def _reach(tail: float, query: float, free: float, run: float, run_free: float) -> float:
    """Return the half-width of the interval that leaves ``tail`` on each side."""
    quantile = special().stdtrit
    wide = -float(quantile(run_free, tail)) * run if run else 0.0
    return math.hypot(float(quantile(free, tail)) * query, wide)


def _tail(distance: float, query: float, free: float, run: float, run_free: float) -> float:
    """Return the two-sided p at which the half-width is ``distance``, by bisection of its log."""
    if distance == 0:
        return 1.0
    low, high = math.log(LEAST), math.log(0.5)
    for _ in range(80):
        middle = (low + high) / 2
        wider = _reach(math.exp(middle), query, free, run, run_free) > distance
        low, high = (middle, high) if wider else (low, middle)
    return min(1.0, 2 * math.exp(high))
