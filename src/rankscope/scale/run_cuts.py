"""Parts: a run cut into stretches of rows that workers read by themselves.

Parquet is cut at rows, plain TREC files at bytes, and compressed ones into blocks as they come,
where the query changes, if such a place is near, so that few queries are in two parts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankscope.errors import FormatError, InputError
from rankscope.files import is_plain_file, open_bytes, source_name
from rankscope.runs.table import Run, ranks_follow, scores_of
from rankscope.tables.columns import FLAT, NO_COLUMNS, RUN
from rankscope.tables.detection import BOM, Sniffed, detect_format, recognised
from rankscope.tables.frames import ParquetFile
from rankscope.tables.reading import TableFile
from rankscope.tables.rows import as_numbers
from rankscope.tables.shapes import pair_rows
from rankscope.tables.table_columns import Table
from rankscope.tables.table_rows import choose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rankscope.files import PathLike
    from rankscope.tables.rows import Rows

PART_BYTES = 1 << 25
"""About so many bytes of a TREC file are a part."""

PART_ROWS = 1 << 20
"""About so many rows of a Parquet file are."""

_LOOK = 1 << 20  # bytes within which a change of the query is looked for

ROLES = ("query_id", "doc_id", "score")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a run's rows: bytes of a TREC file, or rows of a Parquet file."""

    path: str
    format: Literal["trec", "parquet"]
    low: int
    high: int
    sniffed: Sniffed
    size: int
    """The bytes of the file, which workers open by its path, as it was cut."""
    data: bytes | None = None
    """The bytes themselves, where workers cannot read them from the file."""

    def rows(self, roles: tuple[str, ...] = ROLES) -> Rows:
        """Read the rows of this part, these columns of them."""
        if self.format == "parquet":
            check_seen(self.path, self.size)
            file = ParquetFile(self.path, source=self.path)
            names = _flat_columns(file)
            columns = [names[role] for role in roles if role in names]
            frame = file.frame(columns, low=self.low, high=self.high)
            return pair_rows(frame, RUN, source=self.path)
        data = self.block()
        data = data if self.low else data.removeprefix(BOM)
        return TableFile(self.path, RUN, "trec", self.sniffed, data=data).rows(roles)

    def block(self) -> bytes:
        """Return the bytes of a part of a TREC file: whole lines."""
        if self.data is not None:
            return self.data
        check_seen(self.path, self.size)
        with open(self.path, "rb") as file:
            file.seek(self.low)
            return file.read(self.high - self.low)

    def run(self) -> Run:
        """Read this part as a run of its own; what breaks a rule is refused."""
        rows = self.rows()
        if not rows.frame.height and not rows.malformed_count:
            return Run({}, name="part")
        return Run.from_rows(rows, name="part")


def check_seen(path: str, size: int) -> None:
    """Raise unless a file is here as it was where it was named: workers may be other machines."""
    try:
        seen = os.path.getsize(path)
    except OSError:
        seen = -1
    if seen != size:
        what = "does not see it" if seen < 0 else f"sees {seen:,} bytes"
        raise InputError(
            f"{path}: has {size:,} bytes, and a worker {what}; workers read files by their paths, "
            "so put it on a file system that all machines share, and leave it as it is meanwhile"
        )


def ranks_in_order(part: Part) -> bool:
    """Tell whether the ranks in a part of a TREC file are in the order of its scores."""
    rows = part.rows((*ROLES, "rank"))
    if not {"rank", "score"} <= set(rows.frame.columns):
        return False
    rank = as_numbers(rows.frame["rank"]).cast(pl.Float64)
    return ranks_follow(pl.DataFrame([rows.ids("query_id"), scores_of(rows), rank.alias("rank")]))


@dataclass(frozen=True, slots=True)
class PartedFile:
    """A file that can be cut into parts."""

    path: PathLike
    format: Literal["trec", "parquet"]
    sniffed: Sniffed
    is_plain: bool

    @classmethod
    def open(cls, path: PathLike) -> PartedFile | None:
        """Look at a file; None if it cannot be cut: of another format, or with other columns."""
        with recognised(path) as (sniffed, _):
            pass
        format = detect_format(sniffed, RUN)
        is_plain = is_plain_file(path)
        if format == "trec":
            return cls(path, "trec", sniffed, is_plain)
        if format == "parquet" and is_plain:
            file = cls(path, "parquet", sniffed, is_plain)
            return file if file._has_plain_columns() else None
        return None

    def _has_plain_columns(self) -> bool:
        """Tell whether each row is a pair with a score, whatever the other rows say."""
        file = ParquetFile(self._place, source=self.source)
        schema, columns = file.schema, _flat_columns(file)
        if not set(ROLES) <= columns.keys():
            return False
        ids = (schema[columns[role]] for role in ROLES[:2])
        plain = all(dtype == pl.String or dtype.is_integer() for dtype in ids)
        return plain and schema[columns["score"]].is_numeric()

    @property
    def source(self) -> str:
        """The file's name in messages."""
        return source_name(self.path)

    @property
    def _place(self) -> str:
        return os.path.abspath(os.fspath(self.path))

    @property
    def tag(self) -> str | None:
        """The tag on the first line of a TREC run."""
        return TableFile(self.path, RUN, self.format, self.sniffed, data=b"").first_tag

    def parts(self) -> Iterator[Part]:
        """Yield the parts in the order of their rows."""
        size = os.path.getsize(self._place)
        part = Part(self._place, self.format, 0, 0, self.sniffed, size)
        if self.format == "parquet":
            edges = _edges_of_rows(self._place)
        elif self.is_plain:
            edges = _edges_of_bytes(self._place)
        else:
            with open_bytes(self.path) as stream:
                for low, data in _blocks(stream):
                    yield replace(part, low=low, high=low + len(data), data=data)
            return
        low = 0
        for high in edges:
            yield replace(part, low=low, high=high)
            low = high


def _query(line: bytes) -> bytes | None:
    """Return the query on a line; None if it is blank or a comment."""
    fields = line.split(None, 1)
    return None if not fields or fields[0].startswith(b"#") else fields[0]


def _edges_of_bytes(path: str) -> Iterator[int]:
    """Yield where the parts of a TREC file end."""
    size, low = os.path.getsize(path), 0
    with open(path, "rb") as file:
        while low + PART_BYTES < size:
            file.seek(low + PART_BYTES - 1)
            file.readline()
            line_start = file.tell()
            if line_start >= size:
                break
            low = _first_change(file, line_start)
            yield low
    if low < size:
        yield size


def _first_change(file: BinaryIO, start: int) -> int:
    """Return where the next query begins, or this line if that is far away."""
    place, current = start, None
    for line in file.readlines(_LOOK):
        query = _query(line)
        if current is None:
            current = query
        elif query is not None and query != current:
            return place
        place += len(line)
    return start


def _blocks(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines with their places; the last query waits for the next block."""
    low, rest = 0, b""
    while data := stream.read(PART_BYTES):
        block = rest + data + (b"" if data.endswith(b"\n") else stream.readline())
        end = _last_change(block)
        yield low, block[:end]
        low, rest = low + end, block[end:]
    if rest:
        yield low, rest


def _last_change(block: bytes) -> int:
    """Return where the last query of a block begins, or its end if that is far away."""
    place, last = len(block), None
    while place and len(block) - place < _LOOK:
        start = block.rfind(b"\n", 0, place - 1) + 1
        query = _query(block[start:place])
        if last is None:
            last = query
        elif query is not None and query != last:
            return place
        place = start
    return len(block)


def _flat_columns(file: ParquetFile) -> dict[str, str]:
    """Return the columns of a run with a row for each document, by role; {} if it is none."""
    table = Table(file.frame(low=0, high=1000), "run")
    try:
        chosen = choose(table, RUN, NO_COLUMNS)
    except InputError:  # the reader says what
        return {}
    if chosen.shape != FLAT or not chosen.value:
        return {}
    return {"query_id": chosen.query, "doc_id": chosen.documents, "score": chosen.value}


def _edges_of_rows(path: str) -> Iterator[int]:
    """Yield where the parts of a Parquet file end."""
    rows = ParquetFile(path, source=path).rows
    yield from range(PART_ROWS, rows, PART_ROWS)
    if rows:
        yield rows


def refuse_mixed_files(files: list[PartedFile]) -> None:
    """Raise if files are not parts of one run."""
    first = files[0]
    for file in files[1:]:
        for what, ours, theirs in (
            ("format", first.format, file.format),
            ("tag", first.tag, file.tag),
        ):
            if ours != theirs:
                raise FormatError(
                    f"has the {what} {theirs!r} and {first.source} {ours!r}; the files of one run "
                    f"have one {what}: give files of several runs one by one",
                    source=file.source,
                )
