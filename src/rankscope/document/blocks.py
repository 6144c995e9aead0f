"""Blocks: what a report shows, as data.

A `Document` has sections, a section has blocks. A view (`rankscope.document.views`) makes one of a
result; a renderer draws it. Cells carry values, intervals, markers and tones: how many digits, which
colour or which escape a form needs is the renderer's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from rankscope.findings import Finding

Tone = Literal["plain", "strong", "good", "bad", "warning", "quiet"]
"""What a thing means to the reader; a renderer turns it into colour or weight."""

Kind = Literal["text", "number", "count", "p", "percent"]
"""What a column holds: text is flush left, all others flush right."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    A number is drawn as its column says; text in a column of numbers ("none", "too many") is drawn
    as it is. None is drawn as nothing.
    """

    value: str | float | None = None
    interval: tuple[float, float] | None = None
    """Lower and upper end, drawn in brackets; an infinite end is drawn as such."""
    marker: str = ""
    """Signs behind the value: † ‡ ↑ ↓."""
    letters: str = ""
    """Systems that share one are not separated."""
    best: bool = False
    """Whether no other value of its kind is better."""
    tone: Tone = "plain"
    note: str = ""
    """A few words below or behind the value, such as "baseline"."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title and how its numbers are written."""

    title: str
    kind: Kind = "number"
    digits: int = 4
    """Decimals of numbers."""
    signed: bool = False
    """Whether positive numbers have a plus sign."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below column titles; the first column names the rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    """What the signs mean, and how the numbers were made."""
    name_columns: int = 1
    """How many of the first columns name a row; they are repeated where a table is split."""


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
class Bar:
    """One bar of a chart: a value, with its interval if it has one."""

    label: str
    value: float
    interval: tuple[float, float] | None = None
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars beside each other on one scale; forms without pictures leave it out."""

    title: str
    bars: tuple[Bar, ...]
    low: float = 0.0
    high: float | None = None
    """Ends of the scale; None: the largest value."""
    digits: int = 3


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings, worst first, with what to do about each."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """Small print."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be copied as it is, such as a command."""

    text: str
    language: str = ""


Block: TypeAlias = Table | Sentences | Chart | Findings | Notes | Code


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a title; '' is a section without one."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One yes-or-no answer, for forms that count them (JUnit)."""

    name: str
    failed: bool
    message: str = ""
    """Why it failed, in one sentence."""
    kind: str = ""
    """The reason as a word: regression, no-power, …"""
    details: str = ""
    """Lines behind the message."""
    output: str = ""
    """What else is worth knowing, failed or not."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    data: Table | None = None
    """The numbers in full, one fact a row: what csv writes; None: the first table."""
    cases: tuple[Case, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    """What a machine may want to know about the report as a whole (JUnit's properties)."""


def text_rows(rows: Sequence[Sequence[str | float | None]]) -> tuple[tuple[Cell, ...], ...]:
    """Make rows of plain cells."""
    return tuple(tuple(Cell(value) for value in row) for row in rows)
