"""A document as a page of its own: the answer, the questions, and what lies behind, closed.

Everything is in the page, and nothing is fetched. A policy in its head lets run only the script
that is written here and the styles that are written here, known by their hashes; no form can be
sent, and no other base address be given. Without scripts the page shows the same. Where a document
has an answer, each section is closed but for its title and what it found; printing opens all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, get_args

from rankscope.document.blocks import Part
from rankscope.document.html import STYLE, answer_parts, section_ids, section_parts
from rankscope.document.text import readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Document, Section

_FOLDER = files("rankscope.document")
_SCRIPT = (_FOLDER / "page.js").read_text("utf-8")
_PAGE_STYLE = (_FOLDER / "page.css").read_text("utf-8")

_TITLES: dict[Part, str] = {"overview": "Numbers", "diagnosis": "Diagnosis", "method": "Method"}


@dataclass(frozen=True, slots=True)
class Explorer:
    """What a page holds beside its document: a part in which its reader looks around."""

    title: str
    """The name of the part, and below it what a page without scripts shows of it."""
    body: str
    script: str
    style: str
    data: Iterable[tuple[str, str]]
    """Blocks of data in base64, by name; the first is needed at once."""


def page(document: Document, explorer: Explorer | None = None) -> str:
    """Return a complete page."""
    return "".join(page_pieces(document, explorer))


def page_pieces(document: Document, explorer: Explorer | None = None) -> Iterator[str]:
    """Yield a complete page in pieces."""
    style = f"{STYLE}{_PAGE_STYLE}{'' if explorer is None else explorer.style}"
    script = f"{_SCRIPT}{'' if explorer is None else explorer.script}rankscope.start();\n"
    about = " · ".join(readable(text) for text in (document.title, document.subtitle) if text)
    parts = _parts(document)
    links = [("queries", explorer.title)] if explorer is not None else []
    links += [(name, _TITLES[name]) for name in parts] if document.answer or links else []
    yield f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_policy(script, style)}">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="rankscope">
<title>{escape(readable(document.title))}</title>
<style>{style}</style>
</head>
<body class="rankscope">
<a class="skip" href="#main">Skip to the content</a>
<header class="masthead">
<p>{escape(about)}</p>
{_navigation(links)}<div class="tools" id="tools"></div>
</header>
<main id="main" tabindex="-1">
"""
    if document.answer is None:
        yield f"<h1>{escape(readable(document.title))}</h1>\n"
    else:
        names, linked = document.names, explorer is not None
        yield "\n".join(answer_parts(document.answer, 1, names, linked=linked))
    yield _facts(document.facts)
    if explorer is not None:
        yield f'<section class="part" id="queries">\n<h2>{explorer.title}</h2>\n'
        yield f"{explorer.body}\n</section>\n"
    for name, sections in parts.items():
        yield f'<div class="part" id="{name}">\n'
        for link, section in sections:
            is_closed = document.answer is not None and bool(section.title)
            yield "\n".join(
                section_parts(
                    section,
                    2,
                    key=link,
                    link=link,
                    is_closed=is_closed,
                    linked=explorer is not None,
                )
            )
            yield "\n"
        yield "</div>\n"
    yield '</main>\n<div class="live" id="live" role="status" aria-live="polite"></div>\n'
    data = iter(() if explorer is None else explorer.data)
    yield from (_block(*block) for block in islice(data, 1))
    yield f"<script>{script}</script>\n"
    yield from (_block(*block) for block in data)
    yield "</body>\n</html>\n"


def _navigation(links: Sequence[tuple[str, str]]) -> str:
    if len(links) < 2:
        return ""
    inside = "".join(f'<a href="#{name}">{text}</a>' for name, text in links)
    return f'<nav id="views" aria-label="On this page">{inside}</nav>\n'


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f"<div><dt>{escape(readable(label))}</dt><dd>{escape(readable(fact))}</dd></div>"
        for label, fact in facts
    )
    return f'<dl class="facts">{rows}</dl>\n' if rows else ""


def _block(name: str, text: str) -> str:
    return f'<script type="text/plain" id="data-{name}">{text}</script>\n'


def hashed(text: str) -> str:
    """Return what a policy knows a script or a style by."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _policy(script: str, style: str) -> str:
    """Return what the page may do: run this script, use this style, draw pictures it made."""
    return (
        f"default-src 'none'; script-src {hashed(script)}; style-src {hashed(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _parts(document: Document) -> dict[Part, list[tuple[str, Section]]]:
    """Return the sections of each part, with what they are linked by."""
    sections = [section for section in document.sections if section.all_blocks]
    placed = list(zip(section_ids(section.title for section in sections), sections, strict=True))
    parts: dict[Part, list[tuple[str, Section]]] = {}
    for name in get_args(Part):
        chosen = [(link, section) for link, section in placed if section.part == name]
        if chosen:
            parts[name] = chosen
    return parts
