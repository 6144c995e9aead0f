"""Ratings: the grades of several raters for the same documents.

A rater is a person or a program that judges. Tables come in two forms: *wide*, with a column of
grades for each rater, and *long*, with a row for each rating. A rater may judge a pair more than
once: the ratings are then its repeats, numbered from 1 on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.files import is_path
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
from rankscope.tables.record_rows import rows_of
from rankscope.tables.table_options import named_keys, saw_columns

if TYPE_CHECKING:
    from rankscope.tables.record_rows import Placed

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratings):
            return NotImplemented
        keys = ["query_id", "doc_id", "rater", "repeat"]
        return self._frame.sort(keys).equals(other._frame.sort(keys)) and self._final.sort(
            keys[:2]
        ).equals(other._final.sort(keys[:2]))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        pairs = self._frame.select("query_id", "doc_id").n_unique()
        names = ", ".join(shown(name, 24)[1:-1] for name in self.raters[:4])
        more = ", …" if len(self.raters) > 4 else ""
        counts = [
            f"{len(self):,} rating{'s' * (len(self) != 1)} of {pairs:,} pair{'s' * (pairs != 1)}",
            f"{len(self.raters):,} rater{'s' * (len(self.raters) != 1)}",
        ]
        return f"Ratings({' by '.join(counts)}: {names}{more})"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: equal for equal ratings, whatever their order and format."""
        import hashlib  # noqa: PLC0415

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
    >>> as_ratings({"ann": {"q": {"d": 1}}, "gpt": {"q": {"d": [2, 1]}}}).to_polars()["repeat"]
    ... # doctest: +ELLIPSIS
    shape: (3,)
    ...
    """
    if isinstance(data, Ratings):
        return data
    if is_path(data):
        if os.path.isdir(data):
            raise InputError(f"{os.fspath(data)}: is a folder; name the file of the ratings")
        placed: Iterable[Placed] = read_records(data, RATINGS)
    elif isinstance(data, bytes):
        raise InputError("ratings: got bytes; give a path, a frame, records or nested dicts")
    else:
        placed = rows_of(_as_table(data), RATINGS)
    rows = [row for each in placed for row in _unnested(each)]
    if not rows:
        source = str(data) if is_path(data) else "ratings"
        raise InputError(f"{source}: there are no ratings; give at least one")
    return _Table(rows).ratings()


def _as_table(data: Any) -> Any:
    """Return columns in a dict as a frame; other data as it is."""
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    is_columns = (
        isinstance(data, Mapping)
        and data
        and all(
            isinstance(values, Sequence) and not isinstance(values, str) for values in data.values()
        )
    )
    if not is_columns or find_name(list(data), RATINGS.id_names) is None:
        return data
    if len({len(values) for values in data.values()}) > 1:
        raise InputError("ratings: the columns are not equally long; give each the same rows")
    names = list(data)
    return [dict(zip(names, row, strict=True)) for row in zip(*data.values(), strict=True)]


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


NOT_A_NUMBER = "is not a number"


class _Number(NamedTuple):
    """A cell as a grade; ``problem`` says why it is none. Both are None for an empty cell."""

    grade: float | None = None
    problem: str | None = None


def _number(value: object) -> _Number:
    if value is None or (isinstance(value, str) and not value.strip()):
        return _Number()
    try:
        if isinstance(value, str) and "_" in value:
            raise ValueError  # Python's 1_000 is no number in a table
        grade = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return _Number(problem=NOT_A_NUMBER)
    if not math.isfinite(grade):
        return _Number(problem="is not a finite number")
    if abs(grade) > LARGEST_GRADE:
        return _Number(problem=f"is not between {-LARGEST_GRADE:,} and {LARGEST_GRADE:,}")
    return _Number(grade)


class _Table:
    """Rows with their places, on the way to ratings."""

    def __init__(self, rows: list[Placed]) -> None:
        self.rows = rows
        self.names = [str(name) for name in dict.fromkeys(n for _, _, row in rows for n in row)]
        self._ids: dict[object, str] = {}
        keys = named_keys()
        roles = {
            "query_id": self._column("query_id", ALIASES["query_id"]),
            "doc_id": self._column("doc_id", ALIASES["doc_id"]),
        }
        for role, name in roles.items():
            if name is None:
                listed = ", ".join(shown(each, 30) for each in self.names[:8])
                nested = "; nested dicts are {rater: {query_id: {doc_id: grade}}}"
                raise rows[0][0].error(
                    f"no column for the {role} of ratings among {listed}; name one of them "
                    f"{', '.join(ALIASES[role][:4])}{nested if rows[0][0].unit == 'item' else ''}"
                )
        self.query, self.doc = str(roles["query_id"]), str(roles["doc_id"])
        if keys:
            saw_columns(self.names, {role: str(name) for role, name in roles.items()})
        self.rest = [name for name in self.names if name not in roles.values()]
        self.rater = find_name(self.rest, RATERS)
        self.grade = self._column("grade", _GRADES, among=self.rest)

    def _column(
        self, role: str, known: tuple[str, ...], among: Sequence[str] | None = None
    ) -> str | None:
        """Return the column of a role: the one that the user named, or one of a known name."""
        names = self.names if among is None else among
        key = named_keys().get(role)
        return key if key in names else find_name(names, known)

    def ratings(self) -> Ratings:
        """Return the ratings of a wide or a long table."""
        is_long = self.rater is not None and self.grade is not None
        records, final = self._long() if is_long else self._wide()
        if not records:
            raise self.rows[0][0].error("holds no grade of any rater; give at least one")
        frame = pl.DataFrame(records, schema=_SCHEMA, orient="row")
        settled = [(*pair, grade) for pair, (grade, _) in final.items()]
        return Ratings(frame, pl.DataFrame(settled, schema=_FINAL_SCHEMA, orient="row"))

    def _pair(self, place: int) -> tuple[str, str]:
        """Return the ids of the query and the document in a row."""
        row = self.rows[place][2]
        return self._id(row.get(self.query), "query_id", place), self._id(
            row.get(self.doc), "doc_id", place
        )

    def _id(self, value: object, role: str, place: int) -> str:
        if value is None:
            value = ""
        try:
            text = id_text(_whole(value))
            text.encode()
        except UnicodeError:
            raise self._error(f"the {role} is not valid text", place) from None
        except ValueError as error:
            raise self._error(f"the {role} is {error}", place) from None
        if not text.strip():
            raise self._error(f"the {role} is empty; give every rating one", place)
        return text

    def _error(self, problem: str, place: int) -> InputError:
        origin, position, _ = self.rows[place]
        return origin.error(problem, position)

    def _graded(self, value: object, rater: str | None, place: int) -> float | None:
        number = _number(value)
        if number.problem is not None:
            whose = "the grade" if rater is None else f"the grade of {shown(rater, 40)}"
            remedy = "write grades as numbers, and leave the cell empty where nobody judged"
            if not place and tuple(self.names) in RATINGS.headerless.values():
                remedy += "; if this line is a header, name its columns query_id and doc_id"
            raise self._error(
                f"{whose} is {shown(value, 40)}, which {number.problem}; {remedy}", place
            )
        return number.grade

    def _settle(
        self, final: dict[tuple[str, str], tuple[float, int]], value: object, place: int
    ) -> None:
        """Add a final grade; the same pair must not have two."""
        grade = self._graded(value, "final", place)
        if grade is None:
            return
        pair = self._pair(place)
        known, first = final.setdefault(pair, (grade, place))
        if known != grade:
            unit = self.rows[first][0].unit
            raise self._error(
                f"query {shown(pair[0], 40)}, document {shown(pair[1], 40)} has the final grade "
                f"{grade:g}, and {known:g} at {unit} {self.rows[first][1]}; keep one",
                place,
            )

    # --- a row for each rating

    def _long(self) -> tuple[list[tuple[Any, ...]], dict[tuple[str, str], tuple[float, int]]]:
        assert self.rater is not None
        assert self.grade is not None
        rest = [name for name in self.rest if name not in (self.rater, self.grade)]
        repeat, settled = find_name(rest, REPEATS), find_name(rest, FINAL)
        finals = {folded(name) for name in FINAL}
        final: dict[tuple[str, str], tuple[float, int]] = {}
        given: dict[tuple[str, str, str], list[tuple[Any, float]]] = {}
        for place, (_, _, row) in enumerate(self.rows):
            if settled is not None:
                self._settle(final, row.get(settled), place)
            rater = self._id(row.get(self.rater), "rater", place)
            value = row.get(self.grade)
            if folded(rater) in finals:
                self._settle(final, value, place)
                continue
            several = value if isinstance(value, list | tuple) else [value]
            order = None if repeat is None else _sortable(row.get(repeat))
            for each in several:
                grade = self._graded(each, None, place)
                if grade is not None:
                    key = (*self._pair(place), rater)
                    given.setdefault(key, []).append((order, grade))
        records = []
        for key, grades in given.items():
            if repeat is not None and len(grades) > 1:
                grades.sort(key=lambda each: each[0])
            records += [(*key, number, grade) for number, (_, grade) in enumerate(grades, start=1)]
        return records, final

    # --- a column for each rater

    def _wide(self) -> tuple[list[tuple[Any, ...]], dict[tuple[str, str], tuple[float, int]]]:
        settled = find_name(self.rest, (*FINAL, *_GRADES))
        raters = [name for name in self.rest if name != settled and self._is_rater(name)]
        if not raters:
            listed = ", ".join(shown(each, 30) for each in self.names[:8])
            raise self.rows[0][0].error(
                f"no column holds the grades of a rater among {listed}; give each rater a column "
                "of numbers such as rater_1, or a row for each rating with the columns rater and "
                "grade"
            )
        final: dict[tuple[str, str], tuple[float, int]] = {}
        first: dict[tuple[str, str], dict[str, int]] = {}
        records = []
        for place, (_, _, row) in enumerate(self.rows):
            pair = self._pair(place)
            if settled is not None:
                self._settle(final, row.get(settled), place)
            seen = first.setdefault(pair, {})
            for rater in raters:
                grade = self._graded(row.get(rater), rater, place)
                if grade is None:
                    continue
                if rater in seen:
                    origin, position, _ = self.rows[seen[rater]]
                    raise self._error(
                        f"query {shown(pair[0], 40)}, document {shown(pair[1], 40)} was rated by "
                        f"{shown(rater, 40)} before, at {origin.unit} {position}; keep one row, or "
                        "write a row for each rating (columns rater and grade) if it was judged "
                        "twice",
                        place,
                    )
                seen[rater] = place
                records.append((*pair, rater, 1, grade))
        return records, final

    def _is_rater(self, name: str) -> bool:
        """Tell whether a column holds grades: at least half of its cells are numbers.

        A cell that is none is then an error, and no reason to overlook the rater.
        """
        plain = folded(name)
        if plain in _NO_RATER or plain.startswith("unnamed"):
            return False
        if rater_columns([name]):
            return True
        cells = (row.get(name) for _, _, row in self.rows)
        numbers = [number for number in map(_number, cells) if number != (None, None)]
        graded = sum(number.problem != NOT_A_NUMBER for number in numbers)
        return bool(numbers) and 2 * graded >= len(numbers)


def _whole(value: object) -> object:
    """Return a whole float as an integer: frames with missing cells have such ids."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sortable(value: object) -> tuple[int, float, str]:
    """Return what repeats are ordered by: numbers first, then text, what is missing last."""
    number = _number(value)
    if number.grade is not None:
        return 0, number.grade, ""
    return (1, 0.0, str(value)) if number.problem is not None else (2, 0.0, "")
