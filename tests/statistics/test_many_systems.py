"""Many systems: ANOVA, randomised Tukey and letters against SciPy and brute force."""

from __future__ import annotations

import math
from importlib import import_module
from itertools import combinations, permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.groups import letters
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


def test_anova_of_two_systems_is_the_paired_t_test() -> None:
    expected = stats.ttest_rel(NORMAL[0], NORMAL[2])
    found = anova(NORMAL[[0, 2]])
    assert found.f == pytest.approx(expected.statistic**2)
    assert found.p == pytest.approx(expected.pvalue)


def test_anova_edges() -> None:
    assert anova([[0.5, 0.2], [0.5, 0.2]]).p == 1.0
    assert anova([[0.1], [0.9]]).p == 1.0
    same = anova([[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]])
    assert same.f == math.inf
    assert same.p == pytest.approx(0.25)
    assert same.to_dict()["f"] is None
    with pytest.raises(InputError, match="two systems"):
        anova([[0.1, 0.2]])


def test_range_tests_agree_with_the_studentised_range() -> None:
    values = NORMAL - EFFECTS  # effects would widen the shuffled range, not the formula's
    table = anova(values)
    scale = math.sqrt(table.sum_of_squares.rest / table.freedom[1] / values.shape[1])
    means = values.mean(axis=1)
    found = range_tests(values, resamples=5_000)
    for one, other in combinations(range(4), 2):
        distance = abs(means[one] - means[other]) / scale
        expected = stats.studentized_range.sf(distance, 4, table.freedom[1])
        assert found[one, other] == pytest.approx(expected, abs=0.03)
    assert (found == found.T).all()
    assert (np.diag(found) == 1).all()


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


def test_with_two_systems_it_is_the_permutation_test() -> None:
    row = NORMAL[0] - NORMAL[3]
    expected = stats.permutation_test(
        (row,),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    ).pvalue
    assert range_tests(NORMAL[[0, 3]], resamples=20_000)[0, 1] == pytest.approx(expected, abs=0.01)


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


def shares(one: str, other: str) -> bool:
    return bool(set(one) & set(other))


tables = st.integers(0, 7).flatmap(
    lambda size: st.lists(st.booleans(), min_size=size * size, max_size=size * size).map(
        lambda flags: np.triu(np.array(flags, dtype=bool).reshape(size, size), 1)
    )
)


@settings(max_examples=150, deadline=None)
@given(tables, st.randoms())
def test_two_share_a_letter_if_and_only_if_not_told_apart(upper: Any, random: Any) -> None:
    different = upper | upper.T
    order = list(range(len(different)))
    random.shuffle(order)
    found = letters(different, order)
    assert all(found)
    for one, other in combinations(range(len(found)), 2):
        assert shares(found[one], found[other]) != different[one, other]
    used = sorted(set("".join(found)))
    assert used == list("abcdefghijklmnopqrstuvwxyz"[: len(used)])
    if order:
        assert found[order[0]][0] == "a"
    for letter in used:  # none could be spared
        without = [each.replace(letter, "") for each in found]
        assert not all(without) or any(
            not different[one, other] and not shares(without[one], without[other])
            for one, other in combinations(range(len(found)), 2)
        )


def test_letters_by_hand() -> None:
    none, every = np.zeros((3, 3)), 1 - np.eye(3)
    assert letters(none) == ["a", "a", "a"]
    assert letters(every, [2, 0, 1]) == ["b", "c", "a"]
    assert letters(np.zeros((0, 0))) == []


def test_more_letters_than_the_alphabet() -> None:
    found = letters(1 - np.eye(54))
    assert (found[25], found[26], found[51], found[52]) == ("z", "A", "Z", "a2")


def test_bad_tables() -> None:
    with pytest.raises(InputError, match="square"):
        letters([[False, True]])
    with pytest.raises(InputError, match="both ways"):
        letters([[False, True], [False, False]])
    with pytest.raises(InputError, match="each system once"):
        letters([[False]], [1])


@pytest.mark.parametrize("systems", [3, LISTED, LISTED + 1, LISTED + 4])
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
