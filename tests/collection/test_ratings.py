"""Ratings: both forms of tables, repeats, final grades, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.tables.table_options import reading
from real import COLLECTIONS

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
    assert len(ratings) == 4
    assert repr(ratings) == "Ratings(4 ratings of 3 pairs by 2 raters: rater_1, rater_2)"
    assert as_ratings(ratings) is ratings


LONG = "qid,docno,judge,label\nq1,d1,rater_1,2\nq1,d1,rater_2,3\nq1,d2,rater_1,0\nq2,d1,rater_2,1\n"
JSON_LINES = "\n".join(
    f'{{"query_id": "{query}", "doc_id": "{doc}", "annotator": "{rater}", "rating": {grade}}}'
    for query, doc, rater, _, grade in ROWS
)
NESTED = (
    '{"rater_1": {"q1": {"d1": 2, "d2": 0}}, "rater_2": {"q1": {"d1": 3}, "q2": {"d1": 1.0}}, '
    '"final": {"q1": {"d1": 3, "d2": 0}}}'
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (WIDE, "r.tsv"),
        (WIDE.replace("\t", ","), "r.csv"),
        (LONG + "q1,d1,final,3\nq1,d2,final,0\n", "r.csv"),
        (LONG.replace("qid,docno,judge,label\n", "") + "q1,d1,gold,3\nq1,d2,Gold,0\n", "r.csv"),
        (NESTED, "r.json"),
    ],
)
def test_forms_that_say_the_same(tmp_path: Path, text: str, name: str) -> None:
    ratings = as_ratings(written(tmp_path, text, name))
    same = as_ratings(written(tmp_path, WIDE))
    assert ratings == same
    assert ratings.fingerprint == same.fingerprint
    assert ratings != as_ratings([("q1", "d1", "rater_1", 2)])


def test_more_forms(tmp_path: Path) -> None:
    assert sorted(rows(as_ratings(written(tmp_path, JSON_LINES, "r.jsonl")))) == sorted(ROWS)
    wide = pl.DataFrame(
        {"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d1"], "rater_1": [2, 0, None]}
        | {"rater_2": [3.0, None, 1.0]}
    )
    wide.write_parquet(tmp_path / "r.parquet")
    for data in (
        wide,
        wide.lazy(),
        wide.to_dicts(),
        wide.to_dict(as_series=False),
        tmp_path / "r.parquet",
        str(tmp_path / "r.parquet"),
        [(query, doc, rater, grade) for query, doc, rater, _, grade in ROWS],
        {"ratings": wide.to_dicts()},
    ):
        ratings = as_ratings(data)
        assert sorted(rows(ratings)) == sorted(ROWS)
        assert ratings.final is None


def test_pandas_frames() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {"query_id": [1, 1], "doc_id": ["a", "b"], "ann": [1, None], "bob": [2, 3]}
    )
    assert rows(as_ratings(frame)) == [
        ("1", "a", "ann", 1, 1.0),
        ("1", "a", "bob", 1, 2.0),
        ("1", "b", "bob", 1, 3.0),
    ]


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
    data = [("q", "d", "ann", 1), ("q", "e", "ann", 0), ("q", "d", "ann", 2), ("q", "d", "bob", 3)]
    assert rows(as_ratings(data)) == [
        ("q", "d", "ann", 1, 1.0),
        ("q", "d", "ann", 2, 2.0),
        ("q", "e", "ann", 1, 0.0),
        ("q", "d", "bob", 1, 3.0),
    ]
    lists = {"ann": {"q": {"d": [1, 2], "e": 0}}, "bob": {"q": {"d": [3]}}}
    assert as_ratings(lists) == as_ratings(data)
    numbered = [(*row, repeat) for row, repeat in zip(data, (7, 1, 3, 1), strict=True)]
    first = as_ratings(numbered).to_polars().filter(pl.col("rater") == "ann")
    assert first.filter(pl.col("doc_id") == "d")["grade"].to_list() == [2.0, 1.0]
    dated = [
        {"query_id": "q", "doc_id": "d", "rater": "ann", "grade": grade, "round": date}
        for grade, date in ((1, "2024-05-01"), (2, "2023-01-01"), (3, ""))
    ]
    assert as_ratings(dated).to_polars()["grade"].to_list() == [2.0, 1.0, 3.0]


def test_raters_that_judge_in_rows_of_their_own() -> None:
    """A wide table may have a row for each of two raters."""
    text = [
        {"query_id": "q", "doc_id": "d", "ann": 1, "bob": None},
        {"query_id": "q", "doc_id": "d", "ann": None, "bob": 2},
    ]
    assert len(as_ratings(text)) == 2


def test_one_rater_is_read() -> None:
    assert as_ratings({"ann": {"q": {"d": 1}}}).raters == ("ann",)


def test_columns_that_the_user_names(tmp_path: Path) -> None:
    path = written(tmp_path, "frage,treffer,judge,note1\nq,d,ann,2\n", "r.csv")
    with reading(query_key="frage", doc_key="treffer", grade_key="note1"):
        assert rows(as_ratings(path)) == [("q", "d", "ann", 1, 2.0)]


HEAD = "query_id,doc_id,ann,bob\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + "q,d,1,2\nq,e,x,2\nq,f,1,1\n",
            "r.csv:3: the grade of 'ann' is 'x', which is not a",
        ),
        (
            HEAD + "q,d,1,nan\n",
            "r.csv:2: the grade of 'bob' is 'nan', which is not a finite number",
        ),
        (HEAD + "q,d,1,-inf\n", "not a finite number; write grades as numbers, and leave the cell"),
        (HEAD + "q,d,1e300,1\n", "which is not between -9,007,199,254,740,992 and"),
        (HEAD + "q,d,1_0,1\nq,e,1,1\n", "'1_0', which is not a number"),
        (
            HEAD + "q,d,1,2\n\nq,d,2,2\n",
            "r.csv:4: query 'q', document 'd' was rated by 'ann' before",
        ),
        (HEAD + "q,d,1,2\nq,,2,2\n", "r.csv:3: the doc_id is empty; give every rating one"),
        (HEAD + "q,d,1,2,3\n", "r.csv:2: expected 4 cells"),
        (HEAD + "q,d,,\n", "r.csv: no column holds the grades of a rater"),
        ("query_id,doc_id,rater_1\nq,d,\n", "r.csv: no column holds the grades of a rater"),
        ("query_id,doc_id,rater_1\nq,d,\nq,e,good\n", "r.csv:3: the grade of 'rater_1' is 'good'"),
        (
            "query_id,doc_id,grade\nq,d,1\n",
            "no column holds the grades of a rater among 'query_id'",
        ),
        (
            "query_id,ann,bob\nq,1,2\n",
            "r.csv: no column for the doc_id of ratings among 'query_id'",
        ),
        ("corpus,ann,query\nd,1,\n", "r.csv:2: the query_id is empty; give every rating one"),
        (
            "a,b,c\n1,2,3\n",
            "r.csv:1: has 3 cells and no header; expected the columns query_id, doc",
        ),
        ("a,b,c,d\n1,2,3,4\n", "if this line is a header, name its columns query_id and doc_id"),
        (LONG + "q,d,,1\n", "r.csv:6: the rater is empty"),
        (HEAD[:-1] + ",final\nq,d,1,,2\nq,d,,1,3\n", "has the final grade 3, and 2 at line 2"),
        ("", "r.csv: is empty; expected ratings"),
        (HEAD, "r.csv: is empty; expected ratings"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        as_ratings(written(tmp_path, text, "r.csv"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, "expected ratings as a dict, a list of rows or a frame, got '7'"),
        (b"q", "got bytes; give a path"),
        ([], "there are no ratings"),
        ({}, "there are no ratings"),
        ({"ann": {}}, "there are no ratings"),
        ({"ann": 3}, "expected text or named fields for rating 'ann'"),
        ({"ann": {"q": 3}}, "nested dicts are {rater: {query_id: {doc_id: grade}}}"),
        ({"ann": {"q": {"d": "good"}}}, "item 1: the grade is 'good', which is not a number"),
        ({"ann": {"q": {"d": float("nan")}}}, "not a finite number"),
        ({"ann": {"q": {"d": None}}}, "holds no grade of any rater"),
        (
            [{"doc_id": "d", "ann": 1}],
            "no column for the query_id of ratings among 'doc_id', 'ann'",
        ),
        ([("q", "d")], "row 1: expected named fields or (query_id, doc_id, rater, grade)"),
        ([{"query_id": None, "doc_id": "d", "ann": 1}], "row 1: the query_id is empty"),
        ([{"query_id": 1.5, "doc_id": "d", "ann": 1}], "row 1: the query_id is '1.5' (float)"),
        ([{"query_id": "\ud800", "doc_id": "d", "ann": 1}], "the query_id is not valid text"),
        ({"query_id": ["q"], "doc_id": [], "ann": [1]}, "the columns are not equally long"),
        (pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "a": [float("nan")]}), "not a finite"),
    ],
)
def test_what_is_wrong_with_data(data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        as_ratings(data)
    assert message in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(RankscopeError, match="file not found"):
        as_ratings(tmp_path / "missing.tsv")
    with pytest.raises(InputError, match="is a folder; name the file of the ratings"):
        as_ratings(tmp_path)


@pytest.mark.skipif(not (COLLECTIONS / "electronics").exists(), reason="no real collections here")
def test_a_real_file() -> None:
    ratings = as_ratings(COLLECTIONS / "electronics" / "ratings.tsv")
    assert ratings.raters == ("rater_1", "rater_2", "rater_3")
    assert len(ratings) == 3 * 3188
    assert ratings.final is not None
    assert ratings.final.height == 3188
