"""Groups of queries under one system: does one differ from the rest, do two from each other?

*One group against the rest* (`subset_tests`): if a label says nothing about a query's value, the
group is a random subset of the queries, drawn without replacement. That is a permutation test of
the labels; its distribution is computed, not sampled, so there is no seed and no smallest p-value:

- of values with two levels (Success@5) it is the hypergeometric one (Fisher's exact test);
- otherwise it is a Pearson type III distribution with the exact mean, variance and skewness of the
  mean of a random subset, or the normal one where that has the larger tail: single huge values make
  the other tail of type III end too early.

Student's and Welch's t would take ten failures in a group of ten for certainty, as such a group has
no variance; here its variance is that of a random subset of all queries.

*Two groups* (`group_change`), of different queries: Welch's t. *Every two of
several* (`group_pairs`): the two that differ most are chosen after the values were seen, so their
p-value holds only when it is corrected over all pairs (`rankscope.statistics.tests.corrected`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError
from rankscope.statistics.arrays import SAME, SMALLEST, as_rows, constant_rows, special
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.matrix import differences
from rankscope.statistics.tests import ENUMERATED, paired_tests

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import BoolArray, FloatArray, IntArray
    from rankscope.statistics.intervals import Bounds

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
            is_high = row == high  # how many of each subset are: hypergeometric, exact
            counts = table[inside][:, is_high].sum(axis=1)
            chance = import_module("scipy.stats").hypergeom(len(row), int(is_high.sum()), drawn)
            tails = np.minimum(chance.cdf(counts), chance.sf(counts - 1))
        else:
            tails = _three_moments(row, picked, drawn)
        p_values[number, inside] = np.clip(2 * tails, SMALLEST, 1.0)
    return p_values


def _three_moments(row: FloatArray, picked: FloatArray, drawn: IntArray) -> FloatArray:
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


def group_change(
    first: npt.ArrayLike, second: npt.ArrayLike, *, level: float, bounds: Bounds
) -> tuple[float, Interval]:
    """Return the difference of the means of two groups of queries, and its interval.

    Student's, with the larger of Welch's and the pooled standard error: a group that does not vary
    says nothing about how much it could. Where neither varies the interval is as wide as
    ``bounds``, the lowest and highest difference.

    >>> difference, interval = group_change([1.0, 1.0], [0.0, 1.0], level=0.9, bounds=(-1, 1))
    >>> difference, interval.low
    (0.5, -1.0)
    """
    groups = [as_rows(first)[0], as_rows(second)[0]]
    difference = float(groups[0].mean() - groups[1].mean())
    error, freedom = _welch(*groups)
    low, high = bounds
    if error:
        total = sum(map(len, groups)) - 2
        pooled = sum(len(group) * group.var() for group in groups if not constant_rows(group[None]))
        error = max(error, math.sqrt(pooled / total * sum(1 / len(group) for group in groups)))
        reach = float(special().stdtrit(freedom, (1 + level) / 2)) * error
        low, high = max(difference - reach, low), min(difference + reach, high)
    return difference, Interval(low=low, high=high, level=level, method="t")


def _welch(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """Return Welch's standard error of a difference of means, and its degrees of freedom.

    The error is 0 where neither group varies.
    """
    sizes = np.array([len(first), len(second)])
    squares = np.array(
        [
            0.0 if constant_rows(group[np.newaxis])[0] else group.var(ddof=1) / len(group)
            for group in (first, second)
        ]
    )
    total, spread = squares.sum(), (squares**2 / (sizes - 1)).sum()
    return math.sqrt(total), total**2 / spread if spread else float(sizes.sum() - 2)


Cases = tuple[str, ...]
"""What each value of a group is about, in the order of the values."""


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two groups, by their places, and how far their means are apart."""

    first: int
    second: int
    difference: float
    """Mean of the first minus that of the second; 0 where they differ by rounding only."""
    p: float
    """Of this pair by itself, two-sided."""
    paired: bool
    """Whether both are about the same cases, and were compared case by case."""


def group_pairs(
    groups: Sequence[FloatArray], cases: Sequence[Cases | None] | None = None
) -> list[GroupPair]:
    """Test every two groups of at least two values each; smaller ones take no part.

    Groups of different queries: p is the larger of two. A permutation of the labels
    (`subset_tests`) is right if the groups are alike in all but chance, but where a small group
    varies more than a large one it takes a difference of spread for one of means. Welch's t does
    not, but takes ten equal values for certainty, which the permutation does not. Where neither
    group varies, t says nothing and the permutation decides.

    Limit: if two groups have equal means, but one owes its mean to rare large values that a small
    sample mostly misses, both tests are wrong, and p is too small.

    Groups with equal ``cases`` (translations of the same questions, in the same order): p is that
    of Student's paired t, and no smaller than that of all sign flips where at most 16 cases differ.

    Reference: Welch, Biometrika 1947; Chung and Romano, Exact and asymptotically robust permutation
    tests, Ann. Statist. 2013 (permutations and unequal spread).

    >>> [pair] = group_pairs([np.array([1.0, 1, 1, 1]), np.array([0.0, 0, 0, 0])])
    >>> pair.difference, round(pair.p, 4)  # 2 / (8 choose 4)
    (1.0, 0.0286)
    """
    rows = [as_rows(group)[0] for group in groups]
    keys = [None] * len(rows) if cases is None else list(cases)
    for row, key in zip(rows, keys, strict=True):
        if key is not None and len(key) != len(row):
            raise InputError(f"expected a case for each of {len(row):,} values, got {len(key):,}")
    means = np.array([math.fsum(row) / len(row) for row in rows])
    tested = [place for place, row in enumerate(rows) if len(row) > 1]
    pairs = []
    for first, second in combinations(tested, 2):
        paired = keys[first] is not None and keys[first] == keys[second]
        test = _same_cases if paired else _other_queries
        change = float(differences(means[second], means[first]))
        p = test(rows[first], rows[second]) if change else 1.0
        pairs.append(GroupPair(first, second, change, p, paired))
    return pairs


def pair_interval(
    first: FloatArray, second: FloatArray, *, paired: bool, level: float, bounds: Bounds
) -> Interval:
    """Return Student's interval of the difference of two groups; ``bounds`` are those of it.

    Of different queries with the larger of Welch's and the pooled standard error (`group_change`).
    """
    if paired:
        changes = differences(second, first)
        return mean_intervals(changes, method="t", level=level, bounds=bounds)[0]
    return group_change(first, second, level=level, bounds=bounds)[1]


def _same_cases(first: FloatArray, second: FloatArray) -> float:
    changes = differences(second, first)
    changes /= np.abs(changes).max()  # the squares of tiny values would be 0
    p, _ = paired_tests(changes, test="t")
    if np.count_nonzero(changes) <= ENUMERATED:
        p = np.maximum(p, paired_tests(changes)[0])
    return float(p[0])


def _other_queries(first: FloatArray, second: FloatArray) -> float:
    joined = np.concatenate([first, second])
    joined /= np.abs(joined).max()
    is_first = np.arange(len(joined))[np.newaxis] < len(first)
    by_labels = float(subset_tests(joined, is_first)[0, 0])
    parts = joined[: len(first)], joined[len(first) :]
    error, freedom = _welch(*parts)
    if not error:
        return by_labels
    ratio = abs(parts[0].mean() - parts[1].mean()) / error
    return max(by_labels, 2 * float(special().stdtr(freedom, -ratio)), SMALLEST)
