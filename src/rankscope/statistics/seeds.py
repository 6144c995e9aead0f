"""Several runs of one system (seeds, folds, repetitions): its mean and what it varies with.

A mean over many queries of one lucky seed is still one seed. The split says how much of the
variance comes from queries, how much from seeds, and how large the error of the mean is when both
are taken as samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part, Unbounded
from rankscope.statistics.arrays import as_rows, check_level, row_deviations, row_means, special
from rankscope.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray


class Variance(Part):
    """Where the variance of values comes from."""

    query: float
    """From query to query; with a single run, from run to run as well."""
    seed: float | None
    """From run to run; null with a single run."""
    residual: float | None
    """What neither explains; null with a single run or a single query."""


class SeedSplit(Part):
    """The mean over the runs of one system, and its variance split into its sources."""

    mean: float
    """Over runs and queries."""
    run_means: tuple[float, ...]
    """Of each run."""
    runs: int
    """How many runs there are."""
    queries: int
    """How many queries there are."""
    variance: Variance
    """By source."""
    standard_error: Unbounded
    """Of the mean, for new queries and new seeds; null if infinite (a single query)."""
    freedom: float
    """Degrees of freedom of the standard error (Satterthwaite)."""
    interval: Interval
    """Of the mean, for new queries and new seeds."""
    note: str = ""
    """What cannot be known; '' if all can."""


def split_variance(values: npt.ArrayLike, *, level: float = 0.95) -> SeedSplit:
    """Split the variance of ``values[r, n]``: r runs of one system on the same n queries.

    Two-way random effects without repetition, from the mean squares of queries, runs and rest:
    σ²_query = (MS_q − MS_e)/r, σ²_seed = (MS_r − MS_e)/n (both at least 0), σ²_residual = MS_e. The
    mean's squared standard error is σ²_query/n + σ²_seed/r + σ²_residual/(rn); its interval uses
    Student's t with Satterthwaite's degrees of freedom.

    Edges: with one run the seed's part cannot be known: the error is s/√n, for new queries only,
    and the note says so. One query, likewise, says nothing about other queries: the error is
    infinite.

    Reference: Searle, Casella and McCulloch, Variance Components, 1992; Bodoff and Li, Test theory
    for assessing IR test collections, SIGIR 2007.

    >>> split = split_variance([[0.2, 0.6, 0.4], [0.3, 0.7, 0.5]])
    >>> round(split.mean, 2), round(split.variance.query, 3), round(split.variance.seed, 3)
    (0.45, 0.04, 0.005)
    """
    check_level(level)
    rows = as_rows(values)
    runs, queries = rows.shape
    mean = float(row_means(rows.reshape(1, -1))[0])
    note = interval_note = ""
    if queries == 1:
        seed = float(row_deviations(rows.T)[0] ** 2) if runs > 1 else None
        variance = Variance(query=0.0, seed=seed, residual=None)
        error, freedom = math.inf, 0.0
        note, interval_note = "one query: nothing is known about others", "one query"
    elif runs == 1:
        spread = float(row_deviations(rows)[0])
        variance = Variance(query=spread**2, seed=None, residual=None)
        error, freedom = spread / math.sqrt(queries), float(queries - 1)
        note = interval_note = "one run: how much seeds matter cannot be known"
    else:
        query, seed, rest, squares = _components(rows, mean)
        variance = Variance(query=query, seed=seed, residual=rest)
        error = math.sqrt(query / queries + seed / runs + rest / (runs * queries))
        freedom = _satterthwaite(squares, runs, queries)
    reach = math.inf
    if math.isfinite(error):
        reach = float(special().stdtrit(freedom, (1 + level) / 2)) * error
    return SeedSplit(
        mean=mean,
        run_means=tuple(row_means(rows).tolist()),
        runs=runs,
        queries=queries,
        variance=variance,
        standard_error=error,
        freedom=freedom,
        interval=Interval(
            low=mean - reach, high=mean + reach, level=level, method="t", note=interval_note
        ),
        note=note,
    )


def _components(
    rows: FloatArray, mean: float
) -> tuple[float, float, float, tuple[float, float, float]]:
    runs, queries = rows.shape
    by_run, by_query = row_means(rows) - mean, row_means(rows.T) - mean
    left = rows - mean - by_run[:, np.newaxis] - by_query
    square_q = runs * float((by_query**2).sum()) / (queries - 1)
    square_r = queries * float((by_run**2).sum()) / (runs - 1)
    square_e = float((left**2).sum()) / ((runs - 1) * (queries - 1))
    query = max(0.0, (square_q - square_e) / runs)
    seed = max(0.0, (square_r - square_e) / queries)
    return query, seed, square_e, (square_q, square_r, square_e)


def _satterthwaite(squares: tuple[float, float, float], runs: int, queries: int) -> float:
    """Return the degrees of freedom of MS_q + MS_r − MS_e, at least 1 and at most rn − 1."""
    query, seed, rest = squares
    freedoms = (queries - 1, runs - 1, (queries - 1) * (runs - 1))
    below = sum(square**2 / freedom for square, freedom in zip(squares, freedoms, strict=True))
    if not below:
        return float(queries - 1)
    return min(max((query + seed - rest) ** 2 / below, 1.0), float(runs * queries - 1))
