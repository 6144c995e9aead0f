"""Records from Python objects: mappings, lists and frames.

Between `records` and `table`; what a JSON or Parquet file holds comes through here as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankscope.collection.records import Kind, Origin, Placed, find_name
from rankscope.errors import InputError, shown
from rankscope.tables.frames import frame_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["frame_rows", "keyed_rows", "listed_rows", "rows_of"]


def rows_of(data: Any, kind: Kind) -> Iterator[Placed]:
    """Return the rows of whatever was given: a mapping, a frame, or an iterable of rows."""
    origin = Origin(None, "row")
    if isinstance(data, str | bytes | os.PathLike):
        problem = f"{shown(data)} is a name, not {kind.nouns}"
        raise InputError(f"{problem}; to read a file use read_{kind.reader}(path)")
    if hasattr(data, "__arrow_c_stream__"):
        return frame_rows(frame_of(data, source=kind.nouns), origin, kind)
    if isinstance(data, Mapping):
        return keyed_rows(data, Origin(None, "item"), kind)
    if isinstance(data, Iterable):
        return listed_rows(data, origin, kind)
    came = f"{shown(data)} ({type(data).__name__})"
    raise InputError(f"{kind.nouns} come from a dict, a list of rows or a frame, not from {came}")


def keyed_rows(data: Mapping[Any, object], origin: Origin, kind: Kind) -> Iterator[Placed]:
    """Yield the rows of a mapping from id to text, or from id to fields."""
    for position, (key, value) in enumerate(data.items(), start=1):
        if isinstance(value, str):
            yield origin, position, {kind.id_names[0]: key, "text": value}
        elif isinstance(value, Mapping):
            inner = value.get(kind.id_names[0], key)
            if str(inner) != str(key):
                problem = f"{kind.noun} {shown(key)} calls itself {shown(inner)}; give it one id"
                raise origin.error(problem, position)
            yield origin, position, {**value, kind.id_names[0]: key}
        else:
            came = f"{shown(value)} ({type(value).__name__})"
            problem = f"{kind.noun} {shown(key)} is {came}; expected text or named fields"
            raise origin.error(problem, position)


def listed_rows(data: Iterable[object], origin: Origin, kind: Kind) -> Iterator[Placed]:
    """Yield the rows of a list of mappings or of tuples."""
    shapes = {len(names): names for names in kind.headerless}
    for position, item in enumerate(data, start=1):
        if isinstance(item, Mapping):
            yield origin, position, dict(item)
        elif isinstance(item, tuple | list) and len(item) in shapes:
            yield origin, position, dict(zip(shapes[len(item)], item, strict=True))
        else:
            expected = " or ".join(f"({', '.join(names)})" for names in kind.headerless)
            problem = f"came {shown(item)}; expected named fields or {expected}"
            raise origin.error(problem, position)


def frame_rows(
    frame: pl.DataFrame, origin: Origin, kind: Kind, *, before: int = 0
) -> Iterator[Placed]:
    """Yield the rows of a frame; a null is no field, except as id or needed text."""
    keep = {find_name(frame.columns, kind.id_names)}
    if kind.needs_text:
        keep.add(find_name(frame.columns, kind.text_names))
    for position, row in enumerate(frame.iter_rows(named=True), start=before + 1):
        yield origin, position, {k: v for k, v in row.items() if v is not None or k in keep}
