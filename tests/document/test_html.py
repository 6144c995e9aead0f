"""HTML: well formed, self-contained, and harmless whatever the text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from document.samples import HOSTILE, any_text, document
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
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@settings(deadline=None, max_examples=40)
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


def test_styles_of_a_fragment_touch_nothing_else() -> None:
    text = fragment(document("name"))
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    inside = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", style, flags=re.DOTALL)
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", inside)
    assert len(selectors) > 20
    for selector in selectors:
        for part in re.sub(r":is\([^)]*\)", "", selector).split(","):
            assert part.strip().startswith(".rankscope"), selector
