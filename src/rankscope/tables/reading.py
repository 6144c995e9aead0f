"""From a file to rows: which format is it, and which way is fastest and still exact.

`TableFile` is the one door for qrels and runs. It finds the format from the content and the name,
takes the fast way where the bytes prove that it is safe, and the exact way otherwise.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankscope.errors import FormatError, UnknownNameError
from rankscope.files import is_plain_file, open_bytes, read_bytes, source_name, suffix_of
from rankscope.tables.columns import is_header
from rankscope.tables.delimited import cells_of, read_delimited, separator_of
from rankscope.tables.frames import engine_errors
from rankscope.tables.grouping import group_by_query
from rankscope.tables.jsontext import read_json, read_json_lines
from rankscope.tables.objects import rows_from_frame
from rankscope.tables.rows import Rows
from rankscope.tables.third_column import ranks_or_scores
from rankscope.tables.whitespace import BOM, read_clean, read_exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.files import PathLike
    from rankscope.tables.columns import Layout

__all__ = [
    "BY_SUFFIX",
    "FORMATS",
    "PARQUET_MAGIC",
    "TableFile",
    "detect_format",
    "first_line",
    "parquet_frame",
    "unreadable_parquet",
]

FORMATS = ("trec", "msmarco", "csv", "tsv", "json", "jsonl", "parquet")
"""Formats of qrels and runs; ``msmarco`` (query, document, rank) is for runs."""

SYNONYMS = {"beir": "tsv", "ndjson": "jsonl", "json-lines": "jsonl", "trec_eval": "trec"}

PARQUET_MAGIC = b"PAR1"
BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".tsv": "tsv",
}
"""What a suffix says about the format, whatever the table holds."""

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_HEAD = 1 << 16
_JSON = re.compile(rb"""\s*[\[{]\s*(["\[{\]}]|\Z)""")  # not any id that starts with a bracket

COMPACT = {"query_id": pl.Categorical, "doc_id": pl.String, "tag": pl.Categorical,
           "score": pl.Float64, "grade": pl.Float64, "rank": pl.Float64,
           "subtopic": pl.Categorical}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A qrels or run file that was opened and recognised, and can be read more than once.

    ``named`` tells whether the user named the format. ``data`` holds the bytes where the file
    cannot simply be opened again: standard input, pipes and compressed files.
    """

    path: PathLike
    layout: Layout
    format: str
    named: bool
    head: bytes
    data: bytes | None

    @classmethod
    def open(cls, path: PathLike, layout: Layout, *, format: str | None = None) -> TableFile:
        """Open a file and find its format, unless it is named."""
        chosen = named_format(format)
        data = None if is_plain_file(path) else read_bytes(path)
        head = data[:_HEAD] if data is not None else _head_of(path)
        found = chosen or detect_format(head, suffix_of(path), layout)
        return cls(path, layout, found, chosen is not None, head, data)

    @property
    def source(self) -> str:
        """How messages call the file."""
        return source_name(self.path)

    @property
    def bytes(self) -> bytes:
        """The whole content, decompressed."""
        return read_bytes(self.path) if self.data is None else self.data

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """Open the decompressed content."""
        if self.data is not None:
            yield io.BytesIO(self.data)
        else:
            with open_bytes(self.path) as stream:
                yield stream

    @property
    def first_tag(self) -> str | None:
        """The tag on the first line of a TREC run."""
        if self.format != "trec" or self.layout.kind != "run":
            return None
        cells = fields_of(first_line(self.head))
        return cells[-1] if len(cells) == 6 else None

    def rows(self, roles: tuple[str, ...], *, as_text: bool = False) -> Rows:
        """Read the columns ``roles``.

        With ``as_text`` every value comes as it stands in the file, to be shown in a message.
        """
        source = self.source
        if self.format in ("trec", "msmarco"):
            return _read_whitespace(self, roles, as_text=as_text)
        if self.format == "parquet":
            frame = parquet_frame(self.bytes, source=source)
            return rows_from_frame(frame, self.layout, source=source)
        if self.format == "json":
            return read_json(self.bytes, self.layout, source=source)
        if self.format == "jsonl":
            return read_json_lines(self.bytes, self.layout, source=source)
        separator = "\t" if self.format == "tsv" else separator_of(first_line(self.head))
        return read_delimited(self.bytes, self.layout, source=source, separator=separator)


def named_format(format: str | None) -> str | None:
    """Check a format's name."""
    if format is None:
        return None
    chosen = SYNONYMS.get(format.lower(), format.lower())
    if chosen not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    return chosen


def _head_of(path: PathLike) -> bytes:
    with open_bytes(path) as stream:
        return stream.read(_HEAD)


def parquet_frame(data: bytes, *, source: str) -> pl.DataFrame:
    """Read Parquet from bytes; damage becomes a `FormatError`."""
    with engine_errors(lambda reason: unreadable_parquet(reason, source=source)):
        return pl.read_parquet(io.BytesIO(data), glob=False)


def unreadable_parquet(reason: str, *, source: str) -> FormatError:
    """Return the error for a Parquet file that its engine refuses."""
    problem = f"not a parquet file that can be read ({reason}); write it again"
    return FormatError(problem, source=source)


def data_lines(head: bytes) -> list[str]:
    """Return the lines that hold data: not blank and not a comment.

    For recognising a file only: bytes that are not UTF-8 are for its reader to refuse.
    """
    lines = (line.rstrip(b"\r") for line in head.removeprefix(BOM).split(b"\n"))
    kept = (line for line in lines if (text := line.strip()) and not text.startswith(b"#"))
    return [line.decode("utf-8", "replace") for line in kept]


def first_line(head: bytes) -> str:
    """Return the first line that holds data."""
    return next(iter(data_lines(head)), "")


def fields_of(line: str) -> list[str]:
    """Split a line as a TREC file is split: by what is white space to C."""
    return re.findall(r"[^ \t\v\f\r]+", line)


def _usual_width(head: bytes, layout: Layout) -> int:
    """Return how many fields most of the first lines have, of the numbers that make sense."""
    lines = data_lines(head)
    whole = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
    widths = Counter(len(fields_of(line)) for line in whole[:100])
    sensible = [width for width, _ in widths.most_common() if width in layout.headerless]
    return next(iter([*sensible, *widths]), 0)


def detect_format(head: bytes, suffix: str, layout: Layout) -> str:
    """Find a format from the first bytes and the name's suffix; the content decides."""
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    text = head.removeprefix(BOM)
    by_suffix = BY_SUFFIX.get(suffix)
    if _JSON.match(text) or (suffix in _JSON_SUFFIXES and text.strip()):
        return _json_or_lines(text.lstrip(), suffix)
    if by_suffix in ("parquet", "csv"):
        return by_suffix
    line = first_line(head)
    separator = separator_of(line)
    cells = cells_of(line, separator)
    if is_header(cells, layout):
        return "tsv" if separator == "\t" else "csv"
    width = _usual_width(head, layout)
    if width not in layout.headerless and len(cells) in layout.headerless:
        return "tsv" if separator == "\t" else "csv"
    return "msmarco" if layout.kind == "run" and width == 3 else "trec"


def _json_or_lines(text: bytes, suffix: str) -> str:
    if text.startswith(b"["):
        return "json"
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    rest = text.split(b"\n", 1)
    if len(rest) == 2 and rest[1].lstrip()[:1] == b"{" and rest[0].rstrip().endswith(b"}"):
        return "jsonl"
    first = rest[0].rstrip()
    one_record = len(rest) == 1 or not rest[1].strip()
    if suffix != ".json" and one_record and first.endswith(b"}") and not first.endswith(b"}}"):
        return "json" if first.count(b"{") > 1 else "jsonl"
    return "json"


def _read_whitespace(file: TableFile, roles: tuple[str, ...], *, as_text: bool) -> Rows:
    layout, source = file.layout, file.source
    most = max(layout.headerless)
    if layout.kind == "run":
        width = 3 if file.format == "msmarco" else most
    else:
        width = _usual_width(file.head, layout)
    columns = layout.headerless.get(width, layout.headerless[most])
    types: dict[str, Any] = {
        role: pl.String if as_text else COMPACT[role] for role in roles if role in columns
    }
    rows = None if as_text else _read_if_clean(file, columns, types)
    if rows is None:
        with file.stream() as stream:
            rows = read_exact(stream, columns, types, source=source, layout=layout)
    return ranks_or_scores(rows, surely_ranks=file.named) if len(columns) == 3 else rows


def _read_if_clean(
    file: TableFile, columns: tuple[str | None, ...], types: dict[str, Any]
) -> Rows | None:
    place = os.fspath(file.path) if file.data is None else file.data
    frame = read_clean(place, columns, types, tag=file.first_tag or "")
    if frame is None:
        return None
    groups = group_by_query(frame["query_id"])
    if groups.query_ids.str.starts_with("#").any():  # comments
        return None
    return Rows(
        frame,
        file.source,
        file.layout,
        line_of=lambda row: row + 1,
        ids_complete=True,
        groups=groups,
    )
