"""Ratings: the grades of several raters for the same documents.

A rater is a person or a program that judges. Tables come in two forms: *wide*, with a column of
grades for each rater, and *long*, with a row for each rating. A rater may judge a pair more than
once: the ratings are then its repeats, numbered from 1 on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import polars as pl

from rankscope.collection import cells
from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import is_path, source_name
from rankscope.tables.columns import (
    ALIASES,
    LARGEST_GRADE,
    RecordLayout,
    find_name,
    folded,
    rater_columns,
)
from rankscope.tables.records import Record, checked_id, records_of

RATINGS = RecordLayout(
    kind="ratings",
    noun="rating",
    id_column="query_id",
    id_names=ALIASES["query_id"],
    text_names=ALIASES["doc_id"],  # a header is known by the names of both
    headerless={
        4: ("query_id", "doc_id", "rater", "grade"),
        5: ("query_id", "doc_id", "rater", "grade", "repeat"),
    },
)

RATERS = (
    *("rater", "judge", "annotator", "assessor", "worker", "labeler", "labeller", "rater_id"),
    *("judge_id", "annotator_id", "assessor_id", "worker_id", "user_id", "judged_by"),
    *("rated_by", "user", "model"),
)
"""What the column of the rater is called in a long table."""

REPEATS = ("repeat", "repetition", "trial", "attempt", "round", "pass", "sample")
"""What the column is called that numbers the ratings of a rater for one pair."""

FINAL = (
    *("final", "final_grade", "final_label", "consensus", "consensus_grade", "adjudicated"),
    *("adjudicated_grade", "gold", "gold_grade", "gold_label"),
)
"""What the grade that was settled on is called; nobody's own rating."""

_FINALS = frozenset(map(folded, FINAL))
_GRADES = tuple(name for name in ALIASES["grade"] if name not in FINAL)
_OTHERS = (
    *("id", "index", "row", "line", "timestamp", "date", "time", "year", "title", "text"),
    *("query_text", "comment", "comments", "note", "notes", "reason", ""),
)
_ROLES = ("query_id", "doc_id", "rank", "tag", "subtopic")
_NO_RATER = {
    folded(name) for names in (_OTHERS, *map(ALIASES.__getitem__, _ROLES)) for name in names
}
"""Columns that are nobody's grades, though numbers may be in them."""

Raters = Literal["mean", "median", "max", "majority"]
"""How several raters' grades of one pair become one. ``majority`` takes the most frequent grade,
and among equally frequent ones the lower median of all ratings."""

_SCHEMA: dict[str, Any] = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "rater": pl.String,
    "repeat": pl.Int64,
    "grade": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Ratings:
    """Grades by query, document and rater; made by `as_ratings`."""

    _frame: pl.DataFrame
    final: pl.DataFrame | None
    """The grades that were settled on: query_id, doc_id, grade; None if none are given."""

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each rating: query_id, doc_id, rater, repeat (from 1), grade."""
        return self._frame

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """The raters, in the order in which they appear."""
        return tuple(self._frame["rater"].unique(maintain_order=True))

    def combined(self, way: Raters) -> Qrels:
        """Return one grade for each pair, in one of the ways of `Raters`."""
        if way not in get_args(Raters):
            raise UnknownNameError("way to combine raters", way, get_args(Raters))
        values = pl.col("grade").sort()
        ways = {
            "mean": values.mean(),
            "median": values.median(),
            "max": values.max(),
            "majority": pl.when(values.mode().len() == 1)
            .then(values.mode().first())
            .otherwise(values.get((pl.len() - 1) // 2)),
        }
        pairs = self._frame.group_by("query_id", "doc_id", maintain_order=True)
        return Qrels(pairs.agg(ways[way].alias("grade")))


def as_ratings(data: Any) -> Ratings:
    """Take ratings in any form: `Ratings`, a file, a frame or records.

    A wide table has columns for the query and the document (``query-id``, ``corpus-id``), and every
    other column of numbers is a rater's; ``final``, ``consensus``, ``gold`` or ``adjudicated`` is
    the grade that was settled on. A long one has a row for each rating: ``query_id``, ``doc_id``,
    ``rater`` (or ``judge``, ``annotator``) and ``grade`` (``rating``, ``label``), and may have a
    number as ``repeat``; a rater that judges a pair again makes a repeat of it, and rows without a
    rater are all of one. Plain tuples are ``(query_id, doc_id, rater, grade)``, and nested dicts
    ``{rater: {query_id: {doc_id: grade}}}``. A cell may be empty: that rater left the pair out.

    >>> wide = [{"query_id": "q", "doc_id": "d", "ann": 1, "gpt": 2, "final": 1}]
    >>> as_ratings(wide).raters
    ('ann', 'gpt')
    """
    if isinstance(data, Ratings):
        return data
    table = list(records_of(_rows(data), RATINGS))
    if not table:
        source = source_name(data) if is_path(data) else "ratings"
        raise InputError(f"{source}: there are no ratings; give at least one")
    columns, raters = _columns_of(table)
    given: dict[tuple[str, str, str], list[tuple[float, float, int]]] = {}
    for record in table:
        cell = {role: record.fields.get(name) for role, name in columns.items()}
        query_id, doc_id = (_id(cell[role], role, record) for role in ("query_id", "doc_id"))
        singles = [(name, record.fields.get(name)) for name in raters]
        if "grade" in cell:
            rater = _id(cell["rater"], "rater", record) if "rater" in cell else "rater"
            singles = [(rater, cell["grade"])]
        if "final" in cell:
            singles.append(("final", cell["final"]))
        repeat = cells.number(cell.get("repeat"))
        for name, value in singles:
            grade = _grade(value, name, record)
            if grade is None:
                continue
            is_final = folded(name) in _FINALS
            ratings = given.setdefault((query_id, doc_id, "final" if is_final else name), [])
            if ratings and (ratings[0][1] != grade if is_final else "grade" not in cell):
                raise record.error(
                    f"query {shown(query_id, 40)}, document {shown(doc_id, 40)} was rated by "
                    f"{shown(name, 40)} before, with {ratings[0][1]:g} at {record.unit} "
                    f"{ratings[0][2]}; keep one row, or write a row for each rating (columns rater "
                    "and grade) if it was judged twice"
                )
            ratings.append((math.inf if repeat is None else repeat, grade, record.position))
    final = [(*pair, ratings[0][1]) for (*pair, by), ratings in given.items() if by == "final"]
    records = [
        (*key, number, grade)
        for key, ratings in given.items()
        if key[2] != "final"
        for number, (_, grade, _) in enumerate(sorted(ratings, key=lambda each: each[0]), start=1)
    ]
    if not records:
        raise table[0].error("no row holds a grade of any rater; give at least one")
    pairs = {name: _SCHEMA[name] for name in ("query_id", "doc_id", "grade")}
    return Ratings(
        pl.DataFrame(records, schema=_SCHEMA, orient="row"),
        pl.DataFrame(final, schema=pairs, orient="row") if final else None,
    )


def _rows(data: Any) -> Any:
    """Return the tuples of ``{rater: {query_id: {doc_id: grade}}}``; anything else as it is."""
    try:
        return [
            (query_id, doc_id, rater, grade)
            for rater, queries in dict.items(data)
            for query_id, grades in dict.items(queries)
            for doc_id, grade in dict.items(grades)
        ]
    except TypeError:
        return data


def _columns_of(table: list[Record]) -> tuple[dict[str, str], list[str]]:
    """Return which columns have the roles that are there, and those of raters in a wide table."""
    names = list(dict.fromkeys(str(name) for record in table for name in record.fields))
    listed = ", ".join(shown(name, 30) for name in names[:8])
    columns = {role: find_name(names, ALIASES[role]) for role in ("query_id", "doc_id")}
    lacking = next((role for role, name in columns.items() if name is None), None)
    if lacking is not None:
        raise table[0].error(
            f"no column for the {lacking} of ratings among {listed}; name one of them "
            f"{', '.join(ALIASES[lacking][:4])}"
        )
    others = [name for name in names if name not in columns.values()]
    rater, grade = find_name(others, RATERS), find_name(others, _GRADES)
    raters = [name for name in others if name not in (rater, grade) and _is_rater(name, table)]
    if grade is not None and (rater is not None or not raters):
        columns |= {"rater": rater, "grade": grade, "repeat": find_name(others, REPEATS)}
        columns["final"] = find_name([name for name in others if name != grade], FINAL)
        raters = []
    else:
        columns["final"] = find_name(others, (*FINAL, *_GRADES))
        raters = [name for name in raters if name != columns["final"]]
        if not raters:
            raise table[0].error(
                f"no column holds the grades of a rater among {listed}; give each rater a column "
                "of numbers such as rater_1, or a row for each rating with the columns rater and "
                "grade"
            )
    return {role: name for role, name in columns.items() if name is not None}, raters


def _is_rater(name: str, table: list[Record]) -> bool:
    """Tell whether a column holds grades: at least half of its cells are numbers.

    A cell that is none is then an error, and no reason to overlook the rater.
    """
    plain = folded(name)
    if plain in _NO_RATER or plain.startswith("unnamed"):
        return False
    if rater_columns([name]):
        return True
    given = [record.fields.get(name) for record in table]
    given = [cell for cell in given if not cells.is_empty(cell)]
    return bool(given) and 2 * sum(cells.number(cell) is not None for cell in given) >= len(given)


def _grade(value: object, rater: str, record: Record) -> float | None:
    """Return a cell as a grade; None if it is empty."""
    if cells.is_empty(value):
        return None
    number = cells.number(value)
    if number is not None and abs(number) <= LARGEST_GRADE:
        return number
    header = "; a header names the columns query_id and doc_id" if record.position == 1 else ""
    raise record.error(
        f"the grade of {shown(rater, 40)} is {shown(value, 40)}, which is not a finite number up "
        f"to {LARGEST_GRADE:,}; write grades as numbers, and leave the cell empty where nobody "
        f"judged{header}"
    )


def _id(value: object, role: str, record: Record) -> str:
    return checked_id("" if value is None else cells.whole(value), role, record)
