"""Kendall's τ: against SciPy and by hand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.rater_agreement import kendall

stats: Any = import_module("scipy.stats")
scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@settings(max_examples=40, deadline=None)
@given(scores)
def test_kendall_against_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    expected = stats.kendalltau(first, second, variant="b").statistic
    found = kendall(first, second)
    assert (found is None) == np.isnan(expected)
    if found is not None:
        assert found == pytest.approx(expected)


def test_kendall_by_hand() -> None:
    assert kendall([1, 2, 3], [1, 2, 3]) == kendall([1, 1, 3], [2, 2, 5]) == 1
    assert kendall([1, 2, 3], [3, 2, 1]) == -1
    assert kendall([1, 2, 2], [1, 2, 3]) == pytest.approx(2 / np.sqrt(2 * 3))
    assert kendall([1, 1], [1, 2]) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: kendall([1, 2], [1, 2, 3]),
        lambda: kendall([1], [2]),
    ],
)
def test_what_is_refused(call: Any) -> None:
    with pytest.raises(InputError):
        call()
