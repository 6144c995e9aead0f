"""A document as Markdown: shown as it is meant, and readable in the source too.

Whatever comes from outside is escaped. For comments (``names_as_code``) names are put into code
spans, in which nothing is markup, HTML, a link or a mention of somebody.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Code,
    Findings,
    Notes,
    Plot,
    Points,
    Table,
)
from rankscope.document.text import (
    finding_texts,
    for_text,
    interval_of,
    note_of,
    readable,
    table_notes,
    title_of,
    value_of,
)
from rankscope.printing import visible_lines

if TYPE_CHECKING:
    from rankscope.document.blocks import Block, Cell, Column, Document, Point

_LONGEST_NAME = 100
"""Longer names are cut in code spans: one could fill a whole comment."""

_SPECIAL = re.compile(r"[\\|*_`\[\]#~$]")
_STARTS_BLOCK = re.compile(r"^(\d+(?=[.)])|)([-+.)=])(?=[\s=+-]|$)")


def escaped(text: object) -> str:
    """Return text that Markdown shows as it is, on one line, also in a table."""
    return _STARTS_BLOCK.sub(r"\1\\\2", _inside(str(text).strip()))


def _inside(text: str) -> str:
    """Escape what is special inside a line."""
    line = readable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\g<0>", line)


def code_span(text: object) -> str:
    r"""Return text as a code span that it cannot leave, also in a table.

    What could end the span (`), split a cell (|) or hide (control characters) is spelt out as in
    Python, and so is the backslash that spells it.
    """
    line = str(text)
    line = line if len(line) <= _LONGEST_NAME else f"{line[:_LONGEST_NAME]}…"
    safe = "".join(
        sign if sign.isprintable() and sign not in "`|\\" else _spelt(ord(sign)) for sign in line
    )
    return f"`{safe}`" if safe.strip() else f"`'{safe}'`"


def _spelt(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def as_markdown(
    document: Document,
    *,
    level: int = 1,
    names_as_code: bool = False,
    full: bool = False,
) -> str:
    """Return a document as Markdown without its pictures; its title is a heading of ``level``.

    Behind an answer, a diagnosis is its sentence and how it was made is left out; ``full``: all.
    """
    return _Writer(document, level, names_as_code=names_as_code).text(full=full)


class _Writer:
    """Writes one document; parts are lists of lines with a blank line between them."""

    def __init__(
        self,
        document: Document,
        level: int,
        *,
        names_as_code: bool,
    ) -> None:
        self.document = document
        self.level = level
        self.names_as_code = names_as_code
        names = sorted(filter(None, document.names), key=len, reverse=True)
        self.names = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names))

    def text(self, *, full: bool) -> str:
        document, answer = self.document, self.document.answer
        parts: list[list[str]] = []
        if document.is_titled or answer is not None:
            parts.append([self.heading(0, document.title)])
            parts.append([self.inline(document.subtitle)] if document.subtitle else [])
        if answer is not None:
            parts += [
                [f"**{self.inline(line)}**" if not n else self.inline(line)]
                for n, line in enumerate(answer.lines)
            ]
            parts += [part for block in answer.blocks for part in self.block(block, 1)]
        parts.append(
            [f"- {self.inline(label)}: {self.inline(fact)}" for label, fact in document.facts]
        )
        is_short = answer is not None and not full
        for section in document.sections:
            if is_short and section.part == "method":
                continue
            inner = 2 if section.title else 1
            held = () if is_short and section.part == "diagnosis" else section.all_blocks
            blocks = [part for block in held for part in self.block(block, inner)]
            if blocks or (is_short and section.finding):
                parts.append([self.heading(1, section.title)] if section.title else [])
                parts.append([self.inline(section.finding)] if section.finding else [])
                parts += blocks
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def heading(self, below: int, title: str) -> str:
        return f"{'#' * (self.level + below)} {self.inline(title)}"

    def inline(self, text: str) -> str:
        """Return a sentence, the names in it set apart where that is wanted."""
        if not self.names_as_code or not self.names.pattern:
            return escaped(text)
        parts, at = [], 0
        for match in self.names.finditer(text):
            parts += [_inside(text[at : match.start()]), code_span(match[0])]
            at = match.end()
        return _STARTS_BLOCK.sub(r"\1\\\2", "".join([*parts, _inside(text[at:])]).strip())

    def block(self, block: Block, below: int) -> Iterable[list[str]]:
        if isinstance(block, Plot):
            return
        if isinstance(block, Table):
            if block.title:
                yield [self.heading(below, block.title)]
            yield from self.table(for_text(block))
        elif isinstance(block, Points):
            yield [self.point(point) for point in block.points]
        elif isinstance(block, Findings):
            lines = ["; ".join(finding_texts(finding)) for finding in block.findings]
            yield self.listed(lines) or ["No findings."]
        elif isinstance(block, Notes):
            yield self.listed(block.texts)
        elif isinstance(block, Code):
            yield _fenced(block)
        elif block.listed:
            yield self.listed(sentence.text for sentence in block.sentences)
        else:
            yield from ([self.inline(sentence.text)] for sentence in block.sentences)

    def point(self, point: Point) -> str:
        """Return a point as an item of a list: its label in bold, commands as code."""
        lines = [code_span(e) if point.is_code else self.inline(e) for e in point.all_lines]
        return f"- **{self.inline(point.label)}:** {'; '.join(lines)}"

    def listed(self, texts: Iterable[str]) -> list[str]:
        return [f"- {self.inline(text)}" for text in texts]

    def table(self, table: Table) -> Iterable[list[str]]:
        if table.rows:
            head = [escaped(title_of(column)) for column in table.columns]
            rows = [
                [
                    self.cell(cell, column, is_name=place < table.name_columns)
                    for place, (cell, column) in enumerate(zip(row, table.columns, strict=True))
                ]
                for row in table.rows
            ]
            yield _aligned(head, rows, [column.is_words for column in table.columns])
        if notes := table_notes(table, "bold:"):
            yield self.listed(notes)

    def cell(self, cell: Cell, column: Column, *, is_name: bool) -> str:
        value = value_of(cell, column)
        if not value:
            return ""
        if is_name and self.names_as_code:
            shown = code_span(value + cell.marker)
        else:
            is_text = isinstance(cell.value, str)
            shown = escaped(value) if is_text else value
            if cell.best or (is_text and cell.tone in ("strong", "bad")):
                shown = f"**{shown}**"
            shown += escaped(cell.marker) if not cell.marker[:1].isspace() else cell.marker
        return " ".join(filter(None, [shown, interval_of(cell, column), escaped(note_of(cell))]))


def _fenced(block: Code) -> list[str]:
    text = visible_lines(block.text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [f"{fence}{block.language}", text, fence]


def _width(text: str) -> int:
    """Return how many places text takes in a fixed font."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def _aligned(
    head: Sequence[str], rows: Sequence[Sequence[str]], flush_left: Sequence[bool]
) -> list[str]:
    """Return a table whose columns line up in the source."""
    widths = [max(3, *(_width(row[place]) for row in (head, *rows))) for place in range(len(head))]
    rule = [
        "-" * wide if left else "-" * (wide - 1) + ":"
        for wide, left in zip(widths, flush_left, strict=True)
    ]

    def line(cells: Sequence[str]) -> str:
        padded = []
        for cell, wide, left in zip(cells, widths, flush_left, strict=True):
            space = " " * (wide - _width(cell))
            padded.append(cell + space if left else space + cell)
        return f"| {' | '.join(padded)} |"

    return [line(head), line(rule), *map(line, rows)]
