"""Records in Parquet, which carries everything: what has no plain type stands there as JSON text.

Between `records` and `reading`. The file's metadata names the columns that hold JSON, so that they
come back as what they were.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import polars as pl

from rankscope.collection.objects import frame_rows
from rankscope.collection.records import Kind, Origin, Placed, Row, find_name
from rankscope.errors import FormatError, InputError, shown
from rankscope.tables.frames import engine_errors, parquet_bytes
from rankscope.tables.jsontext import parse_json
from rankscope.tables.reading import unreadable_parquet

__all__ = ["parquet_of", "parquet_rows"]

_BATCH = 5_000
_JSON_COLUMNS = "rankscope.json"


def parquet_of(frame: pl.DataFrame, json_columns: list[str]) -> bytes:
    """Return a parquet file that remembers which of its columns hold JSON text."""
    return parquet_bytes(frame, {_JSON_COLUMNS: json.dumps(json_columns)})


def parquet_rows(data: str | bytes, source: str, kind: Kind, *, ids_only: bool) -> Iterator[Placed]:
    """Yield the rows of a parquet file (by name, or its bytes), decoding one batch at a time."""
    origin = Origin(source, "row")

    def refusal(reason: str) -> InputError:
        return unreadable_parquet(reason, source=source)

    with engine_errors(refusal):
        lazy = pl.scan_parquet(data, glob=False, hive_partitioning=False)
        columns = lazy.collect_schema().names()
        noted = pl.read_parquet_metadata(io.BytesIO(data) if isinstance(data, bytes) else data)
        as_json = set(json.loads(noted.get(_JSON_COLUMNS, "[]"))).intersection(columns)
    id_key = find_name(columns, kind.id_names)
    if ids_only and id_key is not None:
        lazy, as_json = lazy.select(id_key), as_json & {id_key}
    before = 0
    while True:
        with engine_errors(refusal):
            batch = lazy.slice(before, _BATCH).collect()
        if not batch.height:
            return
        for _, position, row in frame_rows(batch, origin, kind, before=before):
            yield origin, position, _restored(row, as_json, origin, position)
        before += batch.height


def _restored(row: Row, as_json: set[str], origin: Origin, position: int) -> Row:
    """Return a row with its JSON parsed."""
    for name in as_json.intersection(row):
        try:
            row[name] = parse_json(str(row[name]), source="")  # it stands on no line of the file
        except FormatError as error:
            raise origin.error(f"the field {shown(name)}: {error.problem}", position) from None
    return row
