"""Tables as rows: a row for each document, or a row for each query with its list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cases import are_case_names, find_mark, is_marked, language_code
from rankscope.tables.choosing import Chosen, choose, names_of, query_names
from rankscope.tables.columns import (
    ALIASES,
    NO_QUESTIONS,
    QUERY_ROWS,
    QUESTIONS,
    WEAK_QUESTIONS,
    Columns,
    PairLayout,
    Questions,
    Reading,
    find_name,
    folded,
    rater_columns,
)
from rankscope.tables.documents import is_list
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
from rankscope.tables.table_columns import Column, Table

_COUNTERS = ("", "Unnamed: 0", "index", "level_0", "__index_level_0__")
"""What pandas calls the column that counts the rows, where a file has it."""


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
    asked = replace(given, pieces=pieces is not None)
    rows = _query_rows(table, chosen, asked) if chosen.listed else _flat_rows(table, chosen, given)
    shape = QUERY_ROWS if chosen.listed else "a flat table"
    named = columns.relevant if layout.kind == "qrels" else columns.retrieved
    reading = Reading(
        "a row per piece" if chosen.documents == ROW else shape,
        chosen.query,
        chosen.documents,
        chosen.value or "",
        tuple(table.names),
        id_field=rows.reading.id_field,
        others={} if named else _others(table, chosen),
        doubtful=_doubtful(table, chosen),
    )
    questions = NO_QUESTIONS if columns.query else _questions(table, chosen)
    languages = _languages(table, chosen.query, given.language)
    rows = replace(rows, reading=reading, questions=questions, languages=languages)
    if isinstance(rows, PieceRows) and not given.pieces:
        raise PiecesError(rows)
    return rows


def _others(table: Table, chosen: Chosen) -> dict[str, frozenset[str]]:
    """Return what is in the columns that could be meant instead of the one that was chosen."""
    taken = {*query_names(table.names), chosen.query, chosen.documents, chosen.value}
    free = (each for name, each in table.columns.items() if name not in taken)
    return {each.name: each.first_ids for each in free}


def _doubtful(table: Table, chosen: Chosen) -> tuple[str, ...]:
    """Return the texts that may list several ids, where a row is a query."""
    if chosen.documents == ROW:
        return ()
    texts = table[chosen.documents].doubtful
    is_by_query = not texts or len(set(map(str, table[chosen.query].values))) == table.height
    return texts if is_by_query else ()


def _query_rows(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each query, or for a piece of its documents."""
    is_golden, are_pieces = given.layout.kind == "qrels", chosen.documents == ROW
    listed = given.listed_rows()
    if listed.field == chosen.documents:
        listed.field = None
    mark = find_mark(table.names) if is_golden else None
    nothing = [None] * table.height
    numbers = None if chosen.value is None else table[chosen.value]
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


def _flat_rows(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each document."""
    layout = given.layout
    roles = {"query_id": chosen.query, "doc_id": chosen.documents}
    if chosen.value is not None:
        roles[layout.value] = chosen.value
    for role in layout.optional:
        column = find_name([n for n in table.names if n not in roles.values()], ALIASES[role])
        if column is not None:
            roles[role] = column
    others = [table[name] for name in table.names if name not in roles.values()]
    if chosen.value is None and "rank" not in roles:
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
    if layout.kind == "run" and folded(chosen.value or "").startswith("distance"):
        frame = frame.with_columns(-as_numbers(frame["score"]).cast(pl.Float64))
    is_list = layout.value not in roles
    return with_values(Rows(frame, given.source, layout, line_of=table.line_of, is_list=is_list))


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


def _questions(table: Table, chosen: Chosen) -> Questions:
    """Return what is asked, where it is beside an id."""
    known = (*QUESTIONS, *WEAK_QUESTIONS) if chosen.listed else QUESTIONS
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
