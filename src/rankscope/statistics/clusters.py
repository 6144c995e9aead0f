"""Queries that belong together, and queries that weigh more: what chance draws, and its error.

Paraphrases of one question, turns of one session or questions from one document are not
independent: ten paraphrases are nearly one query asked ten times. The unit of chance is then the
cluster. Traffic weighs queries: the mean over what users ask is Σ w·x / Σ w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError, counted, shown
from rankscope.statistics.arrays import SAME, row_means, special
from rankscope.statistics.intervals import Interval, mean_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankscope.statistics.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """How the queries were drawn: which belong together, and what each weighs; one or the other."""

    clusters: tuple[str, ...] | None = None
    """The cluster of each query; None: each is drawn by itself."""
    weights: FloatArray | None = None
    """What each query weighs; None: all the same."""

    @classmethod
    def of(
        cls,
        query_ids: Sequence[str],
        clusters: Mapping[str, object] | None,
        weights: Mapping[str, float] | None,
    ) -> Sample | None:
        """Return how these queries were drawn; None if all are alike.

        A query without a cluster is one by itself; one without a weight is an `InputError`.
        """
        if clusters is None and weights is None:
            return None
        labels, given = None, None
        if clusters is not None:
            named = [clusters.get(query_id) for query_id in query_ids]
            if all(label is None for label in named):
                raise InputError("clusters: no label is known for any of the compared queries")
            labels = tuple(
                f"alone: {query_id}" if label is None else f"cluster: {label}"
                for query_id, label in zip(query_ids, named, strict=True)
            )
            if len(query_ids) > 1 and len(set(labels)) == 1:
                raise InputError(
                    "clusters: all compared queries are in one cluster, which says nothing about "
                    "others; name a field with several values"
                )
        if weights is not None:
            missing = [query_id for query_id in query_ids if weights.get(query_id) is None]
            if missing:
                raise InputError(
                    f"weights: {counted(len(missing), 'compared query')} without a weight, the "
                    f"first is {shown(missing[0])}; give each a number from 0 up"
                )
            given = np.array([_weight(query_id, weights[query_id]) for query_id in query_ids])
            if not given.any():
                raise InputError("weights: all compared queries weigh 0")
        return cls(labels, given)

    def only(self, columns: Sequence[int]) -> Sample:
        """Return the part of some queries."""
        clusters, weights = self.clusters, self.weights
        return Sample(
            None if clusters is None else tuple(clusters[column] for column in columns),
            None if weights is None else weights[list(columns)],
        )

    def units(self, rows: FloatArray) -> FloatArray:
        """Return ``rows[k, n]`` as what is drawn, ``[k, clusters]``, with the same means.

        z_g = G · Σ_{q in g} w_q·x_q / Σ w, for G clusters in the order of their labels. Values are
        added in sorted order, so that the order of queries does not change a bit.

        >>> Sample(("a", "a", "b", "c")).units(np.array([[1.0, 0.0, 1.0, 0.5]])).tolist()
        [[0.75, 0.75, 0.375]]
        """
        numbers, count = self._numbers(rows.shape[1])
        weights = np.ones(rows.shape[1]) if self.weights is None else self.weights
        sums = np.empty((len(rows), count))
        for row, out in zip(rows * weights, sums, strict=True):
            order = np.lexsort((row, numbers))
            out[:] = np.bincount(numbers[order], weights=row[order], minlength=count)
        return np.asarray(sums * (count / math.fsum(weights)))

    def shares(self, queries: int) -> FloatArray:
        """Return the part of all weight that each cluster has."""
        numbers, count = self._numbers(queries)
        weights = np.ones(queries) if self.weights is None else self.weights
        return np.bincount(numbers, weights=weights, minlength=count) / math.fsum(weights)

    def _numbers(self, queries: int) -> tuple[IntArray, int]:
        """Return the number of each query's cluster, and how many there are."""
        if self.clusters is None:
            return np.arange(queries), queries
        names, numbers = np.unique(self.clusters, return_inverse=True)
        return numbers.astype(np.int64, copy=False), len(names)

    def intervals(
        self, rows: FloatArray, *, level: float, bounds: Sequence[tuple[float, float]]
    ) -> list[Interval]:
        """Return the interval of each row's weighted mean, for new clusters."""
        shares, units = self.shares(rows.shape[1]), self.units(rows)
        means = row_means(units)
        errors, freedom = unit_errors(units, means, shares)
        answers = []
        for mean, error, ends in zip(means.tolist(), errors.tolist(), bounds, strict=True):
            if error == 0:  # as many equal values as there are effective clusters
                effective = math.floor((1 + SAME) / float((shares**2).sum()))
                [unseen] = mean_intervals([mean] * effective, method="t", level=level, bounds=ends)
                answers.append(unseen)
            else:
                answers.append(
                    t_interval(mean, error, freedom, level=level, bounds=ends, method="cluster t")
                )
        return answers

    def note(self, queries: int) -> str:
        """Say what clusters and weights leave of the queries, where that is little or guessed."""
        notes = []
        alone = sum(label.startswith("alone: ") for label in self.clusters or ())
        if alone:
            notes.append(f"{counted(alone, 'query')} without a cluster, each taken by itself")
        effective = 1 / float((self.shares(queries) ** 2).sum())
        if self.weights is not None and effective < min(10, 0.9 * queries):
            notes.append(
                f"by their weights the queries are worth about {effective:.2g} of equal weight"
            )
        return "; ".join(notes)


def unit_errors(
    units: FloatArray, means: FloatArray, shares: FloatArray
) -> tuple[FloatArray, float]:
    """Return the standard error of the mean of each row, and its degrees of freedom.

    With h_g the share of the weight in unit g and z_g its value, whose plain mean is the weighted
    mean μ, the variance of μ is estimated by Σ (z_g/G − h_g·μ)² / (1 − 2h_g + Σh²): without bias if
    units vary alike. The degrees of freedom are one less than there are effective units, 1/Σh², and
    at least one. With equal shares this is Student's s/√n with n − 1. One unit (or one that has all
    the weight) says nothing about others: the error is infinite.

    Reference: Cameron and Miller, A practitioner's guide to cluster-robust inference, J. Human
    Resources 2015; Kish, Survey Sampling, 1965 (effective number).
    """
    squared = float((shares**2).sum())
    freedom = max(1 / squared - 1, 1.0)
    if squared > 1 - SAME:
        return np.full(len(units), math.inf), freedom
    away = units / len(shares) - shares * means[:, np.newaxis]
    rounding = SAME * np.abs(units).max(axis=1, keepdims=True) / len(shares)
    away[np.abs(away) <= rounding] = 0.0
    return np.sqrt((away**2 / (1 - 2 * shares + squared)).sum(axis=1)), freedom


def t_interval(
    mean: float,
    error: float,
    freedom: float,
    *,
    level: float,
    bounds: tuple[float, float],
    method: str,
) -> Interval:
    """Return mean ± t·error, cut at the bounds; all between them where the error is infinite."""
    reach = math.inf
    if math.isfinite(error):
        reach = float(special().stdtrit(freedom, (1 + level) / 2)) * error
    low, high = max(mean - reach, bounds[0]), min(mean + reach, bounds[1])
    return Interval(low=low, high=high, level=level, method=method)


def _weight(query_id: str, weight: object) -> float:
    try:
        number = float(str(weight))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(
            f"weights: query {shown(query_id)} has {shown(str(weight))}, not a number from 0 up"
        )
    return number
