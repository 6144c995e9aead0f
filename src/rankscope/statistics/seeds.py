"""Several runs of one system (seeds, folds, repetitions): its mean and what it varies with.

A mean over many queries of one lucky seed is still one seed. The split says how much of the
variance comes from queries, how much from seeds, and how large the error of the mean is when both
are taken as samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.statistics.arrays import as_rows, check_level, row_deviations, row_means, special
from rankscope.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

__all__ = ["SeedSplit", "split_variance"]


@dataclass(frozen=True, slots=True)
class SeedSplit:
    """The mean over runs and queries, and the variance split into its sources.

    ``seed_variance`` and ``residual_variance`` are None with a single run, ``query_variance`` then
    holds both; see ``note``.
    """

    mean: float
    run_means: tuple[float, ...]
    queries: int
    query_variance: float
    seed_variance: float | None
    residual_variance: float | None
    standard_error: float
    """Of the mean, for new queries and new seeds."""
    freedom: float
    """Degrees of freedom of the standard error (Satterthwaite)."""
    interval: Interval
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; what is unknown is None."""
        return {
            "mean": self.mean,
            "run_means": list(self.run_means),
            "runs": len(self.run_means),
            "queries": self.queries,
            "variance": {
                "query": self.query_variance,
                "seed": self.seed_variance,
                "residual": self.residual_variance,
            },
            "standard_error": self.standard_error if math.isfinite(self.standard_error) else None,
            "freedom": self.freedom,
            "interval": self.interval.to_dict(),
            "note": self.note,
        }


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
    >>> round(split.mean, 2), round(split.query_variance, 3), round(split.seed_variance, 3)
    (0.45, 0.04, 0.005)
    """
    check_level(level)
    rows = as_rows(values)
    runs, queries = rows.shape
    means = row_means(rows)
    mean = float(row_means(rows.reshape(1, -1))[0])
    if queries == 1:
        everywhere = Interval(-math.inf, math.inf, level, "t", "one query")
        seed = float(row_deviations(rows.T)[0] ** 2) if runs > 1 else None
        return SeedSplit(
            *(mean, tuple(means.tolist()), 1, 0.0, seed, None, math.inf, 0.0, everywhere),
            note="one query: nothing is known about others",
        )
    if runs == 1:
        spread = float(row_deviations(rows)[0])
        error, freedom = spread / math.sqrt(queries), float(queries - 1)
        note = "one run: how much seeds matter cannot be known"
        ends = _interval(mean, error, freedom, level, note)
        return SeedSplit(
            *(mean, (mean,), queries, spread**2, None, None, error, freedom, ends), note=note
        )
    query, seed_part, rest, squares = _components(rows, mean)
    variance = query / queries + seed_part / runs + rest / (runs * queries)
    freedom = _satterthwaite(squares, runs, queries)
    error = math.sqrt(variance)
    return SeedSplit(
        mean=mean,
        run_means=tuple(means.tolist()),
        queries=queries,
        query_variance=query,
        seed_variance=seed_part,
        residual_variance=rest,
        standard_error=error,
        freedom=freedom,
        interval=_interval(mean, error, freedom, level),
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
    each = (queries - 1, runs - 1, (queries - 1) * (runs - 1))
    below = sum(part**2 / freedom for part, freedom in zip(squares, each, strict=True))
    if not below:
        return float(queries - 1)
    return min(max((query + seed - rest) ** 2 / below, 1.0), float(runs * queries - 1))


def _interval(mean: float, error: float, freedom: float, level: float, note: str = "") -> Interval:
    reach = float(special().stdtrit(freedom, (1 + level) / 2)) * error
    return Interval(mean - reach, mean + reach, level, "t", note)
