"""Two groups of queries: as SciPy has it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.statistics.unpaired import group_changes, group_difference

stats: Any = import_module("scipy.stats")


@pytest.mark.parametrize("sizes", [(2, 2), (5, 40), (300, 17)])
def test_as_in_scipy(sizes: tuple[int, int]) -> None:
    draw = np.random.default_rng(0)
    first, second = draw.random(sizes[0]), 0.2 + 2 * draw.random(sizes[1])
    result = group_difference(first, second, level=0.9)
    expected = stats.ttest_ind(first, second, equal_var=False)
    interval = expected.confidence_interval(0.9)
    assert result.interval is not None
    assert result.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (interval.low, interval.high)
    )


# --- rows of two groups


def test_rows_as_in_scipy() -> None:
    """Welch's error where it is the larger one, and the pooled one where that is."""
    draw = np.random.default_rng(1)
    small, large = draw.random((2, 8)), draw.random((2, 50)) / 3
    small[1] = 0.5  # does not vary: the pooled error must do for it
    welch, pooled = group_changes(small, large, level=0.9, bounds=(-1, 1))
    expected = stats.ttest_ind(small[0], large[0], equal_var=False)
    ends = expected.confidence_interval(0.9)
    assert welch[0] == pytest.approx(small[0].mean() - large[0].mean())
    assert (welch[1].low, welch[1].high) == pytest.approx((ends.low, ends.high))
    error = np.sqrt(49 * large[1].var(ddof=1) / 56 * (1 / 8 + 1 / 50))
    reach = stats.t.ppf(0.95, 49) * error  # Welch's degrees of freedom: those of what varies
    assert pooled[1].high == pytest.approx(pooled[0] + reach)


def test_equal_but_for_rounding_does_not_vary() -> None:
    third = [1 / 3] * 6 + [1 - 2 / 3]
    [(difference, interval)] = group_changes(third, [0.0] * 5, level=0.95, bounds=(-1, 1))
    assert difference == pytest.approx(1 / 3)
    assert (interval.low, interval.high) == (-1, 1)


def test_tiny_values_are_no_trouble() -> None:
    [(_, interval)] = group_changes([1e-200, 2e-200], [0.0, 3e-200], level=0.95, bounds=(-1, 1))
    assert interval.low <= 0 <= interval.high
