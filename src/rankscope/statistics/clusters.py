"""Queries that belong together, and queries that weigh more: means, intervals and tests for both.

Paraphrases of one question, turns of one session or queries of one user are not independent: ten
paraphrases are nearly one query asked ten times. The unit of chance is then the cluster. Traffic
weighs queries: the mean over what users ask is Σ w·x / Σ w. ``values[k, n]`` holds a row for each
thing that is averaged (scores of a system, or differences of two) and a column for each query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError
from rankscope.part import High, Low, Part, Unbounded
from rankscope.statistics.arrays import (
    SAME,
    SMALLEST,
    as_rows,
    check_level,
    check_name,
    special,
)
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.statistics.arrays import FloatArray

IntArray = npt.NDArray[np.int64]
ClusterTest = Literal["permutation", "t"]
Bounds = tuple[float, float]


class ClusterMean(Part):
    """A mean over queries in clusters, weighted or not, with the error that clusters leave it."""

    mean: float
    """Σ w·x / Σ w."""
    standard_error: Unbounded
    """For new clusters; infinite with a single one."""
    freedom: float
    """Degrees of freedom of the standard error; ``effective`` − 1, at least 1."""
    low: Low
    """Lower end of the interval."""
    high: High
    """Upper end."""
    level: float
    """Confidence of the interval."""
    queries: int
    """How many queries there are."""
    clusters: int
    """How many clusters they are in."""
    effective: float
    """How many clusters of equal weight are worth as much: (Σ w)² / Σ (weight of a cluster)²."""
    design_effect: float | None
    """The squared error over that of as many independent, equal queries; None without spread."""
    note: str = ""
    """Why another interval answers, if one does."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """How the queries were drawn: which belong together, and what each weighs; one or the other."""

    clusters: tuple[str, ...] | None = None
    """The cluster of each query; None: each is drawn by itself."""
    weights: FloatArray | None = None
    """What each query weighs; None: all the same."""

    def effective(self, queries: int) -> float:
        """Return how many clusters of equal weight are worth as much: (Σ w)² / Σ w_g²."""
        ones = np.ones((1, queries))
        share = cluster_sums(ones, self.clusters, self.weights)[0]
        return float(share.sum() ** 2 / (share**2).sum())

    def only(self, columns: Sequence[int]) -> Sample:
        """Return the part of some queries."""
        clusters, weights = self.clusters, self.weights
        return Sample(
            None if clusters is None else tuple(clusters[column] for column in columns),
            None if weights is None else weights[list(columns)],
        )

    def units(self, rows: FloatArray) -> FloatArray:
        """Return ``rows[k, n]`` as what is drawn: a number for each cluster, with the same mean."""
        return cluster_sums(rows, self.clusters, self.weights)

    def intervals(
        self, rows: FloatArray, *, level: float, bounds: Sequence[Bounds]
    ) -> list[Interval]:
        """Return the interval of each row's weighted mean, for new clusters."""
        means = [
            cluster_means(
                row, clusters=self.clusters, weights=self.weights, level=level, bounds=ends
            )[0]
            for row, ends in zip(rows, bounds, strict=True)
        ]
        return [
            Interval(low=mean.low, high=mean.high, level=level, method="cluster t", note=mean.note)
            for mean in means
        ]


def cluster_sums(
    values: npt.ArrayLike,
    clusters: Sequence[object] | None = None,
    weights: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return ``[k, clusters]``: one number for each cluster, whose plain mean is the weighted mean.

    z_g = G · Σ_{q in g} w_q·x_q / Σ w, for G clusters in the order of their labels. Flipping the
    sign of z_g flips all differences of the cluster, so tests that flip signs
    (`rankscope.statistics.max_t.max_t`, the permutation test) take these in place of queries.

    >>> cluster_sums([1.0, 0.0, 1.0, 0.5], ["a", "a", "b", "c"]).tolist()
    [[0.75, 0.75, 0.375]]
    """
    rows = as_rows(values)
    numbers, sizes = _numbered(clusters, rows.shape[1])
    given = _weights(weights, rows.shape[1])
    return _summed(rows * given, numbers, len(sizes)) * (len(sizes) / math.fsum(given))


def cluster_means(
    values: npt.ArrayLike,
    *,
    clusters: Sequence[object] | None = None,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> list[ClusterMean]:
    """Return the mean of each row with a cluster-robust standard error and interval.

    With h_g the share of the weight in cluster g and x̄_g its own mean, the mean is μ = Σ h_g·x̄_g,
    and its variance is estimated by Σ h_g²·(x̄_g − μ)² / v_g, v_g = 1 − 2h_g + Σh²: without bias if
    cluster means vary alike. The interval is μ ± t·se, cut at ``bounds``; t has one degree of
    freedom less than there are effective clusters, 1/Σh², and at least one. With clusters of equal
    weight this is Student's t over cluster means; with single queries and no weights, over queries.

    Edges: one cluster (or one that has all the weight) says nothing about others: the error is
    infinite. If no cluster mean differs, the interval is that of as many equal values as there are
    effective clusters (`rankscope.statistics.intervals.mean_intervals`).

    Reference: Cameron and Miller, A practitioner's guide to cluster-robust inference, J. Human
    Resources 2015; Kish, Survey Sampling, 1965 (effective number).

    >>> [mean] = cluster_means([0.2, 0.2, 0.4, 0.9], clusters=["a", "a", "b", "c"])
    >>> round(mean.mean, 3), mean.clusters, round(mean.effective, 2), round(mean.freedom, 2)
    (0.425, 3, 2.67, 1.67)
    """
    check_level(level)
    rows = as_rows(values)
    count = rows.shape[1]
    numbers, sizes = _numbered(clusters, count)
    given = _weights(weights, count)
    total = math.fsum(given)
    heavy = np.bincount(numbers, weights=given, minlength=len(sizes)) > 0
    shares = np.bincount(numbers, weights=given, minlength=len(sizes))[heavy] / total
    results = []
    for row in rows:
        mean = math.fsum(row * given) / total
        away = _summed(((row - mean) * given)[np.newaxis], numbers, len(sizes))[0, heavy] / total
        away[np.abs(away) <= SAME * np.abs(row).max()] = 0.0
        plain = math.fsum(given * (row - mean) ** 2) / total / max(count - 1, 1)
        answer = _answer(mean, away, shares, plain=plain, queries=count, level=level, bounds=bounds)
        results.append(answer)
    return results


def _answer(
    mean: float,
    away: FloatArray,
    shares: FloatArray,
    *,
    plain: float,
    queries: int,
    level: float,
    bounds: Bounds | None,
) -> ClusterMean:
    """Make the answer for one row from the weighted distances of its clusters from the mean."""
    effective = 1 / float((shares**2).sum())
    low, high, error, freedom = -math.inf, math.inf, math.inf, 0.0
    note = "one cluster: nothing is known about others"
    if len(shares) > 1:
        spread = 1 - 2 * shares + 1 / effective
        error, freedom, note = math.sqrt((away**2 / spread).sum()), max(effective - 1, 1.0), ""
        reach = float(special().stdtrit(freedom, (1 + level) / 2)) * error
        low, high = mean - reach, mean + reach
    if error == 0:
        [unseen] = mean_intervals(
            [mean] * math.floor(effective * (1 + SAME)), level=level, bounds=bounds
        )
        low, high, note = unseen.low, unseen.high, unseen.note
    elif bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return ClusterMean(
        mean=mean,
        standard_error=error,
        freedom=freedom,
        low=low,
        high=high,
        level=level,
        queries=queries,
        clusters=len(shares),
        effective=effective,
        design_effect=error**2 / plain if plain and math.isfinite(error) else None,
        note=note,
    )


def cluster_tests(
    differences: npt.ArrayLike,
    *,
    clusters: Sequence[object] | None = None,
    weights: npt.ArrayLike | None = None,
    test: ClusterTest = "permutation",
    resamples: int = 10_000,
    seed: int = 0,
) -> list[float]:
    """Return the two-sided p-value of each row of ``differences[k, n]``: is the mean 0?

    - ``permutation``: all differences of a cluster change their sign together; p = share of flips
      whose |Σ w·d| reaches the observed one, all of them for up to 16 clusters that differ.
    - ``t``: mean / se of `cluster_means`, with its degrees of freedom; agrees with its interval.

    Edges: all differences 0 give p = 1; so does one cluster. Without spread t leaves the answer to
    the sign test over clusters, as `rankscope.statistics.paired.paired_tests` does.

    Reference: as in `cluster_means`; Fisher, The Design of Experiments, 1935.

    >>> cluster_tests([0.1, 0.2, 0.3, 0.1], clusters=["a", "a", "b", "c"])
    [0.25]
    """
    check_name("cluster test", test, get_args(ClusterTest))
    sums = cluster_sums(differences, clusters, weights)
    if test == "permutation":
        return [result.p for result in paired_tests(sums, resamples=resamples, seed=seed)]
    p_values = []
    means = cluster_means(differences, clusters=clusters, weights=weights)
    for row, mean in zip(sums, means, strict=True):
        if not math.isfinite(mean.standard_error) or not row.any():
            p_values.append(1.0)
        elif not mean.standard_error:
            p_values.append(max(2.0 ** (1 - np.count_nonzero(row)), SMALLEST))
        else:
            ratio = -abs(mean.mean) / mean.standard_error
            p_values.append(max(2 * float(special().stdtr(mean.freedom, ratio)), SMALLEST))
    return p_values


def _numbered(clusters: Sequence[object] | None, count: int) -> tuple[IntArray, IntArray]:
    """Return the number of each query's cluster and the clusters' sizes; alone if none are given.

    Clusters are numbered in the order of their labels as text, whatever the order of queries.
    """
    if clusters is None:
        return np.arange(count), np.ones(count, dtype=np.int64)
    if len(clusters) != count:
        raise InputError(f"expected a cluster for each of {count:,} queries, got {len(clusters):,}")
    labels = [str(label) for label in clusters]
    _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return np.asarray(numbers, dtype=np.int64), np.asarray(sizes, dtype=np.int64)


def _weights(weights: npt.ArrayLike | None, count: int) -> FloatArray:
    """Return the weight of each query; 1 if none are given."""
    if weights is None:
        return np.ones(count)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (count,):
        raise InputError(f"expected a weight for each of {count:,} queries, got {given.size:,}")
    if not (np.isfinite(given).all() and (given >= 0).all() and given.any()):
        raise InputError("weights must be finite numbers from 0 up, and not all 0")
    return given


def _summed(rows: FloatArray, numbers: IntArray, count: int) -> FloatArray:
    """Return the sum of each row over the queries of each cluster, ``[k, clusters]``.

    Values are added in sorted order, so that the order of queries does not change a bit.
    """
    sums = np.empty((len(rows), count))
    for row, out in zip(rows, sums, strict=True):
        order = np.lexsort((row, numbers))
        out[:] = np.bincount(numbers[order], weights=row[order], minlength=count)
    return sums
