"""How often tests and intervals are wrong where nothing differs: simulations with fixed seeds.

`benches/honesty.py` measures the same on scores of real runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gate.worlds import world
from rankscope.statistics.choices import TESTS
from rankscope.statistics.gate import gate
from rankscope.statistics.groups import group_pairs, subset_tests
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.tests import corrected, paired_tests


def most(repetitions: int, alpha: float = 0.05) -> float:
    """Return the highest share of false alarms to expect: three standard errors above alpha."""
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / repetitions)


@pytest.mark.parametrize("test", TESTS)
def test_paired_tests(test: Any) -> None:
    rows = np.random.default_rng(0).normal(size=(600, 30))
    results = paired_tests(rows, test=test, resamples=1_000)
    assert 0.015 < np.mean([result.p <= 0.05 for result in results]) < 0.085


@pytest.mark.parametrize("method", ["auto", "bca", "t"])
def test_intervals_of_means(method: Any) -> None:
    samples = np.random.default_rng(0).beta(2, 3, size=(400, 50))
    intervals = mean_intervals(samples, method=method, resamples=1_000)
    assert 0.90 < np.mean([one.low <= 0.4 <= one.high for one in intervals]) < 0.985


Draw = Callable[[Any, int], Any]
VALUES: dict[str, Draw] = {
    "nDCG": lambda random, n: random.beta(0.6, 0.5, n),
    "RR": lambda random, n: 1.0 / random.geometric(0.3, n),
    "Success": lambda random, n: (random.random(n) < 0.9).astype(float),
    "DCG": lambda random, n: random.pareto(2.0, n),  # a few values outweigh all others
}


@pytest.mark.parametrize("kind", VALUES)
def test_random_groups_of_queries(kind: str) -> None:
    """200 worlds of 100 queries: 60 groups of 10 queries up, and four groups that share nothing."""
    random = np.random.default_rng(8)
    by_subset = by_pair = 0
    for _ in range(200):
        values = VALUES[kind](random, 100)
        members = random.random((60, 100)).argsort(axis=1) < random.integers(10, 91, size=(60, 1))
        by_subset += corrected(subset_tests(values, members)[0]).min() <= 0.05
        groups = np.split(values, [40, 70, 90])
        by_pair += corrected([pair.p for pair in group_pairs(groups)]).min() <= 0.05
    assert by_subset <= 17  # more in 2 % of all runs, if the rate were 0.05
    assert by_pair <= 17


def test_small_groups_that_vary_more() -> None:
    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(200):
        sizes = ((200, 0.05), (100, 0.05), (12, 0.3), (8, 0.3))
        groups = [random.normal(0.5, spread, size) for size, spread in sizes]
        alarms += corrected([pair.p for pair in group_pairs(groups)]).min() <= 0.05
    assert alarms <= 17


def test_a_gate_over_noise() -> None:
    """Two-sided at 0.05: a drop is found by chance in 2.5 % of cases; 400 worlds give 10 ± 3."""
    options: Any = {"max_drop": 0, "test": "t", "resamples": 100}
    answers = [gate(*world(40, drop=0.0, seed=seed), **options).answer for seed in range(400)]
    assert 2 <= answers.count("regression") <= 20


def test_a_gate_finds_drops_as_often_as_the_power_says() -> None:
    """Of 60 queries with sd 0.1 a drop of 0.0369 is seen in 80 %; 200 worlds give 160 ± 5.7."""
    options: Any = {"max_drop": 0, "test": "t", "resamples": 100}
    passed = [gate(*world(60, drop=0.0369, seed=seed), **options).passed for seed in range(200)]
    assert 140 <= passed.count(False) <= 180


def test_two_sided_strays_less_than_one_sided_where_differences_are_skewed() -> None:
    """The numbers of docs/explanation/gate.md: 25 exponential differences around 0, 4,000 times."""
    differences = 1 - np.random.default_rng(0).exponential(1, (4000, 25))
    p = np.array([result.p for result in paired_tests(differences, test="t")])
    falls = differences.mean(axis=1) < 0
    one_sided = [float(np.mean((p <= 0.1) & side)) for side in (falls, ~falls)]
    assert one_sided == pytest.approx([0.02, 0.11], abs=0.005)
    assert np.mean(p <= 0.05) == pytest.approx(0.08, abs=0.005)
    assert np.mean((p <= 0.05) & ~falls) == pytest.approx(0.07, abs=0.005)
