"""Agreement of many rankings at once, against the functions that compare two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.statistics.list_agreement import rbo_by_query, taus_by_query
from rankscope.statistics.rank_correlation import kendall, rbo, tau_ap, untied

RANKING = st.lists(st.integers(0, 12), unique=True, max_size=10)
PAIRS = st.lists(st.tuples(RANKING, RANKING), min_size=1, max_size=6)


def columns(pairs: list[tuple[list[int], list[int]]]) -> tuple[np.ndarray, ...]:
    """Return query and both ranks of all common documents, in no particular order."""
    rows = [
        (query, first.index(doc) + 1, second.index(doc) + 1)
        for query, (first, second) in enumerate(pairs)
        for doc in sorted(first)
        if doc in second
    ]
    table = np.array(rows[::-1], np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


@settings(max_examples=150, deadline=None)
@given(pairs=PAIRS, p=st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_that_of_two_lists(pairs: list[tuple[list[int], list[int]]], p: float) -> None:
    query, first, second = columns(pairs)
    sizes = [np.array([len(pair[side]) for pair in pairs]) for side in (0, 1)]
    values = rbo_by_query(query, first, second, sizes[0], sizes[1], p)
    expected = [rbo(untied(left), untied(right), p=p) for left, right in pairs]
    assert values.tolist() == pytest.approx(expected, abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(pairs=PAIRS)
def test_taus_are_those_of_two_lists(pairs: list[tuple[list[int], list[int]]]) -> None:
    query, first, second = columns(pairs)
    tau, both_ways = taus_by_query(query, first, second, len(pairs))
    for place, (left, right) in enumerate(pairs):
        common = [doc for doc in left if doc in right]
        if len(common) < 2:
            assert math.isnan(tau[place])
            assert math.isnan(both_ways[place])
            continue
        scores = [[-ranking.index(doc) for doc in common] for ranking in (left, right)]
        assert tau[place] == pytest.approx(kendall(*scores))
        assert both_ways[place] == pytest.approx(tau_ap(*scores, symmetric=True))


def test_nothing_in_common() -> None:
    none = np.empty(0, np.int64)
    sizes = np.array([0, 2, 3]), np.array([0, 0, 3])
    assert rbo_by_query(none, none, none, *sizes, 0.9).tolist() == [1.0, 0.0, 0.0]
    tau, both_ways = taus_by_query(none, none, none, 3)
    assert np.isnan(tau).all()
    assert np.isnan(both_ways).all()
