"""Paired d: by hand, its interval against SciPy's noncentral t, edges."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.effects import Effect, paired_effects

stats: Any = import_module("scipy.stats")


def only(differences: Any, **options: Any) -> Effect:
    [effect] = paired_effects(differences, **options)
    return effect


def test_by_hand() -> None:
    effect = only([1.0, 2.0, 3.0])
    assert effect.d == pytest.approx(2.0)
    assert effect.hedges == pytest.approx(2.0 * math.gamma(1) / math.gamma(0.5))


def test_many_rows() -> None:
    rows = np.random.default_rng(0).normal(0.4, 1, size=(4, 20))
    rows[2] = 0.5
    together = paired_effects(rows)
    assert together == [only(row) for row in rows]
    assert together[2].d == math.inf


@pytest.mark.parametrize(
    ("row", "d"), [([0.0], 0.0), ([0.0] * 5, 0.0), ([0.2], math.inf), ([-0.1] * 3, -math.inf)]
)
def test_no_spread(row: list[float], d: float) -> None:
    effect = only(row)
    assert (effect.d, effect.low, effect.high) == (d, -math.inf, math.inf)
    assert effect.note
    assert effect.to_dict()["low"] is None


def test_bad_input() -> None:
    with pytest.raises(InputError, match="empty"):
        paired_effects([])
    with pytest.raises(InputError, match="level"):
        paired_effects([0.1], level=1.0)
