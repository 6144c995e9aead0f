"""Records of a table: the fields of a query, a document, …, and where they were found.

`records_of` takes them from Python objects, or from a file one by one, so that a corpus can be
streamed; `identified` finds their ids. Nothing is repaired: what cannot be understood is an error
that names its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

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
from rankscope.tables.frames import ParquetFile, frame_of, spreadsheet
from rankscope.tables.jsontext import parse_json, read_json, read_json_lines
from rankscope.tables.traces import retrievals

if TYPE_CHECKING:
    import polars as pl

    from rankscope.files import PathLike

Row = dict[str, object]

_BATCH = 5_000  # rows of Parquet that are decoded at a time; each may be a document
_ASKED = (*ALIASES["query_id"], *QUESTIONS, "text")


class Record(NamedTuple):
    """The fields of a record, and where it was found."""

    source: str | None
    """The file; None: Python objects."""
    unit: Literal["line", "item", "row"]
    position: int
    """Which line, item or row it is, from 1 on."""
    fields: Row

    def error(self, problem: str) -> InputError:
        """Return the error to raise for a problem with this record."""
        if self.source is not None and self.unit == "line":
            return FormatError(problem, source=self.source, line=self.position)
        problem = f"{self.unit} {self.position}: {problem}"
        return InputError(problem) if not self.source else FormatError(problem, source=self.source)


# --- ids


def identified(
    records: Iterable[Record], layout: RecordLayout
) -> Iterator[tuple[Record, str, Row]]:
    """Yield each record, its id and its other fields; an id that comes twice is an error."""
    first: dict[str, int] = {}
    for record in records:
        record_id, fields = identify(record, layout)
        if record_id in first:  # positions may be equal: several topics can share a line
            raise record.error(
                f"the {layout.id_column} {shown(record_id)} was given before, at {record.unit} "
                f"{first[record_id]}; keep one row, or give each an id of its own"
            )
        first[record_id] = record.position
        yield record, record_id, fields


def identify(record: Record, layout: RecordLayout) -> tuple[str, Row]:
    """Return the id of a record and its other fields; a query's text is then called ``text``.

    A question without an id is its own, as it is in qrels.
    """
    names = record.fields
    key = layout.key if layout.key in names else find_name(names, layout.id_names)
    asked = find_name(names, _ASKED) if key is None and layout.needs_text else None
    if key is None and (asked is None or not isinstance(names[asked], str)):
        raise record.error(
            f"no id among the fields {shown(', '.join(map(str, names)))}; "
            f"name one of them {', '.join(layout.id_names[:4])}"
        )
    record_id = checked_id(names[key or asked or ""], "id", record)
    fields = {name: value for name, value in names.items() if name != key}
    if not layout.needs_text:
        return record_id, fields
    text_key = find_name(fields, layout.text_names)
    text = fields.pop(text_key) if text_key else record_id if key in (None, layout.key) else None
    if not isinstance(text, str):
        given = "no text" if text is None else f"{shown(text)} ({type(text).__name__}) as text"
        raise record.error(
            f"{layout.noun} {shown(record_id)} has {given}; expected a string in a field "
            f"named {', '.join(layout.text_names[:3])}"
        )
    return record_id, {"text": text, **fields}


def checked_id(value: object, role: str, record: Record) -> str:
    """Return an id as text; ``role`` says in messages what it is the id of."""
    try:
        text = id_text(value)
        text.encode()
    except UnicodeError:
        raise record.error(f"the {role} is not valid text") from None
    except ValueError as error:
        raise record.error(f"the {role} is {error}") from None
    if not text.strip():
        raise record.error(f"the {role} is empty; give every row one")
    return text


# --- from Python objects


def records_of(data: Any, layout: RecordLayout) -> Iterator[Record]:
    """Return the records of a file, given by its name, or of an object."""
    return read_records(data, layout) if is_path(data) else records_in(data, layout)


def records_in(data: Any, layout: RecordLayout, source: str | None = None) -> Iterator[Record]:
    """Yield the records of a mapping, a frame, or an iterable of mappings, tuples, or documents.

    ``source`` is the file that the data was parsed from.
    """
    if isinstance(data, str | bytes | os.PathLike):
        raise InputError(
            f"{shown(data)} is a name, not {layout.nouns}; to read a file use "
            f"read_{layout.kind}(path)"
        )
    if hasattr(data, "__arrow_c_stream__"):
        yield from _frame_records(frame_of(data, source=source or layout.nouns), layout, source)
        return
    data = unwrapped(data, layout.kind, source or layout.nouns)
    if isinstance(data, Mapping):
        data = _listed(data, layout, source)
    if not isinstance(data, Iterable):
        raise InputError(
            f"expected {layout.nouns} as a dict, a list of rows or a frame, got {shown(data)} "
            f"({type(data).__name__})"
        )
    unit: Literal["row", "item"] = "row" if source is None else "item"
    for position, item in enumerate(data, start=1):
        row = getattr(item, "as_row", item)
        if isinstance(row, tuple | list) and len(row) in layout.headerless:
            row = dict(zip(layout.headerless[len(row)], row, strict=True))
        record = Record(source, unit, position, dict(row) if isinstance(row, Mapping) else {})
        if not isinstance(row, Mapping):
            tuples = (f" or ({', '.join(names)})" for names in layout.headerless.values())
            raise record.error(f"expected named fields{''.join(tuples)}, got {shown(row)}")
        yield record


def _listed(data: Mapping[Any, Any], layout: RecordLayout, source: str | None) -> list[Any]:
    """Return the records of a mapping: one, a table by column, or texts or fields by id."""
    names, values = [str(name) for name in data], list(data.values())
    if len(names) > 1 and layout.is_header(names):
        is_table = all(isinstance(value, list | tuple) for value in values)
        if is_table and len(set(map(len, values))) == 1:
            return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        id_name = find_name(names, (*layout.id_names, *_ASKED))
        # or they are texts by id, and one is called like a column
        are_texts = all(isinstance(value, str) for value in values)
        is_one = not are_texts or id_name in ("_id", "query_id", "id")
        if id_name is not None and isinstance(data[id_name], str | int) and is_one:
            return [data]
    id_name, rows = layout.id_names[0], list[Any]()
    for key, value in data.items():
        inner = value.get(id_name, key) if isinstance(value, Mapping) else key
        if str(inner) != str(key):
            raise InputError(
                f"{source or layout.nouns}: {layout.noun} {shown(key)} calls itself "
                f"{shown(inner)}; give it one id"
            )
        rows.append({**value, id_name: key} if isinstance(value, Mapping) else (key, value))
    return rows


def _frame_records(
    frame: pl.DataFrame, layout: RecordLayout, source: str | None, before: int = 0
) -> Iterator[Record]:
    """Yield the records of a frame, counted on from ``before``; a null is no field.

    Except as an id or a text that is needed: there a null is an error with its place.
    """
    needed = layout.needed(frame.columns)
    for position, row in enumerate(frame.iter_rows(named=True), start=before + 1):
        present = {n: value for n, value in row.items() if value is not None or n in needed}
        yield Record(source, "row", position, present)


# --- from files


def read_records(
    path: PathLike, layout: RecordLayout, *, format: str | None = None, ids_only: bool = False
) -> Iterator[Record]:
    """Yield the records of a file one by one; ``ids_only`` may leave out fields other than the id.

    Only ``json``, topics, and parquet that is compressed or piped are held in memory whole.
    """
    place, are_queries = table_in(path, layout.kind), layout.kind == "queries"
    cases = cases_in_folder(place) if are_queries and os.path.isdir(place) else None
    if cases is not None:
        yield from records_in(cases, layout, source_name(place))
        return
    for part in parts_of(place, layout.kind):
        source, record = source_name(part), None
        language = folder_language(part) if are_queries else None
        chosen = named_format(format, layout)
        with enough_memory(source), recognised(part) as (sniffed, stream):
            detected = chosen or detect_format(sniffed, layout)
            for record in _read(part, detected, sniffed, stream, layout, ids_only=ids_only):
                if language is not None and are_case_names(list(record.fields)):
                    code = language_code(str(record.fields.get("language") or ""))
                    record.fields["language"] = code or language
                yield record
        if record is None:
            raise FormatError(f"is empty; expected {layout.nouns}", source=source)


def _read(
    path: PathLike,
    format: str | None,
    sniffed: Sniffed,
    stream: BinaryIO,
    layout: RecordLayout,
    *,
    ids_only: bool,
) -> Iterator[Record]:
    source = source_name(path)
    rows: Iterable[tuple[int, Row]] = ()
    if sniffed.content == "empty":
        pass
    elif format in ("json", "xlsx"):
        parse = read_json if format == "json" else spreadsheet
        yield from records_in(parse(stream.read(), source=source), layout, source)
    elif format == "parquet":
        place = os.path.abspath(os.fspath(path)) if is_plain_file(path) else stream.read()
        yield from _parquet_records(place, layout, source, ids_only=ids_only)
    elif format == "jsonl":
        rows = read_json_lines(stream, source=source, ids_only=ids_only)
    elif format in ("tsv", "csv"):
        rows = delimited_rows(stream, layout, source=source, tabs=format == "tsv")
    elif format == "traces":
        values: Iterable[tuple[int | None, Any]] = read_json_lines(stream, source=source)
        if sniffed.content != "json lines":
            values = [(None, read_json(stream.read(), source=source))]
        asked = retrievals(values, source=source, query=layout.key)
        rows = ((each.line or 1, {"_id": each.query_id, "text": each.text}) for each in asked)
    elif format is not None:
        rows = layout.markup[format].read(stream, source)
    else:
        raise FormatError(
            f"does not look like {layout.nouns} ({shown(sniffed.line, 40)}); name its "
            f"format, one of {', '.join(layout.formats)}",
            source=source,
        )
    for line, row in rows:
        yield Record(source, "line", line, row)


def _parquet_records(
    place: str | bytes, layout: RecordLayout, source: str, *, ids_only: bool
) -> Iterator[Record]:
    """Yield the records of a file, decoding one batch at a time."""
    file, before = ParquetFile(place, source=source), 0
    id_name = find_name(file.schema.names(), layout.id_names) if ids_only else None
    for batch in file.batches([id_name] if id_name else None, size=_BATCH):
        for record in _frame_records(batch, layout, source, before):
            for name in file.json_columns.intersection(record.fields):
                record.fields[name] = parse_json(str(record.fields[name]), source=source)
            yield record
        before += batch.height
