"""From a file to records: which format is it, and its rows one by one.

The last step before `table`: it opens the file, tells the format from content and name, and hands
over to the reader of that format.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from typing import BinaryIO

from rankscope.collection.delimited import delimited_rows, is_header
from rankscope.collection.jsontext import json_lines_rows, json_rows
from rankscope.collection.parquet import parquet_rows
from rankscope.collection.records import Kind, Origin, Placed, find_name
from rankscope.errors import FormatError, UnknownNameError, shown
from rankscope.files import PathLike, is_plain_file, open_bytes, source_name, suffix_of
from rankscope.tables.delimited import decoded
from rankscope.tables.reading import BY_SUFFIX, PARQUET_MAGIC
from rankscope.tables.whitespace import BOM

__all__ = ["read_rows"]

_HEAD = 1 << 16


def read_rows(
    path: PathLike, kind: Kind, *, format: str | None = None, ids_only: bool = False
) -> Iterator[Placed]:
    """Yield the rows of a file one by one; ``ids_only`` may leave out fields other than the id.

    Only ``json`` and topics, and parquet that is compressed or piped, are held in memory whole.
    """
    if format is not None and format not in kind.formats:
        raise UnknownNameError("format", format, kind.formats)
    source = source_name(path)
    empty = True
    with open_bytes(path) as stream:
        head = stream.read(_HEAD)
        name = format or _format_of(head, suffix_of(path), kind, source)
        for placed in _rows_as(name, path, head, stream, kind, ids_only=ids_only):
            empty = False
            yield placed
    if empty:
        raise FormatError(f"is empty; expected {kind.nouns}", source=source)


def _rows_as(
    name: str, path: PathLike, head: bytes, stream: BinaryIO, kind: Kind, *, ids_only: bool
) -> Iterator[Placed]:
    """Return the rows of a file of this format, of which the head was read already."""
    source = source_name(path)
    if name == "parquet":
        plain = is_plain_file(path)
        data = os.path.abspath(os.fspath(path)) if plain else head + stream.read()
        return parquet_rows(data, source, kind, ids_only=ids_only)
    if name == "jsonl":
        return json_lines_rows(_lines(head, stream), source, ids_only=ids_only)
    if name in ("tsv", "csv"):
        return delimited_rows(_lines(head, stream), "\t" if name == "tsv" else ",", source, kind)
    text = decoded((head + stream.read()).removeprefix(BOM), source=source)
    if not text.strip():
        return iter(())
    if name == "json":
        return json_rows(text, source, kind)
    origin = Origin(source, "line")
    return ((origin, line, row) for line, row in kind.readers[name](text, origin))


def _lines(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file of which the head was read already, ends and all."""
    start = io.BytesIO(head.removeprefix(BOM))
    for line in start:
        yield line if line.endswith(b"\n") else line + stream.readline()
    yield from stream


def _format_of(head: bytes, suffix: str, kind: Kind, source: str) -> str:
    """Tell the format from content and name."""
    start, by_suffix = head.removeprefix(BOM).lstrip(), BY_SUFFIX.get(suffix)
    if head.startswith(PARQUET_MAGIC) or by_suffix == "parquet":
        return "parquet"
    if not start:
        raise FormatError(f"is empty; expected {kind.nouns}", source=source)
    if by_suffix in ("tsv", "csv"):
        return by_suffix
    if start[:1] == b"<" and "trec" in kind.readers:
        return "trec"
    if start[:1] == b"[":
        return "json"
    if start[:1] == b"{":
        return _json_or_jsonl(start, by_suffix, kind)
    line = start.split(b"\n")[0].decode(errors="replace").replace('"', "")
    if "\t" in line:
        return "tsv"
    if is_header(line.rstrip("\r").split(","), kind):
        return "csv"
    if by_suffix is not None:
        return by_suffix  # its reader says what is wrong
    raise FormatError(
        f"does not look like {kind.nouns} ({shown(line, 40)}); name its format, one of "
        f"{', '.join(kind.formats)}",
        source=source,
    )


def _json_or_jsonl(start: bytes, by_suffix: str | None, kind: Kind) -> str:
    """Tell one big object from an object on each line."""
    if by_suffix == "jsonl":
        return "jsonl"
    first, _, rest = start.partition(b"\n")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return "json" if by_suffix == "json" or rest or len(start) < _HEAD else "jsonl"
    if rest.strip():
        return "jsonl"
    named = isinstance(row, dict) and find_name(row, kind.id_names) and "text" in row
    return "jsonl" if named else "json"
