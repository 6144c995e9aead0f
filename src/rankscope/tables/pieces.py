"""Pieces of documents: source spans and passages' texts, as golden sets and retrievers have them.

A golden set may say what answers a question by document, start and end, or by the text of the
passage, and not by the ids of chunks; then cutting the documents otherwise changes no gold. Spans
are known by what they hold. Texts count only if the caller names their column (``relevant=``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.tables.cases import unwrapped
from rankscope.tables.choosing import Table, is_list, is_missing, query_column
from rankscope.tables.columns import ALIASES, Columns, PairLayout, find_name, role_of
from rankscope.tables.filling import id_or_none
from rankscope.tables.unanswered import is_unanswered, refuse_answer

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
_SPANS = ("spans", "gold_spans", "expected_spans", "relevant_spans", "answer_spans")
_FARTHEST = 2**53  # the largest start or end


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


# --- noticing


def refuse_gold_pieces(table: Table, layout: PairLayout, columns: Columns) -> None:
    """Raise `PiecesError` if a golden table holds spans, or texts in the column that was named."""
    column = _gold_column(table, columns) if layout.kind == "qrels" else None
    if column is not None:
        raise PiecesError(_from_table(table, column or None, layout, columns), table.source)


def _gold_column(table: Table, columns: Columns) -> str | None:
    """Return the column of gold pieces, '' if a row is a span; None if there are none."""
    named = columns.relevant
    if named is not None and named in table.names:
        is_text = role_of(named) == "text" or named in table.texts
        return named if is_text or any(map(_is_piece, table.items(named))) else None
    spans = find_name(table.names, _SPANS)
    if spans is not None:
        return spans
    if _is_span(table.names) and find_name(table.names, _FIELDS["document"]) is not None:
        return ""
    relevant = (name for name in table.names if role_of(name) == "relevant")
    return next((name for name in relevant if any(map(_is_span, table.items(name)))), None)


def refuse_gold_dict(data: Mapping[Any, Any], layout: PairLayout, source: str) -> None:
    """Raise `PiecesError` for ``{query: [span, …]}``."""
    lists = (value for value in islice(data.values(), 100) if isinstance(value, list | tuple))
    first = next(filter(None, lists), None)
    if layout.kind == "qrels" and first is not None and _is_piece(first[0]):
        raise PiecesError(_from_dict(data, layout, source), source)


def _is_span(names: object) -> bool:
    """Tell whether names, of columns or the fields of a record, are those of a span."""
    if not isinstance(names, Mapping | list):
        return False
    known = [str(name) for name in names]
    return all(find_name(known, _FIELDS[role]) is not None for role in ("start", "end"))


def _is_piece(item: object) -> bool:
    """Tell a span, or a text and nothing else, from a document with its id."""
    if not isinstance(item, Mapping) or _is_span(item):
        return isinstance(item, Mapping)
    return bool(item) and all(find_name([str(n)], _FIELDS["text"]) is not None for n in item)


# --- reading


def read_pieces(data: Any, layout: PairLayout, columns: Columns, source: str) -> Pieces:
    """Read retrieved pieces from a table, or from a dict by query."""
    data = unwrapped(data, layout.kind, source)
    if isinstance(data, Mapping):
        if not any(role_of(str(name)) for name in data):
            return _from_dict(data, layout, source)
        data = [data]
    table = data
    if not isinstance(data, Table):
        records = list(data)
        for number, record in enumerate(records, start=1):
            if not isinstance(record, Mapping):
                raise InputError(
                    f"{source}, row {number}: expected named fields, got {shown(record)}"
                )
        table = Table(records, source)
    named = columns.retrieved
    if named is None:
        lists = [n for n in table.names if role_of(n) in ("retrieved", "neutral", "text")]
        lists = [name for name in lists if table.holds_lists(name)]
        richer = [name for name in lists if any(isinstance(i, Mapping) for i in table.items(name))]
        matching = richer or [name for name in lists if name in table.texts] or lists
        if len(matching) > 1:
            raise InputError(
                f"{source}: {shown(matching[0], 30)} and {shown(matching[1], 30)} could both hold "
                f"the retrieved passages; say which (retrieved={matching[0]!r})"
            )
        named = next(iter(matching), None)
    return _from_table(table, named, layout, columns)


def _from_dict(data: Mapping[Any, Any], layout: PairLayout, source: str) -> Pieces:
    pieces = Pieces()
    for query_id, items in data.items():
        _add(pieces, query_id, items, layout, source, is_row=False)
    return pieces


def _from_table(table: Table, column: str | None, layout: PairLayout, columns: Columns) -> Pieces:
    """Read the pieces in a column, or those that the rows are."""
    query = query_column(table, columns, column or "", by_row=True, has_value=False)
    if query is None:
        raise InputError(
            f"{table.source}: no column for the query among {', '.join(map(shown, table.names))}; "
            "say which it is (query=)"
        )
    pieces = Pieces()
    rows = table.frame.to_dicts() if table.frame is not None else table.records
    lists: Iterable[Any] = rows if column is None else table.values(column)
    for record, query_id, items in zip(rows, table.values(query), lists, strict=True):
        unanswered = layout.kind == "qrels" and is_unanswered(record, table.source)
        given = [] if unanswered and column is None else items
        if isinstance(given, str) and given.lstrip().startswith("["):
            given = table.cell("documents", given)
        name = _add(pieces, query_id, given, layout, table.source, is_row=column is None)
        if unanswered:
            if pieces.by_query[name]:
                raise refuse_answer(name, table.source)
            pieces.no_answer.append(name)
    return pieces


def _add(
    pieces: Pieces, raw_query: Any, items: Any, layout: PairLayout, source: str, *, is_row: bool
) -> str:
    """Append the pieces of a query; return its id as text."""
    query_id = id_or_none(raw_query, "query_id", source)
    where = f"{source}: query {shown(query_id)}"
    if query_id is None:
        raise InputError(f"{source}: a query_id is missing; give every query one")
    if query_id in pieces.by_query and not is_row:
        raise InputError(f"{where} appears twice; give each query one list")
    mine = pieces.by_query.setdefault(query_id, [])
    if not is_missing(items):
        listed = [items] if isinstance(items, str | Mapping) else items
        if not is_list(listed) or isinstance(listed, Set):
            raise InputError(f"{where} has {shown(items)}; expected a list of spans or texts")
        mine += [read_piece(item, layout, where) for item in listed]
    return query_id


def read_piece(item: Any, layout: PairLayout, where: str) -> Piece:
    """Read one piece: a text, a record, or a document of a framework with its metadata."""
    if isinstance(item, str):
        return Piece(None, None, None, item)
    if isinstance(item, tuple | list) and len(item) == 2 and not isinstance(item[1], str):
        return replace(read_piece(item[0], layout, where), number=_number(item[1], where))
    fields = _fields(item, layout.value)
    text = fields.get("text") if isinstance(fields.get("text"), str) else None
    start, end = (_place(fields.get(role), role, where) for role in ("start", "end"))
    if start is not None and end is None and text is not None:
        end = start + len(text)
    document = fields.get("document")
    if (start is None) != (end is None):
        raise InputError(f"{where}: a span has a start or an end only; give both")
    if start is not None and end is not None:
        if not start < end:
            raise InputError(f"{where}: the span {start} to {end} is empty; expected start < end")
        if document is None:
            raise InputError(
                f"{where}: the span {start} to {end} has no document; name it "
                f"{', '.join(_FIELDS['document'][:3])}"
            )
    elif text is None:
        raise InputError(
            f"{where}: expected a text, or a document with start and end, got {shown(item)}"
        )
    number = fields.get("number")
    if number is not None:
        number = _number(number, where)
    elif layout.kind == "run" and "rank" in fields:
        number = -_number(fields["rank"], where)
    return Piece(None if document is None else str(document), start, end, text, number)


def _fields(item: Any, value: str) -> dict[str, Any]:
    """Return the fields of a piece by role: its own, of the node in it, or of its metadata."""
    node = _get(item, "node")
    parts = [item] if node is None else [item, node]
    parts += [_get(part, name) for part in list(parts) for name in ("metadata", "meta")]
    fields: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Mapping):
            roles = _roles(tuple(map(str, part)), value)
            values = {role: part[name] for role, name in roles.items()}
        elif part is None or isinstance(part, int | float | list):
            continue
        else:
            values = {}
            for role, names in {**_FIELDS, "number": ALIASES[value]}.items():
                held = (getattr(part, name, None) for name in names)
                values[role] = next((x for x in held if x is not None and not callable(x)), None)
        fields = {**{role: x for role, x in values.items() if x is not None}, **fields}
    return fields


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


@lru_cache(maxsize=1000)
def _roles(names: tuple[str, ...], value: str) -> dict[str, str]:
    """Return which of a record's names has which role; records have the same again and again."""
    roles = {**_FIELDS, "number": ALIASES[value], "rank": ALIASES["rank"]}
    named = {role: find_name(names, known) for role, known in roles.items()}
    return {role: name for role, name in named.items() if name is not None}


def _place(value: Any, role: str, where: str) -> int | None:
    if is_missing(value):
        return None
    try:
        place = int(value) if float(value) == int(float(value)) else -1
    except (TypeError, ValueError, OverflowError):
        place = -1
    if not 0 <= place <= _FARTHEST:
        raise InputError(
            f"{where}: the {role} is {shown(value)}; expected a whole number from 0 up"
        )
    return place


def _number(value: Any, where: str) -> float:
    try:  # a number, or the text of one in a cell
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number - number != 0:  # NaN or infinite
        raise InputError(f"{where}: expected a finite number, got {shown(value)}")
    return number
