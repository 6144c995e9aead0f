"""Ratings: the grades of several raters for the same documents.

A rater is a person or a program that judges. Tables come in two forms: *wide*, with a column of
grades for each rater, and *long*, with a row for each rating. A rater may judge a pair more than
once: the ratings are then its repeats, numbered from 1 on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import polars as pl

from rankscope.errors import InputError, counted, shown
from rankscope.files import is_path, source_name
from rankscope.tables.columns import (
    ALIASES,
    LARGEST_GRADE,
    RecordLayout,
    find_name,
    folded,
    rater_columns,
)
from rankscope.tables.ids import id_text
from rankscope.tables.reading import read_records
from rankscope.tables.record_rows import Placed, rows_of

RATINGS = RecordLayout(
    kind="ratings",
    formats=("tsv", "csv", "jsonl", "json", "parquet"),
    suffixes={},
    noun="rating",
    id_column="query_id",
    id_names=ALIASES["query_id"],
    text_names=ALIASES["doc_id"],  # a header is known by the names of both
    columns=(),
    headerless={
        4: ("query_id", "doc_id", "rater", "grade"),
        5: ("query_id", "doc_id", "rater", "grade", "repeat"),
    },
)

RATERS = (
    *("rater", "judge", "annotator", "assessor", "worker", "labeler", "labeller"),
    *("rater_id", "judge_id", "annotator_id", "assessor_id", "worker_id", "user_id"),
    *("rater_name", "judge_name", "annotator_name", "judged_by", "rated_by", "user", "model"),
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

_NO_RATER = frozenset(
    folded(name)
    for name in (
        *(name for role in ("query_id", "doc_id") for name in ALIASES[role]),
        *(name for role in ("rank", "tag", "subtopic") for name in ALIASES[role]),
        *("id", "index", "row", "line", "", "timestamp", "date", "time", "year"),
        *("title", "text", "query_text", "comment", "comments", "note", "notes", "reason"),
    )
)
"""Columns that are nobody's grades, though numbers may be in them."""

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
        return (
            f"Ratings({counted(len(self), 'rating')} of {counted(pairs, 'pair')} by "
            f"{counted(len(self.raters), 'rater')}: {names}{more})"
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: equal for equal ratings, whatever their order and format."""
        keys = ["query_id", "doc_id", "rater", "repeat"]
        digest = hashlib.sha256()
        for frame in (self._frame.sort(keys), self._final.sort(keys[:2])):
            digest.update(frame.write_csv().encode())
        return digest.hexdigest()


def as_ratings(data: Any) -> Ratings:
    """Take ratings in any form: `Ratings`, a file, a frame, records, or nested dicts.

    A wide table has columns for the query and the document (``query-id``, ``corpus-id``), and every
    other column of numbers is a rater's; ``final``, ``consensus``, ``gold`` or ``adjudicated`` is
    the grade that was settled on. A long one has a row for each rating: ``query_id``, ``doc_id``,
    ``rater`` (or ``judge``, ``annotator``) and ``grade`` (``rating``, ``label``), and may have a
    ``repeat``; a rater that judges a pair again makes a repeat of it. Plain tuples are
    ``(query_id, doc_id, rater, grade)``. Nested dicts are ``{rater: {query_id: {doc_id: grade}}}``,
    where a list of grades holds the repeats. A cell may be empty: that rater left the pair out.

    >>> wide = [{"query_id": "q", "doc_id": "d", "ann": 1, "gpt": 2, "final": 1}]
    >>> as_ratings(wide).raters
    ('ann', 'gpt')
    >>> nested = {"ann": {"q": {"d": 1}}, "gpt": {"q": {"d": [2, 1]}}}
    >>> as_ratings(nested).to_polars()["repeat"].to_list()
    [1, 1, 2]
    """
    if isinstance(data, Ratings):
        return data
    placed = read_records(data, RATINGS) if is_path(data) else rows_of(data, RATINGS)
    rows = [row for each in placed for row in _unnested(each)]
    if not rows:
        source = source_name(data) if is_path(data) else "ratings"
        raise InputError(f"{source}: there are no ratings; give at least one")
    return _collected(rows)


def _unnested(placed: Placed) -> Iterator[Placed]:
    """Yield the ratings in ``{rater: {query_id: {doc_id: grade}}}``, of which a row is one rater.

    Such data is read as records by id, with the rater in the place of the id. Other rows stay as
    they are.
    """
    origin, position, row = placed
    queries = {name: value for name, value in row.items() if name != "query_id"}
    if origin.unit != "item" or not all(isinstance(each, Mapping) for each in queries.values()):
        yield placed
        return
    for query_id, documents in queries.items():
        assert isinstance(documents, Mapping)
        for doc_id, grade in documents.items():
            names = {"query_id": query_id, "doc_id": doc_id, "rater": row["query_id"]}
            yield origin, position, {**names, "grade": grade}


_Single: TypeAlias = tuple[Placed, str, object, object]
"""One rating: its row, the rater, the grade as it is written, and what orders repeats."""


def _collected(rows: list[Placed]) -> Ratings:
    """Make ratings of the rows of a wide or a long table."""
    names = [str(name) for name in dict.fromkeys(name for _, _, row in rows for name in row)]
    roles = {role: find_name(names, ALIASES[role]) for role in ("query_id", "doc_id")}
    for role, column in roles.items():
        if column is None:
            nested = "; nested dicts are {rater: {query_id: {doc_id: grade}}}"
            raise rows[0][0].error(
                f"no column for the {role} of ratings among {_listed(names)}; name one of them "
                f"{', '.join(ALIASES[role][:4])}{nested if rows[0][0].unit == 'item' else ''}"
            )
    rest = [name for name in names if name not in roles.values()]
    rater, grade = find_name(rest, RATERS), find_name(rest, _GRADES)
    is_long = rater is not None and grade is not None
    singles = _long(rows, rest, str(rater), str(grade)) if is_long else _wide(rows, rest)
    given: dict[tuple[str, str, str], list[tuple[object, float, Placed]]] = {}
    final: dict[tuple[str, str], tuple[float, Placed]] = {}
    for placed, by, value, order in singles:
        origin, position, row = placed
        pair = tuple(_id(row.get(str(roles[role])), role, placed) for role in roles)
        what = f"query {shown(pair[0], 40)}, document {shown(pair[1], 40)}"
        for each in value if isinstance(value, list | tuple) else [value]:
            number = _grade(each, by, placed)
            if number is None:
                continue
            if folded(by) in _FINALS:
                settled, before = final.setdefault((pair[0], pair[1]), (number, placed))
                if settled != number:
                    raise origin.error(
                        f"{what} has the final grade {number:g}, and {settled:g} at "
                        f"{before[0].unit} {before[1]}; keep one",
                        position,
                    )
                continue
            repeats = given.setdefault((pair[0], pair[1], by), [])
            repeats.append((order, number, placed))
            if len(repeats) > 1 and not is_long:
                raise origin.error(
                    f"{what} was rated by {shown(by, 40)} before, at {origin.unit} "
                    f"{repeats[0][2][1]}; keep one row, or write a row for each rating (columns "
                    "rater and grade) if it was judged twice",
                    position,
                )
    if not given:
        raise rows[0][0].error("holds no grade of any rater; give at least one")
    records = [
        (*key, number, value)
        for key, repeats in given.items()
        for number, (_, value, _) in enumerate(sorted(repeats, key=_by_order), start=1)
    ]
    return Ratings(
        pl.DataFrame(records, schema=_SCHEMA, orient="row"),
        pl.DataFrame(
            [(*pair, number) for pair, (number, _) in final.items()],
            schema=_FINAL_SCHEMA,
            orient="row",
        ),
    )


def _long(rows: list[Placed], rest: list[str], rater: str, grade: str) -> Iterator[_Single]:
    """Yield the ratings of a table with a row for each."""
    others = [name for name in rest if name not in (rater, grade)]
    repeat, settled = find_name(others, REPEATS), find_name(others, FINAL)
    for placed in rows:
        row = placed[2]
        if settled is not None:
            yield placed, "final", row.get(settled), None
        yield placed, _id(row.get(rater), "rater", placed), row.get(grade), row.get(str(repeat))


def _wide(rows: list[Placed], rest: list[str]) -> Iterator[_Single]:
    """Yield the ratings of a table with a column for each rater."""
    settled = find_name(rest, (*FINAL, *_GRADES))
    raters = [name for name in rest if name != settled and _is_rater(name, rows)]
    if not raters:
        raise rows[0][0].error(
            f"no column holds the grades of a rater among {_listed(rest)}; give each rater a "
            "column of numbers such as rater_1, or a row for each rating with the columns rater "
            "and grade"
        )
    for placed in rows:
        if settled is not None:
            yield placed, "final", placed[2].get(settled), None
        for rater in raters:
            yield placed, rater, placed[2].get(rater), None


def _is_rater(name: str, rows: list[Placed]) -> bool:
    """Tell whether a column holds grades: at least half of its cells are numbers.

    A cell that is none is then an error, and no reason to overlook the rater.
    """
    plain = folded(name)
    if plain in _NO_RATER or plain.startswith("unnamed"):
        return False
    if rater_columns([name]):
        return True
    cells = [row[name] for _, _, row in rows if not _is_empty(row.get(name))]
    return bool(cells) and 2 * sum(_number(cell) is not None for cell in cells) >= len(cells)


def _listed(names: list[str]) -> str:
    return ", ".join(shown(name, 30) for name in names[:8])


# --- single cells


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _number(value: object) -> float | None:
    """Return a cell as a number, also as one that is not finite; None if it is none."""
    try:
        if isinstance(value, str) and "_" in value:  # Python's 1_000 is no number in a table
            return None
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _grade(value: object, rater: str, placed: Placed) -> float | None:
    """Return a cell as a grade; None if it is empty."""
    if _is_empty(value):
        return None
    number = _number(value)
    if number is not None and abs(number) <= LARGEST_GRADE:
        return number
    problem = "is not a number"
    if number is not None:
        problem = f"is not between {-LARGEST_GRADE:,} and {LARGEST_GRADE:,}"
        if not math.isfinite(number):
            problem = "is not a finite number"
    origin, position, _ = placed
    header = "; a header names the columns query_id and doc_id" if position == 1 else ""
    raise origin.error(
        f"the grade of {shown(rater, 40)} is {shown(value, 40)}, which {problem}; write grades as "
        f"numbers, and leave the cell empty where nobody judged{header}",
        position,
    )


def _id(value: object, role: str, placed: Placed) -> str:
    """Return an id as text; frames with missing cells have whole numbers as floats."""
    origin, position, _ = placed
    try:
        text = id_text(int(value) if isinstance(value, float) and value.is_integer() else value)
        text.encode()
    except UnicodeError:
        raise origin.error(f"the {role} is not valid text", position) from None
    except ValueError as error:
        if not _is_empty(value):
            raise origin.error(f"the {role} is {error}", position) from None
        text = ""
    if not text.strip():
        raise origin.error(f"the {role} is empty; give every rating one", position)
    return text


def _by_order(repeat: tuple[object, float, Placed]) -> tuple[int, float, str]:
    """Return what repeats are ordered by: numbers first, then text, what is missing last."""
    order = repeat[0]
    if _is_empty(order):
        return 2, 0.0, ""
    number = _number(order)
    return (1, 0.0, str(order)) if number is None else (0, number, "")
