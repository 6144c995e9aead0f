"""Shares, separation and thresholds: against formulas written out, and by hand."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.classification import (
    Thresholds,
    f1_interval,
    held_out_accuracy,
    proportion,
    separation,
)

stats: Any = import_module("scipy.stats")


@settings(deadline=None)
@given(total=st.integers(1, 300), data=st.data())
def test_a_proportion_is_that_of_scipy(total: int, data: Any) -> None:
    count = data.draw(st.integers(0, total))
    result = proportion(count, total)
    expected = stats.binomtest(count, total).proportion_ci(method="wilson")
    assert result.share == count / total
    assert result.interval is not None
    assert result.interval.low == pytest.approx(expected.low, abs=1e-12)
    assert result.interval.high == pytest.approx(expected.high, abs=1e-12)


def test_a_proportion_of_nothing() -> None:
    nothing = proportion(0, 0)
    assert (nothing.share, nothing.interval) == (None, None)
    with pytest.raises(InputError, match="3 of 2 is no proportion"):
        proportion(3, 2)


def test_the_interval_of_f1_is_that_of_its_proportion() -> None:
    """F1 = 2·6 / (2·6 + 4) = 0.75; J = 6 / 10, F1 = 2J / (1 + J)."""
    interval = f1_interval(6, 4)
    wilson = proportion(6, 10).interval
    assert interval is not None
    assert wilson is not None
    assert interval.low == pytest.approx(2 * wilson.low / (1 + wilson.low))
    assert interval.low < 0.75 < interval.high
    assert f1_interval(0, 0) is None


def brute_auc(high: list[float], low: list[float]) -> float:
    won = sum((a > b) + (a == b) / 2 for a in high for b in low)
    return won / (len(high) * len(low))


scores = st.lists(st.integers(-3, 3).map(float) | st.just(-math.inf), min_size=1, max_size=12)


@given(high=scores, low=scores)
def test_the_auc_is_that_of_all_pairs(high: list[float], low: list[float]) -> None:
    result = separation(high, low)
    assert result.auc == brute_auc(high, low)
    assert 0 <= result.interval.low <= result.auc <= result.interval.high <= 1
    mirrored = separation(low, high)
    assert mirrored.interval.low == pytest.approx(1 - result.interval.high, abs=1e-9)


def test_a_perfect_separation_is_not_certain() -> None:
    few = separation([2.0] * 5, [1.0] * 5).interval
    many = separation([2.0] * 50, [1.0] * 50).interval
    assert few.high == many.high == 1.0
    assert 0.5 < few.low < many.low < 1.0


finite = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=10)


@given(high=finite, low=finite)
def test_thresholds_by_brute_force(high: list[float], low: list[float]) -> None:
    thresholds = Thresholds(high, low)
    assert (thresholds.rightly[0], thresholds.wrongly[0]) == (0.0, 0.0)
    assert (thresholds.rightly[-1], thresholds.wrongly[-1]) == (1.0, 1.0)
    assert len(thresholds) == len({*high, *low}) + 1
    accuracies = []
    for at, threshold in enumerate(thresholds.threshold):
        refused = sum(score < threshold for score in low) / len(low)
        lost = sum(score < threshold for score in high) / len(high)
        assert (thresholds.rightly[at], thresholds.wrongly[at]) == (refused, lost)
        accuracies.append((refused + 1 - lost) / 2)
    best = thresholds.best()
    assert accuracies[best] == pytest.approx(max(accuracies))
    assert all(accuracy < max(accuracies) - 1e-13 for accuracy in accuracies[:best])


def test_a_threshold_between_neighbouring_numbers() -> None:
    thresholds = Thresholds([float(np.nextafter(1.0, 2.0))], [1.0])
    assert thresholds.balanced[thresholds.best()] == 1.0
    assert np.isfinite(Thresholds([1e308], [-1e308]).threshold).all()


def test_a_threshold_measured_fairly() -> None:
    random = np.random.default_rng(2)
    same = [random.normal(size=n) for n in (600, 400)]
    fair = held_out_accuracy(*same)
    fitted = Thresholds(*same)
    assert fair is not None
    assert fair == pytest.approx(0.5, abs=0.06)
    assert fitted.balanced[fitted.best()] > fair  # chosen by the same scores: too good
    assert held_out_accuracy(np.arange(10) + 100.0, np.arange(10.0)) == 1.0
    assert held_out_accuracy(*same) == fair
    assert held_out_accuracy([1.0], [0.0, 0.5]) is None
