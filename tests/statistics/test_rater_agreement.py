"""Agreement of raters: published examples, other tools' numbers, naive twins, undefined cases."""

from __future__ import annotations

from itertools import permutations
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankscope.errors import InputError, UnknownNameError
from rankscope.statistics.rater_agreement import (
    Level,
    Weights,
    agreements,
    cohen_kappa,
    krippendorff_alpha,
    majority,
)

NAN = np.nan
LEVELS: tuple[Level, ...] = get_args(Level)
WEIGHTS: tuple[Weights, ...] = get_args(Weights)

KRIPPENDORFF: Any = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
"""Krippendorff, Computing Krippendorff's alpha-reliability, 2011, section C: four observers."""


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_own_example(level: Level, value: float) -> None:
    answer = krippendorff_alpha(KRIPPENDORFF, level=level)
    assert answer.value == pytest.approx(value, abs=5e-4)
    assert answer.items == 11  # the last unit has a single value


# Made once with krippendorff 0.9.0 and scikit-learn 1.9.1 (cohen_kappa_score with labels 0 to 4, of
# the first two raters), from this table.
TABLE: Any = [
    [0, 1, 2, 3, 4, 4, 2, 1, 0, 3, 3, NAN],
    [0, 1, 2, 3, 4, 0, 1, 1, NAN, 3, 2, 2],
    [0, NAN, 2, 2, 4, 4, 2, NAN, 0, 3, 0, 2],
    [1, 1, NAN, 3, 3, 4, 2, NAN, 0, NAN, 3, NAN],
]

ALPHAS = (0.5905511811023623, 0.6285441176470589, 0.6203059805285118)
KAPPAS = (0.625, 0.4972067039106145)


def test_numbers_of_other_tools() -> None:
    for level, value in zip(LEVELS, ALPHAS, strict=True):
        assert krippendorff_alpha(TABLE, level=level).value == pytest.approx(value, abs=1e-12)
    for weights, value in zip(WEIGHTS, KAPPAS, strict=True):
        assert cohen_kappa(*TABLE[:2], weights=weights).value == pytest.approx(value, abs=1e-12)


# --- naive twins, from the formulas


def naive_alpha(table: Any, level: Level) -> float | None:
    columns = [[grade for grade in column if not np.isnan(grade)] for column in np.array(table).T]
    columns = [column for column in columns if len(column) > 1]
    grades = sorted({grade for column in columns for grade in column})
    if len(grades) < 2:
        return None
    coincidences = {(c, k): 0.0 for c in grades for k in grades}
    for column in columns:
        for c, k in permutations(column, 2):
            coincidences[c, k] += 1 / (len(column) - 1)
    sums = {c: sum(coincidences[c, k] for k in grades) for c in grades}

    def distance(c: float, k: float) -> float:
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return (c - k) ** 2
        low, high = sorted((c, k))
        between = sum(sums[grade] for grade in grades if low <= grade <= high)
        return float((between - (sums[c] + sums[k]) / 2) ** 2)

    total = sum(sums.values())
    seen = sum(coincidences[c, k] * distance(c, k) for c in grades for k in grades)
    chance = sum(sums[c] * sums[k] * distance(c, k) for c in grades for k in grades)
    return float(1 - (total - 1) * seen / chance)


def naive_cohen(first: Any, second: Any, weights: Weights) -> float | None:
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if not np.isnan(a + b)]

    def weight(a: float, b: float) -> float:
        return {"none": float(a != b), "quadratic": (a - b) ** 2}[weights]

    chance = sum(weight(a, b) for a, _ in pairs for _, b in pairs)
    return 1 - len(pairs) * sum(weight(a, b) for a, b in pairs) / chance if chance else None


TABLES = arrays(
    np.float64,
    st.tuples(st.integers(2, 4), st.integers(1, 8)),
    elements=st.sampled_from([0.0, 1.0, 2.0, 4.0, 0.5, -1.0, NAN]),
)


def same(answer: float | None, expected: float | None) -> bool:
    if answer is None or expected is None:
        return answer is expected
    return answer == pytest.approx(expected, abs=1e-9)


@given(TABLES)
@settings(max_examples=40, deadline=None)
def test_formulas(table: Any) -> None:
    for level in LEVELS:
        assert same(krippendorff_alpha(table, level=level).value, naive_alpha(table, level))
    for weights in WEIGHTS:
        answer = cohen_kappa(table[0], table[1], weights=weights).value
        assert same(answer, naive_cohen(table[0], table[1], weights))


# --- defined where others are not


def test_unanimous_raters_agree_perfectly() -> None:
    table = [[0, 1.1, 3, 2.7, 1]] * 3
    for level in LEVELS:
        assert krippendorff_alpha(table, level=level).value == 1.0
    for weights in WEIGHTS:
        assert cohen_kappa(table[0], table[1], weights=weights).value == 1.0
    assert agreements([[0.0, 1, 2] * 10] * 3).ordinal.interval is None  # nothing varies


def test_one_grade_is_undefined_with_a_reason() -> None:
    table: Any = [[2, 2, 2], [2, 2, NAN]]
    answers = [krippendorff_alpha(table, level=level) for level in LEVELS]
    answers.append(cohen_kappa(*table))
    for answer in answers:
        assert answer.value is None
        assert answer.items == 2
        assert "grade 2" in answer.reason
        assert answer.to_dict()["value"] is None


def test_nothing_shared_is_undefined() -> None:
    table: Any = [[1, NAN], [NAN, 2]]
    assert krippendorff_alpha(table).value is None
    assert cohen_kappa(*table).value is None
    assert agreements(table).ordinal.value is None
    assert agreements(np.empty((2, 0))).nominal.value is None


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="infinite"):
        krippendorff_alpha(np.array([[np.inf, 1], [1, 1]]))
    with pytest.raises(InputError, match="row for each rater"):
        krippendorff_alpha(np.zeros((2, 2, 2)))
    bad: Any = "ratio"
    with pytest.raises(UnknownNameError):
        krippendorff_alpha(KRIPPENDORFF, level=bad)
    with pytest.raises(UnknownNameError):
        cohen_kappa([1], [1], weights=bad)


# --- intervals


def noisy(items: int, seed: int, raters: int = 3) -> Any:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, items)
    blurred = np.where(
        random.random((raters, items)) < 0.7, truth, random.integers(0, 4, (raters, items))
    )
    return blurred.astype(np.float64)


def test_intervals_hold_the_value_and_are_seeded() -> None:
    table = noisy(150, 1)
    answers, again = agreements(table, seed=3), agreements(table, seed=3)
    assert answers == again
    assert answers != agreements(table, seed=4)
    for name in LEVELS:
        answer = getattr(answers, name)
        assert answer.interval.low < answer.value < answer.interval.high
        wide = getattr(agreements(noisy(40, 1)), name).interval
        assert answer.interval.high - answer.interval.low < wide.high - wide.low


def test_groups_are_drawn_as_a_whole() -> None:
    """Copies of the items of a group add nothing to what is known."""
    table = noisy(40, 3)
    copied, groups = np.repeat(table, 10, axis=1), np.repeat(np.arange(40), 10)
    once = agreements(table).ordinal.interval
    together = agreements(copied, groups=groups).ordinal.interval
    apart = agreements(copied).ordinal.interval
    assert once is not None
    assert together is not None
    assert apart is not None
    assert together.low == pytest.approx(once.low, abs=0.02)
    assert apart.high - apart.low < 0.5 * (once.high - once.low)
    few = agreements(copied, groups=groups // 8).ordinal.interval  # five groups: items are drawn
    assert few == apart


# --- consensus


@given(TABLES)
@settings(max_examples=40, deadline=None)
def test_majority(table: Any) -> None:
    for column, most in zip(table.T, majority(table), strict=True):
        grades = column[~np.isnan(column)].tolist()
        counts = sorted({(grades.count(grade), grade) for grade in grades}, reverse=True)
        alone = counts and (len(counts) == 1 or counts[0][0] > counts[1][0])
        assert (most == counts[0][1]) if alone else np.isnan(most)
