"""From a table to a file, all at once or not at all. What a format cannot carry is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.files import replacing, source_name
from rankscope.tables.delimited import delimited_bytes, records_as_tsv
from rankscope.tables.detection import format_for
from rankscope.tables.jsontext import dump_json, json_pieces
from rankscope.tables.parquet import parquet_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankscope.files import PathLike
    from rankscope.tables.pairs import PairTable
    from rankscope.tables.record_table import RecordTable


def write_pairs(table: PairTable, path: PathLike, *, format: str | None) -> None:
    """Write qrels or a run."""
    chosen = format_for(path, format, table.layout)
    with replacing(path) as sink:
        for piece in _pair_pieces(table, chosen):
            sink.write(piece)


def _pair_pieces(table: PairTable, format: str) -> Iterator[bytes]:
    if format == "trec":
        yield _by_white_space(table.trec_columns(), format, " ")
    elif format == "msmarco":
        columns = table.trec_columns().select("query_id", "doc_id", "rank")
        yield _by_white_space(columns, format, "\t")
    elif format in ("csv", "tsv"):
        yield delimited_bytes(table.to_polars(), "," if format == "csv" else "\t")
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


def _by_white_space(frame: pl.DataFrame, format: str, separator: str) -> bytes:
    """Refuse ids that would be read as something else where white space separates columns."""
    for role in ("query_id", "doc_id", "subtopic", "tag"):
        if role not in frame.columns:
            continue
        ids = frame[role].unique()
        bad = ids.filter(ids.str.contains(r"[ \t\n\v\f\r]") | (ids == ""))
        if role == "query_id":
            bad = pl.concat([bad, ids.filter(ids.str.contains("^[#\ufeff]"))])
        if len(bad):
            raise InputError(
                f"the {role} {shown(bad[0])} cannot be written to a {format} file, where white "
                "space separates columns and # begins a comment; write csv, tsv, json, jsonl or "
                "parquet"
            )
    return frame.write_csv(include_header=False, separator=separator, quote_style="never").encode()


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
        elif format == "json":
            pieces = json_pieces(map(dump_json, rows), "[]")
        else:
            pieces = table.layout.markup[format].write(rows)
        yield from map(str.encode, pieces)
