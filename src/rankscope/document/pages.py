"""A document as a page of its own, with what makes it pleasant to use.

Everything is in the page, and nothing is fetched. A policy in its head lets run only the script
that is written here and the styles that are written here, known by their hashes; no form can be
sent, and no other base address be given. Without scripts the page shows the same, one part below
the other. Long documents have several parts, which are shown one at a time.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, get_args

from rankscope.document.blocks import Part
from rankscope.document.html import STYLE, answer_parts, section_ids, section_parts
from rankscope.document.text import readable

if TYPE_CHECKING:
    from rankscope.document.blocks import Document, Section

_FOLDER = files("rankscope.document")
_SCRIPT = (_FOLDER / "page.js").read_text("utf-8")
_PAGE_STYLE = (_FOLDER / "page.css").read_text("utf-8")

_TITLES: dict[Part, str] = {
    "overview": "Overview",
    "diagnosis": "Diagnosis",
    "method": "Method",
}


@dataclass(frozen=True, slots=True)
class Explorer:
    """What a page holds beside its document: a part in which its reader looks around."""

    title: str
    """The name of the part."""
    body: str
    """Its HTML, as it is before the script fills it."""
    overview: str
    """HTML for the overview."""
    overview_link: tuple[str, str] | None
    """What that is linked by, and its title; None: there is nothing for the overview."""
    follows: str
    """The section of the overview that it comes after, by its link; otherwise it is at the end."""
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
    title = escape(readable(document.title))
    subtitle = escape(readable(document.subtitle))
    yield f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_policy(script, style)}">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="rankscope">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="rankscope">
<a class="skip" href="#main">Skip to the content</a>
<header class="masthead">
<div>
<h1>{title}</h1>
{f'<p class="subtitle">{subtitle}</p>' if subtitle else ""}
</div>
<div class="tools" id="tools"></div>
</header>
"""
    parts = _parts(document)
    views = _views(parts, explorer)
    if len(views) > 1:
        links = "".join(f'<a href="#{name}">{text}</a>' for name, text in views)
        yield f'<nav class="views" id="views" aria-label="Parts">{links}</nav>\n'
    yield '<main id="main" tabindex="-1">\n'
    answer = ""
    if document.answer is not None:
        answer = "\n".join(answer_parts(document.answer, 2, linked=explorer is not None))
    if "overview" not in parts:
        yield answer
    several = len(views) > 1
    for name, text in views:
        yield f'<div class="view" id="{name}">\n'
        if name == "overview":
            yield answer
        if name in parts:
            yield from _part(name, text if several else "", parts[name], explorer)
        elif explorer is not None:
            yield f'<h2 class="part">{text}</h2>\n{explorer.body}\n'
        yield "</div>\n"
    yield '</main>\n<div class="live" id="live" role="status" aria-live="polite"></div>\n'
    data = iter(() if explorer is None else explorer.data)
    yield from (_block(*block) for block in _first(data))
    yield f"<script>{script}</script>\n"
    yield from (_block(*block) for block in data)
    yield "</body>\n</html>\n"


def _first(data: Iterator[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    first = next(data, None)
    return () if first is None else (first,)


def _block(name: str, text: str) -> str:
    return f'<script type="text/plain" id="data-{name}">{text}</script>\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _policy(script: str, style: str) -> str:
    """Return what the page may do: run this script, use this style, draw pictures it made."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


Placed = list[tuple[str, "Section"]]
"""Sections with what they are linked by."""


def _parts(document: Document) -> dict[str, Placed]:
    appendix = (replace(section, part="method") for section in document.appendix)
    sections = [section for section in (*document.sections, *appendix) if section.all_blocks]
    placed = list(zip(section_ids(section.title for section in sections), sections, strict=True))
    parts: dict[str, Placed] = {}
    for name in get_args(Part):
        chosen = [(link, section) for link, section in placed if section.part == name]
        if chosen:
            parts[name] = chosen
    return parts


def _views(parts: dict[str, Placed], explorer: Explorer | None) -> list[tuple[str, str]]:
    views = [(name, _TITLES[name]) for name in get_args(Part) if name in parts]
    if explorer is not None:
        views.insert(1 if "overview" in parts else 0, ("queries", explorer.title))
    return views


def _part(name: str, title: str, sections: Placed, explorer: Explorer | None) -> Iterator[str]:
    """Yield the sections of a part, below links to them where there are many."""
    if title:
        yield f'<h2 class="part">{title}</h2>\n'
    links = [link for link, _ in sections]
    after = explorer.follows if explorer and explorer.follows in links else links[-1]
    titled = []
    for link, section in sections:
        titled += [(link, section.title)] if section.title else []
        if explorer and explorer.overview_link and name == "overview" and link == after:
            titled.append(explorer.overview_link)
    if len(titled) > 3:
        targets = "".join(
            f'<a href="#{link}">{escape(readable(text))}</a>' for link, text in titled
        )
        yield f'<nav class="sections" aria-label="Sections">{targets}</nav>\n'
    linked = explorer is not None
    level = 3 if title else 2
    for number, (link, section) in enumerate(sections):
        is_first = name == "overview" and number == 0
        pieces = section_parts(
            section, level, key=link, link=link, is_first=is_first, linked=linked
        )
        yield "\n".join(pieces)
        yield "\n"
        if explorer is not None and name == "overview" and link == after:
            yield f"{explorer.overview}\n"
