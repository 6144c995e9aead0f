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
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.columns import ALIASES, Columns, PairLayout, find_name, words
from rankscope.tables.documents import METADATA, Documents, is_list, looks_like_id, value_of
from rankscope.tables.rows import ListedRows, Rows
from rankscope.tables.table_columns import one_column, refuse_unknown

if TYPE_CHECKING:
    from rankscope.tables.table_columns import Column, Table

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "document": words(
        "doc doc_id document document_id docid docno ref_doc_id parent_id source_id source file "
        "file_name path url corpus_id"
    ),
    "start": words(
        "start start_char start_char_idx start_index start_idx start_offset char_start begin"
    ),
    "end": words("end end_char end_char_idx end_index end_idx end_offset char_end stop"),
    "text": words(
        "text content page_content passage chunk_text snippet quote context body highlight"
    ),
    **{role: ALIASES[role] for role in ("grade", "score", "rank")},
}
_SPANS = ("spans", "gold_spans", "expected_spans", "relevant_spans", "answer_spans")
_FARTHEST = 2**53  # the largest start or end
ROW = ""
"""Stands for a column, where the rows themselves are pieces."""


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


@dataclass(frozen=True, slots=True, eq=False)
class PieceRows(Rows):
    """Pieces by query, in the order given; there are no columns."""

    by_query: Mapping[str, list[Piece]] = field(default_factory=dict)


class ListedPieces(ListedRows):
    """Pieces being gathered from lists of them."""

    def cell(self, column: Column, value: Any) -> Any:
        """Take a list in a cell apart if it is written in brackets; all else is text."""
        is_written = isinstance(value, str) and value.lstrip().startswith("[")
        return column.cell(value) if is_written else value

    def _pairs_in(self, documents: Any, where: str) -> Documents:
        items = [documents] if isinstance(documents, str | Mapping) else documents
        if not is_list(items) or isinstance(items, Set):
            raise InputError(f"{where} has {shown(documents)}; expected a list of spans or texts")
        pieces = [read_piece(item, self.layout, where) for item in items if item != ""]
        return [(piece, piece.number) for piece in pieces]

    def rows(self) -> PieceRows:
        """Return what was gathered."""
        by_query: dict[str, list[Piece]] = {query_id: [] for query_id in self._sizes}
        for query_id, piece in zip(self._query_ids, self._doc_ids, strict=True):
            by_query[query_id].append(piece)
        return PieceRows(
            pl.DataFrame(), self.source, self.layout, queries=tuple(by_query),
            no_answer=tuple(self._no_answer), by_query=by_query,
        )  # fmt: skip


class PiecesError(InputError):
    """A golden set holds spans or texts, and ids were asked for."""

    def __init__(self, pieces: PieceRows) -> None:
        super().__init__(
            f"{pieces.source}: expected the ids of documents, got spans or texts of passages; "
            "evaluate, compare and gate take these"
        )
        self.pieces = pieces


# --- where they are


def gold_column(table: Table, columns: Columns) -> str | None:
    """Return the column of a golden table that holds spans, or texts if it was named, or None."""
    if columns.relevant in table.columns:
        named = table[columns.relevant]
        are_texts = named.role == "text" and not all(map(looks_like_id, named.items))
        holds = are_texts or named.holds_texts or any(map(_is_piece, named.items))
        return named.name if holds else None
    column = find_name(table.names, _SPANS)
    if column is None and _is_span(table.names) and find_name(table.names, _FIELDS["document"]):
        return ROW
    relevant = (each for each in table.columns.values() if each.role == "relevant")
    return column or next((each.name for each in relevant if any(map(_is_span, each.items))), None)


def retrieved_column(table: Table, columns: Columns) -> str:
    """Return the column of what was retrieved: records rather than texts rather than ids."""
    if columns.retrieved in table.columns:
        return columns.retrieved
    if columns.retrieved is not None:
        raise refuse_unknown("retrieved", columns.retrieved, table.names, table.source)
    roles = ("retrieved", "neutral", "text")
    lists = [each for each in table.columns.values() if each.role in roles and each.holds_lists]
    richer = [each for each in lists if any(isinstance(item, Mapping) for item in each.items)]
    matching = richer or [each for each in lists if each.holds_texts] or lists
    names = [each.name for each in matching]
    return one_column(names, "hold the retrieved passages", "retrieved", table) or ROW


def are_pieces(data: Mapping[Any, Any]) -> bool:
    """Tell ``{query: [span, …]}`` from documents by query."""
    lists = (value for value in islice(data.values(), 100) if isinstance(value, list | tuple))
    first = next(filter(None, lists), None)
    return first is not None and _is_piece(first[0])


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


# --- what they are


def read_piece(item: Any, layout: PairLayout, where: str) -> Piece:
    """Read one piece: a text, a record, or a document of a framework with its metadata."""
    if isinstance(item, str):
        return Piece(None, None, None, item)
    if isinstance(item, tuple | list) and len(item) == 2 and not isinstance(item[1], str):
        return replace(read_piece(item[0], layout, where), number=_number(item[1], where))
    node = value_of(item, "node")
    parts = [item] if node is None else [item, node]
    parts += [value_of(part, name) for part in list(parts) for name in METADATA]
    held = {role: _first(parts, names) for role, names in _FIELDS.items()}
    document, text, number = held["document"], held["text"], held[layout.value]
    start, end = (None if held[role] == "" else held[role] for role in ("start", "end"))
    text = text if isinstance(text, str) else None
    if start is not None and end is None and text is not None:
        end = _number(start, where) + len(text)
    if number is not None:
        number = _number(number, where)
    elif layout.kind == "run" and held["rank"] is not None:
        number = -_number(held["rank"], where)
    document = None if document is None else str(document)
    if start is None and end is None and text is not None:
        return Piece(document, None, None, text, number)
    low, high = (-1.0 if each is None else _number(each, where) for each in (start, end))
    if document is None or not 0 <= low < high <= _FARTHEST or low % 1 or high % 1:
        raise InputError(
            f"{where}: expected a text, or a document with start and end, whole numbers and start "
            f"before end, got {shown(item)}"
        )
    return Piece(document, int(low), int(high), text, number)


def _first(parts: list[Any], names: tuple[str, ...]) -> Any:
    """Return what goes by these names: in a piece itself, in its node, or in its metadata."""
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


def _number(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise InputError(f"{where}: expected a finite number, got {shown(value)}")
    return number
