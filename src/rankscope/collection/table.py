"""Records by id: what `Queries` and `Corpus` have in common.

Rows come in from objects (`objects`) or files (`reading`), are identified, and kept as columns: ids
and text as they are, all other fields of a row as one JSON text that is parsed when asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from rankscope.collection.delimited import delimited_lines
from rankscope.collection.jsontext import dump_json
from rankscope.collection.objects import rows_of
from rankscope.collection.parquet import parquet_of
from rankscope.collection.reading import read_rows
from rankscope.collection.records import FORMATS, Kind, Placed, Row, identify
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import PathLike, replacing, source_name, suffix_of
from rankscope.tables.frames import ArrowFrame, to_pandas
from rankscope.tables.reading import BY_SUFFIX

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table"]

_CHUNK = 50_000
_SUGGESTED_FROM = 2_000

Writer = Callable[[Iterable[Row]], Iterator[str]]


class Table:
    """Rows by id, immutable; the base of `Queries` and `Corpus`."""

    __slots__ = ("_frame", "_positions")

    _kind: ClassVar[Kind]
    _writers: ClassVar[Mapping[str, Writer]] = {}
    _suffixes: ClassVar[Mapping[str, str]] = BY_SUFFIX

    def __init__(self, data: Mapping[Any, object] | Iterable[object] | ArrowFrame) -> None:
        self._positions: dict[str, int] | None = None
        if isinstance(data, type(self)):
            self._frame: pl.DataFrame = data._frame
        else:
            self._frame = _collect(rows_of(data, self._kind), self._kind)

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

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_polars` as a pandas frame; needs pandas and pyarrow."""
        return to_pandas(self.to_polars(), needed_for=f"{type(self).__name__}.to_pandas")

    def write(self, path: PathLike, *, format: str | None = None) -> None:
        """Write a file, in the format named or the one its suffix tells, compressed by suffix."""
        known = (*FORMATS, *self._writers)
        if format is not None and format not in known:
            raise UnknownNameError("format", format, known)
        name = format or self._suffixes.get(suffix_of(path))
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
                sink.write(parquet_of(*self._expanded()))
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
