"""Which format is a file in? One detector for qrels, runs, queries and corpora.

`sniff` looks at the first bytes and the suffix, without knowing what kind of table the file holds;
`detect_format` adds the kind. The content decides, the suffix only where the content leaves a
choice. What `Sniffed` says of the columns also tells one kind of table from another.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from rankscope.errors import InputError, UnknownNameError
from rankscope.files import open_bytes, source_name, suffix_of
from rankscope.tables.columns import NO_COLUMNS, Columns, PairLayout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rankscope.files import PathLike
    from rankscope.tables.columns import Layout

HEAD = 1 << 20
"""Bytes from the beginning of a file by which it is recognised."""
_LINES = 100  # that tell how many columns there are
BOM = b"\xef\xbb\xbf"
_PARQUET, _XLSX = b"PAR1", b"PK\x03\x04"

_BY_SUFFIX = {
    **{f".{name}": name for name in ("csv", "json", "jsonl", "parquet", "tsv")},
    ".ndjson": "jsonl",
    ".pq": "parquet",
}
_JSON = re.compile(rb"""\s*[\[{]\s*(["\[{\]}]|\Z)""")  # not every id that begins with a bracket

JsonContent = Literal["json list", "json object", "json lines"]


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the beginning of a file looks like, whatever kind of table it holds.

    ``names`` are the keys of the first JSON record, if it is not cut off, or the cells of the first
    line of text, which ``separator`` splits. ``widths`` are the numbers of columns the first lines
    have if split by white space, the most frequent first.
    """

    content: Literal["empty", "parquet", "xlsx", "text"] | JsonContent
    by_suffix: str | None
    line: str = ""
    separator: str = ","
    names: tuple[str, ...] = ()
    widths: tuple[int, ...] = ()


# --- looking


@contextmanager
def recognised(path: PathLike) -> Iterator[tuple[Sniffed, BinaryIO]]:
    """Open a source once: yield what it looks like, and its whole content without a BOM."""
    with open_bytes(path) as opened:
        head = opened.read(HEAD)
        whole = io.BufferedReader(_Rewound(head.removeprefix(BOM), opened), 1 << 20)
        yield sniff(head, suffix_of(path)), whole


class OpenedFile:
    """A file that was opened and recognised: its content is what was opened, and then anew.

    ``data`` is the content where it cannot be read again: of standard input and pipes.
    """

    def __init__(
        self, path: PathLike, sniffed: Sniffed, stream: BinaryIO | None, data: bytes | None = None
    ) -> None:
        self.path, self.sniffed, self.data = path, sniffed, data
        self.stream, self._version = stream, _version(path)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Give the decompressed content."""
        stream, self.stream = self.stream, None
        if self.data is not None:
            yield io.BytesIO(self.data)
        elif stream is not None:
            yield stream
        else:
            with recognised(self.path) as (_, again):
                yield again

    @property
    def content(self) -> bytes:
        """The whole content, decompressed."""
        with self.opened() as stream:
            return stream.read()

    @property
    def size(self) -> int:
        """The bytes of the file as it was opened."""
        return self._version[0]

    @property
    def has_changed(self) -> bool:
        """Whether the file is no longer what was opened."""
        return _version(self.path) != self._version

    @property
    def first_tag(self) -> str | None:
        """The last column of the first line of a TREC run."""
        fields = fields_of(self.sniffed.line)
        return fields[-1] if len(fields) == 6 else None


def _version(path: PathLike) -> tuple[int, int]:
    """Return the size of a file, and when it was last changed, in nanoseconds."""
    try:
        status = os.stat(path)
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


class _Rewound(io.RawIOBase):
    """A stream as if its head had not been read yet; it may be a pipe."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._head.readinto(buffer)
        return size or self._rest.readinto(buffer)  # type: ignore[attr-defined]


def sniff(head: bytes, suffix: str) -> Sniffed:
    """Look at the first bytes of a file, decompressed, and at its suffix."""
    by_suffix = _BY_SUFFIX.get(suffix)
    text = head.removeprefix(BOM).lstrip()
    if head.startswith(_PARQUET):
        return Sniffed("parquet", by_suffix)
    if head.startswith(_XLSX) and suffix == ".xlsx":
        return Sniffed("xlsx", by_suffix)
    if not text:
        return Sniffed("empty", by_suffix)
    lines = _data_lines(head) or [text.partition(b"\n")[0].decode("utf-8", "replace")]
    line = lines[0]
    if _JSON.match(text) or by_suffix in ("json", "jsonl"):
        first, _, rest = text.partition(b"\n")
        several = first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")
        as_lines: JsonContent = "json lines" if several or by_suffix == "jsonl" else "json object"
        content = "json list" if text.startswith(b"[") else as_lines
        start, names = text.decode("utf-8", "replace"), tuple[str, ...]()
        with suppress(ValueError, IndexError, RecursionError):  # a record that is cut off
            record, _ = json.JSONDecoder().raw_decode(start, start.find("{"))
            names = tuple(record)
        return Sniffed(content, by_suffix, line, names=names)
    separator = max("\t,;", key=line.count)
    whole = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
    widths = Counter(len(fields_of(each)) for each in whole[:_LINES]).most_common()
    names = tuple(cells_of(line, separator))
    return Sniffed("text", by_suffix, line, separator, names, tuple(width for width, _ in widths))


# --- text


def _data_lines(head: bytes) -> list[str]:
    """Return the first lines that hold data: not blank and not a comment.

    For recognising a file only: bytes that are not UTF-8 are for its reader to refuse.
    """
    lines = (line.rstrip(b"\r\n") for line in io.BytesIO(head.removeprefix(BOM)))
    data = (line for line in lines if (text := line.strip()) and not text.startswith(b"#"))
    return [line.decode("utf-8", "replace") for line in islice(data, _LINES + 1)]


def fields_of(line: str) -> list[str]:
    """Split a line as a TREC file is split: by what is white space to C."""
    return re.findall(r"[^ \t\v\f\r]+", line)


def cells_of(line: str, separator: str) -> list[str]:
    """Split one line; where the quotes make no sense they are ordinary characters."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def shielded(data: bytes) -> bytes:
    """Return data for Polars, which drops a BOM at its beginning: one that is content stays."""
    return BOM + data if data.startswith(BOM) else data


# --- formats


def detect_format(sniffed: Sniffed, layout: Layout, columns: Columns = NO_COLUMNS) -> str | None:
    """Return the format of a table of this kind; None if it is none that is known."""
    content, by_suffix = sniffed.content, sniffed.by_suffix
    if content in ("parquet", "xlsx"):
        return content
    if content.startswith("json"):
        return "jsonl" if content == "json lines" else "json"
    if isinstance(layout, PairLayout):
        if by_suffix in ("parquet", "csv"):
            return by_suffix
        width, names = usual_width(sniffed, layout), sniffed.names
        is_split = width not in layout.headerless and len(names) in layout.headerless
        if is_split or layout.is_header(names, columns):
            return "tsv" if sniffed.separator == "\t" else "csv"
        return "trec"
    if by_suffix in ("parquet", "tsv", "csv"):
        return by_suffix
    for name, format in layout.markup.items():
        if re.match(format.begins, sniffed.line.lstrip(), re.I):
            return name
    has_header = layout.is_header(sniffed.names)
    return "tsv" if "\t" in sniffed.line else "csv" if has_header else None


def usual_width(sniffed: Sniffed, layout: PairLayout) -> int:
    """Return how many columns most lines have; a number that this kind can have goes first."""
    sensible = [width for width in sniffed.widths if width in layout.headerless]
    return next(iter([*sensible, *sniffed.widths]), 0)


def named_format(format: str | None, layout: Layout) -> str | None:
    """Check the name of a format, in whatever case."""
    readable = (*layout.formats, *layout.read_only)
    if format is not None and format.lower() not in readable:
        raise UnknownNameError("format", format, readable)
    return format and format.lower()


def format_for(path: PathLike, format: str | None, layout: Layout) -> str:
    """Return the format to write: as named, or as the file's suffix says."""
    suffixes = {**_BY_SUFFIX, **layout.suffixes}
    chosen, known = named_format(format, layout) or suffixes.get(suffix_of(path)), layout.formats
    if chosen not in known:
        problem = f"{chosen} is read and not written"
        if chosen is None:
            problem = f"the suffix is none of {', '.join(sorted(suffixes))}; name the format"
        raise InputError(f"{source_name(path)}: {problem}; write {', '.join(known)}")
    return chosen
