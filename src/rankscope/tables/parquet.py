"""Parquet, of pairs and of records.

Parquet carries everything: a field of records that has no plain type is written as JSON text, and
the file's metadata names these columns, so that they come back as what they were.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.tables.columns import find_name
from rankscope.tables.frames import engine_errors
from rankscope.tables.jsontext import parse_json
from rankscope.tables.objects import rows_from_frame
from rankscope.tables.record_rows import Origin, frame_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rankscope.tables.columns import PairLayout, RecordLayout
    from rankscope.tables.record_rows import Placed, Row
    from rankscope.tables.rows import Rows

_BATCH = 5_000
_JSON_COLUMNS = "rankscope.json"


def _damage_reported(source: str) -> AbstractContextManager[None]:
    return engine_errors(
        lambda reason: FormatError(
            f"not a parquet file that can be read ({reason}); write it again", source=source
        )
    )


def parquet_columns(data: str | bytes, *, source: str) -> list[str]:
    """Return the names of the columns of a file (by name, or its bytes)."""
    with _damage_reported(source):
        return _scan(data).collect_schema().names()


def _scan(data: str | bytes) -> pl.LazyFrame:
    return pl.scan_parquet(data, glob=False, hive_partitioning=False)


def pairs_from_parquet(data: str | bytes, layout: PairLayout, *, source: str) -> Rows:
    """Read all pairs of a file (by name, or its bytes)."""
    with _damage_reported(source):
        frame = _scan(data).collect()
    return rows_from_frame(frame, layout, source=source)


def records_from_parquet(
    data: str | bytes, source: str, layout: RecordLayout, *, ids_only: bool
) -> Iterator[Placed]:
    """Yield the rows of a file (by name, or its bytes), decoding one batch at a time."""
    origin = Origin(source, "row")
    with _damage_reported(source):
        lazy = _scan(data)
        columns = lazy.collect_schema().names()
        metadata = pl.read_parquet_metadata(io.BytesIO(data) if isinstance(data, bytes) else data)
        as_json = set(json.loads(metadata.get(_JSON_COLUMNS, "[]"))).intersection(columns)
    id_name = find_name(columns, layout.id_names)
    if ids_only and id_name is not None:
        lazy, as_json = lazy.select(id_name), as_json & {id_name}
    before = 0
    while True:
        with _damage_reported(source):
            batch = lazy.slice(before, _BATCH).collect()
        if not batch.height:
            return
        for _, position, row in frame_rows(batch, origin, layout, before=before):
            yield origin, position, _restored(row, as_json, origin, position)
        before += batch.height


def _restored(row: Row, as_json: set[str], origin: Origin, position: int) -> Row:
    """Return a row with its JSON parsed."""
    for name in as_json.intersection(row):
        try:
            row[name] = parse_json(str(row[name]), source="")  # on no line of the file
        except FormatError as error:
            raise origin.error(f"the field {shown(name)}: {error.problem}", position) from None
    return row


def parquet_bytes(frame: pl.DataFrame, json_columns: list[str] | None = None) -> bytes:
    """Return a file that remembers which of its columns hold JSON text."""
    metadata = None if json_columns is None else {_JSON_COLUMNS: json.dumps(json_columns)}
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()
