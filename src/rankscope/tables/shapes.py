"""The shapes in which people have gold and runs: THE list. Nothing else guesses.

A `Shape` has a name, an example, a test of data, and a function that makes `Rows` of it. What a
file holds and what a caller gives pass through the same list, in its order; a file of TREC lines
is the only one that does not (`rankscope.tables.whitespace`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cases import are_case_names, unwrapped
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
    NO_COLUMNS,
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
    role_of,
)
from rankscope.tables.documents import (
    chroma_field,
    chroma_queries,
    documents_of,
    is_answer,
    is_chroma,
    is_document,
)
from rankscope.tables.filling import Filling, id_or_none, text_series, value_series
from rankscope.tables.frames import frame_of
from rankscope.tables.language_codes import language_code
from rankscope.tables.pieces import refuse_gold_dict, refuse_gold_pieces
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
    are_cells: bool = False
    language: str | None = None

    @property
    def field(self) -> str | None:
        """The field of records in lists that is their id, if the caller named it."""
        return self.columns.doc

    def filling(self) -> Filling:
        """Return columns to be filled query by query."""
        return Filling(self.layout, self.source)


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which people have gold or a run."""

    name: str
    example: str
    recognises: Callable[[Input], bool]
    rows: Callable[[Input], Rows]
    roles: str = "gold, run"


def pair_rows(
    data: Any,
    layout: PairLayout,
    columns: Columns = NO_COLUMNS,
    *,
    source: str,
    line_of: Callable[[int], int] | None = None,
    are_cells: bool = False,
    language: str | None = None,
) -> Rows:
    """Make rows of whatever was given, by the first shape that recognises it.

    ``line_of`` gives the line of a row in its file, ``are_cells`` says that values are cells of
    text, and ``language`` is that of cases which do not say theirs.
    """
    is_plain = isinstance(data, Mapping | Sequence | Set | str | bytes) or _is_frame(data)
    if not is_plain and isinstance(data, Iterable) and not is_answer(data):
        data = list(data)
    if layout.kind == "qrels" or not is_answer(data):
        data = unwrapped(data, layout.kind, source, language)
    given = Input(data, layout, columns, source, line_of, are_cells, language)
    for shape in SHAPES:
        if shape.recognises(given):
            rows = shape.rows(given)
            return rows if rows.reading.shape else replace(rows, reading=Reading(shape.name))
    raise InputError(
        f"{source}: cannot make a {layout.kind} table of {shown(type(data).__name__)}; give "
        "{query: {doc: number}}, {query: [doc, …]}, records, a frame or a file"
    )


# --- tables


def _is_frame(data: object) -> bool:
    return (
        hasattr(data, "__arrow_c_stream__")
        or isinstance(data, pl.LazyFrame)
        or (hasattr(data, "column_names") and hasattr(data, "features"))
    ) and not hasattr(data, "to_list")


def _frame_rows(given: Input) -> Rows:
    data = given.data
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if not hasattr(data, "__arrow_c_stream__"):  # a data set of Hugging Face
        return _record_rows(replace(given, data=[dict(row) for row in data]))
    frame = frame_of(data, source=given.source)
    if not frame.width:
        return given.filling().rows()
    return table_rows(
        Table(frame, given.source, line_of=given.line_of, are_cells=given.are_cells), given
    )


def table_rows(table: Table, given: Input) -> Rows:
    """Take the columns of a table: a row for each document, or for each query with its list."""
    layout, columns = given.layout, given.columns
    refuse_gold_pieces(table, layout, columns)
    chosen = choose(table, layout, columns)
    if chosen is None:
        raise refuse_columns(table, layout, columns)
    reading = Reading(
        "a table with a row per query" if chosen.listed else "a flat table",
        chosen.query,
        chosen.documents,
        chosen.value or "",
        tuple(table.names),
        chosen.rivals,
    )
    rows = _listed_rows(table, chosen, given) if chosen.listed else _flat_rows(table, chosen, given)
    return replace(
        rows,
        reading=reading,
        questions=NO_QUESTIONS if columns.query else _questions(table, chosen),
        languages=_languages(table, chosen, given.language),
    )


def _listed_rows(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each query."""
    layout, name = given.layout, chosen.documents
    filling = given.filling()
    mark = find_mark(table.names) if layout.kind == "qrels" else None
    marks = table.values(mark) if mark is not None else [None] * table.height
    numbers = table.values(chosen.value) if chosen.value is not None else [None] * table.height
    field = None if given.field == name else given.field
    cells = zip(table.values(chosen.query), table.values(name), numbers, marks, strict=True)
    for row, (query_id, documents, values, marked) in enumerate(cells):
        filling.row = row if table.line_of is None else table.line_of(row)
        filling.has_lines = table.line_of is not None
        if is_missing(query_id):
            if is_missing(documents):
                continue  # a blank line
            raise filling.error("a query is missing; give every row one")
        unanswered = mark is not None and is_marked(mark, marked, table.source)
        is_golden = layout.kind == "qrels" and bool(table.records) and not unanswered
        if is_golden and name not in table.records[row]:
            raise InputError(
                f"{filling.where(query_id)} has no {shown(name)}; list its documents, or mark a "
                "question without an answer (no_answer: true)"
            )
        cell = table.cell(name, documents)
        single = not is_list(cell) and cell is not None
        listed = documents_of(
            [] if cell is None else cell, layout.kind, field, filling.where(query_id)
        )
        if not is_missing(values):
            listed = _with_numbers(listed, table.cell("values", values), filling, query_id)
        filling.add(query_id, listed, no_answer=unanswered, is_row=single)
    return filling.rows()


def _with_numbers(listed: Any, numbers: Any, filling: Filling, query_id: Any) -> Any:
    """Give documents the numbers that are listed beside them, or the one that stands for all."""
    if not is_list(numbers):
        return [(doc_id, numbers if mine is None else mine) for doc_id, mine in listed]
    numbers = list(numbers)
    if len(numbers) != len(listed):
        raise InputError(
            f"{filling.where(query_id)} has {len(listed)} documents and {len(numbers)} numbers "
            "beside them; give one to each"
        )
    return [(doc_id, number) for (doc_id, _), number in zip(listed, numbers, strict=True)]


def _flat_rows(table: Table, chosen: Chosen, given: Input) -> Rows:
    """Take a row for each document."""
    layout = given.layout
    roles = {"query_id": chosen.query, "doc_id": chosen.documents}
    if chosen.value is not None:
        roles[layout.value] = chosen.value
    taken = set(roles.values())
    for role in layout.optional:
        column = find_name([n for n in table.names if n not in taken], ALIASES[role])
        if column is not None:
            roles[role] = column
            taken.add(column)
    raters = (
        [n for n in rater_columns(table.names) if n not in taken] if layout.kind == "qrels" else []
    )
    if chosen.value is None and "rank" not in roles and not raters:
        _refuse_unnamed_value(table, layout, taken)
    is_far = layout.kind == "run" and folded(chosen.value or "").startswith("distance")
    series = []
    for role, name in {**roles, **{name: name for name in raters}}.items():
        cells = table.series(name)
        if cells is None:
            values = table.values(name)
            if role in ("query_id", "doc_id", "subtopic", "tag"):
                cells = text_series(role, [id_or_none(v, role, table.source) for v in values])
            else:
                cells = value_series(role, values)
        series.append((_copied(cells) if role == layout.value else cells).alias(role))
    frame = pl.DataFrame(series)
    if is_far:
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


def _blank(column: pl.Series) -> pl.Series:
    if column.dtype == pl.String:
        return column.is_null() | (column.str.strip_chars() == "")
    return column.is_null()


def _copied(values: pl.Series) -> pl.Series:
    """Copy numbers: those of a pandas frame, or a NumPy array in any frame, may change later."""
    if not values.dtype.is_numeric() or values.dtype.is_decimal() or values.null_count():
        return values
    return pl.Series(values.name, values.to_numpy().copy(), dtype=values.dtype)


def _refuse_unnamed_value(table: Table, layout: PairLayout, taken: set[str]) -> None:
    """Refuse a flat table without a grade or score in which another column may hold it."""
    others = set(table.names) - taken - query_names(table.names)
    numbers = [
        name
        for name in table.names
        if name in others and folded(name) not in ("id", "uid") and table.holds_numbers(name)
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


# --- mappings


def _is_split_dict(given: Input) -> bool:
    data = given.data
    return (
        isinstance(data, Mapping)
        and bool(data)
        and all(
            hasattr(value, "column_names") and hasattr(value, "features") for value in data.values()
        )
    )


def _refuse_splits(given: Input) -> Rows:
    names = list(given.data)
    raise InputError(
        f"{given.source}: a data set with the splits {names_of(names)}; name one: "
        f"data[{names[0]!r}]"
    )


def _record_of(data: object) -> Mapping[str, Any] | None:
    """Return an object as a record: a mapping, a named tuple, a dataclass, a model; else None."""
    if isinstance(data, Mapping):
        return _flattened(data)
    if hasattr(data, "_asdict"):
        return dict(data._asdict())
    if is_document(data) or isinstance(data, list | tuple | Set | str | int | float):
        return None
    if is_dataclass(data):
        return {each.name: getattr(data, each.name) for each in fields(data)}
    if hasattr(data, "model_dump"):
        return dict(data.model_dump())
    held = getattr(data, "__dict__", None)
    return None if not held else {k: v for k, v in held.items() if not k.startswith("_")}


_NESTED = frozenset({"inputs", "outputs", "referenceoutputs", "expectedoutputs", "vars", "example"})


def _flattened(record: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return a record with the fields of LangSmith's inputs and outputs beside the others."""
    nested = [n for n, v in record.items() if isinstance(v, Mapping) and folded(str(n)) in _NESTED]
    if not nested:
        return record
    flat = {name: value for name, value in record.items() if name not in nested}
    for name in nested:
        prefix = "" if folded(str(name)) == "example" else f"{name}."
        flat.update({f"{prefix}{inner}": value for inner, value in record[name].items()})
    return flat


def _has_roles(names: Iterable[object], given: Input) -> bool:
    """Tell whether names are those of columns: of a query, and of documents or their numbers."""
    texts = [str(name) for name in islice(names, 200)]
    named = {getattr(given.columns, each) for each in ("relevant", "retrieved", "doc")} - {None}
    has_documents = any(map(role_of, texts)) or not named.isdisjoint(texts)
    return len(texts) > 1 and has_documents and given.layout.is_header(texts, given.columns)


def _is_columns(given: Input) -> bool:
    data = given.data
    if not isinstance(data, Mapping) or not data or not _has_roles(data, given):
        return False
    values = list(data.values())
    return all(is_list(value) and not isinstance(value, Mapping | Set) for value in values)


def _column_rows(given: Input) -> Rows:
    names = [str(name) for name in given.data]
    columns = [list(column) for column in given.data.values()]
    if len(set(map(len, columns))) > 1:
        raise InputError(f"{given.source}: the columns are not equally long")
    records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return _record_rows(replace(given, data=records))


def _is_record(given: Input) -> bool:
    """Tell one query's record from documents by query."""
    if not isinstance(given.data, Mapping):
        return False
    is_answered = given.layout.kind == "run" and _answer_in(given.data) is not None
    if not is_answered and not _has_roles(_flattened(given.data), given):
        return False
    queries = query_names([str(name) for name in _flattened(given.data)], given.columns)
    queries |= {name for name in ("id", "_id", "text") if name in given.data}
    record = _flattened(given.data)
    return any(isinstance(record.get(name), str | int) for name in queries)


def _is_matrix(given: Input) -> bool:
    data = given.data
    if given.layout.kind != "run" or not isinstance(data, Mapping):
        return False
    names = {folded(str(name)): name for name in data}
    scores = next((data[names[n]] for n in _MATRIX if n in names), None)
    return _DOC_IDS & names.keys() != set() and _depth(scores) == 2


_MATRIX = ("scores", "similarities", "similarity", "matrix", "scorematrix")
_DOC_IDS = frozenset({"docids", "ids", "corpusids", "documentids", "chunkids"})


def _depth(value: Any) -> int:
    if hasattr(value, "ndim"):
        return int(value.ndim)
    if isinstance(value, list | tuple) and value:
        return 1 + _depth(value[0])
    return 0


def _matrix_rows(given: Input) -> Rows:
    """Take a matrix of scores, a row for each query and a column for each document."""
    names = {folded(str(name)): name for name in given.data}
    scores = next(given.data[names[n]] for n in _MATRIX if n in names)
    doc_ids = list(given.data[names[next(iter(_DOC_IDS & names.keys()))]])
    rows = [list(row) for row in scores]
    queries = next((given.data[names[n]] for n in ("queryids", "qids") if n in names), None)
    query_ids = range(1, len(rows) + 1) if queries is None else list(queries)
    wrong = [len(row) for row in rows if len(row) != len(doc_ids)]
    if wrong or len(query_ids) != len(rows):
        raise InputError(
            f"{given.source}: the matrix has {len(rows)} rows of {(wrong or [len(doc_ids)])[0]} "
            f"scores, for {len(query_ids)} queries and {len(doc_ids)} documents"
        )
    filling = given.filling()
    for query_id, row in zip(query_ids, rows, strict=True):
        filling.add(query_id, list(zip(doc_ids, row, strict=True)))
    return replace(filling.rows(), is_numbered=queries is None, is_list=False)


def _is_records_by_id(given: Input) -> bool:
    """Tell ``{id: record}``, where a record has a field for its documents."""
    if not isinstance(given.data, Mapping):
        return False
    first = next(iter(given.data.values()), None)
    if not isinstance(first, Mapping) or is_answer(first):
        return False
    named = {given.columns.relevant, given.columns.retrieved} & set(first)
    return bool(named) or any(
        role_of(str(name)) is not None and is_list(value) for name, value in first.items()
    )


def _rows_of_records_by_id(given: Input) -> Rows:
    records = []
    for query_id, record in given.data.items():
        if not isinstance(record, Mapping):
            raise InputError(
                f"{given.source}: query {shown(query_id)} has {shown(record)}, no record"
            )
        records.append({"query_id": query_id, **record})
    return _record_rows(replace(given, data=records))


def _mapping_rows(given: Input) -> Rows:
    """Take ``{query: documents}``."""
    refuse_gold_dict(given.data, given.layout, given.source)
    filling = given.filling()
    answers = [value for value in islice(given.data.values(), 1000) if is_chroma(value)]
    field = chroma_field(answers, given.field, given.source) if answers else given.field
    for query_id, documents in given.data.items():
        where = filling.where(query_id)
        if answers and not is_answer(documents) and not isinstance(documents, list | None):
            raise InputError(f"{where} has {shown(documents)}; expected an answer with ids")
        first = documents[0] if isinstance(documents, list) and documents else None
        if isinstance(first, list) and (len(first) != 2 or isinstance(first[1], str)):
            raise InputError(
                f"{where} has lists in its list; if the keys are names of columns, say which is "
                f"which (query=, {given.layout.word}=)"
            )
        if filling.by_subtopic(documents):
            filling.add_subtopics(query_id, documents)
        else:
            is_dict = isinstance(documents, Mapping) and not is_answer(documents)
            held = [] if documents is None else documents  # a call that failed
            listed = documents_of(held, given.layout.kind, field, where)
            filling.add(query_id, listed, ordered=not is_dict)
    return filling.rows()


# --- answers and lists


def _answer_rows(given: Input) -> Rows:
    """Take what an engine answered to one query, or Chroma to several: by position."""
    return _rows_by_position(given, [given.data])


def _rows_by_position(given: Input, lists: Iterable[Any]) -> Rows:
    """Take the documents of queries that have no id: they are known by their place."""
    queries: list[Any] = []
    for value in lists:
        queries += chroma_queries(value, given.source) if is_chroma(value) else [value]
    chroma = [value for value in queries if is_chroma(value) or _is_part(value)]
    field = chroma_field(chroma, given.field, given.source) if chroma else given.field
    filling = given.filling()
    for number, value in enumerate(queries, start=1):
        where = f"{given.source}: query {number}"
        whole = {**value, "metadatas": value.get("metadatas")} if _is_part(value) else value
        filling.add(number, documents_of(whole, given.layout.kind, field, where))
    return replace(filling.rows(), is_numbered=True)


def _is_part(value: object) -> bool:
    """Tell one query's part of a Chroma answer."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and set(value) <= {"ids", "metadatas", "distances"}
        and all(isinstance(v, list) for v in value.values())
    )


def _listed(given: Input) -> Sequence[Any]:
    """Return the items of a list, or of something that can become one; none of anything else."""
    data = given.data
    if hasattr(data, "tolist") and hasattr(data, "dtype"):
        return list(data.tolist())
    if hasattr(data, "to_list"):
        return list(data.to_list())
    return data if isinstance(data, list | tuple) else ()


def _answer_in(record: object) -> str | None:
    """Return the field of a record that holds an engine's answer."""
    if not isinstance(record, Mapping) or len(record) > 100:
        return None
    held = [name for name in record if isinstance(name, str) and is_answer(record[name])]
    known = (
        name
        for name in held
        if role_of(name) == "retrieved" or name in ("result", "answer", "response")
    )
    return next(known, None)


def _are_answers(given: Input) -> bool:
    items = _listed(given)
    if any(isinstance(item, Mapping) and query_names(list(item)) for item in items[:10]):
        return False
    return any(map(is_answer, items[:10])) and all(
        item is None or is_answer(item) or isinstance(item, list) for item in items
    )


def _are_records(given: Input) -> bool:
    items = _listed(given)
    if not items:
        return False
    records = [_record_of(item) for item in items[:20]]
    return all(record is not None for record in records) and any(
        _has_roles(record, given) or _answer_in(record) is not None for record in records if record
    )


def _record_rows(given: Input) -> Rows:
    """Take records with names, each a query with its list, or a query and a document."""
    records = []
    for number, item in enumerate(_listed(given), start=1):
        record = _record_of(item)
        if record is None:
            raise InputError(
                f"{given.source}, row {number}: expected named fields, got {shown(item)}"
            )
        asked = query_names(list(record)) if is_answer(record) else ()
        if asked:  # the answer and the query side by side
            answer = {name: value for name, value in record.items() if name not in asked}
            record = {**{name: record[name] for name in asked}, "answer": answer}
        records.append(record)
    held = next((name for name in map(_answer_in, records[:20]) if name is not None), None)
    if held is not None and given.layout.kind == "run":
        return _rows_of_answered_records(records, held, given)
    return table_rows(
        Table(records, given.source, line_of=given.line_of, are_cells=given.are_cells), given
    )


def _rows_of_answered_records(
    records: Sequence[Mapping[str, Any]], held: str, given: Input
) -> Rows:
    """Take records with a query and an engine's answer to it."""
    others = [{n: v for n, v in record.items() if n != held} for record in records]
    answers = [record.get(held) for record in records]
    names = [name for record in others for name in record]
    known = ("query_id", "case_id", "id", "_id", *ALIASES["query_id"], "text")
    query = (
        given.columns.query
        if given.columns.query in names
        else find_name(list(dict.fromkeys(names)), known)
    )
    if query is None:
        return _rows_by_position(given, [answer or [] for answer in answers])
    seen: set[Any] = set()
    for number, record in enumerate(others, start=1):
        query_id = record.get(query)
        if query_id is None or query_id in seen:
            problem = f"has no {query}" if query_id is None else f"{shown(query_id)} appears twice"
            raise InputError(f"{given.source}, item {number}: {problem}; give each its own")
        seen.add(query_id)
    rows = _mapping_rows(
        replace(given, data={r[query]: a for r, a in zip(others, answers, strict=True)})
    )
    text = find_name(list(dict.fromkeys(names)), (*QUESTIONS, *WEAK_QUESTIONS))
    texts = {} if text in (None, query) else {str(r[query]): str(r.get(text)) for r in others}
    reading = Reading("records with an engine's answer", query, held, "", tuple(names))
    return replace(
        rows, questions=Questions(text or "", texts) if texts else NO_QUESTIONS, reading=reading
    )


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str | bool)


def _is_triple(item: object) -> bool:
    """Tell a row (query, document, number) from a list of three documents."""
    return (
        isinstance(item, list | tuple)
        and len(item) == 3
        and isinstance(item[0], str | int)
        and isinstance(item[1], str | int)
        and (_is_number(item[2]) or item[2] is None)
        and not all(isinstance(part, int) or str(part).isdecimal() for part in item)
    )


def _are_triples(given: Input) -> bool:
    items = _listed(given)
    return bool(items) and all(map(_is_triple, items))


def _triple_rows(given: Input) -> Rows:
    columns = list(zip(*(_listed(given)), strict=True))
    ids = [
        [id_or_none(v, role, given.source) for v in column]
        for role, column in zip(("query_id", "doc_id"), columns, strict=False)
    ]
    frame = pl.DataFrame(
        [
            text_series("query_id", ids[0]),
            text_series("doc_id", ids[1]),
            value_series(given.layout.value, columns[2]),
        ]
    )
    if all(value is None for value in columns[2]):
        frame = frame.drop(given.layout.value)
    return with_values(Rows(frame, given.source, given.layout))


def _are_lists(given: Input) -> bool:
    items = _listed(given)
    return any(item is not None for item in items) and all(
        item is None or (is_list(item) and not is_document(item) and _record_like(item) is None)
        for item in items
    )


def _record_like(item: object) -> object:
    return item if isinstance(item, Mapping) or hasattr(item, "_fields") else None


def _list_rows(given: Input) -> Rows:
    """Take a list for each query, by position."""
    items = _listed(given)
    if all(
        isinstance(item, list | tuple) and len(item) == 3 and _are_whole(item) for item in items
    ):
        raise InputError(
            f"{given.source}: lists of three whole numbers, such as {shown(items[0])}, may be rows "
            f"(query, document, {given.layout.value}) or the documents of a query; give "
            "{query: [doc, …]}"
        )
    if all(isinstance(item, tuple) and len(item) == 2 for item in items) and not all(
        is_list(item[0]) for item in items
    ):
        raise InputError(
            f"{given.source}: tuples of two, such as {shown(items[0])}, may be rows (query, "
            "document), documents with numbers, or the documents of a query; give "
            "{query: [doc, …]}, or lists of documents in lists"
        )
    if any(map(_is_mixed, items)):
        raise InputError(
            f"{given.source}: {shown(items[0])} mixes text and numbers; give rows (query, "
            f"document, {given.layout.value}), or lists of ids"
        )
    return _rows_by_position(given, [[] if item is None else item for item in items])


def _is_mixed(item: object) -> bool:
    """Tell a tuple of texts and numbers, which may be a row."""
    return isinstance(item, tuple) and len({isinstance(part, str) for part in item}) > 1


def _are_whole(items: Iterable[object]) -> bool:
    return all(isinstance(part, str | int) and str(part).isdecimal() for part in items)


def _are_graded(given: Input) -> bool:
    """Tell ``[{doc: number, …}, …]``, by position, from records: their keys differ."""
    items = _listed(given)
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    keys = [frozenset(item) for item in items if item]
    numbers = all(_is_number(value) for item in items for value in item.values())
    return numbers and bool(keys) and (len(keys) == 1 or len(set(keys)) > 1)


def _graded_rows(given: Input) -> Rows:
    return _rows_by_position(given, _listed(given))


def _are_ids(given: Input) -> bool:
    items = _listed(given)
    return bool(items) and all(isinstance(item, str | int) or item is None for item in items)


def _target_rows(given: Input) -> Rows:
    """Take one target for each query, by position."""
    if given.layout.kind == "run":
        raise InputError(
            f"{given.source}: a flat list of ids; give a list for each query, best document first: "
            "[[doc, …], …], or {query: [doc, …]}"
        )
    return _rows_by_position(given, [[] if item is None else [item] for item in _listed(given)])


def _are_documents(given: Input) -> bool:
    items = _listed(given)
    return bool(items) and all(
        is_document(item[0] if isinstance(item, tuple) and item else item) for item in items
    )


def _one_query_rows(given: Input) -> Rows:
    return _rows_by_position(given, [_listed(given)])


def _is_set(given: Input) -> bool:
    return isinstance(given.data, Set)


def _refuse_set(given: Input) -> Rows:
    raise InputError(
        f"{given.source}: a set, which has no order; give {{query: {{doc, …}}}}, or "
        "[{doc, …}] for one query"
    )


def _is_empty(given: Input) -> bool:
    return (isinstance(given.data, Mapping | list | tuple)) and not given.data


def _empty_rows(given: Input) -> Rows:
    return given.filling().rows()


def _unknown_records(given: Input) -> bool:
    items = _listed(given)
    return bool(items) and all(isinstance(item, Mapping) for item in items)


SHAPES: tuple[Shape, ...] = (
    Shape("nothing", "{}", _is_empty, _empty_rows),
    Shape(
        "a frame",
        "pandas, Polars, Arrow, Hugging Face Dataset",
        lambda g: _is_frame(g.data),
        _frame_rows,
    ),
    Shape("splits", "a Hugging Face DatasetDict: name one", _is_split_dict, _refuse_splits),
    Shape(
        "a matrix of scores",
        '{"doc_ids": ["a", "b"], "scores": [[0.9, 0.1]]}',
        _is_matrix,
        _matrix_rows,
        "run",
    ),
    Shape(
        "an engine's answer",
        '{"ids": [["a"]], "distances": [[0.1]]}',
        lambda g: is_answer(g.data),
        _answer_rows,
        "run",
    ),
    Shape("columns", '{"question": ["q1"], "expected_ids": [["a"]]}', _is_columns, _column_rows),
    Shape(
        "a record",
        '{"question": "q1", "expected_ids": ["a"]}',
        _is_record,
        lambda g: _record_rows(replace(g, data=[g.data])),
    ),
    Shape(
        "records by id",
        '{"q1": {"expected_ids": ["a"]}}',
        _is_records_by_id,
        _rows_of_records_by_id,
    ),
    Shape(
        "documents by query",
        '{"q1": {"a": 2}} or {"q1": ["a", "b"]}',
        lambda g: isinstance(g.data, Mapping),
        _mapping_rows,
    ),
    Shape("a set", "refused: it has no order", _is_set, _refuse_set),
    Shape(
        "a list of engines' answers",
        '[{"hits": {"hits": [{"_id": "a"}]}}]',
        _are_answers,
        lambda g: _rows_by_position(g, _listed(g)),
        "run",
    ),
    Shape("records", '[{"question": "q1", "retrieved_ids": ["a"]}]', _are_records, _record_rows),
    Shape("rows", '[("q1", "a", 2)]', _are_triples, _triple_rows),
    Shape(
        "documents of one query",
        "documents of LangChain, LlamaIndex, Haystack",
        _are_documents,
        _one_query_rows,
    ),
    Shape("lists by position", '[["a", "b"], ["c"]]', _are_lists, _list_rows),
    Shape("grades by position", '[{"a": 2}, {"c": 1}]', _are_graded, _graded_rows),
    Shape("targets by position", '["a", "c"]', _are_ids, _target_rows, "gold"),
    Shape("unknown records", "refused: no known column", _unknown_records, _record_rows),
)
"""All shapes but TREC lines, in the order in which they are tried."""
