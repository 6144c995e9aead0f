"""What is concluded: intervals, letters, markers and verdicts never contradict each other."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.choices import CORRECTIONS, PAIR_TESTS
from rankscope.statistics.clusters import Sample
from rankscope.statistics.compare import compare, sample_of
from rankscope.statistics.compared import compare_pairs, system_groups
from rankscope.statistics.family import family_tests
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.noise import run_noise
from rankscope.statistics.pair import Pairs
from rankscope.statistics.pairwise import agreeing
from rankscope.statistics.settings import Settings


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
        *({"test": test} for test in PAIR_TESTS),
        *({"correction": correction} for correction in CORRECTIONS),
    ]
)


@settings(max_examples=120, deadline=None)
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
        assert excludes_zero(pair.shown) == differs
        assert (pair.p_corrected <= alpha) or not differs
        assert pair.shown.low <= pair.difference <= pair.shown.high
        if not pair.decidable:
            assert pair.verdict == "no difference shown"
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
    assert bool(moved.note) == ((moved.low, moved.high) != (low, high))


# --- many systems --------------------------------------------------------------------------------


def test_many_systems_are_separated() -> None:
    """40 systems from 0.1 to 0.9: Holm over 780 pairs with 10,000 resamples separates none."""
    random = np.random.default_rng(0)
    levels = np.linspace(0.1, 0.9, 40)[:, np.newaxis]
    values = np.clip(levels + random.normal(0, 0.1, (40, 30)), 0, 1)
    matrix = matrix_of(values)
    pairs = compare_pairs(matrix, all_pairs(matrix), Settings.of())
    far = [pair for pair in pairs if abs(pair.difference) > 0.2]
    assert len(far) > 300
    assert all(pair.verdict != "no difference shown" for pair in far)
    [(letters, near)] = system_groups(matrix, pairs)
    apart = pairs.apart("AP", matrix.systems)
    shared = [[bool(set(a) & set(b)) for a in letters] for b in letters]
    assert (np.array(shared) == ~apart).all()
    assert 0 < len(near) < 15
    assert 39 in near


def test_what_cannot_be_reached_is_said() -> None:
    random = np.random.default_rng(1)
    matrix = matrix_of(random.random((3, 4)))
    tests = family_tests(matrix, all_pairs(matrix), Settings.of())
    assert tests.note(Settings.of()).startswith("too few queries differ to show anything")
    many = matrix_of(random.random((130, 8)))
    held = Settings.of(test="bootstrap")
    assert family_tests(many, all_pairs(many), held).note(held) == (
        "100,000 resamples cannot show any difference at 0.05 over 8,385 tests; use max-t, or t "
        "with Holm"
    )
    fine = matrix_of(random.random((3, 40)))
    assert family_tests(fine, all_pairs(fine), Settings.of()).note(Settings.of()) == ""


def test_tests_of_single_pairs_draw_more_for_more_pairs() -> None:
    held = Settings.of(test="permutation")
    assert held.resamples_for(1) == 10_000
    assert held.resamples_for(528) == 100_000
    assert Settings.of(correction="none").resamples_for(528) == 10_000


# --- clusters, weights, noise --------------------------------------------------------------------


@pytest.mark.parametrize("test", PAIR_TESTS)
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
        assert other.shown.low == pytest.approx(one.shown.low, abs=0.01)


def test_weights_are_those_of_a_multiset() -> None:
    """A query of weight 3 in the mean counts as three."""
    random = np.random.default_rng(5)
    values = random.random((3, 8))
    weights = np.array([1, 3, 2, 1, 1, 4, 1, 2], dtype=np.float64)
    matrix = matrix_of(values, sample=Sample(None, weights))
    copied = np.repeat(values, weights.astype(int), axis=1)
    assert matrix.means()[0].tolist() == pytest.approx(copied.mean(axis=1).tolist())
    pair = compared(matrix)[0]
    assert pair.difference == pytest.approx((copied[1] - copied[0]).mean())
    assert pair.queries == 8


def test_clusters_and_weights_in_compare() -> None:
    qrels = {f"q{n}": {"d": 1} for n in range(12)}
    good = {q: {"d": 2.0, "x": 1.0} for q in qrels}
    mixed = {q: {"d": float(n % 3), "x": 1.5} for n, q in enumerate(qrels)}
    labels = {q: n // 2 for n, q in enumerate(qrels)}
    result = compare(qrels, {"a": good, "b": mixed}, ["RR"], clusters=labels)
    assert result.clusters == 6
    assert result.anova == {}
    weights = {q: float(n % 3 == 0) for n, q in enumerate(qrels)}
    weighted = compare(qrels, {"a": good, "b": mixed}, ["RR"], weights=weights)
    assert weighted.weighted
    assert weighted.mean("b", "RR").mean == pytest.approx(0.5)
    assert weighted.pairs[0].difference == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("clusters", "weights", "message"),
    [
        ({}, None, "no label is known"),
        (None, {"q1": 1.0}, "1 compared query without a weight, the first is 'q2'"),
        (None, {"q1": 1.0, "q2": -1.0}, "query 'q2' has '-1.0', not a number from 0 up"),
        (None, {"q1": 1.0, "q2": "many"}, "query 'q2' has 'many'"),
        (None, {"q1": 0, "q2": 0}, "all compared queries weigh 0"),
    ],
)
def test_what_is_not_known_of_queries(clusters: Any, weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sample_of(["q1", "q2"], clusters, weights)


def test_a_query_without_a_cluster_is_one_by_itself() -> None:
    sample = sample_of(["q1", "q2", "q3"], {"q1": "a", "q3": "q2"}, None)
    assert sample is not None
    assert sample.clusters is not None
    assert len(set(sample.clusters)) == 3, "no label is mistaken for a query's id"


def test_noise_is_only_ever_added() -> None:
    random = np.random.default_rng(7)
    matrix = matrix_of(random.random((2, 40)))
    held = Settings.of(resamples=200)
    noise = run_noise(random.random((4, 40)))
    [plain] = compare_pairs(matrix, [(0, 1)], held)
    [noisy] = compare_pairs(matrix, [(0, 1)], held, noises={(0, 0): [(noise, 1.0)]})
    assert noisy.p >= plain.p
    assert noisy.shown.low <= plain.shown.low
    assert noisy.shown.high >= plain.shown.high


# --- settings ------------------------------------------------------------------------------------


def test_test_and_correction_go_together() -> None:
    def chosen(**options: Any) -> tuple[str, str | None]:
        made = Settings.of(**options)
        return made.test, made.correction

    assert chosen() == ("max-t", None)
    assert chosen(correction="bh") == ("permutation", "bh")
    assert chosen(test="t") == ("t", "holm")
    assert chosen(test="t", correction="none") == ("t", "none")
    assert chosen(test="tukey") == ("tukey", None)
    assert chosen(test="tukey", correction="holm", family="all") == ("tukey", "holm")
    for test in ("max-t", "tukey"):
        with pytest.raises(InputError, match=f"{test} tests all pairs at once"):
            Settings.of(test=test, correction="holm")


def test_one_heavy_query_is_no_evidence() -> None:
    """All of twenty queries fall, and one has nearly all of the weight: it is worth one query."""
    random = np.random.default_rng(12)
    values = np.stack([random.uniform(0.6, 0.9, 20), random.uniform(0.1, 0.4, 20)])
    weights = np.ones(20)
    [plain] = compared(matrix_of(values, sample=Sample(None, weights)))
    assert plain.verdict == "worse"
    weights[0] = 1000.0
    sample = Sample(None, weights)
    assert sample.effective(20) == pytest.approx(1, abs=0.1)
    [heavy] = compared(matrix_of(values, sample=sample))
    assert heavy.verdict == "no difference shown"
    assert np.isinf(heavy.detectable)
    ids = [f"q{number}" for number in range(20)]
    qrels = {query_id: {"d": 1} for query_id in ids}
    runs = {name: {q: ["d", "x"] if name == "a" else ["x", "d"] for q in ids} for name in "ab"}
    by_id = dict(zip(ids, weights.tolist(), strict=True))
    assert "worth about 1 of equal weight" in compare(qrels, runs, ["RR"], weights=by_id).note


def test_queries_without_a_cluster_are_counted() -> None:
    qrels = {f"q{n}": {"d": 1} for n in range(8)}
    runs = {name: {q: ["d", "x"] for q in qrels} for name in "ab"}
    labels = {f"q{n}": n % 3 for n in range(6)}
    note = compare(qrels, runs, ["RR"], clusters=labels).note
    assert note == "2 queries without a cluster, each taken by itself"
    with pytest.raises(InputError, match="all compared queries are in one cluster"):
        compare(qrels, runs, ["RR"], clusters=dict.fromkeys(qrels, "same"))


def test_identical_systems_are_no_reason_to_warn() -> None:
    random = np.random.default_rng(13)
    values = random.random((2, 40))
    matrix = matrix_of([*values, values[0]])
    assert family_tests(matrix, all_pairs(matrix), Settings.of()).note(Settings.of()) == ""


def test_a_margin_as_large_as_the_range_is_refused() -> None:
    with pytest.raises(InputError, match="AP cannot differ by more than 1"):
        compared(matrix_of(np.random.default_rng(1).random((2, 10))), margin=1.5)


def test_equivalent_systems_share_a_letter() -> None:
    random = np.random.default_rng(14)
    values = np.stack([np.full(60, 0.5), np.full(60, 0.52)]) + random.normal(0, 0.001, (2, 60))
    matrix = matrix_of(values)
    pairs = compared(matrix, margin=0.1)
    assert pairs[0].verdict == "equivalent"
    assert pairs[0].p_corrected < 0.05
    [(letters, _)] = system_groups(matrix, pairs)
    assert letters == ["a", "a"]
