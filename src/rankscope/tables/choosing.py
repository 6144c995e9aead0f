"""Which column of a table is the query, and which its documents: one, or an error that names both.

Columns are found by their names, and by whether their values can be ids at all: a column of
passages is matched as text only when the caller names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
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
from rankscope.tables.documents import is_answer, looks_like_id

if TYPE_CHECKING:
    from rankscope.tables.columns import Columns, PairLayout
    from rankscope.tables.table_columns import Column, Table


_OF_ANSWERS = ("score", "value", "final")
"""Beside one expected document to a query, these are figures of an answer and no grades."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of a table for one role; ``listed`` says that a row is a query."""

    query: str
    documents: str
    listed: bool
    value: str | None


def choose(
    table: Table, layout: PairLayout, columns: Columns, *, pieces: str | None = None
) -> Chosen:
    """Find the columns of this role; ``pieces`` is that of its documents, if they are no ids.

    Raises:
        InputError: there is none for the query or the documents, or two could be one of them.
    """
    if pieces is not None:
        query = _query_column(table, columns, pieces, by_row=True, has_value=False)
        return Chosen(query, pieces, listed=True, value=None)
    documents = _documents_column(table, layout, columns)
    listed, is_own = table[documents].holds_lists, table[documents].role == layout.word
    value = _value_column(table, layout, columns, documents, listed=listed)
    by_row, has_value = listed or is_own, value is not None
    query = _query_column(table, columns, documents, by_row=by_row, has_value=has_value)
    if columns.grade is None and layout.kind == "qrels" and folded(value or "") in _OF_ANSWERS:
        has_answers = is_own or any(each.role == "retrieved" for each in table.columns.values())
        if has_answers and len(set(map(str, table[query].values))) == table.height:
            value = None
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
            f"say which ({option}={shown(names[0], 60)})"
        )
    return names[0] if names else None


def query_names(names: Iterable[str], columns: Columns = NO_COLUMNS) -> set[str]:
    """Return the columns that are of the query, and so not of its documents."""
    known = {folded(name) for name in (*QUERY_IDS, *QUESTIONS)}
    return {name for name in names if folded(name) in known or name == columns.query}


# --- documents


def _documents_column(table: Table, layout: PairLayout, columns: Columns) -> str:
    word = layout.word
    named = columns.relevant if layout.kind == "qrels" else columns.retrieved
    if named is not None and named not in table.columns:
        raise refuse_unknown(word, named, table.names, table.source)
    if named is not None or columns.doc in table.columns:
        return named or columns.doc or ""
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
    grades = set(map(folded, ALIASES["grade"]))
    strong = [each for each in neutral if not is_weak(each.name)]
    strong = [n for n in strong if folded(n.name) not in grades or not n.holds_numbers] or strong
    if not mine and not strong:
        neutral = [n for n in neutral if n.holds_lists or not _has_rival(n, others, word)]
    names = _ids_among(mine or strong or neutral)
    plain = {name.casefold(): name for name in names}
    if plain.keys() == {"docid", "docno"}:  # PyTerrier: the number and the name
        return plain["docno"]
    chosen = one_column(names, f"hold the {word} documents", word, table)
    if chosen is None:
        raise _no_documents(table, word)
    return chosen


def _has_rival(weak: Column, others: Iterable[Column], word: str) -> bool:
    """Tell whether another column may be the documents, and this one their source."""
    known = {folded(name) for name in (*ROW_IDS, *chain.from_iterable(ALIASES.values()))}
    rivals = (each for each in others if each is not weak and folded(each.name) not in known)
    mine = (each for each in rivals if each.role in (None, "neutral", word))
    return any(each.holds_lists or not each.holds_numbers for each in mine)


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


def _no_documents(table: Table, word: str) -> InputError:
    """Return the error for a table without the documents, with what would make it right."""
    columns = [each for each in table.columns.values() if each.name not in query_names(table.names)]
    other = "retrieved" if word == "relevant" else "relevant"
    mine = [each for each in columns if each.role != other]
    texts = [each.name for each in mine if each.role and each.holds_texts]
    of_texts = (each for each in mine if each.role == "text")
    texts = texts or [each.name for each in of_texts if not all(map(looks_like_id, each.items))]
    taken = [each.name for each in columns if each.role == other]
    verb, why = "holds" if len(texts) == 1 else "hold", ""
    if texts:
        why = f"; {names_of(texts[:3])} {verb} texts, not ids, which count only if named"
    elif taken:
        then = "and then a run" if word == "retrieved" else "if gold and run are swapped"
        why = (
            f"; {names_of(taken[:1])} is a name for {other} documents: give the gold first, {then}"
        )
    free = [each for each in columns if folded(each.name) not in _ROWS and each.role != other]
    free = [each for each in free if each.says_ids or not each.holds_numbers] or free
    free.sort(key=lambda each: not each.holds_lists)
    example = next((shown(name, 60) for name in (*texts, *(each.name for each in free))), "")
    return InputError(
        f"{table.source}: no column for the {word} documents among {names_of(table.names)}{why}; "
        f"or say which it is ({word}={example})"
    )


_ROWS = frozenset(map(folded, ROW_IDS))


# --- the query


def _query_column(
    table: Table, columns: Columns, documents: str, *, by_row: bool, has_value: bool
) -> str:
    """Return the column of the query.

    ``by_row`` says that a row is a query, which an ``id`` then identifies. In a table with a row
    for each document an id counts if it has one text: a case of Quepid has several.
    """
    if columns.query in table.columns:
        return columns.query
    others = [name for name in table.names if name != documents]
    by_folded = {folded(name): name for name in reversed(others)}

    def known(names: Iterable[str]) -> list[str]:
        matching = map(by_folded.get, map(folded, names))
        return list(dict.fromkeys(name for name in matching if name is not None))

    ids, rows, texts = known(QUERY_IDS), known(ROW_IDS)[:1], known(QUESTIONS)
    if by_row:
        ids = ids or rows or texts or known(WEAK_QUESTIONS)
    elif texts:
        ids = [name for name in ids if _counts(table, name, texts[0])[0] == 1]
        if not ids and rows:
            texts_by_id, ids_by_text, is_of_row = _counts(table, rows[0], texts[0])
            ids = rows if texts_by_id == ids_by_text == 1 else []
            if not ids and not (is_of_row and has_value):
                raise _of_query_or_row(table, rows[0], texts[0])
            ids = ids or texts[:1]
        ids = ids or texts
    query = one_column(ids or rows, "be the query", "query", table)
    if query in rows and not texts and not table[documents].holds_lists:
        for name in others:  # which may be that of the query, under a name that is not known
            is_open = name != query and table[name].role in (None, "text")
            if is_open and _names_groups(table, query, name):
                raise _of_query_or_row(table, query, name)
    if query is None:
        raise InputError(
            f"{table.source}: no column for the query among {names_of(table.names)}; say which it "
            f"is (query={shown((others or ['question'])[0], 60)}), or give {{query: [document, …]}}"
        )
    return query


def _names_groups(table: Table, query: str, name: str) -> bool:
    """Tell whether every row has an id of its own, and rows share the texts of another column."""
    if not any(isinstance(value, str) for value in table[name].sample):
        return False
    texts_by_id, ids_by_text, is_of_row = _counts(table, query, name)
    return is_of_row and texts_by_id == 1 and ids_by_text > 1


def _of_query_or_row(table: Table, row: str, text: str) -> InputError:
    either = f"query={shown(row, 60)} or query={shown(text, 60)}"
    return InputError(
        f"{table.source}: {shown(row, 30)} may identify the query or the row, as equal texts in "
        f"{shown(text, 30)} have different ids; say which it is ({either})"
    )


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
