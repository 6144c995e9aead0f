"""Records by id: the fields of a query, a document, …; the base of `Queries` and `Corpus`.

`records_of` takes records from Python objects, or from a file one by one, so that a corpus can be
streamed; `identified` finds their ids, and `RecordTable` keeps them as columns: ids and text as
they are, all other fields of a record as one JSON text that is parsed when needed. Nothing is
repaired: what cannot be understood is an error that names its place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, starmap
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, Self

import polars as pl

from rankscope.errors import FormatError, InputError, UnknownNameError, shown
from rankscope.files import PathLike, enough_memory, is_path, is_plain_file, source_name
from rankscope.tables.cases import (
    are_case_names,
    cases_in_folder,
    folder_language,
    language_code,
    unwrapped,
)
from rankscope.tables.collection_folder import parts_of, table_in
from rankscope.tables.columns import (
    ALIASES,
    MOST_COLUMNS,
    QUESTIONS,
    RecordLayout,
    find_name,
    id_text,
)
from rankscope.tables.delimited import delimited_rows
from rankscope.tables.detection import Sniffed, detect_format, format_for, named_format, recognised
from rankscope.tables.frames import ParquetFile, frame_of, spreadsheet
from rankscope.tables.jsontext import dump_json, read_json, read_json_lines
from rankscope.tables.writing import frame_pieces, json_pieces, write_pieces

Row = dict[str, object]

_BATCH = 5_000  # rows of Parquet that are decoded at a time; each may be a document
_CHUNK = 50_000  # records that become columns at a time
_SUGGESTED_FROM = 2_000  # ids among which the nearest to an unknown one is looked for
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
    asked = find_name(names, _ASKED) if layout.needs_text else None
    id_name = key or (asked if asked and isinstance(names[asked], str) else None)
    if id_name is None:
        raise record.error(
            f"no id among the fields {shown(', '.join(map(str, names)))}; "
            f"name one of them {', '.join(layout.id_names[:4])}"
        )
    record_id = checked_id(names[id_name], "id", record)
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


def records_in(
    data: Any, layout: RecordLayout, source: str | None = None, *, before: int = 0
) -> Iterator[Record]:
    """Yield the records of a mapping, a frame, or an iterable of mappings, tuples, or documents.

    ``source`` is the file that the data was parsed from, and ``before`` how many of its rows were
    taken before. A null in a frame is no field, except as an id or a text that is needed.
    """
    if isinstance(data, str | bytes | os.PathLike):
        raise InputError(
            f"{shown(data)} is a name, not {layout.nouns}; to read a file use "
            f"read_{layout.kind}(path)"
        )
    unit: Literal["row", "item"] = "item" if source is not None else "row"
    if hasattr(data, "__arrow_c_stream__"):
        frame, unit = frame_of(data, source=source or layout.nouns), "row"
        needed = layout.needed(frame.columns)
        rows = frame.iter_rows(named=True)
        data = ({n: v for n, v in row.items() if v is not None or n in needed} for row in rows)
    data = unwrapped(data, layout.kind, source or layout.nouns)
    if isinstance(data, Mapping):
        data = _listed(data, layout, source)
    if not isinstance(data, Iterable):
        raise InputError(
            f"expected {layout.nouns} as a dict, a list of rows or a frame, got {shown(data)} "
            f"({type(data).__name__})"
        )
    for position, item in enumerate(data, start=before + 1):
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


# --- from files


def read_records(
    path: PathLike, layout: RecordLayout, *, format: str | None = None
) -> Iterator[Record]:
    """Yield the records of a file one by one.

    Only ``json`` and ``xlsx``, topics, and parquet that is compressed or piped are held in memory
    whole.
    """
    place = table_in(path, layout.kind)
    cases = layout.kind == "queries" and os.path.isdir(place) and cases_in_folder(place)
    if cases:
        yield from records_in(cases, layout, source_name(place))
        return
    for part in parts_of(place) if layout.kind in ("corpus", "queries") else [place]:
        source, record = source_name(part), None
        chosen = named_format(format, layout)
        language = folder_language(part) if layout.kind == "queries" else None
        with enough_memory(source), recognised(part) as (sniffed, stream):
            detected = chosen or detect_format(sniffed, layout)
            for record in _read(part, detected, sniffed, stream, layout):
                if language is not None and are_case_names(list(record.fields)):
                    code = language_code(str(record.fields.get("language") or ""))
                    record.fields["language"] = code or language
                yield record
        if record is None:
            raise FormatError(f"is empty; expected {layout.nouns}", source=source)


def _read(
    path: PathLike, format: str | None, sniffed: Sniffed, stream: BinaryIO, layout: RecordLayout
) -> Iterator[Record]:
    source, before = source_name(path), 0
    rows: Iterable[tuple[int, Row]] = ()
    if sniffed.content == "empty":
        return
    if format in ("json", "xlsx"):
        data = (read_json if format == "json" else spreadsheet)(stream.read(), source=source)
        yield from records_in(data, layout, source)
    elif format == "parquet":
        place = os.path.abspath(os.fspath(path)) if is_plain_file(path) else stream.read()
        for batch in ParquetFile(place, source=source).batches(size=_BATCH):
            yield from records_in(batch, layout, source, before=before)
            before += batch.height
    elif format == "jsonl":
        rows = read_json_lines(stream, source=source)
    elif format in ("tsv", "csv"):
        rows = delimited_rows(stream, layout, source=source, tabs=format == "tsv")
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


# --- as columns


class RecordTable:
    """Records by id, immutable; the base of `Queries` and `Corpus`."""

    __slots__ = ("_frame", "_positions")

    layout: ClassVar[RecordLayout]

    def __init__(self, data: Any) -> None:
        self._positions: dict[str, int] | None = None
        if isinstance(data, type(self)):
            self._frame: pl.DataFrame = data._frame
        else:
            self._frame = _collected(records_in(data, self.layout), self.layout)

    @classmethod
    def _read(cls, path: PathLike, format: str | None, key: str | None) -> Self:
        table = cls.__new__(cls)
        table._positions = None
        layout = cls.layout.keyed(key)
        table._frame = _collected(read_records(path, layout, format=format), layout)
        return table

    @property
    def ids(self) -> list[str]:
        """The ids, in the order given."""
        return self._frame["id"].to_list()

    def __len__(self) -> int:
        return self._frame.height

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._index()

    def _index(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = {record_id: row for row, record_id in enumerate(self.ids)}
        return self._positions

    def _position(self, record_id: str) -> int:
        if record_id not in self:
            known = self.ids[:_SUGGESTED_FROM]
            raise UnknownNameError(f"{self.layout.noun} id", str(record_id), known)
        return self._index()[record_id]

    def _fields(self, row: tuple[str | None, ...]) -> Row:
        """Return the fields of one stored row, without the id."""
        texts = zip(self.layout.columns, row[1:-1], strict=True)
        fields: Row = {name: text for name, text in texts if text is not None}
        return fields if row[-1] is None else fields | json.loads(row[-1])

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Iterate over (id, fields)."""
        for row in self._frame.iter_rows():
            yield row[0], self._fields(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordTable) or type(other) is not type(self):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        noun = self.layout.noun if len(self) == 1 else self.layout.nouns
        examples = [shown(record_id, 24) for record_id in self.ids[:3]]
        more = ", …" if len(self) > len(examples) else ""
        return f"{type(self).__name__}({len(self)} {noun}: {', '.join(examples)}{more})"

    def to_dict(self) -> dict[str, Row]:
        """Return ``{id: {"text": ..., and every other field}}``; the constructor takes it back."""
        return dict(self.rows())

    def _texts(self) -> pl.DataFrame:
        """Return all fields as columns of text; what is no text is JSON."""
        rows = [fields for _, fields in self.rows()]
        names = dict.fromkeys(name for fields in rows for name in fields)
        if len(names) >= MOST_COLUMNS:
            raise InputError(
                f"the {self.layout.nouns} have {len(names):,} fields, more than the columns of a "
                f"table may be ({MOST_COLUMNS:,}); write jsonl instead"
            )
        columns = {"_id": self._frame["id"]}
        for name in sorted(names, key=lambda name: name not in self.layout.columns):
            values = (fields.get(name) for fields in rows)
            texts = [v if isinstance(v, str | None) else dump_json(v) for v in values]
            columns[name] = pl.Series(texts, dtype=pl.String)
        return pl.DataFrame(columns)

    def write(self, path: PathLike, *, format: str | None = None) -> None:
        """Write a file, in the format named or the one its suffix tells, compressed by suffix."""
        chosen = format_for(path, format, self.layout)
        if not len(self):
            nouns = self.layout.nouns
            raise InputError(f"{source_name(path)}: there are no {nouns}; give at least one")
        rows = (dump_json({"_id": record_id, **fields}) for record_id, fields in self.rows())
        if chosen in ("csv", "tsv"):
            write_pieces(path, frame_pieces(self._texts(), chosen))
        elif chosen == "json":
            write_pieces(path, json_pieces(rows, "[]"))
        else:
            write_pieces(path, (f"{row}\n".encode() for row in rows))


def _collected(records: Iterable[Record], layout: RecordLayout) -> pl.DataFrame:
    """Store records as columns: ``id``, the layout's text columns, and the other fields as JSON."""
    schema = pl.Schema(dict.fromkeys(("id", *layout.columns, "extras"), pl.String()))

    def row_of(record: Record, record_id: str, fields: Row) -> list[str | None]:
        others: dict[str, Any] = {n: value for n, value in fields.items() if value is not None}
        if "_id" in others:  # another field was named as the id, and _id is what that is called
            others["metadata._id"] = others.pop("_id")
        names = [name for name in layout.columns if isinstance(others.get(name), str)]
        texts = {name: others.pop(name) for name in names}
        try:
            dump_json(texts)  # text that is not Unicode is refused here
            extras = dump_json(others) if others else None
        except ValueError as error:
            raise record.error(f"{layout.noun} {shown(record_id)}: {error}") from None
        return [record_id, *map(texts.get, layout.columns), extras]

    chunks, rows = [schema.to_frame()], starmap(row_of, identified(records, layout))
    while chunk := list(islice(rows, _CHUNK)):
        chunks.append(pl.DataFrame(chunk, schema=schema, orient="row"))
    return pl.concat(chunks)
