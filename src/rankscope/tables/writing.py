"""From a table to a file, all at once or not at all. What a format cannot carry is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.errors import InputError, shown
from rankscope.files import replacing, source_name
from rankscope.tables.delimited import delimited_bytes
from rankscope.tables.detection import format_for
from rankscope.tables.frames import parquet_bytes
from rankscope.tables.jsontext import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from rankscope.files import PathLike
    from rankscope.tables.pairs import PairTable
    from rankscope.tables.record_table import RecordTable

_ROWS = 250_000  # of a table that become text at a time
_INVISIBLE = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that terminals obey and nobody sees: control characters, and those that turn text."""


def frame_pieces(frame: pl.DataFrame, format: str) -> Iterator[bytes]:
    """Yield a file with a column for each of a frame: csv, tsv, parquet or JSON lines."""
    if format == "parquet":
        yield parquet_bytes(frame)
    elif format in ("csv", "tsv"):
        yield delimited_bytes(frame, "," if format == "csv" else "\t")
    else:
        yield from (f"{dump_json(row)}\n".encode() for row in frame.iter_rows(named=True))


def _json_pieces(entries: Iterable[str], brackets: str) -> Iterator[bytes]:
    """Yield a list or an object (``brackets``) with one entry on each line."""
    for number, entry in enumerate(entries):
        yield f"{',' if number else brackets[0]}\n{entry}".encode()
    yield f"\n{brackets[1]}\n".encode()


def _write(path: PathLike, pieces: Iterable[bytes]) -> None:
    with replacing(path) as sink:
        for piece in pieces:
            sink.write(piece)


# --- qrels and runs


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
    _write(path, _pair_pieces(table, chosen))


def write_trec_or_jsonl(table: PairTable, path: PathLike) -> None:
    """Write a TREC file, or JSON lines where an id holds what TREC lines cannot.

    Both are known by their content, whatever the file is called.
    """
    _write(path, _pair_pieces(table, "trec", otherwise="jsonl"))


def trec_or_jsonl_bytes(table: PairTable) -> bytes:
    """Return a file as `write_trec_or_jsonl` writes it."""
    return b"".join(_pair_pieces(table, "trec", otherwise="jsonl"))


def _pair_pieces(table: PairTable, format: str, otherwise: str = "") -> Iterator[bytes]:
    """Yield a file; of a format that cannot hold an id, the ``otherwise`` named one."""
    is_trec = format == "trec"
    columns = table.trec_columns() if is_trec else table.to_polars()
    unfit = _unfit_id(columns, format)
    if unfit and otherwise:
        yield from _pair_pieces(table, otherwise)
    elif unfit:
        why = (
            "white space separates columns there and # begins a comment; write csv, tsv,"
            if is_trec
            else "its control characters would not be seen; write"
        )
        raise InputError(
            f"{unfit} cannot be written to a {format} file: {why} json, jsonl or parquet"
        )
    elif format == "json":  # {query_id: {doc_id: number}}, or a number for each subtopic
        queries = table.to_dict().items()
        entries = (f"{dump_json(query_id)}: {dump_json(docs)}" for query_id, docs in queries)
        yield from _json_pieces(entries, "{}")
    elif not is_trec:
        yield from frame_pieces(columns, format)
    else:
        for part in columns.iter_slices(_ROWS):  # the text of a large run is never in memory whole
            yield part.write_csv(include_header=False, separator=" ", quote_style="never").encode()


def _unfit_id(columns: pl.DataFrame, format: str) -> str:
    """Name an id that would be read as something else, or turn the text of a terminal; or ''."""
    if format in ("json", "jsonl", "parquet"):
        return ""
    invisible = f"[{_INVISIBLE}]"
    in_trec = f"[ \\t\\r\\n{_INVISIBLE}]|^$"
    pattern = invisible if format in ("csv", "tsv") else in_trec
    for role in ("query_id", "doc_id", "subtopic", "tag"):
        if role in columns.columns:
            begins = "|^[#\ufeff]" if role == "query_id" and pattern is in_trec else ""
            unfit = columns[role].filter(columns[role].str.contains(pattern + begins))
            if len(unfit):
                return f"the {role} {shown(unfit.min())}"
    return ""


# --- queries and corpora


def write_records(table: RecordTable, path: PathLike, *, format: str | None) -> None:
    """Write queries or a corpus."""
    chosen = format_for(path, format, table.layout)
    if not len(table):
        nouns = table.layout.nouns
        raise InputError(f"{source_name(path)}: there are no {nouns} to write; give at least one")
    rows = (dump_json({"_id": record_id, **fields}) for record_id, fields in table.rows())
    if chosen == "parquet":
        _write(path, [parquet_bytes(*table.as_columns(typed=True))])
    elif chosen in ("csv", "tsv"):
        _write(path, frame_pieces(table.as_columns(typed=False)[0], chosen))
    elif chosen == "json":
        _write(path, _json_pieces(rows, "[]"))
    else:
        _write(path, (f"{row}\n".encode() for row in rows))
