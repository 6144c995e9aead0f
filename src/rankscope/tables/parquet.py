"""Parquet: a frame at once, for pairs, or records in batches.

Files from outside are read by pyarrow: a damaged page is an error there, where Polars allocates
what the page asks for and ends the process. What rankscope recorded itself is compared with its
hash first, and then read by Polars, which needs no extra.

Parquet carries everything: a field of records that has no plain type is written as JSON text, and
the file's metadata names these columns, so that they come back as what they were.
"""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import FormatError, MissingExtraError, shown
from rankscope.files import check_expansion
from rankscope.tables.columns import check_columns, find_name
from rankscope.tables.frames import arrow_frame, engine_errors
from rankscope.tables.jsontext import parse_json
from rankscope.tables.record_rows import frame_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rankscope.tables.columns import RecordLayout
    from rankscope.tables.record_rows import Origin, Row

_BATCH = 1 << 16  # rows: larger batches are slower
_TEXTS = 5_000  # rows, where a row may be a document
_JSON_COLUMNS = "rankscope.json"


def _damage_reported(source: str) -> AbstractContextManager[None]:
    return engine_errors(
        lambda reason: FormatError(
            f"not a parquet file that can be read ({reason}); write it again", source=source
        )
    )


class ParquetFile:
    """A file from outside, by its name or its bytes.

    Raises:
        FormatError: it is damaged, has too many columns, or expands to more than is allowed.
        MissingExtraError: pyarrow is not installed.
    """

    def __init__(self, data: str | bytes, *, source: str) -> None:
        try:
            import pyarrow  # noqa: PLC0415
            import pyarrow.parquet  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError("pyarrow", needed_for="Parquet", extra="frames") from None
        self._source = source
        with _damage_reported(source):
            opened = pyarrow.BufferReader(data) if isinstance(data, bytes) else pyarrow.OSFile(data)
            self._size = opened.size()
            self._file = pyarrow.parquet.ParquetFile(opened)
            metadata = self._file.metadata
            check_columns(metadata.num_columns, source=source)
            self._empty = arrow_frame(self._file.schema_arrow.empty_table())
            self.metadata: dict[bytes, bytes] = metadata.metadata or {}
            """What the writer noted, by name."""
            self._groups = [
                int(metadata.row_group(group).num_rows) for group in range(metadata.num_row_groups)
            ]
            if self.rows != metadata.num_rows:  # nobody but us compares these
                raise ValueError("its numbers of rows disagree")

    @property
    def schema(self) -> pl.Schema:
        """The columns and their types."""
        return self._empty.schema

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(self._groups)

    def batches(
        self,
        columns: list[str] | None = None,
        *,
        low: int = 0,
        high: int | None = None,
        size: int = _BATCH,
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows from ``low`` to ``high``, ``size`` or fewer at a time."""
        columns = self.schema.names() if columns is None else columns
        high = self.rows if high is None else min(high, self.rows)
        start, first = 0, 0
        groups: list[int] = []
        for group, rows in enumerate(self._groups):
            if start < high and start + rows > low:
                first = first if groups else start
                groups.append(group)
            start += rows
        if not groups:
            return
        with _damage_reported(self._source):
            batches = self._file.iter_batches(size, row_groups=groups, columns=columns)
        expanded = 0
        while first < high:
            with _damage_reported(self._source):
                batch = next(batches, None)
                if batch is None:
                    raise ValueError("it has fewer rows than it says")
                expanded += batch.nbytes
                check_expansion(expanded, self._size, self._source)
                frame = arrow_frame(batch).select(columns)
            # by number, which copies: a slice would hold on to pyarrow's memory
            kept = np.arange(max(low - first, 0), min(high - first, frame.height))
            first += frame.height
            if len(kept):
                yield frame[kept]

    def frame(
        self, columns: list[str] | None = None, *, low: int = 0, high: int | None = None
    ) -> pl.DataFrame:
        """Read the rows from ``low`` to ``high``."""
        empty = self._empty if columns is None else self._empty.select(columns)
        batches = self.batches(columns, low=low, high=high)
        with _damage_reported(self._source):
            return pl.concat([empty, *batches])


def parquet_frame(data: str | bytes, *, source: str) -> pl.DataFrame:
    """Read all columns of a file from outside, by its name or its bytes."""
    return ParquetFile(data, source=source).frame()


def recorded_frame(path: Path, sha256: str, *, source: str) -> pl.DataFrame:
    """Read a file that rankscope wrote and recorded; one that was changed since is refused."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormatError(f"cannot be read ({reason})", source=source) from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise FormatError(
            "was changed after it was recorded: its SHA-256 differs; run the benchmark again",
            source=source,
        )
    with _damage_reported(source):
        return pl.read_parquet(content)


def records_from_parquet(
    data: str | bytes, origin: Origin, layout: RecordLayout, *, ids_only: bool
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file, by its name or its bytes, decoding one batch at a time."""
    source = str(origin.source)
    file = ParquetFile(data, source=source)
    columns = file.schema.names()
    with _damage_reported(source):
        as_json = set(json.loads(file.metadata.get(_JSON_COLUMNS.encode(), b"[]")))
    id_name = find_name(columns, layout.id_names)
    if ids_only and id_name is not None:
        columns = [id_name]
    as_json.intersection_update(columns)
    before = 0
    for batch in file.batches(columns, size=_TEXTS):
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
