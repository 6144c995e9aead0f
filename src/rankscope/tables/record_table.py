"""Records by id: what `Queries` and `Corpus` have in common.

Rows (`record_rows`) are identified and kept as columns: ids and text as they are, all other fields
of a row as one JSON text that is parsed when needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import PathLike
from rankscope.tables.columns import MOST_COLUMNS, RecordLayout
from rankscope.tables.frames import ArrowFrame, to_pandas
from rankscope.tables.jsontext import dump_json
from rankscope.tables.record_rows import Placed, Row, identified, read_records, rows_of
from rankscope.tables.writing import write_records

if TYPE_CHECKING:
    import pandas as pd

_CHUNK = 50_000  # rows that become columns at a time
_SUGGESTED_FROM = 2_000  # ids among which the nearest to an unknown one is looked for


class RecordTable:
    """Records by id, immutable; the base of `Queries` and `Corpus`."""

    __slots__ = ("_frame", "_positions")

    layout: ClassVar[RecordLayout]

    def __init__(self, data: Mapping[Any, object] | Iterable[object] | ArrowFrame) -> None:
        self._positions: dict[str, int] | None = None
        if isinstance(data, type(self)):
            self._frame: pl.DataFrame = data._frame
        else:
            self._frame = _collected(rows_of(data, self.layout), self.layout)

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
        try:
            return self._index()[record_id]
        except (KeyError, TypeError):
            known = islice(self._index(), _SUGGESTED_FROM)
            raise UnknownNameError(f"{self.layout.noun} id", str(record_id), known) from None

    def _fields(self, row: tuple[str | None, ...]) -> Row:
        """Return the fields of one stored row, without the id."""
        fields: Row = {
            name: text
            for name, text in zip(self.layout.columns, row[1:-1], strict=True)
            if text is not None
        }
        if row[-1] is not None:
            fields.update(json.loads(row[-1]))
        return fields

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

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one column per field.

        A field with one type (text, whole number, number, truth, or lists of one of them) is a
        column of that type, any other is a column of JSON text.
        """
        frame, _ = self.as_columns(typed=True)
        id_column = self.layout.id_column
        free = id_column
        while free in frame.columns:  # a field of that name beside the id
            free = f"metadata.{free}"
        return frame.rename({id_column: free}, strict=False).rename({"_id": id_column})

    def as_columns(self, *, typed: bool) -> tuple[pl.DataFrame, list[str]]:
        """Return all fields as columns, and which of them have no plain type and hold JSON text.

        If not ``typed``, all columns are text; a value that is not text is its JSON.
        """
        rows = [fields for _, fields in self.rows()]
        names = dict.fromkeys(name for fields in rows for name in fields)
        if len(names) >= MOST_COLUMNS:
            raise InputError(
                f"the {self.layout.nouns} have {len(names):,} fields, more than the columns of a "
                f"table may be ({MOST_COLUMNS:,}); write jsonl instead"
            )
        columns, as_json = {"_id": self._frame["id"]}, []
        for name in sorted(names, key=lambda name: name not in self.layout.columns):
            values = [fields.get(name) for fields in rows]
            dtype = _column_type(values) if typed else None
            if dtype is None:
                as_json.append(name)
                values = [
                    value
                    if value is None or (isinstance(value, str) and not typed)
                    else dump_json(value)
                    for value in values
                ]
            columns[name] = pl.Series(values, dtype=dtype or pl.String())
        return pl.DataFrame(columns), as_json

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_polars` as a pandas frame; needs pandas and pyarrow."""
        return to_pandas(self.to_polars(), needed_for=f"{type(self).__name__}.to_pandas")

    def write(self, path: PathLike, *, format: str | None = None) -> None:
        """Write a file, in the format named or the one its suffix tells, compressed by suffix."""
        write_records(self, path, format=format)


def _collected(records: Iterable[Placed], layout: RecordLayout) -> pl.DataFrame:
    """Store rows as columns: ``id``, the layout's text columns, and the other fields as JSON."""
    schema = pl.Schema(dict.fromkeys(("id", *layout.columns, "extras"), pl.String()))
    chunks = [schema.to_frame()]
    values: list[tuple[str | None, ...]] = []
    for (origin, position, _), record_id, fields in identified(records, layout):
        try:
            values.append((record_id, *_stored(fields, layout)))
        except ValueError as error:
            raise origin.error(f"{layout.noun} {shown(record_id)}: {error}", position) from None
        if len(values) == _CHUNK:
            chunks.append(pl.DataFrame(values, schema=schema, orient="row"))
            values = []
    chunks.append(pl.DataFrame(values, schema=schema, orient="row"))
    return pl.concat(chunks)


def _stored(fields: Row, layout: RecordLayout) -> list[str | None]:
    """Return the texts of the layout's columns, and all else as JSON; a null is no field."""
    texts: list[str | None] = []
    others = {name: value for name, value in fields.items() if value is not None}
    if "_id" in others:  # the caller named another field as the id, and _id is what that is called
        others["metadata._id"] = others.pop("_id")
    for name in layout.columns:
        text = others.get(name)
        if isinstance(text, str):
            del others[name]
            dump_json(text)  # text that is not Unicode is refused here
        texts.append(text if isinstance(text, str) else None)
    return [*texts, dump_json(others) if others else None]


def _column_type(values: list[Any]) -> pl.DataType | None:
    """Return the Polars type that holds these values unchanged; None if there is none."""
    present = [value for value in values if value is not None]
    types = {type(value) for value in present}
    if types == {list}:
        items = [item for value in present for item in value]
        inner = (
            None if None in items or any(type(i) is list for i in items) else _column_type(items)
        )
        return inner and pl.List(inner)
    if types <= {str}:
        return pl.String()
    if types == {bool}:
        return pl.Boolean()
    largest = max((abs(value) for value in present if type(value) is int), default=0)
    if types == {int} and largest < 2**63:
        return pl.Int64()
    return pl.Float64() if types <= {int, float} and largest <= 2**53 else None
