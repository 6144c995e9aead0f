"""Tests of paired differences, and p-values corrected for how many tests there are.

A test takes ``differences[k, n]`` (a row for each pair of systems and measure, a column for each
query) and is two-sided. A p-value is never 0: one found by resampling counts the data as one more
resample, (count + 1) / (B + 1), and one found by a formula is at least the smallest normal float.
No order of queries and no exchange of the two systems changes a p-value by a bit.

With 20 tests at 0.05 one is expected to be significant by chance. A correction is over a *family*,
the tests that are read together; which one it is must be said beside the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import (
    SAME,
    SMALLEST,
    as_rows,
    blocks,
    check_name,
    check_resamples,
    constant_rows,
    random_source,
    row_deviations,
    row_means,
    sizes,
    special,
)
from rankscope.statistics.choices import CORRECTIONS, TESTS, Correction, Test
from rankscope.statistics.intervals import resampled_batches

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

ENUMERATED = 16
"""Up to so many nonzero differences all sign flips (2^16) are tried, not a sample of them."""


def paired_tests(
    differences: npt.ArrayLike,
    *,
    test: Test = "permutation",
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Test each row of ``differences[k, n]`` against "no difference"; return p-values, statistics.

    - ``permutation``: if the systems do not differ, each difference could as well have the other
      sign. p = share of sign flips whose |sum| is at least the observed one: all 2^m of them for
      m ≤ 16 nonzero differences, else a sample of ``resamples``.
    - ``bootstrap``: differences are shifted to mean 0 and resampled; p = how often |mean| is at
      least the observed one. Too small p-values with few queries: docs/explanation/error-rates.md.
    - ``t``: Student's paired t, mean / (s/√n) with n − 1 degrees of freedom.

    The statistic is t, or the mean difference. Edges: all differences 0 (identical runs) give
    p = 1. All differences equal and not 0 leave t (which is infinite) and the bootstrap without a
    spread to compare with; the sign test answers, p = 2^(1−n), which is 1 for a single query.

    Reference: Fisher, The Design of Experiments, 1935; Smucker, Allan and Carterette, A comparison
    of statistical significance tests for information retrieval evaluation, CIKM 2007.

    >>> p, mean = paired_tests([0.1, 0.2, 0.3])
    >>> p.tolist(), mean.round(3).tolist()
    ([0.25], [0.2])
    """
    check_name("test", test, TESTS)
    check_resamples(resamples)
    rows = as_rows(differences, "differences")
    count, means = rows.shape[1], row_means(rows)
    if test == "permutation":
        return _permutation(rows, means, resamples, seed), means
    p = np.where(means == 0, 1.0, max(2.0 ** (1 - count), SMALLEST))  # by signs
    varying = np.flatnonzero(~constant_rows(rows))
    if test == "bootstrap":
        p[varying] = _bootstrap(rows[varying], means[varying], resamples, seed)
        return p, means
    ratio = np.where(means == 0, 0.0, np.copysign(np.inf, means))
    if len(varying):
        error = row_deviations(rows[varying], means[varying]) / np.sqrt(count)
        ratio[varying] = means[varying] / error
        p[varying] = 2 * special().stdtr(count - 1, -np.abs(ratio[varying]))
    return np.maximum(p, SMALLEST), ratio


def _permutation(rows: FloatArray, means: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Flip signs. Only the sizes matter, so they are sorted and the order of queries is gone."""
    lengths = np.sort(np.abs(rows), axis=1)
    threshold = np.abs(means) * rows.shape[1] - SAME * lengths.sum(axis=1)
    nonzero = np.count_nonzero(lengths, axis=1)
    p = np.empty(len(rows))
    sampled = np.flatnonzero(nonzero > ENUMERATED)
    for batch in blocks(len(sampled), rows.shape[1], 4):
        part = sampled[batch]
        counts = _flips_as_large(lengths[part], threshold[part], resamples, seed)
        p[part] = (counts + 1) / (resamples + 1)
    for row in np.flatnonzero(nonzero <= ENUMERATED).tolist():
        sums = _all_flips(lengths[row, rows.shape[1] - nonzero[row] :])  # zeros are sorted first
        p[row] = np.count_nonzero(np.abs(sums) >= threshold[row]) / len(sums)
    return p


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


def _bootstrap(rows: FloatArray, means: FloatArray, resamples: int, seed: int) -> FloatArray:
    upright = np.where(means[:, np.newaxis] < 0, -rows, rows)  # one form for both directions
    centred = np.sort(upright, axis=1) - np.abs(means)[:, np.newaxis]
    threshold = np.abs(means) - SAME * np.abs(rows).max(axis=1)
    counts = np.zeros(len(rows))
    for drawn in resampled_batches(centred, resamples=resamples, seed=seed):
        counts += np.count_nonzero(np.abs(drawn) >= threshold[:, np.newaxis], axis=1)
    return np.asarray((counts + 1) / (resamples + 1))


def skew_p(
    rows: FloatArray, ratio: FloatArray, freedom: FloatArray, *, together: int = 1
) -> FloatArray:
    """Return the least p-values that t may have where differences are skewed against their mean.

    If most differences favour a system a little and the few that would speak against it are large,
    a sample without these few has a high mean and a small deviation: t then shows too much. Hall's
    transformation of t takes the sample's skewness g (adjusted Fisher-Pearson) into account:
    T = t − bt² + b²t³/3 − b/2 with b = |g| / 3√n. Where g has the sign of the mean, t errs to
    the safe side, and nothing is changed.

    The more tests are read ``together``, the further out in its tail is t read, and the likelier a
    sample missed all large differences and does not look skewed. So the skewness against the mean
    is raised by a sixth of √(2 ln m)·√(6/n), the skewness that chance gives the most skewed of m
    symmetric samples. The sixth was found by simulation (docs/explanation/error-rates.md). One test
    is left as it is, and no p-value gets lower.

    ``ratio`` is t without its sign, with these degrees of ``freedom``; at least 3 differences.

    Reference: Hall, On the removal of skewness by transformation, JRSS B 1992.

    >>> few_large_losses = np.array([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, -0.3]])
    >>> skew_p(few_large_losses, np.array([1.5]), np.array([9.0])).round(2).tolist()
    [0.5]
    """
    count = rows.shape[1]
    mean = row_means(rows)
    away = rows - mean[:, np.newaxis]
    squares, cubes = row_means(away * away), row_means(away * away * away)
    skewness = cubes / np.where(squares > 0, squares, 1.0) ** 1.5
    skewness *= np.sqrt(count * (count - 1)) / (count - 2)
    against, hidden = -skewness * np.sign(mean), np.sqrt(12 * np.log(together) / count) / 6
    transformed = ratio
    for raised in (0.0, hidden):  # of a large t, the higher skewness can take less
        b = np.maximum(against + raised, 0.0) / (3 * np.sqrt(count))
        limited = ratio - b * ratio**2 + b**2 * ratio**3 / 3 - b / 2
        transformed = np.minimum(transformed, limited)
    return np.asarray(2 * special().stdtr(freedom, -np.maximum(transformed, 0.0)))


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
