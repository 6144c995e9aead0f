"""Runs of one system: the split by hand, by simulation, and at its edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.seeds import split_variance


def test_by_hand() -> None:
    """Mean squares: queries 0.08, runs 0.015, rest 0."""
    split = split_variance([[0.2, 0.6, 0.4], [0.3, 0.7, 0.5]])
    assert split.mean == pytest.approx(0.45)
    assert split.run_means == pytest.approx((0.4, 0.5))
    assert split.variance.query == pytest.approx(0.04)
    assert split.variance.seed == pytest.approx(0.005)
    assert split.variance.residual == pytest.approx(0.0, abs=1e-15)
    assert split.standard_error == pytest.approx(math.sqrt(0.04 / 3 + 0.005 / 2))
    assert split.freedom == pytest.approx(0.095**2 / (0.08**2 / 2 + 0.015**2 / 1))


def test_the_parts_are_found_again() -> None:
    random = np.random.default_rng(0)
    parts: list[Any] = []
    for _ in range(300):
        queries = random.normal(0, 0.3, size=40)
        seeds = random.normal(0, 0.1, size=(6, 1))
        split = split_variance(0.5 + queries + seeds + random.normal(0, 0.2, size=(6, 40)))
        parts.append((split.variance.query, split.variance.seed, split.variance.residual))
    assert np.mean(parts, axis=0) == pytest.approx([0.09, 0.01, 0.04], rel=0.08)


def test_the_interval_covers_new_queries_and_new_seeds() -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(500):
        queries = random.normal(0, 0.3, size=30)
        seeds = random.normal(0, 0.1, size=(4, 1))
        split = split_variance(0.5 + queries + seeds + random.normal(0, 0.1, size=(4, 30)))
        covered += split.interval.low <= 0.5 <= split.interval.high
    assert 0.92 < covered / 500 < 0.98


def test_one_run() -> None:
    values = [0.1, 0.4, 0.9, 0.3]
    split = split_variance(values)
    [plain] = mean_intervals(values, method="t")
    assert (split.interval.low, split.interval.high) == pytest.approx((plain.low, plain.high))
    assert split.variance.seed is None
    assert "one run" in split.note
    assert split.to_dict()["variance"]["seed"] is None


def test_one_query_and_no_variance() -> None:
    assert split_variance([[0.1], [0.2]]).standard_error == math.inf
    assert split_variance([[0.1], [0.2]]).to_dict()["standard_error"] is None
    still = split_variance(np.full((3, 5), 0.5))
    assert (still.standard_error, still.interval.low, still.interval.high) == (0.0, 0.5, 0.5)
