"""Frames at the border: in by their Arrow stream, out to pandas.

The engines behind frames (Polars, Arrow, pandas) fail in ways of their own, a Rust panic included;
here their failures become our errors.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

import polars as pl

from rankscope.errors import FormatError, InputError, MissingExtraError, RankscopeError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd


_INDEX = re.compile(r"__index_level_\d+__")


class ArrowFrame(Protocol):
    """Any frame with the Arrow PyCapsule interface: pandas, Polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as an Arrow stream."""


@contextmanager
def engine_errors(refusal: Callable[[str], InputError]) -> Iterator[None]:
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


@dataclass(frozen=True, slots=True)
class _Stream:
    """Only the Arrow side of a frame, so that a named index of pandas is a column."""

    frame: ArrowFrame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def frame_of(data: ArrowFrame, *, source: str) -> pl.DataFrame:
    """Return a Polars frame of anything that has the Arrow PyCapsule interface."""
    if isinstance(data, pl.DataFrame):
        return data

    def refusal(reason: str) -> InputError:
        return InputError(
            f"{source}: the frame cannot be read ({reason}); give each column one type, and ids "
            "as text"
        )

    with engine_errors(refusal):
        return arrow_frame(data)


def arrow_frame(data: ArrowFrame) -> pl.DataFrame:
    """Take a frame's Arrow stream, without what pandas makes of an index that has no name."""
    frame = pl.DataFrame(_Stream(data))
    return frame.drop(name for name in frame.columns if _INDEX.fullmatch(name))


def spreadsheet(content: bytes, *, source: str) -> pl.DataFrame:
    """Read the first sheet of an xlsx file."""
    try:
        import_module("fastexcel")
    except ImportError:
        raise MissingExtraError("fastexcel", needed_for="xlsx", extra="frames") from None
    with engine_errors(lambda reason: FormatError(f"not a sheet ({reason})", source=source)):
        return pl.read_excel(io.BytesIO(content), engine="calamine")


def to_pandas(frame: pl.DataFrame, *, needed_for: str) -> pd.DataFrame:
    """Return a frame as a pandas frame, or say what has to be installed."""
    try:
        import pandas  # noqa: F401, PLC0415
        import pyarrow  # noqa: F401, PLC0415
    except ImportError as error:
        package = error.name or "pandas"
        raise MissingExtraError(package, needed_for=needed_for, extra="frames") from None
    return frame.to_pandas()
