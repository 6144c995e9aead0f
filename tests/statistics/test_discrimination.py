"""Discriminative power: against the tests it is made of."""

from __future__ import annotations

import doctest
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics import discrimination as module
from rankscope.statistics.discrimination import discriminative_power
from rankscope.statistics.max_t import max_t
from rankscope.statistics.paired import paired_tests

RANDOM = np.random.default_rng(0)
LEVELS = np.array([0.0, 0.1, 0.5, 0.6])[:, np.newaxis]
SHARP = RANDOM.normal(0, 0.1, (4, 20)) + LEVELS
BLUNT = RANDOM.normal(0, 0.8, (4, 20)) + LEVELS


def test_pairs_by_themselves() -> None:
    sharp, blunt = discriminative_power({"blunt": BLUNT, "sharp": SHARP}, test="t")
    assert (sharp.measure, blunt.measure) == ("sharp", "blunt")
    changes = [SHARP[b] - SHARP[a] for a, b in combinations(range(4), 2)]
    p_values = [result.p for result in paired_tests(changes, test="t")]
    assert sharp.p_values == tuple(sorted(p_values, reverse=True))
    assert sharp.separated == np.mean(np.array(p_values) <= 0.05)
    assert (sharp.pairs, sharp.systems, sharp.topics, sharp.test) == (6, 4, 20, "t")
    assert sharp.separated > blunt.separated


def test_as_one_family() -> None:
    [result] = discriminative_power({"sharp": SHARP}, alpha=0.01)
    family = max_t(SHARP, alpha=0.01, resamples=10_000)
    assert sorted(result.p_values) == sorted(family.p.tolist())
    assert result.test == "max_t"


def test_what_difference_is_needed() -> None:
    """Pairs 0.1, 0.3 and 0.4 apart, without noise but for one query; only 0.1 is not separated."""
    values = np.tile(LEVELS[:3] * [1], (1, 20))
    values[1] = values[0] + np.where(np.arange(20) < 2, 1.0, 0.0)
    values[2] = values[0] + 0.4
    [result] = discriminative_power({"m": values}, test="sign")
    gaps = sorted(abs(values[b].mean() - values[a].mean()) for a, b in combinations(range(3), 2))
    assert gaps[0] == pytest.approx(0.1)
    assert result.needed == pytest.approx(gaps[1])
    [none] = discriminative_power({"m": np.ones((3, 5))})
    assert (none.needed, none.separated) == (None, 0)
    [every] = discriminative_power({"m": np.tile(LEVELS, (1, 20))}, test="sign")
    assert every.separated == 1
    assert every.needed == pytest.approx(0.1)


def test_a_long_curve_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    [whole] = discriminative_power({"m": SHARP}, test="t")
    monkeypatch.setattr(module, "CURVE", 3)
    [thinned] = discriminative_power({"m": SHARP}, test="t")
    assert thinned.p_values == tuple(whole.p_values[place] for place in (0, 2, 5))
    assert thinned.separated == whole.separated


def test_ties_by_name() -> None:
    found = discriminative_power({"b": SHARP, "a": SHARP}, test="t")
    assert [row.measure for row in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("scores", "options"),
    [({"m": [[0.1, 0.2]]}, {}), ({"m": SHARP}, {"alpha": 2})],
)
def test_what_is_refused(scores: dict[str, Any], options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        discriminative_power(scores, **options)


def test_an_unknown_test() -> None:
    with pytest.raises(LookupError, match="max_t"):
        discriminative_power({"m": SHARP}, test="maxt")  # type: ignore[arg-type]


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
