"""From one file format to another, for any kind of table.

An edge above tables and formats: it finds out which kind of table a file holds and lets that kind
read and write itself.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import as_qrels
from rankscope.collection.queries import read_queries
from rankscope.collection.ratings import Raters, as_ratings
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import can_be_read_again, open_bytes, source_name, suffix_of
from rankscope.runs.table import read_run
from rankscope.tables.columns import (
    ALIASES,
    NO_COLUMNS,
    QUERY_IDS,
    QUESTIONS,
    Columns,
    Duplicates,
    Kind,
    find_name,
    folded,
    role_of,
)
from rankscope.tables.detection import HEAD, sniff
from rankscope.tables.frames import ParquetFile

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


_SPAN = re.compile(rb'"(?:resource_?[sS]pans|(?:context\.)?span_?[iI]d)"\s*:')
_CASES = re.compile(rb'"expected_?(?:\w{1,40}_)?ids"\s*:')
_ASKED = re.compile(rb'"(?:question|query|user_input|retrieved\w*|results)"\s*:')


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was converted: which kind of table, and how many rows."""

    kind: Kind
    rows: int


def guess_kind(path: PathLike, *, written_to: PathLike = "") -> Kind:
    """Find out what a file holds, from its columns first and the names of the files second."""
    names = [os.path.basename(source_name(place)).lower() for place in (path, written_to)]
    hints = [kind for name in names for pattern, kind in _HINTS if re.search(pattern, name)]
    hint = hints[0] if hints else None
    kind = _kind_by_content(path, hint) if can_be_read_again(path) else None
    kind = kind or hint
    if kind is None:
        raise InputError(
            f"{source_name(path)}: cannot tell whether it holds qrels, a run, queries or a corpus; "
            f"say which with --kind {'|'.join(get_args(Kind))}"
        )
    return kind


def _kind_by_content(path: PathLike, hint: Kind | None) -> Kind | None:
    with open_bytes(path) as stream:
        head = stream.read(HEAD)
        sniffed = sniff(head, suffix_of(path))
        if sniffed.content == "parquet":
            file = ParquetFile(head + stream.read(), source=source_name(path))
            return _kind_by_names(file.schema.names())
    if re.match(r"\s*<(\?xml|top|topics)", sniffed.line, re.I):
        return "queries"
    if re.match(r"\s*<DOC[\s>]", sniffed.line, re.I):
        return "corpus"
    if sniffed.content.startswith("json") and _SPAN.search(head):
        return "run"
    if sniffed.content.startswith("json") and _CASES.search(head) and not _ASKED.search(head):
        return "queries" if hint == "queries" else "qrels"
    kind = _kind_by_names(sniffed.names)
    if kind is None and sniffed.content == "text" and sniffed.by_suffix != "csv":
        widths: dict[int, Kind] = {6: "run", 4: "qrels"}  # of TREC
        kind = widths.get(len(sniffed.line.split()))
    return kind


def _kind_by_names(names: Sequence[str]) -> Kind | None:
    """Tell the kind from the names of columns or the keys of a record."""
    roles = {role_of(name) for name in names}
    if find_name(names, (*QUERY_IDS, *QUESTIONS, "id")) is not None and roles - {None, "text"}:
        if roles & {"relevant", "retrieved"}:
            both = {"relevant", "retrieved"} <= roles
            return None if both else "qrels" if "relevant" in roles else "run"
        if any(find_name(names, ALIASES[role]) for role in ("rank", "tag")):
            return "run"
        grade = folded(find_name(names, ALIASES["grade"]) or "score")
        if grade not in ("score", "scores", "value", "relevancescore") or "corpus-id" in names:
            return "qrels"
        return None
    return "corpus" if "text" in names and "title" in names else None


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
    chunking: Chunking | None = None,
    columns: Columns = NO_COLUMNS,
    duplicates: Duplicates | None = None,
    lossy: bool = False,
) -> Conversion:
    """Read a file and write it in another format; kind and formats are found if not given.

    ``labels`` and ``raters`` are for qrels, ``name`` is the tag of a run, and ``chunking`` says
    which documents its chunks become. What the format cannot hold is an error, or dropped if
    ``lossy``.
    """
    kind = kind or guess_kind(source, written_to=target)
    if kind not in get_args(Kind):
        raise UnknownNameError("kind of table", kind, get_args(Kind))
    if kind != "qrels" and (labels or raters):
        raise InputError(f"labels and raters are for qrels, and {shown(source)} holds a {kind}")
    table: Any
    if kind == "qrels" and raters is not None:
        table = as_ratings(source).combined(raters)
    elif kind == "qrels":
        table = as_qrels(source, columns, labels, format=source_format)
    elif kind == "run":
        named = asdict(columns)
        roles = {role: named[role] for role in ("query", "retrieved", "doc", "score")}
        table = read_run(source, format=source_format, name=name, duplicates=duplicates, **roles)
        table = table if chunking is None else table.collapsed(chunking)
    elif kind == "queries":
        table = read_queries(source, format=source_format, query=columns.query)
    else:
        table = read_corpus(source, format=source_format, doc=columns.doc)
    loss = {"lossy": lossy} if kind in ("qrels", "run") else {}
    table.write(target, format=target_format, **loss)
    return Conversion(kind, len(table))
