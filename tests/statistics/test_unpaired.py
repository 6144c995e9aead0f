"""Two groups of queries: as SciPy has it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from rankscope.statistics.unpaired import group_difference

stats: Any = import_module("scipy.stats")


@pytest.mark.parametrize("sizes", [(2, 2), (5, 40), (300, 17)])
def test_as_in_scipy(sizes: tuple[int, int]) -> None:
    draw = np.random.default_rng(0)
    first, second = draw.random(sizes[0]), 0.2 + 2 * draw.random(sizes[1])
    result = group_difference(first, second, level=0.9)
    expected = stats.ttest_ind(first, second, equal_var=False)
    interval = expected.confidence_interval(0.9)
    assert result.interval is not None
    assert result.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (interval.low, interval.high)
    )
