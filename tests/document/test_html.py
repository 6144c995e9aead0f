"""HTML: well formed, self-contained, and harmless whatever the text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings

from document.samples import HOSTILE, any_text, document, table
from rankscope.document.blocks import Bar, Cell, Chart, Column, Document, Section, Table
from rankscope.document.html import fragment
from rankscope.document.pages import page
from rankscope.printing import visible

VOID = {"meta", "line", "circle", "rect", "polyline"}


class Reader(HTMLParser):
    """Reads a page; fails where tags are not nested as they should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.headings: list[int] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@settings(deadline=None)
@given(any_text)
def test_no_text_becomes_markup(text: str) -> None:
    plain = Reader(page(document("plain")))
    read = Reader(page(document(text)))
    assert read.tags <= plain.tags
    assert read.attributes <= {*plain.attributes, "transform"}, "long names are turned"
    assert all(sign.isprintable() or sign == "\n" for sign in "".join(read.texts))
    assert Reader(fragment(document(text))).tags <= {*plain.tags, "h4", "h5"}


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_shown_as_it_is(text: str) -> None:
    assert Reader(page(document(text))).texts.count(visible(text)) > 10 or not text


def test_a_page_is_self_contained() -> None:
    text = page(document("name"))
    assert len(re.findall("<script", text)) == 1, "the page's own"
    outside = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|url\(|@import|\bsrc=|<link|\beval\(|innerHTML", outside)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert " style=" not in text
    assert "Content-Security-Policy" in text
    assert '<html lang="en">' in text
    assert 'name="viewport"' in text
    assert "light-dark(" in text
    assert "@media print" in text


def test_headings_skip_no_level() -> None:
    for made in (document("name"), Document("a", (Section("", (table("b"),)),))):
        headings = Reader(page(made)).headings
        assert headings[0] == 1
        assert all(later <= earlier + 1 for earlier, later in pairwise(headings))


def test_rows_and_columns_have_a_scope() -> None:
    text = page(Document("a", (Section("", (table("b"),)),)))
    assert text.count('<th scope="col"') == 3
    assert text.count('<th scope="row"') == 3
    assert 'role="group" aria-label="b"' in text, "a table that scrolls can be reached by keys"


def test_styles_of_a_fragment_touch_nothing_else() -> None:
    text = fragment(document("name"))
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    inside = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", style, flags=re.DOTALL)
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", inside)
    assert len(selectors) > 20
    for selector in selectors:
        for part in re.sub(r":is\([^)]*\)", "", selector).split(","):
            assert part.strip().startswith(".rankscope"), selector


def bars(*cells: Cell, signed: bool = False) -> list[tuple[float, float, float]]:
    """Return start, end and value of the bars of a column, in percent."""
    made = Table(
        (Column("n", "text"), Column("m", signed=signed)),
        tuple((Cell("a"), cell) for cell in cells),
    )
    text = page(Document("a", (Section("", (made,)),)))
    pattern = r'x1="([\d.]+)%" x2="([\d.]+)%" y1="6" y2="6" [^>]*stroke-width="2.5"'
    lines = re.findall(pattern, text)
    dots = re.findall(r'<circle cx="([\d.]+)%"', text)
    return [
        (float(low), float(high), float(dot)) for (low, high), dot in zip(lines, dots, strict=True)
    ]


def test_intervals_are_drawn_on_one_scale() -> None:
    cells = [Cell(0.5, (0.2, 0.6)), Cell(0.7, (0.6, 1.0)), Cell(0.3, (float("-inf"), 0.4))]
    assert bars(*cells) == [(0, 50, 37.5), (50, 100, 62.5), (0, 25, 12.5)]


def test_differences_are_drawn_around_0() -> None:
    assert bars(Cell(0.1, (0.0, 0.2)), Cell(-0.1, (-0.4, 0.0)), signed=True) == [
        (50, 75, 62.5),
        (0, 50, 37.5),
    ]


def test_values_without_a_spread_have_no_bar() -> None:
    assert bars(Cell(0.5, (0.5, 0.5))) == []


def test_a_picture_is_a_figure_below_its_heading() -> None:
    chart = Chart("nDCG", (Bar("a", 0.5, (0.4, 0.8)), Bar("b", 0.2)))
    text = page(Document("a", (Section("", (chart, chart)),)))
    assert text.count("<figure>\n<h2>nDCG</h2>") == 2
    assert "0.500" in text
    assert "[0.400, 0.800]" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_tones_have_a_sign() -> None:
    text = page(document("x"))
    assert '<span class="sign bad" aria-hidden="true">✗</span>' in text
    assert '<span class="sign good" aria-hidden="true">✓</span>' in text
