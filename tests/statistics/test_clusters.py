"""Clusters, weights and noise: what they are worth, against the plain case and by hand."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.arrays import row_means
from rankscope.statistics.clusters import Sample, unit_errors
from rankscope.statistics.comparison import compare_pairs
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.noise import RunNoise, add_noise, run_noise
from rankscope.statistics.settings import Settings

stats: Any = import_module("scipy.stats")

VALUES = np.random.default_rng(3).random(12)


def error_of(values: Any, sample: Sample) -> tuple[float, float, float]:
    """Return the mean of one row, its standard error and degrees of freedom."""
    rows = np.atleast_2d(values)
    units = sample.units(rows)
    mean = row_means(units)
    errors, freedom = unit_errors(units, mean, sample.shares(rows.shape[1]))
    return float(mean[0]), float(errors[0]), freedom


def test_single_queries_are_students() -> None:
    mean, error, freedom = error_of(VALUES, Sample())
    assert (mean, error, freedom) == pytest.approx((VALUES.mean(), stats.sem(VALUES), 11))


def test_copies_in_a_cluster_add_nothing() -> None:
    labels = tuple(str(number) for number in range(12)) * 5
    assert error_of(np.tile(VALUES, 5), Sample(labels)) == pytest.approx(error_of(VALUES, Sample()))


def test_a_weight_is_a_cluster_of_copies() -> None:
    times = np.array([1, 2, 3] * 4)
    copied = Sample(tuple(map(str, np.repeat(np.arange(12), times))))
    weighted = error_of(VALUES, Sample(None, times.astype(float)))
    assert weighted == pytest.approx(error_of(np.repeat(VALUES, times), copied))


def test_edges() -> None:
    assert math.isinf(error_of([0.1, 0.2], Sample(("a", "a")))[1])
    without = Sample(None, np.array([1.0, 1.0, 0.0]))
    assert error_of([0.1, 0.4, 99.0], without)[0] == pytest.approx(0.25)
    [same] = Sample(("a", "b", "b")).intervals(
        np.full((1, 3), 0.3), level=0.95, bounds=[(0.0, 1.0)]
    )
    assert same.method == "unseen"


# --- noise ---------------------------------------------------------------------------------------


def test_joint_degrees_of_freedom() -> None:
    first, second = RunNoise(run_means=(0.0,) * 3, deviation=0.3), run_noise([[0.1], [0.3], [0.2]])
    error, freedom = add_noise(0.2, 9.0, [(first, 1 / 3), (second, 2.0)])
    parts = [0.04, 0.09 / 3, 2 * second.deviation**2]
    assert error == pytest.approx(math.sqrt(sum(parts)))
    expected = sum(parts) ** 2 / (parts[0] ** 2 / 9 + parts[1] ** 2 / 2 + parts[2] ** 2 / 2)
    assert freedom == pytest.approx(expected)
    assert add_noise(0.2, 9.0, []) == pytest.approx((0.2, 9.0))
    with pytest.raises(InputError, match="two runs"):
        run_noise([0.1, 0.2])


def test_a_rebuilt_index_that_is_clearly_worse_is_worse() -> None:
    """nDCG .230 against .306, three builds of s.d. .0056: it is worse, not "can't tell"."""
    random = np.random.default_rng(1)
    base = np.clip(random.normal(0.306, 0.2, 200), 0, 1)
    system = np.clip(base + random.normal(-0.076, 0.15, 200), 0, 1)
    matrix = Matrix(
        systems=("exact", "index"),
        scales=(Scale.of("nDCG@10"),),
        query_ids=tuple(f"q{number:03}" for number in range(200)),
        values=np.stack([base, system])[np.newaxis],
    )
    noise = RunNoise(run_means=(0.2244, 0.230, 0.2356), deviation=0.0056)
    settings = Settings.of(correction="none")
    [pair] = compare_pairs(matrix, [(0, 1)], settings, noises={(0, 0): [(noise, 1.0)]})
    assert pair.verdict == "worse"
    assert pair.interval.high < 0
