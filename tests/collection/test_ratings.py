"""Ratings: both forms of tables, repeats, final grades, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.errors import FormatError, InputError, UnknownNameError

WIDE = (
    "query-id\tcorpus-id\trater_1\trater_2\tfinal\nq1\td1\t2\t3\t3\nq1\td2\t0\t\t0\nq2\td1\t\t1\t\n"
)
ROWS = [
    ("q1", "d1", "rater_1", 1, 2.0),
    ("q1", "d1", "rater_2", 1, 3.0),
    ("q1", "d2", "rater_1", 1, 0.0),
    ("q2", "d1", "rater_2", 1, 1.0),
]


def written(folder: Path, text: str, name: str = "ratings.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows(ratings: Ratings) -> list[tuple[Any, ...]]:
    return ratings.to_polars().rows()


def final(ratings: Ratings) -> list[tuple[Any, ...]]:
    assert ratings.final is not None
    return ratings.final.rows()


def test_a_wide_file(tmp_path: Path) -> None:
    ratings = as_ratings(written(tmp_path, WIDE))
    assert rows(ratings) == ROWS
    assert final(ratings) == [("q1", "d1", 3.0), ("q1", "d2", 0.0)]
    assert ratings.raters == ("rater_1", "rater_2")
    assert as_ratings(ratings) is ratings


LONG = "qid,docno,judge,label\nq1,d1,rater_1,2\nq1,d1,rater_2,3\nq1,d2,rater_1,0\nq2,d1,rater_2,1\n"


FRAME = pl.DataFrame(
    {"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d1"], "rater_1": [2, 0, None]}
    | {"rater_2": [3.0, None, 1.0], "final": [3, 0, None]}
)


@pytest.mark.parametrize(
    "data",
    [
        WIDE.replace("\t", ","),
        LONG + "q1,d1,final,3\nq1,d2,final,0\n",
        LONG.replace("qid,docno,judge,label\n", "") + "q1,d1,gold,3\nq1,d2,Gold,0\n",
        FRAME,
        FRAME.to_pandas(),
        {"ratings": FRAME.to_dicts()},
        [
            (q, d, by, grade)
            for q, d, by, _, grade in (
                *ROWS,
                ("q1", "d1", "final", 1, 3),
                ("q1", "d2", "final", 1, 0),
            )
        ],
        {"rater_1": {"q1": {"d1": 2, "d2": 0}}, "rater_2": {"q1": {"d1": 3}, "q2": {"d1": 1.0}}}
        | {"final": {"q1": {"d1": 3, "d2": 0}}},
    ],
    ids=lambda data: type(data).__name__,
)
def test_forms_that_say_the_same(tmp_path: Path, data: Any) -> None:
    ratings = as_ratings(written(tmp_path, data, "r.csv") if isinstance(data, str) else data)
    assert sorted(rows(ratings)) == sorted(ROWS)
    assert sorted(final(ratings)) == [("q1", "d1", 3.0), ("q1", "d2", 0.0)]


def test_columns_that_are_nobodys_grades() -> None:
    records = [
        {"query_id": "q", "doc_id": n, "rank": n, "year": 2020, "title": "7", "gpt-4": n % 3}
        | {"comment": "fine", "brand": f"b{n}", "relevance": 1}
        for n in range(4)
    ]
    ratings = as_ratings(records)
    assert ratings.raters == ("gpt-4",)
    assert final(ratings)[0] == ("q", "0", 1.0)


def test_a_rater_that_judges_again_makes_a_repeat() -> None:
    rows_of_their_own = [
        {"query_id": "q", "doc_id": "d", "ann": 1, "bob": None},
        {"query_id": "q", "doc_id": "d", "ann": None, "bob": 2},
    ]
    assert [row[3] for row in rows(as_ratings(rows_of_their_own))] == [1, 1]
    data = [("q", "d", "ann", 1), ("q", "e", "ann", 0), ("q", "d", "ann", 2), ("q", "d", "bob", 3)]
    assert rows(as_ratings(data)) == [
        ("q", "d", "ann", 1, 1.0),
        ("q", "d", "ann", 2, 2.0),
        ("q", "e", "ann", 1, 0.0),
        ("q", "d", "bob", 1, 3.0),
    ]
    numbered = [(*row, repeat) for row, repeat in zip(data, (7, 1, 3, 1), strict=True)]
    first = as_ratings(numbered).to_polars().filter(pl.col("rater") == "ann")
    assert first.filter(pl.col("doc_id") == "d")["grade"].to_list() == [2.0, 1.0]


# one pair rated 0, 0, 1, 3, another 1, 2
COMBINED: dict[Any, tuple[float, float]] = {
    "mean": (1.0, 1.5),
    "median": (0.5, 1.5),
    "max": (3.0, 2.0),
    "majority": (0.0, 1.0),  # 0 is the most frequent; 1 and 2 are equally so: the lower middle one
}


@pytest.mark.parametrize("way", COMBINED)
def test_one_grade_of_several(way: Any, tmp_path: Path) -> None:
    first, second = COMBINED[way]
    expected = {"q": {"a": first, "b": second}}
    long = "query_id,doc_id,grade\nq,a,0\nq,b,1\nq,a,0\nq,a,1\nq,b,2\nq,a,3\n"
    assert as_ratings(written(tmp_path, long, "r.csv")).combined(way).to_dict() == expected
    wide = "query_id,doc_id,rater_1,Rater 2,rater-3,annotator4\nq,a,0,0,1,3\nq,b,1,,2,\n"
    assert as_ratings(written(tmp_path, wide, "r.csv")).combined(way).to_dict() == expected
    with pytest.raises(UnknownNameError, match="nearest: median"):
        as_ratings(written(tmp_path, wide, "r.csv")).combined("medain")  # type: ignore[arg-type]


HEAD = "query_id,doc_id,ann,bob\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HEAD + "q,d,1,2\nq,e,x,2\nq,f,1,1\n", "r.csv:3: the grade of 'ann' is 'x'"),
        (HEAD + "q,d,1,nan\n", "r.csv:2: the grade of 'bob' is 'nan'"),
        (HEAD + "q,d,1e300,1\n", "9,007,199,254,740,992"),
        (HEAD + "q,d,1,2\n\nq,d,2,2\n", "r.csv:4: query 'q', document 'd' was rated by 'ann'"),
        (HEAD + "q,d,1,2\nq,,2,2\n", "r.csv:3: the doc_id is empty"),
        (HEAD + "q,d,,\n", "r.csv:2: no column"),
        ("query_id,doc_id,rater_1\nq,d,\nq,e,good\n", "r.csv:3: the grade of 'rater_1'"),
        ("query_id,ann,bob\nq,1,2\n", "doc_id"),
        ("a,b,c\n1,2,3\n", "r.csv:1: has 3 cells"),
        (LONG + "q,d,,1\n", "r.csv:6: the rater is empty"),
        (
            HEAD[:-1] + ",final\nq,d,1,,2\nq,d,,1,3\n",
            "r.csv:3: query 'q', document 'd' was rated by 'final' before, with 2 at line 2",
        ),
        (7, "'7'"),
        (Path("missing.tsv"), "not found"),
        (Path(), "folder"),
        ({"ann": {"q": 3}}, "no column for the doc_id"),
        ({"ann": {"q": 1}}, "no column for the doc_id"),
        ([("q", "d", "ann", "good")], "row 1: the grade of 'ann' is 'good'"),
        ([("q", "d", "ann", float("nan"))], "finite"),
        ([{"doc_id": "d", "ann": 1}], "query_id"),
        ([{"query_id": None, "doc_id": "d", "ann": 1}], "row 1: the query_id is empty"),
        ([{"query_id": "\ud800", "doc_id": "d", "ann": 1}], "not valid text"),
    ],
)
def test_what_is_refused(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        as_ratings(written(tmp_path, data, "r.csv") if isinstance(data, str) else data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not isinstance(data, str) or isinstance(caught.value, FormatError)
