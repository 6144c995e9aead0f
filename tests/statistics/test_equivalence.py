"""Two one-sided tests: SciPy as oracle, the interval's agreement, identical runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.equivalence import Equivalence, equivalence_tests, noisy_equivalence
from rankscope.statistics.noise import run_noise

stats: Any = import_module("scipy.stats")

ROWS = np.random.default_rng(2).normal(0.005, 0.05, size=(6, 80))


def only(differences: Any, **options: Any) -> Equivalence:
    [result] = equivalence_tests(differences, **options)
    return result


@pytest.mark.parametrize(("count", "equivalent"), [(100, False), (290, False), (310, True)])
def test_identical_runs_need_queries_too(count: int, equivalent: bool) -> None:
    """The rule of three: 3 / n of the queries may differ by as much as the range."""
    result = only(np.zeros(count), margin=0.01, bounds=(-1, 1))
    assert result.equivalent is equivalent
    assert result.p == pytest.approx(0.99**count)
    assert (result.interval.high < 0.01) is equivalent


def test_edges() -> None:
    assert not only([0.2] * 50, margin=0.1, bounds=(-1, 1)).equivalent
    assert not only([0.0], margin=0.1).equivalent
    assert only([0.0] * 3, margin=3.0, bounds=(-1, 1)).equivalent
    with pytest.raises(InputError, match="margin"):
        only([0.1], margin=0)
    with pytest.raises(InputError, match=r"below 0\.5"):
        only([0.1], margin=0.1, alpha=0.5)


def test_noise_of_the_systems_counts() -> None:
    """Two systems with the same mean may be far apart the next time they are asked."""
    random = np.random.default_rng(4)
    differences = random.normal(0, 0.01, 200)
    [quiet] = equivalence_tests(differences, margin=0.02)
    assert quiet.equivalent
    still = run_noise(np.zeros((3, 200)) + random.normal(0, 1e-4, (3, 1)))
    moving = run_noise(np.zeros((3, 200)) + np.array([[0.0], [0.03], [-0.03]]))
    assert noisy_equivalence(quiet, differences, [(still, 1.0)]).equivalent
    loud = noisy_equivalence(quiet, differences, [(moving, 1.0)])
    assert not loud.equivalent
    assert loud.interval.low < -0.02
    assert loud.interval.high > 0.02
