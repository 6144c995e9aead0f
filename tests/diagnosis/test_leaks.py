"""Leaks: planted ones are found, with what they are worth, and shared words alone are none."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.leaks import Leaks
from rankscope.findings import NotApplicable


def answer_to(qrels: Any, runs: Any, measure: str = "RR@2", **given: Any) -> Any:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="leaks", **given)
    return getattr(diagnosis.analyses, "leaks")  # noqa: B009


def look(qrels: Any, runs: Any, measure: str = "RR@2", **given: Any) -> Leaks:
    answer = answer_to(qrels, runs, measure, **given)
    assert isinstance(answer, Leaks)
    assert Leaks.model_validate(answer.to_dict()) == answer
    return answer


def counts(result: Leaks) -> dict[str, int]:
    return {count.kind: count.queries for count in result.kinds}


QRELS = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}
RUN = {query_id: ["a", "b"] for query_id in QRELS}


def test_planted_training_questions() -> None:
    queries = {
        "q1": "Who wrote  FAUST?",
        "q2": "what is the highest mountain of the alps and of the carpathians together",
        "q3": "what is the highest mountain of france",
        "q4": "something else",
    }
    training = {
        "t1": "who wrote faust",
        "t2": "what is the highest mountain of the alps and of the carpathians",
        "t3": "what is the highest mountain of spain",
    }
    result = look(QRELS, {"s": RUN}, queries=queries, training=rs.Queries(training))
    assert counts(result) == {"is a training question": 1, "is nearly a training question": 1}
    exact, near = result.examples
    assert (exact.query_id, exact.source, exact.source_text) == ("q1", "t1", "who wrote faust")
    assert (near.query_id, near.source) == ("q2", "t2")
    assert near.similarity == pytest.approx(10 / 11)  # different pairs of words: 11 and 10
    assert [(found.code, found.severity) for found in result.findings] == [
        ("RS648", "warning"),
        ("RS648", "note"),
    ]


def test_not_applicable() -> None:
    queries = {"q1": "some words of a question"}
    assert isinstance(answer_to(QRELS, {"s": RUN}, queries=queries), NotApplicable)


@pytest.mark.parametrize("measure", ["NumRelRet", "Unjudged@2", "GMAP"])
def test_odd_data(measure: str) -> None:
    qrels = {"q": {"a": -1, "b": 1}, "r": {}, "s": {"z": 0}}
    runs: Any = {
        "empty": rs.Run({"q": [], "r": [], "s": {"z": 1.0}}),
        "ties": {"q": {"a": 1.0, "b": 1.0}, "unknown": {"a": 1.0}},
    }
    queries = {"q": "?!", "r": "one two three four five", "s": "x", "unjudged": "one"}
    result = look(qrels, runs, measure, queries=queries, training={"t": "?!"})
    assert set(counts(result).values()) == {0}  # no word is no question
    assert look(qrels, runs, measure, queries=queries, training={}).kinds
