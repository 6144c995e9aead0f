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
from rankscope.tables.cases import unwrapped
from rankscope.tables.choosing import Table, is_list, names_of, query_names
from rankscope.tables.columns import (
    NO_COLUMNS,
    Columns,
    PairLayout,
    Reading,
    find_name,
    folded,
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
from rankscope.tables.filling import id_or_none, text_series, value_series
from rankscope.tables.frames import frame_of
from rankscope.tables.pieces import refuse_gold_dict
from rankscope.tables.rows import Rows, with_values
from rankscope.tables.table_rows import Input, table_rows


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
    language: str | None = None,
) -> Rows:
    """Make rows of whatever was given, by the first shape that recognises it.

    ``line_of`` gives the line of a row in its file, and ``language`` is that of cases which do not
    say theirs.
    """
    if hasattr(data, "tolist") and hasattr(data, "dtype"):
        data = data.tolist()
    elif hasattr(data, "to_list"):
        data = list(data.to_list())
    is_plain = isinstance(data, Mapping | Sequence | Set | str | bytes) or _is_frame(data)
    if not is_plain and isinstance(data, Iterable) and not is_answer(data):
        data = list(data)
    if layout.kind == "qrels" or not is_answer(data):
        data = unwrapped(data, layout.kind, source, language)
    given = Input(data, layout, columns, source, line_of, language)
    for shape in SHAPES:
        if shape.recognises(given):
            rows = shape.rows(given)
            return rows if rows.reading.shape else replace(rows, reading=Reading(shape.name))
    raise InputError(
        f"{source}: cannot make a {layout.kind} table of {shown(type(data).__name__)}; give "
        "{query: {doc: number}}, {query: [doc, …]}, records, a frame or a file"
    )


def _items(given: Input) -> Sequence[Any]:
    """Return the items of a list; none of anything else."""
    return given.data if isinstance(given.data, list | tuple) else ()


# --- tables


def _is_dataset(data: object) -> bool:
    """Tell a data set of Hugging Face."""
    return hasattr(data, "column_names") and hasattr(data, "features")


def _is_frame(data: object) -> bool:
    return (
        hasattr(data, "__arrow_c_stream__") or isinstance(data, pl.LazyFrame) or _is_dataset(data)
    )


def _frame_rows(given: Input) -> Rows:
    data = given.data
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if not hasattr(data, "__arrow_c_stream__"):
        return _record_rows(replace(given, data=[dict(row) for row in data]))
    frame = frame_of(data, source=given.source)
    if not frame.width:
        return given.filling().rows()
    return table_rows(Table(frame, given.source, line_of=given.line_of), given)


def _is_split_dict(given: Input) -> bool:
    data = given.data
    return isinstance(data, Mapping) and bool(data) and all(map(_is_dataset, data.values()))


def _refuse_splits(given: Input) -> Rows:
    names = list(given.data)
    raise InputError(
        f"{given.source}: a data set with the splits {names_of(names)}; name one: "
        f"data[{names[0]!r}]"
    )


_NESTED = frozenset({"inputs", "outputs", "referenceoutputs", "expectedoutputs", "vars", "example"})


def _record_of(data: object) -> Mapping[str, Any] | None:
    """Return an object as a record: a mapping, a named tuple, a dataclass, a model; else None.

    The fields of LangSmith's inputs and outputs stand beside the others.
    """
    if isinstance(data, Mapping):
        nested = {
            n for n, v in data.items() if isinstance(v, Mapping) and folded(str(n)) in _NESTED
        }
        flat = {name: value for name, value in data.items() if name not in nested}
        for name in nested:
            prefix = "" if folded(str(name)) == "example" else f"{name}."
            flat.update({f"{prefix}{inner}": value for inner, value in data[name].items()})
        return flat if nested else data
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
    return all(is_list(value) and not isinstance(value, Mapping | Set) for value in data.values())


def _column_rows(given: Input) -> Rows:
    names = [str(name) for name in given.data]
    columns = [list(column) for column in given.data.values()]
    if len(set(map(len, columns))) > 1:
        raise InputError(f"{given.source}: the columns are not equally long")
    records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return _record_rows(replace(given, data=records))


def _answer_in(record: object) -> str | None:
    """Return the field of a record that holds an engine's answer."""
    if not isinstance(record, Mapping) or len(record) > 100:
        return None
    for name, value in record.items():
        is_name = isinstance(name, str) and name in ("result", "answer", "response")
        if (is_name or role_of(str(name)) == "retrieved") and is_answer(value):
            return str(name)
    return None


def _is_record(given: Input) -> bool:
    """Tell one query's record from documents by query."""
    if not isinstance(given.data, Mapping):
        return False
    record = _record_of(given.data) or {}
    is_answered = given.layout.kind == "run" and _answer_in(given.data) is not None
    if not is_answered and not _has_roles(record, given):
        return False
    queries = query_names([str(name) for name in record], given.columns) | {"id", "_id", "text"}
    return any(isinstance(record.get(name), str | int) for name in queries)


def _is_records_by_id(given: Input) -> bool:
    """Tell ``{id: record}``, where a record has a field for its documents."""
    first = next(iter(given.data.values()), None) if isinstance(given.data, Mapping) else None
    if not isinstance(first, Mapping) or is_answer(first):
        return False
    named = {given.columns.relevant, given.columns.retrieved} & set(first)
    return bool(named) or any(
        role_of(str(name)) in ("relevant", "retrieved")
        or (role_of(str(name)) is not None and not isinstance(value, Mapping))
        for name, value in first.items()
        if is_list(value)
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


def _are_records(given: Input) -> bool:
    items = _items(given)
    records = [_record_of(item) for item in items[:20]]
    return None not in records and any(
        _has_roles(record, given) or _answer_in(record) is not None for record in records if record
    )


def _record_rows(given: Input) -> Rows:
    """Take records with names, each a query with its list, or a query and a document."""
    records = []
    for number, item in enumerate(given.data, start=1):
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
    held = next(filter(None, map(_answer_in, records[:20])), None)
    if held is not None and given.layout.kind == "run":
        names = [str(name) for record in records for name in record if name != held]
        if not query_names(names, given.columns) and find_name(names, _WEAK_IDS) is None:
            return _rows_by_position(given, [record.get(held) or [] for record in records])
        for number, record in enumerate(records, start=1):
            if held not in record:
                raise InputError(f"{given.source}, item {number}: has no {shown(held)}; give one")
        given = replace(given, columns=replace(given.columns, retrieved=held))
    return table_rows(Table(records, given.source, line_of=given.line_of), given)


_WEAK_IDS = ("id", "_id", "text")


# --- by query


def _mapping_rows(given: Input) -> Rows:
    """Take ``{query: documents}``."""
    refuse_gold_dict(given.data, given.layout, given.source)
    filling, field = given.filling(), given.columns.doc
    answers = [value for value in islice(given.data.values(), 1000) if is_chroma(value)]
    field = chroma_field(answers, field, given.source) if answers else field
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


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str | bool)


def _is_triple(item: object) -> bool:
    """Tell a row (query, document, number) from a list of three documents."""
    return (
        isinstance(item, list | tuple)
        and len(item) == 3
        and all(isinstance(part, str | int) for part in item[:2])
        and (_is_number(item[2]) or item[2] is None)
        and not all(isinstance(part, int) or str(part).isdecimal() for part in item)
    )


def _are_whole(items: Iterable[object]) -> bool:
    return all(isinstance(part, str | int) and str(part).isdecimal() for part in items)


def _are_triples(given: Input) -> bool:
    items = _items(given)
    return bool(items) and all(map(_is_triple, items))


def _triple_rows(given: Input) -> Rows:
    queries, documents, values = zip(*given.data, strict=True)
    columns = [
        text_series(role, [id_or_none(value, role, given.source) for value in column])
        for role, column in (("query_id", queries), ("doc_id", documents))
    ]
    if any(value is not None for value in values):
        columns.append(value_series(given.layout.value, values))
    return with_values(Rows(pl.DataFrame(columns), given.source, given.layout))


# --- by position


_MATRIX = (
    ("scores", "similarities", "similarity", "matrix", "scorematrix"),
    ("docids", "ids", "corpusids", "documentids", "chunkids"),
    ("queryids", "qids"),
)


def _matrix_parts(given: Input) -> list[Any]:
    """Return the scores, documents and queries of a matrix, None for what is not there."""
    held = given.data if isinstance(given.data, Mapping) and given.layout.kind == "run" else {}
    names = {folded(str(name)): value for name, value in held.items()}
    return [next((names[n] for n in known if n in names), None) for known in _MATRIX]


def _is_matrix(given: Input) -> bool:
    scores, documents, _ = _matrix_parts(given)
    return (
        documents is not None
        and is_list(scores)
        and all(is_list(row) and all(map(_is_number, row)) for row in scores)
    )


def _matrix_rows(given: Input) -> Rows:
    """Take a matrix of scores, a row for each query and a column for each document."""
    scores, documents, queries = _matrix_parts(given)
    rows = [list(row) for row in scores]
    query_ids = range(1, len(rows) + 1) if queries is None else list(queries)
    wrong = next((len(row) for row in rows if len(row) != len(documents)), len(documents))
    if wrong != len(documents) or len(query_ids) != len(rows):
        raise InputError(
            f"{given.source}: the matrix has {len(rows)} rows of {wrong} scores, for "
            f"{len(query_ids)} queries and {len(documents)} documents"
        )
    filling = given.filling()
    for query_id, row in zip(query_ids, rows, strict=True):
        filling.add(query_id, list(zip(documents, row, strict=True)))
    return replace(filling.rows(), is_numbered=queries is None, is_list=False)


def _rows_by_position(given: Input, lists: Iterable[Any]) -> Rows:
    """Take the documents of queries that have no id: they are known by their place."""
    queries: list[Any] = []
    for value in lists:
        several = chroma_queries(value, given.source) if is_chroma(value) else [value]
        queries += [{**each, "included": ()} if is_chroma(value) else each for each in several]
    chroma = [value for value in queries if is_chroma(value)]
    field = given.columns.doc
    field = chroma_field(chroma, field, given.source) if chroma else field
    filling = given.filling()
    for number, value in enumerate(queries, start=1):
        where = f"{given.source}: query {number}"
        held = [] if value is None else value
        filling.add(number, documents_of(held, given.layout.kind, field, where))
    return replace(filling.rows(), is_numbered=True)


def _are_answers(given: Input) -> bool:
    items = _items(given)
    if any(isinstance(item, Mapping) and query_names(list(item)) for item in items[:10]):
        return False
    return any(map(is_answer, items[:10])) and all(
        item is None or is_answer(item) or isinstance(item, list) for item in items
    )


def _are_lists(given: Input) -> bool:
    items = _items(given)
    return any(item is not None for item in items) and all(
        item is None
        or (
            is_list(item)
            and not is_document(item)
            and not isinstance(item, Mapping)
            and not hasattr(item, "_fields")
        )
        for item in items
    )


def _list_rows(given: Input) -> Rows:
    """Take a list for each query, by position; what may be rows of a table is refused."""
    items = given.data
    are_triples = all(is_list(item) and len(item) == 3 and _are_whole(item) for item in items)
    are_pairs = all(isinstance(item, tuple) and len(item) == 2 for item in items) and not all(
        is_list(item[0]) for item in items
    )
    are_mixed = any(
        isinstance(item, tuple) and len({isinstance(part, str) for part in item}) > 1
        for item in items
    )
    if are_triples or are_pairs or are_mixed:
        raise InputError(
            f"{given.source}: {shown(items[0])} and the others may be rows (query, document, "
            f"{given.layout.value}), documents with numbers, or the documents of a query; give "
            "{query: [doc, …]}, or lists of ids in a list"
        )
    return _rows_by_position(given, items)


def _are_graded(given: Input) -> bool:
    """Tell ``[{doc: number, …}, …]``, by position, from records: their keys differ."""
    items = _items(given)
    if not items or not all(isinstance(item, Mapping) for item in items):
        return False
    keys = [frozenset(item) for item in items if item]
    numbers = all(_is_number(value) for item in items for value in item.values())
    return numbers and bool(keys) and (len(keys) == 1 or len(set(keys)) > 1)


def _are_ids(given: Input) -> bool:
    items = _items(given)
    return bool(items) and all(isinstance(item, str | int) or item is None for item in items)


def _target_rows(given: Input) -> Rows:
    """Take one target for each query, by position."""
    if given.layout.kind == "run":
        raise InputError(
            f"{given.source}: a flat list of ids; give a list for each query, best document first: "
            "[[doc, …], …], or {query: [doc, …]}"
        )
    return _rows_by_position(given, [[] if item is None else [item] for item in given.data])


def _are_documents(given: Input) -> bool:
    items = _items(given)
    return bool(items) and all(
        is_document(item[0] if isinstance(item, tuple) and item else item) for item in items
    )


def _refuse_set(given: Input) -> Rows:
    raise InputError(
        f"{given.source}: a set, which has no order; give {{query: {{doc, …}}}}, or "
        "[{doc, …}] for one query"
    )


def _unknown_records(given: Input) -> bool:
    items = _items(given)
    return bool(items) and all(isinstance(item, Mapping) for item in items)


SHAPES: tuple[Shape, ...] = (
    Shape(
        "nothing",
        "{}",
        lambda g: isinstance(g.data, Mapping | list | tuple) and not g.data,
        lambda g: g.filling().rows(),
    ),
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
        lambda g: _rows_by_position(g, [g.data]),
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
    Shape("a set", "refused: it has no order", lambda g: isinstance(g.data, Set), _refuse_set),
    Shape(
        "a list of engines' answers",
        '[{"hits": {"hits": [{"_id": "a"}]}}]',
        _are_answers,
        lambda g: _rows_by_position(g, g.data),
        "run",
    ),
    Shape("records", '[{"question": "q1", "retrieved_ids": ["a"]}]', _are_records, _record_rows),
    Shape("rows", '[("q1", "a", 2)]', _are_triples, _triple_rows),
    Shape(
        "documents of one query",
        "documents of LangChain, LlamaIndex, Haystack",
        _are_documents,
        lambda g: _rows_by_position(g, [g.data]),
    ),
    Shape("lists by position", '[["a", "b"], ["c"]]', _are_lists, _list_rows),
    Shape(
        "grades by position",
        '[{"a": 2}, {"c": 1}]',
        _are_graded,
        lambda g: _rows_by_position(g, g.data),
    ),
    Shape("targets by position", '["a", "c"]', _are_ids, _target_rows, "gold"),
    Shape("unknown records", "refused: no known column", _unknown_records, _record_rows),
)
"""All shapes but TREC lines, in the order in which they are tried."""
