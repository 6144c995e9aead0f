"""Pieces of documents: source spans and passages' texts, as golden sets and retrievers have them.

A golden set may say what answers a question by document, start and end, or by the text of the
passage, and not by the ids of chunks; then cutting the documents otherwise changes no gold. Spans
are known by what they hold. Texts count only if the caller names their column (``relevant=``).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.tables.cases import unwrapped
from rankscope.tables.choosing import names_of, one_column, query_column
from rankscope.tables.columns import ALIASES, Columns, PairLayout, find_name, role_of
from rankscope.tables.documents import METADATA, is_list, value_of
from rankscope.tables.rows import id_or_none
from rankscope.tables.table_columns import Table
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
    "grade": ALIASES["grade"],
    "score": ALIASES["score"],
    "rank": ALIASES["rank"],
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

    layout: PairLayout
    source: str
    by_query: dict[str, list[Piece]] = field(default_factory=dict)
    no_answer: list[str] = field(default_factory=list)
    """Queries that are marked as having none."""

    def add(self, query: Any, items: Any, *, is_row: bool = False, no_answer: bool = False) -> None:
        """Append the pieces of a query, or, if ``is_row``, one more of them."""
        query_id = id_or_none(query, "query_id", self.source)
        where = f"{self.source}: query {shown(query_id)}"
        if not query_id:
            raise InputError(f"{self.source}: a query is missing; give every one an id or a text")
        if query_id in self.by_query and not is_row:
            raise InputError(f"{where} appears twice; give each query one list")
        listed = [items] if isinstance(items, str | Mapping) else [] if items is None else items
        if not is_list(listed) or isinstance(listed, Set):
            raise InputError(f"{where} has {shown(items)}; expected a list of spans or texts")
        mine = self.by_query.setdefault(query_id, [])
        mine += [read_piece(item, self.layout, where) for item in listed if item != ""]
        if no_answer:
            if mine:
                raise refuse_answer(query_id, self.source)
            self.no_answer.append(query_id)


class PiecesError(InputError):
    """A golden set holds spans or texts, and ids were asked for."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(
            f"{pieces.source}: expected the ids of documents, got spans or texts of passages; "
            "evaluate, compare and gate take these"
        )
        self.pieces = pieces


# --- gold


def refuse_gold_pieces(table: Table, layout: PairLayout, columns: Columns) -> None:
    """Raise `PiecesError` if a golden table holds spans, or texts in the column that was named."""
    if layout.kind == "run":
        return
    column, rows_are_spans = None, False
    if columns.relevant in table.columns:
        named = table[columns.relevant]
        if named.role == "text" or named.holds_texts or any(map(_is_piece, named.items)):
            column = named.name
    else:
        relevant = (each for each in table.columns.values() if each.role == "relevant")
        of_spans = (each.name for each in relevant if any(map(_is_span, each.items)))
        column = find_name(table.names, _SPANS)
        rows_are_spans = column is None and _is_span(table.names)
        rows_are_spans &= find_name(table.names, _FIELDS["document"]) is not None
        column = column or (None if rows_are_spans else next(of_spans, None))
    if column is not None or rows_are_spans:
        raise PiecesError(_from_table(table, column, layout, columns))


def refuse_gold_dict(data: Mapping[Any, Any], layout: PairLayout, source: str) -> None:
    """Raise `PiecesError` for ``{query: [span, …]}``."""
    lists = (value for value in islice(data.values(), 100) if isinstance(value, list | tuple))
    first = next(filter(None, lists), None)
    if layout.kind == "qrels" and first is not None and _is_piece(first[0]):
        raise PiecesError(_from_dict(data, layout, source))


def _is_span(names: object) -> bool:
    """Tell whether names, of columns or the fields of a record, are those of a span."""
    return isinstance(names, Mapping | list) and all(
        find_name(names, _FIELDS[role]) is not None for role in ("start", "end")
    )


def _is_piece(item: object) -> bool:
    """Tell a span, or a text and nothing else, from a document with its id."""
    if not isinstance(item, Mapping) or not item:
        return False
    return _is_span(item) or all(find_name([name], _FIELDS["text"]) is not None for name in item)


# --- reading


def read_pieces(data: Any, layout: PairLayout, columns: Columns, source: str) -> Pieces:
    """Read retrieved pieces from a table, or from a dict by query."""
    data = unwrapped(data, layout.kind, source)
    if isinstance(data, Mapping):
        if not any(role_of(str(name)) for name in data):
            return _from_dict(data, layout, source)
        data = [data]
    if not isinstance(data, Table):
        data = list(data)
        for number, record in enumerate(data, start=1):
            if not isinstance(record, Mapping):
                raise InputError(
                    f"{source}, row {number}: expected named fields, got {shown(record)}"
                )
    table = data if isinstance(data, Table) else Table(data, source)
    named = columns.retrieved
    if named is None:
        roles = ("retrieved", "neutral", "text")
        lists = [c for c in table.columns.values() if c.role in roles and c.holds_lists]
        richer = [c for c in lists if any(isinstance(item, Mapping) for item in c.items)]
        matching = richer or [column for column in lists if column.holds_texts] or lists
        names = [column.name for column in matching]
        named = one_column(names, "hold the retrieved passages", "retrieved", table)
    return _from_table(table, named, layout, columns)


def _from_dict(data: Mapping[Any, Any], layout: PairLayout, source: str) -> Pieces:
    pieces = Pieces(layout, source)
    for query_id, items in data.items():
        pieces.add(query_id, items)
    return pieces


def _from_table(table: Table, column: str | None, layout: PairLayout, columns: Columns) -> Pieces:
    """Read the pieces in a column, or those that the rows are."""
    query = query_column(table, columns, column or "", by_row=True, has_value=False)
    if query is None:
        raise InputError(
            f"{table.source}: no column for the query among {names_of(table.names)}; say which it "
            "is (query=)"
        )
    pieces = Pieces(layout, table.source)
    values = [each.values for each in table.columns.values()]
    for row in zip(*values, strict=True):
        record = dict(zip(table.columns, row, strict=True))
        unanswered = layout.kind == "qrels" and is_unanswered(record, table.source)
        items = record if column is None else record[column]
        if column is None and unanswered:
            items = []
        elif column is not None and isinstance(items, str) and items.lstrip().startswith("["):
            items = table[column].cell(items)
        pieces.add(record[query], items, is_row=column is None, no_answer=unanswered)
    return pieces


def read_piece(item: Any, layout: PairLayout, where: str) -> Piece:
    """Read one piece: a text, a record, or a document of a framework with its metadata."""
    if isinstance(item, str):
        return Piece(None, None, None, item)
    if isinstance(item, tuple | list) and len(item) == 2 and not isinstance(item[1], str):
        return replace(read_piece(item[0], layout, where), number=_number(item[1], where))
    node = value_of(item, "node")
    parts = [item] if node is None else [item, node]
    parts += [value_of(part, name) for part in list(parts) for name in METADATA]
    document, text = _first(parts, "document"), _first(parts, "text")
    start, end = (_offset(_first(parts, role), role, where) for role in ("start", "end"))
    text = text if isinstance(text, str) else None
    if start is not None and end is None and text is not None:
        end = start + len(text)
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
    number, rank = _first(parts, layout.value), _first(parts, "rank")
    if number is not None:
        number = _number(number, where)
    elif layout.kind == "run" and rank is not None:
        number = -_number(rank, where)
    return Piece(None if document is None else str(document), start, end, text, number)


def _first(parts: list[Any], role: str) -> Any:
    """Return what plays a role in a piece: in its own fields, in its node, or in its metadata."""
    names = _FIELDS[role]
    for part in parts:
        if isinstance(part, Mapping):
            value = part.get(find_name(part, names))
        elif part is None or isinstance(part, int | float | str | list):
            continue
        else:
            held = (getattr(part, name, None) for name in names)
            value = next((each for each in held if each is not None and not callable(each)), None)
        if value is not None:
            return value
    return None


def _offset(value: Any, role: str, where: str) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = _number(value, where)
    except InputError:
        number = -1.0
    if not (0 <= number <= _FARTHEST and number.is_integer()):
        raise InputError(
            f"{where}: the {role} is {shown(value)}; expected a whole number from 0 up"
        )
    return int(number)


def _number(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise InputError(f"{where}: expected a finite number, got {shown(value)}")
    return number
