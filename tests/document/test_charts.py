"""Pictures: drawn at the right places, harmless whatever the text, the same bytes each time."""

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
from rankscope.document.blocks import (
    PICTURES,
    Bar,
    Chart,
    Curve,
    Document,
    Picture,
    Plot,
)
from rankscope.document.picture_words import described
from rankscope.document.pictures import drawn, figure
from rankscope.document.plots import spread
from rankscope.printing import visible

SVG = "{http://www.w3.org/2000/svg}"

BARS = Chart(
    "nDCG@10",
    (Bar("first", 0.5, (0.4, 0.8)), Bar("second", 0.2, band=(0.1, 0.3)), Bar("third", 0.4)),
)
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
ALL: tuple[Picture, ...] = (BARS, CURVES, MARKS)


def pictures_of(made: Document) -> list[Picture]:
    blocks = [block for section in made.sections for block in section.all_blocks]
    return [block for block in blocks if isinstance(block, PICTURES)]


def svg(block: Picture) -> str:
    """Return a picture as a document of its own."""
    found = re.search(r"<svg .*</svg>", figure(block, "", "0"), re.DOTALL)
    assert found is not None
    return found[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def elements(block: Picture, tag: str, kind: str) -> list[dict[str, str]]:
    """Return the attributes of the elements of a class."""
    root = ET.fromstring(svg(block))
    return [each.attrib for each in root.iter(SVG + tag) if kind in each.get("class", "").split()]


def numbers(block: Picture, tag: str, kind: str, *names: str) -> list[tuple[float, ...]]:
    return [tuple(float(each[name]) for name in names) for each in elements(block, tag, kind)]


def texts(block: Picture) -> list[str]:
    root = ET.fromstring(svg(block))
    return ["".join(each.itertext()) for each in root.iter(SVG + "text")]


def near(value: float) -> Any:
    """Return a place up to what drawing rounds."""
    return pytest.approx(value, abs=0.2)


# --- every picture -------------------------------------------------------------------------------


@pytest.mark.parametrize("block", ALL)
def test_a_picture_is_complete_and_harmless(block: Picture) -> None:
    text = svg(block)
    assert text == svg(block), "the same bytes each time"
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
    assert root[1].text == described(block)
    assert not re.search(r"<script|\bstyle=|\bhref|url\(|@import|var\(", text)


@settings(deadline=None, max_examples=30)
@given(any_text)
def test_any_text_makes_sound_pictures(text: str) -> None:
    blocks = pictures_of(document(text))
    assert len(blocks) == 2
    for block in blocks:
        root = ET.fromstring(svg(block))
        tags = {each.tag.removeprefix(SVG) for each in root.iter()}
        assert tags <= {
            *("svg", "title", "desc", "rect", "line", "circle"),
            *("polyline", "text", "tspan"),
        }
        assert root[0].text == (visible(text) or None)


finite = st.floats(-1e6, 1e6)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=12))
def test_everything_is_inside_the_picture(points: list[tuple[float, float]]) -> None:
    block = Plot("p", "x", "y", (Curve("a", tuple(points), joined=False),))
    drawing = drawn(block)
    assert drawing is not None
    for x, y in numbers(block, "circle", "mark", "cx", "cy"):
        assert 0 <= x <= drawing.width
        assert 0 <= y <= drawing.height


# --- bars ----------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values() -> None:
    bars = numbers(BARS, "rect", "bar-fill", "x", "width")
    assert len({x for x, _ in bars}) == 1, "all begin at 0"
    widths = [width for _, width in bars]
    assert widths[1] / widths[0] == pytest.approx(0.4, abs=0.01)
    assert widths[2] / widths[0] == pytest.approx(0.8, abs=0.01)


def test_intervals_and_bands_are_where_their_ends_are() -> None:
    [(x, width), *_] = numbers(BARS, "rect", "bar-fill", "x", "width")
    unit = width / 0.5
    assert numbers(BARS, "line", "interval", "x1", "x2") == [
        (near(x + 0.4 * unit), near(x + 0.8 * unit))
    ]
    assert numbers(BARS, "rect", "band", "x", "width") == [(near(x + 0.1 * unit), near(0.2 * unit))]


def test_values_below_0_go_to_the_left() -> None:
    block = Chart("d", (Bar("up", 0.2), Bar("down", -0.1), Bar("undefined", math.nan)))
    up, down = numbers(block, "rect", "bar-fill", "x", "width")
    assert down[0] + down[1] == near(up[0])
    assert up[1] / down[1] == pytest.approx(2, abs=0.02)
    assert texts(block).count("undefined") == 2


def test_an_open_interval_ends_at_the_edge() -> None:
    block = Chart("d", (Bar("a", 0.5, (-math.inf, math.inf)), Bar("b", 1.0)))
    [(low, high)] = numbers(block, "line", "interval", "x1", "x2")
    (x, _), (_, width) = numbers(block, "rect", "bar-fill", "x", "width")
    assert (low, high) == (x, near(x + width))


# --- plots ---------------------------------------------------------------------------------------


def ways(block: Plot) -> list[list[tuple[float, float]]]:
    return [
        [tuple(map(float, point.split(","))) for point in each["points"].split()]  # type: ignore[misc]
        for each in elements(block, "polyline", "curve")
    ]


def test_points_are_where_they_belong() -> None:
    first, second = ways(CURVES)
    (x1, y1), (x10, y10), (x100, y100) = first
    assert x10 - x1 == near(x100 - x10), "equal ratios are equally far apart"
    assert (y1 - y10) / (y1 - y100) == pytest.approx(4 / 9, abs=0.01)
    assert [x for x, _ in second] == [x for x, _ in first]


@given(
    st.lists(st.floats(0, 300), max_size=7).map(sorted),
    st.floats(1, 20),
)
def test_names_never_overlap(wanted: list[float], apart: float) -> None:
    places = spread(wanted, apart, 0, 300)
    assert all(later - earlier >= apart - 1e-6 for earlier, later in pairwise(places))
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in places)
