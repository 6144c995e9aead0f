"""Ratings: the grades of several raters for the same documents.

A rater is a person or a program that judges. Tables come in two forms: *wide*, with a column of
grades for each rater, and *long*, with a row for each rating. A rater may judge a pair more than
once: the ratings are then its repeats, numbered from 1 on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import polars as pl

from rankscope.collection import single_cells as cells
from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.files import is_path, source_name
from rankscope.tables.columns import (
    ALIASES,
    LARGEST_GRADE,
    RecordLayout,
    find_name,
    folded,
    rater_columns,
)
from rankscope.tables.record_rows import Placed, checked_id, rows_from

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

_FINAL_SCHEMA: dict[str, Any] = {name: _SCHEMA[name] for name in ("query_id", "doc_id", "grade")}


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Grades by query, document and rater; made by `as_ratings`.

    >>> ratings = as_ratings([("q1", "d1", "ann", 2), ("q1", "d1", "bob", 3)])
    >>> ratings
    Ratings(2 ratings of 1 pair by 2 raters: ann, bob)
    """

    _frame: pl.DataFrame
    _final: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_FINAL_SCHEMA))

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each rating: query_id, doc_id, rater, repeat (from 1), grade."""
        return self._frame

    @property
    def final(self) -> pl.DataFrame | None:
        """The grades that were settled on: query_id, doc_id, grade; None if none are given."""
        return self._final if self._final.height else None

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """The raters, in the order in which they appear."""
        return tuple(self._frame["rater"].unique(maintain_order=True))

    def __len__(self) -> int:
        return self._frame.height

    def __repr__(self) -> str:
        pairs = self._frame.select("query_id", "doc_id").n_unique()
        names = ", ".join(shown(name, 24)[1:-1] for name in self.raters[:4])
        more = ", …" if len(self.raters) > 4 else ""
        count = f"{counted(len(self), 'rating')} of {counted(pairs, 'pair')}"
        return f"Ratings({count} by {counted(len(self.raters), 'rater')}: {names}{more})"

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
    rows = list(rows_from(_unnested(data), RATINGS))
    if not rows:
        source = source_name(data) if is_path(data) else "ratings"
        raise InputError(f"{source}: there are no ratings; give at least one")
    is_long, singles = _singles(rows)
    given: dict[tuple[str, str, str], list[tuple[float, float, Placed]]] = {}
    final: dict[tuple[str, str], tuple[float, Placed]] = {}
    for placed, pair, rater, value, repeat in singles:
        origin, position, _ = placed
        what = f"query {shown(pair[0], 40)}, document {shown(pair[1], 40)}"
        grade = _grade(value, rater, placed)
        if grade is None:
            continue
        if folded(rater) in _FINALS:
            settled, (_, line, _) = final.setdefault(pair, (grade, placed))
            if settled != grade:
                raise origin.error(
                    f"{what} has the final grade {grade:g}, and {settled:g} at {origin.unit} "
                    f"{line}; keep one",
                    position,
                )
            continue
        repeats = given.setdefault((*pair, rater), [])
        repeats.append((repeat, grade, placed))
        if len(repeats) > 1 and not is_long:
            raise origin.error(
                f"{what} was rated by {shown(rater, 40)} before, at {origin.unit} "
                f"{repeats[0][2][1]}; keep one row, or write a row for each rating (columns rater "
                "and grade) if it was judged twice",
                position,
            )
    if not given:
        raise rows[0][0].error("holds no grade of any rater; give at least one")
    records = [
        (*key, number, grade)
        for key, repeats in given.items()
        for number, (_, grade, _) in enumerate(sorted(repeats, key=lambda each: each[0]), start=1)
    ]
    return Ratings(
        pl.DataFrame(records, schema=_SCHEMA, orient="row"),
        pl.DataFrame(
            [(*pair, grade) for pair, (grade, _) in final.items()],
            schema=_FINAL_SCHEMA,
            orient="row",
        ),
    )


_Single = tuple[Placed, tuple[str, str], str, object, float]
"""One rating: its row, query and document, rater, the grade as written, number of the repeat."""


def _unnested(data: Any) -> Any:
    """Return the tuples of ``{rater: {query_id: {doc_id: grade}}}``; anything else as it is."""
    if not isinstance(data, Mapping):
        return data
    by_query = [each for each in data.values() if isinstance(each, Mapping)]
    is_nested = all(isinstance(docs, Mapping) for each in by_query for docs in each.values())
    if len(by_query) < len(data) or not is_nested:
        return data
    return [
        (query_id, doc_id, rater, grade)
        for rater, queries in data.items()
        for query_id, docs in queries.items()
        for doc_id, grade in docs.items()
    ]


def _singles(rows: list[Placed]) -> tuple[bool, Iterator[_Single]]:
    """Return whether the table is long, and its single ratings."""
    names = [str(name) for name in dict.fromkeys(name for _, _, row in rows for name in row)]
    listed = ", ".join(shown(name, 30) for name in names[:8])
    roles = {role: find_name(names, ALIASES[role]) for role in ("query_id", "doc_id")}
    for role, column in roles.items():
        if column is None:
            raise rows[0][0].error(
                f"no column for the {role} of ratings among {listed}; name one of them "
                f"{', '.join(ALIASES[role][:4])}"
            )
    others = [name for name in names if name not in roles.values()]
    rater, grade = find_name(others, RATERS), find_name(others, _GRADES)
    raters = [name for name in others if name not in (rater, grade) and _is_rater(name, rows)]
    is_long = grade is not None and (rater is not None or not raters)
    others = [name for name in others if not is_long or name not in (rater, grade)]
    repeat = find_name(others, REPEATS) if is_long else None
    final = find_name(others, FINAL if is_long else (*FINAL, *_GRADES))
    raters = [name for name in raters if name != final]
    if not is_long and not raters:
        raise rows[0][0].error(
            f"no column holds the grades of a rater among {listed}; give each rater a column of "
            "numbers such as rater_1, or a row for each rating with the columns rater and grade"
        )

    def singles() -> Iterator[_Single]:
        for placed in rows:
            row = placed[2]
            query_id, doc_id = (
                _id(row.get(str(name)), role, placed) for role, name in roles.items()
            )
            pair = (query_id, doc_id)
            if final is not None:
                yield placed, pair, "final", row.get(final), 0
            if is_long:
                number = cells.number(row.get(repeat or ""))
                by = "rater" if rater is None else _id(row.get(rater), "rater", placed)
                yield placed, pair, by, row.get(str(grade)), math.inf if number is None else number
            else:
                yield from ((placed, pair, name, row.get(name), 0) for name in raters)

    return is_long, singles()


def _is_rater(name: str, rows: list[Placed]) -> bool:
    """Tell whether a column holds grades: at least half of its cells are numbers.

    A cell that is none is then an error, and no reason to overlook the rater.
    """
    plain = folded(name)
    if plain in _NO_RATER or plain.startswith("unnamed"):
        return False
    if rater_columns([name]):
        return True
    given = [row[name] for _, _, row in rows if not cells.is_empty(row.get(name))]
    return bool(given) and 2 * sum(cells.number(cell) is not None for cell in given) >= len(given)


def _grade(value: object, rater: str, placed: Placed) -> float | None:
    """Return a cell as a grade; None if it is empty."""
    if cells.is_empty(value):
        return None
    number = cells.number(value)
    if number is not None and abs(number) <= LARGEST_GRADE:
        return number
    origin, position, _ = placed
    header = "; a header names the columns query_id and doc_id" if position == 1 else ""
    raise origin.error(
        f"the grade of {shown(rater, 40)} is {shown(value, 40)}, which is not a finite number up "
        f"to {LARGEST_GRADE:,}; write grades as numbers, and leave the cell empty where nobody "
        f"judged{header}",
        position,
    )


def _id(value: object, role: str, placed: Placed) -> str:
    """Return an id as text."""
    return checked_id("" if value is None else cells.whole(value), role, placed)
