"""From a file to rows: the one door for all kinds of tables.

`TableFile` reads pairs (qrels, runs): it takes the fast way where the bytes prove that it is safe,
and the exact way otherwise. `read_records` reads records (queries, corpora), one at a time.
"""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankscope.errors import FormatError, shown
from rankscope.files import (
    can_be_read_again,
    enough_memory,
    is_plain_file,
    open_bytes,
    read_bytes,
    source_name,
    suffix_of,
)
from rankscope.tables.case_files import cases_in_folder
from rankscope.tables.case_records import placed_cases, rows_from_cases
from rankscope.tables.collection_folder import parts_of, table_in
from rankscope.tables.delimited import read_columns, read_dicts, read_lines
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
from rankscope.tables.escaping import decoded_ids
from rankscope.tables.grouping import group_by_query
from rankscope.tables.jsontext import read_json, read_json_lines
from rankscope.tables.language_codes import folder_language
from rankscope.tables.objects import (
    rows_from_frame,
    rows_from_lines,
    rows_from_object,
    rows_from_traces,
)
from rankscope.tables.parquet import parquet_bytes, parquet_frame, records_from_parquet
from rankscope.tables.record_rows import Origin, rows_of, rows_or_cases
from rankscope.tables.rows import Rows, ranks_or_scores
from rankscope.tables.traces import retrievals
from rankscope.tables.whitespace import read_clean, read_exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.files import PathLike
    from rankscope.tables.case_records import Case
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
    cases: Sequence[Case] | None = None

    @classmethod
    def open(cls, path: PathLike, layout: PairLayout, *, format: str | None = None) -> TableFile:
        """Open a file and find its format, unless it is named."""
        chosen = named_format(format, layout)
        layout = layout.keyed()
        if layout.kind == "qrels":
            path = table_in(path, layout.kind)
        shards = parts_of(path, layout.kind) if layout.kind == "qrels" else [path]
        if len(shards) > 1:
            return cls._of_shards(path, shards, layout, format=format)
        path = shards[0]
        with enough_memory(source_name(path)):
            is_plain = is_plain_file(path)
            if not is_plain and layout.kind == "qrels" and os.path.isdir(path):
                cases = cases_in_folder(path, layout)
                if cases is not None:
                    return cls(path, layout, "json", False, Sniffed("json list", None), b"", cases)
            data = None if is_plain else read_bytes(path)
        with open_bytes(path) if data is None else io.BytesIO(data) as stream:
            sniffed = sniff(read_head(stream), suffix_of(path))
        detected = chosen or detect_format(sniffed, layout) or layout.formats[0]
        return cls(path, layout, detected, chosen is not None, sniffed, data)

    @classmethod
    def _of_shards(
        cls, path: PathLike, shards: Sequence[PathLike], layout: PairLayout, *, format: str | None
    ) -> TableFile:
        """Put a table together that is in several files of one format."""
        files = [cls.open(shard, layout, format=format) for shard in shards]
        formats = {file.format for file in files}
        if len(formats) > 1 or not formats <= {"jsonl", "trec", "parquet"}:
            raise FormatError(
                f"{len(files)} files that are {', '.join(sorted(formats))}; several make a table "
                "only if all are jsonl, trec or parquet; name one of them",
                source=source_name(path),
            )
        if formats == {"parquet"}:
            frames = [parquet_frame(file._place, source=file.source) for file in files]
            data = parquet_bytes(pl.concat(frames, how="diagonal_relaxed"))
        else:
            data = b"\n".join(file.content.removeprefix(BOM) for file in files)
        return replace(files[0], path=path, data=data)

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
            return self._rows(roles, as_text=as_text)

    def _rows(self, roles: tuple[str, ...], *, as_text: bool) -> Rows:
        if self.format in ("trec", "msmarco"):
            return self._by_white_space(roles, as_text=as_text)
        layout, source = self.layout, self.source
        if self.cases is not None:
            return rows_from_cases(self.cases, layout, source=source)
        language = folder_language(self.path)
        if self.format == "parquet":
            frame = parquet_frame(self._place, source=source)
            return rows_from_frame(frame, layout, source=source, language=language)
        if self.format == "json":
            data = read_json(self.content, source=source)
            return rows_from_object(data, layout, source=source, language=language)
        if self.format == "traces":
            values = _json_values(io.BytesIO(self.content), source, suffix_of(self.path))
            return rows_from_traces(values, layout, source=source)
        if self.format == "jsonl":
            lines = self.content.removeprefix(BOM).split(b"\n")
            numbered = read_json_lines(lines, source=source)
            return rows_from_lines(numbered, layout, source=source, language=language)
        separator = "\t" if self.format == "tsv" else self.sniffed.separator
        return read_columns(
            self.content, layout, source=source, separator=separator, language=language
        )

    def records(self) -> Any:
        """Return what the file holds as plain data: records by name, or what its JSON says."""
        source = self.source
        with enough_memory(source):
            if self.format == "json":
                return read_json(self.content, source=source)
            if self.format == "jsonl":
                lines = self.content.removeprefix(BOM).split(b"\n")
                return [record for _, record in read_json_lines(lines, source=source)]
            if self.format == "parquet":
                return parquet_frame(self._place, source=source).to_dicts()
            if self.format in ("csv", "tsv"):
                separator = "\t" if self.format == "tsv" else self.sniffed.separator
                return read_dicts(self.content, source=source, separator=separator)
        raise FormatError(
            f"a {self.format} file holds ids, and the golden set spans or texts; give records with "
            "the spans or texts of what was retrieved (json, jsonl, csv, parquet)",
            source=source,
        )

    @property
    def _place(self) -> str | bytes:
        """What Polars opens: the file by its name, or its bytes."""
        return os.path.abspath(os.fspath(self.path)) if self.data is None else self.data

    @contextmanager
    def _stream(self) -> Iterator[BinaryIO]:
        if self.data is not None:
            yield io.BytesIO(self.data)
        else:
            with open_bytes(self.path) as stream:
                yield stream

    def _by_white_space(self, roles: tuple[str, ...], *, as_text: bool) -> Rows:
        layout = self.layout
        most = max(layout.headerless)
        if layout.kind == "run":
            width = 3 if self.format == "msmarco" else most
        else:
            width = usual_width(self.sniffed, layout)
        columns = layout.headerless.get(width, layout.headerless[most])
        types = {role: pl.String if as_text else _TYPES[role] for role in roles if role in columns}
        rows = None if as_text else self._if_clean(columns, types)
        if rows is None:
            with self._stream() as stream:
                rows = read_exact(stream, columns, types, source=self.source, layout=layout)
        if self.sniffed.metadata:
            rows = replace(rows, metadata=self.sniffed.metadata)
        if self.sniffed.is_encoded:
            rows = replace(rows, frame=decoded_ids(rows.frame), groups=None)
        return ranks_or_scores(rows, surely_ranks=self.named) if len(columns) == 3 else rows

    def _if_clean(self, columns: tuple[str | None, ...], types: dict[str, Any]) -> Rows | None:
        frame = read_clean(self._place, columns, types, tag=self.first_tag or "")
        if frame is None:
            return None
        groups = group_by_query(frame["query_id"])
        if groups.query_ids.str.starts_with("#").any():  # comments
            return None
        return Rows(
            frame,
            self.source,
            self.layout,
            line_of=lambda row: row + 1,
            ids_complete=True,
            groups=groups,
        )


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
        cases = cases_in_folder(parts[0], layout.keyed())
        if cases:
            yield from placed_cases(cases)
            return
    if len(parts) > 1:
        for part in parts:
            yield from read_records(part, layout, format=format, ids_only=ids_only)
        return
    path = parts[0]
    chosen = named_format(format, layout)
    layout = layout.keyed()
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
            records = _records(detected, path, stream, layout, ids_only=ids_only)
            if layout.kind == "queries" and detected != "json":
                cells = detected != "jsonl"
                language = folder_language(path)
                records = rows_or_cases(records, layout, language=language, cells=cells)
            for placed in records:
                yield placed
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
    if format == "traces":
        values = _json_values(stream, source, suffix_of(path))
        origin = Origin(source, "line")
        return (
            (origin, retrieval.line or 1, {"_id": retrieval.query_id, "text": retrieval.text})
            for retrieval in retrievals(values, source=source, query_key=layout.key)
        )
    origin = Origin(source, "row" if format == "parquet" else "line")
    if format == "parquet":
        place = os.path.abspath(os.fspath(path)) if is_plain_file(path) else stream.read()
        rows = records_from_parquet(place, origin, layout, ids_only=ids_only)
    elif format == "jsonl":
        rows = read_json_lines(_lines(stream), source=source, ids_only=ids_only)
    elif format in ("tsv", "csv"):
        rows = read_lines(_lines(stream), origin, layout, tabs=format == "tsv")
    else:
        rows = layout.markup[format].read(stream, origin)
    return ((origin, position, row) for position, row in rows)


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
