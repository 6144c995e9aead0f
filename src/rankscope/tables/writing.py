"""From a table to a file. What a format cannot carry is refused, not lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import replacing, source_name, suffix_of
from rankscope.tables.frames import parquet_bytes
from rankscope.tables.reading import BY_SUFFIX, FORMATS, named_format

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.tables.pairs import PairTable

__all__ = ["format_for", "write_pairs"]

_TREC_SUFFIXES = (".qrel", ".qrels", ".res", ".run", ".trec", ".txt")
_BY_SUFFIX = {**BY_SUFFIX, **dict.fromkeys(_TREC_SUFFIXES, "trec")}


def format_for(path: PathLike, format: str | None) -> str:
    """Return the format to write: as named, or as the file's name says."""
    chosen = named_format(format) or _BY_SUFFIX.get(suffix_of(path))
    if chosen is None:
        raise InputError(
            f"{source_name(path)}: the name does not tell the format; end it with one of "
            f"{', '.join(sorted(_BY_SUFFIX))} or name the format: {', '.join(FORMATS)}"
        )
    return chosen


def write_pairs(table: PairTable, path: PathLike, *, format: str | None) -> None:
    """Write qrels or a run."""
    chosen = format_for(path, format)
    if chosen == "msmarco" and table.layout.kind != "run":
        raise UnknownNameError(
            "format for qrels", "msmarco", [f for f in FORMATS if f != "msmarco"]
        )
    with replacing(path) as sink:
        if chosen in ("trec", "msmarco"):
            frame = table.trec_columns()
            _check_white_space(frame, chosen)
            if chosen == "msmarco":
                frame = frame.select("query_id", "doc_id", "rank")
            separator = "\t" if chosen == "msmarco" else " "
            sink.write(
                frame.write_csv(
                    include_header=False, separator=separator, quote_style="never"
                ).encode()
            )
        elif chosen in ("csv", "tsv"):
            separator = "," if chosen == "csv" else "\t"
            sink.write(table.to_polars().write_csv(separator=separator).encode())
        elif chosen == "parquet":
            sink.write(parquet_bytes(table.to_polars()))
        elif chosen == "json":
            _write_json(table, sink)
        else:
            _write_json_lines(table, sink)


def _check_white_space(frame: pl.DataFrame, chosen: str) -> None:
    """Refuse ids that would read back as something else from a table split by white space."""
    for role in (name for name in ("query_id", "doc_id", "subtopic", "tag") if name in frame):
        ids = frame[role].unique()
        bad = ids.filter(ids.str.contains(r"[ \t\n\v\f\r]") | (ids == ""))
        if role == "query_id":
            bad = pl.concat([bad, ids.filter(ids.str.contains("^[#\ufeff]"))])
        if len(bad):
            raise InputError(
                f"the {role} {shown(bad[0])} cannot stand in a {chosen} file, which is split by "
                "white space and takes # for a comment; write csv, tsv, json, jsonl or parquet"
            )


def _write_json(table: PairTable, sink: BinaryIO) -> None:
    """Write ``{query_id: {doc_id: number}}`` (or a number for each subtopic), query by query."""
    sink.write(b"{")
    for number, (query_id, documents) in enumerate(table.to_dict().items()):
        key = json.dumps(query_id, ensure_ascii=False)
        line = f"{',' if number else ''}\n{key}: {json.dumps(documents, ensure_ascii=False)}"
        sink.write(line.encode())
    sink.write(b"\n}\n")


def _write_json_lines(table: PairTable, sink: BinaryIO) -> None:
    for record in table.to_polars().iter_rows(named=True):
        sink.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
