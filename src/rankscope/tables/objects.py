"""Pairs from Python objects: dicts, records, tuples, frames.

What a JSON or Parquet file holds becomes rows here as well. Every function returns `Rows`, not yet
checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.case_records import (
    LOOKED_AT,
    Case,
    answered_cases,
    cases_in,
    hold_cases,
    read_cases,
    rows_from_cases,
)
from rankscope.tables.cells import MAY_BE_LIST, listed, written_list
from rankscope.tables.chroma import Retrieved, answers_in, hold_answers, read_answers
from rankscope.tables.columns import (
    ALIASES,
    NO_QUESTIONS,
    RUN,
    Questions,
    are_case_names,
    find_columns,
    find_list,
    find_question,
    names_list,
    rater_columns,
    refuse_answers,
    refuse_unnamed_value,
    require_columns,
)
from rankscope.tables.documents import is_document, listed_document
from rankscope.tables.frames import frame_of
from rankscope.tables.ids import id_text
from rankscope.tables.pieces import (
    gold_columns,
    refuse_gold_dict,
    refuse_gold_pieces,
    texts_beside_ids,
)
from rankscope.tables.record_rows import Origin
from rankscope.tables.rows import Rows, with_values
from rankscope.tables.traces import retrievals
from rankscope.tables.unanswered import find_mark, is_marked, refuse_answer
from rankscope.tables.wrapping import unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.tables.columns import PairLayout


def rows_from_object(
    data: object, layout: PairLayout, *, source: str, language: str | None = None
) -> Rows:
    """Make rows of whatever was given: a mapping, a frame, or an iterable of rows or lists.

    ``language`` is that of cases that do not say theirs, as is known from their file's folder.
    """
    if isinstance(data, Mapping):
        return rows_from_mapping(data, layout, source=source, language=language)
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if hasattr(data, "to_list"):  # a series, of which some have an Arrow stream as well
        data = data.to_list()
    if hasattr(data, "__arrow_c_stream__"):
        return rows_from_frame(data, layout, source=source)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | os.PathLike):
        return rows_from_records(data, layout, source=source, language=language)
    raise InputError(
        f"cannot make a {layout.kind} table of {shown(type(data).__name__)}; give a dict "
        "{query_id: {doc_id: value}}, rows, or a frame (to read a file use "
        f"rankscope.read_{layout.kind})"
    )


def rows_from_frame(
    data: Any, layout: PairLayout, *, source: str, language: str | None = None
) -> Rows:
    """Take the columns of anything with the Arrow PyCapsule interface."""
    frame = frame_of(data, source=source)
    if not frame.width:
        return _Columns(layout, source).rows()
    if are_case_names(frame.columns) and hold_cases(frame.head(LOOKED_AT).to_dicts()):
        numbered = enumerate(frame.iter_rows(named=True), start=1)
        cases = read_cases(numbered, Origin(source, "row"), layout, language=language, cells=True)
        return _rows_from_cases(cases, layout, source)
    refuse_gold_pieces(frame.to_dicts, frame.columns, layout, source)

    def holds_list(name: str) -> bool:
        return frame.schema[name].is_nested() or holds_listed(frame[name], layout)

    nested = find_list(frame.columns, layout, holds_list)
    if nested is not None and holds_list(nested[1]):
        return rows_from_cells(frame, nested, layout, source=source)
    if nested is not None:
        refuse_answers(frame[nested[1]], nested[1], layout, source=source)
    roles = require_columns(frame.columns, layout, source=source, nested=nested)
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    raters = [name for name in rater_columns(frame.columns) if name not in roles.values()]
    if nested is None and not raters:
        refuse_unnamed_value(numbers, roles, layout, source=source)
    chosen = frame.select(*(pl.col(column).alias(role) for role, column in roles.items()), *raters)
    if layout.value in roles:
        chosen = chosen.with_columns(_copied(chosen[layout.value]))
    rows = with_values(Rows(chosen, source, layout))
    return (
        rows if nested is None else replace(rows, questions=questions_in(frame, nested[0], layout))
    )


def holds_listed(cells: pl.Series, layout: PairLayout) -> bool:
    """Tell whether a text in a column named as a list is one that is to be taken apart."""
    if cells.dtype != pl.String or not names_list(cells.name, layout):
        return False
    likely = cells.filter(cells.str.contains(MAY_BE_LIST).fill_null(False))
    return any(listed(cell) != cell for cell in likely)


def rows_from_cells(
    frame: pl.DataFrame, nested: tuple[str, str], layout: PairLayout, *, source: str
) -> Rows:
    """Take the columns of queries and of their lists, which may be texts."""
    mark = find_mark(frame.columns)
    column = frame[nested[1]]
    read = listed if names_list(column.name, layout) else written_list
    cells: Iterable[Any] = column
    if column.dtype == pl.String:
        cells = (None if cell is None else read(cell) for cell in column)
        value = find_columns(frame.columns, layout).get(layout.value)
        if value not in (None, *nested) and not column.str.contains(r"^\s*\[|^\s*$").all():
            # rows of ids as in a table of pairs, of which some name several: the number is theirs
            cells = (
                dict.fromkeys([cell] if isinstance(cell, str) else cell, number) if cell else cell
                for cell, number in zip(cells, frame[value], strict=True)
            )
    marks = [] if mark is None else [frame[mark]]
    lists = zip(frame[nested[0]], cells, *marks, strict=True)
    rows = rows_from_lists(lists, layout.of_lists(nested[1]), source=source, mark=mark)
    refuse_answers(rows.frame["doc_id"], nested[1], layout, source=source)
    return replace(rows, questions=questions_in(frame, nested[0], layout))


def questions_in(frame: pl.DataFrame, query: str, layout: PairLayout) -> Questions:
    """Return what is asked in a frame that has the ids of queries too."""
    asked = find_question(frame.columns, query, layout)
    if asked is None or frame.schema[asked] != pl.String:
        return NO_QUESTIONS
    ids = frame[query].cast(pl.String, strict=False)
    return Questions(asked, dict(zip(ids, frame[asked].fill_null(""), strict=True)))


def _copied(values: pl.Series) -> pl.Series:
    """Copy numbers: those of a pandas frame, or a NumPy array in any frame, may change later.

    Ids become text, and so are copied anyway; a column with nulls is refused later.
    """
    if not values.dtype.is_numeric() or values.dtype.is_decimal() or values.null_count():
        return values
    return pl.Series(values.name, values.to_numpy().copy(), dtype=values.dtype)


def _rows_from_cases(cases: list[Case], layout: PairLayout, source: str) -> Rows:
    """Take cases: what they expect, or what was retrieved for them."""
    if layout.kind == "qrels":
        return rows_from_cases(cases, layout, source=source)
    return rows_from_records(answered_cases(cases), layout, source=source)


def _rows_from_answers(answers: Retrieved, layout: PairLayout, source: str) -> Rows:
    """Take what a Chroma collection answered."""
    unnamed = layout.of_lists(layout.keys.get("doc_id", ""))  # whose field was chosen already
    return replace(
        rows_from_lists(answers.lists, unnamed, source=source),
        layout=layout,
        is_numbered=answers.are_numbered,
        questions=Questions(answers.column, answers.texts),
    )


def rows_from_mapping(
    data: Mapping[Any, Any], layout: PairLayout, *, source: str, language: str | None = None
) -> Rows:
    """Take ``{query_id: documents}``.

    Documents are ``{doc_id: value}``, or a list of ids. In a run a list is in rank order (the score
    is minus the rank); in qrels it holds the relevant ones (grade 1), and
    ``{doc_id: {subtopic: grade}}`` gives grades by subtopic. A mapping from the names of columns
    (`query_id`, `doc_id`, …) to lists is recognised, and so are a single record and an object
    around a list of records (see `rankscope.tables.wrapping`).
    """
    held = answers_in(data, layout, source=source)
    if held is not None:
        return _rows_from_answers(held, layout, source)
    cases = cases_in(data, Origin(source, "item"), layout, language=language)
    if cases is not None:
        return _rows_from_cases(cases, layout, source)
    names = [str(name) for name in islice(data, 100)]
    if _is_record(data, names, layout):
        refuse_gold_dict(data, layout, source)
        return rows_from_records([data], layout, source=source)
    table = unwrapped(data, layout)
    if table is not data:
        return rows_from_object(table, layout, source=source)
    refuse_gold_dict(data, layout, source)
    if _is_table(data, names, layout):
        try:
            rows = [
                dict(zip(names, values, strict=True)) for values in zip(*data.values(), strict=True)
            ]
        except ValueError:
            raise InputError(f"{source}: the columns are not equally long") from None
        return rows_from_records(rows, layout, source=source)
    columns = _Columns(layout, source)
    for query_id, documents in data.items():
        columns.add_query(query_id, documents)
    return columns.rows()


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_record(data: Mapping[Any, Any], names: list[str], layout: PairLayout) -> bool:
    """Tell whether this is one query's result or one pair, and not results by query."""
    layout = layout.lenient
    nested = find_list(names, layout, lambda name: _is_list(data.get(name)))
    if nested is not None:
        return isinstance(data.get(nested[0]), str | int)
    roles = find_columns(names, layout)
    return (
        len(data) > 2
        and {"query_id", "doc_id"} <= roles.keys()
        and not any(_is_list(data.get(name)) for name in names)
    )


def _is_table(data: Mapping[Any, Any], names: list[str], layout: PairLayout) -> bool:
    """Tell whether the keys are names of columns, and not ids of queries."""
    if not data or any(isinstance(v, Mapping) or not _is_list(v) for v in data.values()):
        return False
    layout = layout.lenient
    if {"query_id", "doc_id"} <= find_columns(names, layout).keys():
        return True
    nested = find_list(names, layout, lambda name: _is_list(next(iter(data.get(name, ())), None)))
    return nested is not None


def rows_from_lines(
    numbered: Iterable[tuple[int, Any]],
    layout: PairLayout,
    *,
    source: str,
    language: str | None = None,
) -> Rows:
    """Take records with the lines they were read from."""
    lines: list[int] = []

    def records() -> Iterator[Any]:
        for line, record in numbered:
            lines.append(line)
            yield record

    return rows_from_records(records(), layout, source=source, lines=lines, language=language)


def rows_from_records(
    records: Iterable[Any],
    layout: PairLayout,
    *,
    source: str,
    lines: Sequence[int] | None = None,
    language: str | None = None,
) -> Rows:
    """Take rows: mappings or named tuples by name, objects by attribute, plain tuples by place.

    A plain tuple is ``(query_id, doc_id, value)``. A mapping may instead hold its query's whole
    list under a key such as ``results`` or ``retrieved``. Lists of lists are the documents of
    queries that have no id, and a list of documents is that of one such query: they are numbered
    from 1 on.
    """
    remaining = iter(records)
    head = list(islice(remaining, LOOKED_AT))
    if not head:
        return _Columns(layout, source).rows()
    if hold_answers(head):
        answers = read_answers([*head, *remaining], layout, source=source, lines=lines)
        return _rows_from_answers(answers, layout, source)
    if hold_cases(head):
        cases = _listed_cases([*head, *remaining], layout, source, lines, language)
        return _rows_from_cases(cases, layout, source)
    first, remaining = head[:1], chain(head[1:], remaining)
    records = chain(first, remaining)
    names = _names_of(first[0], layout)
    if names is None:
        plain = [item.tolist() if _is_array(item) else item for item in records]
        return _rows_from_sequences(plain, layout, source)
    telling = _names_documents(first[0], layout)
    while not telling and (more := list(islice(remaining, 1))):  # perhaps the first calls failed
        first += more
        telling = _names_documents(more[0], layout)
    records = chain(first, remaining)
    if telling and len(first) > 1:
        names = _names_of(first[-1], layout) or names
        first = first[-1:]
    if texts_beside_ids(names, layout) is not None:
        records = list(records)
    refuse_gold_pieces(lambda: list(records), names, layout, source)
    nested = find_list(names, layout, lambda name: _is_list(_get(first[0], name)))
    if nested is not None:
        return _rows_from_nested(records, nested[1], layout, source, lines)
    if "query_id" not in find_columns(names, layout.lenient) and is_document(first[0]):
        return rows_from_lists(enumerate([list(records)], start=1), layout, source=source)
    roles = require_columns(names, layout, source=source)
    raters = [name for name in rater_columns(names) if name not in roles.values()]
    if not raters:
        numbers = [name for name in names if isinstance(_get(first[0], name), int | float)]
        refuse_unnamed_value(numbers, roles, layout, source=source)
    wanted = {**roles, **{name: name for name in raters}}
    cells: dict[str, list[Any]] = {role: [] for role in wanted}
    for record in records:
        for role, name in wanted.items():
            cells[role].append(_get(record, name))
    series = [
        _text_series(role, [_id_text(value, role, source) for value in values])
        if role in ("query_id", "doc_id", "subtopic", "tag")
        else _value_series(role, values)
        for role, values in cells.items()
    ]
    line_of = None if lines is None else lines.__getitem__
    return with_values(Rows(pl.DataFrame(series), source, layout, line_of=line_of))


def _listed_cases(
    records: list[Any],
    layout: PairLayout,
    source: str,
    lines: Sequence[int] | None,
    language: str | None,
) -> list[Case]:
    """Read records as cases; their places are lines if these are known."""
    places = range(1, len(records) + 1) if lines is None else lines
    origin = Origin(source, "item" if lines is None else "line")
    return read_cases(zip(places, records, strict=True), origin, layout, language=language)


def _names_documents(record: Any, layout: PairLayout) -> bool:
    """Tell whether a record has a field for its document or documents, of whatever kind."""
    if not isinstance(record, Mapping):
        return True
    names = [str(name) for name in record]
    return (
        "doc_id" in find_columns(names, layout.lenient)
        or find_list(names, layout.lenient, lambda name: _is_list(record.get(name))) is not None
        or gold_columns(names, layout) is not None
        or is_document(record)
    )


class _Columns:
    """Columns being filled, query by query."""

    def __init__(self, layout: PairLayout, source: str) -> None:
        self.layout = layout
        self.source = source
        self.query_ids: list[str | None] = []
        self.doc_ids: list[str | None] = []
        self.values: list[Any] = []
        self.subtopics: list[str | None] = []
        self.empty_queries: list[str] = []
        self.no_answer: list[str] = []
        self.seen: set[str] = set()
        self.listed: dict[str, None] | None = {} if layout.kind == "qrels" else None

    def add_query(self, raw_query: object, documents: object, *, no_answer: bool = False) -> None:
        """Append all documents of one query, which may be marked as having no answer."""
        query_id = _id_text(raw_query, "query_id", self.source)
        if not query_id:
            raise InputError(f"{self.source}: a query_id is missing; give every query one")
        if isinstance(documents, str | int):  # a row for each document
            documents = [documents]
        elif query_id in self.seen:
            raise InputError(
                f"{self.source}: query {shown(query_id)} appears twice; give each query one list"
            )
        else:
            self.seen.add(query_id)
        before = len(self.doc_ids)
        if self.listed is not None:
            self.listed[query_id] = None
        if isinstance(documents, Mapping):
            self.listed = None  # with grades, as in any qrels: the order says nothing
            self._add_mapping(documents)
        elif isinstance(documents, Iterable) and not isinstance(documents, str | bytes):
            if isinstance(documents, Set) and self.layout.kind == "run":
                raise InputError(
                    f"{self.source}: query {shown(query_id)} has a set, which has no order; give "
                    "a list, best document first, or {doc_id: score}"
                )
            self._add_list(query_id, documents)
        else:
            raise InputError(
                f"{self.source}: query {shown(query_id)} has {shown(type(documents).__name__)}; "
                "expected {doc_id: value} or a list of ids"
            )
        self.query_ids += [query_id] * (len(self.doc_ids) - before)
        if len(self.doc_ids) == before:
            self.empty_queries.append(query_id)
        if no_answer:
            if any(value != 0 for value in self.values[before:]):
                raise refuse_answer(query_id, self.source)
            self.no_answer.append(query_id)

    def _add_mapping(self, documents: Mapping[Any, Any]) -> None:
        by_subtopic = "subtopic" in self.layout.optional
        for raw_doc, value in documents.items():
            doc_id = _id_text(raw_doc, "doc_id", self.source)
            if by_subtopic and isinstance(value, Mapping):
                for subtopic, grade in value.items():
                    self.doc_ids.append(doc_id)
                    self.values.append(grade)
                    self.subtopics.append(_id_text(subtopic, "subtopic", self.source))
            else:
                self.doc_ids.append(doc_id)
                self.values.append(value)

    def _add_list(self, query_id: str, documents: Iterable[object]) -> None:
        """Append a list: ids, (id, value) pairs, records, or the documents of a framework."""
        is_run = self.layout.kind == "run"
        needs_fields = "doc_id" in self.layout.required
        unscored = 0
        before = len(self.values)
        for place, item in enumerate(documents, start=1):
            doc_id: str | None
            if type(item) is str and not needs_fields:
                doc_id, value = item, None
            else:
                raw_id, value = listed_document(item, self.layout, self.source)
                doc_id = _id_text(raw_id, "doc_id", self.source)
            if value is None:
                unscored += 1
                value = -place if is_run else 1
            self.doc_ids.append(doc_id)
            self.values.append(value)
        if is_run and 0 < unscored < len(self.values) - before:
            raise InputError(
                f"{self.source}: query {shown(query_id)} has {unscored} documents without a score "
                f"among {len(self.values) - before}; give a score to all or none"
            )

    def rows(self) -> Rows:
        """Return what was filled in."""
        series = [
            _text_series("query_id", self.query_ids),
            _text_series("doc_id", self.doc_ids),
            _value_series(self.layout.value, self.values),
        ]
        if self.subtopics:
            if len(self.subtopics) != len(self.doc_ids):
                raise InputError(
                    f"{self.source}: some documents have grades by subtopic and others do not"
                )
            series.append(_text_series("subtopic", self.subtopics))
        empty = _text_series("query_id", self.empty_queries)  # refuses what is not text
        return Rows(
            pl.DataFrame(series),
            self.source,
            self.layout,
            empty_queries=tuple(empty),
            no_answer=tuple(self.no_answer),
            listed=tuple(self.listed or ()),
        )


def _is_array(value: object) -> bool:
    """Tell an array of NumPy, or of whoever follows it, which may not be imported."""
    return hasattr(value, "tolist") and hasattr(value, "dtype")


def _get(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def _names_of(record: Any, layout: PairLayout) -> list[str] | None:
    """Return the names of a record's values; None for a plain tuple or list."""
    if isinstance(record, Mapping):
        return [str(name) for name in record]
    if hasattr(record, "_fields"):
        return list(record._fields)
    if isinstance(record, list | tuple | Set | str | int) or is_document(record):
        return None
    if _is_array(record):
        return None
    names = [name for name in dir(record) if not name.startswith("_")]
    if "query_id" in find_columns(names, layout):
        return names
    raise InputError(
        f"cannot read a row from {shown(type(record).__name__)}; give tuples "
        f"(query_id, doc_id, {layout.value}), mappings with these names, or a list of ids for each "
        "query"
    )


def _rows_from_sequences(records: list[Any], layout: PairLayout, source: str) -> Rows:
    """Take rows ``(query_id, doc_id, value)``, a list for each query, or one query's list.

    Three in a tuple, or two that are text, are a row; in a list, three with a number at the end.
    Lists of three whole numbers may be either, and are refused if there is nothing else.
    """
    if not any(isinstance(item, list | tuple | Set) for item in records) or all(
        _is_scored(item) for item in records
    ):
        return rows_from_lists(enumerate([records], start=1), layout, source=source)
    if all(isinstance(item, tuple) and _is_pair(item) for item in records):
        records = [(*pair, None) for pair in records]
    elif not any(isinstance(item, tuple) or _is_row(item) for item in records):
        if all(_is_three_numbers(item) for item in records):
            raise InputError(
                f"{source}: lists of three whole numbers, such as {shown(records[0])}, may be rows "
                f"(query_id, doc_id, {layout.value}) or the documents of a query; give rows as "
                "tuples, and lists of documents by query: {query_id: [doc_id, …]}"
            )
        return rows_from_lists(enumerate(records, start=1), layout, source=source)
    columns = _Columns(layout, source)
    for number, row in enumerate(records, start=1):
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise InputError(
                f"{source}, row {number}: expected (query_id, doc_id, {layout.value}), "
                f"found {shown(row)}"
            )
        columns.query_ids.append(_id_text(row[0], "query_id", source))
        columns.doc_ids.append(_id_text(row[1], "doc_id", source))
        columns.values.append(row[2])
    rows = columns.rows()
    if all(row[2] is None for row in records):
        rows = with_values(replace(rows, frame=rows.frame.drop(layout.value)))
    return rows


def lists_queries(records: Sequence[Any]) -> bool:
    """Tell rows or lists of several queries from the documents of one."""
    first = next(iter(records), None)
    if hold_answers(records[:1]):
        return True
    if isinstance(first, Mapping) or hasattr(first, "_fields"):
        names = _names_of(first, RUN) or []
        roles = find_columns(names, RUN)
        return (
            "query_id" in roles
            or find_list(names, RUN, lambda n: _is_list(_get(first, n))) is not None
        )
    if not isinstance(first, list | tuple):
        return False
    return not (len(first) == 2 and _is_number(first[1]))


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str)


def _is_scored(item: object) -> bool:
    """Tell whether this is a document with its value."""
    return isinstance(item, tuple) and len(item) == 2 and _is_number(item[1])


def _is_pair(item: tuple[Any, ...]) -> bool:
    return len(item) == 2 and all(isinstance(part, str) for part in item)


def _is_three_numbers(item: object) -> bool:
    """Tell a list of three whole numbers, which may be a row or three documents."""
    return (
        isinstance(item, list)
        and len(item) == 3
        and all(isinstance(part, str | int) and str(part).isdecimal() for part in item)
    )


def _is_row(item: object) -> bool:
    """Tell a row from a list of three documents, which has no number at its end."""
    if not isinstance(item, list) or len(item) != 3 or not isinstance(item[1], str | int):
        return False
    if _is_three_numbers(item):
        return False
    return _is_number(item[2]) or item[2] is None or str(item[2]).lstrip("-").isdecimal()


def rows_from_lists(
    lists: Iterable[tuple[object, ...]],
    layout: PairLayout,
    *,
    source: str,
    mark: str | None = None,
) -> Rows:
    """Take queries with their lists of documents.

    What follows a list is the value of the column ``mark``: whether the query has no answer.
    """
    columns = _Columns(layout, source)
    is_golden = layout.kind == "qrels"
    for query_id, documents, *value in lists:
        marked = bool(value) and is_golden and is_marked(mark or "no_answer", value[0], source)
        columns.add_query(query_id, [] if documents is None else documents, no_answer=marked)
    return columns.rows()


def rows_from_traces(
    values: Iterable[tuple[int | None, Any]], layout: PairLayout, *, source: str
) -> Rows:
    """Take the retrievals of traces; see `rankscope.tables.traces`."""
    columns = _Columns(layout, source)
    query_key = layout.keys.get("query_id")
    for retrieval in retrievals(values, source=source, query_key=query_key):
        columns.source = source if retrieval.line is None else f"{source}:{retrieval.line}"
        columns.add_query(retrieval.query_id, retrieval.documents)
    columns.source = source
    return columns.rows()


def _rows_from_nested(
    records: Iterable[Any],
    usual: str,
    layout: PairLayout,
    source: str,
    lines: Sequence[int] | None,
) -> Rows:
    """Take records with a list each, mostly under the ``usual`` name."""
    columns = _Columns(layout.of_lists(usual), source)
    is_golden = layout.kind == "qrels"
    asked: str | None = None
    texts: dict[str, str] = {}

    def holds_list(name: str) -> bool:
        return _is_list(_get(record, name))

    for number, record in enumerate(records, start=1):
        place = f", record {number}" if lines is None else f":{lines[number - 1]}"
        columns.source = source + place
        names = _names_of(record, layout) or []
        nested = find_list(names, layout, usual.__eq__)
        if nested is None or nested[1] != usual:
            nested = find_list(names, layout, holds_list)
        mark = find_mark(names) if is_golden else None
        unanswered = mark is not None and is_marked(mark, _get(record, mark), columns.source)
        if nested is None:
            query_id = _without_list(names, layout, columns.source, may_be_empty=unanswered)
            columns.add_query(_get(record, query_id), [], no_answer=unanswered)
            continue
        documents = _get(record, nested[1])
        if isinstance(documents, str) and names_list(nested[1], layout):
            documents = listed(documents)
        documents = [] if documents is None else documents
        query_id = _get(record, nested[0])
        columns.add_query(query_id, documents, no_answer=unanswered)
        asked = find_question(names, nested[0], layout) or asked
        if asked is not None and isinstance(text := _get(record, asked), str):
            texts[str(query_id)] = text
    columns.source = source
    rows = replace(columns.rows(), questions=Questions(asked or "", texts))
    refuse_answers(rows.frame["doc_id"], usual, layout, source=source)
    return rows


def _without_list(
    names: Sequence[str], layout: PairLayout, where: str, *, may_be_empty: bool
) -> str:
    """Return the column of the query of a record that has no list, which a question needs."""
    columns = find_list([*names, layout.lists[0]], layout, layout.lists[0].__eq__)
    if columns is None:
        raise InputError(
            f"{where}: no query among the fields {shown(', '.join(names))}; name one of them "
            f"{', '.join(ALIASES['query_id'][:3])}"
        )
    if layout.kind == "qrels" and not may_be_empty:
        raise InputError(
            f"{where}: no list of relevant documents among the fields {shown(', '.join(names))}; "
            f"name it {', '.join(layout.lists[:3])}, or mark a question without an answer "
            "(no_answer: true)"
        )
    return columns[0]


def _id_text(value: object, role: str, source: str) -> str | None:
    """Return an id as text; a missing one stays missing, for the checks to find."""
    if isinstance(value, str) or value is None:
        return value
    try:
        return id_text(value)
    except ValueError as error:
        raise InputError(f"{source}: the {role} is {error}") from None


def _text_series(name: str, values: Sequence[str | None]) -> pl.Series:
    try:
        return pl.Series(name, values, dtype=pl.String)
    except (UnicodeEncodeError, TypeError, pl.exceptions.PolarsError):
        bad = next((text for text in values if text is not None and not _encodable(text)), None)
        raise InputError(
            f"the {name} {shown(bad)} is not valid Unicode text (a lone surrogate)"
        ) from None


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _value_series(name: str, values: Sequence[Any]) -> pl.Series:
    """Return the values as numbers if they all are, else as the text a message can show.

    Polars is not given anything that holds other values: it takes minutes for deeply nested ones.
    """
    kinds = set(map(type, values))
    if kinds == {float}:
        return pl.Series(name, values, dtype=pl.Float64)
    if not any(issubclass(kind, Iterable) and kind is not str for kind in kinds):
        try:
            return pl.Series(name, values, dtype=pl.Int64, strict=True)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass
    if all(hasattr(value, "__float__") for value in values):
        try:
            return pl.Series(name, [float(value) for value in values], dtype=pl.Float64)
        except (TypeError, ValueError, OverflowError):
            pass
    return _text_series(name, [None if value is None else _text(value) for value in values])


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to print such an integer
        return "a number of thousands of digits"
