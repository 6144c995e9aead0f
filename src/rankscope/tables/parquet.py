"""Parquet: a frame at once, or in batches.

Files from outside are read by pyarrow: a damaged page is an error there, where Polars allocates
what the page asks for and ends the process. What rankscope recorded itself is compared with its
hash first, and then read by Polars, which needs no extra. A field of records that has no plain type
is written as JSON text, and the file's metadata names these columns.
"""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import FormatError, MissingExtraError
from rankscope.files import check_expansion
from rankscope.tables.columns import check_columns
from rankscope.tables.frames import arrow_frame, engine_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

_BATCH = 1 << 16  # rows: larger batches are slower
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
            self.schema: pl.Schema = self._empty.schema
            """The columns and their types."""
            named = (metadata.metadata or {}).get(_JSON_COLUMNS.encode(), b"[]")
            self.json_columns: set[str] = set(json.loads(named))
            """The columns that hold JSON text."""
            sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            self._edges = np.cumsum([0, *sizes])  # group g is rows edges[g]:edges[g + 1]
            self.rows = int(self._edges[-1])
            """How many rows there are."""
            if self.rows != metadata.num_rows:  # nobody but us compares these
                raise ValueError("its numbers of rows disagree")

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
        edges, expanded = self._edges, 0
        groups = np.flatnonzero((edges[:-1] < high) & (edges[1:] > low)).tolist()
        position = int(edges[groups[0]]) if groups else high
        with _damage_reported(self._source):
            batches = self._file.iter_batches(size, row_groups=groups, columns=columns)
        while position < high:
            with _damage_reported(self._source):
                batch = next(batches, None)
                if batch is None:
                    raise ValueError("it has fewer rows than it says")
                batch.validate(full=True)  # text that is no UTF-8 ends the process in Polars
                expanded += batch.nbytes
                check_expansion(expanded, self._size, self._source)
                frame = arrow_frame(batch).select(columns)
            # by number, which copies: a slice would hold on to pyarrow's memory
            wanted = np.arange(max(low - position, 0), min(high - position, frame.height))
            position += frame.height
            if len(wanted):
                yield frame[wanted]

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


def parquet_bytes(frame: pl.DataFrame, json_columns: Sequence[str] = ()) -> bytes:
    """Return a file that remembers which of its columns hold JSON text."""
    metadata = {_JSON_COLUMNS: json.dumps(list(json_columns))} if json_columns else None
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()
