"""From a table to a file, all at once or not at all. What a format cannot carry is refused."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.files import replacing, source_name
from rankscope.tables.delimited import delimited_bytes, records_as_tsv
from rankscope.tables.detection import MARK, format_for
from rankscope.tables.escaping import encoded, unfit_id, visible_ids
from rankscope.tables.jsontext import dump_json, json_pieces
from rankscope.tables.parquet import parquet_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankscope.files import PathLike
    from rankscope.tables.pairs import PairTable
    from rankscope.tables.record_table import RecordTable


_ROWS = 250_000  # of a table that become text at a time


def write_pairs(
    table: PairTable, path: PathLike, *, format: str | None, lossy: bool = False
) -> None:
    """Write qrels or a run; what the format cannot hold is refused, or dropped if ``lossy``."""
    chosen = format_for(path, format, table.layout)
    lost = "" if lossy else table.unwritable(chosen)
    if lost:
        raise InputError(
            f"{source_name(path)}: {chosen} cannot hold {lost}; write json, or drop them (lossy, "
            "--lossy)"
        )
    with replacing(path) as sink:
        for piece in _pair_pieces(table, chosen):
            sink.write(piece)


def _pair_pieces(table: PairTable, format: str) -> Iterator[bytes]:
    if format == "trec":
        yield table.header
        yield from _by_white_space(table.trec_columns(), format, " ")
    elif format == "msmarco":
        columns = table.trec_columns().select("query_id", "doc_id", "rank")
        yield from _by_white_space(columns, format, "\t")
    elif format in ("csv", "tsv"):
        yield delimited_bytes(visible_ids(table.to_polars()), "," if format == "csv" else "\t")
    elif format == "parquet":
        yield parquet_bytes(table.to_polars())
    elif format == "json":  # {query_id: {doc_id: number}}, or a number for each subtopic
        entries = (
            f"{json.dumps(query_id, ensure_ascii=False)}: "
            f"{json.dumps(documents, ensure_ascii=False)}"
            for query_id, documents in table.to_dict().items()
        )
        yield from map(str.encode, json_pieces(entries, "{}"))
    else:
        for record in table.to_polars().iter_rows(named=True):
            yield f"{json.dumps(record, ensure_ascii=False)}\n".encode()


def _by_white_space(frame: pl.DataFrame, format: str, separator: str) -> Iterator[bytes]:
    """Refuse ids that would be read as something else where white space separates columns."""
    unfit = unfit_id(frame)
    if unfit is not None:
        raise InputError(
            f"the {unfit[0]} {shown(unfit[1])} cannot be written to a {format} file, where white "
            "space separates columns and # begins a comment; write csv, tsv, json, jsonl or "
            "parquet"
        )
    yield from _separated(frame, separator)


def _separated(frame: pl.DataFrame, separator: str) -> Iterator[bytes]:
    """Yield lines, many at a time: the text of a large run is never in memory as a whole."""
    for part in frame.iter_slices(_ROWS):
        lines = io.BytesIO()
        part.write_csv(lines, include_header=False, separator=separator, quote_style="never")
        yield lines.getvalue()


def write_trec(table: PairTable, path: PathLike) -> None:
    """Write a TREC file; ids that it cannot hold are encoded, and the file says which and how."""
    with replacing(path) as sink:
        for piece in _trec_pieces(table):
            sink.write(piece)


def trec_bytes(table: PairTable) -> bytes:
    """Return a TREC file as `write_trec` writes it."""
    return b"".join(_trec_pieces(table))


def _trec_pieces(table: PairTable) -> Iterator[bytes]:
    columns, listed = table.trec_columns(), b""
    if unfit_id(columns) is not None:
        columns, listed = encoded(columns)
        yield MARK
    yield table.header
    yield from _separated(columns, " ")
    yield listed


def write_records(table: RecordTable, path: PathLike, *, format: str | None) -> None:
    """Write queries or a corpus."""
    layout = table.layout
    chosen = format_for(path, format, layout)
    if not len(table):
        source = source_name(path)
        raise InputError(f"{source}: there are no {layout.nouns} to write; give at least one")
    with replacing(path) as sink:
        for piece in _record_pieces(table, chosen):
            sink.write(piece)


def _record_pieces(table: RecordTable, format: str) -> Iterator[bytes]:
    if format == "parquet":
        yield parquet_bytes(*table.expanded())
    elif format == "csv":
        yield delimited_bytes(table.as_text(), ",")
    elif format == "tsv":
        yield records_as_tsv(table.as_text())
    else:
        pieces: Iterable[str]
        rows = ({"_id": record_id, **fields} for record_id, fields in table.rows())
        if format == "jsonl":
            pieces = (f"{dump_json(row)}\n" for row in rows)
        else:
            pieces = json_pieces(map(dump_json, rows), "[]")
        yield from map(str.encode, pieces)
