"""Qrels: which documents are relevant to which queries, and how much.

Valid once made: every pair (with subtopics: every triple) appears once and every grade is a finite
number. A negative grade means "pooled, not judged", as in trec_eval.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from rankscope.collection.qrels_checks import QRELS_CHECKS, grades_of
from rankscope.errors import InputError, InvalidDataError, Place, counted, shown
from rankscope.files import is_path
from rankscope.tables.cases import MARKS, is_marked, refuse_answer
from rankscope.tables.columns import (
    LARGEST_GRADE,
    NO_COLUMNS,
    QRELS,
    QUERY_ROWS,
    Columns,
    Reading,
    are_whole,
)
from rankscope.tables.pairs import PairTable, repeated_rows
from rankscope.tables.reading import TableFile, open_table
from rankscope.tables.rows import Rows, as_numbers, missing
from rankscope.tables.shapes import pair_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from rankscope.files import PathLike

__all__ = ["Qrels", "read_qrels"]


class Qrels(PairTable):
    """Relevance judgments; a higher grade is more relevant.

    Made of anything in `rankscope.tables.shapes`: ``{query: {doc: grade}}``, ``{query: [doc, …]}``
    for the relevant ones (grade 1), ``{query: {doc: {subtopic: grade}}}``, rows ``(query, doc,
    grade)``, records, frames, or, by position, a list or a target for each query. ``labels`` turns
    text into grades (``{"E": 3, "S": 2}``); ``query``, ``relevant``, ``doc`` and ``grade`` name
    columns that go by no known name.

    >>> Qrels({"q1": {"d1": 2, "d2": 0}})["q1"]
    {'d1': 2, 'd2': 0}
    """

    __slots__ = ("_is_listed", "_languages", "_no_answer", "_repeat")

    layout = QRELS
    _repeat: Place | None
    _no_answer: tuple[str, ...]
    _languages: Mapping[str, str]
    _is_listed: bool

    def __init__(
        self,
        data: object = (),
        *,
        labels: Mapping[str, float] | None = None,
        query: str | None = None,
        relevant: str | None = None,
        doc: str | None = None,
        grade: str | None = None,
    ) -> None:
        columns = Columns(query=query, relevant=relevant, doc=doc, grade=grade)
        rows = pair_rows(data, QRELS, columns, source="qrels")
        self._take(prepared(rows, labels))

    def _take(self, rows: Rows) -> None:
        """Set the content from rows that hold no error; refuse others."""
        frame = rows.frame
        query_id, doc_id = rows.ids("query_id"), rows.ids("doc_id")
        grade = grades_of(rows)
        sound = not grade.null_count() and bool((grade.abs() <= LARGEST_GRADE).all())
        if rows.malformed_count or not sound or grade.is_nan().any():
            refuse(rows)
        if missing(query_id).any() or missing(doc_id).any():
            refuse(rows)
        columns = [doc_id, _whole_if_possible(grade)]
        if "subtopic" in frame.columns:
            columns.append(rows.ids("subtopic"))
        self._fill(query_id, pl.DataFrame(columns), rows)
        keys = [self._columns[name] for name in self._columns.columns if name != "grade"]
        if repeated_rows(self._offsets, *keys).size:
            refuse(rows)
        self._set(_repeat=None, _no_answer=rows.no_answer)
        self._set(_languages=rows.languages, _is_listed=rows.reading.shape == QUERY_ROWS)

    @classmethod
    def from_rows(cls, rows: Rows) -> Qrels:
        """Make qrels of rows as a reader gives them; a file without any is an error."""
        if not rows.frame.height and not rows.queries:
            refuse(rows)
        qrels = object.__new__(cls)
        qrels._take(rows)
        return qrels

    @classmethod
    def from_columns(
        cls,
        query_ids: Sequence[str],
        offsets: NDArray[np.int64],
        doc_ids: Sequence[str],
        grades: NDArray[np.float64],
    ) -> Qrels:
        """Make qrels of content that is known to be right, by query; nothing is checked again."""
        columns = [
            pl.Series("doc_id", doc_ids, dtype=pl.String),
            _whole_if_possible(pl.Series("grade", grades, dtype=pl.Float64)),
        ]
        return cls._trusted(
            pl.Series("query_id", query_ids, dtype=pl.String),
            offsets.copy(),
            pl.DataFrame(columns),
            _repeat=None,
            _no_answer=(),
            _languages={},
            _is_listed=False,
            _reading=Reading("TREC lines"),
        )

    @property
    def grades(self) -> pl.Series:
        """The grades of all rows, grouped by query; integers if all are whole."""
        return self.values

    @property
    def subtopics(self) -> pl.Series | None:
        """The subtopics of all rows, grouped by query; None for qrels without."""
        return self._columns["subtopic"] if "subtopic" in self._columns.columns else None

    @property
    def repeat(self) -> Place | None:
        """Where a TREC file judges a pair again, under another second column; None if nowhere.

        A measure by subtopic takes that column for a subtopic; to all others it is a duplicate.
        """
        return self._repeat

    @property
    def no_answer(self) -> tuple[str, ...]:
        """The queries that are marked as having no answer: what they have is not relevant."""
        return self._no_answer

    @property
    def languages(self) -> Mapping[str, str]:
        """The languages of a case file's queries, as codes such as ``de``; {} for other qrels."""
        return self._languages

    def with_languages(self, languages: Mapping[str, str]) -> Qrels:
        """Return the same judgments, whose queries are in these languages, as far as known."""
        known = {name: languages[name] for name in self.query_ids if name in languages}
        return self._but(_languages=known)

    @property
    def is_listed(self) -> bool:
        """Whether each query was given with its list, so that their order is that of a file."""
        return self._is_listed

    def without(self, query_ids: Collection[str]) -> Qrels:
        """Return the judgments of all other queries."""
        sizes = np.diff(self._offsets)
        others = np.array([query_id not in query_ids for query_id in self.query_ids], np.bool_)
        offsets = np.concatenate([[0], np.cumsum(sizes[others])]).astype(np.int64)
        offsets.flags.writeable = False
        return self._but(
            _query_ids=self._query_ids.filter(others),
            _offsets=offsets,
            _columns=self._columns[np.flatnonzero(np.repeat(others, sizes))],
            _index=None,
            _is_listed=False,
            _no_answer=tuple(name for name in self._no_answer if name not in query_ids),
            _languages={q: code for q, code in self._languages.items() if q not in query_ids},
        )

    def _but(self, **slots: object) -> Qrels:
        """Return the same judgments, but for some slots."""
        qrels = object.__new__(Qrels)
        qrels._set(**{**self.__getstate__(), **slots})
        return qrels

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return ``{query_id: {doc_id: grade}}``; with subtopics a grade is a dict by subtopic."""
        if self.subtopics is None:
            return super().to_dict()
        return {query_id: self[query_id] for query_id in self}

    def _documents(self, part: pl.DataFrame) -> dict[str, Any]:
        if "subtopic" not in part.columns:
            return super()._documents(part)
        nested: dict[str, dict[str, Any]] = {}
        for doc_id, grade, subtopic in part.select("doc_id", "grade", "subtopic").iter_rows():
            nested.setdefault(doc_id, {})[subtopic] = grade
        return nested

    def unwritable(self, format: str) -> str:
        """Say what a format cannot hold: no format of qrels marks questions without an answer."""
        if self._no_answer:
            return f"{counted(len(self._no_answer), 'question')} marked as having no answer"
        return super().unwritable(format)

    def trec_columns(self) -> pl.DataFrame:
        """Return the four columns of a TREC file; the second is the subtopic, or 0."""
        second = pl.lit("0").alias("_") if self.subtopics is None else pl.col("subtopic")
        return self.to_polars().select("query_id", second, "doc_id", "grade")


def _whole_if_possible(grade: pl.Series) -> pl.Series:
    """Return grades as integers if all are whole numbers."""
    return grade.cast(pl.Int64) if are_whole(grade.to_numpy()) else grade


def refuse(rows: Rows) -> NoReturn:
    """Raise for the errors of qrels, in the words of the checks."""
    findings = QRELS_CHECKS.errors(rows)
    raise InvalidDataError(findings[0].sentence, findings)


def prepared(rows: Rows, labels: Mapping[str, float] | None = None) -> Rows:
    """Take out marks, turn labels into numbers, drop subtopics that are all the same."""
    rows = _marked(rows)
    if labels is not None:
        rows = _labelled(rows, labels)
    if "subtopic" in rows.frame.columns and rows.frame["subtopic"].n_unique() <= 1:
        rows = replace(rows, frame=rows.frame.drop("subtopic"))
    return rows


def _marked(rows: Rows) -> Rows:
    """Take the marks out of rows: a row of a marked query names no document, or one of grade 0."""
    mark = next((role for role in MARKS if role in rows.frame.columns), None)
    if mark is None:
        return rows
    values = rows.frame[mark].to_list()
    marked = pl.Series([is_marked(mark, value, rows.source) for value in values], dtype=pl.Boolean)
    frame = rows.frame.drop(MARKS, strict=False)
    rows = replace(rows, frame=frame)
    if not marked.any():
        return rows
    query_id = rows.ids("query_id")
    names_none = marked & missing(rows.ids("doc_id"))
    wrong = query_id.filter(marked & ~names_none & (as_numbers(frame["grade"]) != 0))
    if len(wrong):
        raise refuse_answer(wrong[0], rows.source)
    queries = tuple(query_id.unique(maintain_order=True).drop_nulls())
    no_answer = tuple(query_id.filter(marked).unique(maintain_order=True))
    return replace(rows.only((~names_none).arg_true()), queries=queries, no_answer=no_answer)


def _labelled(rows: Rows, labels: Mapping[str, float]) -> Rows:
    text = rows.frame["grade"].cast(pl.String).str.strip_chars()
    known = pl.Series(list(labels), dtype=pl.String)
    numbers = pl.Series([float(number) for number in labels.values()], dtype=pl.Float64)
    grade = text.replace_strict(known, numbers, default=None, return_dtype=pl.Float64)
    unknown = (grade.is_null() & text.is_not_null()).arg_true()
    if len(unknown):
        row = int(unknown[0])
        raise InputError(
            f"{rows.place(row)}: the label {shown(text[row])} is not among "
            f"{', '.join(shown(label) for label in labels)}; add it to the labels"
        )
    return replace(rows, frame=rows.frame.with_columns(grade.alias("grade")))


def as_qrels(
    data: Any,
    columns: Columns = NO_COLUMNS,
    labels: Mapping[str, float] | None = None,
    *,
    format: str | None = None,
) -> Qrels:
    """Take qrels in any form: qrels as they are, a path, or data that makes them."""
    if is_path(data):
        with open_table(data, QRELS, format=format, columns=columns) as file:
            return _qrels_in(file, labels)
    if isinstance(data, Qrels):
        return data
    qrels = object.__new__(Qrels)
    qrels._take(prepared(pair_rows(data, QRELS, columns, source="gold"), labels))
    return qrels


def read_qrels(
    path: PathLike,
    *,
    format: str | None = None,
    labels: Mapping[str, float] | None = None,
    query: str | None = None,
    relevant: str | None = None,
    doc: str | None = None,
    grade: str | None = None,
) -> Qrels:
    """Read qrels from a file: TREC, BEIR tsv, csv, JSON, JSON lines, Parquet or xlsx.

    Of a folder that is a collection, its judgments are read, and of one that holds case files, all
    of their cases. ``query``, ``relevant``, ``doc`` and ``grade`` name columns that go by no known
    name.

    Raises:
        FormatError: the file is not of its format.
        InvalidDataError: it is, but a pair appears twice, a grade is not a number, …
    """
    columns = Columns(query=query, relevant=relevant, doc=doc, grade=grade)
    return as_qrels(path, columns, labels, format=format)


def _qrels_in(file: TableFile, labels: Mapping[str, float] | None) -> Qrels:
    rows = file.rows(QRELS.roles)
    qrels = Qrels.from_rows(prepared(rows, labels))
    if qrels.subtopics is not None and file.format == "trec":
        pairs = pl.DataFrame([rows.ids(name) for name in ("query_id", "doc_id")])
        repeated = (~pairs.to_struct("pair").is_first_distinct()).arg_true()
        qrels._set(_repeat=rows.place(int(repeated[0])) if len(repeated) else None)
    return qrels
