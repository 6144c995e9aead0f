"""Sentences: numbers are written alike, and no p-value is 0."""

from __future__ import annotations

import math

import pytest

from rankscope.statistics.intervals import Interval
from rankscope.statistics.sentences import ends, measured, number, p_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "0.250"), (-0.0, "0.000"), (0.00004, "4e-05"), (math.inf, "∞"), (-math.inf, "-∞")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_signs() -> None:
    assert (number(0.1, sign=True), number(-0.1, sign=True), number(0.0, sign=True)) == (
        "+0.100",
        "-0.100",
        "0.000",
    )


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "p < 0.0001"), (0.00009, "p < 0.0001"), (0.0312, "p = 0.031"), (1.0, "p = 1.00")],
)
def test_p_values_are_never_0(p: float, text: str) -> None:
    assert p_text(p) == text


def test_a_difference_turned_round() -> None:
    interval = Interval(low=-0.3, high=math.inf, level=0.95, method="t")
    assert ends(interval) == "[-0.300, ∞]"
    assert measured(0.1, interval, "p = 0.02") == "+0.100 [-0.300, ∞], p = 0.02"
    assert measured(0.1, interval, "p = 0.02", turned=True) == "-0.100 [-∞, +0.300], p = 0.02"
