"""Raters apart: the planted one is named and no other, and random ones are not."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rankscope.statistics.rater_outliers import RaterDeviation, rater_deviations


def table(raters: int = 4, items: int = 120, right: float = 0.8, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, items)
    chance = random.integers(0, 4, (raters, items))
    return np.where(random.random((raters, items)) < right, truth, chance).astype(np.float64)


def apart(rows: list[RaterDeviation]) -> list[int]:
    return [place for place, row in enumerate(rows) if row.is_apart]


def biased(rows: list[RaterDeviation]) -> list[int]:
    return [place for place, row in enumerate(rows) if row.is_biased]


@pytest.mark.parametrize(("raters", "planted"), [(3, 0), (4, 2)])
def test_a_rater_that_inverts_is_named(raters: int, planted: int) -> None:
    grades = table(raters)
    grades[planted] = 3 - grades[planted]
    rows = rater_deviations(grades, groups=np.arange(120) // 6)
    assert apart(rows) == [planted]
    assert rows[planted].agreement < rows[planted].others  # type: ignore[operator]
    assert biased(rows) == []


def test_a_rater_that_grades_higher_is_named_and_the_others_are_not() -> None:
    grades = table(3, right=0.9)
    grades[1] += 1
    rows = rater_deviations(grades, groups=np.arange(120) // 6)
    assert biased(rows) == [1]
    assert rows[1].bias == pytest.approx(1, abs=0.2)
    assert rows[0].bias_p is not None
    assert rows[0].bias_p < 0.05  # by itself significant, and explained by the other rater
    more = np.vstack([grades, table(2, right=0.9)])  # five raters, of whom two are biased
    more[0] -= 1
    assert biased(rater_deviations(more, groups=np.arange(120) // 6)) == [0, 1]


def test_equal_raters_are_not_named() -> None:
    named = [
        place
        for seed in range(15)
        for rows in [rater_deviations(table(seed=seed, items=60))]
        for place in apart(rows) + biased(rows)
    ]
    assert len(named) <= 2  # at most a twentieth of the 15 tables, and some slack


def test_a_small_difference_is_not_named_however_sure() -> None:
    grades = np.tile(np.arange(4.0), (3, 2500))
    grades[0, ::50] = (grades[0, ::50] + 1) % 4
    rows = rater_deviations(grades)
    assert rows[0].agreement_p is not None
    assert rows[0].agreement_p < 0.001
    assert apart(rows) == biased(rows) == []


def test_two_raters_cannot_tell_who_is_apart() -> None:
    rows = rater_deviations([[0, 1, 2, 3] * 10, [3, 2, 1, 0] * 10])
    assert apart(rows) == biased(rows) == []
    assert rows[0].agreement is None
    assert rows[0].agreement_p is None
    assert rows[0].bias == pytest.approx(0)


def test_numbers_by_hand() -> None:
    grades = np.array([[0, 2, 3, np.nan], [1, 2, 3, 1], [3, 2, 0, 2], [np.nan, 1, 3, np.nan]])
    rows = rater_deviations(grades)
    for place, row in enumerate(rows):
        biases, near, among = [], [], []
        for column in grades.T:
            others = [g for r, g in enumerate(column) if r != place and not np.isnan(g)]
            if np.isnan(column[place]) or not others:
                continue
            biases.append(column[place] - np.mean(others))
            if len(others) > 1:
                near.append(np.mean([(column[place] - g) ** 2 for g in others]))
                among.append(np.mean([(a - b) ** 2 for a, b in combinations(others, 2)]))
        given = grades[~np.isnan(grades)]
        chance = np.mean([(a - b) ** 2 for a, b in combinations(given, 2)])
        assert row.items == len(biases)
        assert row.bias == pytest.approx(np.mean(biases))
        assert row.agreement == pytest.approx(1 - np.mean(near) / chance)
        assert row.others == pytest.approx(1 - np.mean(among) / chance)


def test_odd_tables() -> None:
    assert rater_deviations(np.empty((0, 3)), raters=0) == []
    [row] = rater_deviations([[1.0, 2.0]])
    assert (row.items, row.bias, row.bias_p, row.agreement) == (0, None, None, None)
    rows = rater_deviations([[1.0] * 20] * 3)
    assert [(row.bias, row.agreement, row.is_apart) for row in rows] == [(0.0, None, False)] * 3
    unshared = rater_deviations([[1, np.nan], [np.nan, 1]])
    assert [row.items for row in unshared] == [0, 0]
