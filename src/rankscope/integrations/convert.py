"""From one file format to another, for any kind of table.

An edge above tables and formats: it finds out which kind of table a file holds and lets that kind
read and write itself.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import Raters, read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import can_be_read_again, open_bytes, source_name, suffix_of
from rankscope.runs.table import read_run, with_metadata_of
from rankscope.tables.columns import QRELS, RUN, Kind, find_columns, folded
from rankscope.tables.detection import Sniffed, format_for, read_head, sniff
from rankscope.tables.parquet import ParquetFile
from rankscope.tables.table_options import check_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankscope.files import PathLike
    from rankscope.runs.collapsing import Chunking

__all__ = ["Conversion", "convert"]

_HINTS: tuple[tuple[str, Kind], ...] = (
    (r"qrel|judg", "qrels"),
    (r"\brun|\.run\b|runs?[\W_]", "run"),
    (r"quer|topic|question|\.qry\b", "queries"),
    (r"corpus|docs\b|documents|collection|\.all\b", "corpus"),
)


_CASES = re.compile(rb'"expected_?(?:\w{1,40}_)?ids"\s*:')
_ASKED = re.compile(rb'"(?:question|query|user_input|retrieved\w*|results)"\s*:')


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was converted: which kind of table, and how many rows."""

    kind: Kind
    rows: int


def guess_kind(path: PathLike, *, written_to: PathLike = "") -> Kind:
    """Find out what a file holds, from its columns first and the names of the files second."""
    kind = _kind_by_content(path, written_to) if can_be_read_again(path) else None
    if kind is not None:
        return kind
    for place in (path, written_to):
        text = source_name(place).lower()
        for part in (os.path.basename(text), text):
            for pattern, hinted in _HINTS:
                if re.search(pattern, part):
                    return hinted
    raise InputError(
        f"{source_name(path)}: cannot tell whether it holds qrels, a run, queries or a corpus; "
        f"say which with --kind {'|'.join(get_args(Kind))}"
    )


def _kind_by_content(path: PathLike, written_to: PathLike) -> Kind | None:
    with open_bytes(path) as stream:
        head = read_head(stream)
        sniffed = sniff(head, suffix_of(path))
        if sniffed.content == "parquet":
            file = ParquetFile(head + stream.read(), source=source_name(path))
            return _kind_by_names(file.schema.names())
    if re.match(r"\s*<(\?xml|top|topics)", sniffed.line, re.I):
        return "queries"
    if re.match(r"\s*<DOC[\s>]", sniffed.line, re.I):
        return "corpus"
    if sniffed.is_trace:
        return "queries" if re.search(r"quer|question", source_name(written_to).lower()) else "run"
    if sniffed.content.startswith("json") and _CASES.search(head) and not _ASKED.search(head):
        names = f"{os.path.basename(path)} {source_name(written_to)}".lower()
        return "queries" if re.search(r"quer|question|topic", names) else "qrels"
    return _kind_by_names(sniffed.names) or _kind_by_width(sniffed)


def _kind_by_names(names: Sequence[str]) -> Kind | None:
    """Tell the kind from the names of columns or the keys of a record."""
    run, qrels = find_columns(names, RUN), find_columns(names, QRELS)
    if "query_id" in run and "doc_id" in run:
        if "rank" in run or "tag" in run:
            return "run"
        grade = folded(qrels.get("grade", "score"))
        if grade not in ("score", "value", "relevancescore") or "corpus-id" in names:
            return "qrels"
        return None
    return "corpus" if "text" in names and "title" in names else None


def _kind_by_width(sniffed: Sniffed) -> Kind | None:
    """Tell a TREC run from TREC qrels by the columns of the first line."""
    if sniffed.content != "text" or sniffed.by_suffix == "csv":
        return None
    kinds: dict[int, Kind] = {6: "run", 4: "qrels"}
    return kinds.get(len(sniffed.line.split()))


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
    metadata: PathLike | None = None,
    chunking: Chunking | None = None,
) -> Conversion:
    """Read a file and write it in another format; kind and formats are found if not given.

    ``labels`` and ``raters`` are for qrels, ``name`` is the tag of a run, and ``metadata`` a file
    of ir_metadata to be written at the top of a TREC run; ``chunking`` says which documents its
    chunks become.
    """
    kind = kind or guess_kind(source, written_to=target)
    if kind not in get_args(Kind):
        raise UnknownNameError("kind of table", kind, get_args(Kind))
    if kind != "qrels" and (labels or raters):
        raise InputError(f"labels and raters are for qrels, and {shown(source)} holds a {kind}")
    if metadata is not None and kind != "run":
        raise InputError(f"metadata is for TREC runs, and {shown(source)} holds {kind}")
    if kind == "qrels":
        qrels = read_qrels(source, format=source_format, labels=labels, raters=raters)
        check_keys()
        qrels.write(target, format=target_format)
        return Conversion(kind, len(qrels))
    if kind == "run":
        run = read_run(source, format=source_format, name=name)
        check_keys()
        if chunking is not None:
            run = run.collapsed(chunking)
        if metadata is not None:
            run = with_metadata_of(run, metadata, format_for(target, target_format, RUN))
        run.write(target, format=target_format)
        return Conversion(kind, len(run))
    table = (read_queries if kind == "queries" else read_corpus)(source, format=source_format)
    check_keys()
    table.write(target, format=target_format)
    return Conversion(kind, len(table))
