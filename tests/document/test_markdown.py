"""Markdown: a renderer shows what was meant, whatever the text; the source lines up."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from markdown_it import MarkdownIt

from document.samples import HOSTILE, any_text, document
from rankscope.document.blocks import Code, Document, Section, sentences
from rankscope.document.markdown import as_markdown, escaped
from rankscope.printing import visible

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TAGS = {
    *("h1", "h2", "h3", "p", "ul", "li", "strong", "code", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


@settings(deadline=None, max_examples=40)
@given(any_text)
@example("- - -")
@example("+ item")
@example("1) one")
@example("=")
def test_no_text_becomes_markup(text: str) -> None:
    page = PARSER.render(as_markdown(document(text)))
    assert set(re.findall(r"<(\w+)", page)) <= TAGS
    assert page.count("<table>") == 2
    assert page.count("<pre>") == 1
    if text.strip():
        assert page.count("<h1>") == 1
        assert page.count("<ul>") == 4


@settings(deadline=None, max_examples=40)
@given(any_text)
def test_no_name_leaves_its_code_span(text: str) -> None:
    page = PARSER.render(as_markdown(document(text), level=3, names_as_code=True))
    assert set(re.findall(r"<(\w+)", page)) <= {*TAGS, "h4", "h5"}
    assert page.count("<table>") == 2


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_text_is_shown_as_it_is(text: str) -> None:
    page = PARSER.renderInline(escaped(text))
    shown = re.sub(r"<[^>]*>", "", page)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, sign)
    assert shown == visible(text.strip()).strip()


def test_code_cannot_leave_its_block() -> None:
    text = as_markdown(Document("", (Section("", (Code("a\n```\n# head"),)),)))
    assert text == "````\na\n```\n# head\n````\n"


def test_names_in_sentences_are_code_where_that_is_wanted() -> None:
    made = Document(
        "", (Section("", (sentences(["@all is better than a_b; wall is not"]),)),),
        names=frozenset(["@all", "a_b", "all"]),
    )  # fmt: skip
    assert as_markdown(made) == "@all is better than a\\_b; wall is not\n"
    assert as_markdown(made, names_as_code=True) == "`@all` is better than `a_b`; wall is not\n"
