"""Failing questions: each planted cause is the one that is named."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.failures import Failures


def look(qrels: Any, runs: Any, measure: str = "nDCG@2", **given: Any) -> Failures:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="failures", **given)
    answer = getattr(diagnosis.analyses, "failures")  # noqa: B009
    assert isinstance(answer, Failures)
    return answer


def causes(failures: Failures, system: int = 0) -> dict[str, str]:
    return {question.query_id: question.cause for question in failures.systems[system].worst}


TOP = ["x1", "x2"]


@pytest.mark.parametrize(
    ("grades", "ranking", "cause"),
    [
        ({"a": 0}, TOP, "no relevant document"),
        ({"gone": 1}, TOP, "gold not in the corpus"),
        ({"a": 1}, None, "query missing"),
        ({"a": 1}, [], "empty answer"),
        ({"a": 1}, ["copy", "x1"], "same text under another id"),
        ({"a": 1, "b": 0}, TOP, "top results unjudged"),
        ({"a": 1}, {"x1": 3.0, "x2": 1.0, "a": 1.0}, "decided by a tie"),
        ({"a": 1}, [*TOP, "a"], "below the cutoff"),
        ({"a": 1}, TOP, "not retrieved"),
        ({"a": 1, "x1": 0}, ["x1", "x2", "a"], "top results unjudged"),
        ({"a": 1, "x1": 0, "x2": 0}, ["x1", "x2", "a"], "below the cutoff"),
        ({"a": 2, "b": 1}, ["b", "x1"], "only lower grades on top"),
        ({"a": 2, "b": 1}, ["x1", "a"], None),
        ({"a": 1}, ["a"], None),
    ],
)
def test_the_cause(grades: Any, ranking: Any, cause: str | None) -> None:
    corpus = {"a": "Leek Soup", "copy": "leek  soup", **{name: name for name in ("b", "x1", "x2")}}
    answers = {"other": ["z"]} | ({} if ranking is None else {"q": ranking})
    result = look({"q": grades, "other": {"z": 1}}, {"s": rs.Run(answers)}, corpus=corpus)
    assert causes(result) == ({} if cause is None else {"q": cause})


def test_without_a_corpus_nothing_is_said_about_it() -> None:
    qrels = {"q": {"gone": 1}, "other": {"z": 1}}
    result = look(qrels, {"s": {"q": ["copy"], "other": ["z"]}})
    assert causes(result) == {"q": "not retrieved"}
    assert not result.corpus


def test_what_is_shown_of_a_question() -> None:
    qrels = {"q": {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0}}
    runs = {"one": {"q": ["e", "y", "b"]}, "two": {"q": ["a"]}}
    corpus = {"a": {"title": "The best", "text": "t"}, "b": "second", "e": "wrong"}
    [one, two] = look(qrels, runs, corpus=corpus, queries={"q": "what is best?"}).systems
    [question] = one.worst
    assert (question.text, question.cause) == ("what is best?", "top results unjudged")
    assert [document.doc_id for document in question.expected] == ["a", "b", "c"]
    assert question.expected[0].title == "The best"
    assert question.expected[0].ranks == {"one": None, "two": 1}
    assert question.expected[1].ranks == {"one": 3, "two": None}
    assert [(document.doc_id, document.grade) for document in question.above] == [
        ("e", 0.0),
        ("y", None),
        ("b", 2.0),
    ]
    assert two.failing == 0


def test_counts_and_shares_add_up_and_the_worst_come_first() -> None:
    qrels = {f"q{n}": {"a": 2, "b": 1} for n in range(10)}
    runs = {"s": {f"q{n}": ["b", "x"] if n < 3 else ["x", "y"] for n in range(10)}}
    [system] = look(qrels, runs, configs={"failures": {"show": 8}}).systems
    counts = {count.cause: (count.queries, count.share) for count in system.causes}
    assert counts == {"not retrieved": (7, 0.7), "only lower grades on top": (3, 0.3)}
    assert [question.value for question in system.worst[:7]] == [0.0] * 7
    assert len(system.worst) == 8
    assert system.failing == 10


def test_failures_that_no_ranking_can_mend_are_a_finding() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    runs = {"s": {f"q{n}": ["a"] for n in range(8)}}
    result = look(qrels, runs)
    [finding] = result.findings
    assert finding.code == "RS631"
    assert "s fails 2 queries of 10" in finding.message
    runs = {"s": {f"q{n}": ["x"] if n else ["a"] for n in range(10)}}
    assert look(qrels, runs).findings == ()


def test_the_cutoff_is_that_of_the_main_measure_or_as_configured() -> None:
    qrels, runs = {"q": {"a": 1}}, {"s": {"q": [*"xyz", "a"]}}
    assert look(qrels, runs, "RR@3").systems[0].failing == 1
    assert look(qrels, runs, "RR@4").systems[0].failing == 0
    assert look(qrels, runs, "AP").cutoff == 10
    assert look(qrels, runs, "AP", configs={"failures": {"cutoff": 3}}).systems[0].failing == 1
