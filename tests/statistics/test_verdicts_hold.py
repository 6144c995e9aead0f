"""What is concluded: intervals, letters, markers and verdicts never contradict each other."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.choices import CORRECTIONS, TESTS
from rankscope.statistics.clusters import Sample
from rankscope.statistics.comparison import compare, compare_pairs, system_groups
from rankscope.statistics.intervals import Interval, agreeing
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.noise import run_noise
from rankscope.statistics.settings import Settings
from rankscope.statistics.system_pairs import Pairs


def matrix_of(values: Any, measure: str = "AP", sample: Sample | None = None) -> Matrix:
    """Return the matrix of one measure's ``values[s, n]``."""
    rows = np.asarray(values, dtype=np.float64)
    return Matrix(
        systems=tuple(f"s{system:03}" for system in range(len(rows))),
        scales=(Scale.of(measure),),
        query_ids=tuple(f"q{query:04}" for query in range(rows.shape[1])),
        values=rows[np.newaxis],
        sample=sample,
    )


def all_pairs(matrix: Matrix) -> list[tuple[int, int]]:
    return list(combinations(range(len(matrix.systems)), 2))


def compared(matrix: Matrix, **options: Any) -> Pairs:
    return compare_pairs(matrix, all_pairs(matrix), Settings.of(resamples=200, **options))


# --- agreement -----------------------------------------------------------------------------------


def excludes_zero(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


ways = st.sampled_from(
    [
        {},
        *({"test": test} for test in TESTS),
        *({"correction": correction} for correction in CORRECTIONS),
    ]
)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.integers(2, 6), st.integers(1, 40)),
    st.sampled_from([0.0, 0.5, 0.9]),
    ways,
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_no_interval_contradicts_its_verdict(
    seed: int, shape: tuple[int, int], ties: float, way: dict[str, Any], alpha: float
) -> None:
    random = np.random.default_rng(seed)
    systems, queries = shape
    values = random.beta(0.6, 0.8, (1, queries)) * np.ones((systems, 1))
    moved = random.random((systems, queries)) > ties
    values = np.where(moved, random.beta(0.6, 0.8, (systems, queries)), values)
    matrix = matrix_of(values)
    pairs = compared(matrix, alpha=alpha, **way)
    for pair in pairs:
        differs = pair.verdict in ("better", "worse")
        assert excludes_zero(pair.interval) == differs
        assert (pair.p_corrected <= alpha) or not differs
        assert pair.interval.low <= pair.difference <= pair.interval.high
        if not pair.decidable:
            assert pair.verdict == "can't tell"
    [(letters, near)] = system_groups(matrix, pairs)
    means = values.mean(axis=1)
    best = int(np.argmax(means))
    for pair, (one, other) in zip(pairs, all_pairs(matrix), strict=True):
        differs = pair.verdict in ("better", "worse")
        assert bool(set(letters[one]) & set(letters[other])) != differs
        if best in (one, other) and means[one] != means[other]:
            assert ((one in near) and (other in near)) != differs


@pytest.mark.parametrize(
    ("low", "high", "difference", "p", "ends"),
    [
        (0.01, 0.2, 0.1, 0.01, (0.01, 0.2)),  # they agree
        (-0.01, 0.2, 0.1, 0.2, (-0.01, 0.2)),
        (-0.01, 0.2, 0.1, 0.05, (0.0001, 0.2)),
        (-0.2, 0.01, -0.1, 0.05, (-0.2, -0.0001)),
        (0.01, 0.2, 0.1, 1.0, (-0.1, 0.2)),
        (-0.2, -0.01, -0.1, 1.0, (-0.2, 0.1)),
        (0.0, 0.0, 0.0, 1.0, (0.0, 0.0)),
    ],
)
def test_agreeing(
    low: float, high: float, difference: float, p: float, ends: tuple[float, float]
) -> None:
    interval = Interval(low=low, high=high, level=0.95, method="t")
    moved = agreeing(interval, difference, p, 0.05)
    assert (moved.low, moved.high) == pytest.approx(ends)


# --- clusters, weights, noise --------------------------------------------------------------------


@pytest.mark.parametrize("test", TESTS)
def test_every_test_draws_clusters(test: str) -> None:
    """Copies of a query in one cluster are one query, whatever the test."""
    random = np.random.default_rng(11)
    values = random.random((3, 12))
    copied = np.repeat(values, 4, axis=1)
    sample = Sample(tuple(f"c{number // 4}" for number in range(48)))
    plain, together = (
        compared(matrix_of(values), test=test),
        compared(matrix_of(copied, sample=sample), test=test),
    )
    for one, other in zip(plain, together, strict=True):
        assert other.p_corrected == pytest.approx(one.p_corrected, abs=0.02)
        assert other.difference == pytest.approx(one.difference)
        assert other.interval.low == pytest.approx(one.interval.low, abs=0.01)


def test_a_query_without_a_cluster_is_one_by_itself() -> None:
    sample = Sample.of(["q1", "q2", "q3"], {"q1": "a", "q3": "q2"}, None)
    assert sample is not None
    assert sample.clusters is not None
    assert len(set(sample.clusters)) == 3, "no label is mistaken for a query's id"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"clusters": {}}, "label"),
        ({"clusters": {"q1": "same", "q2": "same"}}, "one cluster"),
        ({"weights": {"q1": 1.0}}, "'q2'"),
        ({"weights": {"q1": 1.0, "q2": -1.0}}, "'-1.0'"),
        ({"weights": {"q1": 1.0, "q2": "many"}}, "'many'"),
        ({"weights": {"q1": 0, "q2": 0}}, "0"),
        ({"margin": 1.5}, "more than 1"),
    ],
)
def test_what_is_refused(options: Any, problem: str) -> None:
    qrels = {query_id: {"d": 1} for query_id in ("q1", "q2")}
    answers = {"a": ["d", "x"], "b": ["x", "d"]}
    runs = {name: dict.fromkeys(qrels, answers[name]) for name in answers}
    with pytest.raises(InputError, match=problem):
        compare(qrels, runs, ["RR"], **options)


def test_noise_is_only_ever_added() -> None:
    random = np.random.default_rng(7)
    matrix = matrix_of(random.random((2, 40)))
    held = Settings.of(resamples=200)
    noise = run_noise(random.random((4, 40)))
    [plain] = compare_pairs(matrix, [(0, 1)], held)
    [noisy] = compare_pairs(matrix, [(0, 1)], held, noises={(0, 0): [(noise, 1.0)]})
    assert noisy.p >= plain.p
    assert noisy.interval.low <= plain.interval.low
    assert noisy.interval.high >= plain.interval.high


def test_one_heavy_query_is_no_evidence() -> None:
    """All of twenty queries fall, and one has nearly all of the weight: it is worth one query."""
    random = np.random.default_rng(12)
    values = np.stack([random.uniform(0.6, 0.9, 20), random.uniform(0.1, 0.4, 20)])
    weights = np.ones(20)
    [plain] = compared(matrix_of(values, sample=Sample(None, weights)))
    assert plain.verdict == "worse"
    weights[0] = 1000.0
    sample = Sample(None, weights)
    [heavy] = compared(matrix_of(values, sample=sample))
    assert heavy.verdict == "can't tell"
    assert np.isinf(heavy.detectable)


def test_equivalent_systems_share_a_letter() -> None:
    random = np.random.default_rng(14)
    values = np.stack([np.full(60, 0.5), np.full(60, 0.52)]) + random.normal(0, 0.001, (2, 60))
    matrix = matrix_of(values)
    pairs = compared(matrix, margin=0.1)
    assert pairs[0].verdict == "equivalent"
    assert pairs[0].p_corrected < 0.05
    [(letters, _)] = system_groups(matrix, pairs)
    assert letters == ["a", "a"]
