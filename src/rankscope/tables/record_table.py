"""Records by id: what `Queries` and `Corpus` have in common.

Records (`record_rows`) are identified and kept as columns: ids and text as they are, all other
fields of a record as one JSON text that is parsed when needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import polars as pl

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import PathLike, source_name
from rankscope.tables.columns import MOST_COLUMNS, RecordLayout
from rankscope.tables.detection import format_for
from rankscope.tables.frames import parquet_bytes
from rankscope.tables.jsontext import dump_json
from rankscope.tables.record_rows import Record, Row, identified, read_records, records_in
from rankscope.tables.writing import frame_pieces, json_pieces, write_pieces

_CHUNK = 50_000  # records that become columns at a time
_SUGGESTED_FROM = 2_000  # ids among which the nearest to an unknown one is looked for


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

    def as_columns(self, *, typed: bool) -> tuple[pl.DataFrame, list[str]]:
        """Return all fields as columns, and which of them hold JSON text.

        A field is a column of text, or of its type if ``typed``; where its values have no type in
        common they are JSON.
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
            column = _column(values) if typed else None
            if column is None:
                as_json.append(name)
                kept = (type(None),) if typed else (type(None), str)
                texts = [v if isinstance(v, kept) else dump_json(v) for v in values]
                column = pl.Series(texts, dtype=pl.String)
            columns[name] = column
        return pl.DataFrame(columns), as_json

    def write(self, path: PathLike, *, format: str | None = None) -> None:
        """Write a file, in the format named or the one its suffix tells, compressed by suffix."""
        chosen = format_for(path, format, self.layout)
        if not len(self):
            nouns = self.layout.nouns
            raise InputError(f"{source_name(path)}: there are no {nouns}; give at least one")
        rows = (dump_json({"_id": record_id, **fields}) for record_id, fields in self.rows())
        if chosen == "parquet":
            write_pieces(path, [parquet_bytes(*self.as_columns(typed=True))])
        elif chosen in ("csv", "tsv"):
            write_pieces(path, frame_pieces(self.as_columns(typed=False)[0], chosen))
        elif chosen == "json":
            write_pieces(path, json_pieces(rows, "[]"))
        else:
            write_pieces(path, (f"{row}\n".encode() for row in rows))


def _collected(records: Iterable[Record], layout: RecordLayout) -> pl.DataFrame:
    """Store records as columns: ``id``, the layout's text columns, and the other fields as JSON."""
    schema = pl.Schema(dict.fromkeys(("id", *layout.columns, "extras"), pl.String()))
    chunks, rows = [schema.to_frame()], list[list[str | None]]()
    for record, record_id, fields in identified(records, layout):
        others: dict[str, Any] = {
            name: value for name, value in fields.items() if value is not None
        }
        if "_id" in others:  # another field was named as the id, and _id is what that is called
            others["metadata._id"] = others.pop("_id")
        texts = [
            others.pop(name) if isinstance(others.get(name), str) else None
            for name in layout.columns
        ]
        try:
            dump_json(texts)  # text that is not Unicode is refused here
            extras = dump_json(others) if others else None
        except ValueError as error:
            raise record.error(f"{layout.noun} {shown(record_id)}: {error}") from None
        rows.append([record_id, *texts, extras])
        if len(rows) == _CHUNK:
            chunks.append(pl.DataFrame(rows, schema=schema, orient="row"))
            rows = []
    return pl.concat([*chunks, pl.DataFrame(rows, schema=schema, orient="row")])


def _column(values: list[Any]) -> pl.Series | None:
    """Return a column of text, truth, numbers or lists of them that holds just these values."""
    try:
        column = pl.Series(values, strict=False)
    except (Exception, pl.exceptions.PanicException):
        return None
    inner = column.dtype.inner if isinstance(column.dtype, pl.List) else column.dtype
    is_plain = inner in (pl.String, pl.Boolean, pl.Int64, pl.Float64)
    return column if is_plain and column.to_list() == values else None
