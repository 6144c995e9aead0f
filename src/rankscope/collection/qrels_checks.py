"""The checks of qrels. Errors are what `read_qrels` refuses; the rest is for `runs validate`."""

from __future__ import annotations

import polars as pl

from rankscope.collection.qrels import grades_of
from rankscope.errors import shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen
from rankscope.tables.rows import Rows, as_ids, missing

__all__ = ["QRELS_CHECKS"]

QRELS_CHECKS: Checks[Rows] = Checks()


def _places(rows: Rows, numbers: pl.Series) -> tuple[Place, ...]:
    return tuple(rows.place(int(row)) for row in numbers[:PLACES_SHOWN])


@QRELS_CHECKS.add(
    *("RS201", "qrels-empty", "error"),
    unit="file",
    advice="give a file with judgments",
)
def qrels_empty(rows: Rows) -> Seen | None:
    """The file holds no judgment."""
    if rows.frame.height or rows.malformed_count:
        return None
    return Seen("the qrels are empty", places=(Place(rows.source),))


@QRELS_CHECKS.add(
    *("RS202", "qrels-malformed-line", "error"),
    unit="line",
    advice="write every line as query_id 0 doc_id grade, in UTF-8",
)
def qrels_malformed_line(rows: Rows) -> Seen | None:
    """A line does not have the columns of its format, or holds bytes that are not UTF-8."""
    if not rows.malformed_count:
        return None
    places = tuple(Place(rows.source, line.line) for line in rows.malformed)
    return Seen(rows.malformed[0].reason, rows.malformed_count, places)


@QRELS_CHECKS.add(
    *("RS203", "qrels-missing-id", "error"),
    unit="line",
    advice="give every line a query id and a document id, or drop it",
)
def qrels_missing_id(rows: Rows) -> Seen | None:
    """A query id or a document id is empty."""
    frame = rows.frame
    lost = missing(as_ids(frame["query_id"], rows)) | missing(as_ids(frame["doc_id"], rows))
    found = lost.arg_true()
    return Seen("an id is missing", len(found), _places(rows, found)) if len(found) else None


@QRELS_CHECKS.add(
    *("RS204", "grade-not-a-number", "error"),
    unit="line",
    advice="write grades as numbers, or say what labels mean (labels E=3,S=2,C=1,I=0)",
)
def grade_not_a_number(rows: Rows) -> Seen | None:
    """A grade cannot be read as a number."""
    found = grades_of(rows).is_null().arg_true()
    if not len(found):
        return None
    value = rows.frame["grade"][int(found[0])]
    what = "is missing" if value is None else f"is {shown(value, 30)}, which is no number"
    return Seen(f"the grade {what}", len(found), _places(rows, found))


@QRELS_CHECKS.add(
    *("RS205", "grade-not-finite", "error"),
    unit="line",
    advice="give the pair a grade, or drop the line",
)
def grade_not_finite(rows: Rows) -> Seen | None:
    """A grade is NaN or infinite."""
    grade = grades_of(rows)
    found = (~grade.is_finite()).arg_true()
    if not len(found):
        return None
    return Seen(f"the grade is {grade[int(found[0])]}", len(found), _places(rows, found))


def _repeats(rows: Rows) -> tuple[pl.Series, pl.Series]:
    """Return the rows that repeat a pair with the same grade, and with another one."""
    keys = [name for name in ("query_id", "doc_id", "subtopic") if name in rows.frame.columns]
    frame = rows.frame.select(keys).with_columns(grades_of(rows)).with_row_index("_row")
    repeats = frame.filter(~pl.struct(keys).is_first_distinct())
    firsts = frame.filter(pl.struct(keys).is_first_distinct()).select(*keys, "grade")
    joined = repeats.join(firsts, on=keys, suffix="_first", nulls_equal=True)
    same = joined["grade"].eq_missing(joined["grade_first"])
    return joined.filter(same)["_row"].sort(), joined.filter(~same)["_row"].sort()


@QRELS_CHECKS.add(
    *("RS206", "duplicate-pair", "error"),
    unit="line",
    advice="keep one line a pair, or combine them (raters: mean, median, max or majority)",
)
def duplicate_pair(rows: Rows) -> Seen | None:
    """A pair was judged before, with the same grade."""
    found, _ = _repeats(rows)
    if not len(found):
        return None
    return Seen("the pair was judged before, with the same grade", len(found), _places(rows, found))


@QRELS_CHECKS.add(
    *("RS207", "conflicting-grades", "error"),
    unit="line",
    advice="decide for one grade, or combine them (raters: mean, median, max or majority)",
)
def conflicting_grades(rows: Rows) -> Seen | None:
    """A pair was judged before, with another grade."""
    _, found = _repeats(rows)
    if not len(found):
        return None
    return Seen("the pair was judged before, with another grade", len(found), _places(rows, found))


@QRELS_CHECKS.add(
    *("RS211", "negative-grades", "note"),
    unit="line",
    advice="a negative grade means pooled and not judged, as in trec_eval; write 0 for "
    "judged nonrelevant",
)
def negative_grades(rows: Rows) -> Seen | None:
    """A grade is below zero: pooled and not judged, as in trec_eval."""
    found = (grades_of(rows) < 0).arg_true()
    return Seen("grades below zero", len(found), _places(rows, found)) if len(found) else None


@QRELS_CHECKS.add(
    *("RS212", "no-relevant-document", "warning"),
    unit="query",
    advice="such a query scores 0 for every system; judge more for it, or take it out of the set",
)
def no_relevant_document(rows: Rows) -> Seen | None:
    """A query has no document of grade 1 or above, so every system scores 0 on it."""
    frame = rows.frame.select(pl.col("query_id").cast(pl.String)).with_columns(grades_of(rows))
    best = frame.group_by("query_id", maintain_order=True).agg(pl.col("grade").max())
    ids = best.filter(pl.col("grade") < 1)["query_id"].to_list() + list(rows.empty_queries)
    if not ids:
        return None
    places = tuple(Place(rows.source, query_id=query_id) for query_id in ids)
    return Seen("no document of grade 1 or above for a query", len(ids), places)


@QRELS_CHECKS.add(
    *("RS213", "fractional-grades", "note"),
    unit="line",
    advice="graded measures use them as they are; trec_eval reads whole numbers only",
)
def fractional_grades(rows: Rows) -> Seen | None:
    """A grade is not a whole number."""
    grade = grades_of(rows)
    found = (grade != grade.floor()).arg_true()
    if not len(found):
        return None
    return Seen("grades that are not whole numbers", len(found), _places(rows, found))
