"""Rows of records: the fields of a query or a document, and where they were found.

The counterpart of `rows` for queries and corpora. Readers of all formats, and `rows_of` for
Python objects, make `Placed` rows one at a time, so that a corpus can be streamed; `identify` then
finds the id. Nothing is repaired: what cannot be understood is an error that names its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rankscope.errors import FormatError, InputError, shown
from rankscope.tables.cases import are_case_names, unwrapped
from rankscope.tables.columns import ALIASES, QUESTIONS, RecordLayout, find_name
from rankscope.tables.frames import frame_of
from rankscope.tables.ids import id_text

if TYPE_CHECKING:
    import polars as pl

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


def identify(placed: Placed, layout: RecordLayout) -> tuple[str, Row]:
    """Return the id of a row and its other fields; a query's text is then called ``text``.

    A question without an id is its own, as it is in qrels.
    """
    origin, position, row = placed
    key = layout.key if layout.key in row else find_name(row, layout.id_names)
    if key is None and layout.needs_text:
        is_case = are_case_names(list(row)) or find_name(row, ALIASES["no_answer"]) is not None
        known = (*ALIASES["query_id"], *QUESTIONS, *(("text",) if is_case else ()))
        asked = find_name(row, known)
        if asked is not None and isinstance(row[asked], str):
            key = layout.id_names[0]
            row = {key: row[asked], **row}
    if key is None:
        raise origin.error(
            f"no id among the fields {shown(', '.join(map(str, row)))}; "
            f"name one of them {', '.join(layout.id_names[:4])}",
            position,
        )
    try:
        record_id = id_text(row[key])
        record_id.encode()
    except UnicodeError:
        raise origin.error("the id is not valid text", position) from None
    except ValueError as error:
        raise origin.error(f"the id is {error}", position) from None
    if not record_id.strip():
        raise origin.error(f"the id is empty; give every {layout.noun} one", position)
    fields = {name: value for name, value in row.items() if name != key}
    if layout.needs_text:
        text_key = find_name(fields, layout.text_names)
        text = None if text_key is None else fields.pop(text_key)
        if text_key is None and key == layout.key:  # as in qrels: the question is its id
            text = record_id
        if not isinstance(text, str):
            given = "no text" if text is None else f"{shown(text)} ({type(text).__name__}) as text"
            raise origin.error(
                f"{layout.noun} {shown(record_id)} has {given}; expected a string in a field "
                f"named {', '.join(layout.text_names[:3])}",
                position,
            )
        fields = {"text": text, **fields}
    return record_id, fields


# --- from Python objects


def rows_of(
    data: Any, layout: RecordLayout, source: str | None = None, *, language: str | None = None
) -> Iterator[Placed]:
    """Return the rows of whatever was given: a mapping, a frame, or an iterable of rows.

    ``source`` is the file that the data was parsed from, and ``language`` that of its cases, if
    they do not say it themselves.
    """
    if isinstance(data, str | bytes | os.PathLike):
        raise InputError(
            f"{shown(data)} is a name, not {layout.nouns}; to read a file use "
            f"read_{layout.kind}(path)"
        )
    if hasattr(data, "__arrow_c_stream__"):
        frame = frame_of(data, source=source or layout.nouns)
        return frame_rows(frame, Origin(source, "row"), layout)
    if layout.kind in ("queries", "corpus"):
        data = unwrapped(data, layout.kind, source or layout.nouns, language)
    elif isinstance(data, Mapping):
        lists = [value for value in data.values() if isinstance(value, list)]
        if len(lists) == 1 and lists[0] and all(isinstance(r, Mapping) for r in lists[0]):
            data = lists[0]
    if isinstance(data, Mapping):
        listed = _records_in(data, layout)
        if listed is None:
            return _keyed_rows(data, Origin(source, "item"), layout)
        return _listed_rows(listed, Origin(None, "row"), layout)
    if isinstance(data, Iterable):
        return _listed_rows(data, Origin(source, "row" if source is None else "item"), layout)
    raise InputError(
        f"expected {layout.nouns} as a dict, a list of rows or a frame, got {shown(data)} "
        f"({type(data).__name__})"
    )


def _records_in(data: Mapping[Any, Any], layout: RecordLayout) -> list[Mapping[Any, Any]] | None:
    """Return the records of a mapping that is one, or a table by column; None if it is neither."""
    names, values = [str(name) for name in data], list(data.values())
    if len(names) < 2 or not layout.is_header(names):
        return None
    if all(isinstance(value, list | tuple) for value in values) and len(set(map(len, values))) == 1:
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    id_name = find_name(names, (*layout.id_names, *QUESTIONS, "text"))
    if id_name is None or not isinstance(data[id_name], str | int):
        return None
    are_texts = all(isinstance(value, str) for value in values)  # by id, one called like a column
    return None if are_texts and id_name not in ("_id", "query_id", "id") else [data]


def _keyed_rows(
    data: Mapping[Any, object], origin: Origin, layout: RecordLayout
) -> Iterator[Placed]:
    """Yield the rows of a mapping from id to text, or from id to fields."""
    id_name = layout.id_names[0]
    for position, (key, value) in enumerate(data.items(), start=1):
        fields = {"text": value} if isinstance(value, str) else value
        if not isinstance(fields, Mapping):
            raise origin.error(
                f"expected text or named fields for {layout.noun} {shown(key)}, got "
                f"{shown(value)} ({type(value).__name__})",
                position,
            )
        inner = fields.get(id_name, key)
        if str(inner) != str(key):
            problem = f"{layout.noun} {shown(key)} calls itself {shown(inner)}; give it one id"
            raise origin.error(problem, position)
        yield origin, position, {**fields, id_name: key}


def _listed_rows(data: Iterable[object], origin: Origin, layout: RecordLayout) -> Iterator[Placed]:
    """Yield the rows of a list of mappings or of tuples."""
    for position, item in enumerate(data, start=1):
        if isinstance(item, Mapping):
            yield origin, position, dict(item)
        elif isinstance(item, tuple | list) and len(item) in layout.headerless:
            yield origin, position, dict(zip(layout.headerless[len(item)], item, strict=True))
        else:
            tuples = (f"({names})" for names in headerless_columns(layout))
            expected = " or ".join(["named fields", *tuples])
            raise origin.error(f"expected {expected}, got {shown(item)}", position)


def headerless_columns(layout: RecordLayout) -> list[str]:
    """Return the columns of a tuple or of a line without a header, for a message."""
    return [", ".join(names) for names in layout.headerless.values()]


def frame_rows(
    frame: pl.DataFrame, origin: Origin, layout: RecordLayout, before: int = 0
) -> Iterator[Placed]:
    """Yield the rows of a frame, counted on from ``before``; a null is no field.

    Except as an id or a text that is needed: there a null is an error with its place.
    """
    needed = {layout.key, find_name(frame.columns, layout.id_names)}
    if layout.needs_text:
        needed.add(find_name(frame.columns, layout.text_names))
    for position, row in enumerate(frame.iter_rows(named=True), start=before + 1):
        yield (
            origin,
            position,
            {name: value for name, value in row.items() if value is not None or name in needed},
        )
