"""Rows: a table of pairs as it was read, before its content is checked.

Every reader of pairs returns `Rows`, and every check starts from them. Columns are named by role;
values are still as they were given (text, numbers), so that a problem can be shown as it is in the
file. What comes as lists of documents is gathered query by query in `ListedRows`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankscope.errors import FormatError, InputError, Place, shown
from rankscope.findings import PLACES_SHOWN, Seen
from rankscope.tables.cases import refuse_answer
from rankscope.tables.columns import NO_QUESTIONS, UNREAD, Questions, Reading, id_text
from rankscope.tables.documents import Documents, documents_of, is_list, is_missing

if TYPE_CHECKING:
    from rankscope.tables.columns import PairLayout
    from rankscope.tables.table_columns import Column


_TEXTS = (pl.String, pl.Categorical, pl.Enum, pl.Null)


class Malformed(NamedTuple):
    """A line that could not be split into columns."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table as read: ``frame`` with one column per role, and where each row came from."""

    frame: pl.DataFrame
    source: str
    layout: PairLayout
    line_of: Callable[[int], int] | None = None
    malformed: tuple[Malformed, ...] = ()
    malformed_count: int = 0
    queries: tuple[str, ...] = ()  # all in order, if some may have no documents
    no_answer: tuple[str, ...] = ()  # queries that are marked as having none
    questions: Questions = NO_QUESTIONS  # what is asked, if there are ids beside it
    languages: Mapping[str, str] = field(default_factory=dict)  # of cases, by query
    is_list: bool = True  # the order of rows is meant, and not only that of their scores
    reading: Reading = UNREAD  # by which shape, and in which columns

    @property
    def empty_queries(self) -> list[str]:
        """The queries without documents."""
        known = set(self.ids("query_id").unique()) if self.queries else ()
        return [query_id for query_id in self.queries if query_id not in known]

    def place(self, row: int) -> Place:
        """Return where a row was read."""
        line = None if self.line_of is None else self.line_of(row)
        source = self.source if line is not None else f"{self.source}, row {row + 1}"
        roles = (role for role in ("query_id", "doc_id") if role in self.frame.columns)
        ids = {role: value for role in roles if (value := self.frame[role][row]) is not None}
        return Place(source, line, **{role: str(value) for role, value in ids.items()})

    def ids(self, role: str) -> pl.Series:
        """Return a column of ids as text, exactly as given; numbers become their decimal digits.

        Missing ids stay null, for the checks to find.
        """
        column = self.frame[role]
        dtype = column.dtype
        if dtype.is_float():
            limit = 2**53 if dtype == pl.Float64 else 2**24 if dtype == pl.Float32 else 2**11
            exact = (column == column.floor()) & (column.abs() < limit)
            bad = ~exact.fill_null(True)
            if bad.any():
                row = bad.arg_max() or 0
                raise InputError(
                    f"{self.place(row)}: the {role} {column[row]!r} is a fraction or too large to "
                    "be exact as a floating-point number; give ids as text or whole numbers"
                )
            column = column.cast(pl.Int64)
        elif not dtype.is_numeric() and dtype not in _TEXTS:
            raise InputError(
                f"{self.source}: the column of {role}s has type {dtype}; expected text or whole "
                "numbers"
            )
        return column.cast(pl.String)

    def only(self, numbers: pl.Series) -> Rows:
        """Return these rows alone, each with its line."""
        line_of = self.line_of
        lines = None if line_of is None else lambda row: line_of(int(numbers[row]))
        return replace(self, frame=self.frame[numbers], line_of=lines)

    # --- what the checks of runs and of qrels look at alike

    def seen(self, message: str, numbers: pl.Series) -> Seen | None:
        """Say something about some rows, by their numbers; nothing if there are none."""
        places = tuple(self.place(int(number)) for number in numbers[:PLACES_SHOWN])
        return Seen(message, len(numbers), places) if places else None

    def seen_empty(self, message: str) -> Seen | None:
        """See that there is no row at all."""
        is_empty = not self.frame.height and not self.malformed_count
        return Seen(message, places=(Place(self.source),)) if is_empty else None

    def seen_malformed(self) -> Seen | None:
        """See lines that could not be split into columns."""
        if not self.malformed_count:
            return None
        places = tuple(Place(self.source, line.line) for line in self.malformed)
        return Seen(self.malformed[0].reason, self.malformed_count, places)

    def seen_without_id(self) -> Seen | None:
        """See rows without a query id or document id."""
        lacking = missing(self.ids("query_id")) | missing(self.ids("doc_id"))
        return self.seen("an id is missing", lacking.arg_true())

    def seen_without_number(self, numbers: pl.Series, role: str) -> Seen | None:
        """See rows that have no number where one is expected; ``numbers`` is null there."""
        lost = numbers.is_null().arg_true()
        value = self.frame[role][int(lost[0])] if len(lost) else None
        what = "missing" if value is None else f"{shown(value, 30)}, which is not a number"
        return self.seen(f"the {role} is {what}", lost)


# --- columns


def missing(ids: pl.Series) -> pl.Series:
    """Return which ids are missing or empty."""
    return ids.is_null() | (ids == "")


def as_numbers(column: pl.Series) -> pl.Series:
    """Return a column as Float64 or integers; text that is not a number becomes null."""
    dtype = column.dtype
    if dtype.is_integer() or dtype == pl.Float64:
        return column
    if dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return column.str.strip_chars(" \t\r\n\v\f").cast(pl.Float64, strict=False)
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64)
    raise InputError(f"the column {shown(column.name)} has type {dtype}; expected numbers")


def id_series(role: str, values: Iterable[object], source: str) -> pl.Series:
    """Return ids as a column of text; a missing one stays missing, for the checks to find."""
    ids = [value if type(value) is str else id_or_none(value, role, source) for value in values]
    try:
        return pl.Series(role, ids, dtype=pl.String)
    except (UnicodeEncodeError, TypeError, pl.exceptions.PolarsError):
        bad = next((text for text in ids if re.search("[\ud800-\udfff]", text or "")), "")
        raise InputError(
            f"{source}: the {role} {shown(bad)} is not valid Unicode text (a lone surrogate)"
        ) from None


def id_or_none(value: object, role: str, source: str) -> str | None:
    """Return an id as text, None if it is missing, or say why it can be none."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # as pandas has whole numbers in a column with a gap
    try:
        return id_text(value)
    except ValueError as error:
        raise InputError(f"{source}: the {role} is {error}") from None


def number_series(role: str, values: Sequence[Any], source: str) -> pl.Series:
    """Return values as numbers if they all are, else as the text that a message can show.

    Polars is given nothing but numbers and text: it takes minutes for deeply nested values.
    """
    kinds = set(map(type, values))
    if values and not any(issubclass(kind, str | bytes) for kind in kinds):
        with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            numbers = values
            if not kinds <= {int, float}:
                numbers = [None if value is None else float(value) for value in values]
            return pl.Series(role, numbers, dtype=pl.Float64)
    return id_series(role, (value if value is None else _text(value) for value in values), source)


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to print such an integer
        return "a number of thousands of digits"


def with_values(rows: Rows) -> Rows:
    """Give pairs without a number theirs: all are relevant, or they are listed best first."""
    frame, layout = rows.frame, rows.layout
    if layout.value in frame.columns or "rank" in frame.columns:
        return rows
    value = pl.lit(1)
    if layout.kind == "run":
        value = -pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64)
    return replace(rows, frame=frame.with_columns(value.alias(layout.value)))


def ranks_or_scores(rows: Rows) -> Rows:
    """Return a run of three columns without a header with the third under its right name.

    Numbers that are not whole can only be scores. Whole numbers are taken as ranks where they rise
    from 0 or 1 within each query, and refused otherwise: guessing wrong would turn the run upside
    down.
    """
    columns = rows.frame.columns
    if rows.layout.kind != "run" or "score" not in columns or "rank" in columns:
        return rows
    number = rows.frame["score"].cast(pl.Float64, strict=False)
    if not (number == number.floor()).fill_null(True).all():
        return rows
    rising = pl.col("n").first().is_in([0.0, 1.0]) & (pl.col("n").diff().drop_nulls() > 0).all()
    numbers = pl.DataFrame({"query_id": rows.frame["query_id"], "n": number}).drop_nulls()
    if numbers.group_by("query_id").agg(rising)["n"].all():
        return replace(rows, frame=rows.frame.rename({"score": "rank"}))
    raise FormatError(
        "the third column is neither ranks rising from 1 nor scores with a fraction; "
        "add a header (query_id, doc_id, score), or write six TREC columns",
        source=rows.source,
        line=1,
    )


# --- query by query


class ListedRows:
    """Rows being gathered from lists of documents; ``field`` is where documents have their id."""

    def __init__(self, layout: PairLayout, source: str, field: str | None = None) -> None:
        self.layout, self.source, self.field = layout, source, field
        self._has_records = False
        self._sizes: dict[str, int] = {}  # how many documents each query has
        self._query_ids: list[str] = []
        self._doc_ids: list[Any] = []
        self._numbers: list[Any] = []
        self._subtopics: list[Any] = []
        self._no_answer: list[str] = []

    def cell(self, column: Column, value: Any) -> Any:
        """Return what a cell lists."""
        return [] if isinstance(value, str) and value == "[]" else column.cell(value)

    def add(
        self,
        query: object,
        documents: Any,
        *,
        place: str | None = None,
        numbers: Any = None,
        no_answer: bool = False,
        is_row: bool = False,
    ) -> None:
        """Append the documents of one query, or, if ``is_row``, one more of them.

        ``place`` is where they were read, and ``numbers`` are listed beside them, one for each, or
        one for all. None stands for no documents: a call that failed.
        """
        place = place or self.source
        query_id = id_or_none(query, "query_id", place)
        where = f"{place}: query {shown(query)}"
        if not query_id:
            raise InputError(f"{place}: a query is missing; give every one an id or a text")
        if query_id in self._sizes and not is_row:
            raise InputError(
                f"{where} appears twice; give each query one list, or say which column tells them "
                "apart (query=)"
            )
        pairs = self._pairs_in([] if documents is None else documents, where)
        if not is_missing(numbers):
            pairs = _numbered(pairs, numbers, where)
        before, is_golden = self._sizes.get(query_id, 0), self.layout.kind == "qrels"
        if no_answer:
            if any(number != 0 for _, number in pairs):
                raise refuse_answer(query_id, self.source)
            self._no_answer.append(query_id)
        self._sizes[query_id] = before + len(pairs)
        self._query_ids += [query_id] * len(pairs)
        self._doc_ids += [doc_id for doc_id, _ in pairs]
        self._numbers += [
            (1 if is_golden else -rank) if number is None else number
            for rank, (_, number) in enumerate(pairs, start=before + 1)
        ]

    def _pairs_in(self, documents: Any, where: str) -> Documents:
        """Return documents with their numbers; ``{doc: {subtopic: grade}}`` has several for one."""
        if self.field and not self._has_records:
            items = documents if is_list(documents) else [documents]
            self._has_records = any(not isinstance(item, str | int) for item in items)
        is_golden = self.layout.kind == "qrels" and isinstance(documents, Mapping)
        if not is_golden or not isinstance(next(iter(documents.values()), None), Mapping):
            return documents_of(documents, self.layout.kind, self.field, where)
        if not all(isinstance(grades, Mapping) for grades in documents.values()):
            raise self._partly_by_subtopic()
        self._subtopics += [subtopic for grades in documents.values() for subtopic in grades]
        return [(doc_id, grade) for doc_id, by in documents.items() for grade in by.values()]

    def _partly_by_subtopic(self) -> InputError:
        return InputError(
            f"{self.source}: some documents have grades by subtopic and others do not"
        )

    def rows(self) -> Rows:
        """Return what was gathered."""
        series = [
            id_series("query_id", self._query_ids, self.source),
            id_series("doc_id", self._doc_ids, self.source),
            number_series(self.layout.value, self._numbers, self.source),
        ]
        if self._subtopics:
            if len(self._subtopics) != len(self._doc_ids):
                raise self._partly_by_subtopic()
            series.append(id_series("subtopic", self._subtopics, self.source))
        queries = tuple(id_series("query_id", self._sizes, self.source))
        no_answer = tuple(self._no_answer)
        reading = Reading(id_field=self.field or "") if self._has_records else UNREAD
        frame = pl.DataFrame(series)
        return Rows(
            frame, self.source, self.layout, queries=queries, no_answer=no_answer, reading=reading
        )


def _numbered(pairs: Documents, numbers: Any, where: str) -> Documents:
    """Give documents the numbers listed beside them, or the one that stands for all."""
    if not is_list(numbers):
        return [(doc_id, numbers if mine is None else mine) for doc_id, mine in pairs]
    numbers = list(numbers)
    if len(numbers) != len(pairs):
        raise InputError(
            f"{where} has {len(pairs)} documents and {len(numbers)} numbers beside them; give one "
            "to each"
        )
    return [(doc_id, number) for (doc_id, _), number in zip(pairs, numbers, strict=True)]
