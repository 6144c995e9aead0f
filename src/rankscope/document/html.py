"""A document as HTML: a page of its own, or a fragment for notebooks.

Everything is in the page: no script runs, and nothing is fetched (a policy in its head forbids
both). Colours follow the reader's light or dark setting, and never say anything alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from rankscope.document.blocks import PICTURES, Findings, Notes, Sentences, Table
from rankscope.document.pictures import PICTURE_STYLE, figure
from rankscope.document.text import (
    SIGNS,
    behind,
    interval_of,
    readable,
    table_notes,
    title_of,
    value_of,
)
from rankscope.errors import counted
from rankscope.printing import visible_lines

if TYPE_CHECKING:
    from rankscope.document.blocks import Block, Cell, Column, Document, Section, Tone
    from rankscope.findings import Finding

_STYLE = PICTURE_STYLE + (files("rankscope.document") / "style.css").read_text("utf-8")

_PAGE_STYLE = """\
:root { color-scheme: light dark; }
body { margin: 0; background: #ffffff; }
@media screen and (prefers-color-scheme: dark) { body { background: #14181f; } }
body > .rankscope { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
"""

_MOST_BESIDE = 3
"""With more columns of intervals than this, intervals are drawn below their values."""
_LONGEST_LINE = 40
"""Text longer than this may be broken in a cell."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_TONE_SIGNS: dict[Tone, str] = {"good": "✓", "bad": "✗", "warning": "!"}


def _safe(text: object) -> str:
    return escape(readable(text))


def page(document: Document) -> str:
    """Return a complete page."""
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="rankscope">
<title>{_safe(document.title)}</title>
<style>
{_PAGE_STYLE}{_STYLE}</style>
</head>
<body>
<main class="rankscope">
<h1>{_safe(document.title)}</h1>
{_join(_opening(document))}
{_join(_sections(document))}
</main>
</body>
</html>
"""


def fragment(document: Document) -> str:
    """Return a part of a page, with styles that touch nothing else on it."""
    title = [f"<h3>{_safe(document.title)}</h3>"] if document.is_titled else []
    parts = _join([*title, *_sections(document, level=4)])
    return f'<div class="rankscope fragment">\n<style>\n{_STYLE}</style>\n{parts}\n</div>'


def _join(parts: Iterable[str]) -> str:
    return "\n".join(parts)


def _opening(document: Document) -> Iterator[str]:
    """Yield the subtitle, and links to the sections where there are many."""
    if document.subtitle:
        yield f'<p class="subtitle">{_safe(document.subtitle)}</p>'
    titled = [
        (place, section.title) for place, section in enumerate(document.sections) if section.title
    ]
    if len(titled) > 3:
        links = (f'<a href="#section-{place}">{_safe(title)}</a>' for place, title in titled)
        yield f'<nav aria-label="Sections">{_join(links)}</nav>'


def _sections(document: Document, level: int = 2) -> Iterator[str]:
    """Yield the sections; only those of a page, with headings of level 2, can be linked to."""
    for place, section in enumerate(document.sections):
        if not section.all_blocks:
            continue
        link = f' id="section-{place}"' if level == 2 else ""
        lead = _lead(section) if place == 0 else ""
        yield f"<section{link}{lead}>"
        if section.title:
            yield _heading(section.title, level)
        inner = level + 1 if section.title else level
        for number, block in enumerate(section.all_blocks):
            yield _block(block, inner, f"{place}-{number}")
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


def _block(block: Block, level: int, key: str) -> str:
    """Return a block; ``level`` is that of headings in it, ``key`` is where it is."""
    if isinstance(block, Table):
        return _table(block, level)
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


def _table(table: Table, level: int) -> str:
    title = _heading(table.title, level) if table.title else ""
    label = _safe(table.title or "Table")
    scales = _scales(table)
    rows = [
        [
            _cell(cell, column, scale, is_name=place < table.name_columns)
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
            f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table{layout}>',
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


def _cell(cell: Cell, column: Column, scale: tuple[float, float] | None, *, is_name: bool) -> str:
    value = readable(value_of(cell, column))
    parts = [f'<span class="value">{escape(value)}</span>{_safe(cell.marker)}']
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
