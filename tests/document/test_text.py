"""How values are written, and that foreign text stays one visible line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from document.samples import any_text
from rankscope.document.blocks import Point
from rankscope.document.text import interval, number, p_value
from rankscope.printing import visible


@pytest.mark.parametrize(
    ("value", "options", "written"),
    [
        (0.5, {}, "0.500"),
        (0.5, {"digits": 3, "signed": True}, "+0.500"),
        (-0.0006, {"digits": 3, "signed": True}, "-0.001"),
        (-0.00001, {"digits": 3, "signed": True}, "0.000"),
        (0.0004, {"digits": 3, "signed": True}, "0.000"),
        (0.0, {"signed": True}, "0.000"),
        (-0.0, {}, "0.000"),
        (0.05, {"digits": None}, "0.05"),
        (1024, {}, "1,024"),
        (1024.0, {"digits": 0}, "1024"),
        (7, {"signed": True}, "+7"),
        (math.inf, {}, "∞"),
        (-math.inf, {}, "-∞"),
        (math.nan, {}, "undefined"),
    ],
)
def test_numbers(value: float, options: dict[str, object], written: str) -> None:
    assert number(value, **options) == written  # type: ignore[arg-type]


def test_intervals_are_written_as_they_are() -> None:
    assert interval((0.735, 1.0), digits=3) == "[0.735, 1.000]"
    assert interval((-0.009, 0.018), digits=3, signed=True) == "[-0.009, +0.018]"
    assert interval((-math.inf, math.inf)) == "[-∞, ∞]"


@settings(deadline=None, max_examples=40)
@given(st.floats(0, 1))
def test_a_p_value_is_never_0(p: float) -> None:
    assert p_value(p) == "< 0.0001" or float(p_value(p)) > 0


@settings(deadline=None, max_examples=40)
@given(any_text)
def test_visible_text_is_one_printable_line(text: str) -> None:
    line = visible(text)
    assert line.isprintable()
    assert line == text or not text.isprintable()


def test_what_reassures_comes_behind_what_warns() -> None:
    assert Point("Careful", ("Ties.",), note="all holds").all_lines == ("Ties.", "All holds.")
