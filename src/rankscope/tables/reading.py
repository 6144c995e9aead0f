"""From a file to the rows of qrels or a run.

TREC lines go to `whitespace`; all other formats become data, which passes through the list of
shapes. Records (queries, corpora) are read by `records`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from rankscope.errors import FormatError
from rankscope.files import can_be_read_again, enough_memory, is_plain_file, source_name
from rankscope.tables.cases import cases_in_folder, folder_language
from rankscope.tables.collection_folder import table_in
from rankscope.tables.columns import NO_COLUMNS, Columns, Reading
from rankscope.tables.delimited import read_delimited
from rankscope.tables.detection import (
    OpenedFile,
    Sniffed,
    detect_format,
    named_format,
    recognised,
    usual_width,
)
from rankscope.tables.frames import ParquetFile, spreadsheet
from rankscope.tables.jsontext import read_json, read_json_lines
from rankscope.tables.rows import Rows, ranks_or_scores
from rankscope.tables.shapes import pair_rows
from rankscope.tables.whitespace import read_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.files import PathLike
    from rankscope.tables.columns import PairLayout


@contextmanager
def open_table(
    path: PathLike,
    layout: PairLayout,
    *,
    format: str | None = None,
    columns: Columns = NO_COLUMNS,
) -> Iterator[TableFile]:
    """Open a qrels or run file, once, and find its format, unless it is named.

    A folder may be a collection, or hold files of cases.
    """
    chosen = named_format(format, layout)
    if layout.kind == "qrels":
        path = table_in(path, layout.kind)
        cases = cases_in_folder(path) if os.path.isdir(path) else None
        if cases is not None:
            listed, content = Sniffed("json list", None), json.dumps(cases).encode()
            yield TableFile(path, layout, "json", listed, columns, data=content)
            return
    with enough_memory(source_name(path)), recognised(path) as (sniffed, stream):
        detected = chosen or detect_format(sniffed, layout, columns) or layout.formats[0]
        data = None if can_be_read_again(path) else stream.read()
        yield TableFile(path, layout, detected, sniffed, columns, stream=stream, data=data)


class TableFile(OpenedFile):
    """A qrels or run file that was opened and recognised; it is read once, and again for errors."""

    def __init__(
        self,
        path: PathLike,
        layout: PairLayout,
        format: str,
        sniffed: Sniffed,
        columns: Columns = NO_COLUMNS,
        *,
        stream: BinaryIO | None = None,
        data: bytes | None = None,
    ) -> None:
        super().__init__(path, sniffed, stream, data)
        self.layout, self.format, self.columns = layout, format, columns
        self.source = source_name(path)

    @property
    def first_tag(self) -> str | None:
        """The tag on the first line of a TREC run."""
        return super().first_tag if self.format == "trec" else None

    def rows(self, roles: tuple[str, ...], *, pieces: bool = False) -> Rows:
        """Read the columns ``roles``; with ``pieces`` spans or texts, and not ids."""
        source, layout = self.source, self.layout
        with enough_memory(source):
            rows: Rows | None = None
            line_of: Callable[[int], int] | None = None
            if self.format == "trec":
                rows = self._trec_rows(roles)
            elif self.format in ("csv", "tsv"):
                separator = "\t" if self.format == "tsv" else self.sniffed.separator
                data, line_of, is_named = read_delimited(
                    self.content, layout, self.columns, source=source, separator=separator
                )
                if not is_named:
                    reading = Reading("a table without a header")
                    rows = Rows(data, source, layout, line_of=line_of, reading=reading)
                    rows = ranks_or_scores(rows)
            else:
                data, line_of = self._data()
            if rows is None:
                return pair_rows(
                    data, layout, self.columns, source=source, line_of=line_of,
                    language=folder_language(self.path), pieces=pieces,
                )  # fmt: skip
            if pieces:
                raise FormatError(
                    "holds ids, and the golden set spans or texts; give records with the spans or "
                    "texts of what was retrieved (json, jsonl, csv, parquet)",
                    source=source,
                )
            return rows

    def _trec_rows(self, roles: tuple[str, ...]) -> Rows:
        width, most = usual_width(self.sniffed, self.layout), max(self.layout.headerless)
        columns = self.layout.headerless.get(width, self.layout.headerless[most])
        there = [role for role in roles if role in columns]
        with self.opened() as stream:
            rows = read_columns(stream, columns, there, source=self.source, layout=self.layout)
        rows = replace(rows, reading=Reading("TREC lines"))
        return ranks_or_scores(rows) if len(columns) == 3 else rows

    def _data(self) -> tuple[Any, Callable[[int], int] | None]:
        """Return what a file holds, and from row to line if it has lines."""
        source, format = self.source, self.format
        if format == "parquet":
            is_plain = self.data is None and is_plain_file(self.path)
            place = os.path.abspath(os.fspath(self.path)) if is_plain else self.content
            return ParquetFile(place, source=source).frame(), None
        if format == "xlsx":
            return spreadsheet(self.content, source=source), None
        if format == "json":
            return read_json(self.content, source=source), None
        numbered = list(read_json_lines(self.content.split(b"\n"), source=source))
        numbers = [number for number, _ in numbered]
        return [record for _, record in numbered], numbers.__getitem__
