"""Power: the formula against SciPy and published tables, and what queries with ties can show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.power import (
    detectable_difference,
    detectable_like,
    must_differ,
    power,
    power_for,
    power_like,
    queries_needed,
)


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
    with pytest.raises(InputError, match="name fewer"):
        detectable_difference(n=10**400, sd=1.0)
    with pytest.raises(InputError, match="sd must be"):
        detectable_difference(n=10, sd=-1.0)
    with pytest.raises(InputError, match="power must be above alpha"):
        detectable_difference(n=10, sd=1.0, power=0.01)
    with pytest.raises(InputError, match="alpha"):
        power_for(0.1, n=10, sd=1.0, alpha=5)


def test_ties_stay_ties() -> None:
    """Of 200 queries 20 differ: a shift of all of them would be seen much sooner."""
    spread = 0.09
    smallest = float(detectable_like(200, 0.1, spread, alpha=0.05, largest=1.0))
    plain = detectable_difference(n=200, sd=math.sqrt(0.1 * spread))
    assert smallest > 1.1 * plain
    assert power_like(smallest, 200, 0.1, spread, 0.05) == pytest.approx(0.8)
    assert math.isinf(float(detectable_like(200, 0.02, spread, alpha=0.05, largest=1.0)))
    assert power_like(0.02, 200, 0.02, spread, 0.05) == 0.0


def test_sizes_to_plan_with() -> None:
    """More queries like these show smaller differences; too few show none."""
    random = np.random.default_rng(5)
    qrels = {f"q{n}": {"d": 1} for n in range(60)}
    runs = [{q: {"d": random.random(), "a": 0.3, "b": 0.6} for q in qrels} for _ in range(2)]
    report = power(qrels, runs[0], runs[1], ["RR@10", "P@1"], target=0.05)
    for answer in report.measures.values():
        assert [size.queries for size in answer.sizes] == [9, 50, 200, 500]
        sizes = [size.detectable for size in answer.sizes]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[1] > answer.detectable > sizes[2]
        assert answer.needed is not None
        assert answer.needed > 60
        share = answer.differing / answer.n
        assert answer.needed * share >= must_differ()
    few = power(qrels, runs[0], runs[1], "RR@10", sizes=[3]).measures["RR@10"].sizes[0]
    assert math.isinf(few.detectable)
