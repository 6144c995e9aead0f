"""Paired tests: is the mean difference between two systems on the same queries more than chance?

Each takes ``differences[k, n]`` (a row for each pair of systems and measure, a column for each
query) and is two-sided. A p-value is never 0: one found by resampling counts the data as one more
resample, (count + 1) / (B + 1), and one found by a formula is at least the smallest normal float.

No order of queries and no exchange of the two systems changes a p-value by a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rankscope.statistics.arrays import (
    SAME,
    SMALLEST,
    as_rows,
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
from rankscope.statistics.choices import TESTS, Test
from rankscope.statistics.intervals import resampled_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

ENUMERATED = 16
"""Up to so many nonzero differences all sign flips (2^16) are tried, not a sample of them."""

RANKED_EXACTLY = 50
"""Up to so many nonzero differences the distribution of Wilcoxon's statistic is computed."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """A two-sided p-value, the statistic behind it, and how it was found.

    The statistic is the mean difference (permutation, bootstrap), t, the smaller sum of signed
    ranks (Wilcoxon), or how many differences are above 0 (sign).
    """

    __test__ = False  # for pytest, which collects what is called Test…

    p: float
    statistic: float
    method: str


def paired_tests(
    differences: npt.ArrayLike,
    *,
    test: Test = "permutation",
    resamples: int = 10_000,
    seed: int = 0,
) -> list[TestResult]:
    """Test each row of ``differences[k, n]`` against "no difference in the mean".

    - ``permutation``: if the systems do not differ, each difference could as well have the other
      sign. p = share of sign flips whose |sum| is at least the observed one: all 2^m of them for
      m ≤ 16 nonzero differences, else a sample of ``resamples``.
    - ``bootstrap``: differences are shifted to mean 0 and resampled; p = how often |mean| is at
      least the observed one. Too small p-values with few queries: docs/explanation/error-rates.md.
    - ``t``: Student's paired t, mean / (s/√n) with n − 1 degrees of freedom.
    - ``wilcoxon``: signed ranks, zeros dropped, equal sizes share their mean rank; exact (also with
      ties) for m ≤ 50 nonzero differences, else normal with the correction for ties.
    - ``sign``: binomial test of how many are above 0, zeros dropped.

    Wilcoxon and sign ask about the middle of the differences, not their mean.

    Edges: all differences 0 (identical runs) give p = 1. All differences equal and not 0 leave t
    and the bootstrap without a spread to compare with; the sign test answers, p = 2^(1−n), which is
    1 for a single query.

    Reference: Fisher, The Design of Experiments, 1935; Smucker, Allan and Carterette, A comparison
    of statistical significance tests for information retrieval evaluation, CIKM 2007.

    >>> [result] = paired_tests([0.1, 0.2, 0.3])
    >>> result.p, result.method
    (0.25, 'permutation, exact')
    """
    check_name("test", test, TESTS)
    check_resamples(resamples)
    rows = as_rows(differences, "differences")
    if test == "permutation":
        return _permutation(rows, resamples, seed)
    if test == "bootstrap":
        return _with_spread(rows, "bootstrap", lambda part: _bootstrap(part, resamples, seed))
    if test == "t":
        return _with_spread(rows, "t", _student)
    return _wilcoxon(rows) if test == "wilcoxon" else _sign(rows)


def _permutation(rows: FloatArray, resamples: int, seed: int) -> list[TestResult]:
    """Flip signs; only the sizes matter, so they are sorted and the order of queries is gone."""
    means = row_means(rows)
    observed = np.abs(means) * rows.shape[1]
    lengths = np.sort(np.abs(rows), axis=1)
    tolerance = SAME * lengths.sum(axis=1)
    nonzero = np.count_nonzero(lengths, axis=1)
    sampled = np.flatnonzero(nonzero > ENUMERATED)
    counts = np.zeros(len(rows))
    for batch in row_batches(len(sampled), rows.shape[1]):
        part = sampled[batch]
        threshold = observed[part] - tolerance[part]
        counts[part] = _flips_as_large(lengths[part], threshold, resamples, seed)
    results = []
    for row, (mean, count) in enumerate(zip(means.tolist(), nonzero.tolist(), strict=True)):
        if count > ENUMERATED:
            p = (counts[row] + 1) / (resamples + 1)
            method = f"permutation, {resamples:,} resamples"
        else:
            sums = _all_flips(lengths[row, rows.shape[1] - count :])  # zeros are sorted first
            p = np.count_nonzero(np.abs(sums) >= observed[row] - tolerance[row]) / len(sums)
            method = "permutation, exact"
        results.append(TestResult(float(p), mean, method))
    return results


def _all_flips(lengths: FloatArray) -> FloatArray:
    """Return the sums under all flips; of each pair of opposite ones, one (the last sign is +)."""
    if not len(lengths):
        return np.zeros(1)
    sums = lengths[-1:]
    for length in lengths[:-1]:
        sums = np.concatenate([sums - length, sums + length])
    return sums


def _flips_as_large(
    lengths: FloatArray, threshold: FloatArray, resamples: int, seed: int
) -> npt.NDArray[np.int64]:
    """Count sampled flips whose |sum| reaches the threshold.

    A bit b is the sign 2b − 1, so Σ sign·length = 2·Σ b·length − Σ length.
    """
    columns = np.ascontiguousarray(lengths.T)  # [n, k], as the matrix product reads them
    totals = lengths.sum(axis=1)
    queries = lengths.shape[1]
    words = -(-queries // 64)  # random words of 64 bits for one flip of all queries
    source = random_source(seed, 1)
    counts = np.zeros(len(lengths), dtype=np.int64)
    for size in sizes(resamples, max(queries, len(lengths))):
        raw = source.random_raw(size * words).astype("<u8").view(np.uint8).reshape(size, -1)
        bits = np.unpackbits(raw, axis=1, count=queries)
        sums = bits.astype(np.float64) @ columns
        sums *= 2
        sums -= totals
        np.abs(sums, out=sums)
        counts += np.count_nonzero(sums >= threshold, axis=0)
    return counts


def _with_spread(
    rows: FloatArray, name: str, answer: Callable[[FloatArray], list[TestResult]]
) -> list[TestResult]:
    """Answer for rows that vary; for the others by the sign test (1 if all are 0)."""
    constant = constant_rows(rows)
    results: list[TestResult | None] = [None] * len(rows)
    varying = np.flatnonzero(~constant)
    if len(varying):
        for row, result in zip(varying, answer(rows[varying]), strict=True):
            results[row] = result
    for row in np.flatnonzero(constant):
        value, count = float(row_means(rows[[row]])[0]), rows.shape[1]
        p = max(2.0 ** (1 - count), SMALLEST) if value else 1.0
        method = f"{name}, no spread: sign" if value else name
        results[row] = TestResult(p, value, method)
    return [result for result in results if result is not None]


def _bootstrap(rows: FloatArray, resamples: int, seed: int) -> list[TestResult]:
    means = row_means(rows)
    upright = np.where(means[:, np.newaxis] < 0, -rows, rows)  # one form for both directions
    centred = np.sort(upright, axis=1) - np.abs(means)[:, np.newaxis]
    threshold = np.abs(means) - SAME * np.abs(rows).max(axis=1)
    counts = np.zeros(len(rows))
    for drawn in resampled_batches(centred, resamples=resamples, seed=seed):
        counts += np.count_nonzero(np.abs(drawn) >= threshold[:, np.newaxis], axis=1)
    p_values = (counts + 1) / (resamples + 1)
    method = f"bootstrap, {resamples:,} resamples"
    return [
        TestResult(p, mean, method)
        for p, mean in zip(p_values.tolist(), means.tolist(), strict=True)
    ]


def _student(rows: FloatArray) -> list[TestResult]:
    count = rows.shape[1]
    means = row_means(rows)
    ratio = means / (row_deviations(rows, means) / np.sqrt(count))
    p_values = np.maximum(2 * special().stdtr(count - 1, -np.abs(ratio)), SMALLEST)
    return [TestResult(p, t, "t") for p, t in zip(p_values.tolist(), ratio.tolist(), strict=True)]


def _sign(rows: FloatArray) -> list[TestResult]:
    above = np.count_nonzero(rows > 0, axis=1)
    below = np.count_nonzero(rows < 0, axis=1)
    tail = special().bdtr(np.minimum(above, below).astype(np.float64), above + below, 0.5)
    p_values = np.clip(2 * tail, SMALLEST, 1.0)
    return [
        TestResult(float(p), float(wins), "sign") for p, wins in zip(p_values, above, strict=True)
    ]


def _mean_ranks(lengths: FloatArray) -> FloatArray:
    """Rank each row from 1, smallest first; equal numbers share the mean of their ranks.

    In sorted order, a run of equal numbers reaches from ``first`` to ``last``, found by carrying
    its ends along the row from the left and from the right.
    """
    order = np.argsort(lengths, axis=1, kind="stable")
    ordered = np.take_along_axis(lengths, order, axis=1)
    rows, count = lengths.shape
    place = np.broadcast_to(np.arange(count), (rows, count))
    new = np.ones((rows, count + 1), dtype=bool)
    new[:, 1:count] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new[:, :-1], place, 0), axis=1)
    last = np.where(new[:, 1:], place, count)[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    ranks = np.empty((rows, count))
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


def _wilcoxon(rows: FloatArray) -> list[TestResult]:
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), SMALLEST)
    lengths = np.round(np.abs(rows) / largest, 12)  # equal but for rounding is equal
    zeros = np.count_nonzero(lengths == 0, axis=1)
    ranks = _mean_ranks(lengths) - zeros[:, np.newaxis]  # zeros rank first and are dropped
    nonzero = rows.shape[1] - zeros
    ranks = np.where(lengths > 0, ranks, 0.0)
    above = np.where(rows > 0, ranks, 0.0).sum(axis=1)
    below = np.where(rows < 0, ranks, 0.0).sum(axis=1)
    smaller = np.minimum(above, below)
    normal = _wilcoxon_normal(ranks, smaller, nonzero).tolist()
    results = []
    for row, (statistic, count) in enumerate(zip(smaller.tolist(), nonzero.tolist(), strict=True)):
        if not count:
            results.append(TestResult(1.0, 0.0, "wilcoxon, exact"))
        elif count <= RANKED_EXACTLY:
            doubled = np.sort(np.rint(2 * ranks[row][lengths[row] > 0]).astype(np.int64))
            tail = _ranked_tail(tuple(doubled.tolist()))[round(2 * statistic)]
            results.append(TestResult(float(min(1.0, 2 * tail)), statistic, "wilcoxon, exact"))
        else:
            results.append(TestResult(normal[row], statistic, "wilcoxon, normal"))
    return results


@lru_cache(maxsize=4096)
def _ranked_tail(doubled: tuple[int, ...]) -> FloatArray:
    """Return P(sum of the ranks with sign + is at most s/2) for s = 0, 1, …, ranks given twofold.

    Ranks join one by one: half of the cases add the new one, half do not.
    """
    cases = np.zeros(sum(doubled) + 1)
    cases[0] = 1.0
    top = 0
    for rank in doubled:
        cases[rank : top + rank + 1] += cases[: top + 1].copy()
        top += rank
    return np.asarray(np.cumsum(cases) / 2.0 ** len(doubled))


def _wilcoxon_normal(
    ranks: FloatArray, statistics: FloatArray, counts: npt.NDArray[np.int64]
) -> FloatArray:
    """Return the p-values of the normal approximation; Σ rank² already holds the ties.

    Rows without a difference have no rank and no answer; that of 1 is as good as any.
    """
    spread = np.sqrt((ranks**2).sum(axis=1) / 4)
    away = statistics - counts * (counts + 1) / 4
    ratio = np.zeros(len(ranks))
    np.divide(np.abs(away), spread, out=ratio, where=spread > 0)
    return np.asarray(np.maximum(2 * special().ndtr(-ratio), SMALLEST))
