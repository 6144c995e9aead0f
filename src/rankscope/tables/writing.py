"""From a table to a file, all at once or not at all. What a format cannot carry is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.errors import InputError, shown
from rankscope.files import replacing
from rankscope.tables.delimited import delimited_bytes
from rankscope.tables.frames import parquet_bytes
from rankscope.tables.jsontext import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from rankscope.files import PathLike
    from rankscope.tables.pairs import PairTable

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


def json_pieces(entries: Iterable[str], brackets: str) -> Iterator[bytes]:
    """Yield a list or an object (``brackets``) with one entry on each line."""
    for number, entry in enumerate(entries):
        yield f"{',' if number else brackets[0]}\n{entry}".encode()
    yield f"\n{brackets[1]}\n".encode()


def write_pieces(path: PathLike, pieces: Iterable[bytes]) -> None:
    """Write a file, all at once or not at all."""
    with replacing(path) as sink:
        for piece in pieces:
            sink.write(piece)


# --- qrels and runs


def write_trec_or_jsonl(table: PairTable, path: PathLike) -> None:
    """Write a TREC file, or JSON lines where an id holds what TREC lines cannot.

    Both are known by their content, whatever the file is called.
    """
    write_pieces(path, pair_pieces(table, "trec", otherwise="jsonl"))


def pair_pieces(table: PairTable, format: str, otherwise: str = "") -> Iterator[bytes]:
    """Yield a file; of a format that cannot hold an id, the ``otherwise`` named one."""
    is_trec = format == "trec"
    columns = table.trec_columns() if is_trec else table.to_polars()
    unfit = _unfit_id(columns, format) if format in ("trec", "csv", "tsv") else ""
    if unfit and otherwise:
        yield from pair_pieces(table, otherwise)
    elif unfit:
        why = "its control characters would not be seen; write"
        if is_trec:
            why = "white space separates columns there and # begins a comment; write csv, tsv,"
        problem = f"{unfit} cannot be written to a {format} file: {why}"
        raise InputError(f"{problem} json, jsonl or parquet")
    elif format == "json":  # {query_id: {doc_id: number}}, or a number for each subtopic
        queries = table.to_dict().items()
        entries = (f"{dump_json(query_id)}: {dump_json(docs)}" for query_id, docs in queries)
        yield from json_pieces(entries, "{}")
    elif not is_trec:
        yield from frame_pieces(columns, format)
    else:
        for part in columns.iter_slices(_ROWS):  # the text of a large run is never in memory whole
            yield part.write_csv(include_header=False, separator=" ", quote_style="never").encode()


def _unfit_id(columns: pl.DataFrame, format: str) -> str:
    """Name an id that would be read as something else, or turn the text of a terminal; or ''."""
    pattern = f"[ \\t\\r\\n{_INVISIBLE}]|^$" if format == "trec" else f"[{_INVISIBLE}]"
    for role in ("query_id", "doc_id", "subtopic", "tag"):
        if role in columns.columns:
            begins = "|^[#\ufeff]" if role == "query_id" and format == "trec" else ""
            unfit = columns[role].filter(columns[role].str.contains(pattern + begins))
            if len(unfit):
                return f"the {role} {shown(unfit.min())}"
    return ""
