"""Intervals of means: by hand, and laws; `frozen/test_oracles.py` asks SciPy."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError, UnknownNameError
from rankscope.statistics import arrays as rows_module
from rankscope.statistics import intervals
from rankscope.statistics.choices import METHODS, Method
from rankscope.statistics.intervals import Interval, mean_intervals, resampled_means

stats: Any = import_module("scipy.stats")

RANDOM = np.random.default_rng(7)
SKEWED = np.where(RANDOM.random(40) < 0.4, 0.0, RANDOM.beta(0.6, 2.0, 40))
scores = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40)


def only(values: Any, **options: Any) -> Interval:
    [interval] = mean_intervals(values, **options)
    return interval


def test_bca_by_hand() -> None:
    """The definition, written out for one row with its own resampled means."""
    values = np.sort(SKEWED)
    means = np.sort(resampled_means(values[np.newaxis], resamples=5_000, seed=3)[0])
    centre = values.mean()
    share = ((means < centre - 1e-13).mean() + (means <= centre + 1e-13).mean()) / 2
    bias = stats.norm.ppf(share)
    skew = ((values - centre) ** 3).sum() / (6 * ((values - centre) ** 2).sum() ** 1.5)
    ends = [
        np.quantile(means, stats.norm.cdf(bias + (bias + z) / (1 - skew * (bias + z))))
        for z in stats.norm.ppf([0.025, 0.975])
    ]
    found = only(SKEWED, resamples=5_000, seed=3)
    assert found.method == "bca"
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-12)


def test_batches_do_not_change_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RANDOM.random((7, 30))
    whole = mean_intervals(values, resamples=1_000)
    monkeypatch.setattr(rows_module, "BLOCK", 1_000)
    parts = mean_intervals(values, resamples=1_000)
    for one, other in zip(parts, whole, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-14)


@pytest.mark.parametrize("count", [1, 4])
def test_without_bounds_equal_values_say_nothing(count: int) -> None:
    found = only([0.3] * count)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert found.to_dict()["low"] is None


@pytest.mark.parametrize("method", ["bca", "t"])
def test_each_row_may_have_bounds_of_its_own(method: Method) -> None:
    rows = np.array([[0.3] * 12, [0.3] * 12, [0.0, 1.0] * 6])
    bounds = [(0.0, 1.0), (0.0, 3.0), (0.0, 1.0)]
    together = mean_intervals(rows, method=method, bounds=bounds)
    alone = [only(row, method=method, bounds=own) for row, own in zip(rows, bounds, strict=True)]
    assert together == alone
    with pytest.raises(InputError, match="bounds"):
        mean_intervals(rows, bounds=bounds[:2])


@pytest.mark.parametrize(("method", "count"), [("bca", 9), ("auto", 24)])
def test_few_values_get_student(method: Method, count: int) -> None:
    found = only(SKEWED[:count], method=method)
    plain = only(SKEWED[:count], method="t")
    assert (found.low, found.high, found.method) == (plain.low, plain.high, "t")
    assert only(SKEWED[: count + 1], method=method).method == "bca"


def test_shares_get_wilson() -> None:
    hits = [1.0, 0.0, 1.0, 1.0, 0.0]
    found, expected = (
        only(hits, bounds=(0, 1)),
        stats.binomtest(3, 5).proportion_ci(method="wilson"),
    )
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert only([1.0] * 5, bounds=(0, 1)).high == 1.0
    assert only(hits, bounds=(0, 2)).method == only(hits).method == "t"


def test_bad_input() -> None:
    with pytest.raises(InputError, match="empty"):
        mean_intervals([])
    with pytest.raises(InputError, match="NaN"):
        mean_intervals([0.1, math.nan])
    with pytest.raises(InputError, match="level"):
        mean_intervals([0.1], level=95)
    with pytest.raises(InputError, match="resamples"):
        mean_intervals([0.1], resamples=0)
    with pytest.raises(InputError, match="bounds"):
        mean_intervals([0.1], bounds=(1, 0))
    with pytest.raises(InputError, match="seed"):
        mean_intervals(SKEWED, seed=-1)
    with pytest.raises(InputError, match="dimensions"):
        mean_intervals(np.zeros((2, 2, 2)))
    with pytest.raises(UnknownNameError, match="bca"):
        mean_intervals([0.1], method="bcaa")  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(scores, st.sampled_from(list(METHODS)), st.randoms())
def test_laws(values: list[float], method: Method, random: Any) -> None:
    found = only(values, method=method, resamples=200, bounds=(0, 1))
    slack = 1e-12
    if len(values) == 1:
        assert (found.low, found.high) == (-math.inf, math.inf)
        return
    assert -slack <= found.low <= found.high <= 1 + slack
    if found.method in ("t", "unseen"):
        assert found.low - slack <= np.mean(values) <= found.high + slack
    moved = list(values)
    random.shuffle(moved)
    assert only(moved, method=method, resamples=200, bounds=(0, 1)) == found
    if found.method == "wilson":
        return
    mirrored = only([-x for x in values], method=method, resamples=200, bounds=(-1, 0))
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low), abs=1e-14)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=10, max_size=40))
def test_bootstrap_holds_the_mean_and_grows_with_the_level(values: list[float]) -> None:
    narrow = only(values, method="bca", level=0.5, resamples=500, bounds=(0, 1))
    wide = only(values, method="bca", level=0.99, resamples=500, bounds=(0, 1))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.low <= np.mean(values) <= wide.high


def test_a_million_queries_are_not_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).beta(0.5, 1, 3_000)
    [bootstrap] = mean_intervals(values)
    monkeypatch.setattr(intervals, "MOST", 2_999)
    [student] = mean_intervals(values)
    assert student.method == "t"
    assert (student.low, student.high) == pytest.approx((bootstrap.low, bootstrap.high), abs=5e-4)
    monkeypatch.undo()
    [many] = mean_intervals(np.tile(values, 300), bounds=(0, 1))
    assert many.method == "t"
