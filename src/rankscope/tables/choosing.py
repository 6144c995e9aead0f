"""Which column of a table is the query, and which its documents: one, or an error that names both.

Columns are found by their names, and by whether their values can be ids at all: a column of
passages is matched as text only when the caller names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

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
    leave_subject,
    rater_columns,
    role_of,
    says_ids,
)
from rankscope.tables.documents import is_answer

if TYPE_CHECKING:
    from rankscope.tables.columns import Columns, PairLayout
    from rankscope.tables.table_columns import Table

_ASSERTION = re.compile(
    r"(?:not-)?(?:i?contains|equals|starts-with|regex|llm-rubric|similar|javascript|python|is-json|"
    r"factuality|answer-relevance|context-recall)[\w-]*:",
)
"""How an assertion of promptfoo begins, which is no id."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of a table for one role; ``listed`` says that a row is a query."""

    query: str
    documents: str
    listed: bool
    value: str | None
    rivals: tuple[str, ...] = ()


def choose(table: Table, layout: PairLayout, columns: Columns) -> Chosen | None:
    """Find the columns of this role; None if the table has none for its documents or its query.

    Raises:
        InputError: two columns could be one of them.
    """
    documents, rivals = _documents_column(table, layout, columns)
    if documents is None:
        return None
    listed, is_own = table.holds_lists(documents), role_of(documents) == layout.word
    value = _value_column(table, layout, columns, documents, listed=listed)
    query = query_column(
        table, columns, documents, by_row=listed or is_own, has_value=value is not None
    )
    if query is None:
        return None
    one_target = is_own and layout.kind == "qrels" and value is None
    return Chosen(query, documents, listed or one_target, value, rivals)


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


def _documents_column(
    table: Table, layout: PairLayout, columns: Columns
) -> tuple[str | None, tuple[str, ...]]:
    """Return the column of the documents, and others that could be it had it not been named."""
    word = layout.word
    named = columns.relevant if layout.kind == "qrels" else columns.retrieved
    if named is not None:
        if named not in table.names:
            raise refuse_unknown(word, named, table.names, table.source)
        return named, ()
    query = query_names(table.names, columns)
    able = {
        role: [
            n
            for n in table.names
            if role_of(n) == role and n not in query and _may_be_ids(table, n)
        ]
        for role in (word, "neutral")
    }
    mine, neutral = _ids_among(able[word], table), able["neutral"]
    if columns.doc is not None and columns.doc in table.names:
        return columns.doc, tuple(name for name in mine if name != columns.doc)
    if layout.kind == "run" and not mine and table.frame is None:
        mine = [name for name in table.names if any(map(is_answer, table.sample(name)))]
    if neutral and not any(map(table.holds_lists, mine)):
        # beside the document of a flat table, numbers under a name of the role are grades
        mine = [name for name in mine if says_ids(name) or not table.holds_numbers(name)]
    if not mine:
        mine = _ids_among([name for name in neutral if not is_weak(name)] or neutral, table)
        plain = {folded(name): name for name in mine}
        if plain.keys() == {"docid", "docno"}:  # PyTerrier: the number and the name
            mine = [plain["docno"]]
    return one_column(mine, f"hold the {word} documents", word, table), ()


def _may_be_ids(table: Table, name: str) -> bool:
    """Tell whether the values of a column can be ids of documents."""
    if table.holds_texts(name):
        return False
    return not any(
        isinstance(item, bool) or (isinstance(item, str) and _ASSERTION.match(item))
        for item in table.items(name)
    )


def _ids_among(names: list[str], table: Table) -> list[str]:
    """Leave out what is not the ids: the texts beside them, and the answer in words."""
    if len(names) < 2:
        return names
    plain = {folded(name) for name in names}
    rest = []
    for name in names:
        stem = folded(name).removesuffix("s")
        are_beside = plain & {f"{stem}id", f"{stem}ids", f"{stem}sids"}
        if not are_beside and not (stem.endswith("context") and any(map(says_ids, names))):
            rest.append(name)
    return [name for name in rest if says_ids(name) or table.holds_lists(name)] or rest


# --- the query


def query_column(
    table: Table, columns: Columns, documents: str, *, by_row: bool, has_value: bool
) -> str | None:
    """Return the column of the query; None if there is none.

    ``by_row`` says that a row is a query, which an ``id`` then identifies.
    """
    if columns.query is not None and columns.query in table.names:
        return columns.query
    by_folded: dict[str, str] = {}
    for name in table.names:
        if name != documents:
            by_folded.setdefault(folded(name), name)
    leave_subject(by_folded)

    def known(names: Iterable[str]) -> list[str]:
        matching = (by_folded[folded(name)] for name in names if folded(name) in by_folded)
        return list(dict.fromkeys(matching))

    ids, rows, texts = known(QUERY_IDS), known(ROW_IDS), known(QUESTIONS)
    ids = [name for name in ids if folded(name) != "topic"] or ids
    if not by_row and texts:
        ids = [name for name in ids if not _has_several(table, name, texts[0])]
        if not ids and rows:
            ids = [_of_flat(table, rows[0], texts[0], has_value=has_value)]
    if not ids and not (rows and (by_row or not texts)):
        ids = texts or (known(WEAK_QUESTIONS) if by_row else [])
    return one_column(ids or rows[:1], "be the query", "query", table)


def _has_several(table: Table, name: str, text: str) -> bool:
    """Tell an id of something that has several questions, such as a case of Quepid."""
    if table.frame is not None:
        return table.frame[[name, text]].n_unique() > table.frame[name].n_unique()
    pairs = set(zip(map(str, table.values(name)), map(str, table.values(text)), strict=True))
    return len(pairs) > len({each for each, _ in pairs})


def _of_flat(table: Table, row: str, text: str, *, has_value: bool) -> str:
    """Tell an id of the query from one of the row, in a table with a row for each document."""
    ids = [str(value) for value in table.values(row)]
    texts = [str(value) for value in table.values(text)]
    if len(set(ids)) == len(set(texts)) == len(set(zip(ids, texts, strict=True))):
        return row
    if len(set(ids)) == len(ids) and has_value:
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
        if named not in table.names and not listed:
            raise refuse_unknown(layout.value, named, table.names, table.source)
        return named if named in table.names else None
    if listed and layout.kind == "run":
        return None  # lists are best first, whatever the scores beside them
    known = {folded(name) for name in ALIASES[layout.value]}
    others = [name for name in table.names if folded(name) in known and name != documents]
    if listed:
        return next(filter(table.lists_numbers, others), None)
    exact = [name for name in others if folded(name) in (layout.value, f"{layout.value}s")]
    plain = [name for name in others if folded(name) not in ("score", "value")]
    others = exact or (plain if layout.kind == "qrels" and plain else others)
    return one_column(others, f"be the {layout.value}", layout.value, table)


# --- refusing


def refuse_columns(table: Table, layout: PairLayout, columns: Columns) -> InputError:
    """Return the error for a table that lacks a column, with what would make it right."""
    names = [name for name in table.names if name not in rater_columns(table.names)]
    documents, _ = _documents_column(table, layout, columns)
    among = f"among {names_of(names)}"
    if documents is not None:
        example = next((name for name in names if name != documents), "question")
        return InputError(
            f"{table.source}: no column for the query {among}; say which it is (query={example!r})"
        )
    other = "retrieved" if layout.word == "relevant" else "relevant"
    taken = [name for name in names if role_of(name) == other]
    texts = [name for name in names if name in table.texts or role_of(name) == "text"]
    why = ""
    if any(folded(name) == "expected" and name.startswith("__") for name in names):
        why = "; promptfoo's assertions are no ids"
    elif texts:
        verb = "holds" if len(texts) == 1 else "hold"
        why = f"; {names_of(texts[:3])} {verb} texts, not ids, which count only if named"
    elif taken:
        why = f"; {names_of(taken[:3])} is a name for {other} documents"
    free = [n for n in names if n not in query_names(names) and folded(n) not in ("id", "score")]
    lists = [name for name in free if table.holds_lists(name)]
    example = (texts or taken or lists or free or ["ids"])[0]
    return InputError(
        f"{table.source}: no column for the {layout.word} documents {among}{why}; say which it is "
        f"({layout.word}={example!r})"
    )
