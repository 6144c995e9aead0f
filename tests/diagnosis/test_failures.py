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
NONRELEVANT = {"b": 0, "n1": 0, "n2": 0, "n3": 0}


@pytest.mark.parametrize(
    ("grades", "ranking", "cause"),
    [
        ({"a": 0}, TOP, "no relevant document"),
        ({"gone": 1}, TOP, "gold not in the corpus"),
        ({"a": 1}, None, "query missing"),
        ({"a": 1}, [], "empty answer"),
        ({"a": 1}, ["copy", "x1"], "same text under another id"),
        ({"a": 1, **NONRELEVANT}, TOP, "top results unjudged"),
        ({"a": 1, "b": 0}, TOP, "not retrieved"),
        ({"a": 1}, {"x1": 3.0, "x2": 1.0, "a": 1.0}, "decided by a tie"),
        ({"a": 1}, [*TOP, "a"], "below the cutoff"),
        ({"a": 1}, TOP, "not retrieved"),
        ({"a": 1, "x1": 0, "x2": 0, **NONRELEVANT}, ["x1", "x2", "a"], "below the cutoff"),
        # judges who note little but what is relevant say nothing about the rest
        ({"a": 1, "b": 1, "c": 1, "x3": 0, "x4": 0}, ["x1", "x2", "a"], "below the cutoff"),
        ({"a": 2, "b": 1}, ["b", "x1"], "only lower grades on top"),
        # of what is missed: the best ones, where something relevant is on top
        ({"a": 2, "b": 1}, ["b", "copy"], "same text under another id"),
        ({"a": 2, "b": 1}, {"b": 3.0, "x2": 1.0, "a": 1.0}, "decided by a tie"),
        ({"gone": 2, "b": 1}, ["b", "x1"], "gold not in the corpus"),
        ({"gone": 1, "a": 1}, TOP, "not retrieved"),
        # what is certain comes before what may be
        ({"a": 1, **NONRELEVANT}, {"x1": 1.0, "x2": 1.0, "a": 1.0}, "decided by a tie"),
        ({"a": 1, **NONRELEVANT}, ["copy", "x1"], "same text under another id"),
        # a tie further down decides nothing about the first two
        ({"a": 1}, {"x1": 3.0, "x2": 2.0, "x3": 1.0, "a": 1.0}, "below the cutoff"),
        # pooled and not judged is unjudged; a negative grade is not relevant
        ({"a": 1, "x1": -1, **NONRELEVANT}, TOP, "top results unjudged"),
        ({"a": -1}, TOP, "no relevant document"),
        # a relevant document that a tie put on top is luck, not a failure
        ({"a": 1}, {"x1": 2.0, "b": 1.0, "a": 1.0, "aa": 1.0}, "decided by a tie"),
        ({"b": 1}, {"x1": 2.0, "b": 1.0, "a": 1.0}, None),
        ({"a": 2, "b": 1}, ["x1", "a"], None),
        ({"a": 1}, ["a"], None),
    ],
)
def test_the_cause(grades: Any, ranking: Any, cause: str | None) -> None:
    corpus = {"a": "Leek Soup", "copy": "leek  soup", **{name: name for name in ("b", "x1", "x2")}}
    answers = {"other": ["z"]} | ({} if ranking is None else {"q": ranking})
    result = look({"q": grades, "other": {"z": 1}}, {"s": rs.Run(answers)}, corpus=corpus)
    assert causes(result) == ({} if cause is None else {"q": cause})


def test_where_unjudged_means_nonrelevant_by_design_nothing_is_called_unjudged() -> None:
    """One query of three has nonrelevant judgments: the same rule as for holes."""
    pooled, alone = {"a": 1, **NONRELEVANT}, {"z": 1}
    run = {"q": TOP, "other": ["z"], "third": ["z"]}
    result = look({"q": pooled, "other": alone, "third": alone}, {"s": run})
    assert causes(result) == {"q": "not retrieved"}
    result = look({"q": pooled, "other": alone, "third": {"z": 1, "b": 0}}, {"s": run})
    assert causes(result) == {"q": "top results unjudged"}


def test_what_is_expected_and_what_is_there_instead() -> None:
    qrels = {"q": {"a": 3, "b": 2, "c": 1, "d": 3, "e": 0}}
    runs = {"one": {"q": ["e", "y", "b", "d"]}, "two": {"q": ["a"]}}
    [one, two] = look(qrels, runs).systems
    [question] = one.worst
    assert question.ranks == {"one": 3, "two": 1}
    assert question.expected is not None
    assert question.first is not None
    assert question.expected.doc_id == "d"  # of equal grades what this system ranks highest
    assert (question.first.doc_id, question.first.grade) == ("e", 0)
    assert two.failing == 0


def test_failures_that_no_ranking_can_mend_are_a_finding_with_what_they_could_gain() -> None:
    # 2 of 10 queries are missing and count as 0: both could be 1, so 2/10 of the mean
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    result = look(qrels, {"s": {f"q{n}": ["a"] for n in range(8)}})
    assert result.systems[0].outside == {"query missing": 2}
    [finding] = result.findings
    assert finding.code == "RS631"
    assert finding.gain == pytest.approx(0.2)
    assert look(qrels, {"s": {f"q{n}": ["x"] if n else ["a"] for n in range(10)}}).findings == ()
    # it is about the best system, and about means only
    qrels["q9"] = {"b": 0}
    runs = {"s": {f"q{n}": ["x"] for n in range(9)} | {"q0": ["a"]}, "t": {"q0": ["x", "a"]}}
    [finding] = look(qrels, runs).findings
    assert finding.count == 2
    assert finding.gain == pytest.approx(0.1)
    [finding] = look(qrels, runs, "NumRelRet").findings
    assert finding.gain is None


@pytest.mark.parametrize(
    ("measure", "failing"),
    [("nDCG@2", 0), ("RR@2", 1), ("P(rel=0.5)@2", 0), ("nDCG(gain={0.5:0})@2", 1)],
)
def test_relevant_is_what_the_main_measure_gains_from(measure: str, failing: int) -> None:
    result = look({"q": {"a": 0.5}, "r": {"z": 1}}, {"s": {"q": ["a"], "r": ["z"]}}, measure)
    assert result.systems[0].failing == failing


def test_the_order_of_the_worst() -> None:
    # of equal values, what no system can answer comes last
    qrels = {"q1": {"a": 0}, "q2": {"a": 1}, "q3": {"a": 1}}
    result = look(qrels, {"s": {"q1": ["x"], "q2": ["x"], "q3": ["a"]}})
    assert list(causes(result)) == ["q2", "q1"]
    # and where less is better, the highest value is the worst
    qrels = {"q1": {"a": 2, "b": 1}, "q2": {"a": 2}}
    runs = {"s": {"q1": ["b", "x"], "q2": ["x", "y"]}}
    [system] = look(qrels, runs, "Unjudged@2").systems
    assert [question.query_id for question in system.worst] == ["q2", "q1"]


def test_a_long_list_of_blanks_hides_no_copy() -> None:
    corpus = {"a": "leek" + " " * 500 + "soup", "copy": " leek soup", "x": "leek soap"}
    qrels = {"q": {"a": 1}, "other": {"x": 1}}
    result = look(qrels, {"s": {"q": ["copy", "x"], "other": ["x"]}}, corpus=corpus)
    assert causes(result) == {"q": "same text under another id"}
    result = look(qrels, {"s": {"q": ["x"], "other": ["x"]}}, corpus=corpus)
    assert causes(result) == {"q": "not retrieved"}


def test_the_cutoff_is_that_of_the_main_measure_or_as_configured() -> None:
    qrels, runs = {"q": {"a": 1}}, {"s": {"q": [*"xyz", "a"]}}
    assert look(qrels, runs, "RR@3").systems[0].failing == 1
    assert look(qrels, runs, "RR@4").systems[0].failing == 0
    assert look(qrels, runs, "AP").cutoff == 10
    assert look(qrels, runs, "AP", configs={"failures": {"cutoff": 3}}).systems[0].failing == 1
