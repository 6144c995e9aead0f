"""From a file to the rows of qrels or a run.

TREC lines go to `whitespace`; all other formats become data, which passes through the list of
shapes. Records (queries, corpora) are read by `record_rows`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import polars as pl

from rankscope.errors import FormatError
from rankscope.files import can_be_read_again, enough_memory, is_plain_file, source_name
from rankscope.tables.cases import cases_in_folder, folder_language
from rankscope.tables.collection_folder import parts_of, table_in
from rankscope.tables.columns import NO_COLUMNS, Columns, Reading
from rankscope.tables.delimited import read_delimited
from rankscope.tables.detection import (
    Sniffed,
    detect_format,
    fields_of,
    named_format,
    recognised,
    usual_width,
)
from rankscope.tables.frames import spreadsheet
from rankscope.tables.jsontext import read_json, read_json_lines
from rankscope.tables.native_files import TrecFile
from rankscope.tables.parquet import parquet_bytes, parquet_frame
from rankscope.tables.rows import Rows, ranks_or_scores
from rankscope.tables.shapes import pair_rows
from rankscope.tables.table_columns import Table
from rankscope.tables.whitespace import read_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.files import PathLike
    from rankscope.tables.columns import PairLayout

_TYPES: dict[str, Any] = {
    "query_id": pl.String,  # parsed in less time than categories, which are numbered
    "doc_id": pl.String,
    "tag": pl.Categorical,
    "score": pl.Float64,
    "grade": pl.Float64,
    "rank": pl.Float64,
    "subtopic": pl.Categorical,
}


class _Held(NamedTuple):
    """What a file holds, from row to line if it has lines, and the roles if it has no header."""

    data: Any
    line_of: Callable[[int], int] | None = None
    roles: dict[str, str] | None = None


@contextmanager
def open_table(
    path: PathLike,
    layout: PairLayout,
    *,
    format: str | None = None,
    columns: Columns = NO_COLUMNS,
) -> Iterator[TableFile]:
    """Open a qrels or run file, once, and find its format, unless it is named.

    A folder may hold the shards of a table, or files of cases.
    """
    chosen = named_format(format, layout)
    shards: Sequence[PathLike] = [path]
    if layout.kind == "qrels":
        path = table_in(path, layout.kind)
        shards = parts_of(path, layout.kind)
    with ExitStack() as opened:
        if len(shards) > 1:
            shard_of = partial(open_table, layout=layout, format=format, columns=columns)
            files = [opened.enter_context(shard_of(shard)) for shard in shards]
            first = files[0]
            joined = _joined(files, source_name(path))
            yield replace(first, path=path, data=joined)
            return
        path = shards[0]
        opened.enter_context(enough_memory(source_name(path)))
        cases = cases_in_folder(path) if layout.kind == "qrels" and os.path.isdir(path) else None
        if cases is not None:
            sniffed = Sniffed("json list", None)
            yield TableFile(path, layout, "json", False, sniffed, b"", columns, cases=cases)
            return
        sniffed, stream = opened.enter_context(recognised(path))
        detected = chosen or detect_format(sniffed, layout, columns) or layout.formats[0]
        data = None if can_be_read_again(path) else stream.read()
        named = chosen is not None
        yield TableFile(path, layout, detected, named, sniffed, data, columns, stream=stream)


@dataclass(slots=True, eq=False)
class TableFile:
    """A qrels or run file that was opened and recognised; it is read once, and again for errors.

    ``named`` tells whether the user named the format. ``data`` is the content where that cannot be
    read again: of standard input and pipes. ``cases`` are those of a folder of case files.
    """

    path: PathLike
    layout: PairLayout
    format: str
    named: bool
    sniffed: Sniffed
    data: bytes | None
    columns: Columns = NO_COLUMNS
    stream: BinaryIO | None = None
    cases: Sequence[Any] | None = None

    @property
    def source(self) -> str:
        """The file's name in messages."""
        return source_name(self.path)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Give the decompressed content: what was opened, and the next time the file anew."""
        stream, self.stream = self.stream, None
        if self.data is not None:
            yield io.BytesIO(self.data)
        elif stream is not None:
            yield stream
        else:
            with recognised(self.path) as (_, again):
                yield again

    def for_the_library(self) -> TrecFile | None:
        """Return the file for the native library, which takes what was opened; None if it may not.

        What cannot be read again is not given to it, as it may refuse.
        """
        if self.data is not None:
            return None
        file = TrecFile.of(self.path, self.layout, self.sniffed, self.stream)
        self.stream = self.stream if file is None else None
        return file

    @property
    def content(self) -> bytes:
        """The whole content, decompressed."""
        with self.opened() as stream:
            return stream.read()

    @property
    def first_tag(self) -> str | None:
        """The tag on the first line of a TREC run."""
        if self.format != "trec" or self.layout.kind != "run":
            return None
        fields = fields_of(self.sniffed.line)
        return fields[-1] if len(fields) == 6 else None

    def rows(self, roles: tuple[str, ...], *, as_text: bool = False) -> Rows:
        """Read the columns ``roles``.

        With ``as_text`` every value is read as the file has it, to be shown in a message.
        """
        with enough_memory(self.source):
            if self.format in ("trec", "msmarco"):
                return self._by_white_space(roles, as_text=as_text)
            data, line_of, header = self._held()
            if header is not None:
                frame = data.select(pl.col(name).alias(role) for role, name in header.items())
                rows = ranks_or_scores(Rows(frame, self.source, self.layout, line_of=line_of))
                return replace(rows, reading=Reading("a table without a header"))
            language = folder_language(self.path)
            return pair_rows(
                data, self.layout, self.columns, source=self.source, line_of=line_of,
                language=language,
            )  # fmt: skip

    def _held(self) -> _Held:
        """Return what a file holds that is not of TREC."""
        source = self.source
        if self.cases is not None:
            return _Held(self.cases)
        if self.format == "parquet":
            return _Held(self.parquet())
        if self.format == "xlsx":
            return _Held(spreadsheet(self.content, source=source))
        if self.format in ("json", "jsonl", "traces"):
            as_lines = self.sniffed.content == "json lines"
            if self.format == "json" or (self.format == "traces" and not as_lines):
                return _Held(read_json(self.content, source=source))
            numbered = list(read_json_lines(self.content.split(b"\n"), source=source))
            numbers = [number for number, _ in numbered]
            return _Held([record for _, record in numbered], numbers.__getitem__)
        separator = "\t" if self.format == "tsv" else self.sniffed.separator
        return _Held(
            *read_delimited(
                self.content, self.layout, self.columns, source=source, separator=separator
            )
        )

    def records(self) -> Any:
        """Return what the file holds as plain data, or as a `Table`, for spans and texts."""
        if self.format in ("trec", "msmarco", "traces"):
            raise FormatError(
                f"a {self.format} file holds ids, and the golden set spans or texts; give records "
                "with the spans or texts of what was retrieved (json, jsonl, csv, parquet)",
                source=self.source,
            )
        with enough_memory(self.source):
            data = self._held().data
        return Table(data, self.source) if isinstance(data, pl.DataFrame) else data

    def parquet(self) -> pl.DataFrame:
        """Read a Parquet file, by its name where that can be opened."""
        by_name = self.data is None and is_plain_file(self.path)
        data = os.path.abspath(os.fspath(self.path)) if by_name else self.content
        return parquet_frame(data, source=self.source)

    def _by_white_space(self, roles: tuple[str, ...], *, as_text: bool) -> Rows:
        layout = self.layout
        most = max(layout.headerless)
        if layout.kind == "run":
            width = 3 if self.format == "msmarco" else most
        else:
            width = usual_width(self.sniffed, layout)
        columns = layout.headerless.get(width, layout.headerless[most])
        types = {role: pl.String if as_text else _TYPES[role] for role in roles if role in columns}
        with self.opened() as stream:
            rows = read_columns(stream, columns, types, source=self.source, layout=layout)
        rows = replace(rows, reading=Reading("TREC lines"))
        return ranks_or_scores(rows, surely_ranks=self.named) if len(columns) == 3 else rows


def _joined(files: Sequence[TableFile], source: str) -> bytes:
    """Put a table together that is in several files of one format."""
    formats = {file.format for file in files}
    if formats == {"parquet"}:
        return parquet_bytes(pl.concat([file.parquet() for file in files], how="diagonal_relaxed"))
    if formats in ({"jsonl"}, {"trec"}):
        return b"\n".join(file.content for file in files)
    raise FormatError(
        f"{len(files)} files that are {', '.join(sorted(formats))}; several make a table only if "
        "all are jsonl, trec or parquet; name one of them",
        source=source,
    )
