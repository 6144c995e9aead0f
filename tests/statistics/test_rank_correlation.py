"""Kendall's τ by hand, and over pairs as it is defined."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics.rater_agreement import kendall

scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@settings(max_examples=40, deadline=None)
@given(scores)
def test_the_definition(systems: list[tuple[int, int]]) -> None:
    pairs = list(combinations(systems, 2))
    signs = [[np.sign(a[side] - b[side]) for a, b in pairs] for side in (0, 1)]
    untied = [sum(sign != 0 for sign in each) for each in signs]
    found = kendall(*zip(*systems, strict=True))
    assert (found is None) == (0 in untied)
    if found is not None:
        agreement = sum(a * b for a, b in zip(*signs, strict=True))
        assert found == pytest.approx(agreement / np.sqrt(untied[0] * untied[1]))


def test_by_hand() -> None:
    assert kendall([1, 2, 3], [3, 2, 1]) == -1
    assert kendall([1, 1, 3], [2, 2, 5]) == pytest.approx(1)
    assert kendall([1, 1], [1, 2]) is None


@pytest.mark.parametrize("lists", [([1, 2], [1, 2, 3]), ([1], [2])])
def test_what_is_refused(lists: Any) -> None:
    with pytest.raises(InputError):
        kendall(*lists)
