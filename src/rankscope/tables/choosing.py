"""Which column of a table is the query, and which its documents: one, or an error that names both.

Columns are found by their names, and by whether their values can be ids at all: a column of
passages is matched as text only when the caller names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.columns import (
    ALIASES,
    NO_COLUMNS,
    QUERY_IDS,
    QUESTIONS,
    ROW_IDS,
    WEAK_QUESTIONS,
    folded,
    is_weak,
)
from rankscope.tables.documents import is_answer

if TYPE_CHECKING:
    from rankscope.tables.columns import Columns, PairLayout
    from rankscope.tables.table_columns import Column, Table


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of a table for one role; ``listed`` says that a row is a query."""

    query: str
    documents: str
    listed: bool
    value: str | None


def choose(table: Table, layout: PairLayout, columns: Columns) -> Chosen | None:
    """Find the columns of this role; None if the table has none for its documents or its query.

    Raises:
        InputError: two columns could be one of them.
    """
    documents = _documents_column(table, layout, columns)
    if documents is None:
        return None
    listed, is_own = table[documents].holds_lists, table[documents].role == layout.word
    value = _value_column(table, layout, columns, documents, listed=listed)
    query = query_column(
        table, columns, documents, by_row=listed or is_own, has_value=value is not None
    )
    if query is None:
        return None
    one_target = is_own and layout.kind == "qrels" and value is None
    return Chosen(query, documents, listed or one_target, value)


def names_of(names: Sequence[str]) -> str:
    """Return some names for a message."""
    return ", ".join(shown(name, 30) for name in names[:12]) + (", …" if len(names) > 12 else "")


def refuse_unknown(parameter: str, name: str, names: Sequence[str], source: str) -> InputError:
    """Return the error for a column that a table does not have, the nearest names first."""
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    others = [*near, *(each for each in names if each not in near)]
    return InputError(f"{source}: no column {shown(name)} ({parameter}=) among {names_of(others)}")


def one_column(names: Sequence[str], what: str, option: str, table: Table) -> str | None:
    """Return the only name; None if there is none."""
    if len(names) > 1:
        raise InputError(
            f"{table.source}: {shown(names[0], 30)} and {shown(names[1], 30)} could both {what}; "
            f"say which ({option}={names[0]!r})"
        )
    return names[0] if names else None


def query_names(names: Iterable[str], columns: Columns = NO_COLUMNS) -> set[str]:
    """Return the columns that are of the query, and so not of its documents."""
    known = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)}
    return {name for name in names if folded(name) in known or name == columns.query}


# --- documents


def _documents_column(table: Table, layout: PairLayout, columns: Columns) -> str | None:
    word = layout.word
    named = columns.relevant if layout.kind == "qrels" else columns.retrieved
    if named is not None:
        if named not in table.columns:
            raise refuse_unknown(word, named, table.names, table.source)
        return named
    if columns.doc in table.columns:
        return columns.doc
    query = query_names(table.names, columns)
    others = [column for name, column in table.columns.items() if name not in query]
    able = [each for each in others if each.role in (word, "neutral") and each.may_hold_ids]
    mine = [column for column in able if column.role == word]
    neutral = [column for column in able if column.role == "neutral"]
    if layout.kind == "run" and not mine:
        rest = (each for each in others if each.role != "relevant" and each not in neutral)
        neutral += [column for column in rest if any(map(is_answer, column.sample))]
    if neutral and not any(column.holds_lists for column in mine):
        # beside the document of a flat table, numbers under a name of the role are grades
        mine = [column for column in mine if column.says_ids or not column.holds_numbers]
    strong = [column for column in neutral if not is_weak(column.name)]
    names = _ids_among(mine or strong or neutral)
    plain = {folded(name): name for name in names}
    if plain.keys() == {"docid", "docno"}:  # PyTerrier: the number and the name
        return plain["docno"]
    return one_column(names, f"hold the {word} documents", word, table)


def _ids_among(columns: list[Column]) -> list[str]:
    """Leave out what is not the ids: the texts beside them, and the answer in words."""
    if len(columns) < 2:
        return [column.name for column in columns]
    plain = {folded(column.name) for column in columns}
    say_ids = any(column.says_ids for column in columns)
    rest = []
    for column in columns:
        stem = folded(column.name).removesuffix("s")
        are_beside = plain & {f"{stem}id", f"{stem}ids", f"{stem}sids"}
        if not are_beside and not (stem.endswith("context") and say_ids):
            rest.append(column)
    rest = [column for column in rest if column.says_ids or column.holds_lists] or rest
    return [column.name for column in rest]


# --- the query


def query_column(
    table: Table, columns: Columns, documents: str, *, by_row: bool, has_value: bool
) -> str | None:
    """Return the column of the query; None if there is none.

    ``by_row`` says that a row is a query, which an ``id`` then identifies. In a table with a row
    for each document an id counts if it has one text: a case of Quepid has several.
    """
    if columns.query in table.columns:
        return columns.query
    by_folded: dict[str, str] = {}
    for name in table.names:
        if name != documents:
            by_folded.setdefault(folded(name), name)

    def known(names: Iterable[str]) -> list[str]:
        matching = (by_folded[folded(name)] for name in names if folded(name) in by_folded)
        return list(dict.fromkeys(matching))

    ids, rows, texts = known(QUERY_IDS), known(ROW_IDS), known(QUESTIONS)
    if by_row:
        ids = ids or rows[:1] or texts or known(WEAK_QUESTIONS)
    elif texts:
        ids = [name for name in ids if _counts(table, name, texts[0])[0] == 1]
        if not ids and rows:
            ids = [_of_flat(table, rows[0], texts[0], has_value=has_value)]
        ids = ids or texts
    return one_column(ids or rows[:1], "be the query", "query", table)


def _counts(table: Table, name: str, text: str) -> tuple[float, float, bool]:
    """Return how many texts an id has, how many ids a text, and whether every row has its own."""
    columns = [table[each].series for each in (name, text)]
    if columns[0] is not None and columns[1] is not None:
        frame = pl.DataFrame([columns[0].alias("id"), columns[1].alias("text")])
        ids, texts, pairs = frame["id"].n_unique(), frame["text"].n_unique(), frame.n_unique()
    else:
        both = list(zip(*(map(str, table[each].values) for each in (name, text)), strict=True))
        ids, texts, pairs = (len(set(each)) for each in (*zip(*both, strict=True), both))
    return pairs / ids, pairs / texts, ids == table.height


def _of_flat(table: Table, row: str, text: str, *, has_value: bool) -> str:
    """Tell an id of the query from one of the row, in a table with a row for each document."""
    texts_by_id, ids_by_text, is_of_row = _counts(table, row, text)
    if texts_by_id == ids_by_text == 1:
        return row
    if is_of_row and has_value:
        return text
    raise InputError(
        f"{table.source}: {shown(row, 30)} may identify the query or the row, as equal texts in "
        f"{shown(text, 30)} have different ids; say which it is (query={row!r} or query={text!r})"
    )


# --- grades and scores


def _value_column(
    table: Table, layout: PairLayout, columns: Columns, documents: str, *, listed: bool
) -> str | None:
    """Return the column of the grade or score: numbers, or for lists the lists of them."""
    named = columns.grade if layout.kind == "qrels" else columns.score
    if named is not None:
        if named not in table.columns:
            raise refuse_unknown(layout.value, named, table.names, table.source)
        return named
    if listed and layout.kind == "run":
        return None  # lists are best first, whatever the scores beside them
    known = {folded(name) for name in ALIASES[layout.value]}
    others = [name for name in table.names if folded(name) in known and name != documents]
    if listed:
        return next((name for name in others if table[name].lists_numbers), None)
    exact = [name for name in others if folded(name) in (layout.value, f"{layout.value}s")]
    plain = [name for name in others if folded(name) not in ("score", "value")]
    others = exact or (plain if layout.kind == "qrels" and plain else others)
    return one_column(others, f"be the {layout.value}", layout.value, table)


# --- refusing


def refuse_columns(table: Table, layout: PairLayout, columns: Columns) -> InputError:
    """Return the error for a table that lacks a column, with what would make it right."""
    among, word = f"among {names_of(table.names)}", layout.word
    documents = _documents_column(table, layout, columns)
    if documents is not None:
        example = next((name for name in table.names if name != documents), "question")
        return InputError(
            f"{table.source}: no column for the query {among}; say which it is (query={example!r})"
        )
    other = "retrieved" if word == "relevant" else "relevant"
    taken = [name for name, column in table.columns.items() if column.role == other]
    texts = [n for n, column in table.columns.items() if column.role and column.holds_texts]
    texts = texts or [name for name, column in table.columns.items() if column.role == "text"]
    why = ""
    if texts:
        verb = "holds" if len(texts) == 1 else "hold"
        why = f"; {names_of(texts[:3])} {verb} texts, not ids, which count only if named"
    elif taken:
        why = f"; {names_of(taken[:3])} is a name for {other} documents"
    free = [name for name in table.names if name not in query_names(table.names)]
    lists = [name for name in free if table[name].holds_lists]
    example = (texts or taken or lists or free or ["ids"])[0]
    return InputError(
        f"{table.source}: no column for the {word} documents {among}{why}; say which it is "
        f"({word}={example!r})"
    )
