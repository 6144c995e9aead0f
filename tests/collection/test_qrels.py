"""Qrels: labels and subtopics."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import InputError, InvalidDataError

ESCI = {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}


def put(folder: Path, content: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


def test_labels(tmp_path: Path) -> None:
    expected = {"q": {"a": 3, "b": 0}, "p": {"a": 2}}
    text = "query_id,product_id,esci_label\nq,a,E\nq,b, I \np,a,S\n"
    assert read_qrels(put(tmp_path, text), labels=ESCI).to_dict() == expected
    trec = put(tmp_path, "q 0 a E\nq 0 b I\np 0 a S\n", "a.txt")
    assert read_qrels(trec, labels=ESCI).to_dict() == expected
    assert Qrels({"q": {"a": "E", "b": "I"}, "p": {"a": "S"}}, labels=ESCI).to_dict() == expected


def test_unknown_label_names_its_line(tmp_path: Path) -> None:
    path = put(tmp_path, "query_id,doc_id,label\nq,a,E\nq,b,X\n")
    with pytest.raises(InputError, match=r":3, .*'X'"):
        read_qrels(path, labels=ESCI)


def test_raters_are_combined_first(tmp_path: Path) -> None:
    wide = put(tmp_path, "query_id,doc_id,rater_1,rater_2\nq,a,0,1\n")
    with pytest.raises(InputError, match=r"rater_1', 'rater_2.*--raters mean"):
        read_qrels(wide)
    with pytest.raises(InvalidDataError, match=r"different grades \[RS206\]"):
        Qrels([("q", "a", 0), ("q", "a", 1)])


def test_subtopics(tmp_path: Path) -> None:
    path = put(tmp_path, "q 1 a 1\nq 2 a 0\nq 2 b 1\np 1 a 2\n", "a.qrels")
    qrels = read_qrels(path)
    expected = {"q": {"a": {"1": 1, "2": 0}, "b": {"2": 1}}, "p": {"a": {"1": 2}}}
    assert qrels.to_dict() == expected
    assert qrels["q"] == expected["q"]
    assert qrels.to_polars().columns == ["query_id", "doc_id", "grade", "subtopic"]
    assert qrels == Qrels(expected)
    assert qrels != Qrels({"q": {"a": 1, "b": 1}, "p": {"a": 2}})


def test_a_constant_second_column_is_dropped(tmp_path: Path) -> None:
    for second in ("0", "Q0", "1"):
        qrels = read_qrels(put(tmp_path, f"q {second} a 1\nq {second} b 0\n", "a.qrels"))
        assert qrels.subtopics is None
        assert qrels.to_dict() == {"q": {"a": 1, "b": 0}}


def test_subtopics_for_some_documents_only() -> None:
    with pytest.raises(InputError, match="subtopic"):
        Qrels({"q": {"a": {"1": 1}, "b": 1}})


def test_grades_are_whole_where_they_can_be() -> None:
    assert Qrels({"q": {"a": 1.0, "b": 0.0}}).grades.dtype == pl.Int64
    assert Qrels({"q": {"a": 1.0, "b": 0.5}}).grades.to_list() == [1.0, 0.5]
    assert Qrels({"q": {"a": True, "b": False}}).to_dict() == {"q": {"a": 1, "b": 0}}
