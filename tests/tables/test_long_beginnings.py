"""Files are recognised whatever precedes their data, and however long the first line is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.collection.corpus import read_corpus
from rankscope.collection.queries import read_queries

BEGINNINGS = ["", f"# {'x' * 100_000}\n", "\n" * 70_000, "# a comment, many times\n" * 100_000]
LONG = "y" * 100_000


def grade(path: Path) -> Any:
    return rs.read_qrels(path)["q1"]["d1"]


def depth(path: Path) -> Any:
    return len(rs.read_run(path)["q1"])


def records(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text", "read", "expected"),
    [
        ("qrels.txt", "q1 0 d1 2\n", grade, 2),
        ("qrels.csv", "query_id,doc_id,grade\nq1,d1,2\n", grade, 2),
        ("run.txt", f"q1 Q0 {LONG} 1 0.5 tag\nq1 Q0 d1 2 0.4 tag\n", depth, 2),
    ],
)  # fmt: skip
def test_what_precedes_the_data(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], Any], expected: Any
) -> None:
    path = tmp_path / name
    for beginning in BEGINNINGS:
        path.write_text(beginning + text)
        assert read(path) == expected


@pytest.mark.parametrize(
    ("name", "text", "read", "expected"),
    [
        ("run", f"q1\t{LONG}\t1\nq1\td1\t2\n", depth, 2),
        ("qrels", records({"note": LONG, "query_id": "q1", "doc_id": "d1", "grade": 2},
                          {"query_id": "q2", "doc_id": "d1", "grade": 1}), grade, 2),
        ("corpus", records({"text": LONG, "_id": "d1"}, {"_id": "d2", "text": "a"}),
         lambda path: len(read_corpus(path)), 2),
        ("qrels.csv", ",".join(f"column{n}" for n in range(9000)) + ",query_id,doc_id,grade\n"
         + "1," * 9000 + "q1,d1,2\n", grade, 2),
        ("topics", "\n" * 70_000 + "<top>\n<num> Number: 1\n<title> a b\n</top>\n",
         lambda path: len(read_queries(path)), 1),
        ("queries.tsv", "#1\tfirst\n#2\tsecond\n", lambda path: len(read_queries(path)), 2),
    ],
)  # fmt: skip
def test_first_lines(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], Any], expected: Any
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read(path) == expected
