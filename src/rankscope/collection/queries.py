"""Queries: what is asked, each with an id, a text and whatever else is known about it.

`Table` is the part `Queries` shares with `Corpus`: ids and text as columns, all other fields of a
row as one JSON text that is parsed when asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import polars as pl

from rankscope.collection.records import (
    Kind,
    Origin,
    Placed,
    Row,
    delimited_lines,
    dump_json,
    frame_of,
    frame_rows,
    identify,
    keyed_rows,
    listed_rows,
    parquet_bytes,
    read_rows,
)
from rankscope.collection.topics import read_topics, write_sgml, write_xml
from rankscope.errors import InputError, MissingExtraError, UnknownNameError, shown
from rankscope.files import PathLike, replacing, source_name, suffix_of

if TYPE_CHECKING:
    import pandas

__all__ = ["ArrowFrame", "Queries", "Table", "read_queries"]

_CHUNK = 50_000
_SUGGESTED_FROM = 2_000
_WRITTEN_AS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".tsv": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".xml": "trec-xml",
    ".trec": "trec",
    ".topics": "trec",
    ".sgml": "trec",
}

Writer = Callable[[Iterable[Row]], Iterator[str]]


class ArrowFrame(Protocol):
    """Any frame with the Arrow PyCapsule interface: pandas, Polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as an Arrow stream."""


class Table:
    """Rows by id, immutable; the base of `Queries` and `Corpus`."""

    __slots__ = ("_frame", "_positions")

    _kind: ClassVar[Kind]
    _writers: ClassVar[Mapping[str, Writer]] = {}

    def __init__(self, data: Mapping[Any, object] | Iterable[object] | ArrowFrame) -> None:
        self._positions: dict[str, int] | None = None
        if isinstance(data, type(self)):
            self._frame: pl.DataFrame = data._frame
        else:
            self._frame = _collect(_placed(data, self._kind), self._kind)

    @classmethod
    def _read(cls, path: PathLike, format: str | None) -> Self:
        made = cls.__new__(cls)
        made._positions = None
        made._frame = _collect(read_rows(path, cls._kind, format=format), cls._kind)
        return made

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
        try:
            return self._index()[record_id]
        except (KeyError, TypeError):
            known = islice(self._index(), _SUGGESTED_FROM)
            raise UnknownNameError(f"{self._kind.noun} id", str(record_id), known) from None

    def _fields(self, row: tuple[str | None, ...]) -> Row:
        """Return the fields of one stored row, without the id."""
        fields: Row = {
            name: text
            for name, text in zip(self._kind.columns, row[1:-1], strict=True)
            if text is not None
        }
        if row[-1] is not None:
            fields.update(json.loads(row[-1]))
        return fields

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for row in self._frame.iter_rows():
            yield row[0], self._fields(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table) or type(other) is not type(self):
            return NotImplemented
        if len(self) != len(other):
            return False
        mine, theirs = self._frame.sort("id"), other._frame.sort("id")
        if not mine.drop("extras").equals(theirs.drop("extras")):
            return False
        pairs = zip(mine["extras"], theirs["extras"], strict=True)
        return all(a == b or _canonical(a) == _canonical(b) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows = (self._fields(row) for row in self._frame.head(3).iter_rows())
        texts = (next(iter(fields.values()), "") for fields in rows)
        seen = [f"{shown(a, 24)}: {shown(b, 40)}" for a, b in zip(self.ids[:3], texts, strict=True)]
        more = ", …" if len(self) > len(seen) else ""
        noun = self._kind.noun if len(self) == 1 else self._kind.nouns
        return f"{type(self).__name__}({len(self)} {noun}: {', '.join(seen)}{more})"

    def to_dict(self) -> dict[str, Row]:
        """Return ``{id: {"text": ..., and every other field}}``; the constructor takes it back."""
        return dict(self._rows())

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one column per field.

        A field with one type (text, whole number, number, truth, or lists of one of them) is a
        column of that type, any other is a column of JSON text.
        """
        frame, _ = self._expanded()
        id_column = self._kind.id_column
        free = id_column
        while free in frame.columns:  # a field of that name beside the id
            free = f"metadata.{free}"
        beside = {id_column: free} if free != id_column else {}
        return frame.rename({**beside, "_id": id_column})

    def _expanded(self) -> tuple[pl.DataFrame, list[str]]:
        """Return all fields as columns, and the names of those that hold JSON text."""
        rows = [fields for _, fields in self._rows()]
        names = dict.fromkeys(name for fields in rows for name in fields)
        columns, as_json = {"_id": self._frame["id"]}, []
        for name in sorted(names, key=lambda name: name not in self._kind.columns):
            values = [fields.get(name) for fields in rows]
            kind = _column_type(values)
            if kind is None:
                as_json.append(name)
                values = [None if value is None else dump_json(value) for value in values]
            columns[name] = pl.Series(values, dtype=kind or pl.String())
        return pl.DataFrame(columns), as_json

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_polars` as a pandas frame; needs pandas and pyarrow."""
        try:
            import pandas  # noqa: F401, PLC0415
            import pyarrow  # noqa: F401, PLC0415
        except ImportError as error:
            needed = f"{type(self).__name__}.to_pandas"
            raise MissingExtraError(
                error.name or "pandas", needed_for=needed, extra="frames"
            ) from None
        return self.to_polars().to_pandas()

    def write(self, path: PathLike, *, format: str | None = None) -> None:
        """Write a file, in the format named or the one its suffix tells, compressed by suffix."""
        known = ("jsonl", "json", "tsv", "csv", "parquet", *self._writers)
        if format is not None and format not in known:
            raise UnknownNameError("format", format, known)
        name = format or _WRITTEN_AS.get(suffix_of(path))
        source = source_name(path)
        if name not in known:
            raise InputError(
                f"{source}: the name does not tell a format for {self._kind.nouns}; name one of "
                f"{', '.join(known)}"
            )
        if not len(self):
            raise InputError(
                f"{source}: there are no {self._kind.nouns} to write; give at least one"
            )
        with replacing(path) as sink:
            if name == "parquet":
                sink.write(parquet_bytes(*self._expanded()))
            else:
                for piece in self._written(name):
                    sink.write(piece.encode())

    def _written(self, name: str) -> Iterator[str]:
        rows = ({"_id": record_id, **fields} for record_id, fields in self._rows())
        if name == "jsonl":
            yield from (f"{dump_json(row)}\n" for row in rows)
        elif name == "json":
            for number, row in enumerate(rows):
                yield f"{',' if number else '['}\n{dump_json(row)}"
            yield "\n]\n"
        elif name in ("tsv", "csv"):
            yield from delimited_lines(list(rows), "\t" if name == "tsv" else ",", self._kind)
        else:
            yield from self._writers[name](rows)


def _placed(data: object, kind: Kind) -> Iterator[Placed]:
    origin = Origin(None, "row")
    if isinstance(data, str | bytes | os.PathLike):
        problem = f"{shown(data)} is a name, not {kind.nouns}"
        raise InputError(f"{problem}; to read a file use read_{kind.reader}(path)")
    if hasattr(data, "__arrow_c_stream__"):
        return frame_rows(frame_of(data), origin, kind)
    if isinstance(data, Mapping):
        return keyed_rows(data, Origin(None, "item"), kind)
    if isinstance(data, Iterable):
        return listed_rows(data, origin, kind)
    came = f"{shown(data)} ({type(data).__name__})"
    raise InputError(f"{kind.nouns} come from a dict, a list of rows or a frame, not from {came}")


def _collect(placed: Iterable[Placed], kind: Kind) -> pl.DataFrame:
    """Store rows as columns: ``id``, the kind's text columns, and the other fields as JSON."""
    schema = pl.Schema(dict.fromkeys(("id", *kind.columns, "extras"), pl.String()))
    chunks = [schema.to_frame()]
    values: list[tuple[str | None, ...]] = []
    first: dict[str, int] = {}
    for origin, position, row in placed:
        record_id, fields = identify((origin, position, row), kind)
        if record_id in first:  # positions may be equal: several topics can share a line
            at = f"{origin.unit} {first[record_id]}"
            twice = f"{kind.noun} {shown(record_id)} was given before, at {at}"
            raise origin.error(f"{twice}; give every {kind.noun} its own id", position)
        first[record_id] = position
        try:
            values.append((record_id, *_stored(fields, kind)))
        except ValueError as error:
            raise origin.error(f"{kind.noun} {shown(record_id)}: {error}", position) from None
        if len(values) == _CHUNK:
            chunks.append(pl.DataFrame(values, schema=schema, orient="row"))
            values = []
    chunks.append(pl.DataFrame(values, schema=schema, orient="row"))
    return pl.concat(chunks)


def _stored(fields: Row, kind: Kind) -> list[str | None]:
    texts: list[str | None] = []
    for name in kind.columns:
        text = fields.get(name)
        if isinstance(text, str):
            del fields[name]
            dump_json(text)  # text that is not Unicode is refused here
        texts.append(text if isinstance(text, str) else None)
    return [*texts, dump_json(fields) if fields else None]


def _canonical(extras: str | None) -> object:
    """Return fields such that equal content compares equal: a null field is no field, 1.0 is 1."""
    fields = json.loads(extras, parse_float=_number) if extras else {}
    kept = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(kept, sort_keys=True)


def _number(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _column_type(values: list[object]) -> pl.DataType | None:
    """Return the Polars type that holds these values unchanged; None if there is none."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, list) for value in present):
        inner = _column_type([item for value in present for item in value])  # type: ignore[attr-defined]
        whole = all(None not in value for value in present)  # type: ignore[operator]
        return pl.List(inner) if whole and inner is not None and not inner.is_nested() else None
    kinds = {type(value) for value in present}
    if kinds <= {str}:
        return pl.String()
    if kinds == {bool}:
        return pl.Boolean()
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in present):  # type: ignore[operator]
        return pl.Int64()
    if not kinds <= {int, float}:
        return None
    exact = all(isinstance(value, float) or abs(value) <= 2**53 for value in present)  # type: ignore[arg-type]
    return pl.Float64() if exact else None


class Queries(Table):
    """What is asked: an id, a text, and any other field as metadata.

    Made from a dict (``{"q1": "text"}`` or ``{"q1": {"text": ..., "lang": "de"}}``), from rows
    (mappings, or ``(id, text)`` tuples), or from any frame with the Arrow PyCapsule interface. Ids
    are text exactly as given; whole numbers become their decimal text. Iterating gives ids. Two are
    equal if they hold the same ids with the same content, in any order.

    >>> queries = Queries({"q1": "who wrote Faust", "q2": {"text": "wer schrieb", "lang": "de"}})
    >>> queries["q1"], queries.metadata_of("q2")
    ('who wrote Faust', {'lang': 'de'})
    """

    __slots__ = ()

    _kind = Kind(
        noun="query",
        nouns="queries",
        reader="queries",
        id_column="query_id",
        id_names=("_id", "query_id", "qid", "id", "topic_id", "topic", "number", "num"),
        text_names=("text", "query", "question", "query_text", "contents", "title"),
        columns=("text",),
        headerless=(("_id", "text"),),
        needs_text=True,
        readers={"trec": read_topics},
    )
    _writers = {"trec": write_sgml, "trec-xml": write_xml}  # noqa: RUF012

    def __getitem__(self, query_id: str) -> str:
        return str(self._frame["text"][self._position(query_id)])

    def items(self) -> Iterator[tuple[str, str]]:
        """Iterate over (query_id, text) pairs."""
        return zip(self._frame["id"], self._frame["text"], strict=True)

    @property
    def metadata(self) -> dict[str, Row]:
        """The metadata of every query; see `metadata_of`."""
        return dict(zip(self.ids, map(_flat, self._frame["extras"]), strict=True))

    def metadata_of(self, query_id: str) -> Row:
        """Return every field but id and text; those in a nested ``metadata`` object are merged in.

        A field beside the nested object wins over one of the same name in it.
        """
        return _flat(self._frame["extras"][self._position(query_id)])


def _flat(extras: str | None) -> Row:
    fields: Row = json.loads(extras) if extras else {}
    nested = fields.get("metadata")
    if not isinstance(nested, dict):
        return fields
    del fields["metadata"]
    return {**nested, **fields}


def read_queries(path: PathLike, *, format: str | None = None) -> Queries:
    """Read queries from a file, or from standard input (``-``).

    Formats: ``jsonl`` (as in BEIR), ``json``, ``tsv``, ``csv``, ``parquet`` and ``trec`` topics
    (SGML and XML), told from content and name unless ``format`` names one; compressed or not.
    """
    return Queries._read(path, format)
