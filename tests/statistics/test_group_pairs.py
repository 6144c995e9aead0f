"""Every two of several groups: as SciPy and counting have it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.groups import (
    group_change,
    group_pairs,
    pair_interval,
    subset_tests,
)

stats: Any = import_module("scipy.stats")
CASES = tuple(f"c{number:03}" for number in range(200))


def draws(*sizes: int) -> list[Any]:
    random = np.random.default_rng(3)
    return [random.random(size) for size in sizes]


def test_every_two_groups_once() -> None:
    pairs = group_pairs(draws(5, 1, 4, 3))
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 2), (0, 3), (2, 3)]
    assert group_pairs(draws(1, 1)) == group_pairs(draws(5)) == []


@pytest.mark.parametrize("sizes", [(2, 2), (5, 40), (300, 17)])
def test_the_larger_of_two_tests(sizes: tuple[int, int]) -> None:
    first, second = draws(*sizes)
    [pair] = group_pairs([first, second])
    is_first = np.arange(sum(sizes))[None] < sizes[0]
    permuted = subset_tests(np.concatenate([first, second]), is_first)[0, 0]
    welch = stats.ttest_ind(first, second, equal_var=False).pvalue
    assert pair.p == pytest.approx(max(permuted, welch))
    assert pair.difference == pytest.approx(first.mean() - second.mean())
    assert not pair.paired


def test_neither_group_varies() -> None:
    """Of the 10 choose 4 ways to draw the labels, one puts all zeros into one group."""
    [pair] = group_pairs([np.ones(4), np.zeros(6)])
    assert pair.p == pytest.approx(2 / 210)
    [same] = group_pairs([np.full(4, 0.3), np.full(6, 0.1 + 0.2)])
    assert (same.difference, same.p) == (0.0, 1.0)


def test_the_same_cases_are_paired() -> None:
    random = np.random.default_rng(5)
    first = random.random(40)
    second = first - 0.02 + random.normal(0, 0.03, 40)
    [apart] = group_pairs([first, second])
    [pair] = group_pairs([first, second], [CASES[:40], CASES[:40]])
    assert pair.paired
    assert pair.p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert pair.p < 0.01
    assert apart.p > 0.5
    interval = pair_interval(first, second, paired=True, level=0.9, bounds=(-1, 1))
    expected = stats.ttest_rel(first, second).confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_few_cases_that_differ_are_counted() -> None:
    """Five of fifty cases differ, all in one direction: 2 / 2⁵, and t would say 0.02."""
    first, second = np.ones(50), np.ones(50)
    second[:5] = 0.0
    [pair] = group_pairs([first, second], [CASES[:50], CASES[:50]])
    assert pair.p == pytest.approx(2 / 32)
    assert stats.ttest_rel(first, second).pvalue < 0.025


def test_other_cases_are_not_paired() -> None:
    first, second = draws(10, 10)
    unpaired = group_pairs([first, second])
    assert group_pairs([first, second], [CASES[:10], CASES[1:11]]) == unpaired
    assert group_pairs([first, second], [None, None]) == unpaired
    with pytest.raises(InputError, match="expected a case for each of 10 values, got 3"):
        group_pairs([first, second], [CASES[:3], None])


def test_tiny_values_are_no_trouble() -> None:
    large = [np.array([0.1, 0.2, 0.4]), np.array([0.7, 0.9, 0.8, 1.0])]
    for scale in (1e-180, 1e-310):
        [pair] = group_pairs([scale * group for group in large])
        assert pair.p == pytest.approx(group_pairs(large)[0].p)
    tiny = [1e-300 * large[0], 1e-300 * large[1][:3]]
    assert 0 < group_pairs(tiny, [CASES[:3], CASES[:3]])[0].p < 1


# --- two groups


def test_rows_as_in_scipy() -> None:
    """Welch's error where it is the larger one, and the pooled one where that is."""
    draw = np.random.default_rng(1)
    small, large = draw.random((2, 8)), draw.random((2, 50)) / 3
    small[1] = 0.5  # does not vary: the pooled error must do for it
    pairs = zip(small, large, strict=True)
    welch, pooled = (group_change(*pair, level=0.9, bounds=(-1, 1)) for pair in pairs)
    expected = stats.ttest_ind(small[0], large[0], equal_var=False)
    ends = expected.confidence_interval(0.9)
    assert welch[0] == pytest.approx(small[0].mean() - large[0].mean())
    assert (welch[1].low, welch[1].high) == pytest.approx((ends.low, ends.high))
    error = np.sqrt(49 * large[1].var(ddof=1) / 56 * (1 / 8 + 1 / 50))
    reach = stats.t.ppf(0.95, 49) * error  # Welch's degrees of freedom: those of what varies
    assert pooled[1].high == pytest.approx(pooled[0] + reach)


def test_equal_but_for_rounding_does_not_vary() -> None:
    third = [1 / 3] * 6 + [1 - 2 / 3]
    difference, interval = group_change(third, [0.0] * 5, level=0.95, bounds=(-1, 1))
    assert difference == pytest.approx(1 / 3)
    assert (interval.low, interval.high) == (-1, 1)


def test_tiny_values_have_an_interval() -> None:
    _, interval = group_change([1e-200, 2e-200], [0.0, 3e-200], level=0.95, bounds=(-1, 1))
    assert interval.low <= 0 <= interval.high
