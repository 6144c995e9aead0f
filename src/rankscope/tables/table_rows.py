"""Tables as rows: a row for each document, or a row for each query with its list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cases import are_case_names
from rankscope.tables.choosing import (
    Chosen,
    Table,
    choose,
    is_list,
    is_missing,
    names_of,
    query_names,
    refuse_columns,
)
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
from rankscope.tables.documents import chroma_field, documents_of, is_chroma
from rankscope.tables.filling import Filling, id_or_none, text_series, value_series
from rankscope.tables.language_codes import language_code
from rankscope.tables.pieces import refuse_gold_pieces
from rankscope.tables.rows import Rows, with_values
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

    def filling(self) -> Filling:
        """Return columns to be filled query by query."""
        return Filling(self.layout, self.source)


def table_rows(table: Table, given: Input) -> Rows:
    """Take the columns of a table: a row for each document, or for each query with its list."""
    layout, columns = given.layout, given.columns
    refuse_gold_pieces(table, layout, columns)
    chosen = choose(table, layout, columns)
    if chosen is None:
        raise refuse_columns(table, layout, columns)
    rows = _listed_rows(table, chosen, given) if chosen.listed else _flat_rows(table, chosen, given)
    return replace(
        rows,
        reading=Reading(
            "a table with a row per query" if chosen.listed else "a flat table",
            chosen.query,
            chosen.documents,
            chosen.value or "",
            tuple(table.names),
            chosen.rivals,
        ),
        questions=NO_QUESTIONS if columns.query else _questions(table, chosen),
        languages=_languages(table, chosen, given.language),
    )


def _listed_rows(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each query."""
    layout, name = given.layout, chosen.documents
    filling = given.filling()
    filling.has_lines = table.line_of is not None
    mark = find_mark(table.names) if layout.kind == "qrels" else None
    nothing = [None] * table.height
    marks = nothing if mark is None else table.values(mark)
    numbers = nothing if chosen.value is None else table.values(chosen.value)
    lists = table.values(name)
    field = None if given.columns.doc == name else given.columns.doc
    answers = [each for each in lists if is_chroma(each)]
    field = chroma_field(answers, field, table.source) if answers else field
    cells = zip(table.values(chosen.query), lists, numbers, marks, strict=True)
    for row, (query_id, documents, values, marked) in enumerate(cells):
        filling.row = row if table.line_of is None else table.line_of(row)
        if is_missing(query_id):
            if is_missing(documents):
                continue  # a blank line
            raise filling.error("a query is missing; give every row one")
        where = filling.where(query_id)
        unanswered = mark is not None and is_marked(mark, marked, table.source)
        is_golden = layout.kind == "qrels" and bool(table.records) and not unanswered
        if is_golden and name not in table.records[row]:
            raise InputError(
                f"{where} has no {shown(name)}; list its documents, or mark a question without an "
                "answer (no_answer: true)"
            )
        cell = table.cell(name, documents)
        listed = documents_of([] if cell is None else cell, layout.kind, field, where)
        if not is_missing(values):
            listed = _with_numbers(listed, table.cell("values", values), where)
        is_row = not is_list(cell) and cell is not None
        filling.add(query_id, listed, no_answer=unanswered, is_row=is_row)
    return filling.rows()


def _with_numbers(listed: Any, numbers: Any, where: str) -> Any:
    """Give documents the numbers that are listed beside them, or the one that stands for all."""
    if not is_list(numbers):
        return [(doc_id, numbers if mine is None else mine) for doc_id, mine in listed]
    numbers = list(numbers)
    if len(numbers) != len(listed):
        raise InputError(
            f"{where} has {len(listed)} documents and {len(numbers)} numbers beside them; give one "
            "to each"
        )
    return [(doc_id, number) for (doc_id, _), number in zip(listed, numbers, strict=True)]


def _flat_rows(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each document."""
    layout = given.layout
    roles = {"query_id": chosen.query, "doc_id": chosen.documents}
    if chosen.value is not None:
        roles[layout.value] = chosen.value
    for role in layout.optional:
        others = [name for name in table.names if name not in roles.values()]
        column = find_name(others, ALIASES[role])
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
    kept = ~(_blank(frame["query_id"]) & _blank(frame["doc_id"]))
    line_of = table.line_of
    if not kept.all():  # blank lines of a spreadsheet
        numbers = kept.arg_true()
        frame = frame.filter(kept)
        if line_of is not None:
            lines, line_of = line_of, lambda row: lines(int(numbers[row]))
    rows = Rows(frame, given.source, layout, line_of=line_of, is_list=layout.value not in roles)
    return with_values(rows)


def _column(table: Table, role: str, name: str) -> pl.Series:
    """Return a column; numbers are copied, as those of a pandas frame may change later."""
    column = table.series(name)
    if column is None:
        values = table.values(name)
        if role in ("query_id", "doc_id", "subtopic", "tag"):
            column = text_series(role, [id_or_none(v, role, table.source) for v in values])
        else:
            column = value_series(role, values)
    is_plain = column.dtype.is_numeric() and not column.dtype.is_decimal()
    if role in ("grade", "score") and is_plain and not column.null_count():
        column = pl.Series(role, column.to_numpy().copy(), dtype=column.dtype)
    return column.alias(role)


def _blank(column: pl.Series) -> pl.Series:
    if column.dtype == pl.String:
        return column.is_null() | (column.str.strip_chars() == "")
    return column.is_null()


def _refuse_unnamed_value(table: Table, layout: PairLayout, others: list[str]) -> None:
    """Refuse a flat table without a grade or score in which another column may hold it."""
    of_query = query_names(table.names)
    numbers = [
        name
        for name in others
        if name not in of_query and folded(name) not in ("id", "uid") and table.holds_numbers(name)
    ]
    if numbers:
        raise InputError(
            f"{table.source}: no column for the {layout.value} of a {layout.kind} table, and "
            f"{names_of(numbers)} may hold it; say which it is ({layout.value}={numbers[0]!r}), or "
            "leave the column out"
        )


def _questions(table: Table, chosen: Chosen) -> Questions:
    """Return what is asked, where it is beside an id."""
    known = (*QUESTIONS, *WEAK_QUESTIONS) if chosen.listed else QUESTIONS
    if folded(chosen.query) in {folded(name) for name in known}:
        return NO_QUESTIONS
    column = find_name([n for n in table.names if n != chosen.documents], known)
    if column is None:
        return NO_QUESTIONS
    texts = zip(table.values(chosen.query), table.values(column), strict=True)
    return Questions(column, {str(q): t for q, t in texts if isinstance(t, str)})


def _languages(table: Table, chosen: Chosen, language: str | None) -> dict[str, str]:
    """Return the languages of cases, by query; ``language`` is that of their folder."""
    if not are_case_names(table.names):
        return {}
    column = find_name(table.names, ("language",))
    mine = [None] * table.height if column is None else table.values(column)
    pairs = zip(table.values(chosen.query), mine, strict=True)
    codes = {str(q): language_code(str(code or "")) or language for q, code in pairs}
    return {query_id: code for query_id, code in codes.items() if code}
