"""The checks of qrels. Errors are what `read_qrels` refuses; the rest is for `runs validate`."""

from __future__ import annotations

import polars as pl

from rankscope.collection.qrels import grades_of
from rankscope.errors import shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen
from rankscope.tables.rows import Rows, as_ids, missing

QRELS_CHECKS: Checks[Rows] = Checks()


def _seen(message: str, rows: Rows, numbers: pl.Series) -> Seen | None:
    """Return what was seen in the rows of these numbers; nothing if there are none."""
    if not len(numbers):
        return None
    places = tuple(rows.place(int(number)) for number in numbers[:PLACES_SHOWN])
    return Seen(message, len(numbers), places)


@QRELS_CHECKS.add("RS201", "qrels-empty", "error", unit="file", advice="give a file with judgments")
def qrels_empty(rows: Rows) -> Seen | None:
    """The table has no row."""
    if rows.frame.height or rows.malformed_count:
        return None
    return Seen("the qrels are empty", places=(Place(rows.source),))


@QRELS_CHECKS.add(
    "RS202",
    "qrels-malformed-line",
    "error",
    unit="line",
    advice="write every line as query_id 0 doc_id grade, in UTF-8",
)
def qrels_malformed_line(rows: Rows) -> Seen | None:
    """A line has the wrong number of columns, or is not text."""
    if not rows.malformed_count:
        return None
    places = tuple(Place(rows.source, line.line) for line in rows.malformed)
    return Seen(rows.malformed[0].reason, rows.malformed_count, places)


@QRELS_CHECKS.add(
    "RS203",
    "qrels-missing-id",
    "error",
    unit="line",
    advice="give every line a query id and a document id, or drop it",
)
def qrels_missing_id(rows: Rows) -> Seen | None:
    """A query id or document id is empty."""
    frame = rows.frame
    incomplete = missing(as_ids(frame["query_id"], rows)) | missing(as_ids(frame["doc_id"], rows))
    return _seen("an id is missing", rows, incomplete.arg_true())


@QRELS_CHECKS.add(
    "RS204",
    "grade-not-a-number",
    "error",
    unit="line",
    advice="write grades as numbers, or say what labels mean (labels E=3,S=2,C=1,I=0)",
)
def grade_not_a_number(rows: Rows) -> Seen | None:
    """A grade cannot be read as a number."""
    numbers = grades_of(rows).is_null().arg_true()
    value = rows.frame["grade"][int(numbers[0])] if len(numbers) else None
    what = "is missing" if value is None else f"is {shown(value, 30)}, which is no number"
    return _seen(f"the grade {what}", rows, numbers)


@QRELS_CHECKS.add(
    "RS205",
    "grade-not-finite",
    "error",
    unit="line",
    advice="give the pair a grade, or drop the line",
)
def grade_not_finite(rows: Rows) -> Seen | None:
    """A grade is NaN or infinite."""
    grade = grades_of(rows)
    numbers = (~grade.is_finite()).arg_true()
    value = grade[int(numbers[0])] if len(numbers) else None
    return _seen(f"the grade is {value}", rows, numbers)


def _repeated(rows: Rows, *, same_grade: bool) -> pl.Series:
    """Return the rows that repeat a pair, with the grade it had first or with another one."""
    keys = [name for name in ("query_id", "doc_id", "subtopic") if name in rows.frame.columns]
    frame = rows.frame.select(keys).with_columns(grades_of(rows)).with_row_index("_row")
    first = pl.struct(keys).is_first_distinct()
    repeats = frame.filter(~first).join(
        frame.filter(first).select(*keys, "grade"), on=keys, suffix="_first", nulls_equal=True
    )
    same = repeats["grade"].eq_missing(repeats["grade_first"])
    return repeats.filter(same == same_grade)["_row"].sort()


@QRELS_CHECKS.add(
    "RS206",
    "duplicate-pair",
    "error",
    unit="line",
    advice="keep one line a pair, or combine them (raters: mean, median, max or majority)",
)
def duplicate_pair(rows: Rows) -> Seen | None:
    """A pair appears twice with the same grade."""
    repeated = _repeated(rows, same_grade=True)
    return _seen("the pair was judged before, with the same grade", rows, repeated)


@QRELS_CHECKS.add(
    "RS207",
    "conflicting-grades",
    "error",
    unit="line",
    advice="decide for one grade, or combine them (raters: mean, median, max or majority)",
)
def conflicting_grades(rows: Rows) -> Seen | None:
    """A pair appears twice with different grades."""
    repeated = _repeated(rows, same_grade=False)
    return _seen("the pair was judged before, with another grade", rows, repeated)


@QRELS_CHECKS.add(
    "RS211",
    "negative-grades",
    "note",
    unit="line",
    advice="a negative grade means pooled and not judged, as in trec_eval; write 0 for "
    "judged nonrelevant",
)
def negative_grades(rows: Rows) -> Seen | None:
    """A grade is below zero."""
    return _seen("grades below zero", rows, (grades_of(rows) < 0).arg_true())


@QRELS_CHECKS.add(
    "RS212",
    "no-relevant-document",
    "warning",
    unit="query",
    advice="such a query scores 0 for every system; judge more for it, or take it out of the set",
)
def no_relevant_document(rows: Rows) -> Seen | None:
    """A query has no document of grade 1 or above."""
    frame = rows.frame.select(pl.col("query_id").cast(pl.String)).with_columns(grades_of(rows))
    best = frame.group_by("query_id", maintain_order=True).agg(pl.col("grade").max())
    ids = best.filter(pl.col("grade") < 1)["query_id"].to_list() + list(rows.empty_queries)
    if not ids:
        return None
    places = tuple(Place(rows.source, query_id=query_id) for query_id in ids)
    return Seen("no document of grade 1 or above for a query", len(ids), places)


@QRELS_CHECKS.add(
    "RS213",
    "fractional-grades",
    "note",
    unit="line",
    advice="graded measures use them as they are; trec_eval reads whole numbers only",
)
def fractional_grades(rows: Rows) -> Seen | None:
    """A grade is not a whole number."""
    grade = grades_of(rows)
    fractions = (grade != grade.floor()).arg_true()
    return _seen("grades that are not whole numbers", rows, fractions)
