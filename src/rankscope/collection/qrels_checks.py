"""The checks of qrels. Errors are what `read_qrels` refuses; the rest is for `runs validate`.

Scoring by qrels makes some of these findings too, also of plain dicts; so nothing here loads
Polars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.findings import Checks, Place, Seen, declare
from rankscope.tables.columns import LARGEST_GRADE

if TYPE_CHECKING:
    import polars as pl

    from rankscope.tables.rows import Rows

QRELS_CHECKS: Checks[Rows] = Checks()

JUDGED_TWICE = declare(
    "RS208",
    "judged-twice",
    "error",
    unit="line",
    advice="keep one line per pair; if the second column is a subtopic, ask for a measure by "
    "subtopic too, such as alpha_nDCG@10",
    meaning="""A pair was judged before in a TREC file, with something else in the second column.
    Measures by subtopic read subtopics there; for all others it is a duplicate, as in
    trec_eval.""",
)
GRADES_TOO_LOW = declare(
    "RS215",
    "grades-below-threshold",
    "warning",
    unit="judgment",
    advice="name the grade from which on a document counts, as in P(rel=0.5)@10, or use a graded "
    "measure such as nDCG",
    meaning="""Grades between 0 and 1 are below the threshold of 1 from which on binary measures
    count a document as relevant, and no measure that was asked for counts them.""",
)


def grades_of(rows: Rows) -> pl.Series:
    """Return the grades as Float64, null where there is no number."""
    from rankscope.tables.rows import as_numbers  # noqa: PLC0415

    return as_numbers(rows.frame["grade"]).cast(float).alias("grade")


@QRELS_CHECKS.add("RS201", "error", unit="file", advice="give a file with judgments")
def qrels_empty(rows: Rows) -> Seen | None:
    """The file holds no judgment."""
    return rows.seen_empty("the qrels are empty")


@QRELS_CHECKS.add("RS202", "error", advice="write every line as query_id 0 doc_id grade, in UTF-8")
def qrels_malformed_line(rows: Rows) -> Seen | None:
    """A line does not have the columns of its format, or holds bytes that are not UTF-8."""
    return rows.seen_malformed()


@QRELS_CHECKS.add(
    "RS203", "error", advice="give every line a query id and a document id, or drop it"
)
def qrels_missing_id(rows: Rows) -> Seen | None:
    """A query id or a document id is empty."""
    return rows.seen_without_id()


@QRELS_CHECKS.add(
    "RS204",
    "error",
    advice="write grades as numbers, or say what labels mean (labels E=3,S=2,C=1,I=0)",
)
def grade_not_a_number(rows: Rows) -> Seen | None:
    """A grade cannot be read as a number."""
    return rows.seen_without_number(grades_of(rows), "grade")


@QRELS_CHECKS.add(
    "RS205", "error", advice=f"write grades from {-LARGEST_GRADE:,} to {LARGEST_GRADE:,}"
)
def grade_out_of_range(rows: Rows) -> Seen | None:
    """A grade is NaN, infinite, or beyond 2^53, so that sums of gains are not exact."""
    grades = grades_of(rows)
    wrong = (~(grades.abs() <= LARGEST_GRADE)).arg_true()
    return rows.seen(f"the grade is {grades[int(wrong[0])] if len(wrong) else ''}", wrong)


@QRELS_CHECKS.add(
    "RS206", "error", advice="keep one line per pair, or combine them (convert --raters mean)"
)
def judged_before(rows: Rows) -> Seen | None:
    """A pair was judged before, with the same grade or another one."""
    keys = [name for name in ("query_id", "doc_id", "subtopic") if name in rows.frame.columns]
    pairs = rows.frame.select(keys)
    repeats = (~pairs.to_struct().is_first_distinct()).arg_true()
    differ = pairs.with_columns(grades_of(rows)).n_unique() > pairs.n_unique()
    how = "and some pairs have different grades" if differ else "with the same grade"
    return rows.seen(f"the pair was judged before, {how}", repeats)


@QRELS_CHECKS.add("RS214", "error", unit="file")
def nothing_relevant(rows: Rows) -> Seen | None:
    """No document of any query is relevant, so every system would score 0.

    No grade is above 0, or none reaches the threshold that a measure was given.

    Do: judge relevant documents with grade 1 or above, or name the grade from which on a document
    counts, as in P(rel=2)@10.
    """
    highest = grades_of(rows).max()
    if not isinstance(highest, float) or not highest <= 0:
        return None
    message = "no document is relevant: no grade in the qrels is above 0"
    return Seen(message, places=(Place(rows.source),))


@QRELS_CHECKS.add(
    "RS211",
    "note",
    advice="a negative grade means pooled and not judged, as in trec_eval; write 0 for "
    "judged nonrelevant",
)
def negative_grades(rows: Rows) -> Seen | None:
    """A grade is below zero: pooled and not judged, as in trec_eval."""
    return rows.seen("grades below zero", (grades_of(rows) < 0).arg_true())


@QRELS_CHECKS.add(
    "RS212",
    "warning",
    unit="query",
    advice="such a query scores 0 for every system; judge more for it, or take it out of the set",
)
def no_relevant_document(rows: Rows) -> Seen | None:
    """A query has no document of grade 1 or above, so every system scores 0 on it."""
    frame = rows.frame.select(rows.frame["query_id"].cast(str)).with_columns(grades_of(rows))
    best = frame.group_by("query_id", maintain_order=True).max()
    ids = [*best["query_id"].filter(best["grade"] < 1), *rows.empty_queries]
    ids = [query_id for query_id in ids if query_id not in rows.no_answer]
    if not ids:
        return None
    places = tuple(Place(rows.source, query_id=query_id) for query_id in ids)
    return Seen("no document of grade 1 or above for a query", len(ids), places)
