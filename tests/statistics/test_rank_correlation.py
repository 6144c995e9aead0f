"""Rank correlations: against SciPy, all ways to break ties, long sums, and all halvings."""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from importlib import import_module
from itertools import combinations, pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics import rank_correlation as module
from rankscope.statistics.rank_correlation import kendall, rbo, swap_rate, tau_ap, untied

stats: Any = import_module("scipy.stats")
scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@settings(max_examples=100, deadline=None)
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
    assert kendall([1, 2, 2], [1, 2, 3], variant="a") == pytest.approx(2 / 3)
    assert kendall([1, 2, 2], [1, 2, 3]) == pytest.approx(2 / np.sqrt(2 * 3))
    assert kendall([1, 1], [1, 2]) is None
    assert kendall([1, 1], [1, 2], variant="a") == 0


def strict_tau_ap(order: Sequence[int], truth: Sequence[float]) -> float:
    """τ_AP of an order without ties, as the paper has it; a tie in the truth counts half."""
    total = 0.0
    for place in range(1, len(order)):
        right = [
            1.0
            if truth[above] > truth[order[place]]
            else 0.5 * (truth[above] == truth[order[place]])
            for above in order[:place]
        ]
        total += sum(right) / place
    return 2 * total / (len(order) - 1) - 1


def orders(values: Sequence[float]) -> list[list[int]]:
    """Return all orders of the systems, best first, with ties broken in every way."""
    return [
        list(order)
        for order in permutations(range(len(values)))
        if all(values[a] >= values[b] for a, b in pairwise(order))
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=6))
def test_tau_ap_against_every_way_to_break_ties(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    expected = np.mean([strict_tau_ap(order, second) for order in orders(first)])
    assert tau_ap(first, second) == pytest.approx(expected)
    both = (tau_ap(first, second) + tau_ap(second, first)) / 2
    assert tau_ap(first, second, symmetric=True) == pytest.approx(both)


def test_tau_ap_by_hand() -> None:
    """Truth a b c d; estimate b a c d: p = 0, 1, 1, so 2·(2/3) − 1; a b d c: 1, 1, 2/3."""
    assert tau_ap([3, 4, 2, 1], [4, 3, 2, 1]) == pytest.approx(1 / 3)
    assert tau_ap([4, 3, 1, 2], [4, 3, 2, 1]) == pytest.approx(2 * (8 / 3) / 3 - 1)
    assert tau_ap([1, 2, 3], [1, 2, 3]) == 1
    assert tau_ap([1, 2, 3], [3, 2, 1]) == -1
    every = [tau_ap(order, range(5)) for order in permutations(range(5))]
    assert np.mean(every) == pytest.approx(0, abs=1e-12)


def long_rbo(first: str, second: str, p: float) -> float:
    """Sum RBO far beyond the ends, as Webber et al. extrapolate it.

    Below the shorter list its documents overlap with those of the longer at the rate seen there;
    below both, the agreement stays as it is.
    """
    short, long = sorted((first, second), key=len)

    def overlap(depth: int) -> int:
        return len(set(short[:depth]) & set(long[:depth]))

    total, agreement = 0.0, 0.0
    for depth in range(1, 3_000):
        if depth <= len(short):
            agreement = overlap(depth) / depth
        elif depth <= len(long):
            rate = overlap(len(short)) / len(short)
            agreement = (overlap(depth) + rate * (depth - len(short))) / depth
        total += (1 - p) * p ** (depth - 1) * agreement
    return total


texts = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=8).map("".join)


@settings(max_examples=100, deadline=None)
@given(texts, texts, st.sampled_from([0.5, 0.8, 0.95]))
def test_rbo_against_a_long_sum(first: str, second: str, p: float) -> None:
    found = rbo(untied(first), untied(second), p=p)
    assert found == pytest.approx(long_rbo(first, second, p))
    assert found == pytest.approx(rbo(untied(second), untied(first), p=p))
    assert -1e-12 <= found <= 1 + 1e-12


def broken(ranking: Sequence[Sequence[str]]) -> list[str]:
    ways = [["".join(order) for order in permutations(tie)] for tie in ranking]
    return ["".join(parts) for parts in product(*ways)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["ab", "c", "def"], ["a", "bc", "xe"]),
        (["abcd"], ["dc", "ba"]),
        (["a", "bcd", "e"], ["edx"]),
    ],
)
def test_rbo_with_ties_is_the_mean_over_orders(first: list[str], second: list[str]) -> None:
    ways = product(broken(first), broken(second))
    expected = np.mean([long_rbo(one, two, 0.9) for one, two in ways])
    assert rbo(first, second) == pytest.approx(expected)


def test_rbo_edges() -> None:
    assert rbo([], []) == 1
    assert rbo([], [["a"]]) == 0
    assert rbo(untied("abc"), untied("abc")) == pytest.approx(1)
    assert rbo(untied("abc"), untied("xyz")) == 0
    assert rbo(untied("ab"), untied("ba"), p=0.5) == pytest.approx(0.5)  # weight of rank 1: 1 − p
    with pytest.raises(InputError, match="twice"):
        rbo(untied("aa"), untied("ab"))
    with pytest.raises(InputError, match="p must be"):
        rbo(untied("ab"), untied("ab"), p=1)


def test_swap_rate_against_all_halvings() -> None:
    values = np.array([[0.1, 0.5, 0.3, 0.9, 0.2, 0.4], [0.2, 0.1, 0.6, 0.8, 0.3, 0.6],
                       [0.0, 0.7, 0.1, 0.2, 0.1, 0.5]])  # fmt: skip
    swaps, taus, wide = [], [], []
    for half in combinations(range(6), 3):
        rest = [topic for topic in range(6) if topic not in half]
        one, two = values[:, list(half)].mean(axis=1), values[:, rest].mean(axis=1)
        for a, b in combinations(range(3), 2):
            first, second = round(one[a] - one[b], 9), round(two[a] - two[b], 9)
            swaps.append((1 - np.sign(first) * np.sign(second)) / 2)
            if abs(first) >= 0.15:
                wide.append(swaps[-1])
        taus.append(stats.kendalltau(one.round(9), two.round(9)).statistic)
    found = swap_rate(values, splits=8_000, thresholds=[0.15, 5])
    assert found.swapped == pytest.approx(np.mean(swaps), abs=0.01)
    assert found.tau == pytest.approx(np.mean(taus), abs=0.02)
    assert found.swapped_above[0] == pytest.approx(np.mean(wide), abs=0.015)
    assert found.swapped_above[1] is None
    assert (found.topics, found.splits) == (3, 8_000)


def test_swap_rate_of_equal_systems() -> None:
    found = swap_rate([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], splits=10)
    assert (found.swapped, found.tau, found.topics) == (0.5, None, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: kendall([1, 2], [1, 2, 3]),
        lambda: kendall([1], [2]),
        lambda: swap_rate([[0.1, 0.2]]),
        lambda: swap_rate([[0.1], [0.2]]),
        lambda: swap_rate([[0.1, 0.2]] * 2, splits=0),
    ],
)
def test_what_is_refused(call: Any) -> None:
    with pytest.raises(InputError):
        call()


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
