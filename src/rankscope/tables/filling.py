"""Columns that are filled query by query, and become `Rows`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.tables.columns import PairLayout
from rankscope.tables.ids import id_text
from rankscope.tables.rows import Rows
from rankscope.tables.unanswered import refuse_answer


class Filling:
    """Pairs being gathered. ``row`` is the place of the query at hand, for messages."""

    def __init__(self, layout: PairLayout, source: str) -> None:
        self.layout, self.source = layout, source
        self.row = -1
        self.has_lines = False
        self.query_ids: list[str | None] = []
        self.doc_ids: list[str | None] = []
        self.values: list[Any] = []
        self.subtopics: list[str | None] = []
        self.queries: dict[str, int] = {}  # how many documents each has, in order
        self.no_answer: list[str] = []
        self.is_ordered = True

    def _place(self) -> str:
        if self.row < 0:
            return self.source
        return (
            f"{self.source}:{self.row}"
            if self.has_lines
            else f"{self.source}, record {self.row + 1}"
        )

    def where(self, query_id: object) -> str:
        """Return the place of a query for a message."""
        return f"{self._place()}: query {shown(query_id)}"

    def error(self, problem: str) -> InputError:
        """Return an error at the row at hand."""
        return InputError(f"{self._place()}: {problem}")

    def _query(self, raw: object, *, is_row: bool = False) -> str:
        query_id = id_or_none(raw, "query_id", self.source)
        if not query_id:
            raise self.error("a query_id is missing; give every query one")
        if query_id in self.queries and not is_row:
            raise InputError(
                f"{self.where(query_id)} appears twice; give each query one list, or say which "
                "column tells them apart (query=)"
            )
        self.queries.setdefault(query_id, 0)
        return query_id

    def add(
        self,
        raw_query: object,
        documents: Sequence[tuple[Any, Any]],
        *,
        no_answer: bool = False,
        is_row: bool = False,
        ordered: bool = True,
    ) -> None:
        """Append the documents of one query, or, if ``is_row``, one more of them."""
        query_id = self._query(raw_query, is_row=is_row)
        self.is_ordered &= ordered
        is_run = self.layout.kind == "run"
        before = len(self.values)
        for place, (raw_doc, value) in enumerate(documents, start=self.queries[query_id] + 1):
            self.doc_ids.append(id_or_none(raw_doc, "doc_id", self.source))
            self.values.append((-place if is_run else 1) if value is None else value)
        self.queries[query_id] += len(documents)
        self.query_ids += [query_id] * len(documents)
        if no_answer:
            if any(value != 0 for value in self.values[before:]):
                raise refuse_answer(query_id, self.source)
            self.no_answer.append(query_id)

    def by_subtopic(self, documents: object) -> bool:
        """Tell ``{doc: {subtopic: grade}}``."""
        return (
            self.layout.kind == "qrels"
            and isinstance(documents, Mapping)
            and isinstance(next(iter(documents.values()), None), Mapping)
        )

    def add_subtopics(self, raw_query: object, documents: Mapping[Any, Any]) -> None:
        """Append documents with grades by subtopic."""
        query_id = self._query(raw_query)
        self.is_ordered = False
        for raw_doc, grades in documents.items():
            if not isinstance(grades, Mapping):
                raise self._some_subtopics()
            self.query_ids += [query_id] * len(grades)
            self.doc_ids += [id_or_none(raw_doc, "doc_id", self.source)] * len(grades)
            self.values += grades.values()
            self.subtopics += [id_or_none(each, "subtopic", self.source) for each in grades]
            self.queries[query_id] += len(grades)

    def _some_subtopics(self) -> InputError:
        return InputError(
            f"{self.source}: some documents have grades by subtopic and others do not"
        )

    def rows(self) -> Rows:
        """Return what was filled in."""
        series = [
            text_series("query_id", self.query_ids),
            text_series("doc_id", self.doc_ids),
            value_series(self.layout.value, self.values),
        ]
        if self.subtopics:
            if len(self.subtopics) != len(self.doc_ids):
                raise self._some_subtopics()
            series.append(text_series("subtopic", self.subtopics))
        empty = [query_id for query_id, count in self.queries.items() if not count]
        is_golden = self.layout.kind == "qrels"
        return Rows(
            pl.DataFrame(series),
            self.source,
            self.layout,
            empty_queries=tuple(text_series("query_id", empty)),  # refuses what is not text
            no_answer=tuple(self.no_answer),
            listed=tuple(self.queries) if is_golden and self.is_ordered else (),
        )


def id_or_none(value: object, role: str, source: str) -> str | None:
    """Return an id as text; a missing one stays missing, for the checks to find."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # as pandas has whole numbers in a column with a gap
    try:
        return id_text(value)
    except ValueError as error:
        raise InputError(f"{source}: the {role} is {error}") from None


def text_series(name: str, values: Sequence[str | None]) -> pl.Series:
    """Return a column of text, or say which value is not Unicode."""
    try:
        return pl.Series(name, values, dtype=pl.String)
    except (UnicodeEncodeError, TypeError, pl.exceptions.PolarsError):
        texts = (text for text in values if text is not None)
        bad = next(
            (text for text in texts if any("\ud800" <= sign <= "\udfff" for sign in text)), ""
        )
        raise InputError(
            f"the {name} {shown(bad)} is not valid Unicode text (a lone surrogate)"
        ) from None


def value_series(name: str, values: Sequence[Any]) -> pl.Series:
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
    return text_series(name, [None if value is None else _text(value) for value in values])


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to print such an integer
        return "a number of thousands of digits"
