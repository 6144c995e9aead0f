"""From a table to rows: which columns are the query and its documents, and what they hold.

A row is a document, or a query with its list. Columns are found by their names, and by whether
their values can be ids at all: a column of passages is matched as text only when the caller names
it. Of two that could both be it none is taken: an error names both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cases import are_case_names, find_mark, is_marked, language_code
from rankscope.tables.columns import (
    ALIASES,
    FLAT,
    NO_QUESTIONS,
    QUERY_IDS,
    QUERY_ROWS,
    QUESTIONS,
    ROW_IDS,
    WEAK_QUESTIONS,
    Columns,
    PairLayout,
    Questions,
    Reading,
    find_name,
    folded,
    is_weak,
    rater_columns,
)
from rankscope.tables.documents import is_answer, is_list, looks_like_id
from rankscope.tables.pieces import (
    ROW,
    ListedPieces,
    PieceRows,
    PiecesError,
    gold_column,
    retrieved_column,
)
from rankscope.tables.rows import (
    ListedRows,
    Rows,
    as_numbers,
    id_series,
    number_series,
    with_values,
)
from rankscope.tables.table_columns import (
    Column,
    Table,
    names_of,
    one_column,
    query_names,
    refuse_unknown,
)

_COUNTERS = ("", "Unnamed: 0", "index", "level_0", "__index_level_0__")
"""What pandas calls the column that counts the rows, where a file has it."""
_COMPARED = 10_000
"""Rows in which ranks and scores are compared."""
_OF_ANSWERS = ("score", "value", "final")
"""Beside one expected document to a query, these are figures of an answer and no grades."""


@dataclass(frozen=True, slots=True)
class Input:
    """Data for one role, and what the caller said about it."""

    data: Any
    layout: PairLayout
    columns: Columns
    source: str
    line_of: Callable[[int], int] | None = None
    language: str | None = None
    pieces: bool = False
    """Whether spans or texts are read, and not ids."""

    def listed_rows(self) -> ListedRows:
        """Return what gathers rows query by query."""
        kind = ListedPieces if self.pieces else ListedRows
        return kind(self.layout, self.source, self.columns.doc)


def table_rows(table: Table, given: Input) -> Rows:
    """Take the columns of a table: a row for each document, or for each query with its list."""
    layout, columns = given.layout, given.columns
    pieces = gold_column(table, columns) if layout.kind == "qrels" else None
    if given.pieces:
        pieces = retrieved_column(table, columns)
    chosen = choose(table, layout, columns, pieces=pieces)
    if chosen.shape == FLAT:
        rows = _flat_rows(table, chosen, given)
    else:
        rows = _query_rows(table, chosen, replace(given, pieces=pieces is not None))
    named = columns.relevant if layout.kind == "qrels" else columns.retrieved
    reading = replace(
        chosen,
        names=tuple(table.names),
        id_field=rows.reading.id_field,
        others={} if named else _others(table, chosen),
        doubtful=_doubtful(table, chosen),
    )
    is_named = columns.query in table.columns
    questions = NO_QUESTIONS if is_named else _questions(table, chosen)
    languages = _languages(table, chosen.query, given.language)
    rows = replace(rows, reading=reading, questions=questions, languages=languages)
    if isinstance(rows, PieceRows) and not given.pieces:
        raise PiecesError(rows)
    return rows


def _others(table: Table, chosen: Reading) -> dict[str, frozenset[str]]:
    """Return what is in the columns that could be meant instead of the one that was chosen."""
    taken = {*query_names(table.names), chosen.query, chosen.documents, chosen.value}
    free = (each for name, each in table.columns.items() if name not in taken)
    return {each.name: each.first_ids for each in free}


def _doubtful(table: Table, chosen: Reading) -> tuple[str, ...]:
    """Return the texts that may list several ids, where a row is a query."""
    if chosen.documents == ROW:
        return ()
    texts = table[chosen.documents].doubtful
    is_by_query = not texts or len(set(map(str, table[chosen.query].values))) == table.height
    return texts if is_by_query else ()


def _query_rows(table: Table, chosen: Reading, given: Input) -> Rows:
    """Take a row for each query, or for a piece of its documents."""
    is_golden, are_pieces = given.layout.kind == "qrels", chosen.documents == ROW
    listed = given.listed_rows()
    if listed.field == chosen.documents:
        listed.field = None
    mark = find_mark(table.names) if is_golden else None
    nothing = [None] * table.height
    numbers = table[chosen.value] if chosen.value else None
    rows = zip(
        table[chosen.query].values,
        table.records() if are_pieces else table[chosen.documents].values,
        nothing if numbers is None else map(numbers.cell, numbers.values),
        nothing if mark is None else table[mark].values,
        strict=True,
    )
    for row, (query_id, value, beside, marked) in enumerate(rows):
        place = table.place(row)
        unanswered = mark is not None and is_marked(mark, marked, table.source)
        if is_golden and not unanswered and value is None and not given.pieces:
            raise InputError(
                f"{place}: query {shown(query_id)} has no {shown(chosen.documents)}; list its "
                "documents, or mark a question without an answer (no_answer: true)"
            )
        if are_pieces:
            cell, is_row = None if unanswered else value, True
        else:
            cell = listed.cell(table[chosen.documents], value)
            is_row = not is_list(cell) and cell is not None
        listed.add(query_id, cell, place=place, numbers=beside, no_answer=unanswered, is_row=is_row)
    return listed.rows()


def _flat_rows(table: Table, chosen: Reading, given: Input) -> Rows:
    """Take a row for each document."""
    layout = given.layout
    roles = {"query_id": chosen.query, "doc_id": chosen.documents}
    if chosen.value:
        roles[layout.value] = chosen.value
    for role in layout.optional:
        column = find_name([n for n in table.names if n not in roles.values()], ALIASES[role])
        if column is not None:
            roles[role] = column
    others = [table[name] for name in table.names if name not in roles.values()]
    if not chosen.value and "rank" not in roles:
        beside = {folded(name) for name in (*query_names(table.names), "id", "uid", *_COUNTERS)}
        others = [each for each in others if folded(each.name) not in beside]
        numbers = [each.name for each in others if each.holds_numbers]
        if numbers:
            hint = "; combine raters first (convert --raters mean)" * bool(rater_columns(numbers))
            raise InputError(
                f"{table.source}: no column for the {layout.value} of a {layout.kind} table, and "
                f"{names_of(numbers)} may hold it; say which it is "
                f"({layout.value}={shown(numbers[0], 60)}), or leave the column out{hint}"
            )
    frame = pl.DataFrame([_series(table[name], role, table.source) for role, name in roles.items()])
    name = folded(chosen.value)
    is_falling = name.startswith("distance") or name in ALIASES["rank"]
    if layout.kind == "run" and is_falling:  # the smaller, the better
        frame = frame.with_columns(-as_numbers(frame["score"]).cast(pl.Float64))
    if "rank" in roles and chosen.value and given.columns.score is None:
        _refuse_opposed(frame, chosen.value, roles["rank"], table.source)
    is_list = layout.value not in roles and "rank" not in roles
    return with_values(Rows(frame, given.source, layout, line_of=table.line_of, is_list=is_list))


def _refuse_opposed(frame: pl.DataFrame, score: str, rank: str, source: str) -> None:
    """Refuse scores that rise down the ranks in every query, as distances do."""
    numbers = [as_numbers(frame[role][:_COMPARED]).cast(pl.Float64) for role in ("rank", "score")]
    ranked = frame[:_COMPARED].select("query_id").with_columns(numbers).sort("query_id", "rank")
    rises = pl.col("score").diff().over("query_id").drop_nulls() > 0
    rising = ranked.select(rises)["score"]
    if len(rising) and rising.all():
        raise InputError(
            f"{source}: {shown(score, 30)} rises down the ranks in {shown(rank, 30)}, as distances "
            f"do; say which counts (score={shown(rank, 60)} or score={shown(score, 60)})"
        )


def _series(column: Column, role: str, source: str) -> pl.Series:
    """Return a column; numbers are copied, as those of a pandas frame may change later."""
    series = column.series
    if series is None:
        make = id_series if role in ("query_id", "doc_id", "subtopic", "tag") else number_series
        return make(role, column.values, source)
    is_plain = series.dtype.is_numeric() and not series.dtype.is_decimal()
    if role in ("grade", "score") and is_plain and not series.null_count():
        series = pl.Series(role, series.to_numpy().copy(), dtype=series.dtype)
    return series.alias(role)


def _questions(table: Table, chosen: Reading) -> Questions:
    """Return what is asked, where it is beside an id."""
    known = QUESTIONS if chosen.shape == FLAT else (*QUESTIONS, *WEAK_QUESTIONS)
    column = find_name([n for n in table.names if n != chosen.documents], known)
    if column is None or find_name([chosen.query], known) is not None:
        return NO_QUESTIONS
    texts = zip(table[chosen.query].values, table[column].values, strict=True)
    return Questions(column, {str(q): t for q, t in texts if isinstance(t, str)})


def _languages(table: Table, query: str, language: str | None) -> dict[str, str]:
    """Return the languages of cases, by query; ``language`` is that of their folder."""
    if not are_case_names(table.names):
        return {}
    column = find_name(table.names, ("language",))
    mine = [None] * table.height if column is None else table[column].values
    pairs = zip(table[query].values, mine, strict=True)
    codes = {str(q): language_code(str(code or "")) or language for q, code in pairs}
    return {query_id: code for query_id, code in codes.items() if code}


# --- which columns


def choose(
    table: Table, layout: PairLayout, columns: Columns, *, pieces: str | None = None
) -> Reading:
    """Find the columns of this role; ``pieces`` is that of its documents, if they are no ids.

    Raises:
        InputError: there is none for the query or the documents, or two could be one of them.
    """
    if pieces is not None:
        query = _query_column(table, columns, pieces, by_row=True, has_value=False)
        return Reading("a row per piece" if pieces == ROW else QUERY_ROWS, query, pieces)
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
    return Reading(QUERY_ROWS if listed or one_target else FLAT, query, documents, value or "")


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
    # a label is a document only where nothing else is one
    strong = [each for each in neutral if each.holds_lists or not _names_grade(each.name)]
    strong = [each for each in strong if not is_weak(each.name)] or strong
    if not mine and all(is_weak(each.name) for each in strong):
        rivals = [each for each in others if each not in strong]
        strong = [each for each in strong if each.holds_lists or not _has_rival(rivals, word)]
        neutral = strong
    names = _ids_among(mine or strong or neutral)
    plain = {name.casefold(): name for name in names}
    if plain.keys() == {"docid", "docno"}:  # PyTerrier: the number and the name
        return plain["docno"]
    chosen = one_column(names, f"hold the {word} documents", word, table)
    if chosen is None:
        raise _no_documents(table, word)
    return chosen


def _names_grade(name: str) -> bool:
    return folded(name).removesuffix("s") in map(folded, ALIASES["grade"])


def _has_rival(others: Iterable[Column], word: str) -> bool:
    """Tell whether one of these may be the documents, and not the column that says their source."""
    known = {folded(name) for name in (*ROW_IDS, *chain.from_iterable(ALIASES.values()))}
    rivals = (each for each in others if folded(each.name) not in known)
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
