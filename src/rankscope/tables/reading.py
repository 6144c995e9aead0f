"""From a file to rows: the one door for all kinds of tables.

`TableFile` reads pairs (qrels, runs): TREC lines go to `whitespace`; all other formats become data,
which passes through the list of shapes. `read_records` reads records (queries, corpora), one at a
time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import polars as pl

from rankscope.errors import FormatError, MissingExtraError, shown
from rankscope.files import (
    can_be_read_again,
    enough_memory,
    is_plain_file,
    open_bytes,
    read_bytes,
    source_name,
    suffix_of,
)
from rankscope.tables.cases import are_case_names, cases_in_folder
from rankscope.tables.choosing import Table
from rankscope.tables.collection_folder import parts_of, table_in
from rankscope.tables.columns import NO_COLUMNS, Columns, Questions, Reading, find_name
from rankscope.tables.delimited import read_delimited, read_lines
from rankscope.tables.detection import (
    BOM,
    Sniffed,
    detect_format,
    fields_of,
    json_content,
    named_format,
    read_head,
    sniff,
    usual_width,
)
from rankscope.tables.documents import documents_of
from rankscope.tables.filling import Filling
from rankscope.tables.frames import engine_errors
from rankscope.tables.jsontext import parse_json, read_json, read_json_lines
from rankscope.tables.language_codes import folder_language, language_code
from rankscope.tables.parquet import ParquetFile, parquet_bytes, parquet_frame
from rankscope.tables.record_rows import Origin, frame_rows, rows_of
from rankscope.tables.rows import Rows, ranks_or_scores
from rankscope.tables.shapes import pair_rows
from rankscope.tables.traces import retrievals
from rankscope.tables.whitespace import read_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.files import PathLike
    from rankscope.tables.columns import PairLayout, RecordLayout
    from rankscope.tables.record_rows import Placed

_TYPES: dict[str, Any] = {
    "query_id": pl.String,  # parsed in less time than categories, which are numbered
    "doc_id": pl.String,
    "tag": pl.Categorical,
    "score": pl.Float64,
    "grade": pl.Float64,
    "rank": pl.Float64,
    "subtopic": pl.Categorical,
}
_TEXTS = 5_000  # rows of Parquet that are decoded at a time, where a row may be a document


class _Held(NamedTuple):
    """What a file holds, from row to line if it has lines, and the roles if it has no header."""

    data: Any
    line_of: Callable[[int], int] | None = None
    roles: dict[str, str] | None = None


# --- pairs


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
            return _Held(_spreadsheet(self.content, source))
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
        values = _json_values(io.BytesIO(self.content), self.source, suffix_of(self.path))
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


def _spreadsheet(content: bytes, source: str) -> pl.DataFrame:
    """Read the first sheet of an xlsx file."""
    try:
        import_module("fastexcel")
    except ImportError:
        raise MissingExtraError("fastexcel", needed_for="xlsx", extra="frames") from None
    with engine_errors(lambda reason: FormatError(f"not a sheet ({reason})", source=source)):
        return pl.read_excel(io.BytesIO(content), engine="calamine")


# --- records


class _Rewound(io.RawIOBase):
    """A stream as if its head had not been read yet; it may be a pipe."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._head.readinto(buffer)
        return size or self._rest.readinto(buffer)  # type: ignore[attr-defined]


def read_records(
    path: PathLike, layout: RecordLayout, *, format: str | None = None, ids_only: bool = False
) -> Iterator[Placed]:
    """Yield the rows of a file one by one; ``ids_only`` may leave out fields other than the id.

    Only ``json``, topics, and parquet that is compressed or piped are held in memory whole.
    """
    parts = parts_of(table_in(path, layout.kind), layout.kind)
    if layout.kind == "queries" and os.path.isdir(parts[0]):
        cases = cases_in_folder(parts[0])
        if cases:
            yield from rows_of(cases, layout, source_name(parts[0]))
            return
    if len(parts) > 1:
        for part in parts:
            yield from read_records(part, layout, format=format, ids_only=ids_only)
        return
    path = parts[0]
    chosen = named_format(format, layout)
    source = source_name(path)
    placed = None
    with enough_memory(source), open_bytes(path) as opened:
        head = read_head(opened)
        stream = io.BufferedReader(_Rewound(head, opened), 1 << 20)
        sniffed = sniff(head, suffix_of(path))
        if sniffed.content != "empty":
            detected = chosen or detect_format(sniffed, layout)
            if detected is None:
                raise FormatError(
                    f"does not look like {layout.nouns} ({shown(sniffed.line, 40)}); name its "
                    f"format, one of {', '.join(layout.formats)}",
                    source=source,
                )
            language = folder_language(path) if layout.kind == "queries" else None
            for placed in _records(detected, path, stream, layout, ids_only=ids_only):
                origin, position, row = placed
                if language is not None and are_case_names(list(row)):
                    code = language_code(str(row.get("language") or ""))
                    row = {**row, "language": code or language}
                yield origin, position, row
    if placed is None:
        raise FormatError(f"is empty; expected {layout.nouns}", source=source)


def _records(
    format: str, path: PathLike, stream: BinaryIO, layout: RecordLayout, *, ids_only: bool
) -> Iterator[Placed]:
    """Return the rows of an open file of this format."""
    source = source_name(path)
    if format == "json":
        data = read_json(stream.read(), source=source)
        return rows_of(data, layout, source, language=folder_language(path))
    if format == "xlsx":
        return rows_of(_spreadsheet(stream.read(), source), layout, source)
    if format == "traces":
        values = _json_values(stream, source, suffix_of(path))
        origin = Origin(source, "line")
        return (
            (origin, retrieval.line or 1, {"_id": retrieval.query_id, "text": retrieval.text})
            for retrieval in retrievals(values, source=source, query=layout.key)
        )
    if format == "parquet":
        place = os.path.abspath(os.fspath(path)) if is_plain_file(path) else stream.read()
        return _parquet_records(place, layout, source, ids_only=ids_only)
    origin = Origin(source, "line")
    if format == "jsonl":
        rows = read_json_lines(_lines(stream), source=source, ids_only=ids_only)
    elif format in ("tsv", "csv"):
        rows = read_lines(_lines(stream), origin, layout, tabs=format == "tsv")
    else:
        rows = layout.markup[format].read(stream, origin)
    return ((origin, position, row) for position, row in rows)


def _parquet_records(
    place: str | bytes, layout: RecordLayout, source: str, *, ids_only: bool
) -> Iterator[Placed]:
    """Yield the rows of a file, decoding one batch at a time."""
    file = ParquetFile(place, source=source)
    columns = file.schema.names()
    id_name = find_name(columns, layout.id_names)
    if ids_only and id_name is not None:
        columns = [id_name]
    before = 0
    for batch in file.batches(columns, size=_TEXTS):
        for origin, position, row in frame_rows(batch, Origin(source, "row"), layout, before):
            for name in file.json_columns.intersection(row):
                row[name] = parse_json(str(row[name]), source=source)
            yield origin, position, row
        before += batch.height


def _json_values(stream: BinaryIO, source: str, suffix: str) -> Iterator[tuple[int | None, object]]:
    """Yield the JSON value of each line, or the one of the whole file."""
    content = stream.read().removeprefix(BOM)
    by_suffix = "jsonl" if suffix in (".jsonl", ".ndjson") else None
    if json_content(content.lstrip(), by_suffix) == "json lines":
        yield from read_json_lines(content.split(b"\n"), source=source)
    else:
        yield None, read_json(content, source=source)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    yield stream.readline().removeprefix(BOM)
    yield from stream
