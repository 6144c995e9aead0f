"""Parquet: a frame at once, for pairs, or records in batches.

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
from rankscope.tables.frames import engine_errors, without_index
from rankscope.tables.jsontext import parse_json
from rankscope.tables.parquet_pages import check_parquet
from rankscope.tables.parquet_trial import try_in_a_process
from rankscope.tables.record_rows import frame_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rankscope.tables.columns import RecordLayout
    from rankscope.tables.record_rows import Origin, Row

_BATCH = 5_000
_JSON_COLUMNS = "rankscope.json"


def _damage_reported(source: str) -> AbstractContextManager[None]:
    return engine_errors(
        lambda reason: FormatError(
            f"not a parquet file that can be read ({reason}); write it again", source=source
        )
    )


def scan_parquet(data: str | bytes, *, source: str) -> pl.LazyFrame:
    """Open a file, by its name or its bytes; the one place where Polars is given a Parquet file."""
    if check_parquet(data, source=source):
        try_in_a_process(data, source=source)
    with _damage_reported(source):
        return without_index(pl.scan_parquet(data, glob=False, hive_partitioning=False))


def parquet_frame(data: str | bytes, *, source: str) -> pl.DataFrame:
    """Read all columns of a file, by its name or its bytes."""
    with _damage_reported(source):
        return scan_parquet(data, source=source).collect()


def records_from_parquet(
    data: str | bytes, origin: Origin, layout: RecordLayout, *, ids_only: bool
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file, by its name or its bytes, decoding one batch at a time."""
    source = str(origin.source)
    lazy = scan_parquet(data, source=source)
    with _damage_reported(source):
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
            for name in as_json.intersection(row):
                row[name] = _restored(row[name], name, origin, position)
            yield position, row
        before += batch.height


def _restored(text: object, name: str, origin: Origin, position: int) -> object:
    try:
        return parse_json(str(text), source="")  # on no line of the file
    except FormatError as error:
        raise origin.error(f"the field {shown(name)}: {error.problem}", position) from None


def parquet_bytes(frame: pl.DataFrame, json_columns: list[str] | None = None) -> bytes:
    """Return a file that remembers which of its columns hold JSON text."""
    metadata = None if json_columns is None else {_JSON_COLUMNS: json.dumps(json_columns)}
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()
