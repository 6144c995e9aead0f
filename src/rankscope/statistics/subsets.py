"""Subsets: is the mean of some queries what a random choice of as many queries would give?

The test of a group against the rest. If a label says nothing about a query's value, the group is a
random subset of the queries, drawn without replacement. That is a permutation test of the labels;
its distribution is computed, not sampled, so there is no seed and no smallest p-value:

- of values with two levels (Success@5) it is the hypergeometric one (Fisher's exact test);
- otherwise it is a Pearson type III distribution with the exact mean, variance and skewness of the
  mean of a random subset, or the normal one where that has the larger tail: single huge values make
  the other tail of type III end too early.

Student's and Welch's t would take ten failures in a group of ten for certainty, as such a group has
no variance; here its variance is that of a random subset of all queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.statistics.arrays import SAME, SMALLEST, as_rows, special

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray

BoolArray = npt.NDArray[np.bool_]

STRAIGHT = 1e-4
"""A distribution with less skewness than this is taken as normal."""


def subset_tests(values: npt.ArrayLike, members: BoolArray) -> FloatArray:
    """Return a two-sided p-value for each row of ``values[k, n]`` and of ``members[g, n]``.

    With N values, their mean x̄ and central moments μ₂ and μ₃, the mean of a random subset of g has
    the mean x̄, the variance μ₂/g · (N−g)/(N−1) and the third central moment
    μ₃/g² · (N−g)(N−2g) / ((N−1)(N−2)). p is twice the smaller tail, at most 1.

    Edges: a subset that is empty or holds all, and values that do not vary, give p = 1.

    Reference: Mielke and Berry, Permutation Methods: A Distance Function Approach, 2007 (Pearson
    type III); Cochran, Sampling Techniques, 1977 (moments); Fisher 1935.

    >>> values = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> members = np.array([[True] * 4 + [False] * 4, [True, False] * 4])
    >>> subset_tests(values, members).round(4).tolist()  # 2 / (8 choose 4), and nothing special
    [[0.0286, 1.0]]
    """
    rows = as_rows(values)
    table = np.asarray(members, dtype=bool)
    sizes = table.sum(axis=1)
    total = rows.shape[1]
    p_values = np.ones((len(rows), len(table)))
    inside = np.flatnonzero((sizes > 0) & (sizes < total))
    if not len(inside):
        return p_values
    drawn = sizes[inside]
    picked = table[inside].T.astype(np.float64)
    for number, row in enumerate(rows):
        low, high = float(row.min()), float(row.max())
        if high - low <= SAME * max(abs(low), abs(high)):
            continue
        if np.isin(row, (low, high)).all():
            tails = _two_levels(row == high, table[inside], drawn)
        else:
            tails = _three_moments(row, picked, drawn)
        p_values[number, inside] = np.clip(2 * tails, SMALLEST, 1.0)
    return p_values


def _three_moments(row: FloatArray, picked: FloatArray, drawn: npt.NDArray[np.int64]) -> FloatArray:
    """Return the smaller tail of each subset's mean, by a Pearson type III distribution."""
    total = len(row)
    away = row - row.mean()
    second, third = (away**2).mean(), (away**3).mean()
    left = total - drawn
    variance = second / drawn * left / (total - 1)
    skewed = third / drawn**2 * left * (total - 2 * drawn) / ((total - 1) * max(total - 2, 1))
    z = (away @ picked) / drawn / np.sqrt(variance)
    return _smaller_tail(z, skewed / variance**1.5)


def _smaller_tail(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the smaller tail beyond standardised values: Pearson type III, at least the normal.

    Type III is a gamma variable of shape 4/skewness², standardised, and mirrored where skewness is
    negative.
    """
    functions = special()
    mirrored = np.where(skewness < 0, -z, z)
    size = np.maximum(np.abs(skewness), STRAIGHT)
    shape = 4 / size**2
    place = np.maximum(shape + mirrored * np.sqrt(shape), 0.0)
    gamma = np.minimum(functions.gammainc(shape, place), functions.gammaincc(shape, place))
    normal = functions.ndtr(-np.abs(z))
    tails = np.where(np.abs(skewness) < STRAIGHT, normal, np.maximum(normal, gamma))
    return np.asarray(tails, dtype=np.float64)


def _two_levels(is_high: BoolArray, members: BoolArray, drawn: npt.NDArray[np.int64]) -> FloatArray:
    """Return the smaller tail of how many of each subset are high: hypergeometric, exact."""
    total, high = len(is_high), int(is_high.sum())
    counts = members[:, is_high].sum(axis=1)
    tails = np.empty(len(drawn))
    for number, (size, count) in enumerate(zip(drawn.tolist(), counts.tolist(), strict=True)):
        possible = np.arange(max(0, size + high - total), min(size, high) + 1)
        logs = (
            _log_choose(high, possible)
            + _log_choose(total - high, size - possible)
            - _log_choose(total, np.array(size))
        )
        chances = np.exp(logs)
        below, above = chances[possible <= count].sum(), chances[possible >= count].sum()
        tails[number] = min(below, above)
    return tails


def _log_choose(total: int, chosen: npt.NDArray[np.int64]) -> FloatArray:
    gammaln = special().gammaln
    return np.asarray(gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1))
