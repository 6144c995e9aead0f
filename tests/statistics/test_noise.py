"""Noise of systems: variance components by hand, the paired t test, and error rates."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.noise import noisy_difference, run_noise

stats: Any = import_module("scipy.stats")
RANDOM = np.random.default_rng(6)


def test_components_by_hand() -> None:
    """Runs (1, 3) and (2, 6): means 2 and 4, variance 2; rest ±0.5: MS = 4·0.25 = 1; 2 − 1/2."""
    noise = run_noise([[1.0, 3.0], [2.0, 6.0]])
    assert noise.run_means == (2.0, 4.0)
    assert noise.deviation == pytest.approx(math.sqrt(2))
    assert noise.between == pytest.approx(1.5)


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


def test_noises_share_their_degrees_of_freedom() -> None:
    """Satterthwaite by hand: (a + b)² / (a²/2 + b²/4)."""
    first = run_noise(RANDOM.normal(size=(3, 20)))
    second = run_noise(RANDOM.normal(size=(5, 20)))
    answer = noisy_difference(RANDOM.normal(size=9), [(first, 1 / 3), (second, 1 / 5)])
    a, b = first.deviation**2 / 3, second.deviation**2 / 5
    assert answer.run_freedom == pytest.approx((a + b) ** 2 / (a**2 / 2 + b**2 / 4))


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
