"""Paired tests: SciPy, all sign flips, edges by hand, laws; `frozen/test_oracles.py` has more."""

from __future__ import annotations

import math
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError, UnknownNameError
from rankscope.statistics import arrays as rows_module
from rankscope.statistics.choices import TESTS, Test
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.settings import Settings
from rankscope.statistics.tests import paired_tests, skew_p

stats: Any = import_module("scipy.stats")

RANDOM = np.random.default_rng(11)
FEW = RANDOM.normal(0.3, 1, size=(4, 9))
MANY = RANDOM.normal(0.1, 1, size=(5, 80))
tenths = st.lists(st.integers(-10, 10).map(lambda x: x / 10), min_size=1, max_size=30)


def only(differences: Any, **options: Any) -> float:
    return float(paired_tests(differences, **options)[0][0])


def enumerated(differences: Any) -> float:
    """Try every sign flip in whole numbers, so that equal sums are equal."""
    whole = [round(float(x) * 1_000_000) for x in differences]
    observed = abs(sum(whole))
    flips = list(product((1, -1), repeat=len(whole)))
    sums = [abs(sum(s * x for s, x in zip(flip, whole, strict=True))) for flip in flips]
    return sum(total >= observed for total in sums) / len(flips)


@pytest.mark.parametrize("seed", range(3))
def test_permutation_is_exact_with_equal_sums(seed: int) -> None:
    row = np.random.default_rng(seed).integers(-4, 6, size=11) / 10
    assert only(row) == enumerated(row)


def test_permutation_with_many_zeros_is_exact() -> None:
    row = np.zeros(5_000)
    row[[3, 50, 700]] = 0.1, 0.2, 0.3
    assert only(row) == 0.25


def test_sampled_permutation_is_the_exact_one_but_for_chance() -> None:
    row = RANDOM.normal(0.45, 1, size=17)
    signs = 1 - 2 * (np.arange(2**17)[:, None] >> np.arange(17) & 1)
    exact = (np.abs(signs @ row) >= abs(row.sum()) - 1e-9).mean()
    result = only(row, resamples=20_000)
    assert result == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("count", [1, 2, 100])
def test_identical_runs(test: Test, count: int) -> None:
    assert [each.tolist() for each in paired_tests(np.zeros(count), test=test)] == [[1.0], [0.0]]
    assert only([0.7], test=test) == 1.0, "one query shows nothing"


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("count", [2, 5, 12])
def test_equal_differences_are_as_sure_as_their_signs(test: Test, count: int) -> None:
    assert only([0.1] * count, test=test) == pytest.approx(2.0 ** (1 - count))


def test_a_tiny_p_is_not_zero() -> None:
    row = np.where(np.arange(3_000) % 2, 0.5, 0.51)
    for test in TESTS:
        assert 0 < only(row, test=test, resamples=200) < 0.01


def test_batches_do_not_change_a_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {test: paired_tests(MANY, test=test, resamples=500)[0].tolist() for test in TESTS}
    monkeypatch.setattr(rows_module, "BLOCK", 200)
    for test in TESTS:
        assert paired_tests(MANY, test=test, resamples=500)[0].tolist() == whole[test]


def test_a_row_does_not_depend_on_its_company() -> None:
    for test in TESTS:
        together = paired_tests(MANY, test=test, resamples=500)[0].tolist()
        assert together == [only(row, test=test, resamples=500) for row in MANY]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="differences are empty"):
        paired_tests([[]])
    with pytest.raises(UnknownNameError, match="bootstrap"):
        paired_tests([0.1], test="bootstrp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="resamples"):
        paired_tests([0.1], resamples=10)


@settings(max_examples=40, deadline=None)
@given(tenths, st.sampled_from(list(TESTS)), st.randoms())
def test_laws(row: list[float], test: Test, random: Any) -> None:
    result = only(row, test=test, resamples=200)
    assert 0 < result <= 1
    moved = list(row)
    random.shuffle(moved)
    assert only(moved, test=test, resamples=200) == result
    assert only([-x for x in row], test=test, resamples=200) == result
    scaled = only([x * 8 for x in row], test=test, resamples=200)
    assert scaled == pytest.approx(result, rel=1e-9)


# --- skewed differences --------------------------------------------------------------------------


def student(rows: Any) -> tuple[Any, Any]:
    """Return |t| and its p-values."""
    p, ratio = paired_tests(rows, test="t")
    return np.abs(ratio), p


def test_hall_is_the_published_formula() -> None:
    ratio, p = student(-MANY)
    raised = skew_p(-MANY, ratio, np.full(len(MANY), 79.0))
    skewness = stats.skew(-MANY, axis=1, bias=False) * -np.sign(MANY.mean(axis=1))
    for row, (t, g) in enumerate(zip(ratio, skewness, strict=True)):
        if g >= 0:  # on the side of the mean
            assert raised[row] == p[row]
        else:
            a = abs(g) / math.sqrt(80)
            hall = t - a * t**2 / 3 + a**2 * t**3 / 27 - a / 6
            assert raised[row] == pytest.approx(2 * stats.t.sf(hall, 79), rel=1e-12)
    assert (skewness < 0).any()
    assert (skewness > 0).any()


def test_skewed_differences_that_only_chance_makes_are_not_shown_too_often() -> None:
    away = np.random.default_rng(3).gamma(2.0, 1.0, size=(20_000, 10)) - 2.0
    ratio, p = student(away)
    raised = skew_p(away, ratio, np.full(len(away), 9.0))
    assert (p <= 0.05).mean() > 0.07  # Student's t alone
    assert (raised <= 0.05).mean() < 0.05


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([5, 10, 25, 60]),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.sampled_from([1, 28, 7_875]),
)
def test_the_limit_of_skewness_never_lowers_p(
    seed: int, queries: int, shape: float, together: int
) -> None:
    """Nor does it know which system is named first, or the order of the queries."""
    random = np.random.default_rng(seed)
    change = 0.02 * (random.gamma(shape, 1.0, (1, queries)) - 1.5 * shape)
    limits = [
        skew_p(rows, np.array([2.5]), np.array([queries - 1.0])).tolist()
        for rows in (change, -change, random.permutation(change, axis=1))
    ]
    assert limits[0] == limits[1] == limits[2]
    raised, mirrored = (
        skew_p(rows, np.array([2.5]), np.array([queries - 1.0]), together=together).tolist()
        for rows in (change, -change)
    )
    assert limits[0] <= raised == mirrored
    base = np.full((1, 1, queries), 0.5)
    matrix = Matrix(
        systems=("base", "system"),
        scales=(Scale.of("AP"),),
        query_ids=tuple(f"q{query:02}" for query in range(queries)),
        values=np.concatenate([base, base + change], axis=1),
    )
    one, other = (
        Differences.of(matrix, [pair], Settings(), together=together) for pair in ((0, 1), (1, 0))
    )
    assert one.p[0] == other.p[0] >= one.p_interval[0]
    [interval], [opposite] = (rows.intervals(rows.p, 0.05) for rows in (one, other))
    assert (interval.low, interval.high) == (-opposite.high, -opposite.low)
    assert (interval.low <= 0 <= interval.high) == (one.p[0] > 0.05)
    if one.p_interval[0] <= 0.05 < one.p[0]:
        assert interval.level > 0.95, "where p is raised, the interval is wider than that of t"
