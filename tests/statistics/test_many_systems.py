"""Many systems: ANOVA and randomised Tukey against SciPy and brute force."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.many import LISTED, _shuffled_ranges, anova, range_tests

stats: Any = import_module("scipy.stats")

RANDOM = np.random.default_rng(5)
EFFECTS = np.array([0.0, 0.1, 0.5, 0.9])[:, np.newaxis]
NORMAL = RANDOM.normal(size=(4, 40)) + RANDOM.normal(size=40) * 2 + EFFECTS


def test_anova_by_hand() -> None:
    """Three systems, two queries: means 1.5, 2.5, 5; SS 13, 1.5, 1."""
    found = anova([[1.0, 2.0], [2.0, 3.0], [5.0, 5.0]])
    sums = found.sum_of_squares
    assert (sums.systems, sums.queries, sums.rest) == pytest.approx((13.0, 2 / 3, 1 / 3))
    assert found.freedom == (2, 2)
    assert found.f == pytest.approx((13 / 2) / (1 / 6))
    assert found.p == pytest.approx(stats.f.sf(39.0, 2, 2))


def test_anova_edges() -> None:
    assert anova([[0.5, 0.2], [0.5, 0.2]]).p == 1.0
    assert anova([[0.1], [0.9]]).p == 1.0
    same = anova([[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]])
    assert same.f == math.inf
    assert same.p == pytest.approx(0.25)
    assert same.to_dict()["f"] is None
    with pytest.raises(InputError, match="two systems"):
        anova([[0.1, 0.2]])


def test_range_tests_by_enumeration() -> None:
    values = np.array([[0.1, 0.4, 0.2], [0.3, 0.4, 0.6], [0.2, 0.9, 0.5]])
    columns = [list(permutations(column)) for column in values.T]
    ranges = []
    for shuffled in product(*columns):
        sums = np.sum(shuffled, axis=0)
        ranges.append(sums.max() - sums.min())
    found = range_tests(values, resamples=20_000)
    sums = values.sum(axis=1)
    for one, other in combinations(range(3), 2):
        exact = np.mean(np.array(ranges) >= abs(sums[one] - sums[other]) - 1e-9)
        assert found[one, other] == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("count", [3, 9])
def test_neither_order_matters(count: int) -> None:
    values = RANDOM.integers(0, 5, size=(count, 12)) / 10
    found = range_tests(values, resamples=300)
    systems, queries = RANDOM.permutation(count), RANDOM.permutation(12)
    moved = range_tests(values[systems][:, queries], resamples=300)
    assert (moved == found[np.ix_(systems, systems)]).all()
    assert ((found > 0) & (found <= 1)).all()


def test_equal_systems_are_not_told_apart() -> None:
    values = np.array([[0.1, 0.4, 0.2]] * 8)
    assert (range_tests(values, resamples=100) == 1).all()


@pytest.mark.parametrize("systems", [LISTED, LISTED + 1])
def test_ranges_are_those_of_shuffled_queries(systems: int) -> None:
    """Against a loop that shuffles each query's values, below and above where orders are listed."""
    rows = np.random.default_rng(4).random((systems, 7))
    source, resamples = Random(5), 3_000
    naive = []
    for _ in range(resamples):
        shuffled = [source.sample(column, systems) for column in rows.T.tolist()]
        sums = [sum(values) for values in zip(*shuffled, strict=True)]
        naive.append(max(sums) - min(sums))
    found = _shuffled_ranges(rows, resamples, seed=6)
    error = math.sqrt((np.var(naive) + np.var(found)) / resamples)
    assert abs(np.mean(found) - np.mean(naive)) < 5 * error
    assert np.std(found) == pytest.approx(np.std(naive), rel=0.15)
