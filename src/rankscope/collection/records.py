"""Records: a row of fields, where it stood, and which of its fields is the id.

The first step behind `Queries` and `Corpus`. Readers of all kinds (`objects`, `jsontext`,
`parquet`, `delimited`, `topics`) make `Placed` rows, one at a time, so that a corpus can be
streamed; `identify` then finds the id. Nothing is repaired on the way: what cannot be understood is
an error that names file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Literal

from rankscope.errors import FormatError, InputError, shown
from rankscope.tables.columns import folded

__all__ = ["FORMATS", "Kind", "Origin", "Placed", "Row", "find_name", "identify"]

FORMATS = ("jsonl", "json", "tsv", "csv", "parquet")
"""Formats in which records of any kind are read and written."""

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, and what their positions count: lines of a file, items, rows."""

    source: str | None
    unit: Literal["line", "item", "row"]

    def error(self, problem: str, position: int | None = None) -> InputError:
        """Return the error to raise for a problem at this position."""
        if self.source is not None and self.unit == "line":
            return FormatError(problem, source=self.source, line=position)
        where = "" if position is None else f"{self.unit} {position}: "
        if self.source is None:
            return InputError(where + problem)
        return FormatError(where + problem, source=self.source)


Placed = tuple[Origin, int, Row]
TextReader = Callable[[str, Origin], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a table holds and how its files call it; the first names are the ones written."""

    noun: str
    nouns: str
    reader: str
    id_column: str
    id_names: tuple[str, ...]
    text_names: tuple[str, ...]
    columns: tuple[str, ...]
    """Fields kept as columns of text; all others are kept as JSON."""
    headerless: tuple[tuple[str, ...], ...]
    """The columns of a tuple or of a headerless line, by their number."""
    needs_text: bool = False
    readers: Mapping[str, TextReader] = field(default_factory=dict)

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that can be read."""
        return (*FORMATS, *self.readers)


def find_name(row: Iterable[str], names: tuple[str, ...]) -> str | None:
    """Return the key of a row that is one of the names; an exact one goes first."""
    for name in names:
        if name in row:
            return name
    by_folded = {folded(str(key)): key for key in row}
    return next((by_folded[folded(name)] for name in names if folded(name) in by_folded), None)


def identify(placed: Placed, kind: Kind) -> tuple[str, Row]:
    """Return the id of a row and its other fields; a query's text is then called ``text``."""
    origin, position, row = placed
    key = find_name(row, kind.id_names)
    if key is None:
        raise origin.error(
            f"no id among the fields {shown(', '.join(map(str, row)))}; "
            f"name one of them {', '.join(kind.id_names[:4])}",
            position,
        )
    try:
        record_id = _id_text(row[key], kind)
    except ValueError as error:  # also text that is no Unicode, and a number with too many digits
        reason = "the id is not valid text" if isinstance(error, UnicodeError) else str(error)
        raise origin.error(reason, position) from None
    fields = {name: value for name, value in row.items() if name != key}
    if kind.needs_text:
        text_key = find_name(fields, kind.text_names)
        text = None if text_key is None else fields.pop(text_key)
        if not isinstance(text, str):
            came = "no text" if text is None else f"{shown(text)} ({type(text).__name__}) as text"
            raise origin.error(
                f"{kind.noun} {shown(record_id)} has {came}; expected a string in a field "
                f"named {', '.join(kind.text_names[:3])}",
                position,
            )
        fields = {"text": text, **fields}
    return record_id, fields


def _id_text(value: object, kind: Kind) -> str:
    if isinstance(value, str):
        if not value.strip():
            raise ValueError(f"the id is empty; give every {kind.noun} one")
        value.encode()
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return str(index(value))  # type: ignore[arg-type]
    except TypeError:
        came = "null" if value is None else f"{shown(value)} ({type(value).__name__})"
        raise ValueError(f"the id is {came}; expected text or a whole number") from None
