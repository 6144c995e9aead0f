"""A document as HTML: sections of a page (`rankscope.document.pages`), or a fragment for notebooks.

Everything is in it: a fragment runs no script, and nothing is fetched. Colours follow the reader's
light or dark setting, and never say anything alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from rankscope.document.axis_tables import (
    DrawnAxis,
    axis_cell,
    axis_head,
    drawn_axis,
    with_axis,
)
from rankscope.document.blocks import (
    Findings,
    Notes,
    Plot,
    Points,
    Sentences,
    Table,
)
from rankscope.document.plots import figure
from rankscope.document.text import (
    LONGEST_TEXT,
    finding_texts,
    for_page,
    interval_of,
    note_of,
    number,
    readable,
    table_notes,
    title_of,
    value_of,
)
from rankscope.printing import visible_lines

if TYPE_CHECKING:
    from rankscope.document.blocks import (
        Answer,
        Block,
        Cell,
        Column,
        Document,
        Point,
        Section,
        Tone,
    )
    from rankscope.findings import Finding

PALETTE, STYLE = (
    (files("rankscope.document") / name).read_text("utf-8") for name in ("palette.css", "style.css")
)
STYLE = PALETTE + STYLE

_MOST_COLUMNS, _MOST_INTERVALS = 12, 8
"""With more columns, or more with intervals, a table goes on below itself."""
_LONGEST_LINE, _LONGEST_WORD = 18, 24
"""Text longer than this may be broken between words, and words longer than this anywhere."""

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
        yield from answer_parts(document.answer, level, document.names)
    for place, section in enumerate(document.sections):
        if section.all_blocks:
            yield from section_parts(section, level, key=str(place))


def answer_parts(
    answer: Answer, level: int, names: Iterable[str], *, linked: bool = False
) -> Iterator[str]:
    """Yield what comes first: the decision, then its blocks."""
    known = sorted(filter(None, names), key=len, reverse=True)
    lines = sorted((answer.reason, answer.evidence), key=lambda line: "[" in line)  # numbers last
    why = " ".join(_ended(line, known) for line in lines if line)
    yield '<section id="answer">'
    yield f'<div class="decision">{_heading(_ended(answer.headline, known), level)}'
    why = _with_names(re.sub(r"(?<=[\s[])-(?=\d)", "−", why), known)
    why = re.sub(r"\[[−+\d., ]{3,24}\]", r'<span class="unbroken">\g<0></span>', why)
    yield f"<p>{why}</p></div>" if why else "</div>"
    for place, block in enumerate(answer.blocks):
        yield _block(block, level + 1, f"answer-{place}", linked=linked)
    yield "</section>"


def _ended(sentence: str, names: Sequence[str]) -> str:
    """Return a sentence with its capital, unless it begins with a name, and its full stop."""
    is_name = any(re.match(rf"{re.escape(name)}(?!\w)", sentence) for name in names)
    text = sentence if is_name else f"{sentence[:1].upper()}{sentence[1:]}"
    return text if text.endswith((".", ":", "?", "!")) else f"{text}."


def _with_names(text: str, names: Sequence[str]) -> str:
    """Return a text with the names in it set apart."""
    pieces, at = [], 0
    pattern = "|".join(rf"(?<![\w@]){re.escape(name)}(?![\w@])" for name in names)
    for match in re.finditer(pattern, text) if names else ():
        pieces += [_safe(text[at : match.start()]), f"<b>{_safe(match[0])}</b>"]
        at = match.end()
    return "".join([*pieces, _safe(text[at:])])


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
        *("overview", "diagnosis", "method", "answer", "main", "views", "tools", "live"),
        *("queries", "query", "explorer", "theme"),
    )
)
"""What pages call other things by."""


def section_parts(
    section: Section,
    level: int,
    *,
    key: str,
    link: str = "",
    is_closed: bool = False,
    linked: bool = False,
) -> Iterator[str]:
    """Yield a section with headings of a level, which can be linked to by ``link``.

    ``key`` tells it from other sections; a closed one shows its title and what it found until it is
    opened; ``linked`` says whether there is an explorer that cells lead to.
    """
    name = f' id="{link}"' if link else ""
    if is_closed:
        finding = f"<p>{_safe(section.finding)}</p>" if section.finding else ""
        yield f'<details class="section"{name}>'
        yield f"<summary>{_heading(section.title, level)}{finding}</summary>"
    else:
        yield f"<section{name}>"
        if section.title:
            yield _heading(section.title, level)
    inner = level + 1 if section.title else level
    for place, block in enumerate(section.all_blocks):
        if is_closed and section.details and place == len(section.blocks) > 0:
            yield '<details class="more"><summary>More numbers</summary>'
        yield _block(block, inner, f"{key}-{place}", linked=linked)
    if is_closed and section.details and section.blocks:
        yield "</details>"
    yield "</details>" if is_closed else "</section>"


def _heading(title: str, level: int) -> str:
    return f"<h{level}>{_safe(title)}</h{level}>"


def _block(block: Block, level: int, key: str, *, linked: bool) -> str:
    """Return a block; ``level`` is that of headings in it, ``key`` is where it is."""
    if isinstance(block, Table):
        return _table(for_page(block), level, linked=linked)
    if isinstance(block, Points):
        return _points(block, level)
    if isinstance(block, Sentences):
        return _sentences(block)
    if isinstance(block, Plot):
        return figure(block, _heading(block.title, level), key)
    if isinstance(block, Findings):
        findings = _join(_finding(finding, level) for finding in block.findings)
        return findings or "<p>No findings.</p>"
    if isinstance(block, Notes):
        return _notes(block.texts)
    return f"<pre><code>{escape(visible_lines(block.text))}</code></pre>"


def _points(block: Points, level: int) -> str:
    """Return what to fix and what to be careful about as cards, other points as lines."""
    cards, lines = [], []
    for point in block.points:
        tag = "code" if point.is_code else "span"
        texts = [f"<{tag}>{_safe(line)}</{tag}>" for line in point.lines]
        if point.parts or point.tone == "warning":
            note = f' <span class="note">– {_safe(point.note)}</span>' if point.note else ""
            head = f"<h{level}>{_safe(point.label)}{note}</h{level}>"
            items = "".join(f"<li>{each}</li>" for each in texts)
            body = f"<ul>{items}</ul>"
            if point.tone != "warning":
                more = "".join(f"<p>{each}</p>" for each in texts[1:])
                body = f'<p class="first">{texts[0]}</p>{_parts_bar(point)}{more}'
            cards.append(f'<div class="card {point.tone}">{head}{body}</div>')
        else:
            label = f"<dt>{_safe(point.label)}</dt>"
            lines.append(f"<div>{label}{''.join(f'<dd>{each}</dd>' for each in texts)}</div>")
    rows = f'<dl class="points">{"".join(lines)}</dl>' if lines else ""
    return (f'<div class="cards-row">{"".join(cards)}</div>' if cards else "") + rows


def _parts_bar(point: Point) -> str:
    """Draw parts of 1 as one bar, with their names and numbers below."""
    if not point.parts:
        return ""
    at, bars, keys = 0.0, [], []
    for place, (name, share) in enumerate(point.parts, start=1):
        ends = f'x1="{100 * at:.1f}%" x2="{100 * (at + share):.1f}%"'
        bars.append(f'<line class="part-{place}" {ends} y1="50%" y2="50%"/>')
        value = number(share, signed=place > 1)
        keys.append(f'<li><i class="key part-{place}"></i>{_safe(name)} {value}</li>')
        at += share
    about = ", ".join(f"{name} {number(share)}" for name, share in point.parts)
    picture = f'<svg class="parts" role="img" aria-label="{_safe(about)}">{"".join(bars)}</svg>'
    return f'{picture}<ul class="keys">{"".join(keys)}</ul>'


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
    head, *lines = finding_texts(finding)
    texts = _join(f"<p>{_safe(line)}</p>" for line in lines)
    kind = f"finding severity-{finding.severity}"
    return f'<div class="{kind}">\n{_heading(head, level)}\n{texts}\n</div>'


# --- tables --------------------------------------------------------------------------------------


def _table(table: Table, level: int, *, linked: bool) -> str:
    """Return a table; its rows are cards where the page is narrow."""
    title = [_heading(table.title, level)] if table.title else []
    parts = [_grid(part, linked=linked) for part in _parts_of(with_axis(table))]
    return _join([*title, *parts, _notes(table_notes(table, "bold:"))])


def _parts_of(table: Table) -> list[Table]:
    """Return a table that is too wide in parts below each other, all with its names."""
    ranged = [any(row[at].interval for row in table.rows) for at in range(len(table.columns))]
    most = _MOST_INTERVALS if sum(ranged) > 1 else _MOST_COLUMNS
    if len(table.columns) <= most or table.axis is not None:
        return [table]
    if table.columns_are and len(table.rows) < len(table.columns):
        return _parts_of(table.turned())
    names = table.name_columns
    most -= names
    return [
        replace(
            table,
            columns=(*table.columns[:names], *table.columns[start : start + most]),
            rows=tuple((*row[:names], *row[start : start + most]) for row in table.rows),
        )
        for start in range(names, len(table.columns), most)
    ]


def _grid(table: Table, *, linked: bool) -> str:
    axis, rows = drawn_axis(table), []
    for row in table.rows:
        cells = [
            f'<td class="axis">{"" if axis is None else axis_cell(axis, cell)}</td>'
            if column.kind == "whisker"
            else _cell(
                cell,
                column,
                is_name=place < table.name_columns,
                linked=linked,
                badge=table.picked if place == 0 and cell.tone == "strong" else "",
            )
            for place, (cell, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        picked = ' class="picked"' if table.picked and row[0].tone == "strong" else ""
        rows.append(f"<tr{picked}>{''.join(cells)}</tr>")
    head = "".join(_head(column, axis) for column in table.columns)
    has_titles = any(column.title for column in table.columns)
    ranged = sum(any(row[at].interval for row in table.rows) for at in range(len(table.columns)))
    kind = ' class="systems"' if table.picked else ' class="stacked"' if ranged > 3 else ""
    return _join(
        [
            f'<table{kind} aria-label="{_safe(table.title or "Table")}">',
            *([f"<thead><tr>{head}</tr></thead>"] if has_titles else []),
            "<tbody>",
            *rows,
            "</tbody></table>",
        ]
    )


def _head(column: Column, axis: DrawnAxis | None) -> str:
    if column.kind == "whisker":
        return f'<td class="axis">{"" if axis is None else axis_head(axis)}</td>'
    title = title_of(column)
    if not title:
        return f"<td{_classes(column, title)}></td>"
    return f'<th scope="col"{_classes(column, title)}>{_safe(title)}</th>'


def _classes(column: Column, text: str, cell: Cell | None = None) -> str:
    """Return the class attribute of a cell; '' if it has none."""
    names = {"text": ["text"], "outcome": ["text", "outcome"]}.get(column.kind, [])
    if "text" in names and len(text) > _LONGEST_LINE:
        names = [*names, "wrap"]
    if any(len(word) > _LONGEST_WORD for word in text[:LONGEST_TEXT].split()):
        names = [*names, "long"]
    if cell is not None:
        names += [cell.tone] if cell.tone != "plain" else []
        names += ["best"] if cell.best else []
        names += ["empty"] if not text else []
    return f' class="{" ".join(names)}"' if names else ""


def _cell(cell: Cell, column: Column, *, is_name: bool, linked: bool, badge: str = "") -> str:
    value = readable(value_of(cell, column))
    is_number = isinstance(cell.value, float) or column.kind == "interval"
    inner = escape(_minus(value) if is_number else value)
    if linked and cell.link:
        inner = f'<a href="#{escape(cell.link)}">{inner}</a>'
    parts = [f'<span class="value">{inner}</span>{_safe(cell.marker)}']
    if badge:
        parts.append(f' <span class="badge">{_safe(badge)}</span>')
    if cell.note:
        parts.append(f' <span class="note">{_safe(note_of(cell))}</span>')
    if cell.interval is not None:
        parts.append(f' <span class="range">{_minus(interval_of(cell, column))}</span>')
    if cell.small:
        parts.append(f' <span class="small">{_safe(cell.small)}</span>')
    tag = 'th scope="row"' if is_name else "td"
    label = "" if is_name or not column.title else f' data-label="{_safe(column.title)}"'
    return f"<{tag}{_classes(column, value, cell)}{label}>{''.join(parts)}</{tag[:2]}>"


def _minus(text: str) -> str:
    """Return numbers with the sign that is as wide as a plus."""
    return text.replace("-", "−")
