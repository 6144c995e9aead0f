"""Objects around a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankscope as rs

CASES = [{"question": "a", "expected_ids": ["d1"]}, {"question": "b", "expected_ids": ["d2"]}]


@pytest.mark.parametrize("beside", [{}, {"version": 1}, {"config": {"k": 5}, "name": "nightly"}])
def test_one_list_of_records_is_the_table(tmp_path: Path, beside: dict[str, object]) -> None:
    path = tmp_path / "golden.json"
    for name in ("cases", "data", "questions", "results", "whatever"):
        path.write_text(json.dumps({**beside, name: CASES}))
        assert rs.read_qrels(path).to_dict() == {"a": {"d1": 1}, "b": {"d2": 1}}
        assert rs.read_queries(path).ids == ["a", "b"]
        hits = [{"question": "a", "retrieved_ids": ["d3", "d1"]}]
        path.write_text(json.dumps({**beside, name: hits}))
        assert rs.read_run(path).to_dict() == {"a": {"d3": -1, "d1": -2}}


def test_texts_in_an_object() -> None:
    golden = {"data": [{"user_input": "a", "reference_contexts": ["The cat sat."]}]}
    retrieved = {
        "k": 2,
        "data": [{"user_input": "a", "retrieved_contexts": ["No.", "The cat sat."]}],
    }
    scores = rs.evaluate(golden, retrieved, "RR", relevant="reference_contexts")
    assert scores.means == {"RR": 0.5}


@pytest.mark.parametrize("asked", ["queries", "questions"])
def test_a_collection_in_one_object(tmp_path: Path, asked: str) -> None:
    path = tmp_path / "dataset.json"
    dataset = {
        asked: {"q1": "How?", "q2": "Why?"},
        "corpus": {"n1": "So.", "n2": "Because."},
        "relevant_docs": {"q1": ["n1"], "q2": ["n2"]},
        "mode": "text",
    }
    path.write_text(json.dumps(dataset))
    assert rs.read_queries(path)["q2"] == "Why?"
    assert rs.read_qrels(path).to_dict() == {"q1": {"n1": 1}, "q2": {"n2": 1}}
    assert rs.read_corpus(path).ids == ["n1", "n2"]
