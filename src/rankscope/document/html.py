"""A document as HTML: a page of its own, or a fragment for notebooks.

Everything is in the page: no script runs, and nothing is fetched (a policy in its head forbids
both). Colours follow the reader's light or dark setting, and never say anything alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from rankscope.document.blocks import Chart, Findings, Notes, Sentences, Table
from rankscope.document.text import (
    SIGNS,
    behind,
    interval,
    interval_of,
    number,
    table_notes,
    title_of,
    value_of,
    visible,
    visible_lines,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.document.blocks import Bar, Block, Cell, Column, Document, Section, Tone
    from rankscope.findings import Finding

_COLOURS = """\
--ink: #1c2430; --quiet: #5c6876; --line: #d9dfe6; --paper: #ffffff; --shade: #f4f6f9;
--accent: #2a5bb8; --good: #14713c; --bad: #b3261e; --warning: #8a5a00;"""

_DARK_COLOURS = """\
--ink: #e4e9f0; --quiet: #a0abba; --line: #343d4a; --paper: #14181f; --shade: #1c222b;
--accent: #86aef5; --good: #6fcf97; --bad: #ff9088; --warning: #e9b949;"""

_STYLE = f"""\
.rankscope {{ {_COLOURS} color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }}
@media (prefers-color-scheme: dark) {{ .rankscope {{ {_DARK_COLOURS} }} }}
.rankscope h1 {{ font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }}
.rankscope h2 {{ font-size: 1.2rem; margin: 2.2rem 0 .7rem; scroll-margin-top: 1rem; }}
.rankscope :is(h3, h4, h5) {{ font-size: 1rem; margin: 1.4rem 0 .4rem; }}
.rankscope p {{ margin: .5rem 0; }}
.rankscope .subtitle {{ color: var(--quiet); margin-top: 0; }}
.rankscope nav {{ display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 1rem 0;
  font-size: .9rem; }}
.rankscope a {{ color: var(--accent); text-underline-offset: .15em; }}
.rankscope .lead {{ background: var(--shade); border-left: 4px solid var(--accent);
  border-radius: 0 6px 6px 0; padding: .5rem 1.1rem .7rem; margin: 1rem 0; }}
.rankscope .lead.good {{ border-color: var(--good); }}
.rankscope .lead.bad {{ border-color: var(--bad); }}
.rankscope .lead.warning {{ border-color: var(--warning); }}
.rankscope .lead h2 {{ margin: .4rem 0; }}
.rankscope ul {{ margin: .4rem 0; padding-left: 1.3rem; }}
.rankscope li {{ margin: .25rem 0; }}
.rankscope .notes {{ color: var(--quiet); font-size: .84rem; list-style: none; padding: 0;
  max-width: 60rem; }}
.rankscope .notes li {{ margin: .1rem 0; }}
.rankscope .scroll {{ overflow: auto; max-height: 85vh; border: 1px solid var(--line);
  border-radius: 6px; margin: .6rem 0; width: fit-content; max-width: 100%; }}
.rankscope .scroll:focus-visible {{ outline: 2px solid var(--accent); }}
.rankscope table {{ border-collapse: separate; border-spacing: 0; font-size: .9rem; margin: 0;
  background: var(--paper); }}
.rankscope :is(th, td) {{ border: 0; border-bottom: 1px solid var(--line); padding: .38rem .8rem;
  text-align: right; vertical-align: baseline; white-space: nowrap;
  font-variant-numeric: tabular-nums; background: var(--paper); color: var(--ink); }}
.rankscope tbody tr:last-child > * {{ border-bottom: 0; }}
.rankscope tbody tr:hover > * {{ background: var(--shade); }}
.rankscope thead th {{ position: sticky; top: 0; z-index: 1; background: var(--shade);
  font-weight: 600; }}
.rankscope :is(th, td).text {{ text-align: left; }}
.rankscope :is(th, td).long {{ white-space: normal; min-width: 14rem; max-width: 28rem; }}
.rankscope tbody th {{ font-weight: 600; }}
.rankscope tr > :first-child {{ position: sticky; left: 0; z-index: 1; }}
.rankscope thead tr > :first-child {{ z-index: 2; }}
.rankscope .value {{ font-weight: inherit; }}
.rankscope .best .value {{ font-weight: 750; }}
.rankscope .range, .rankscope .letters, .rankscope .note {{ color: var(--quiet);
  font-size: .86em; }}
.rankscope .letters {{ display: inline-block; min-width: 1.1em; text-align: left; }}
.rankscope .bar {{ display: inline-block; width: 70px; height: 12px; vertical-align: -1px;
  margin-left: .6em; color: var(--accent); overflow: visible; }}
.rankscope .stacked :is(.range, .bar) {{ display: block; }}
.rankscope .stacked .bar {{ width: 100%; margin: .15em 0 .1em; }}
.rankscope .good {{ color: var(--good); }}
.rankscope .bad {{ color: var(--bad); }}
.rankscope .warning {{ color: var(--warning); }}
.rankscope .quiet {{ color: var(--quiet); }}
.rankscope .strong {{ font-weight: 600; }}
.rankscope .lead.good, .rankscope .lead.bad, .rankscope .lead.warning {{ color: inherit; }}
.rankscope .sign {{ font-weight: 700; margin-right: .4em; }}
.rankscope .chart {{ display: grid; grid-template-columns: minmax(5rem, max-content) 1fr
  max-content; gap: .35rem .9rem; align-items: center; max-width: 46rem; margin: .8rem 0;
  font-size: .9rem; font-variant-numeric: tabular-nums; }}
.rankscope .chart svg {{ width: 100%; height: 16px; color: var(--accent); overflow: visible; }}
.rankscope .finding {{ border-left: 3px solid var(--line); padding: .1rem .9rem; margin: .8rem 0; }}
.rankscope .finding.error {{ border-color: var(--bad); }}
.rankscope .finding.warning {{ border-color: var(--warning); color: inherit; }}
.rankscope .finding :is(h3, h5) {{ margin: .2rem 0; }}
.rankscope .finding p {{ margin: .2rem 0; max-width: 60rem; }}
.rankscope :is(pre, code) {{ font: .87em/1.5 ui-monospace, Menlo, Consolas, monospace; }}
.rankscope pre {{ background: var(--shade); color: var(--ink); border-radius: 6px;
  padding: .7rem .9rem; overflow: auto; white-space: pre; }}
@media print {{
  .rankscope {{ {_COLOURS} font-size: 11px; }}
  .rankscope nav {{ display: none; }}
  .rankscope .scroll {{ max-height: none; overflow: visible; border: 0; }}
  .rankscope thead th {{ position: static; }}
  .rankscope :is(tr, .finding, .lead, .chart) {{ break-inside: avoid; }}
  .rankscope :is(h2, h3) {{ break-after: avoid; }}
  .rankscope :is(th, td) {{ padding: .2rem .5rem; }}
}}
"""

_PAGE_STYLE = f"""\
:root {{ color-scheme: light dark; }}
body {{ margin: 0; background: #ffffff; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181f; }} }}
@media print {{ body {{ background: #ffffff; }} }}
body > .rankscope {{ max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }}
{_STYLE}"""

_MOST_BESIDE = 3
"""With more columns of intervals than this, intervals are drawn below their values."""
_LONGEST_LINE = 40
"""Text longer than this may be broken in a cell."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_TONE_SIGNS: dict[Tone, str] = {"good": "✓", "bad": "✗", "warning": "!"}


def _safe(text: object) -> str:
    return escape(visible(text))


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
{_PAGE_STYLE}</style>
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
    return f'<div class="rankscope">\n<style>\n{_STYLE}</style>\n{parts}\n</div>'


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
        yield from (_block(block, inner) for block in section.all_blocks)
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


def _block(block: Block, level: int) -> str:
    """Return a block; ``level`` is that of headings in it."""
    if isinstance(block, Table):
        return _table(block, level)
    if isinstance(block, Sentences):
        return _sentences(block)
    if isinstance(block, Chart):
        return _chart(block, level)
    if isinstance(block, Findings):
        found = _join(_finding(finding, level) for finding in block.findings)
        return found or "<p>No findings.</p>"
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
        sign = _TONE_SIGNS.get(sentence.tone)
        mark = (
            f'<span class="sign {sentence.tone}" aria-hidden="true">{sign}</span>' if sign else ""
        )
        tone = f' class="{sentence.tone}"' if sentence.tone in ("strong", "quiet") else ""
        lines.append(f"<{tag}{tone}>{mark}{_safe(sentence.text)}</{tag}>")
    return f"<ul>{_join(lines)}</ul>" if block.listed else _join(lines)


def _finding(finding: Finding, level: int) -> str:
    who = "" if finding.system is None else f"{finding.system}: "
    sign = f'<span class="sign" aria-hidden="true">{SIGNS[finding.severity]}</span>'
    name = _safe(f"{finding.severity}: {who}{finding.name.replace('-', ' ')}")
    count = f"{finding.code}, {counted(finding.count, finding.unit)}"
    lines = [
        f'<div class="finding {finding.severity}">',
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
    value = visible(value_of(cell, column))
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


# --- charts --------------------------------------------------------------------------------------


def _chart(chart: Chart, level: int) -> str:
    """Draw a bar for each value, its interval as a line on it, and the numbers beside it."""
    tops = [max(bar.value, *(bar.interval or (bar.value,))) for bar in chart.bars]
    high = chart.high or max([top for top in tops if math.isfinite(top)], default=1.0) or 1.0
    rows = [_chart_row(bar, high, chart.digits) for bar in chart.bars]
    title = _heading(chart.title, level)
    return f'{title}\n<div class="chart">\n{_join(rows)}\n</div>' if rows else ""


def _chart_row(bar: Bar, high: float, digits: int) -> str:
    def at(number: float) -> str:
        return f"{100 * min(max(number / high, 0), 1):.1f}%"

    drawn = (
        f'<rect width="{at(bar.value)}" y="2" height="12" rx="2" fill="currentColor" '
        'fill-opacity=".35"/>'
    )
    shown = number(bar.value, digits=digits)
    if bar.interval is not None:
        low, top = bar.interval
        drawn += (
            f'<line x1="{at(low)}" x2="{at(top)}" y1="8" y2="8" stroke="currentColor" '
            'stroke-width="2.5" stroke-linecap="round"/>'
            f'<circle cx="{at(bar.value)}" cy="8" r="3.6" fill="currentColor"/>'
        )
        shown += f' <span class="range">{interval(bar.interval, digits=digits)}</span>'
    return (
        f'<span class="{bar.tone}">{_safe(bar.label)}</span><span>'
        f'<svg aria-hidden="true">{drawn}</svg></span><span>{shown}</span>'
    )
