"""Posterior probabilities: against SciPy, sampling from the posterior, and integration by hand."""

from __future__ import annotations

import doctest
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics import bayes as module
from rankscope.statistics.bayes import posteriors
from rankscope.statistics.paired import paired_tests

stats: Any = import_module("scipy.stats")
ROW = np.random.default_rng(0).normal(0.02, 0.1, 30)


def test_against_the_t_distribution() -> None:
    [answer] = posteriors(ROW, margin=0.01)
    posterior = stats.t(29, loc=ROW.mean(), scale=stats.sem(ROW))
    assert answer.worse == pytest.approx(posterior.cdf(-0.01))
    assert answer.better == pytest.approx(posterior.sf(0.01))
    assert answer.within == pytest.approx(posterior.cdf(0.01) - posterior.cdf(-0.01))
    assert answer.method == "t"


def test_against_draws_from_the_posterior() -> None:
    """Variance from the scaled inverse χ², then the mean given it: the same by another way."""
    random = np.random.default_rng(1)
    variance = 29 * ROW.var(ddof=1) / random.chisquare(29, 200_000)
    means = random.normal(ROW.mean(), np.sqrt(variance / 30))
    [answer] = posteriors(ROW, margin=0.02)
    assert answer.better == pytest.approx(np.mean(means > 0.02), abs=0.005)
    assert answer.worse == pytest.approx(np.mean(means < -0.02), abs=0.005)


def test_without_a_margin_it_is_half_of_the_paired_test() -> None:
    [answer] = posteriors(ROW)
    [result] = paired_tests(ROW, test="t")
    assert min(answer.better, answer.worse) == pytest.approx(result.p / 2)
    assert answer.within == pytest.approx(0, abs=1e-12)


def test_exchanging_the_systems() -> None:
    there, back = posteriors([ROW, -ROW], margin=0.03)
    assert (there.better, there.worse) == pytest.approx((back.worse, back.better))


def test_identical_runs_by_integration() -> None:
    """Share ~ Beta(1, n), towards −1 or 1: P(within m) = P(share < m)."""
    [answer] = posteriors([0.0] * 50, margin=0.01)
    assert answer.within == pytest.approx(stats.beta(1, 50).cdf(0.01))
    assert answer.better == answer.worse
    assert answer.method == "unseen"
    [none] = posteriors([0.0] * 50)
    assert (none.better, none.within, none.worse) == (0.5, 0, 0.5)


@pytest.mark.parametrize("value", [0.3, -0.3])
def test_constant_differences_by_sampling(value: float) -> None:
    random = np.random.default_rng(2)
    share = random.beta(1, 4, 200_000)
    ends = random.choice([-1.0, 1.0], 200_000)
    means = value + share * (ends - value)
    [answer] = posteriors([value] * 4, margin=0.1)
    assert answer.better == pytest.approx(np.mean(means > 0.1), abs=0.005)
    assert answer.worse == pytest.approx(np.mean(means < -0.1), abs=0.005)
    [one] = posteriors([value], margin=0.1, bounds=(-1, 1))
    assert one.method == "unseen"


def test_calibration() -> None:
    """True means drawn widely: of answers with P(better) near 0.8, 0.8 are better."""
    random = np.random.default_rng(3)
    truths = random.uniform(-0.5, 0.5, 20_000)
    rows = np.clip(truths[:, np.newaxis] + random.normal(0, 0.3, (20_000, 8)), -5, 5)
    answers = posteriors(rows, bounds=(-5, 5))
    chosen = [at for at, answer in enumerate(answers) if 0.75 <= answer.better <= 0.85]
    assert np.mean(truths[chosen] > 0) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    "options", [{"margin": -1}, {"margin": np.inf}, {"bounds": (0.1, 1)}, {"bounds": (-0.01, 0.01)}]
)
def test_what_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        posteriors(ROW, **options)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
