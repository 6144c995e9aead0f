"""Subsets: the p-value of a group is that of a random choice of as many queries."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.groups import subset_tests

stats: Any = import_module("scipy.stats")


def mask(size: int, *places: int) -> np.ndarray:
    members = np.zeros((1, size), dtype=bool)
    members[0, list(places)] = True
    return members


@pytest.mark.parametrize(("high", "drawn", "count"), [(4, 4, 4), (3, 5, 0), (6, 7, 4), (1, 3, 1)])
def test_two_levels_are_fishers_exact_test(high: int, drawn: int, count: int) -> None:
    values = np.array([1.0] * high + [0.0] * (12 - high))
    inside = [*range(count), *range(high, high + drawn - count)]
    law = stats.hypergeom(12, high, drawn)
    tail = min(law.cdf(count), law.sf(count - 1))
    [[p]] = subset_tests(values, mask(12, *inside))
    assert p == pytest.approx(min(1.0, 2 * tail))
    [[other]] = subset_tests(3 - 2 * values, mask(12, *inside))  # whatever the two levels are
    assert other == pytest.approx(p)


def test_moments_are_those_of_all_subsets() -> None:
    """Against SciPy's Pearson type III with moments counted over all 4,368 subsets."""
    values = np.array([0.0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.4, 0.4, 0.5, 0.6, 0.6, 0.8, 1, 1])
    means = np.array([np.mean(chosen) for chosen in combinations(values, 5)])
    law = stats.pearson3(stats.skew(means), means.mean(), means.std())
    normal = stats.norm(means.mean(), means.std())
    for inside in ((0, 1, 2, 3, 4), (11, 12, 13, 14, 15), (0, 5, 6, 7, 8)):
        mean = values[list(inside)].mean()
        tails = [min(which.cdf(mean), which.sf(mean)) for which in (law, normal)]
        [[p]] = subset_tests(values, mask(16, *inside))
        assert p == pytest.approx(2 * max(tails), rel=1e-6)
        exact = 2 * min((means <= mean + 1e-12).mean(), (means >= mean - 1e-12).mean())
        assert 0.8 * exact < p < exact + 0.05  # of so few, the farthest is held to be less rare


@examples(max_examples=25, deadline=None)
@given(values=st.lists(st.integers(0, 20), min_size=3, max_size=30), data=st.data())
def test_a_group_and_the_rest_are_one_question(values: list[int], data: st.DataObject) -> None:
    size = len(values)
    inside = data.draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
    members = mask(size, *inside)
    both = subset_tests(values, np.concatenate([members, ~members]))[0]
    assert both[0] == pytest.approx(both[1], rel=1e-6)
    mirrored = subset_tests([-value for value in values], members)[0, 0]
    assert mirrored == pytest.approx(both[0], rel=1e-6)
    assert 0 < both[0] <= 1


def test_what_cannot_differ() -> None:
    assert subset_tests([0.5] * 9, mask(9, 1, 2)).tolist() == [[1.0]]
    assert subset_tests([1.0], mask(1, 0)).tolist() == [[1.0]]
    assert subset_tests([0.1, 0.2, 0.9], mask(3)).tolist() == [[1.0]]
    assert subset_tests([0.1, 0.2, 0.9], mask(3, 0, 1, 2)).tolist() == [[1.0]]
    assert subset_tests([[0.1, 0.9]], np.zeros((0, 2), dtype=bool)).shape == (1, 0)
    with pytest.raises(InputError, match="NaN"):
        subset_tests([0.1, float("nan")], mask(2, 0))


def test_ten_failures_of_ten_are_no_certainty() -> None:
    """Where 60 % fail anyway, ten of ten happen by chance once in 165 times, not in 10^8."""
    values = np.array([0.0] * 60 + [0.3, 0.7] * 20)
    [[p]] = subset_tests(values, mask(100, *range(10)))
    assert 0.6**10 < p < 0.05
