"""Frames at the border: in by their Arrow stream, from Parquet and spreadsheets, out to pandas.

The engines behind frames (Polars, Arrow, pandas) fail in ways of their own, a Rust panic included;
here their failures become our errors. Parquet from outside is read by pyarrow: a damaged page is an
error there, where Polars allocates what the page asks for and ends the process. What rankscope
recorded itself is compared with its hash first, and then read by Polars, which needs no extra.
"""

from __future__ import annotations

import hashlib
import io
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import FormatError, InputError, MissingExtraError, RankscopeError, shown
from rankscope.files import check_expansion
from rankscope.tables.columns import check_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pandas as pd

_INDEX = re.compile(r"__index_level_\d+__")
_BATCH = 1 << 16  # rows: larger batches are slower


@contextmanager
def _engine_errors(refusal: Callable[[str], InputError]) -> Iterator[None]:
    """Turn whatever an engine raises into the error that ``refusal`` returns for its reason."""
    try:
        yield
    except RankscopeError:
        raise
    except ImportError as error:
        package = error.name or "pyarrow"
        raise MissingExtraError(package, needed_for="this table", extra="frames") from None
    except (Exception, pl.exceptions.PanicException) as error:
        first_line = (str(error).splitlines() or ["no reason given"])[0]
        raise refusal(f"{type(error).__name__}: {shown(first_line, 120)}") from None


def _imported(needed_for: str, *names: str) -> list[Any]:
    """Import packages of the extra ``frames``, or say that it has to be installed."""
    try:
        return [import_module(name) for name in names]
    except ImportError as error:
        package = error.name or names[0]
        raise MissingExtraError(package, needed_for=needed_for, extra="frames") from None


@dataclass(frozen=True, slots=True)
class _Stream:
    """Only the Arrow side of a frame, so that a named index of pandas is a column."""

    frame: Any

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def _arrow_frame(data: Any) -> pl.DataFrame:
    """Take a frame's Arrow stream, without what pandas makes of an index that has no name."""
    frame = pl.DataFrame(_Stream(data))
    return frame.drop(name for name in frame.columns if _INDEX.fullmatch(name))


def frame_of(data: Any, *, source: str) -> pl.DataFrame:
    """Return a Polars frame of anything that has the Arrow PyCapsule interface."""
    if isinstance(data, pl.DataFrame):
        return data
    remedy = "give each column one type, and ids as text"
    with _engine_errors(
        lambda reason: InputError(f"{source}: the frame cannot be read ({reason}); {remedy}")
    ):
        return _arrow_frame(data)


def to_pandas(frame: pl.DataFrame, *, needed_for: str) -> pd.DataFrame:
    """Return a frame as a pandas frame, or say what has to be installed."""
    _imported(needed_for, "pandas", "pyarrow")
    return frame.to_pandas()


def spreadsheet(content: bytes, *, source: str) -> pl.DataFrame:
    """Read the first sheet of an xlsx file."""
    _imported("xlsx", "fastexcel")
    with _engine_errors(lambda reason: FormatError(f"not a sheet ({reason})", source=source)):
        return pl.read_excel(io.BytesIO(content), engine="calamine")


# --- Parquet


def _damage_reported(source: str) -> AbstractContextManager[None]:
    problem = "not a parquet file that can be read"
    return _engine_errors(
        lambda reason: FormatError(f"{problem} ({reason}); write it again", source=source)
    )


class ParquetFile:
    """A file from outside, by its name or its bytes.

    Raises:
        FormatError: it is damaged, has too many columns, or expands to more than is allowed.
        MissingExtraError: pyarrow is not installed.
    """

    def __init__(self, data: str | bytes, *, source: str) -> None:
        pyarrow, parquet = _imported("Parquet", "pyarrow", "pyarrow.parquet")
        self._source = source
        with _damage_reported(source):
            opened = pyarrow.BufferReader(data) if isinstance(data, bytes) else pyarrow.OSFile(data)
            self._size = opened.size()
            self._file = parquet.ParquetFile(opened)
            metadata = self._file.metadata
            check_columns(metadata.num_columns, source=source)
            self._empty = _arrow_frame(_bare(self._file.schema_arrow.empty_table()))
            self.schema: pl.Schema = self._empty.schema
            """The columns and their types."""
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
                frame = _arrow_frame(_bare(batch)).select(columns)
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


def _bare(data: Any) -> Any:
    """Return a table or batch of pyarrow without metadata, in which Polars may meet no text."""
    return type(data).from_arrays(data.columns, names=data.schema.names)


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


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a file with a frame."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
