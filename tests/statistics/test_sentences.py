"""Sentences: compare, gate and verdict write numbers alike and say the same in the same words."""

from __future__ import annotations

import math

import pytest

from rankscope.statistics.intervals import Interval
from rankscope.statistics.sentences import about, ends, listed, measured, number, p_text, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "0.2500"), (-0.0, "0.0000"), (0.00004, "4e-05"), (math.inf, "∞"), (-math.inf, "-∞")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_signs() -> None:
    assert (number(0.1, sign=True), number(-0.1, sign=True), number(0.0, sign=True)) == (
        "+0.1000",
        "-0.1000",
        "0.0000",
    )


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "p < 0.0001"), (0.00009, "p < 0.0001"), (0.0312, "p = 0.0312"), (1.0, "p = 1")],
)
def test_p_values_are_never_0(p: float, text: str) -> None:
    assert p_text(p) == text


def test_shares_and_counts() -> None:
    assert (percent(0.95), percent(0.9999)) == ("95 %", "99.99 %")
    assert (about(22_797), about(8), about(1)) == (
        "about 23,000 queries",
        "about 8 queries",
        "about 1 query",
    )
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed("abcd", 3) == "a, b, c and d"
    assert listed("abcde", 3) == "a, b, c and 2 more"


def test_a_difference_turned_round() -> None:
    interval = Interval(low=-0.3, high=math.inf, level=0.95, method="t")
    assert ends(interval) == "[-0.3000, ∞]"
    assert measured(0.1, interval, "p = 0.02") == "+0.1000 [-0.3000, ∞], p = 0.02"
    assert measured(0.1, interval, "p = 0.02", turned=True) == "-0.1000 [-∞, 0.3000], p = 0.02"
