"""Tables as rows: a row for each document, or a row for each query with its list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cases import are_case_names, language_code
from rankscope.tables.choosing import Chosen, choose, names_of, query_names, refuse_columns
from rankscope.tables.columns import (
    ALIASES,
    NO_QUESTIONS,
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
from rankscope.tables.documents import is_list, is_missing
from rankscope.tables.pieces import refuse_gold_pieces
from rankscope.tables.rows import ListedRows, Rows, id_series, missing, number_series, with_values
from rankscope.tables.table_columns import Table
from rankscope.tables.unanswered import find_mark, is_marked


@dataclass(frozen=True, slots=True)
class Input:
    """Data for one role, and what the caller said about it."""

    data: Any
    layout: PairLayout
    columns: Columns
    source: str
    line_of: Callable[[int], int] | None = None
    language: str | None = None

    def listed_rows(self) -> ListedRows:
        """Return what gathers rows query by query."""
        return ListedRows(self.layout, self.source, self.columns.doc)


def table_rows(table: Table, given: Input) -> Rows:
    """Take the columns of a table: a row for each document, or for each query with its list."""
    layout, columns = given.layout, given.columns
    refuse_gold_pieces(table, layout, columns)
    chosen = choose(table, layout, columns)
    if chosen is None:
        raise refuse_columns(table, layout, columns)
    rows = (
        _rows_of_lists(table, chosen, given) if chosen.listed else _flat_rows(table, chosen, given)
    )
    reading = Reading(
        "a table with a row per query" if chosen.listed else "a flat table",
        chosen.query,
        chosen.documents,
        chosen.value or "",
        tuple(table.names),
        chosen.rivals,
    )
    questions = NO_QUESTIONS if columns.query else _questions(table, chosen)
    languages = _languages(table, chosen.query, given.language)
    return replace(rows, reading=reading, questions=questions, languages=languages)


def _rows_of_lists(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each query."""
    name, is_golden = chosen.documents, given.layout.kind == "qrels"
    field = None if given.columns.doc == name else given.columns.doc
    listed = ListedRows(given.layout, given.source, field)
    mark = find_mark(table.names) if is_golden else None
    columns = [
        [None] * table.height if column is None else table.values(column)
        for column in (chosen.query, name, chosen.value, mark)
    ]
    for row, (query_id, documents, values, marked) in enumerate(zip(*columns, strict=True)):
        if is_missing(query_id) and table.is_blank(row):
            continue
        place = table.place(row)
        unanswered = mark is not None and is_marked(mark, marked, table.source)
        if is_golden and not unanswered and table.records and name not in table.records[row]:
            raise InputError(
                f"{place}: query {shown(query_id)} has no {shown(name)}; list its documents, or "
                "mark a question without an answer (no_answer: true)"
            )
        cell = (
            [] if isinstance(documents, str) and documents == "[]" else table.cell(name, documents)
        )
        listed.add(
            query_id,
            cell,
            place=place,
            numbers=table.cell("values", values),
            no_answer=unanswered,
            is_row=not is_list(cell) and cell is not None,
        )
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
    others = [name for name in table.names if name not in roles.values()]
    raters = rater_columns(others) if layout.kind == "qrels" else []
    if chosen.value is None and "rank" not in roles and not raters:
        _refuse_unnamed_value(table, layout, others)
    roles.update({name: name for name in raters})
    frame = pl.DataFrame([_column(table, role, name) for role, name in roles.items()])
    if layout.kind == "run" and folded(chosen.value or "").startswith("distance"):
        frame = frame.with_columns(-pl.col("score").cast(pl.Float64, strict=False))
    rows = Rows(
        frame, given.source, layout, line_of=table.line_of, is_list=layout.value not in roles
    )
    blank = missing(frame["query_id"]) & missing(frame["doc_id"])  # lines of a spreadsheet
    return with_values(rows.only((~blank).arg_true()) if blank.any() else rows)


def _column(table: Table, role: str, name: str) -> pl.Series:
    """Return a column; numbers are copied, as those of a pandas frame may change later."""
    column = table.series(name)
    if column is None:
        make = id_series if role in ("query_id", "doc_id", "subtopic", "tag") else number_series
        return make(role, table.values(name), table.source)
    is_plain = column.dtype.is_numeric() and not column.dtype.is_decimal()
    if role in ("grade", "score") and is_plain and not column.null_count():
        column = pl.Series(role, column.to_numpy().copy(), dtype=column.dtype)
    return column.alias(role)


def _refuse_unnamed_value(table: Table, layout: PairLayout, others: list[str]) -> None:
    """Refuse a flat table without a grade or score in which another column may hold it."""
    beside = {*query_names(table.names), *(n for n in others if folded(n) in ("id", "uid"))}
    numbers = [name for name in others if name not in beside and table.holds_numbers(name)]
    if numbers:
        raise InputError(
            f"{table.source}: no column for the {layout.value} of a {layout.kind} table, and "
            f"{names_of(numbers)} may hold it; say which it is ({layout.value}={numbers[0]!r}), or "
            "leave the column out"
        )


def _questions(table: Table, chosen: Chosen) -> Questions:
    """Return what is asked, where it is beside an id."""
    known = (*QUESTIONS, *WEAK_QUESTIONS) if chosen.listed else QUESTIONS
    column = find_name([n for n in table.names if n != chosen.documents], known)
    if column is None or find_name([chosen.query], known) is not None:
        return NO_QUESTIONS
    texts = zip(table.values(chosen.query), table.values(column), strict=True)
    return Questions(column, {str(q): t for q, t in texts if isinstance(t, str)})


def _languages(table: Table, query: str, language: str | None) -> dict[str, str]:
    """Return the languages of cases, by query; ``language`` is that of their folder."""
    if not are_case_names(table.names):
        return {}
    column = find_name(table.names, ("language",))
    mine = [None] * table.height if column is None else table.values(column)
    pairs = zip(table.values(query), mine, strict=True)
    codes = {str(q): language_code(str(code or "")) or language for q, code in pairs}
    return {query_id: code for query_id, code in codes.items() if code}
