"""Several groups of queries under one system: which two have different means.

Every two groups are tested. The two that differ most are chosen after the values were seen, so
their p-value holds only when it is corrected over all pairs (`rankscope.statistics.correction`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.statistics.arrays import SMALLEST, as_rows, constant_rows, special
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.matrix import differences
from rankscope.statistics.paired import ENUMERATED, paired_tests
from rankscope.statistics.subsets import subset_tests
from rankscope.statistics.unpaired import group_changes

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.intervals import Bounds

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

    Of different queries with the larger of Welch's and the pooled standard error (`group_changes`).
    """
    if paired:
        changes = differences(second, first)
        return mean_intervals(changes, method="t", level=level, bounds=bounds)[0]
    return group_changes(first, second, level=level, bounds=bounds)[0][1]


def _same_cases(first: FloatArray, second: FloatArray) -> float:
    changes = differences(second, first)
    changes /= np.abs(changes).max()  # the squares of tiny values would be 0
    [student] = paired_tests(changes, test="t")
    if np.count_nonzero(changes) > ENUMERATED:
        return student.p
    return max(student.p, paired_tests(changes)[0].p)


def _other_queries(first: FloatArray, second: FloatArray) -> float:
    joined = np.concatenate([first, second])
    joined /= np.abs(joined).max()
    is_first = np.arange(len(joined))[np.newaxis] < len(first)
    by_labels = float(subset_tests(joined, is_first)[0, 0])
    return max(by_labels, _welch(joined[: len(first)], joined[len(first) :]))


def _welch(first: FloatArray, second: FloatArray) -> float:
    """Return Welch's p-value; the smallest there is where neither group varies."""
    sizes = np.array([len(first), len(second)])
    squares = np.array(
        [
            0.0 if constant_rows(group[np.newaxis])[0] else group.var(ddof=1) / len(group)
            for group in (first, second)
        ]
    )
    spread = (squares**2 / (sizes - 1)).sum()
    if not spread:
        return SMALLEST
    total = squares.sum()
    ratio = abs(first.mean() - second.mean()) / math.sqrt(total)
    return max(2 * float(special().stdtr(total**2 / spread, -ratio)), SMALLEST)
