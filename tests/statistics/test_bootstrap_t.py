"""Bootstrap-t: against the full list of resamples, and its symmetries."""

from __future__ import annotations

import doctest
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics import bootstrap_t as module
from rankscope.statistics.bootstrap_t import bootstrap_t_intervals
from rankscope.statistics.intervals import mean_intervals


def all_ratios(row: list[float]) -> list[float]:
    """Return t* of all n^n resamples, sorted."""
    centre, ratios = float(np.mean(row)), []
    for drawn in product(row, repeat=len(row)):
        away, spread = float(np.mean(drawn)) - centre, float(np.std(drawn, ddof=1))
        if spread > 1e-12:
            ratios.append(away * math.sqrt(len(row)) / spread)
        else:
            ratios.append(0.0 if abs(away) < 1e-12 else math.copysign(math.inf, away))
    return sorted(ratios)


ROW = [0.1, 0.15, 0.4, 0.55, 1.3]


def test_both_kinds_against_all_resamples() -> None:
    ratios = np.array(all_ratios(ROW))
    mean, error = np.mean(ROW), np.std(ROW, ddof=1) / math.sqrt(5)
    options = {"level": 0.8, "resamples": 60_000}
    [skewed] = bootstrap_t_intervals(ROW, symmetric=False, **options)  # type: ignore[arg-type]
    expected = [mean - np.quantile(ratios, 0.9) * error, mean - np.quantile(ratios, 0.1) * error]
    assert [skewed.low, skewed.high] == pytest.approx(expected, abs=0.03)
    [even] = bootstrap_t_intervals(ROW, **options)  # type: ignore[arg-type]
    reach = np.quantile(np.abs(ratios), 0.8) * error
    assert [even.low, even.high] == pytest.approx([mean - reach, mean + reach], abs=0.03)
    assert skewed.high - mean > mean - skewed.low  # a long right tail reaches further up


def test_resamples_without_spread_have_no_end() -> None:
    """Three values: 1 in 9 resamples holds one value only, more than the 5 % left out."""
    [interval] = bootstrap_t_intervals([0.0, 0.5, 0.7])
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    [bounded] = bootstrap_t_intervals([0.0, 0.5, 0.7], bounds=(0, 1))
    assert (bounded.low, bounded.high) == (0, 1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=12), st.booleans())
def test_order_and_direction(numbers: list[int], symmetric: bool) -> None:
    row = [number / 10 for number in numbers]
    [interval] = bootstrap_t_intervals(row, symmetric=symmetric, resamples=200)
    [mirrored] = bootstrap_t_intervals(
        [-number for number in reversed(row)], symmetric=symmetric, resamples=200
    )
    if sum(numbers):
        assert (mirrored.low, mirrored.high) == (-interval.high, -interval.low)
    assert interval.low <= np.mean(row) + 1e-12
    assert np.mean(row) - 1e-12 <= interval.high


def test_with_many_values_it_is_students_t() -> None:
    row = np.random.default_rng(0).normal(size=2_000)
    [bootstrap] = bootstrap_t_intervals(row, resamples=4_000)
    [student] = mean_intervals(row, method="t")
    assert bootstrap.low == pytest.approx(student.low, abs=0.002)
    assert bootstrap.high == pytest.approx(student.high, abs=0.002)


def test_equal_values_and_several_rows() -> None:
    constant, moving = bootstrap_t_intervals([[0.5] * 8, [0.1, 0.9] * 4], bounds=(0, 1))
    assert constant.method == "unseen"
    assert moving.method == "bootstrap-t"
    with pytest.raises(InputError, match="level"):
        bootstrap_t_intervals([0.1, 0.2], level=1)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
