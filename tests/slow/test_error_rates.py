"""How often tests and intervals are wrong where nothing differs: simulations with fixed seeds.

`make error-rates` measures all promises, on scores of official runs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reliability.error_rates import Skewed, family_error, promises, worlds

from rankscope.statistics.groups import group_pairs, subset_tests
from rankscope.statistics.tests import corrected, paired_tests

ROBUST = Path(os.environ.get("RANKSCOPE_COLLECTIONS", "nowhere")) / "robust03"

SKEWED = "differences of skewness 1.4"
EXCEPTIONS = {
    ("60 % zeros", "interval of a mean holds the truth"),
    (SKEWED, "interval of a mean holds the truth"),
    (SKEWED, "gate: false alarms"),
}
"""What docs/explanation/error-rates.md says does not hold with few queries."""


@pytest.mark.skipif(not (ROBUST / "qrels.txt.gz").is_file(), reason="no runs of robust03")
def test_what_is_promised_on_official_runs() -> None:
    """A fiftieth of `make error-rates`; where there are few repetitions, chance is allowed for."""
    missed = []
    for promise in promises(worlds(ROBUST), share=0.02):
        if "126" in promise.name or (promise.world, promise.name) in EXCEPTIONS:
            continue
        spare = 3.5 / math.sqrt(promise.repetitions)
        for n in (10, 25):
            rate = promise.rate(n, 0)
            low = promise.low_few if n == 10 else promise.low
            high = promise.high + spare * math.sqrt(promise.high * (1 - promise.high))
            if rate > high or rate < low - spare * math.sqrt(low * (1 - low)):
                missed.append((promise.name, promise.world, n, rate))
    assert missed == []


def test_many_systems_whose_differences_are_skewed() -> None:
    """Among 7,875 pairs some sample hides its skewness; without the raise this is 0.15."""
    assert family_error(Skewed(1.4), 126, 150, 25, 0) <= 0.07


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


def test_two_sided_strays_less_than_one_sided_where_differences_are_skewed() -> None:
    """The numbers of docs/explanation/gate.md: 25 exponential differences around 0, 4,000 times."""
    differences = 1 - np.random.default_rng(0).exponential(1, (4000, 25))
    p = paired_tests(differences, test="t")[0]
    falls = differences.mean(axis=1) < 0
    one_sided = [float(np.mean((p <= 0.1) & side)) for side in (falls, ~falls)]
    assert one_sided == pytest.approx([0.02, 0.11], abs=0.005)
    assert np.mean(p <= 0.05) == pytest.approx(0.08, abs=0.005)
    assert np.mean((p <= 0.05) & ~falls) == pytest.approx(0.07, abs=0.005)
