"""Relative changes: Fieller's interval holds the ratios that a paired t test does not reject."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.statistics.relative_change import relative_change

stats: Any = import_module("scipy.stats")


@pytest.mark.parametrize("seed", range(5))
def test_the_ends_are_where_the_t_test_is_at_its_level(seed: int) -> None:
    random = np.random.default_rng(seed)
    base = random.random(30)
    system = np.clip(base + random.normal(0.1, 0.2, 30), 0, 1)
    change, interval = relative_change(base, system, level=0.9)
    assert change == pytest.approx(system.mean() / base.mean() - 1)
    assert interval is not None
    assert interval.low < change < interval.high  # type: ignore[operator]
    for end in (interval.low, interval.high):
        p = stats.ttest_1samp(system - (1 + end) * base, 0).pvalue
        assert p == pytest.approx(0.1, abs=1e-9)


def test_where_there_is_no_interval() -> None:
    assert relative_change([0.0, 0.0], [0.5, 1.0]) == (None, None)
    assert relative_change([0.5], [1.0]) == (1.0, None)
    assert relative_change([0.5, 0.5], [1.0, 1.0]) == (1.0, None)
    # a base that could be 0 itself: any ratio may be
    change, interval = relative_change([0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0])
    assert (change, interval) == (1.0, None)


def test_one_row_on_each_side() -> None:
    with pytest.raises(InputError, match="one row"):
        relative_change([[0.5, 0.4], [0.1, 0.2]], [0.5, 1.0])
