"""Power: the formula against SciPy and published tables, the simulation against the formula."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.statistics.detectable import (
    detectable_difference,
    power_for,
    queries_needed,
    simulated_detectable_difference,
    simulated_power,
    simulated_queries_needed,
)
from rankscope.statistics.power import power_of

stats: Any = import_module("scipy.stats")

NORMAL = np.random.default_rng(3).normal(0.02, 0.2, size=400)


def test_published_sample_sizes() -> None:
    """Cohen, Statistical Power Analysis, 1988: paired, d = 0.2, 0.5, 0.8 at 0.05 and 0.80.

    G*Power 3.1 prints 199, 34 and 15 for "means: difference between two dependent means".
    """
    assert [queries_needed(d, sd=1.0) for d in (0.2, 0.5, 0.8)] == [199, 34, 15]


def test_the_three_questions_agree() -> None:
    smallest = detectable_difference(n=80, sd=0.25, alpha=0.01, power=0.9)
    assert power_for(smallest, n=80, sd=0.25, alpha=0.01) == pytest.approx(0.9, abs=1e-9)
    needed = queries_needed(0.05, sd=0.25)
    assert power_for(0.05, n=needed, sd=0.25) >= 0.8 > power_for(0.05, n=needed - 1, sd=0.25)


def test_edges() -> None:
    assert power_for(0.5, n=1, sd=0.1) == 0.0
    assert power_for(0.5, n=10, sd=0.0) == 0.0
    assert detectable_difference(n=1, sd=0.1) == math.inf
    assert detectable_difference(n=10, sd=0.0) == math.inf
    with pytest.raises(InputError, match="must not be 0"):
        queries_needed(0.0, sd=0.1)
    with pytest.raises(InputError, match="sd is 0"):
        queries_needed(0.1, sd=0.0)
    with pytest.raises(InputError, match="would be needed"):
        queries_needed(1e-9, sd=1.0)
    with pytest.raises(InputError, match="sd must be"):
        detectable_difference(n=10, sd=-1.0)
    with pytest.raises(InputError, match="power must be above alpha"):
        detectable_difference(n=10, sd=1.0, power=0.01)
    with pytest.raises(InputError, match="alpha"):
        power_for(0.1, n=10, sd=1.0, alpha=5)


def test_simulation_agrees_with_the_formula_where_differences_are_normal() -> None:
    sd = float(NORMAL.std(ddof=1))
    for n in (20, 100):
        formula = power_for(0.06, n=n, sd=sd)
        assert simulated_power(NORMAL, 0.06, n=n) == pytest.approx(formula, abs=0.035)
        smallest = detectable_difference(n=n, sd=sd)
        assert simulated_detectable_difference(NORMAL, n=n) == pytest.approx(smallest, rel=0.06)
    needed = simulated_queries_needed(NORMAL, 0.06)
    assert needed == pytest.approx(queries_needed(0.06, sd=sd), rel=0.1)


@pytest.mark.parametrize("test", ["permutation", "wilcoxon", "sign", "bootstrap"])
def test_simulation_with_other_tests(test: Any) -> None:
    found = simulated_power(NORMAL, 0.1, n=40, test=test, repetitions=300)
    assert 0.5 < found <= 1
    assert simulated_power(NORMAL, 0.0, n=40, test=test, repetitions=300) < 0.12


def test_simulation_edges() -> None:
    assert simulated_power(np.zeros(20), 0.1) == 0.0
    assert simulated_power([0.3], 0.1) == 0.0
    assert simulated_detectable_difference(np.full(9, 0.1)) == math.inf
    assert simulated_queries_needed(np.zeros(20), 0.1) is None
    assert simulated_queries_needed(NORMAL, 0.001, most=500) is None
    with pytest.raises(UnknownNameError, match="test"):
        simulated_power(NORMAL, 0.1, test="tt")  # type: ignore[arg-type]


def test_report() -> None:
    report = power_of(NORMAL, target=0.05)
    assert report.n == 400
    assert report.observed == pytest.approx(NORMAL.mean())
    assert report.detectable.formula == pytest.approx(0.028, abs=0.002)
    assert report.detectable.simulation == pytest.approx(report.detectable.formula, rel=0.06)
    assert report.needed is not None
    assert report.needed.formula == queries_needed(0.05, sd=report.sd)
    assert report == power_of(NORMAL[::-1], target=0.05)
    assert report.differing == 400


def test_ties_stay_ties() -> None:
    """Of 200 queries 20 differ: a shift of all of them would be seen much sooner."""
    random = np.random.default_rng(9)
    row = np.zeros(200)
    row[:20] = random.normal(0, 0.3, 20)
    report = power_of(row, target=0.02, largest=1.0)
    assert report.detectable.simulation == pytest.approx(report.detectable.formula, rel=0.15)
    plain = detectable_difference(n=200, sd=float(row.std(ddof=1)))
    assert report.detectable.formula > 1.1 * plain
    few = np.zeros(200)
    few[:4] = [0.3, -0.2, 0.25, 0.1]
    report = power_of(few, largest=1.0)
    assert (report.detectable.formula, report.detectable.simulation) == (math.inf, math.inf)
