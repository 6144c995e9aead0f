"""From a file to the rows of qrels or a run.

TREC lines go to `whitespace`; all other formats become data, which passes through the list of
shapes. Records (queries, corpora) are read by `record_rows`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankscope.errors import FormatError
from rankscope.files import (
    can_be_read_again,
    enough_memory,
    is_plain_file,
    open_bytes,
    read_bytes,
    source_name,
    suffix_of,
)
from rankscope.tables.cases import cases_in_folder
from rankscope.tables.choosing import Table
from rankscope.tables.collection_folder import parts_of, table_in
from rankscope.tables.columns import NO_COLUMNS, Columns, Questions, Reading
from rankscope.tables.delimited import read_delimited
from rankscope.tables.detection import (
    BOM,
    Sniffed,
    detect_format,
    fields_of,
    named_format,
    read_head,
    sniff,
    usual_width,
)
from rankscope.tables.documents import documents_of
from rankscope.tables.filling import Filling
from rankscope.tables.frames import spreadsheet
from rankscope.tables.jsontext import json_values, read_json, read_json_lines
from rankscope.tables.language_codes import folder_language
from rankscope.tables.parquet import parquet_bytes, parquet_frame
from rankscope.tables.rows import Rows, ranks_or_scores
from rankscope.tables.shapes import pair_rows
from rankscope.tables.traces import retrievals
from rankscope.tables.whitespace import read_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A qrels or run file that was opened and recognised, and can be read more than once.

    ``named`` tells whether the user named the format. ``data`` holds the bytes if the file cannot
    simply be opened again: standard input, pipes and compressed files. ``cases`` are those of a
    folder of case files, which is read when it is opened.
    """

    path: PathLike
    layout: PairLayout
    format: str
    named: bool
    sniffed: Sniffed
    data: bytes | None
    columns: Columns = NO_COLUMNS
    cases: Sequence[Any] | None = None

    @classmethod
    def open(
        cls,
        path: PathLike,
        layout: PairLayout,
        *,
        format: str | None = None,
        columns: Columns = NO_COLUMNS,
    ) -> TableFile:
        """Open a file and find its format, unless it is named."""
        chosen = named_format(format, layout)
        shards: Sequence[PathLike] = [path]
        if layout.kind == "qrels":
            path = table_in(path, layout.kind)
            shards = parts_of(path, layout.kind)
        if len(shards) > 1:
            files = [cls.open(shard, layout, format=format, columns=columns) for shard in shards]
            return replace(files[0], path=path, data=_joined(files, source_name(path)))
        path = shards[0]
        with enough_memory(source_name(path)):
            is_plain = is_plain_file(path)
            if not is_plain and layout.kind == "qrels" and os.path.isdir(path):
                cases = cases_in_folder(path)
                if cases is not None:
                    sniffed = Sniffed("json list", None)
                    return cls(path, layout, "json", False, sniffed, b"", columns, cases)
            data = None if is_plain else read_bytes(path)
        with open_bytes(path) if data is None else io.BytesIO(data) as stream:
            sniffed = sniff(read_head(stream), suffix_of(path))
        detected = chosen or detect_format(sniffed, layout, columns) or layout.formats[0]
        return cls(path, layout, detected, chosen is not None, sniffed, data, columns)

    @property
    def source(self) -> str:
        """The file's name in messages."""
        return source_name(self.path)

    @property
    def content(self) -> bytes:
        """The whole content, decompressed."""
        return read_bytes(self.path) if self.data is None else self.data

    def holding(self, data: bytes) -> TableFile:
        """Return the same file as if it held this content."""
        head = read_head(io.BytesIO(data))
        return replace(self, data=data, sniffed=sniff(head, suffix_of(self.path)))

    @property
    def may_be_native(self) -> bool:
        """Whether the native library may read it: a TREC file that can be opened again."""
        return self.format == "trec" and self.data is None and can_be_read_again(self.path)

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
            if self.format == "traces":
                return self._of_traces()
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
        """Return what a file holds that is neither of TREC nor traces."""
        source = self.source
        if self.cases is not None:
            return _Held(self.cases)
        if self.format == "parquet":
            return _Held(parquet_frame(self._place, source=source))
        if self.format == "xlsx":
            return _Held(spreadsheet(self.content, source=source))
        if self.format == "json":
            return _Held(read_json(self.content, source=source))
        if self.format == "jsonl":
            lines = self.content.removeprefix(BOM).split(b"\n")
            numbered = list(read_json_lines(lines, source=source))
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

    @property
    def _place(self) -> str | bytes:
        """What engines open: the file by its name, or its bytes."""
        return os.path.abspath(os.fspath(self.path)) if self.data is None else self.data

    def _of_traces(self) -> Rows:
        """Take the retrievals of traces; see `rankscope.tables.traces`."""
        filling, texts = Filling(self.layout, self.source), {}
        values = json_values(
            io.BytesIO(self.content), source=self.source, suffix=suffix_of(self.path)
        )
        for retrieval in retrievals(values, source=self.source, query=self.columns.query):
            filling.row, filling.has_lines = retrieval.line or -1, True
            where = filling.where(retrieval.query_id)
            documents = documents_of(retrieval.documents, "run", self.columns.doc, where)
            filling.add(retrieval.query_id, documents)
            if retrieval.text is not None:
                texts[retrieval.query_id] = retrieval.text
        return replace(
            filling.rows(), questions=Questions("input", texts), reading=Reading("traces")
        )

    def _by_white_space(self, roles: tuple[str, ...], *, as_text: bool) -> Rows:
        layout = self.layout
        most = max(layout.headerless)
        if layout.kind == "run":
            width = 3 if self.format == "msmarco" else most
        else:
            width = usual_width(self.sniffed, layout)
        columns = layout.headerless.get(width, layout.headerless[most])
        types = {role: pl.String if as_text else _TYPES[role] for role in roles if role in columns}
        with open_bytes(self.path) if self.data is None else io.BytesIO(self.data) as stream:
            rows = read_columns(stream, columns, types, source=self.source, layout=layout)
        rows = replace(rows, reading=Reading("TREC lines"))
        return ranks_or_scores(rows, surely_ranks=self.named) if len(columns) == 3 else rows


def _joined(files: Sequence[TableFile], source: str) -> bytes:
    """Put a table together that is in several files of one format."""
    formats = {file.format for file in files}
    if formats == {"parquet"}:
        frames = [parquet_frame(file._place, source=file.source) for file in files]
        return parquet_bytes(pl.concat(frames, how="diagonal_relaxed"))
    if formats in ({"jsonl"}, {"trec"}):
        return b"\n".join(file.content.removeprefix(BOM) for file in files)
    raise FormatError(
        f"{len(files)} files that are {', '.join(sorted(formats))}; several make a table only if "
        "all are jsonl, trec or parquet; name one of them",
        source=source,
    )
