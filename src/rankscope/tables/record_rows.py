"""Rows of records: the fields of a query, a document, …, and where they were found.

`read_records` takes them from a file, one at a time, so that a corpus can be streamed; `rows_of`
takes them from Python objects; `identified` finds their ids. Nothing is repaired: what cannot be
understood is an error that names its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from rankscope.errors import FormatError, InputError, shown
from rankscope.files import enough_memory, is_path, is_plain_file, source_name
from rankscope.tables.cases import (
    are_case_names,
    cases_in_folder,
    folder_language,
    language_code,
    unwrapped,
)
from rankscope.tables.collection_folder import parts_of, table_in
from rankscope.tables.columns import ALIASES, QUESTIONS, RecordLayout, find_name, id_text
from rankscope.tables.delimited import delimited_rows
from rankscope.tables.detection import Sniffed, detect_format, named_format, recognised
from rankscope.tables.frames import frame_of, spreadsheet
from rankscope.tables.jsontext import parse_json, read_json, read_json_lines
from rankscope.tables.parquet import ParquetFile
from rankscope.tables.traces import retrievals

if TYPE_CHECKING:
    import polars as pl

    from rankscope.files import PathLike

Row = dict[str, object]

_BATCH = 5_000  # rows of Parquet that are decoded at a time; each may be a document


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
"""A row and its place: where it comes from, its position there, its fields."""


# --- ids


def identified(rows: Iterable[Placed], layout: RecordLayout) -> Iterator[tuple[Placed, str, Row]]:
    """Yield each row, its id and its other fields; an id that comes twice is an error."""
    first: dict[str, int] = {}
    for placed in rows:
        origin, position, _ = placed
        record_id, fields = identify(placed, layout)
        if record_id in first:  # positions may be equal: several topics can share a line
            raise origin.error(
                f"the {layout.id_column} {shown(record_id)} was given before, at {origin.unit} "
                f"{first[record_id]}; keep one row, or give each an id of its own",
                position,
            )
        first[record_id] = position
        yield placed, record_id, fields


def identify(placed: Placed, layout: RecordLayout) -> tuple[str, Row]:
    """Return the id of a row and its other fields; a query's text is then called ``text``.

    A question without an id is its own, as it is in qrels.
    """
    origin, position, row = placed
    key = layout.key if layout.key in row else find_name(row, layout.id_names)
    if key is None and layout.needs_text:
        is_case = are_case_names(list(row)) or find_name(row, ALIASES["no_answer"]) is not None
        known = (*ALIASES["query_id"], *QUESTIONS, *(("text",) if is_case else ()))
        question = find_name(row, known)
        if question is not None and isinstance(row[question], str):
            key = layout.id_names[0]
            row = {key: row[question], **row}
    if key is None:
        raise origin.error(
            f"no id among the fields {shown(', '.join(map(str, row)))}; "
            f"name one of them {', '.join(layout.id_names[:4])}",
            position,
        )
    record_id = checked_id(row[key], "id", placed)
    fields = {name: value for name, value in row.items() if name != key}
    if not layout.needs_text:
        return record_id, fields
    text_key = find_name(fields, layout.text_names)
    text = fields.pop(text_key) if text_key else record_id if key == layout.key else None
    if not isinstance(text, str):
        given = "no text" if text is None else f"{shown(text)} ({type(text).__name__}) as text"
        raise origin.error(
            f"{layout.noun} {shown(record_id)} has {given}; expected a string in a field "
            f"named {', '.join(layout.text_names[:3])}",
            position,
        )
    return record_id, {"text": text, **fields}


def checked_id(value: object, role: str, placed: Placed) -> str:
    """Return an id as text; ``role`` says in messages what it is the id of."""
    origin, position, _ = placed
    try:
        text = id_text(value)
        text.encode()
    except UnicodeError:
        raise origin.error(f"the {role} is not valid text", position) from None
    except ValueError as error:
        raise origin.error(f"the {role} is {error}", position) from None
    if not text.strip():
        raise origin.error(f"the {role} is empty; give every row one", position)
    return text


# --- from Python objects


def rows_of(
    data: Any, layout: RecordLayout, source: str | None = None, *, language: str | None = None
) -> Iterator[Placed]:
    """Return the rows of a mapping, a frame, or an iterable of rows.

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
        return _frame_rows(frame, Origin(source, "row"), layout)
    if layout.kind in ("queries", "corpus"):
        data = unwrapped(data, layout.kind, source or layout.nouns, language)
    elif isinstance(data, Mapping):
        lists = [value for value in data.values() if isinstance(value, list)]
        if len(lists) == 1 and lists[0] and all(isinstance(row, Mapping) for row in lists[0]):
            data = lists[0]
    if isinstance(data, Mapping):
        listed = _records_in(data, layout)
        if listed is None:
            return _rows_by_id(data, Origin(source, "item"), layout)
        data = listed
    if isinstance(data, Iterable):
        return _listed_rows(data, Origin(source, "row" if source is None else "item"), layout)
    raise InputError(
        f"expected {layout.nouns} as a dict, a list of rows or a frame, got {shown(data)} "
        f"({type(data).__name__})"
    )


def rows_from(data: Any, layout: RecordLayout) -> Iterator[Placed]:
    """Return the rows of a file, given by its name, or of an object."""
    return read_records(data, layout) if is_path(data) else rows_of(data, layout)


def _records_in(data: Mapping[Any, Any], layout: RecordLayout) -> list[Mapping[Any, Any]] | None:
    """Return the records of a mapping that is one, or a table by column; None if it is by id."""
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


def _rows_by_id(
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
            tuples = (f" or ({', '.join(names)})" for names in layout.headerless.values())
            raise origin.error(
                f"expected named fields{''.join(tuples)}, got {shown(item)}", position
            )


def _frame_rows(
    frame: pl.DataFrame, origin: Origin, layout: RecordLayout, before: int = 0
) -> Iterator[Placed]:
    """Yield the rows of a frame, counted on from ``before``; a null is no field.

    Except as an id or a text that is needed: there a null is an error with its place.
    """
    needed = {layout.key, find_name(frame.columns, layout.id_names)}
    if layout.needs_text:
        needed.add(find_name(frame.columns, layout.text_names))
    for position, row in enumerate(frame.iter_rows(named=True), start=before + 1):
        present = {n: value for n, value in row.items() if value is not None or n in needed}
        yield origin, position, present


# --- from files


def read_records(
    path: PathLike, layout: RecordLayout, *, format: str | None = None, ids_only: bool = False
) -> Iterator[Placed]:
    """Yield the rows of a file one by one; ``ids_only`` may leave out fields other than the id.

    Only ``json``, topics, and parquet that is compressed or piped are held in memory whole.
    """
    parts = parts_of(table_in(path, layout.kind), layout.kind)
    if layout.kind == "queries" and os.path.isdir(parts[0]):
        cases = cases_in_folder(parts[0])
        if cases:
            yield from rows_of(cases, layout, source_name(parts[0]))
            return
    for part in parts:
        yield from _read_file(part, layout, format, ids_only=ids_only)


def _read_file(
    path: PathLike, layout: RecordLayout, format: str | None, *, ids_only: bool
) -> Iterator[Placed]:
    chosen, source = named_format(format, layout), source_name(path)
    is_empty = True
    with enough_memory(source), recognised(path) as (sniffed, stream):
        if sniffed.content != "empty":
            detected = chosen or detect_format(sniffed, layout)
            if detected is None:
                raise FormatError(
                    f"does not look like {layout.nouns} ({shown(sniffed.line, 40)}); name its "
                    f"format, one of {', '.join(layout.formats)}",
                    source=source,
                )
            language = folder_language(path) if layout.kind == "queries" else None
            for origin, position, row in _rows_in(
                detected, path, sniffed, stream, layout, ids_only=ids_only
            ):
                is_empty = False
                if language is not None and are_case_names(list(row)):
                    code = language_code(str(row.get("language") or ""))
                    row = {**row, "language": code or language}  # noqa: PLW2901
                yield origin, position, row
    if is_empty:
        raise FormatError(f"is empty; expected {layout.nouns}", source=source)


def _rows_in(
    format: str,
    path: PathLike,
    sniffed: Sniffed,
    stream: BinaryIO,
    layout: RecordLayout,
    *,
    ids_only: bool,
) -> Iterator[Placed]:
    """Return the rows of an open file of this format."""
    source = source_name(path)
    if format == "json":
        data = read_json(stream.read(), source=source)
        return rows_of(data, layout, source, language=folder_language(path))
    if format == "xlsx":
        return rows_of(spreadsheet(stream.read(), source=source), layout, source)
    if format == "parquet":
        place = os.path.abspath(os.fspath(path)) if is_plain_file(path) else stream.read()
        return _parquet_rows(ParquetFile(place, source=source), layout, source, ids_only=ids_only)
    rows: Iterator[tuple[int, Row]]
    if format == "jsonl":
        rows = read_json_lines(stream, source=source, ids_only=ids_only)
    elif format in ("tsv", "csv"):
        rows = delimited_rows(stream, layout, source=source, tabs=format == "tsv")
    elif format == "traces":
        values: Iterable[tuple[int | None, Any]] = (
            read_json_lines(stream, source=source)
            if sniffed.content == "json lines"
            else [(None, read_json(stream.read(), source=source))]
        )
        rows = (
            (each.line or 1, {"_id": each.query_id, "text": each.text})
            for each in retrievals(values, source=source, query=layout.key)
        )
    else:
        rows = layout.markup[format].read(stream, source)
    origin = Origin(source, "line")
    return ((origin, line, row) for line, row in rows)


def _parquet_rows(
    file: ParquetFile, layout: RecordLayout, source: str, *, ids_only: bool
) -> Iterator[Placed]:
    """Yield the rows of a file, decoding one batch at a time."""
    id_name = find_name(file.schema.names(), layout.id_names)
    columns = [id_name] if ids_only and id_name is not None else None
    before = 0
    for batch in file.batches(columns, size=_BATCH):
        for origin, position, row in _frame_rows(batch, Origin(source, "row"), layout, before):
            for name in file.json_columns.intersection(row):
                row[name] = parse_json(str(row[name]), source=source)
            yield origin, position, row
        before += batch.height
