"""Replicability of an experiment: by hand, and Welch's test against SciPy."""

from __future__ import annotations

import doctest
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics import replicability as module
from rankscope.statistics.replicability import replicability

stats: Any = import_module("scipy.stats")


def test_by_hand() -> None:
    """Effects 0.2 and 0.1, baselines 0.4 and 0.5: ratio 0.5, ΔRI 0.5 − 0.2."""
    answer = replicability([0.2, 0.6], [0.5, 0.7], [0.4, 0.6], [0.5, 0.7])
    assert (answer.effect, answer.effect_again) == pytest.approx((0.2, 0.1))
    assert answer.effect_ratio == pytest.approx(0.5)
    assert (answer.improvement, answer.improvement_again) == pytest.approx((0.5, 0.2))
    assert answer.delta_improvement == pytest.approx(0.3)
    assert answer.rmse_baseline == pytest.approx(math.sqrt(0.04 / 2))
    assert answer.rmse_advanced == 0
    assert answer.p_advanced == 1


def test_the_same_experiment_again() -> None:
    base, better = np.random.default_rng(0).random((2, 12))
    answer = replicability(base, better, base, better)
    assert (answer.effect_ratio, answer.delta_improvement) == (1, 0)
    assert answer.rmse_baseline == answer.rmse_advanced == 0
    assert answer.p_baseline == answer.p_advanced == 1


def test_p_values() -> None:
    random = np.random.default_rng(1)
    one, two = random.random((2, 12))
    three, four = random.random((2, 12))
    same = replicability(one, two, three, four)
    assert same.p_baseline == pytest.approx(stats.ttest_rel(three, one).pvalue)
    assert same.p_advanced == pytest.approx(stats.ttest_rel(four, two).pvalue)
    other = replicability(one, two, three[:8], four[:8], same_topics=False)
    expected = stats.ttest_ind(one, three[:8], equal_var=False).pvalue
    assert other.p_baseline == pytest.approx(expected)
    assert other.rmse_baseline is None
    assert other.effect_again == pytest.approx((four[:8] - three[:8]).mean())


def test_edges() -> None:
    none = replicability([0.0, 0.0], [0.0, 0.0], [0.1, 0.2], [0.2, 0.2])
    assert none.effect_ratio is none.improvement is none.delta_improvement is None
    assert none.to_dict()["effect_ratio"] is None
    flat = replicability([0.5, 0.5], [0.5, 0.5], [0.5] * 3, [0.7] * 3, same_topics=False)
    assert flat.p_baseline == 1
    assert flat.p_advanced < 1e-300
    single = replicability([0.5], [0.6], [0.4], [0.7], same_topics=False)
    assert single.p_baseline == 1


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="same topics, got 1 and 2"):
        replicability([0.1], [0.1, 0.2], [0.1], [0.1])
    with pytest.raises(InputError, match="has 1 topics and the original 2"):
        replicability([0.1, 0.2], [0.1, 0.2], [0.1], [0.1])


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
