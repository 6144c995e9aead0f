"""From one file format to another, for any kind of table.

An edge above tables and formats: it finds out which kind a file is and lets that kind read and
write itself.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import Raters, read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import can_be_read_again, open_bytes, source_name, suffix_of
from rankscope.runs.table import read_run
from rankscope.tables.columns import QRELS, RUN, find_columns, folded
from rankscope.tables.delimited import separator_of
from rankscope.tables.reading import PARQUET_MAGIC, first_line, parquet_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.files import PathLike

__all__ = ["Conversion", "Kind", "convert", "guess_kind"]

Kind = Literal["qrels", "run", "queries", "corpus"]

_HINTS: tuple[tuple[str, Kind], ...] = (
    (r"qrel|judg", "qrels"),
    (r"\brun|\.run\b|runs?[\W_]", "run"),
    (r"quer|topic|question", "queries"),
    (r"corpus|docs\b|documents|collection", "corpus"),
)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was converted: which kind of table, and how many rows."""

    kind: Kind
    rows: int


def guess_kind(path: PathLike, *, written_to: PathLike = "") -> Kind:
    """Find out what a file holds, from its columns first and the names of the files second."""
    names = _column_names(path) if can_be_read_again(path) else []
    by_columns = _kind_of_columns(names) if names else None
    if by_columns is not None:
        return by_columns
    for place in (path, written_to):
        text = source_name(place).lower()
        for part in (os.path.basename(text), text):
            for pattern, kind in _HINTS:
                if re.search(pattern, part):
                    return kind
    raise InputError(
        f"{source_name(path)}: cannot tell whether it holds qrels, a run, queries or a corpus; "
        f"say which with --kind {'|'.join(get_args(Kind))}"
    )


def _kind_of_columns(names: list[str]) -> Kind | None:
    """Tell the kind from column names; ``["6 columns"]`` stands for a table without a header."""
    if names == ["6 columns"]:
        return "run"
    if names == ["4 columns"]:
        return "qrels"
    if names == ["topics"]:
        return "queries"
    run, qrels = find_columns(names, RUN), find_columns(names, QRELS)
    if "query_id" in run and "doc_id" in run:
        if "rank" in run or "tag" in run:
            return "run"
        grade = folded(qrels.get("grade", "score"))
        if grade not in ("score", "value", "relevancescore") or "corpus-id" in names:
            return "qrels"
        return None
    if "text" in names and "title" in names:
        return "corpus"
    return None


def _column_names(path: PathLike) -> list[str]:
    with open_bytes(path) as stream:
        head = stream.read(1 << 16)
        if head.startswith(PARQUET_MAGIC):
            return parquet_frame(head + stream.read(), source=source_name(path)).columns
    line = first_line(head)
    if re.match(r"\s*<(\?xml|top|topics)", line, re.IGNORECASE):
        return ["topics"]
    if line.lstrip()[:1] == "{":
        return _json_keys(line)
    cells = line.split(separator_of(line))
    if len(cells) > 1 and "query_id" in find_columns(cells, RUN):
        return [cell.strip('"') for cell in cells]
    return [f"{len(line.split())} columns"] if suffix_of(path) not in (".csv", ".jsonl") else cells


def _json_keys(line: str) -> list[str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(record) if isinstance(record, dict) else []


def convert(
    source: PathLike,
    target: PathLike,
    *,
    kind: Kind | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    labels: Mapping[str, float] | None = None,
    raters: Raters | None = None,
    name: str | None = None,
) -> Conversion:
    """Read a file and write it in another format; kind and formats are found if not given.

    ``labels`` and ``raters`` are for qrels, ``name`` is the tag of a run.
    """
    kind = kind or guess_kind(source, written_to=target)
    if kind not in get_args(Kind):
        raise UnknownNameError("kind of table", kind, get_args(Kind))
    if kind != "qrels" and (labels or raters):
        raise InputError(f"labels and raters are for qrels, and {shown(source)} holds a {kind}")
    if kind == "qrels":
        qrels = read_qrels(source, format=source_format, labels=labels, raters=raters)
        qrels.write(target, format=target_format)
        return Conversion(kind, len(qrels))
    if kind == "run":
        run = read_run(source, format=source_format, name=name)
        run.write(target, format=target_format)
        return Conversion(kind, len(run))
    table = (read_queries if kind == "queries" else read_corpus)(source, format=source_format)
    table.write(target, format=target_format)
    return Conversion(kind, len(table))
