"""Files whose first line of data begins or ends beyond the first 64 KiB are recognised."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.collection.corpus import read_corpus
from rankscope.collection.queries import read_queries

BEGINNINGS = [
    "# a comment of some length, many times\n" * 3000,
    f"# {'x' * 100_000}\n",
    "\n" * 70_000,
]
LONG = "y" * 100_000


def grade(path: Path) -> Any:
    return rs.read_qrels(path)["q1"]["d1"]


def score(path: Path) -> Any:
    return rs.read_run(path)["q1"]["d1"]


TABLES: list[tuple[str, str, Callable[[Path], Any], Any]] = [
    ("qrels.txt", "q1 0 d1 2\n", grade, 2),
    ("qrels.csv", "query_id,doc_id,grade\nq1,d1,2\n", grade, 2),
    ("run.txt", "q1 Q0 d1 1 0.5 tag\n", score, 0.5),
    ("run.txt", "q1 Q0 d1 1 0.5 tag\n", lambda path: rs.read_run(path).name, "tag"),
    ("run", "q1\td1\t1\nq1\td2\t2\n", lambda path: len(rs.read_run(path)["q1"]), 2),
]


@pytest.mark.parametrize(("name", "text", "read", "expected"), TABLES)
def test_what_precedes_the_data(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], Any], expected: Any
) -> None:
    path, packed = tmp_path / name, tmp_path / f"{name}.gz"
    for beginning in BEGINNINGS:
        path.write_text(beginning + text)
        assert read(path) == expected
        packed.write_bytes(gzip.compress(path.read_bytes()))
        if not name.endswith(".txt"):
            assert read(packed) == expected


def records(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text", "read", "expected"),
    [
        ("run", f"q1 Q0 {LONG} 1 0.5 tag\nq1 Q0 d1 2 0.4 tag\n", score, 0.4),
        ("run", f"q1\t{LONG}\t1\nq1\td1\t2\n", lambda path: len(rs.read_run(path)["q1"]), 2),
        ("qrels", records({"note": LONG, "query_id": "q1", "doc_id": "d1", "grade": 2},
                          {"query_id": "q2", "doc_id": "d1", "grade": 1}), grade, 2),
        ("qrels", json.dumps({"q1": {"d1": 2} | {f"d{n}x": 0 for n in range(20_000)}}), grade, 2),
        ("corpus", records({"text": LONG, "_id": "d1"}, {"_id": "d2", "text": "a"}),
         lambda path: len(read_corpus(path)), 2),
        ("qrels.csv", ",".join(f"column{n}" for n in range(9000)) + ",query_id,doc_id,grade\n"
         + "1," * 9000 + "q1,d1,2\n", grade, 2),
        ("topics", "\n" * 70_000 + "<top>\n<num> Number: 1\n<title> a b\n</top>\n",
         lambda path: len(read_queries(path)), 1),
    ],
)  # fmt: skip
def test_a_long_first_line(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], Any], expected: Any
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read(path) == expected


def test_an_id_may_begin_with_the_sign_of_comments(tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text("#1\tfirst\n#2\tsecond\n")
    assert len(read_queries(path)) == 2
