"""Tests of paired differences, and p-values corrected for how many tests there are.

A test takes ``differences[k, n]`` (a row for each pair of systems and measure, a column for each
query) and is two-sided. A p-value is never 0: one found by resampling counts the data as one more
resample, (count + 1) / (B + 1), and one found by a formula is at least the smallest normal float.
No order of queries and no exchange of the two systems changes a p-value by a bit.

With 20 tests at 0.05 one is expected to be significant by chance. A correction is over a *family*,
the tests that are read together; which one it is must be said beside the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
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
from rankscope.statistics.choices import CORRECTIONS, TESTS, Correction, Test
from rankscope.statistics.intervals import resampled_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

ENUMERATED = 16
"""Up to so many nonzero differences all sign flips (2^16) are tried, not a sample of them."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """A two-sided p-value, the statistic behind it, and how it was found.

    The statistic is the mean difference (permutation, bootstrap) or t.
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
    return _with_spread(rows, "t", _student)


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


def sign_p(above: npt.ArrayLike, below: npt.ArrayLike) -> FloatArray:
    """Return the exact two-sided p-values of so many differences above 0 and so many below.

    For values 0 and 1 this is McNemar's exact test.

    >>> sign_p([6, 8], [0, 2]).round(6).tolist()
    [0.03125, 0.109375]
    """
    wins, losses = np.asarray(above, np.int64), np.asarray(below, np.int64)
    tail = special().bdtr(np.minimum(wins, losses).astype(np.float64), wins + losses, 0.5)
    return np.asarray(np.clip(2 * tail, SMALLEST, 1.0))


def corrected(p_values: npt.ArrayLike, method: Correction = "holm") -> FloatArray:
    """Return the p-values of one family, corrected; they keep their order and never exceed 1.

    With m tests and p-values p₁ ≤ p₂ ≤ …:

    - ``bonferroni``: m·p. Bounds the chance of any false alarm (family-wise).
    - ``holm``: the largest of (m−j+1)·pⱼ for j ≤ i. Bounds the same, and is never weaker.
    - ``bh`` (Benjamini-Hochberg): the smallest of m·pⱼ/j for j ≥ i. Bounds the expected share of
      false alarms among the alarms, not the chance of one.
    - ``none``: as they are.

    A family of no test gives no p-value.

    Reference: Holm, Scand. J. Statist. 1979; Benjamini and Hochberg, JRSS B 1995.

    >>> corrected([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    check_name("correction", method, CORRECTIONS)
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1 or not ((raw >= 0) & (raw <= 1)).all():
        raise InputError("p-values must be a list of numbers between 0 and 1")
    count = len(raw)
    if method == "none" or not count:
        return raw.copy()
    if method == "bonferroni":
        return np.minimum(raw * count, 1.0)
    order = np.argsort(raw, kind="stable")
    ranked = raw[order]
    if method == "holm":
        ranked = np.maximum.accumulate(ranked * (count - np.arange(count)))
    else:
        scaled = np.maximum(ranked * (count / np.arange(1, count + 1)), ranked)
        ranked = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.empty(count)
    result[order] = np.minimum(ranked, 1.0)
    return result
