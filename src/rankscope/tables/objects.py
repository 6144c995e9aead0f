"""Pairs from Python objects: dicts, records, tuples, frames.

What a JSON or Parquet file holds becomes rows here as well. Every function returns `Rows`, not yet
checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.columns import (
    find_columns,
    folded,
    missing_roles,
    rater_columns,
    require_columns,
)
from rankscope.tables.frames import frame_of
from rankscope.tables.ids import id_text
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.tables.columns import PairLayout


def rows_from_object(data: object, layout: PairLayout, *, source: str) -> Rows:
    """Make rows of whatever was given: a mapping, a frame, or an iterable of rows."""
    if isinstance(data, Mapping):
        return rows_from_mapping(data, layout, source=source)
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        return rows_from_frame(data, layout, source=source)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | os.PathLike):
        return rows_from_records(data, layout, source=source)
    raise InputError(
        f"cannot make a {layout.kind} table of {shown(type(data).__name__)}; give a dict "
        "{query_id: {doc_id: value}}, rows, or a frame (to read a file use "
        f"rankscope.read_{layout.kind})"
    )


def rows_from_frame(data: Any, layout: PairLayout, *, source: str) -> Rows:
    """Take the columns of anything with the Arrow PyCapsule interface."""
    frame = frame_of(data, source=source)
    if not frame.width:
        return _Columns(layout, source).rows()
    roles = require_columns(frame.columns, layout, source=source)
    raters = [name for name in rater_columns(frame.columns) if name not in roles.values()]
    chosen = frame.select(*(pl.col(column).alias(role) for role, column in roles.items()), *raters)
    if layout.value in roles:
        chosen = chosen.with_columns(_copied(chosen[layout.value]))
    return Rows(chosen, source, layout)


def _copied(values: pl.Series) -> pl.Series:
    """Copy numbers: those of a pandas frame, or a NumPy array in any frame, may change later.

    Ids become text, and so are copied anyway; a column with nulls is refused later.
    """
    if not values.dtype.is_numeric() or values.dtype.is_decimal() or values.null_count():
        return values
    return pl.Series(values.name, values.to_numpy().copy(), dtype=values.dtype)


def rows_from_mapping(data: Mapping[Any, Any], layout: PairLayout, *, source: str) -> Rows:
    """Take ``{query_id: documents}``.

    Documents are ``{doc_id: value}``, or a list of ids. In a run a list is in rank order (the score
    is minus the rank); in qrels it holds the relevant ones (grade 1), and
    ``{doc_id: {subtopic: grade}}`` gives grades by subtopic. A mapping from the names of columns
    (`query_id`, `doc_id`, …) to lists is recognised, and so is a single record.
    """
    if _is_nested_record(data, layout):
        return rows_from_records([data], layout, source=source)
    if _is_table(data, layout):
        records = zip(*data.values(), strict=True) if _is_columns(data) else [data.values()]
        names = [str(name) for name in data]
        try:
            rows = [dict(zip(names, values, strict=True)) for values in records]
        except ValueError:
            raise InputError(f"{source}: the columns are not equally long") from None
        return rows_from_records(rows, layout, source=source)
    columns = _Columns(layout, source)
    for query_id, documents in data.items():
        columns.add_query(query_id, documents)
    return columns.rows()


def _is_nested_record(data: Mapping[Any, Any], layout: PairLayout) -> bool:
    """Tell whether this is one query's result, and not results by query."""
    names = [str(name) for name in islice(data, 100)]
    nested = _nested_key(names, layout)
    return nested is not None and isinstance(data.get(_query_key(names, layout)), str | int)


def _is_table(data: Mapping[Any, Any], layout: PairLayout) -> bool:
    """Tell whether the keys are names of columns, and not ids of queries."""
    if len(data) < 3 or any(isinstance(value, Mapping) for value in data.values()):
        return False
    return not missing_roles([str(name) for name in islice(data, 100)], layout)


def _is_columns(data: Mapping[Any, Any]) -> bool:
    return all(
        isinstance(values, Iterable) and not isinstance(values, str | bytes)
        for values in data.values()
    )


def rows_from_lines(
    numbered: Iterable[tuple[int, Any]], layout: PairLayout, *, source: str
) -> Rows:
    """Take records with the lines they were read from."""
    lines: list[int] = []

    def records() -> Iterator[Any]:
        for line, record in numbered:
            lines.append(line)
            yield record

    return rows_from_records(records(), layout, source=source, lines=lines)


def rows_from_records(
    records: Iterable[Any], layout: PairLayout, *, source: str, lines: Sequence[int] | None = None
) -> Rows:
    """Take rows: mappings or named tuples by name, objects by attribute, plain tuples by place.

    A plain tuple is ``(query_id, doc_id, value)``. A mapping may instead hold its query's whole
    list under a key such as ``results`` or ``retrieved``.
    """
    remaining = iter(records)
    first = list(islice(remaining, 1))
    records = chain(first, remaining)
    if not first:
        return _Columns(layout, source).rows()
    names = _names_of(first[0], layout)
    if names is None:
        return _rows_from_tuples(records, layout, source)
    if (nested := _nested_key(names, layout)) is not None:
        return _rows_from_nested(records, nested, layout, source)
    roles = require_columns(names, layout, source=source)
    raters = [name for name in rater_columns(names) if name not in roles.values()]
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
    return Rows(pl.DataFrame(series), source, layout, line_of=line_of)


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
        self.seen: set[str] = set()

    def add_query(self, raw_query: object, documents: object) -> None:
        """Append all documents of one query."""
        query_id = _id_text(raw_query, "query_id", self.source)
        if not query_id:
            raise InputError(f"{self.source}: a query_id is missing; give every query one")
        if query_id in self.seen:
            raise InputError(
                f"{self.source}: query {shown(query_id)} appears twice; give each query one list"
            )
        self.seen.add(query_id)
        before = len(self.doc_ids)
        if isinstance(documents, Mapping):
            self._add_mapping(documents)
        elif isinstance(documents, Iterable) and not isinstance(documents, str | bytes):
            if isinstance(documents, Set) and self.layout.kind == "run":
                raise InputError(
                    f"{self.source}: query {shown(query_id)} has a set, which has no order; give "
                    "a list, best document first, or {doc_id: score}"
                )
            for place, item in enumerate(documents, start=1):
                self._add_listed(item, place)
        elif isinstance(documents, str | int):
            self._add_listed(documents, 1)
        else:
            raise InputError(
                f"{self.source}: query {shown(query_id)} has {shown(type(documents).__name__)}; "
                "expected {doc_id: value} or a list of ids"
            )
        self.query_ids += [query_id] * (len(self.doc_ids) - before)
        if len(self.doc_ids) == before:
            self.empty_queries.append(query_id)

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

    def _add_listed(self, item: object, place: int) -> None:
        """Append one of a list: an id, an (id, value) pair, or a record."""
        value: Any = None
        if isinstance(item, Mapping):
            roles = find_columns([str(name) for name in item], self.layout)
            doc_id = item.get(roles.get("doc_id", "id"))
            value = item.get(roles.get(self.layout.value, ""))
            rank = item.get(roles.get("rank", ""))
            value = -rank if value is None and isinstance(rank, int | float) else value
        elif isinstance(item, list | tuple) and len(item) == 2:
            doc_id, value = item
        else:
            doc_id = item
        if value is None:
            value = -place if self.layout.kind == "run" else 1
        self.doc_ids.append(_id_text(doc_id, "doc_id", self.source))
        self.values.append(value)

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
        empty = tuple(self.empty_queries)
        return Rows(pl.DataFrame(series), self.source, self.layout, empty_queries=empty)


def _get(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def _names_of(record: Any, layout: PairLayout) -> list[str] | None:
    """Return the names of a record's values; None for a plain tuple or list."""
    if isinstance(record, Mapping):
        return [str(name) for name in record]
    if hasattr(record, "_fields"):
        return list(record._fields)
    if isinstance(record, list | tuple):
        return None
    names = [name for name in dir(record) if not name.startswith("_")]
    if "query_id" in find_columns(names, layout):
        return names
    raise InputError(
        f"cannot read a row from {shown(type(record).__name__)}; give tuples "
        f"(query_id, doc_id, {layout.value}) or mappings with these names"
    )


def _rows_from_tuples(records: Iterable[Any], layout: PairLayout, source: str) -> Rows:
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
    return columns.rows()


def _nested_key(names: list[str], layout: PairLayout) -> str | None:
    """Return the key that holds a query's list, if a record looks like one query's result."""
    roles = find_columns(names, layout)
    if layout.value in roles or not ("query_id" in roles or "id" in map(folded, names)):
        return None
    by_folded = {folded(name): name for name in names}
    return next((by_folded[folded(key)] for key in layout.lists if folded(key) in by_folded), None)


def _query_key(names: list[str], layout: PairLayout) -> str:
    """Return the key of the id; beside an ``id``, a ``query`` or ``question`` is the text."""
    key = find_columns(names, layout).get("query_id", "id")
    plain = next((name for name in names if folded(name) == "id"), None)
    return plain if plain is not None and folded(key) in ("query", "question", "q", "id") else key


def _rows_from_nested(records: Iterable[Any], nested: str, layout: PairLayout, source: str) -> Rows:
    columns = _Columns(layout, source)
    for record in records:
        query_id = _get(record, _query_key(_names_of(record, layout) or [], layout))
        documents = _get(record, nested)
        columns.add_query(query_id, [] if documents is None else documents)
    return columns.rows()


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
