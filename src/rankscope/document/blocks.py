"""Blocks: what a report shows, as data.

A `Document` has sections, a section has blocks. A view (`rankscope.document.views`) makes one of a
result; a renderer draws it. Cells carry values, intervals, markers and tones: how they are written
is decided once (`rankscope.document.text`), how they look by each renderer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from rankscope.document.links import query_link

if TYPE_CHECKING:
    from rankscope.findings import Finding

Tone = Literal["plain", "strong", "good", "bad", "warning", "quiet"]
"""What a thing means to the reader; a renderer turns it into colour or weight. Colour alone must
not say anything: what is good or bad also has a marker, or says so in words."""

Kind = Literal["text", "number", "p", "interval", "whisker", "outcome"]
"""What a column holds: text and outcomes (better, worse, can't tell) are flush left, numbers,
p-values and intervals (0.62–0.74) flush right. A whisker is drawn on the table's axis: its numbers
must stand in other columns, too."""

Value: TypeAlias = str | float | None
"""What a cell shows. An ``int`` is a count (1,024), a ``float`` has its column's decimals, text is
shown as it is, also among numbers ("none"), and None is a value that does not exist (–)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    value: Value = None
    interval: tuple[float, float] | None = None
    """Lower and upper end, drawn in brackets; an end may be infinite."""
    marker: str = ""
    """Signs or a word right behind the value: ✓ ✗ better."""
    best: bool = False
    """Whether no other value of its kind is better; `Table.best` says what that means."""
    tone: Tone = "plain"
    note: str = ""
    """A few words behind the value, drawn in parentheses, such as "baseline"."""
    small: str = ""
    """Small print below the value, on pages."""
    link: str = ""
    """Where in a page with an explorer it leads: see `rankscope.document.links`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title and how its numbers are written."""

    title: str
    kind: Kind = "number"
    digits: int | None = 3
    """Decimals of numbers; None: as few as are needed, as in 0.05."""
    signed: bool = False
    """Whether positive numbers have a plus sign."""
    note: str = ""
    """A few words behind the title, drawn in parentheses."""
    only: Literal["", "page", "text"] = ""
    """Where the column is drawn: on pages, or in all forms without pictures; '' is everywhere."""

    @property
    def is_words(self) -> bool:
        """Whether it holds words, which are flush left."""
        return self.kind in ("text", "outcome")


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis that all whiskers of a table share."""

    base: float | None = None
    """Where the line of what others are compared with is; None: there is none."""
    base_title: str = ""
    """What that is called."""
    higher_is_better: bool = True
    """Which side of the line is the better one."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below column titles; the first columns name the rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    """What the signs mean, and how the numbers were made."""
    best: str = ""
    """What ``best`` cells are, such as "best mean"; each form says how it marks them."""
    name_columns: int = 1
    """How many of the first columns name a row; they are repeated where a table is split."""
    axis: Axis | None = None
    """What whiskers are drawn on, if a column has them."""
    picked: str = ""
    """What a page writes beside the strong name of a row, such as "start here"."""
    columns_are: str = ""
    """What the columns behind the one name column are, such as "system": then all hold the same
    kind of number, and rows and columns may change places where that fits better."""

    def turned(self) -> Table:
        """Return the table with rows and columns exchanged."""
        names, pattern = self.columns[0], self.columns[1]
        columns = tuple(
            replace(pattern, title=str(row[0].value), note=row[0].note) for row in self.rows
        )
        rows = tuple(
            (Cell(column.title, note=column.note), *(row[place] for row in self.rows))
            for place, column in enumerate(self.columns[1:], start=1)
        )
        head = replace(names, title=self.columns_are)
        return replace(self, columns=(head, *columns), rows=rows, columns_are=names.title)


@dataclass(frozen=True, slots=True)
class Lines:
    """Plain rows that are made one after the other, for csv: there may be too many to hold."""

    titles: tuple[str, ...]
    rows: Callable[[], Iterator[Sequence[Value]]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with its tone."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences, each on a line of its own; ``listed`` ones have a bullet."""

    sentences: tuple[Sentence, ...]
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of one kind in a plot."""

    label: str
    points: tuple[tuple[float, float], ...]
    """Each x and y."""
    names: tuple[str, ...] = ()
    """What is written beside each point; none: nothing."""
    joined: bool = True
    """Whether a line goes through the points; otherwise each is a mark of its own."""
    tone: Tone = "plain"
    intervals: tuple[tuple[float, float] | None, ...] = ()
    """The interval of each point's y, drawn as a whisker; none: nothing."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over two axes; forms without pictures leave it out.

    What it shows must also be in a table: it is there to be seen at a glance.
    """

    title: str
    x: str
    """What the horizontal axis is."""
    y: str
    """What the vertical axis is."""
    curves: tuple[Curve, ...]
    log_x: bool = False
    """Whether equal ratios of x are equally far apart; not where an x is 0 or below."""
    note: str = ""
    """What is left out, and the like: small print below the picture."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings, worst first, with what to do about each."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """Small print."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Lines with a label: "Fix first", "Careful", "Next"."""

    label: str
    lines: tuple[str, ...]
    tone: Tone = "plain"
    is_code: bool = False
    """Whether the lines are commands or paths, to be copied as they are."""
    parts: tuple[tuple[str, float], ...] = ()
    """Parts of 1 with their names, which a page draws as one bar."""
    note: str = ""
    """A few words behind the label on pages; elsewhere the last line."""

    @property
    def all_lines(self) -> tuple[str, ...]:
        """All that it says, for forms that have no room behind a label."""
        note = f"{self.note[:1].upper()}{self.note[1:]}."
        return (*self.lines, note) if self.note else self.lines


@dataclass(frozen=True, slots=True)
class Points:
    """Points below each other, their labels in one column."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be copied as it is, such as a command."""

    text: str
    language: str = ""


Block: TypeAlias = Table | Sentences | Points | Plot | Findings | Notes | Code

Part = Literal["diagnosis", "overview", "method"]
"""The parts of a long page: what lies behind the result, all its numbers, and how it was made."""


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a title; '' is a section without one."""

    title: str
    blocks: tuple[Block, ...] = ()
    details: tuple[Block, ...] = ()
    """What follows on a page, and is left out on a terminal."""
    part: Part = "overview"
    """Which part of a long page it belongs to."""
    finding: str = ""
    """What it found, in one sentence with numbers: a page shows this and opens the rest."""

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """Everything a page shows."""
        return self.blocks + self.details


@dataclass(frozen=True, slots=True)
class Case:
    """One yes-or-no answer, for forms that count them (JUnit)."""

    name: str
    outcome: Literal["passed", "failed", "skipped", "error"] = "passed"
    """Skipped: the answer is neither yes nor no; an error: there is none."""
    message: str = ""
    """Why it is not passed, in one sentence."""
    kind: str = ""
    """The reason as a word: dropped, too-uncertain, …"""
    details: tuple[str, ...] = ()
    """Lines behind the message."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a report says first: what to do, why, and what that rests on."""

    headline: str
    """The decision in a few words, without a full stop: "Start with hybrid"."""
    reason: str = ""
    """The number that decides, or that could change the decision; '' if the headline says all."""
    evidence: str = ""
    """What the decision rests on, in sentences."""
    blocks: tuple[Block, ...] = ()
    """One table, what to fix first, what to be careful about, what comes next: all that a terminal
    shows unless everything is asked for."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The decision in at most two lines."""
        first = f"{self.headline}: {self.reason}" if self.reason else self.headline
        return tuple(line for line in (_ended(first), self.evidence) if line)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", ":", "?", "!")) else f"{sentence}."


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    answer: Answer | None = None
    """What comes first; None: a document without a decision, such as a list."""
    facts: tuple[tuple[str, str], ...] = ()
    """What it is about and how it was made, each with its label; shown in small print."""
    names: frozenset[str] = frozenset()
    """Names of systems, measures and queries that sentences may hold: a form may set them apart."""
    data: Callable[[], Table | Lines] | None = None
    """Makes the numbers in full, one fact a row: what csv writes; None: the first table."""
    cases: tuple[Case, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    """What a machine may want to know about the report as a whole (JUnit's properties)."""

    @property
    def is_titled(self) -> bool:
        """Whether titles are worth showing: a single table needs none."""
        return self.answer is None and any(section.title for section in self.sections)

    @property
    def warnings(self) -> list[str]:
        """The sentences that warn: what a form that holds only numbers must say beside them."""
        warnings: list[str] = []
        for block in self.blocks:
            if isinstance(block, Sentences):
                warnings += [each.text for each in block.sentences if each.tone == "warning"]
            elif isinstance(block, Points):
                careful = (point for point in block.points if point.tone == "warning")
                warnings += [f"warning: {line}" for point in careful for line in point.lines]
        return warnings

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks, those of the answer first."""
        if self.answer is not None:
            yield from self.answer.blocks
        for section in self.sections:
            yield from section.all_blocks


class HasEnds(Protocol):
    """Any interval."""

    @property
    def low(self) -> float | None:
        """The lower end."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def ends(interval: HasEnds | None) -> tuple[float, float] | None:
    """Return both ends of an interval; one that does not exist is infinite."""
    if interval is None:
        return None
    low, high = interval.low, interval.high
    return (-math.inf if low is None else low), (math.inf if high is None else high)


def sentences(texts: Iterable[str], tone: Tone = "plain", *, listed: bool = False) -> Sentences:
    """Make sentences of one tone."""
    return Sentences(tuple(Sentence(text, tone) for text in texts), listed=listed)


_SAID_BETTER = {"RS121": ("RS641", "RS642")}
"""Findings that say nothing beside others: that scores are tied, beside what ties can change."""


def warning_lines(findings: Iterable[Finding], *, several: bool = True) -> tuple[Sentences, ...]:
    """Say what findings about runs say, a line for each code; none if there is nothing to say."""
    lines = [f"warning: {line}" for line in finding_lines(findings, several=several)]
    return (sentences(lines, "warning"),) if lines else ()


def finding_lines(
    findings: Iterable[Finding], *, several: bool = True, advised: bool = True
) -> list[str]:
    """Return a line for each code: what is true of the first system, and of which others.

    ``several``: whether systems are named; ``advised``: with the code, and what to do.
    """
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    lines = []
    for code, (first, *others) in by_code.items():
        if any(better in by_code for better in _SAID_BETTER.get(code, ())):
            continue
        names = list(
            dict.fromkeys(each.system for each in others if each.system) if several else ()
        )
        is_named = not several or first.system is None or first.system in first.message
        who = "" if is_named else f"{first.system}: "
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        likewise = f"; likewise {', '.join(names[:2])}{more}" if names else ""
        advice = f" [{code}]; {first.advice}" if advised else ""
        lines.append(f"{who}{first.message}{likewise}{advice}")
    return lines


def cells(*values: Value) -> tuple[Cell, ...]:
    """Make cells that have a value only."""
    return tuple(Cell(value) for value in values)


LONGEST_TEXT = 100
"""Longer texts of queries are cut in tables."""


def named_queries(
    query_ids: Iterable[str], texts: Mapping[str, str]
) -> tuple[tuple[Column, ...], list[tuple[Cell, ...]]]:
    """Make the columns and cells that name queries: ids, and texts where any is known.

    A text that is the id itself, as where questions have no ids, is not repeated.
    """
    ids = list(query_ids)
    known = {
        query_id: shortened(texts[query_id])
        for query_id in ids
        if texts.get(query_id, query_id) != query_id
    }
    if not known:
        return text_columns("query"), [(_query(query_id),) for query_id in ids]
    return text_columns("query", "text"), [
        (_query(query_id), Cell(known.get(query_id))) for query_id in ids
    ]


def _query(query_id: str) -> Cell:
    return Cell(query_id, link=query_link(query_id))


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text as it is shown in a table: on one line, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def plain_rows(rows: Iterable[Sequence[Value]]) -> tuple[tuple[Cell, ...], ...]:
    """Make rows of cells that have a value only."""
    return tuple(cells(*row) for row in rows)


def text_columns(*titles: str) -> tuple[Column, ...]:
    """Make columns of text."""
    return tuple(Column(title, "text") for title in titles)


def together(title: str, documents: Sequence[Document]) -> Document:
    """Put documents of one kind behind each other; their titles become those of sections."""
    if len(documents) == 1:
        return documents[0]
    sections: list[Section] = []
    for document in documents:
        first, *others = document.sections
        sections += [replace(first, title=first.title or document.title), *others]
    makers = [document.data for document in documents if document.data is not None]

    def data() -> Table:
        tables = [table for table in (make() for make in makers) if isinstance(table, Table)]
        return replace(tables[0], rows=tuple(row for table in tables for row in table.rows))

    return Document(
        title,
        tuple(sections),
        names=frozenset().union(*(document.names for document in documents)),
        data=data if makers else None,
        cases=tuple(case for document in documents for case in document.cases),
    )
