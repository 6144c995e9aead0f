"""Pieces of documents: source spans and passages' texts, as golden sets and retrievers have them.

A golden set may say what answers a question by document, start and end, or by the text of the
passage, and not by the ids of chunks; then cutting the documents otherwise changes no gold. What a
retriever returned has spans or texts of its own. Both are read here, from records with a list for
each question, from rows, from dicts by question, and from frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

from rankscope.errors import InputError, shown
from rankscope.tables.columns import (
    ALIASES,
    QRELS,
    RUN,
    PairLayout,
    find_columns,
    find_list,
    find_name,
    folded,
)
from rankscope.tables.ids import id_text
from rankscope.tables.unanswered import is_unanswered, refuse_answer
from rankscope.tables.wrapping import unwrapped

_SPANS = ("spans", "gold_spans", "expected_spans", "relevant_spans", "answer_spans")
_TEXTS = (
    *("passages", "gold_passages", "expected_passages", "reference_contexts", "reference_context"),
    *("gold_contexts", "expected_contexts", "ground_truth_contexts", "gold_texts"),
    *("expected_texts", "evidence", "evidences", "highlights", "references", "quotes"),
)
_RETRIEVED = ("retrieved_contexts", "contexts", "retrieved_passages", "retrieved_texts")

_ANSWERS = frozenset({"groundtruth", "groundtruths"})
"""What holds ids in some golden sets, and the text of the answer beside texts of passages."""

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "document": (
        *("doc", "doc_id", "document", "document_id", "docid", "docno", "ref_doc_id", "parent_id"),
        *("source_id", "source", "file", "file_name", "path", "url", "corpus_id"),
    ),
    "start": (
        *("start", "start_char", "start_char_idx", "start_index", "start_idx", "start_offset"),
        *("char_start", "begin"),
    ),
    "end": (
        *("end", "end_char", "end_char_idx", "end_index", "end_idx", "end_offset", "char_end"),
        "stop",
    ),
    "text": (
        *("text", "content", "page_content", "passage", "chunk_text", "snippet", "quote"),
        *("context", "body", "highlight"),
    ),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a document: where it is, or what it says, or both.

    ``number`` is the grade of gold (1 if none is given), and the score of what was retrieved (None
    if there is none).
    """

    document: str | None
    start: int | None
    end: int | None
    text: str | None
    number: float | None = None

    @property
    def is_span(self) -> bool:
        """Whether it is known where the piece is."""
        return self.end is not None


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces by query, in the order given."""

    by_query: dict[str, list[Piece]] = field(default_factory=dict)
    no_answer: list[str] = field(default_factory=list)
    """Queries that are marked as having none."""


class PiecesError(InputError):
    """A golden set holds spans or texts, and ids were asked for."""

    def __init__(self, pieces: Pieces, source: str) -> None:
        super().__init__(
            f"{source}: expected the ids of documents, got spans or texts of passages; evaluate, "
            "compare and gate take these"
        )
        self.pieces = pieces


# --- noticing ------------------------------------------------------------------------------------


def refuse_gold_pieces(data: Any, names: Iterable[str], layout: PairLayout, source: str) -> None:
    """Raise `PiecesError` if golden records with these names hold spans or texts, and no ids.

    ``data`` are the records, or returns them.
    """
    if layout.kind != "qrels":
        return
    names = list(names)
    if gold_columns(names, layout) is not None:
        _refuse(data() if callable(data) else data, layout, source)
    ids = texts_beside_ids(names, layout)
    if ids is not None:
        _refuse_texts_alone(data() if callable(data) else data, ids, layout, source)


def texts_beside_ids(names: list[str], layout: PairLayout) -> str | None:
    """Return the column of the ids that golden records with these names have beside texts."""
    columns = find_list(names, layout, _any)
    if layout.kind != "qrels" or columns is None or "doc_id" in layout.keys:
        return None
    others = [name for name in names if name != columns[1]]
    return None if gold_columns(others, layout) is None else columns[1]


def _refuse_texts_alone(records: Iterable[Any], ids: str, layout: PairLayout, source: str) -> None:
    """Raise if records have texts and no ids: `PiecesError` if all have, for they are the gold.

    Where some have ids and some only texts, there is no one way to score them.
    """
    alone = has_ids = 0
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            return
        if _holds(record.get(ids)):
            has_ids = number
            continue
        others = {str(name): value for name, value in record.items() if name != ids}
        columns = gold_columns(list(others), layout)
        if columns is not None and (columns[1] is None or _holds(others[columns[1]])):
            alone = number
    if alone and has_ids:
        raise InputError(
            f"{source}: record {has_ids} names its relevant documents by id ({shown(ids)}), and "
            f"record {alone} only by text; give ids to all records, or texts to all and leave the "
            "ids out"
        )
    if alone:
        remaining = [
            {name: value for name, value in record.items() if name != ids} for record in records
        ]
        _refuse(remaining, layout, source)


def _holds(value: Any) -> bool:
    return value is not None and (not hasattr(value, "__len__") or len(value) > 0)


def refuse_gold_dict(data: Mapping[Any, Any], layout: PairLayout, source: str) -> None:
    """Raise `PiecesError` for ``{query: [span, …]}``."""
    if layout.kind != "qrels":
        return
    columns = gold_columns([str(name) for name in islice(data, 100)], layout)
    if columns is not None and isinstance(data.get(columns[0]), str | int):
        _refuse([data], layout, source)
    lists = (value for value in islice(data.values(), 100) if isinstance(value, list | tuple))
    first = next(filter(None, lists), None)
    if first is None:
        return
    if isinstance(first[0], Mapping) and _is_piece(first[0]):
        _refuse(data, layout, source)


def _refuse(data: Any, layout: PairLayout, source: str) -> NoReturn:
    raise PiecesError(read_pieces(data, layout, source), source)


def _is_piece(fields: Mapping[str, Any]) -> bool:
    """Tell a span, or a text and nothing else, from a document with its id."""
    if all(find_name(fields, _FIELDS[role]) is not None for role in ("start", "end")):
        return True
    return all(find_name([str(name)], _FIELDS["text"]) is not None for name in fields)


def _any(_: str) -> bool:
    return True


def gold_columns(names: list[str], layout: PairLayout) -> tuple[str, str | None] | None:
    """Return the columns of the query and of its pieces (None: a row is one), if there are such."""
    columns = find_list(names, replace(layout, lists=_SPANS), _any)
    if columns is not None and find_name([columns[1]], _SPANS):
        return columns
    roles = find_columns(names, layout)
    places = [find_name(names, _FIELDS[role]) for role in ("start", "end")]
    if "query_id" in roles and None not in places and roles.get("grade") not in places:
        return roles["query_id"], None
    listed = find_list(names, layout, _any)
    if "doc_id" in roles or (listed is not None and folded(listed[1]) not in _ANSWERS):
        return None
    columns = find_list(names, replace(layout, lists=_TEXTS), _any)
    return columns if columns is not None and find_name([columns[1]], _TEXTS) else None


def _retrieved_columns(record: Mapping[Any, Any]) -> tuple[str, str | None] | None:
    """Return the columns of the query and of what was retrieved (None: a row is one piece).

    Of several lists, one of records says more than one of texts.
    """
    names = [str(name) for name in record]
    lists = (*_RETRIEVED, *RUN.lists)
    columns = find_list(names, replace(RUN, lists=lists), _any)
    if columns is not None:
        known = [
            find_name([name for name in names if name != columns[0]], (each,)) for each in lists
        ]
        held = [
            name
            for name in known
            if name is not None and isinstance(record.get(name), list | tuple)
        ]
        richer = (name for name in held if record[name] and not isinstance(record[name][0], str))
        listed = next(richer, next(iter(held), None))
        if listed is not None:
            return columns[0], listed
    roles = find_columns(names, RUN)
    return (roles["query_id"], None) if "query_id" in roles else None


# --- reading -------------------------------------------------------------------------------------


def read_pieces(data: Any, layout: PairLayout, source: str) -> Pieces:
    """Read gold or retrieved pieces from records, or from a dict by query."""
    pieces = Pieces()
    if isinstance(data, Mapping) and layout.kind == "run":
        columns = _retrieved_columns(data)  # one query's record, perhaps
        if columns is not None and isinstance(data.get(columns[0]), str | int):
            data = [data]
    data = unwrapped(data, layout)
    if isinstance(data, Mapping):
        for query_id, items in data.items():
            _add(pieces, query_id, items, layout, source)
        return pieces
    for number, record in enumerate(data, start=1):
        if not isinstance(record, Mapping):
            raise InputError(f"{source}, row {number}: expected named fields, got {shown(record)}")
        names = [str(name) for name in record]
        columns = gold_columns(names, QRELS) if layout.kind == "qrels" else None
        if layout.kind == "run":
            columns = _retrieved_columns(record)
        unanswered = layout.kind == "qrels" and is_unanswered(record, source)
        if columns is None and (layout.kind == "run" or unanswered):
            columns = _without_list(names, layout)
        if columns is None:
            known = (
                _SPANS[:1] + _TEXTS[:4] if layout.kind == "qrels" else _RETRIEVED + RUN.lists[:2]
            )
            raise InputError(
                f"{source}, row {number}: no query with its pieces among the fields "
                f"{shown(', '.join(names))}; name them query and {', '.join(known)}"
            )
        query_id, listed = columns
        items = [record] if listed is None else record.get(listed)
        if unanswered and listed is None:
            items = []
        _add(pieces, record[query_id], items, layout, source, listed is None)
        if unanswered:
            name = id_text(record[query_id])
            if pieces.by_query[name]:
                raise refuse_answer(name, source)
            pieces.no_answer.append(name)
    return pieces


def _without_list(names: list[str], layout: PairLayout) -> tuple[str, str] | None:
    """Return the column of the query of a record that has no list: it has no pieces."""
    roles = find_columns(names, layout)
    query = find_name(names, ("id",)) or roles.get("query_id")
    return None if query is None else (query, "")


def _add(  # noqa: PLR0917
    pieces: Pieces, raw_query: Any, items: Any, layout: PairLayout, source: str, row: bool = False
) -> None:
    try:
        query_id = id_text(raw_query)
    except ValueError as error:
        raise InputError(f"{source}: the query_id is {error}") from None
    if query_id in pieces.by_query and not row:
        raise InputError(
            f"{source}: query {shown(query_id)} appears twice; give each query one list"
        )
    mine = pieces.by_query.setdefault(query_id, [])
    if items is None:
        return
    if isinstance(items, str | Mapping):
        items = [items]
    if not isinstance(items, Iterable) or isinstance(items, bytes | Set):
        raise InputError(
            f"{source}: query {shown(query_id)} has {shown(items)}; expected a list of spans or "
            "texts"
        )
    for item in items:
        mine.append(read_piece(item, layout, f"{source}: query {shown(query_id)}"))


def read_piece(item: Any, layout: PairLayout, where: str) -> Piece:
    """Read one piece: a text, a record, or a document of a framework with its metadata."""
    if isinstance(item, str):
        return Piece(None, None, None, item)
    if isinstance(item, tuple | list) and len(item) == 2 and not isinstance(item[1], str):
        return replace(read_piece(item[0], layout, where), number=_number(item[1], where))
    sources = _sources(item)
    fields = _values(sources, layout.value)
    text = fields.get("text")
    start, end = (_place(fields.get(role), role, where) for role in ("start", "end"))
    if start is not None and end is None and isinstance(text, str):
        end = start + len(text)
    if (start is None) != (end is None):
        raise InputError(f"{where}: a span has a start or an end only; give both")
    document = fields.get("document")
    if start is not None and end is not None:
        if not start < end:
            raise InputError(f"{where}: the span {start} to {end} is empty; expected start < end")
        if document is None:
            raise InputError(
                f"{where}: the span {start} to {end} has no document; name it "
                f"{', '.join(_FIELDS['document'][:3])}"
            )
    elif not isinstance(text, str):
        raise InputError(
            f"{where}: expected a text, or a document with start and end, got {shown(item)}"
        )
    number = fields.get("number")
    if number is None and layout.kind == "run" and "rank" in fields:
        number = -_number(fields["rank"], where)
    return Piece(
        None if document is None else str(document),
        start,
        end,
        text if isinstance(text, str) else None,
        None if number is None else _number(number, where),
    )


def _sources(item: Any) -> list[Any]:
    """Return where the fields of a piece may be: itself, the node in it, and its metadata."""
    if type(item) is dict and item.keys().isdisjoint(_INSIDE):
        return [item]
    node = _get(item, "node")
    inner = [item] if node is None else [item, node]
    metadata = [_get(part, name) for part in inner for name in ("metadata", "meta")]
    return [*inner, *(part for part in metadata if isinstance(part, Mapping))]


_INSIDE = frozenset({"node", "metadata", "meta"})


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


@lru_cache(maxsize=1000)
def _found(names: tuple[str, ...], value: str) -> dict[str, str]:
    """Return which of a record's names has which role; records have the same again and again."""
    roles = {**_FIELDS, "number": ALIASES[value], "rank": ALIASES["rank"]}
    named = {role: find_name(names, known) for role, known in roles.items()}
    return {role: name for role, name in named.items() if name is not None}


def _values(sources: list[Any], value: str) -> dict[str, Any]:
    """Return the fields of a piece by role; of several places the first counts."""
    values: dict[str, Any] = {}
    for part in sources:
        if isinstance(part, Mapping):
            roles = _found(tuple(map(str, part)), value)
            fields = {role: part[name] for role, name in roles.items()}
        else:
            aliases = {**_FIELDS, "number": ALIASES[value], "rank": ALIASES["rank"]}
            fields = {}
            for role, names in aliases.items():
                given = (getattr(part, name, None) for name in names)
                fields[role] = next((x for x in given if x is not None and not callable(x)), None)
        for role, each in fields.items():
            if each is not None:
                values.setdefault(role, each)
    return values


_FARTHEST = 2**53
"""The largest start or end."""


def _place(value: Any, role: str, where: str) -> int | None:
    if value is None or value == "":
        return None
    if type(value) is int and 0 <= value <= _FARTHEST:
        return value
    try:
        place = float(value)
    except (TypeError, ValueError, OverflowError):
        place = -1.0
    if not 0 <= place <= _FARTHEST or place != int(place):
        raise InputError(
            f"{where}: the {role} is {shown(value)}; expected a whole number from 0 up"
        )
    return int(place)


def _number(value: Any, where: str) -> float:
    try:  # a number, or the text of one in a cell
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number - number != 0:  # NaN or infinite
        raise InputError(f"{where}: expected a finite number, got {shown(value)}")
    return number
