"""The shapes in which people have gold and runs: THE list. Nothing else guesses.

Each function below is one shape, with a name and an example: it makes `Rows` of data that has it,
and returns None for all other data. They are tried in the order in which they stand here. What a
file holds and what a caller gives pass through the same list; a file of TREC lines is the only one
that does not (`rankscope.tables.whitespace`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.cases import unwrapped
from rankscope.tables.columns import (
    NO_COLUMNS,
    Columns,
    PairLayout,
    Questions,
    find_name,
    folded,
    role_of_numbered,
)
from rankscope.tables.documents import (
    answers_in,
    is_answer,
    is_document,
    is_list,
    is_plain_document,
)
from rankscope.tables.frames import frame_of
from rankscope.tables.pieces import PieceRows, PiecesError, are_pieces
from rankscope.tables.rows import Rows, id_series, number_series, with_values
from rankscope.tables.table_columns import Table, query_names
from rankscope.tables.table_rows import Input, table_rows
from rankscope.tables.traces import are_traces, retrievals

Read = Callable[[Input], Rows | None]


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which people have gold or a run."""

    name: str
    example: str
    roles: str
    rows: Read


SHAPES: list[Shape] = []
"""All shapes but TREC lines, in the order in which they are tried."""


def shape(name: str, example: str, roles: str = "gold, run") -> Callable[[Read], Read]:
    """Add a function to the list."""

    def add(rows: Read) -> Read:
        SHAPES.append(Shape(name, example, roles, rows))
        return rows

    return add


def pair_rows(
    data: Any,
    layout: PairLayout,
    columns: Columns = NO_COLUMNS,
    *,
    source: str,
    line_of: Callable[[int], int] | None = None,
    language: str | None = None,
    pieces: bool = False,
) -> Rows:
    """Make rows of whatever was given, by the first shape that it has.

    ``line_of`` gives the line of a row in its file, and ``language`` is that of cases which do not
    say theirs. ``pieces`` says that spans or texts were retrieved, and not ids.
    """
    if hasattr(data, "tolist") and hasattr(data, "dtype"):
        data = data.tolist()
    elif hasattr(data, "to_list"):
        data = data.to_list()
    elif isinstance(data, pl.LazyFrame):
        data = data.collect()
    is_plain = isinstance(data, Mapping | Sequence | Set | str | bytes) or _is_frame(data)
    if not is_plain and isinstance(data, Iterable) and not is_answer(data):
        data = list(data)
    if layout.kind == "qrels" or not is_answer(data):
        data = unwrapped(data, layout.kind, source, language)
    given = Input(data, layout, columns, source, line_of, language, pieces)
    role = "gold" if layout.kind == "qrels" else "run"
    for each in SHAPES:
        rows = each.rows(given) if role in each.roles else None
        if rows is not None:
            name = rows.reading.shape or each.name
            return replace(rows, reading=replace(rows.reading, shape=name))
    if _are_all(given, lambda item: isinstance(item, Mapping) or hasattr(item, "_fields")):
        return _rows_of_records(given, data)  # which says what column it lacks
    raise InputError(
        f"{source}: cannot make a {layout.kind} table of {shown(type(data).__name__)}; give "
        "{query: {doc: number}}, {query: [doc, …]}, [[doc, …], …] by position, records, a frame or "
        "a file"
    )


# --- whole tables


@shape("nothing", "{}")
def _nothing(given: Input) -> Rows | None:
    is_empty = isinstance(given.data, Mapping | list | tuple) and not given.data
    return given.listed_rows().rows() if is_empty else None


@shape("a frame", "pandas, Polars, Arrow, Hugging Face Dataset")
def _frame(given: Input) -> Rows | None:
    if not _is_frame(given.data):
        return None
    frame = frame_of(given.data, source=given.source)
    if not frame.width:
        return given.listed_rows().rows()
    return table_rows(Table(frame, given.source, line_of=given.line_of), given)


@shape("traces", "spans of OpenTelemetry, OpenInference or Phoenix", "run")
def _traces(given: Input) -> Rows | None:
    if not are_traces(given.data):
        return None
    listed, texts, source = given.listed_rows(), {}, given.source
    items = given.data if isinstance(given.data, list) else [given.data]
    spans = ((given.line_of(n) if given.line_of else None, item) for n, item in enumerate(items))
    for retrieval in retrievals(spans, source=source, query=given.columns.query):
        place = source if retrieval.line is None else f"{source}:{retrieval.line}"
        listed.add(retrieval.query_id, retrieval.documents, place=place)
        if retrieval.text is not None:
            texts[retrieval.query_id] = retrieval.text
    return replace(listed.rows(), questions=Questions("input", texts))


_MATRIX = (
    ("scores", "similarities", "similarity", "matrix", "score_matrix"),
    ("doc_ids", "ids", "corpus_ids", "document_ids", "chunk_ids"),
    ("query_ids", "qids"),
)
"""What the scores, documents and queries of a matrix are called."""


@shape("a matrix of scores", '{"doc_ids": ["a", "b"], "scores": [[0.9, 0.1]]}', "run")
def _matrix(given: Input) -> Rows | None:
    """Take a row for each query and a column for each document."""
    held = given.data if isinstance(given.data, Mapping) else {}
    parts: list[Any] = [held.get(find_name(held, names)) for names in _MATRIX]
    scores, documents, queries = parts
    if documents is None or not is_list(scores):
        return None
    if not all(is_list(row) and all(map(_is_number, row)) for row in scores):
        return None
    rows, documents = [list(row) for row in scores], list(documents)
    query_ids = range(1, len(rows) + 1) if queries is None else list(queries)
    if len(query_ids) != len(rows) or any(len(row) != len(documents) for row in rows):
        raise InputError(
            f"{given.source}: the matrix has {len(rows)} rows of scores, for {len(query_ids)} "
            f"queries and {len(documents)} documents; give a row to each query, and a score in it "
            "to each document"
        )
    listed = given.listed_rows()
    for query_id, row in zip(query_ids, rows, strict=True):
        listed.add(query_id, list(zip(documents, row, strict=True)))
    read = listed.rows()
    reading = replace(read.reading, by_position=queries is None)
    return replace(read, is_list=False, reading=reading)


@shape("an engine's answer", '{"ids": [["a"]], "distances": [[0.1]]}', "run")
def _answer(given: Input) -> Rows | None:
    return _by_position(given, [given.data]) if is_answer(given.data) else None


# --- records


@shape("columns", '{"question": ["q1"], "expected_ids": [["a"]]}')
def _columns(given: Input) -> Rows | None:
    if not isinstance(given.data, Mapping) or not _has_roles(given.data, given):
        return None
    held = given.data.values()
    if not all(is_list(each) and not isinstance(each, Mapping | Set) for each in held):
        return None
    columns = {str(name): list(values) for name, values in given.data.items()}
    if len(set(map(len, columns.values()))) > 1:
        raise InputError(f"{given.source}: the columns are not equally long")
    return table_rows(Table(columns, given.source), given)


@shape("a record", '{"question": "q1", "expected_ids": ["a"]}')
def _record(given: Input) -> Rows | None:
    """Tell one query's record from documents by query."""
    record = _record_of(given.data) if isinstance(given.data, Mapping) else None
    if not record or not _is_row(record, given):
        return None
    queries = query_names(map(str, record), given.columns) | {"id", "_id", "text"}
    is_one = any(isinstance(record.get(name), str | int) for name in queries)
    return _rows_of_records(given, [given.data]) if is_one else None


@shape("documents by query", '{"q1": {"a": 2}} or {"q1": ["a", "b"]}')
def _by_query(given: Input) -> Rows | None:
    if not isinstance(given.data, Mapping):
        return None
    is_of_pieces = given.layout.kind == "qrels" and are_pieces(given.data)
    listed = replace(given, pieces=given.pieces or is_of_pieces).listed_rows()
    for query_id, documents in given.data.items():
        first = documents[0] if isinstance(documents, list) and documents else None
        has_lists = isinstance(first, list) and (len(first) != 2 or isinstance(first[1], str))
        if has_lists or hasattr(documents, "column_names"):
            raise InputError(
                f"{given.source}: query {shown(query_id)} has a data set, or lists in its list; if "
                "the keys are names of columns, say which is which (query=, "
                f"{given.layout.word}=); of data sets give one"
            )
        listed.add(query_id, documents)
    rows = listed.rows()
    if is_of_pieces and isinstance(rows, PieceRows):
        raise PiecesError(rows)
    return rows


@shape("records", '[{"question": "q1", "retrieved_ids": ["a"]}]')
def _records(given: Input) -> Rows | None:
    records = [_record_of(item) or {} for item in _items(given)[:20]]
    if any(is_answer(record) and not query_names(record) for record in records):
        return None
    are_records = all(records) and any(_is_row(record, given) for record in records)
    return _rows_of_records(given, given.data) if are_records else None


def _rows_of_records(given: Input, items: Sequence[Any]) -> Rows:
    """Take records with names, each a query with its list, or a query and a document."""
    records = []
    for number, item in enumerate(items, start=1):
        record = _record_of(item)
        if record is None:
            raise InputError(
                f"{given.source}, row {number}: expected named fields, got {shown(item)}"
            )
        if is_answer(record):  # with the query beside it
            beside = {name: record[name] for name in query_names(record)}
            answer = {name: value for name, value in record.items() if name not in beside}
            record = {**beside, "retrieved": answer}
        records.append(record)
    return table_rows(Table(records, given.source, line_of=given.line_of), given)


# --- lists


@shape("rows", '[("q1", "a", 2)]')
def _triples(given: Input) -> Rows | None:
    if not _are_all(given, _is_triple):
        return None
    queries, documents, values = zip(*given.data, strict=True)
    columns = [
        id_series("query_id", queries, given.source),
        id_series("doc_id", documents, given.source),
    ]
    if any(value is not None for value in values):
        columns.append(number_series(given.layout.value, values, given.source))
    return with_values(Rows(pl.DataFrame(columns), given.source, given.layout))


def _is_triple(item: object) -> bool:
    """Tell a row (query, document, number) from a list of three documents."""
    return (
        isinstance(item, list | tuple)
        and len(item) == 3
        and not hasattr(item, "_fields")
        and all(isinstance(part, str | int) for part in item[:2])
        and (_is_number(item[2]) or item[2] is None)
        and not _are_whole(item)
    )


@shape("documents of one query", "documents of LangChain, LlamaIndex, Haystack")
def _documents(given: Input) -> Rows | None:
    firsts = [item[0] if isinstance(item, tuple) and item else item for item in _items(given)]
    are_documents = bool(firsts) and all(map(is_document, firsts))
    are_plain = all(
        is_plain_document(item) and not query_names(map(str, item))
        for item in firsts
        if isinstance(item, Mapping)
    )
    return _by_position(given, [given.data]) if are_documents and are_plain else None


@shape("lists by position", '[["a", "b"], ["c"]] or [{"a": 2}, {"c": 1}]')
def _lists(given: Input) -> Rows | None:
    """Take a list for each query, an engine's answer, or a dict: then the keys of dicts differ."""
    items = [item for item in _items(given) if item is not None]
    if items and all(isinstance(item, Mapping) and not is_answer(item) for item in items):
        keys = [frozenset(item) for item in items if item]
        are_numbers = all(_is_number(value) for item in items for value in item.values())
        are_grades = are_numbers and (len(keys) == 1 or len(set(keys)) > 1)
        return _by_position(given, given.data) if are_grades else None
    lists = [item for item in items if given.layout.kind == "qrels" or not is_answer(item)]
    are_lists = all(
        is_list(item) and not isinstance(item, Mapping) and not hasattr(item, "_fields")
        and not is_document(item) for item in lists
    )  # fmt: skip
    if not items or not are_lists:
        return None
    if lists and _may_be_rows(lists):
        raise InputError(
            f"{given.source}: {shown(items[0])} and the others may be rows (query, document, "
            f"{given.layout.value}), documents with numbers, or the documents of a query; give "
            "{query: [doc, …]}, or lists of ids in a list"
        )
    return _by_position(given, given.data)


def _may_be_rows(lists: Sequence[Any]) -> bool:
    """Tell lists that may be rows of a table: of three numbers, pairs, or text and numbers."""
    tuples = [item for item in lists if isinstance(item, tuple)]
    are_pairs = len(tuples) == len(lists) and all(len(item) == 2 for item in tuples)
    return (
        all(len(item) == 3 and _are_whole(item) for item in lists)
        or (are_pairs and not all(is_list(item[0]) for item in tuples))
        or any(len({isinstance(part, str) for part in item}) > 1 for item in tuples)
    )


@shape("targets by position", '["a", "c"]', "gold")
def _targets(given: Input) -> Rows | None:
    if not _are_all(given, lambda item: isinstance(item, str | int) or item is None):
        return None
    return _by_position(given, [[] if item is None else [item] for item in given.data])


# --- what they share


def _by_position(given: Input, items: Iterable[Any]) -> Rows:
    """Take the documents of queries that have no id: they are known by their place."""
    listed, number = given.listed_rows(), 0
    for item in items:
        answers = answers_in(item, given.source)
        for documents in [item] if answers is None else answers:
            number += 1
            listed.add(number, documents)
    rows = listed.rows()
    return replace(rows, reading=replace(rows.reading, by_position=True))


_NESTED = frozenset({"inputs", "outputs", "referenceoutputs", "expectedoutputs", "vars", "example"})
"""Records in a record of LangSmith or promptfoo; their fields stand beside the others."""


def _record_of(data: Any) -> Mapping[str, Any] | None:
    """Return an object as a record: a mapping, a named tuple, a model, an object; else None."""
    if isinstance(data, Mapping):
        flat: dict[str, Any] = {}
        for name, value in data.items():
            if isinstance(value, Mapping) and folded(str(name)) in _NESTED:
                prefix = "" if folded(str(name)) == "example" else f"{name}."
                flat.update({f"{prefix}{inner}": value[inner] for inner in value})
            else:
                flat[name] = value
        return flat
    if hasattr(data, "_asdict"):
        return dict(data._asdict())
    if is_document(data) or isinstance(data, list | tuple | Set | str | int | float):
        return None
    held = data.model_dump() if hasattr(data, "model_dump") else getattr(data, "__dict__", {})
    return {name: value for name, value in held.items() if not name.startswith("_")} or None


def _has_roles(names: Iterable[object], given: Input) -> bool:
    """Tell whether names are those of columns: of a query, and of documents or their numbers."""
    texts = [str(name) for name in islice(names, 200)]
    named = {getattr(given.columns, each) for each in ("relevant", "retrieved", "doc")} - {None}
    has_documents = any(map(role_of_numbered, texts)) or not named.isdisjoint(texts)
    return len(texts) > 1 and has_documents and given.layout.is_header(texts, given.columns)


def _is_row(record: Mapping[str, Any], given: Input) -> bool:
    """Tell a row of a table: by the names of its fields, or by an engine's answer in one."""
    holds_answer = given.layout.kind == "run" and any(map(is_answer, islice(record.values(), 100)))
    return holds_answer or _has_roles(record, given)


def _items(given: Input) -> Sequence[Any]:
    return given.data if isinstance(given.data, list | tuple) else ()


def _are_all(given: Input, test: Callable[[Any], bool]) -> bool:
    """Tell a list whose items are all of a kind, one at least."""
    return bool(_items(given)) and all(map(test, _items(given)))


def _are_whole(items: Iterable[object]) -> bool:
    return all(isinstance(part, str | int) and str(part).isdecimal() for part in items)


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str | bool)


def _is_frame(data: object) -> bool:
    return hasattr(data, "__arrow_c_stream__")
