"""Noise of systems: variance components by hand, the paired t test, and error rates."""

from __future__ import annotations

import doctest
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics import noise as module
from rankscope.statistics.noise import noisy_difference, run_noise, seeds_difference
from rankscope.statistics.seeds import split_variance

stats: Any = import_module("scipy.stats")
RANDOM = np.random.default_rng(6)


def test_components_by_hand() -> None:
    """Runs (1, 3) and (2, 6): means 2 and 4, variance 2; rest ±0.5: MS = 4·0.25 = 1; 2 − 1/2."""
    noise = run_noise([[1.0, 3.0], [2.0, 6.0]])
    assert noise.run_means == (2.0, 4.0)
    assert noise.deviation == pytest.approx(math.sqrt(2))
    assert noise.between == pytest.approx(1.5)


def test_components_as_in_the_split_of_seeds() -> None:
    values = RANDOM.normal(size=(4, 30)) + RANDOM.normal(size=30) + RANDOM.normal(size=(4, 1))
    split, noise = split_variance(values), run_noise(values)
    assert noise.between == pytest.approx(split.variance.seed)
    assert noise.deviation == pytest.approx(np.std(split.run_means, ddof=1))


def test_without_noise_it_is_the_paired_t_test() -> None:
    changes = RANDOM.normal(0.3, 1, 15)
    answer = noisy_difference(changes, [])
    expected = stats.ttest_1samp(changes, 0)
    assert answer.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert (answer.low, answer.high) == pytest.approx((ends.low, ends.high))
    assert answer.run_freedom == 0
    quiet = run_noise([[0.1, 0.2, 0.3]] * 3)
    assert quiet.between == 0
    assert noisy_difference(changes, [(quiet, 2)]) == answer


def test_p_and_interval_agree_whatever_the_degrees_of_freedom() -> None:
    """Quantiles of t far out are wrong for broken degrees of freedom; p must not follow them."""
    changes = np.tile([0.02, -0.08], 40)
    for shift in (0.01, 0.03, 0.3):
        noise = run_noise([[0.5 - shift] * 80, [0.5] * 80, [0.5 + shift] * 80])
        answer = noisy_difference(changes, [(noise, 2.0)])
        assert (answer.p <= 0.05) == (answer.high < 0)
        at_p = noisy_difference(changes, [(noise, 2.0)], level=1 - answer.p)
        assert at_p.high == pytest.approx(0, abs=1e-6)


def test_the_two_errors_add_up() -> None:
    changes = RANDOM.normal(0.9, 1, 15)
    noise = run_noise(RANDOM.normal(size=(3, 20)) + np.array([[0.0], [0.3], [-0.2]]))
    answer = noisy_difference(changes, [(noise, 2)])
    query = float(changes.std(ddof=1)) / math.sqrt(15)
    run = math.sqrt(2) * float(np.std(noise.run_means, ddof=1))
    assert (answer.query_error, answer.run_error) == pytest.approx((query, run))
    assert answer.standard_error == pytest.approx(math.sqrt(query**2 + run**2))
    assert answer.run_freedom == pytest.approx(2)
    reach = math.sqrt((stats.t.ppf(0.975, 14) * query) ** 2 + (stats.t.ppf(0.975, 2) * run) ** 2)
    assert answer.high - answer.difference == pytest.approx(reach)
    at_p = noisy_difference(changes, [(noise, 2)], level=1 - answer.p)
    assert min(abs(at_p.low), abs(at_p.high)) == pytest.approx(0, abs=1e-9)
    assert (answer.low > 0 or answer.high < 0) == (answer.p <= 0.05)


def test_noises_share_their_degrees_of_freedom() -> None:
    """Satterthwaite by hand: (a + b)² / (a²/2 + b²/4)."""
    first = run_noise(RANDOM.normal(size=(3, 20)))
    second = run_noise(RANDOM.normal(size=(5, 20)))
    answer = noisy_difference(RANDOM.normal(size=9), [(first, 1 / 3), (second, 1 / 5)])
    a, b = first.deviation**2 / 3, second.deviation**2 / 5
    assert answer.run_freedom == pytest.approx((a + b) ** 2 / (a**2 / 2 + b**2 / 4))


def test_paired_seeds_are_one_table_of_differences() -> None:
    first = RANDOM.normal(size=(4, 25))
    second = first + RANDOM.normal(0.2, 0.3, size=(4, 25)) + RANDOM.normal(size=25)
    answer = seeds_difference(first, second, paired=True)
    changes = second - first
    assert answer.difference == pytest.approx(changes.mean())
    assert answer.run_error == pytest.approx(changes.mean(axis=1).std(ddof=1) / 2)
    assert answer.query_error == pytest.approx(changes.mean(axis=0).std(ddof=1) / 5)


def test_seeds_of_two_systems() -> None:
    first = RANDOM.normal(size=(3, 10)) + np.array([[0.0], [1.0], [2.0]])
    second = RANDOM.normal(size=(5, 10))
    answer = seeds_difference(first, second)
    changes = second.mean(axis=0) - first.mean(axis=0)
    noise = run_noise(first).deviation ** 2 / 3 + run_noise(second).deviation ** 2 / 5
    assert answer.difference == pytest.approx(changes.mean())
    assert answer.standard_error**2 == pytest.approx(changes.var(ddof=1) / 10 + noise)
    turned = seeds_difference(second, first)
    assert (turned.low, turned.high) == pytest.approx((-answer.high, -answer.low))


def test_one_run_of_a_system() -> None:
    several = RANDOM.normal(size=(3, 10)) + np.array([[0.0], [1.0], [2.0]])
    single = RANDOM.normal(size=10)
    note = "one run of one system: how much its seed matters cannot be known"
    answer = seeds_difference(several, single)
    assert answer.note == note
    assert answer.run_error == pytest.approx(run_noise(several).deviation / math.sqrt(3))
    both = seeds_difference(single, several[0])
    assert both.note.startswith("one run: ")
    assert both.run_error == 0


def test_edges() -> None:
    one = noisy_difference([0.2], [], bounds=(-1, 1))
    assert (one.p, one.standard_error) == (1.0, math.inf)
    assert one.to_dict()["standard_error"] is None
    same = noisy_difference([0.2] * 5, [], bounds=(-1, 1))
    assert same.p == 2.0**-4
    assert -1 < same.low < 0.2 < same.high < 1
    assert noisy_difference([0.0] * 5, []).p == 1.0
    single = run_noise([[0.1], [0.3]])
    assert single.between == pytest.approx(0.02)
    widened = noisy_difference([0.2] * 5, [(single, 1)])
    assert (widened.query_error, widened.run_freedom) == pytest.approx((0, 1))
    assert widened.high == pytest.approx(0.2 + stats.t.ppf(0.975, 1) * math.sqrt(0.02))
    assert noisy_difference([0.2, 0.3], [(single, 1)], bounds=(-1, 1)).high == 1
    assert noisy_difference([0.1, -0.1], [(single, 1)]).p == 1.0
    with pytest.raises(InputError, match="two runs"):
        run_noise([0.1, 0.2])
    with pytest.raises(InputError, match="same queries, got 2 and 3"):
        seeds_difference([[0.1, 0.2]], [[0.1, 0.2, 0.3]])
    with pytest.raises(InputError, match="as many for both systems, got 2 and 1"):
        seeds_difference([[0.1], [0.2]], [[0.1]], paired=True)


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_false_positives_over_seeds(runs: int) -> None:
    """200 queries, seeds that move the mean by 0.03; nominal 0.05, 1,000 repetitions.

    With the error of queries alone 0.2 and more are called different.
    """
    random = np.random.default_rng(runs)
    queries = random.normal(0, 0.2, size=(1_000, 1, 200))
    seen = naive = 0
    for topic in queries:
        first, second = (
            random.normal(0, 0.03, size=(runs, 1)) + random.normal(0, 0.05, size=(runs, 200))
            for _ in range(2)
        )
        answer = seeds_difference(first, second + topic)
        seen += answer.p <= 0.05
        naive += abs(answer.difference) > 1.972 * answer.query_error
    assert seen / 1_000 <= 0.05
    assert naive / 1_000 > 0.2


@pytest.mark.parametrize("runs", [2, 5])
@pytest.mark.parametrize("shift", [0.01, 0.05])
def test_false_positives_on_a_noisy_engine(runs: int, shift: float) -> None:
    """One run of each of two equal systems; a run moves all queries by ``shift``."""
    random = np.random.default_rng(7)
    seen = 0
    for _ in range(1_000):
        row = random.normal(0, 0.1, 100) + np.diff(random.normal(0, shift, 2))
        noise = run_noise(random.normal(0, shift, (runs, 1)) + random.normal(0, 0.03, (runs, 100)))
        seen += noisy_difference(row, [(noise, 2)]).p <= 0.05
    assert seen / 1_000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1_000)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
