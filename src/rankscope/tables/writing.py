"""From a table to a file, all at once or not at all. What a format cannot carry is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.files import replacing, source_name
from rankscope.tables.delimited import delimited_bytes
from rankscope.tables.detection import format_for
from rankscope.tables.jsontext import dump_json, json_pieces
from rankscope.tables.parquet import parquet_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankscope.files import PathLike
    from rankscope.tables.pairs import PairTable
    from rankscope.tables.record_table import RecordTable


_ROWS = 250_000  # of a table that become text at a time
_INVISIBLE = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that terminals obey and nobody sees: control characters, and those that turn text."""


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


def write_trec_or_jsonl(table: PairTable, path: PathLike) -> None:
    """Write a TREC file, or JSON lines where an id holds what TREC lines cannot.

    Both are known by their content, whatever the file is called.
    """
    with replacing(path) as sink:
        for piece in _pair_pieces(table, _trec_or_jsonl(table)):
            sink.write(piece)


def trec_or_jsonl_bytes(table: PairTable) -> bytes:
    """Return a file as `write_trec_or_jsonl` writes it."""
    return b"".join(_pair_pieces(table, _trec_or_jsonl(table)))


def _trec_or_jsonl(table: PairTable) -> str:
    return "trec" if _unfit_id(table.trec_columns(), "trec") is None else "jsonl"


def _pair_pieces(table: PairTable, format: str) -> Iterator[bytes]:
    if format in ("trec", "msmarco"):
        columns = table.trec_columns()
        if format == "msmarco":
            columns = columns.select("query_id", "doc_id", "rank")
        _refuse_unfit_id(columns, format)
        for part in columns.iter_slices(_ROWS):  # the text of a large run is never in memory whole
            separator = " " if format == "trec" else "\t"
            lines = part.write_csv(include_header=False, separator=separator, quote_style="never")
            yield lines.encode()
    elif format in ("csv", "tsv"):
        frame = table.to_polars()
        _refuse_unfit_id(frame, format)
        yield delimited_bytes(frame, "," if format == "csv" else "\t")
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


def _unfit_id(columns: pl.DataFrame, format: str) -> tuple[str, str] | None:
    """Return a column and a value of it that a file of this format cannot hold as it is."""
    for role in ("query_id", "doc_id", "subtopic", "tag"):
        if role in columns.columns:
            pattern = f"[{_INVISIBLE}]"
            if format in ("trec", "msmarco"):
                first = "|^[#\ufeff]" if role == "query_id" else ""
                pattern = f"[ \\t\\r\\n{_INVISIBLE}]|^$" + first
            unfit = columns[role].filter(columns[role].str.contains(pattern))
            if len(unfit):
                return role, unfit.unique().sort()[0]
    return None


def _refuse_unfit_id(columns: pl.DataFrame, format: str) -> None:
    """Refuse ids that would be read as something else, or turn the text of a terminal."""
    unfit = _unfit_id(columns, format)
    if unfit is None:
        return
    role, value = unfit
    if format in ("csv", "tsv"):
        why, others = "its control characters would not be seen", "json, jsonl or parquet"
    else:
        why = "white space separates columns there and # begins a comment"
        others = "csv, tsv, json, jsonl or parquet"
    raise InputError(
        f"the {role} {shown(value)} cannot be written to a {format} file: {why}; write {others}"
    )


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
        yield parquet_bytes(*table.typed())
    elif format in ("csv", "tsv"):
        yield delimited_bytes(table.as_text(), "," if format == "csv" else "\t")
    else:
        pieces: Iterable[str]
        rows = ({"_id": record_id, **fields} for record_id, fields in table.rows())
        if format == "jsonl":
            pieces = (f"{dump_json(row)}\n" for row in rows)
        else:
            pieces = json_pieces(map(dump_json, rows), "[]")
        yield from map(str.encode, pieces)
