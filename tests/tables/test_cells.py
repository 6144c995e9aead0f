"""Lists in cells and strings, and records that do not all look alike."""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.tables.table_columns import listed

EXPECTED = {"q1": {"d1": 1, "d4": 1}, "q2": {"d2": 1}}


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("d1", "d1"),
        ("d1;d4", ["d1", "d4"]),
        ("d1; d4 ;", ["d1", "d4"]),
        ("d1, d4", ["d1", "d4"]),
        ("a, b; c, d", ["a, b", "c, d"]),  # the stronger separator; what is left belongs to the id
        ("Paris, the city", "Paris, the city"),
        ("my file.pdf;other file.pdf", ["my file.pdf", "other file.pdf"]),
        ('["d1;x", "d4"]', ["d1;x", "d4"]),
        ("[d1, d4]", ["d1", "d4"]),
        ("[see below]", "[see below]"),
        ("{d1,d4}", ["d1", "d4"]),
        ('{"d1": 2}', {"d1": 2}),
        ("['d1' 'd 4']", ["d1", "d 4"]),  # as NumPy prints an array
        ("[1\n 2]", ["1", "2"]),
        ("['d1', 'd,4']", ["d1", "d,4"]),
        ("[{'id': 'd1', 'at': None}]", [{"id": "d1", "at": None}]),  # as Python prints records
        ("[]", []),
        (" ", []),
    ],
)
def test_a_text_under_the_name_of_a_list(text: str, documents: object) -> None:
    assert listed(text) == documents


def test_cells_of_a_list_are_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    for cell in ("d1;d4", "d1|d4", '"d1, d4"', '"[""d1"", ""d4""]"', '"[d1, d4]"'):
        path.write_text(f"question,relevant_docs\nq1,{cell}\nq2,d2\n")
        assert rs.read_qrels(path).to_dict() == EXPECTED


def test_what_cannot_be_taken_apart_is_refused() -> None:
    with pytest.raises(InputError, match="JSON list"):
        rs.Run([{"query": "q", "retrieved": "[{'id': float32(1)}]"}])


def test_a_rank_that_is_named_as_the_score_is_one() -> None:
    rows = [{"qid": "q", "doc": doc, "position": n} for n, doc in enumerate("abc", 1)]
    assert rs.evaluate({"q": ["a"]}, rows, "RR", score="position")["RR"] == 1


@pytest.mark.parametrize("doc", ["url", "source", "page", "doc_id"])
def test_a_label_beside_a_document_is_its_grade(doc: str) -> None:
    rows = [{"question": "q", doc: name, "label": grade} for name, grade in (("a", 2), ("z", 0))]
    assert rs.evaluate(rows, {"q": ["x", "a"]}, "RR")["RR"] == 0.5


def test_named_tuples_go_by_their_names() -> None:
    row = namedtuple("row", ["topic", "asin", "position"])
    rows = [row("q", doc, n) for n, doc in enumerate("abc", 1)]
    assert rs.evaluate({"q": ["a"]}, rows, "RR", query="topic")["RR"] == 1
    with pytest.raises(InputError, match="query="):
        rs.Run(rows)


def test_ids_in_a_column_for_answers_that_is_named() -> None:
    rows = [{"qid": "q", "answers": "d1-1|d2-2", "found": "d9-9|d1-1"}]
    scores = rs.evaluate(rows, measures="RR", query="qid", relevant="answers", retrieved="found")
    assert scores["RR"] == 0.5


def test_cells_of_one_document_are_not(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    path.write_text("question,doc_id\nq1,d1;d4\nq2,d2\n")
    assert rs.read_qrels(path).to_dict() == {"q1": {"d1;d4": 1}, "q2": {"d2": 1}}


def test_a_document_may_be_called_like_an_empty_list(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    path.write_text("query_id,doc_id,grade\nq1,[],2\nq1,d1,1\n")
    assert rs.read_qrels(path).to_dict() == {"q1": {"[]": 2, "d1": 1}}
    path.write_text('question,doc_id\nq1,[]\nq2,"[""d1""]"\n')
    assert rs.read_qrels(path).to_dict() == {"q1": {}, "q2": {"d1": 1}}


def test_order_and_grades_of_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("question,retrieved_ids\nq1,d4;d1\nq2,d2\n")
    assert rs.read_run(path).to_dict() == {"q1": {"d4": -1, "d1": -2}, "q2": {"d2": -1}}
    path.write_text("question,relevant_docs,grade\nq1,d1;d4,2\nq2,d2,1\n")
    assert rs.read_qrels(path).to_dict() == {"q1": {"d1": 2, "d4": 2}, "q2": {"d2": 1}}


def test_strings_of_records_and_frames_are_taken_apart() -> None:
    records = [
        {"question": "q1", "expected_ids": "d1,d4"},
        {"question": "q2", "expected_ids": ["d2"]},
    ]
    assert rs.Qrels(records).to_dict() == EXPECTED
    frame = pl.DataFrame({"question": ["q1", "q2"], "expected_ids": ["d1,d4", "d2"]})
    assert rs.Qrels(frame).to_dict() == EXPECTED


def test_an_id_beside_a_question_is_the_id(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    for ids in (("1", "2"), ("c1", "c2")):
        for cells in (('"[""d1"", ""d4""]"', '"[""d2""]"'), ("d1;d4", "d2")):
            rows = (f"{i},what is {i}?,{cell},3\n" for i, cell in zip(ids, cells, strict=True))
            path.write_text("id,question,relevant_docs,difficulty\n" + "".join(rows))
            assert rs.read_qrels(path).to_dict() == dict(zip(ids, EXPECTED.values(), strict=True))
    frame = pl.DataFrame({"id": [1, 2], "question": ["a", "b"], "relevant_docs": ["d1", "d2"]})
    assert rs.Qrels(frame).to_dict() == {"1": {"d1": 1}, "2": {"d2": 1}}


@pytest.mark.parametrize("order", [1, -1])
def test_a_failed_call_is_an_empty_answer(tmp_path: Path, order: int) -> None:
    lines = [{"question": "a", "retrieved_ids": ["d1"]}, {"question": "b", "error": "timeout"}]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, lines[::order])))
    assert rs.read_run(path).to_dict() == {"a": {"d1": -1}, "b": {}}


@pytest.mark.parametrize("order", [1, -1])
def test_a_question_without_its_list_is_refused(tmp_path: Path, order: int) -> None:
    lines = [{"question": "a", "expected_ids": ["d1"]}, {"question": "b", "expectd_ids": ["d2"]}]
    path = tmp_path / "golden.jsonl"
    path.write_text("\n".join(map(json.dumps, lines[::order])))
    line = 2 if order == 1 else 1
    with pytest.raises(InputError, match=rf"golden.jsonl:{line}: .*expected_ids"):
        rs.read_qrels(path)


def test_a_record_without_a_query_is_named() -> None:
    records = [{"question": "a", "expected_ids": ["d1"]}, {"asked": "b", "expected_ids": ["d2"]}]
    with pytest.raises(InputError, match="record 2"):
        rs.Qrels(records)


@pytest.mark.parametrize("name", ["ground_truth", "ground_truths", "expected"])
def test_answers_in_words_are_no_ids(tmp_path: Path, name: str) -> None:
    records = [
        {"question": "a", name: "The answer is 5."},
        {"question": "b", name: "It is, of course, Paris."},
    ]
    frame = pl.DataFrame(records)
    frame.write_csv(tmp_path / "golden.csv")
    (tmp_path / "golden.json").write_text(json.dumps(records))
    with pytest.raises(InputError, match=f"'{name}' holds texts"):
        rs.Qrels(frame)
    for file in ("golden.csv", "golden.json"):
        with pytest.raises(InputError, match=f"'{name}' holds texts"):
            rs.read_qrels(tmp_path / file)


TEXTS = {"a": "The cat sat on the mat.", "b": "Dogs bark at night."}
RETRIEVED = [
    {"user_input": "a", "retrieved_contexts": ["No.", TEXTS["a"]]},
    {"user_input": "b", "retrieved_contexts": [TEXTS["b"]]},
]


@pytest.mark.parametrize("as_frame", [False, True])
def test_texts_are_the_gold_only_where_they_are_named(as_frame: bool) -> None:
    golden = [{"user_input": query, "reference_contexts": [text]} for query, text in TEXTS.items()]
    data = pl.DataFrame(golden) if as_frame else golden
    with pytest.raises(InputError, match="relevant='reference_contexts'"):
        rs.evaluate(data, RETRIEVED, "RR")
    scores = rs.evaluate(data, RETRIEVED, "RR", relevant="reference_contexts")
    assert scores.means == {"RR": 0.75}


def test_an_unnamed_index_of_pandas_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["a", "b"], "expected_ids": [["d1"], ["d2", "d3"]]})
    expected = {"b": {"d2": 1, "d3": 1}}
    some = frame[frame["question"] == "b"]
    exploded = some.explode("expected_ids")
    exploded.to_parquet(tmp_path / "golden.parquet")
    assert rs.Qrels(some).to_dict() == expected
    assert rs.Qrels(exploded).to_dict() == expected
    assert rs.read_qrels(tmp_path / "golden.parquet").to_dict() == expected
    assert rs.Queries(some).metadata_of("b") == {"expected_ids": ["d2", "d3"]}


def test_arrays_are_lists() -> None:
    first, second = np.array(["d1", "d2"]), np.array(["d3"])
    assert rs.Run([first, second]).to_dict() == {"1": {"d1": -1, "d2": -2}, "2": {"d3": -1}}
    assert rs.Qrels([{"question": "a", "ids": first}]).to_dict() == {"a": {"d1": 1, "d2": 1}}
