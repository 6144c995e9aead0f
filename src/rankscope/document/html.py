"""A document as HTML: sections of a page (`rankscope.document.pages`), or a fragment for notebooks.

Everything is in it: a fragment runs no script, and nothing is fetched. Colours follow the reader's
light or dark setting, and never say anything alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    PICTURES,
    Findings,
    Notes,
    Points,
    Sentences,
    Table,
)
from rankscope.document.pictures import PICTURE_STYLE, figure
from rankscope.document.text import (
    SIGNS,
    behind,
    interval_of,
    readable,
    table_notes,
    title_of,
    value_of,
    without_whiskers,
)
from rankscope.errors import counted
from rankscope.printing import visible_lines

if TYPE_CHECKING:
    from rankscope.document.blocks import Answer, Block, Cell, Column, Document, Section, Tone
    from rankscope.findings import Finding

STYLE = PICTURE_STYLE + (files("rankscope.document") / "style.css").read_text("utf-8")

_MOST_BESIDE = 3
"""With more columns of intervals than this, intervals are drawn below their values."""
_LONGEST_LINE = 40
"""Text longer than this may be broken in a cell."""

_TONE_SIGNS: dict[Tone, str] = {"good": "✓", "bad": "✗", "warning": "!"}


def _safe(text: object) -> str:
    return escape(readable(text))


def fragment(document: Document) -> str:
    """Return a part of a page, with styles that touch nothing else on it."""
    title = [f"<h3>{_safe(document.title)}</h3>"] if document.is_titled else []
    parts = _join([*title, *_sections(document, level=4)])
    return f'<div class="rankscope fragment">\n<style>\n{STYLE}</style>\n{parts}\n</div>'


def _join(parts: Iterable[str]) -> str:
    return "\n".join(parts)


def _sections(document: Document, level: int) -> Iterator[str]:
    """Yield the sections of a fragment."""
    if document.answer is not None:
        yield from answer_parts(document.answer, level)
    for place, section in enumerate(document.sections):
        if section.all_blocks:
            yield from section_parts(section, level, key=str(place), is_first=place == 0)


def answer_parts(answer: Answer, level: int, *, linked: bool = False) -> Iterator[str]:
    """Yield what comes first: the decision, then its blocks."""
    lines = [line for line in (answer.reason, answer.evidence) if line]
    yield '<section id="answer" class="lead">'
    yield _heading(f"{answer.headline}.", level)
    yield from (f"<p>{_safe(line)}</p>" for line in lines)
    for number, block in enumerate(answer.blocks):
        yield _block(block, level + 1, f"answer-{number}", linked=linked)
    yield "</section>"


def section_ids(titles: Iterable[str]) -> list[str]:
    """Return what the sections of a page are linked by, each another.

    >>> section_ids(["Results", "What would gain most", "Results", ""])
    ['results', 'what-would-gain-most', 'section-3', 'section-4']
    """
    ids: list[str] = []
    for place, title in enumerate(titles, start=1):
        slug = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:60]
        is_free = slug and slug not in ids and slug not in _TAKEN and not slug.startswith("section")
        ids.append(slug if is_free else f"section-{place}")
    return ids


_TAKEN = frozenset(
    (
        "answer",
        "main",
        "live",
        "tools",
        "views",
        "overview",
        "queries",
        "query",
        "diagnosis",
        "method",
    )
)
"""What pages call other things by."""


def section_parts(
    section: Section,
    level: int,
    *,
    key: str,
    link: str = "",
    is_first: bool = False,
    linked: bool = False,
) -> Iterator[str]:
    """Yield a section with headings of a level, which can be linked to by ``link``.

    ``key`` tells it from other sections; ``linked`` says whether there is an explorer that cells
    lead to.
    """
    name = f' id="{link}"' if link else ""
    lead = _lead(section) if is_first else ""
    yield f"<section{name}{lead}>"
    if section.title:
        yield _heading(section.title, level)
    inner = level + 1 if section.title else level
    for number, block in enumerate(section.all_blocks):
        yield _block(block, inner, f"{key}-{number}", linked=linked)
    yield "</section>"


def _heading(title: str, level: int) -> str:
    return f"<h{level}>{_safe(title)}</h{level}>"


def _lead(section: Section) -> str:
    """Set the first section apart if it says the result in words."""
    first = section.all_blocks[0]
    if not isinstance(first, Sentences) or not first.sentences:
        return ""
    tone = first.sentences[0].tone
    return f' class="lead {tone}"' if tone in _TONE_SIGNS else ' class="lead"'


def _block(block: Block, level: int, key: str, *, linked: bool) -> str:
    """Return a block; ``level`` is that of headings in it, ``key`` is where it is."""
    if isinstance(block, Table):
        return _table(without_whiskers(block), level, linked=linked)
    if isinstance(block, Points):
        return _points(block)
    if isinstance(block, Sentences):
        return _sentences(block)
    if isinstance(block, PICTURES):
        return figure(block, _heading(block.title, level), key)
    if isinstance(block, Findings):
        findings = _join(_finding(finding, level) for finding in block.findings)
        return findings or "<p>No findings.</p>"
    if isinstance(block, Notes):
        return _notes(block.texts)
    return f"<pre><code>{escape(visible_lines(block.text))}</code></pre>"


def _points(block: Points) -> str:
    rows = []
    for point in block.points:
        tag = "code" if point.is_code else "span"
        lines = "".join(f"<dd><{tag}>{_safe(line)}</{tag}></dd>" for line in point.lines)
        rows.append(f'<div class="{point.tone}"><dt>{_safe(point.label)}</dt>{lines}</div>')
    return f'<dl class="points">{"".join(rows)}</dl>'


def _notes(texts: Sequence[str]) -> str:
    items = "".join(f"<li>{_safe(text)}</li>" for text in texts)
    return f'<ul class="notes">{items}</ul>' if texts else ""


def _sentences(block: Sentences) -> str:
    tag = "li" if block.listed else "p"
    lines = []
    for sentence in block.sentences:
        sign, mark = _TONE_SIGNS.get(sentence.tone), ""
        if sign and not sentence.text.startswith(sign):
            mark = f'<span class="sign {sentence.tone}" aria-hidden="true">{sign}</span>'
        tone = f' class="{sentence.tone}"' if sentence.tone in ("strong", "quiet") else ""
        lines.append(f"<{tag}{tone}>{mark}{_safe(sentence.text)}</{tag}>")
    return f"<ul>{_join(lines)}</ul>" if block.listed else _join(lines)


def _finding(finding: Finding, level: int) -> str:
    who = "" if finding.system is None else f"{finding.system}: "
    sign = f'<span class="sign" aria-hidden="true">{SIGNS[finding.severity]}</span>'
    name = _safe(f"{finding.severity}: {who}{finding.name.replace('-', ' ')}")
    count = f"{finding.code}, {counted(finding.count, finding.unit)}"
    lines = [
        f'<div class="finding severity-{finding.severity}">',
        f'<h{level}>{sign}{name} <span class="note">{_safe(count)}</span></h{level}>',
        f"<p>{_safe(finding.message)}</p>",
        f'<p class="quiet">What to do: {_safe(finding.advice)}</p>',
    ]
    if finding.places:
        more = finding.count - len(finding.places)
        where = ", ".join(f"<code>{_safe(place)}</code>" for place in finding.places)
        lines.append(f'<p class="quiet">{where}{f" and {more:,} more" if more > 0 else ""}</p>')
    return _join([*lines, "</div>"])


# --- tables --------------------------------------------------------------------------------------


def _table(table: Table, level: int, *, linked: bool) -> str:
    title = _heading(table.title, level) if table.title else ""
    label = _safe(table.title or "Table")
    scales = _scales(table)
    rows = [
        [
            _cell(cell, column, scale, is_name=place < table.name_columns, linked=linked)
            for place, (cell, column, scale) in enumerate(
                zip(row, table.columns, scales, strict=True)
            )
        ]
        for row in table.rows
    ]
    head = "".join(
        f'<th scope="col"{_classes(column, title_of(column))}>{_safe(title_of(column))}</th>'
        for column in table.columns
    )
    has_titles = any(column.title for column in table.columns)
    with_interval = [any(row[place].interval for row in table.rows) for place in range(len(scales))]
    layout = ' class="stacked"' if sum(with_interval) > _MOST_BESIDE else ""
    return _join(
        [
            title,
            f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table{layout}>',
            *([f"<thead><tr>{head}</tr></thead>"] if has_titles else []),
            "<tbody>",
            *(f"<tr>{''.join(row)}</tr>" for row in rows),
            "</tbody></table></div>",
            _notes(table_notes(table, "bold:")),
        ]
    )


def _classes(column: Column, text: str, cell: Cell | None = None) -> str:
    """Return the class attribute of a cell; '' if it has none."""
    names = ["text"] if column.kind == "text" else []
    if len(text) > _LONGEST_LINE:
        names.append("long")
    if cell is not None:
        names += [cell.tone] if cell.tone != "plain" else []
        names += ["best"] if cell.best else []
    return f' class="{" ".join(names)}"' if names else ""


def _cell(
    cell: Cell,
    column: Column,
    scale: tuple[float, float] | None,
    *,
    is_name: bool,
    linked: bool,
) -> str:
    value = readable(value_of(cell, column))
    inner = escape(value)
    if linked and cell.link:
        inner = f'<a href="#{escape(cell.link)}">{inner}</a>'
    parts = [f'<span class="value">{inner}</span>{_safe(cell.marker)}']
    if cell.letters:
        parts.append(f' <span class="letters">{_safe(cell.letters)}</span>')
    if rest := behind(cell, column):
        parts.append(f' <span class="note">{_safe(rest)}</span>')
    if cell.interval is not None:
        if scale is not None and isinstance(cell.value, float):
            parts.append(_bar(cell.value, cell.interval, scale))
        parts.append(f' <span class="range">{interval_of(cell, column)}</span>')
    tag = 'th scope="row"' if is_name else "td"
    return f"<{tag}{_classes(column, value, cell)}>{''.join(parts)}</{tag[:2]}>"


def _scales(table: Table) -> list[tuple[float, float] | None]:
    """Return the scale of each column's intervals: one for differences, one for all others."""
    ends: dict[bool, list[float]] = {True: [], False: []}
    for row in table.rows:
        for cell, column in zip(row, table.columns, strict=True):
            ends[column.signed] += filter(math.isfinite, cell.interval or ())
    scales: dict[bool, tuple[float, float] | None] = {True: None, False: None}
    if ends[False]:
        scales[False] = (min(ends[False]), max(ends[False]))
    if ends[True]:
        reach = max(map(abs, ends[True]))
        scales[True] = (-reach, reach)
    return [scales[column.signed] for column in table.columns]


def _bar(value: float, ends: tuple[float, float], scale: tuple[float, float]) -> str:
    """Draw an interval with its value; on a scale with both signs, 0 is a thin line."""
    low, high = scale
    if not high > low:
        return ""

    def at(number: float) -> str:
        return f"{100 * (min(max(number, low), high) - low) / (high - low):.1f}%"

    zero = (
        f'<line x1="{at(0)}" x2="{at(0)}" y1="0" y2="12" stroke="currentColor" '
        'stroke-opacity=".45" stroke-dasharray="2 2"/>'
        if low < 0 < high
        else ""
    )
    return (
        '<svg class="bar" aria-hidden="true">'
        '<line x1="0" x2="100%" y1="6" y2="6" stroke="currentColor" stroke-opacity=".18"/>'
        f"{zero}"
        f'<line x1="{at(ends[0])}" x2="{at(ends[1])}" y1="6" y2="6" stroke="currentColor" '
        'stroke-width="2.5" stroke-linecap="round"/>'
        f'<circle cx="{at(value)}" cy="6" r="3.2" fill="currentColor"/></svg>'
    )
