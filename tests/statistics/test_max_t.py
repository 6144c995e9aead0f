"""Max-T: against full enumeration; error rates are in `slow`."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rankscope.errors import InputError
from rankscope.statistics import max_t as module
from rankscope.statistics.max_t import max_t

Floats = npt.NDArray[np.float64]


def absolute_t(changes: Floats) -> float:
    """Return Student's |t|, infinite without spread; equal ones are equal after rounding."""
    if not changes.any():
        return -1.0
    error = changes.std(ddof=1) / np.sqrt(len(changes))
    return round(float(abs(changes.mean()) / error), 7) if error > 1e-9 else np.inf


def enumerated(changes: Floats) -> list[float]:
    """Test rows of differences with every sign flip, as the definition reads."""
    observed = [absolute_t(row) for row in changes]
    order = sorted(range(len(changes)), key=lambda pair: -observed[pair])
    flips = [np.array(signs) for signs in product((-1, 1), repeat=changes.shape[1])]
    under = [[absolute_t(row * signs) for row in changes] for signs in flips]
    p_values, before = [1.0] * len(changes), 0.0
    for place, pair in enumerate(order):
        reached = [max(row[rival] for rival in order[place:]) >= observed[pair] for row in under]
        before = max(before, float(np.mean(reached)))
        p_values[pair] = before if changes[pair].any() else 1.0
    return p_values


def all_pairs(values: Floats) -> Floats:
    return np.array([values[b] - values[a] for a, b in combinations(range(len(values)), 2)])


@pytest.mark.parametrize("seed", range(3))
def test_all_flips_of_few_queries(seed: int) -> None:
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 4, size=(4, 8)) / 4 + np.array([[0], [0.5], [0], [0.25]])
    result = max_t(coarse)
    assert result.exact
    assert result.flips == 2**7
    assert result.p.tolist() == pytest.approx(enumerated(all_pairs(coarse)))


def test_against_a_baseline() -> None:
    values = np.random.default_rng(3).integers(0, 5, size=(4, 9)) / 4
    result = max_t(values, baseline=2)
    assert result.first.tolist() == [2, 2, 2]
    assert result.second.tolist() == [0, 1, 3]
    changes = values[[0, 1, 3]] - values[2]
    assert result.p.tolist() == pytest.approx(enumerated(changes))
    assert result.differences.tolist() == pytest.approx(changes.mean(axis=1).tolist())


def test_joined_measures_are_one_family() -> None:
    random = np.random.default_rng(4)
    cube = random.integers(0, 4, size=(2, 3, 7)) * np.array([[[1.0]], [[100.0]]])
    joined = max_t(cube)
    both = np.concatenate([all_pairs(cube[0]), all_pairs(cube[1])])
    assert joined.measure.tolist() == [0, 0, 0, 1, 1, 1]
    assert joined.p.tolist() == pytest.approx(enumerated(both))
    apart = [max_t(cube[0]).p, max_t(cube[1]).p]
    assert (joined.p >= np.concatenate(apart) - 1e-12).all()


def test_sampled_flips_come_near_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(8).random((5, 14)) + np.array([[0], [0], [0.2], [0.4], [0.8]])
    exact = max_t(values)
    monkeypatch.setattr(module, "ENUMERATED", 3)
    sampled = max_t(values, resamples=40_000)
    assert (exact.exact, sampled.exact, sampled.flips) == (True, False, 40_000)
    assert sampled.p == pytest.approx(exact.p, abs=0.01)
    assert sampled.critical == pytest.approx(exact.critical, rel=0.02)
    monkeypatch.setattr(module, "HELD", 5_000)  # many blocks
    assert max_t(values, resamples=40_000).p == pytest.approx(exact.p, abs=0.01)


def test_p_values_reach_far_below_alpha_over_pairs() -> None:
    """40 systems are 780 pairs: with Holm, 1/10,001 · 780 would be the smallest p-value."""
    random = np.random.default_rng(10)
    values = random.random((40, 50)) + np.linspace(0, 2, 40)[:, np.newaxis]
    result = max_t(values)
    assert result.p.min() == pytest.approx(1 / 10_001)
    assert result.separated.mean() > 0.5
    assert max_t([[0.0] * 5, [1.0, 0.9, 0.8, 0.9, 0.7]]).floor.tolist() == [0.0625], "2 / 2⁵"
    assert result.table().sum() == 2 * result.separated.sum()


def test_equal_and_constant_pairs() -> None:
    base = np.random.default_rng(1).random(20)
    result = max_t([base, base, base + 0.25])
    same, shifted = 0, 1
    assert result.p[same] == 1
    assert result.p[shifted] == pytest.approx(1 / 10_001)
    assert max_t([[0.1], [0.9]]).p.tolist() == [1.0]
    nothing = max_t(np.ones((3, 4)))
    assert nothing.p.tolist() == [1.0, 1.0, 1.0]
    assert nothing.flips == 1


def test_no_order_matters() -> None:
    random = np.random.default_rng(12)
    values = random.random((6, 30)).round(2)
    result = max_t(values, resamples=400)
    queries, systems = random.permutation(30), random.permutation(6)
    moved = max_t(values[systems][:, queries], resamples=400)
    expected = np.ones((6, 6))
    expected[result.first, result.second] = expected[result.second, result.first] = result.p
    assert (moved.p == expected[systems[moved.first], systems[moved.second]]).all()
    assert max_t(values, baseline=1, resamples=400, seed=1).p.tolist() == (
        max_t(values[:, queries], baseline=1, resamples=400, seed=1).p.tolist()
    )


@pytest.mark.parametrize(
    ("values", "options", "problem"),
    [
        ([0.1, 0.2], {}, "shape"),
        (np.zeros((2, 0)), {}, "shape"),
        ([[0.1, 0.2]], {}, "two systems"),
        ([[0.1, np.nan], [0.1, 0.2]], {}, "NaN"),
        ([[0.1, 0.2], [0.1, 0.2]], {"baseline": 2}, "row from 0 to 1"),
        ([[0.1, 0.2], [0.1, 0.2]], {"alpha": 0}, "alpha"),
        ([[0.1, 0.2], [0.1, 0.2]], {"resamples": 9}, "resamples"),
    ],
)
def test_what_is_refused(values: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        max_t(values, **options)
