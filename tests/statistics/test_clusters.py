"""Clusters and weights: against Student's t, plain repetition, a dense matrix and simulation."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.clusters import (
    cluster_means,
    cluster_sums,
    cluster_tests,
)
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.max_t import max_t
from rankscope.statistics.paired import paired_tests

RANDOM = np.random.default_rng(2)
VALUES = RANDOM.normal(0.2, 1, size=12)
LABELS = ["a", "b", "c", "d", "a", "b", "c", "d", "a", "b", "c", "d"]


def test_single_queries_are_students_t() -> None:
    [mean] = cluster_means(VALUES)
    [expected] = mean_intervals(VALUES, method="t")
    assert (mean.low, mean.high) == pytest.approx((expected.low, expected.high))
    assert mean.freedom == pytest.approx(11)
    assert mean.effective == pytest.approx(12)
    assert mean.design_effect == pytest.approx(1)
    [result] = paired_tests(VALUES, test="t")
    assert cluster_tests(VALUES, test="t") == pytest.approx([result.p])
    [flipped] = paired_tests(VALUES)
    assert cluster_tests(VALUES) == [flipped.p]


def test_copies_of_queries_add_nothing() -> None:
    """Each query asked five times over: the same answer as asking once."""
    once = cluster_means(VALUES)[0]
    often = cluster_means(np.tile(VALUES, 5), clusters=list(range(12)) * 5)[0]
    assert (often.low, often.high, often.freedom) == pytest.approx(
        (once.low, once.high, once.freedom)
    )
    assert often.design_effect == pytest.approx(5 * (1 - 1 / 60) / (1 - 1 / 12))
    assert often.queries == 60
    assert cluster_tests(np.tile(VALUES, 5), clusters=list(range(12)) * 5) == cluster_tests(VALUES)


def test_weights_of_whole_numbers_are_repetition() -> None:
    times = RANDOM.integers(1, 5, size=12)
    repeated = np.repeat(VALUES, times)
    [weighted] = cluster_means(VALUES, weights=times)
    [spread_out] = cluster_means(repeated, clusters=np.repeat(np.arange(12), times).tolist())
    assert weighted.mean == pytest.approx(repeated.mean())
    assert weighted.standard_error == pytest.approx(spread_out.standard_error)
    assert weighted.freedom == pytest.approx(spread_out.freedom)
    assert cluster_tests(VALUES, weights=times) == pytest.approx(
        cluster_tests(repeated, clusters=np.repeat(np.arange(12), times).tolist())
    )


def test_flips_against_all_of_them() -> None:
    labels = ["x", "x", "y", "z", "z", "z", "u", "v"]
    values, weights = RANDOM.normal(0.5, 1, 8), RANDOM.random(8)
    names = sorted(set(labels))
    together = np.array([[label == name for label in labels] for name in names])
    sums = together @ (weights * values)
    flips = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=5)]
    expected = np.mean([flip >= abs(sum(sums)) - 1e-12 for flip in flips])
    assert cluster_tests(values, clusters=labels, weights=weights) == pytest.approx([expected])
    both = cluster_sums([np.zeros(8), values], labels, weights)
    assert max_t(both).p[0] == pytest.approx(expected)


def test_edges() -> None:
    [alone] = cluster_means([0.1, 0.2], clusters=["a", "a"])
    assert (alone.standard_error, alone.low, alone.high) == (math.inf, -math.inf, math.inf)
    assert alone.to_dict()["standard_error"] is None
    assert cluster_tests([0.1, 0.2], clusters=["a", "a"], test="t") == [1.0]
    assert cluster_tests([0.1, 0.2], clusters=["a", "a"]) == [1.0]
    [bounded] = cluster_means([0.1, 0.2], clusters=["a", "a"], bounds=(0, 1))
    assert (bounded.low, bounded.high) == (0, 1)
    [same] = cluster_means([0.3] * 10, bounds=(0, 1))
    [expected] = mean_intervals([0.3] * 10, bounds=(0, 1))
    assert (same.low, same.high, same.note) == (expected.low, expected.high, expected.note)
    assert cluster_tests([0.0] * 4, test="t") == cluster_tests([0.0] * 4) == [1.0]
    assert cluster_tests([0.5] * 4, test="t") == [0.125]
    [without] = cluster_means([0.1, 0.4, 99.0], weights=[1, 1, 0])
    assert without.clusters == 2
    assert without.mean == pytest.approx(0.25)
    heavy = cluster_means(VALUES, weights=[1000] + [1] * 11)[0]
    assert heavy.effective == pytest.approx(1.02, abs=0.01)
    assert heavy.freedom == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"clusters": ["a"]}, "a cluster for each of 3 queries, got 1"),
        ({"weights": [1, 2]}, "a weight for each of 3 queries, got 2"),
        ({"weights": [1, -1, 1]}, "from 0 up"),
        ({"weights": [0, 0, 0]}, "not all 0"),
        ({"weights": [1, math.nan, 1]}, "finite"),
    ],
)
def test_what_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        cluster_means([0.1, 0.2, 0.3], **options)
