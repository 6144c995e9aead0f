"""Plots and axes: drawn at the right places, harmless whatever the text."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from document.samples import any_text, document
from rankscope.document.axis_tables import with_axis
from rankscope.document.blocks import Cell, Column, Curve, Document, Plot, Section, Table
from rankscope.document.html import fragment
from rankscope.document.plots import HEIGHT, MOST_CURVES, WIDTH, described, figure, spread
from rankscope.printing import visible

SVG = "{http://www.w3.org/2000/svg}"

CURVES = Plot(
    "by cutoff",
    "k",
    "nDCG@k",
    (
        Curve("a", ((1, 0.1), (10, 0.5), (100, 1.0))),
        Curve("b", ((1, 0.0), (10, 0.4), (100, 0.9)), intervals=(None, (0.2, 0.6), None)),
    ),
    log_x=True,
)
MARKS = Plot(
    "nDCG against ms", "ms", "nDCG", (Curve("", ((1, 0.5), (9, 0.9)), ("x", "y"), joined=False),)
)


def svg(block: Plot) -> str:
    """Return a plot as a document of its own."""
    found = re.search(r"<svg .*</svg>", figure(block, "", "0"), re.DOTALL)
    assert found is not None
    return found[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def elements(block: Plot, tag: str, kind: str) -> list[dict[str, str]]:
    """Return the attributes of the elements of a class."""
    root = ET.fromstring(svg(block))
    return [each.attrib for each in root.iter(SVG + tag) if kind in each.get("class", "").split()]


@pytest.mark.parametrize("block", [CURVES, MARKS])
def test_a_plot_is_complete_and_harmless(block: Plot) -> None:
    text = svg(block)
    assert text == svg(block), "the same bytes each time"
    root = ET.fromstring(text)
    assert root[0].tag == f"{SVG}title"
    assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
    assert root[1].text == described(block)
    assert not re.search(r"<script|\bstyle=|\bhref|url\(|@import|var\(", text)


@settings(deadline=None, max_examples=30)
@given(any_text)
def test_any_text_makes_sound_plots(text: str) -> None:
    blocks = [block for section in document(text).sections for block in section.all_blocks]
    [plot] = [block for block in blocks if isinstance(block, Plot)]
    root = ET.fromstring(svg(plot))
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        *("svg", "title", "desc", "line", "circle", "polyline", "text"),
    }
    assert root[0].text == (visible(text) or None)


finite = st.floats(-1e6, 1e6)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=12))
def test_everything_is_inside_the_plot(points: list[tuple[float, float]]) -> None:
    block = Plot("p", "x", "y", (Curve("a", tuple(points), joined=False),))
    for each in elements(block, "circle", "mark"):
        assert 0 <= float(each["cx"]) <= WIDTH
        assert 0 <= float(each["cy"]) <= HEIGHT


def test_points_are_where_they_belong() -> None:
    first, second = (
        [tuple(map(float, point.split(","))) for point in each["points"].split()]
        for each in elements(CURVES, "polyline", "curve")
    )
    (x1, y1), (x10, y10), (x100, y100) = first
    assert x10 - x1 == pytest.approx(x100 - x10, abs=0.2), "equal ratios are equally far apart"
    assert (y1 - y10) / (y1 - y100) == pytest.approx(4 / 9, abs=0.01)
    assert [x for x, _ in second] == [x for x, _ in first]


def test_what_is_left_out_and_where_the_axis_starts_is_said() -> None:
    many = tuple(Curve(f"c{n}", ((0, 0.5), (1, 0.6 + n / 100))) for n in range(MOST_CURVES + 2))
    text = figure(Plot("p", "x", "y", many), "", "0")
    assert "2 more curves not drawn" in text
    assert "The vertical axis starts at 0.50" in text
    assert figure(Plot("p", "x", "y", (Curve("a", ((0, math.nan),)),)), "", "0") == ""


@given(st.lists(st.floats(0, 300), max_size=7).map(sorted), st.floats(1, 20))
def test_names_never_overlap(wanted: list[float], apart: float) -> None:
    places = spread(wanted, apart, 0, 300)
    assert all(later - earlier >= apart - 1e-6 for earlier, later in pairwise(places))
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in places)


# --- tables that draw ----------------------------------------------------------------------------

CHANGES = Table(
    (Column("system", "text"), Column("change", signed=True)),
    (
        (Cell("a"), Cell(0.2, (0.1, 0.3))),
        (Cell("b"), Cell(-0.1, (-0.2, 0.0))),
        (Cell("c"), Cell(None)),
    ),
)


def drawn(table: Table) -> list[dict[str, Any]]:
    text = fragment(Document("t", (Section("", (table,)),)))
    return [
        dict(re.findall(r'(\w+)="([^"]*)"', tag))
        for tag in re.findall(r"<(?:rect|circle)[^>]*>", text)
    ]


def test_an_interval_has_the_minus_of_its_numbers() -> None:
    columns = (Column("change"), Column("95%", "interval"))
    table = Table(columns, ((Cell(-0.1), Cell(interval=(-0.2, -0.05))),))
    assert "-0" not in fragment(Document("t", (Section("", (table,)),)))


def test_the_intervals_of_a_column_are_drawn_on_one_axis() -> None:
    shapes = drawn(CHANGES)
    places = {each["class"]: each["x"] for each in shapes if each.get("class") == "base"}
    assert places == {"base": "40.0%"}, "0 lies at two fifths of -0.2 to 0.3"
    whiskers = [(e["x"], e["width"]) for e in shapes if e.get("class") == "whisker"]
    assert whiskers == [("60.0%", "40.0%"), ("0.0%", "40.0%")]
    assert [each["cx"] for each in shapes if "cx" in each] == ["80.0%", "20.0%"]


def test_intervals_of_several_columns_are_not_drawn() -> None:
    two = Table((Column("a"), Column("b")), ((Cell(1.0, (0.0, 2.0)), Cell(1.0, (0.0, 2.0))),) * 2)
    assert with_axis(two) is two
    assert drawn(two) == []
