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

from document.samples import HOSTILE, any_text, document
from rankscope.document.blocks import (
    PICTURES,
    Bar,
    Chart,
    Curve,
    Document,
    Heatmap,
    HeatRow,
    Picture,
    Plot,
    Section,
    Step,
    Waterfall,
)
from rankscope.document.canvas import WIDTH, Scale, cut, round_ends, ticks, width_of, wrapped
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.picture_words import described
from rankscope.document.pictures import drawn, figure, standalone
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
HEAT = Heatmap(
    "differences",
    ("lexical", "vector"),
    (HeatRow("short", (0.1, -0.2)), HeatRow("long", (None, 0.0))),
    "change in nDCG",
    signed=True,
)
STEPS = Waterfall(
    "stages",
    (
        Step("lexical", 0.5),
        Step("hybrid", 0.8, 0.5, 1.0, "from lexical"),
        Step("cut", 0.6, 0.8),
    ),
)
ALL: tuple[Picture, ...] = (BARS, CURVES, MARKS, HEAT, STEPS)


def pictures_of(made: Document) -> list[Picture]:
    blocks = [block for section in made.sections for block in section.all_blocks]
    return [block for block in blocks if isinstance(block, PICTURES)]


def elements(block: Picture, tag: str, kind: str) -> list[dict[str, str]]:
    """Return the attributes of the elements of a class."""
    root = ET.fromstring(standalone(block))
    return [each.attrib for each in root.iter(SVG + tag) if kind in each.get("class", "").split()]


def numbers(block: Picture, tag: str, kind: str, *names: str) -> list[tuple[float, ...]]:
    return [tuple(float(each[name]) for name in names) for each in elements(block, tag, kind)]


def texts(block: Picture) -> list[str]:
    root = ET.fromstring(standalone(block))
    return ["".join(each.itertext()) for each in root.iter(SVG + "text")]


def near(value: float) -> Any:
    """Return a place up to what drawing rounds."""
    return pytest.approx(value, abs=0.2)


# --- every picture -------------------------------------------------------------------------------


@pytest.mark.parametrize("block", ALL)
def test_a_file_is_complete_and_harmless(block: Picture) -> None:
    text = standalone(block)
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
    assert root[1].text == described(block)
    assert block.title in texts(block)
    assert not re.search(r"<script|\bstyle=|\bhref|url\(|@import|var\(", text)
    assert text.count("http") == 1, "the name of the format only"
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("block", ALL)
def test_a_picture_has_no_style_and_no_fixed_colour(block: Picture) -> None:
    text = figure(block, "<h2>x</h2>", "0-1")
    assert not re.search(r"\bstyle=|#[0-9a-f]{3,6}\b|(fill|stroke)=\"", text)
    assert 'role="img"' in text
    assert text.startswith("<figure>")


@pytest.mark.parametrize("block", ALL)
def test_the_same_input_makes_the_same_bytes(block: Picture) -> None:
    assert standalone(block) == standalone(block)
    assert figure(block, "", "1-2") == figure(block, "", "1-2")


def test_pictures_of_one_page_have_ids_of_their_own() -> None:
    made = page(Document("all", (Section("a", (*ALL, *ALL)), Section("b", ALL))))
    ids = re.findall(r' id="([^"]+)"', made)
    pictures = [name for name in ids if name.startswith("picture-")]
    assert len(ids) == len(set(ids))
    assert len(pictures) == 2 * 3 * len(ALL)


@settings(deadline=None, max_examples=60)
@given(any_text)
def test_any_text_makes_sound_files(text: str) -> None:
    blocks = pictures_of(document(text))
    assert len(blocks) == 4
    for block in blocks:
        root = ET.fromstring(standalone(block))
        tags = {each.tag.removeprefix(SVG) for each in root.iter()}
        assert tags <= {
            *("svg", "title", "desc", "style", "g", "rect", "line", "circle"),
            *("polyline", "text", "tspan"),
        }
        assert root[0].text == (visible(text) or None)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_whole_when_hovered(name: str) -> None:
    shown = texts(Chart("t", (Bar(name, 0.5), Bar("b", 0.1))))
    assert any(visible(name) in text for text in shown)


@pytest.mark.parametrize(
    "block",
    [
        Chart("none", ()),
        Plot("none", "x", "y", ()),
        Plot("none", "x", "y", (Curve("a", ((math.nan, 1.0),)),)),
        Heatmap("none", (), (), "x"),
        Heatmap("none", ("a",), (), "x"),
        Waterfall("none", ()),
    ],
)
def test_nothing_to_draw_is_nothing(block: Picture) -> None:
    assert drawn(block) is None
    assert standalone(block) == ""
    assert figure(block, "<h2>none</h2>", "0") == ""
    assert as_markdown(Document("d", (Section("s", (block,)),)), pictures={}) != ""


finite = st.floats(-1e6, 1e6)


@settings(deadline=None, max_examples=60)
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


def test_figures_are_beside_their_bars() -> None:
    assert "0.500 [0.400, 0.800]" in texts(BARS)
    assert "0.200 [0.100, 0.300]" in texts(BARS)
    assert "0.400" in texts(BARS)


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


def test_long_names_are_above_their_bars() -> None:
    block = Chart("d", (Bar("a name that is far too long to be beside a bar", 0.5), Bar("b", 1.0)))
    assert numbers(block, "rect", "bar-fill", "x", "width")[1] == (0, WIDTH)


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


def test_an_interval_is_a_whisker() -> None:
    _, second = ways(CURVES)
    [(x1, x2, y1, y2)] = numbers(CURVES, "line", "whisker", "x1", "x2", "y1", "y2")
    assert x1 == x2 == second[1][0]
    assert (y1 + y2) / 2 == near(second[1][1])


def test_curves_differ_by_more_than_colour() -> None:
    many = Plot("p", "x", "y", tuple(Curve(f"c{n}", ((0, n), (1, n + 1))) for n in range(12)))
    for block in (CURVES, many):
        drawn_as = [
            (each["class"], each.get("stroke-dasharray"))
            for each in elements(block, "polyline", "curve")
        ]
        assert len(set(drawn_as)) == len(drawn_as)
    dashes = [each.get("stroke-dasharray") for each in elements(CURVES, "polyline", "curve")]
    assert len(set(dashes)) == 2
    assert {f"c{n}" for n in range(12)} <= set(texts(many)), "the key names all"


def test_marks_have_names() -> None:
    assert {"x", "y"} <= set(texts(MARKS))
    assert len(elements(MARKS, "circle", "mark")) == 2


@given(
    st.lists(st.floats(0, 300), max_size=7).map(sorted),
    st.floats(1, 20),
)
def test_names_never_overlap(wanted: list[float], apart: float) -> None:
    places = spread(wanted, apart, 0, 300)
    assert all(later - earlier >= apart - 1e-6 for earlier, later in pairwise(places))
    assert all(-1e-6 <= place <= 300 + 1e-6 for place in places)


@given(st.lists(st.floats(0, 300), max_size=7).map(sorted))
def test_names_that_have_room_stay_where_they_are(wanted: list[float]) -> None:
    if all(later - earlier > 10 for earlier, later in pairwise(wanted)):
        assert spread(wanted, 10, 0, 300) == pytest.approx(wanted)


# --- heatmaps ------------------------------------------------------------------------------------


def test_cells_have_figures_and_colours() -> None:
    assert {"+0.100", "-0.200", "0.000", "–"} <= set(texts(HEAT))
    cells = elements(HEAT, "rect", "cell")
    assert [("below" in each["class"]) for each in cells] == [False, True, False]
    strengths = [float(each["fill-opacity"]) for each in cells]
    assert strengths[1] > strengths[0] > strengths[2]
    assert len(elements(HEAT, "rect", "empty")) == 1


def test_colours_of_means_go_from_the_lowest_to_the_highest() -> None:
    block = Heatmap("m", ("a", "b"), (HeatRow("r", (0.6, 0.8)),), "nDCG")
    low, high = (float(each["fill-opacity"]) for each in elements(block, "rect", "cell"))
    assert low < high <= 0.5


def test_many_columns_make_a_wide_picture() -> None:
    names = tuple(f"a long name {number}" for number in range(20))
    block = Heatmap("m", names, (HeatRow("r", (0.5,) * 20),), "nDCG")
    drawing = drawn(block)
    assert drawing is not None
    assert drawing.width > 2 * WIDTH
    assert 'class="frame" tabindex="0"' in figure(block, "", "0"), "it scrolls, also by keys"


# --- waterfalls ----------------------------------------------------------------------------------


def test_steps_begin_where_the_one_before_ended() -> None:
    [(zero, total)] = numbers(STEPS, "rect", "bar-fill", "x", "width")
    unit = total / 0.5
    [(start, rise)] = numbers(STEPS, "rect", "rise", "x", "width")
    assert (start, rise) == (
        near(zero + 0.5 * unit),
        near(0.3 * unit),
    )
    [(start, fall)] = numbers(STEPS, "rect", "fall", "x", "width")
    assert (start, fall) == (
        near(zero + 0.6 * unit),
        near(0.2 * unit),
    )
    [(limit,)] = numbers(STEPS, "line", "limit", "x1")
    assert limit == near(zero + unit)
    assert "0.800 (+0.300) of 1.000" in texts(STEPS)
    assert "0.600 (-0.200)" in texts(STEPS)


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        (BARS, "nDCG@10: first 0.500 is highest, second 0.200 lowest of 3."),
        (Chart("m", (Bar("a", 0.5),)), "m: a 0.500."),
        (Chart("m", (Bar("a", 0.5), Bar("b", 0.5))), "m: all 2 are 0.500."),
        (Chart("m", (Bar("a", math.nan),)), "m: no value."),
        (CURVES, "by cutoff: nDCG@k by k; at 100, a 1.000 is highest, b 0.900 lowest."),
        (MARKS, "nDCG against ms: by ms; y 0.900 is highest, x 0.500 lowest."),
        (
            HEAT,
            (
                "differences: change in nDCG, short of lexical +0.100 is highest, short of vector "
                "-0.200 lowest of 3."
            ),
        ),
        (
            STEPS,
            "stages: lexical 0.500, hybrid +0.300 to 0.800 of at most 1.000, cut -0.200 to 0.600.",
        ),
        (
            Plot("p", "x", "y", (Curve("a", ((0, 1), (5, 3))),)),
            "p: y by x, from 1 at 0 to 3 at 5.",
        ),
    ],
)
def test_a_sentence_says_what_is_seen(block: Picture, sentence: str) -> None:
    assert described(block) == sentence


def test_markdown_shows_pictures_that_have_a_file() -> None:
    made = Document("d", (Section("s", (BARS, CURVES)),))
    text = as_markdown(made, pictures={BARS: "charts/a.svg"})
    assert "![nDCG@10: first 0.500 is highest, second 0.200 lowest of 3.](charts/a.svg)" in text
    assert "by cutoff" not in text
    assert "![" not in as_markdown(made)


# --- text and scales -----------------------------------------------------------------------------


@given(st.text(max_size=80), st.floats(20, 400))
def test_what_is_cut_fits(text: str, room: float) -> None:
    short = cut(text, room)
    assert width_of(short) <= room + 1e-6
    if short != text:
        # The text may hold signs like ours, so that any of those shown can be where it was cut.
        places = [at for at, sign in enumerate(short) if sign == "…"]
        assert any(cut_there(text, short[:at], short[at + 1 :]) for at in places)


def cut_there(text: str, start: str, end: str) -> bool:
    """Whether a start and an end are of a text, and the end is the value of a sweep, or nothing."""
    return text.startswith(start) and text.endswith(end) and (not end or end.startswith("="))


@given(st.text(st.sampled_from("ab =…1"), max_size=40), st.floats(20, 400))
def test_what_is_cut_before_a_value_fits(text: str, room: float) -> None:
    test_what_is_cut_fits.hypothesis.inner_test(text, room)  # type: ignore[attr-defined]


def test_notes_are_broken_into_lines() -> None:
    lines = wrapped("some words that need more than a single line", 120)
    assert len(lines) > 2
    assert " ".join(lines) == "some words that need more than a single line"


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_inside_and_few(low: float, span: float) -> None:
    if low + span > low:
        made = ticks(low, low + span)
        assert 1 <= len(made) <= 7
        slack = span * 1e-6 + abs(low) * 1e-9
        assert all(low - slack <= tick <= low + span + slack for tick in made)


@given(st.lists(finite, min_size=1))
def test_ends_of_an_axis_hold_all_values(values: list[float]) -> None:
    low, high = round_ends(values)
    slack = 1e-6 * (high - low)
    assert low - slack <= min(values) <= max(values) <= high + slack
    assert low < high


def test_a_log_scale_has_round_ticks() -> None:
    assert Scale(1, 100, 0, 10, log=True).ticks() == [1, 2, 5, 10, 20, 50, 100]
    assert Scale(1, 100, 0, 10, log=True).at(10) == pytest.approx(5)
    assert Scale(0.001, 1000, 0, 10, log=True).ticks() == pytest.approx(
        [0.001, 0.01, 0.1, 1, 10, 100, 1000]
    )
