"""A document on a terminal, or as plain text: lines that fit, numbers that are never broken.

Of a document with an answer only that is shown, unless everything is asked for. Tables that are too
wide are first laid out another way (intervals below their values, rows and columns exchanged), then
split into blocks that repeat the names.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from rankscope.document.blocks import (
    Answer,
    Cell,
    Code,
    Column,
    Findings,
    Notes,
    Plot,
    Points,
    Sentence,
    Sentences,
    Table,
)
from rankscope.document.text import (
    NOTHING,
    finding_texts,
    for_text,
    interval_of,
    note_of,
    readable,
    table_notes,
    title_of,
    value_of,
)
from rankscope.printing import visible

if TYPE_CHECKING:
    from rankscope.document.blocks import Block, Document

WIDTH = 100
"""How wide plain text is."""

_GAPS = (3, 2, 1)
"""Spaces between columns: fewer only where the table would be split otherwise."""
_WIDEST_NAME = 40
"""Names longer than this go on in the next line."""
_NARROWEST_TEXT = 24
"""Other text may become this narrow before a table is split."""

_LONGEST_NOTE = 16
"""Longer notes are cut behind numbers."""

_STYLES = {
    "plain": "",
    "strong": "bold",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
    "quiet": "dim",
}
_SEVERITIES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def as_text(document: Document, width: int = WIDTH, *, full: bool = False) -> str:
    """Return a document as plain text."""
    page = io.StringIO()
    draw(document, Console(file=page, width=width, color_system=None, highlight=False), full=full)
    return page.getvalue()


def draw(document: Document, console: Console, *, full: bool = False) -> None:
    """Print a document; ``full``: not only its answer, but everything behind it, too."""
    is_first = True
    if document.is_titled:
        _line(console, Text(readable(document.title), "bold"))
        if document.subtitle:
            _line(console, Text(readable(document.subtitle), "dim"))
        is_first = False
    if document.answer is not None:
        _draw_answer(document.answer, console)
        is_first = False
        if not full:
            return
    for section in document.sections:
        held = section.all_blocks if full else section.blocks
        blocks = [block for block in held if not isinstance(block, Plot)]
        for place, block in enumerate(blocks):
            if not is_first:
                console.print()
            is_first = False
            if section.title and not place:
                _line(console, Text(readable(section.title), "bold underline"))
            _draw_block(block, console)


def _draw_answer(answer: Answer, console: Console) -> None:
    """Print the decision, then its blocks."""
    for place, line in enumerate(answer.lines):
        _line(console, Text(readable(line), "" if place else "bold"))
    for block in answer.blocks:
        if not isinstance(block, Plot):
            console.print()
            _draw_block(block, console)


def _draw_block(block: Block, console: Console) -> None:
    if isinstance(block, Table):
        _draw_table(for_text(block), console)
    elif isinstance(block, Points):
        _draw_points(block, console)
    elif isinstance(block, Sentences):
        for sentence in block.sentences:
            text = _sentence(sentence)
            _hanging(console, text, "- " if block.listed else "")
    elif isinstance(block, Findings):
        _draw_findings(block, console)
    elif isinstance(block, Notes):
        _draw_notes(block.texts, console)
    elif isinstance(block, Code):
        for line in block.text.split("\n"):
            console.print(Text(visible(line)), soft_wrap=True)


def _draw_points(block: Points, console: Console) -> None:
    """Print points, what they say beside their labels."""
    wide = max((cell_len(point.label) for point in block.points), default=0) + 2
    for point in block.points:
        for place, line in enumerate(point.all_lines):
            label = readable("" if place else point.label)
            lead = Text(label + " " * (wide - cell_len(label)), "bold")
            text = Text(readable(line), _STYLES[point.tone])
            if point.is_code:
                console.print(lead + text, soft_wrap=True)
            else:
                _hanging(console, text, lead)


def _sentence(sentence: Sentence) -> Text:
    return Text(readable(sentence.text), _STYLES[sentence.tone])


def _draw_notes(texts: Iterable[str], console: Console) -> None:
    for text in texts:
        _line(console, Text(readable(text), "dim"))


def _line(console: Console, text: Text) -> None:
    """Print text, broken between words where it must be, without spaces at the end of lines."""
    for line in text.wrap(console, console.width, overflow="fold"):
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _hanging(console: Console, text: Text, lead: Text | str) -> None:
    """Print text behind a lead; further lines are indented as far."""
    first = lead if isinstance(lead, Text) else Text(lead)
    lines = text.wrap(console, max(console.width - first.cell_len, 1), overflow="fold")
    for place, line in enumerate(lines):
        line.rstrip()
        _line(console, (Text(" " * first.cell_len) if place else first) + line)


# --- findings ------------------------------------------------------------------------------------


def _draw_findings(block: Findings, console: Console) -> None:
    if not block.findings:
        _line(console, Text("no findings", "dim"))
    for place, finding in enumerate(block.findings):
        if place:
            console.print()
        head, *lines = finding_texts(finding)
        _line(console, Text(readable(head), _SEVERITIES[finding.severity]))
        for line in lines:
            _hanging(console, Text(readable(line)), "  ")


# --- tables --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A column as text: its title, and the lines of each of its cells."""

    title: Text
    cells: list[list[Text]]
    right: bool
    is_text: bool
    is_name: bool

    @property
    def natural(self) -> int:
        """How many places it takes if nothing is broken."""
        lines = (line.cell_len for cell in self.cells for line in cell)
        return max(self.title.cell_len, *lines, 0) if self.cells else self.title.cell_len

    @property
    def narrow(self) -> int:
        """How many places it takes at least; numbers all they need."""
        if not self.is_text:
            title = min(self.title.cell_len, _WIDEST_NAME)
            return max(title, *(line.cell_len for cell in self.cells for line in cell), 0)
        return min(self.natural, _WIDEST_NAME if self.is_name else _NARROWEST_TEXT)


def _draw_table(table: Table, console: Console) -> None:
    if table.title:
        _line(console, Text(readable(table.title), "bold"))
    is_plain = console.color_system is None
    shapes = [table, table.turned()] if table.columns_are and table.rows else [table]
    layouts = [
        (gap, _blocks(drawn, table.name_columns, console.width, gap))
        for stacked in (False, True)
        for drawn in [_drawn(shape, is_plain=is_plain, stacked=stacked) for shape in shapes]
        for gap in _GAPS
    ]
    whole = [layout for layout in layouts if len(layout[1]) == 1]
    widest = [layout for layout in layouts if layout[0] == _GAPS[0]]
    gap, blocks = min(whole or widest, key=lambda layout: len(layout[1]))
    for place, block in enumerate(blocks):
        if place:
            console.print()
        _draw_columns(block, console, gap)
    if notes := table_notes(table, "*" if is_plain else "bold:"):
        console.print()
        _draw_notes(notes, console)


def _drawn(table: Table, *, is_plain: bool, stacked: bool) -> list[_Drawn]:
    """Return the columns as text; ``stacked`` puts intervals below their values."""
    columns = []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        has_intervals = column.kind != "interval" and any(cell.interval for cell in cells)
        is_name = place < table.name_columns
        if column.is_words:
            lines = [[_text_cell(cell, is_name=is_name)] for cell in cells]
        else:
            lines = _number_cells(cells, column, is_plain=is_plain, stacked=stacked)
        columns.append(
            _Drawn(
                Text(readable(title_of(column)), "bold"),
                lines,
                right=not column.is_words and not has_intervals,
                is_text=column.is_words,
                is_name=is_name,
            )
        )
    return columns


def _style(cell: Cell) -> str:
    return f"{'bold ' if cell.best else ''}{_STYLES[cell.tone]}".strip()


def _text_cell(cell: Cell, *, is_name: bool) -> Text:
    style = _style(cell) or ("bold" if is_name else "")
    text = Text(readable(f"{NOTHING if cell.value is None else cell.value}{cell.marker}"), style)
    return text.append(f" ({readable(cell.note)})", "not bold dim") if cell.note else text


def _with_short_note(cell: Cell) -> Cell:
    """Cut a note that would not fit beside a number, which is never broken."""
    is_long = len(readable(cell.note)) > _LONGEST_NOTE
    return replace(cell, note=f"{readable(cell.note)[:_LONGEST_NOTE]}…") if is_long else cell


def _number_cells(
    cells: Sequence[Cell], column: Column, *, is_plain: bool, stacked: bool
) -> list[list[Text]]:
    """Return the lines of each cell; numbers, intervals and notes are below each other."""
    parts = [
        (
            readable(value_of(cell, column)),
            cell.marker + ("*" if is_plain and cell.best else ""),
            interval_of(cell, column),
            readable(note_of(_with_short_note(cell))),
        )
        for cell in cells
    ]
    wide = [max((cell_len(part[place]) for part in parts), default=0) for place in range(4)]

    def padded(text: str, place: int, *, right: bool = False) -> str:
        space = " " * (wide[place] - cell_len(text))
        return space + text if right else text + space

    lines = []
    for cell, (value, marker, ends, rest) in zip(cells, parts, strict=True):
        style = _style(cell)
        first = Text(padded(value, 0, right=True) + padded(marker, 1), style)
        below = []
        if wide[2] and not stacked:
            first.append(f" {padded(ends, 2, right=True)}", style or "dim")
        elif wide[2]:
            below = [Text(ends, "dim")]
        if wide[3]:
            first.append(f" {padded(rest, 3)}", style)
        lines.append([first, *below])
    return lines


def _blocks(
    columns: list[_Drawn], names: int, width: int, gap: int
) -> list[list[tuple[_Drawn, int]]]:
    """Split columns into blocks that fit, each with the name columns; give every one its width."""
    named, others = columns[:names], columns[names:]
    widest = max((column.narrow for column in others), default=0)
    limit = max(8, (width - widest) // len(named) - gap)
    heads = [(column, min(column.narrow, limit)) for column in named]
    start = sum(wide for _, wide in heads) + gap * (len(heads) - 1)
    blocks: list[list[tuple[_Drawn, int]]] = []
    used = width + 1
    for column in others:
        if used + gap + column.narrow > width:
            blocks.append([*heads])
            used = start
        blocks[-1].append((column, column.narrow))
        used += gap + column.narrow
    return [_widened(block, width, gap) for block in blocks or [heads]]


def _widened(block: list[tuple[_Drawn, int]], width: int, gap: int) -> list[tuple[_Drawn, int]]:
    """Give what is left of the line to columns of text that need it, names last."""
    widths = [wide for _, wide in block]
    left = width - sum(widths) - gap * (len(block) - 1)
    for place, (column, wide) in sorted(enumerate(block), key=lambda item: item[1][0].is_name):
        more = max(min(left, column.natural - wide), 0) if column.is_text else 0
        widths[place] += more
        left -= more
    return [(column, wide) for (column, _), wide in zip(block, widths, strict=True)]


def _draw_columns(block: list[tuple[_Drawn, int]], console: Console, gap: int) -> None:
    if any(column.title for column, _ in block):
        titles = [[column.title] for column, _ in block]
        _draw_row(titles, block, console, gap)
    for row in range(len(block[0][0].cells)):
        _draw_row([column.cells[row] for column, _ in block], block, console, gap)


def _draw_row(
    cells: list[list[Text]], block: list[tuple[_Drawn, int]], console: Console, gap: int
) -> None:
    """Print one row, which may take several lines."""
    parts = [
        list(_wrapped(cell, wide, console)) for cell, (_, wide) in zip(cells, block, strict=True)
    ]
    for number in range(max(map(len, parts))):
        line = Text()
        for place, (column, wide) in enumerate(block):
            text = parts[place][number] if number < len(parts[place]) else Text()
            space = " " * max(wide - text.cell_len, 0)
            line.append(" " * gap if place else "")
            line += Text(space) + text if column.right else text + Text(space)
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _wrapped(cell: list[Text], wide: int, console: Console) -> Iterator[Text]:
    for text in cell:
        if text.cell_len <= wide:
            yield text
        else:
            for line in text.wrap(console, wide, overflow="fold"):
                line.rstrip()
                yield line
