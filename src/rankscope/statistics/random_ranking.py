"""Random rankings: what measures are worth if documents come in any order.

There are N documents, R of them relevant, and all N! orders are equally likely. Of an order the
first k documents are looked at, or all. ``relevant`` holds R by query; every answer is by query.

The formulas are sums and products of ratios near 1, never differences of large logarithms of
factorials, so that they keep their digits where N is 10⁸.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import special

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray, IntArray

BLOCK = 1_000_000
"""How many ranks are summed at a time."""

NEGLIGIBLE = 1e-18
"""Once so little is left, no further rank can change a sum."""


class Moments(NamedTuple):
    """Mean and variance of a measure over all orders, by query."""

    mean: FloatArray
    variance: FloatArray


def _checked(relevant: npt.ArrayLike, documents: int) -> IntArray:
    counts = np.asarray(relevant, dtype=np.int64)
    if documents < 1 or (counts < 0).any() or (counts > documents).any():
        raise InputError("there must be at least as many documents as relevant ones")
    return counts


def _by_count(counts: IntArray, value: Callable[[int], tuple[float, ...]]) -> list[FloatArray]:
    """Compute once for each different count, and spread the answers over the queries."""
    different, place = np.unique(counts, return_inverse=True)
    answers = np.array([value(int(count)) for count in different], np.float64).reshape(
        len(different), -1
    )
    return [column[place] for column in answers.T]


def _log_none(count: int, documents: int, cutoff: int) -> float:
    """Return ln P(none of ``count`` documents is in the first k) = ln C(N−R, k)/C(N, k).

    The smaller of R and k says how many factors there are: the two may change places.
    """
    few, many = min(count, cutoff), max(count, cutoff)
    if few + many > documents:
        return -np.inf if few else 0.0
    return float(np.log1p(-many / (documents - np.arange(few, dtype=np.float64))).sum())


def success_moments(relevant: npt.ArrayLike, documents: int, cutoff: int | None = None) -> Moments:
    """Chance that any of the first k is relevant: 1 − C(N−R, k)/C(N, k); k/N for one document.

    >>> success_moments([1, 1], 200, 5).mean.tolist()
    [0.025, 0.025]
    """
    counts = _checked(relevant, documents)
    first = documents if cutoff is None else min(cutoff, documents)
    [chance] = _by_count(counts, lambda count: (-np.expm1(_log_none(count, documents, first)),))
    return Moments(chance, chance * (1 - chance))


def sum_moments(
    total: npt.ArrayLike, squares: npt.ArrayLike, weights: npt.ArrayLike, documents: int
) -> Moments:
    """Σ gain · weight of its rank, where the ranks of all N documents are random.

    ``total`` and ``squares`` are Σ gain and Σ gain² by query; ``weights`` those of the first ranks,
    all others weigh 0. The mean is Σ gain · Σ weight / N, the variance
    (Σ gain² − (Σ gain)²/N) · (Σ weight² − (Σ weight)²/N) / (N − 1).

    With gains of 1 and k weights of 1 it counts the relevant documents in the first k: the moments
    of the hypergeometric distribution.

    Reference: Hájek, Šidák and Sen, Theory of Rank Tests, 1999, on linear rank statistics.

    >>> sum_moments([2.0], [2.0], [1.0] * 5, 200).mean.tolist()
    [0.05]
    """
    gains, squared = np.asarray(total, np.float64), np.asarray(squares, np.float64)
    row = np.asarray(weights, np.float64)[:documents]
    first, second = float(row.sum()), float((row**2).sum())
    mean = gains * first / documents
    if documents == 1:
        return Moments(mean, np.zeros_like(mean))
    spread = np.maximum(squared - gains**2 / documents, 0.0)
    return Moments(mean, spread * max(second - first**2 / documents, 0.0) / (documents - 1))


def reciprocal_rank_moments(
    relevant: npt.ArrayLike, documents: int, cutoff: int | None = None
) -> Moments:
    """One over the rank of the first relevant document, 0 beyond k.

    The first one has rank i with chance C(N−i, R−1)/C(N, R). Without a cutoff the mean is
    R/(N−R+1) · (H(N) − H(R−1)), H(n) = 1 + 1/2 + … + 1/n; H(N)/N for one document.

    >>> float(reciprocal_rank_moments([1], 4).mean[0])  # (1 + 1/2 + 1/3 + 1/4) / 4
    0.5208333333333333
    """
    counts = _checked(relevant, documents)

    def of_count(count: int) -> tuple[float, float]:
        if not count:
            return 0.0, 0.0
        last = documents - count + 1
        is_whole = cutoff is None or cutoff >= last
        first = last if cutoff is None else min(cutoff, last)
        mean, second = _inverse_ranks(count, documents, min(first, BLOCK) if is_whole else first)
        if is_whole:
            mean = count / last * float(harmonic(documents) - harmonic(count - 1))
        return mean, max(second - mean**2, 0.0)

    return Moments(*_by_count(counts, of_count))


def _inverse_ranks(count: int, documents: int, first: int) -> tuple[float, float]:
    """Return E[1/i] and E[1/i²] over ranks i ≤ first of the first relevant document."""
    mean = second = log_left = 0.0
    for start in range(0, first, BLOCK):
        rank = np.arange(start + 1, min(start + BLOCK, first) + 1, dtype=np.float64)
        rest = documents - rank + 1  # documents from this rank on
        with np.errstate(divide="ignore"):  # all that are left are relevant: ln 0
            steps = np.log1p(-np.minimum(count / rest, 1.0))
        before = log_left + np.concatenate([[0.0], np.cumsum(steps[:-1])])
        chance = np.exp(before) * np.minimum(count / rest, 1.0)
        mean += float((chance / rank).sum())
        second += float((chance / rank**2).sum())
        log_left = float(before[-1] + steps[-1])
        if np.exp(log_left) < NEGLIGIBLE:
            break
    return mean, second


def harmonic(count: npt.ArrayLike) -> FloatArray:
    """Return H(n) = 1 + 1/2 + … + 1/n."""
    return np.asarray(special().digamma(np.asarray(count, np.float64) + 1) + np.euler_gamma)


def precision_sum_mean(
    relevant: npt.ArrayLike, documents: int, cutoff: int | None = None
) -> FloatArray:
    """Mean of Σ over relevant documents in the first k of (relevant so far) / rank: R · AP.

    Rank i is relevant with chance R/N, and then each rank above it with chance (R−1)/(N−1), so it
    is R/N · (H(k) + (R−1)/(N−1) · (k − H(k))).

    Reference: Bestgen, Exact expected average precision of the random baseline for system
    evaluation, PBML 2015.

    >>> float(precision_sum_mean([1], 4)[0])
    0.5208333333333333
    """
    counts = _checked(relevant, documents)
    first = documents if cutoff is None else min(cutoff, documents)
    sums = float(harmonic(first))
    others = (counts - 1) / max(documents - 1, 1)
    return np.asarray(counts / documents * (sums + others * (first - sums)))
