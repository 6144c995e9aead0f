"""Reach: smallest p-values by running the tests, detectable differences by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rankscope.errors import InputError
from rankscope.statistics.choices import Test
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.reach import (
    detectable_rows,
    must_differ,
    queries_like_these,
    smallest_p,
)


@pytest.mark.parametrize("test", ["permutation", "wilcoxon", "sign"])
@pytest.mark.parametrize("differing", [1, 2, 3, 6, 9])
def test_no_outcome_is_smaller(test: Test, differing: int) -> None:
    """All differences that are not 0 point one way: no test says less."""
    row = np.concatenate([np.zeros(20), np.linspace(0.1, 0.5, differing)])
    [result] = paired_tests(row, test=test)
    assert smallest_p(differing, test=test) == pytest.approx(result.p)


def test_floors_of_resampling() -> None:
    row = np.concatenate([np.zeros(5), np.linspace(0.1, 0.5, 40)])
    for test in ("permutation", "bootstrap"):
        [result] = paired_tests(row, test=test, resamples=499)
        assert smallest_p(40, test=test, resamples=499) == result.p == 1 / 500
    assert smallest_p(16, resamples=100) == 2.0**-15  # all flips, not a sample
    assert smallest_p(3, test="t") == 0
    assert smallest_p(0) == smallest_p(1, test="t") == 1
    assert smallest_p(6, family=100) == 1


def test_how_many_must_differ() -> None:
    assert must_differ() == 6
    assert must_differ(alpha=0.01) == 8
    assert must_differ(family=10) == 9  # 2^(1−9)·10 = 0.039
    assert must_differ(test="t") == 2
    assert must_differ(family=528, resamples=10_000) == 15  # found among all flips
    assert must_differ(family=10**6, resamples=10_000) is None
    for family in (1, 7, 40):
        least = must_differ(family=family)
        assert least is not None
        assert smallest_p(least, family=family) <= 0.05 < smallest_p(least - 1, family=family)


def detectable(row: npt.ArrayLike) -> float:
    """Return the difference that queries like these show in 80 % of cases."""
    rows = np.atleast_2d(np.asarray(row, dtype=np.float64))
    [answer] = detectable_rows(rows, alpha=0.05, power=0.8, largest=1.0).tolist()
    return float(answer)


@pytest.mark.parametrize(("count", "share"), [(60, 0.4), (200, 0.2)])
def test_ties_kept_in_a_simulation(count: int, share: float) -> None:
    """Draw queries of which a share differs by δ/share on average: t shows δ in 80 %, about."""
    random = np.random.default_rng(count)
    moving = random.normal(0.05, 0.2, round(count * share))
    row = np.concatenate([np.zeros(count - len(moving)), moving])
    difference = detectable(row)
    differs = random.random((1_500, count)) < len(moving) / count
    spread = float(moving.std(ddof=1))
    mean = difference * count / len(moving)
    drawn = np.where(differs, random.normal(mean, spread, (1_500, count)), 0.0)
    shown = np.mean([result.p <= 0.05 for result in paired_tests(drawn, test="t")])
    assert shown == pytest.approx(0.8, abs=0.06)
    needed = queries_like_these(row, difference)
    assert needed == pytest.approx(count, abs=2)


def test_no_difference_is_detectable() -> None:
    scattered = [0.0] * 993 + [0.9, -0.9, 0.8, -0.8, 0.7, -0.7, 0.1]
    for row in (scattered, [0.5], [0.0] * 9):
        assert detectable(row) == math.inf


def test_no_number_of_queries() -> None:
    assert queries_like_these([0.0, 0.0, 0.3], 0.1) is None
    assert queries_like_these([0.1, -0.2, 0.3], 0.0) is None
    assert queries_like_these([0.1, -0.2, 0.3], 1e-7) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: smallest_p(-1),
        lambda: smallest_p(5, family=0),
    ],
)
def test_what_is_refused(call: Any) -> None:
    with pytest.raises(InputError):
        call()
