"""Failing questions: each planted cause is the one that is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
        ({"a": 1, "x1": 0, **NONRELEVANT}, ["x1", "x2", "a"], "top results unjudged"),
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


def test_questions_without_gold_may_be_meant_so() -> None:
    qrels: Any = {"q1": {"a": 1}, "q2": {}}
    [advice] = look(qrels, {"s": {"q1": ["a"], "q2": ["a"]}}).advice
    assert "--no-answer" in advice.text
    # what has judgments is not empty: the option would not mark it
    [advice] = look(qrels | {"q2": {"b": 0}}, {"s": {"q1": ["a"], "q2": ["a"]}}).advice
    assert "--no-answer" not in advice.text


def test_what_is_shown_of_a_question() -> None:
    qrels = {"q": {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0}}
    runs = {"one": {"q": ["e", "y", "b"]}, "two": {"q": ["a"]}}
    corpus = {"a": {"title": "The best", "text": "t"}, "b": "second", "e": "wrong"}
    [one, two] = look(qrels, runs, corpus=corpus, queries={"q": "what is best?"}).systems
    [question] = one.worst
    assert (question.text, question.cause) == ("what is best?", "below the cutoff")
    assert question.relevant == 4
    assert question.best_ranks == {"one": 3, "two": 1}
    assert [document.doc_id for document in question.expected] == ["a", "b", "c"]
    assert question.expected[0].title == "The best"
    assert question.expected[0].ranks == {"one": None, "two": 1}
    assert question.expected[1].ranks == {"one": 3, "two": None}
    assert [(document.doc_id, document.grade) for document in question.above] == [
        ("e", 0.0),
        ("y", None),
    ]  # and not b, which is relevant itself
    assert two.failing == 0


def test_failures_that_no_ranking_can_mend_are_a_finding() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    runs = {"s": {f"q{n}": ["a"] for n in range(8)}}
    result = look(qrels, runs)
    [finding] = result.findings
    assert finding.code == "RS631"
    assert finding.evidence == {"systems": ["s"], "causes": {"query missing": 2}}
    runs = {"s": {f"q{n}": ["x"] if n else ["a"] for n in range(10)}}
    assert look(qrels, runs).findings == ()
    assert look(qrels, runs).advice == ()


def test_what_mending_the_data_could_gain() -> None:
    # 2 of 10 queries are missing and count as 0: both could be 1, so 2/10 of the mean
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    [advice] = look(qrels, {"s": {f"q{n}": ["a"] for n in range(8)}}).advice
    assert advice.gain == pytest.approx(0.2)
    # it is about the best system, and about means only
    qrels["q9"] = {"b": 0}
    runs = {"s": {f"q{n}": ["x"] for n in range(9)} | {"q0": ["a"]}, "t": {"q0": ["x", "a"]}}
    [advice] = look(qrels, runs).advice
    assert advice.gain == pytest.approx(0.1)
    assert look(qrels, runs, "NumRelRet").advice == ()


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


@pytest.mark.parametrize("measure", ["AP", "NumRet", "GMAP"])
def test_odd_data(measure: str) -> None:
    qrels = {"q": {"a": -1, "b": 1}, "r": {}, "s": {"z": 0}}
    runs = {"one": {"q": ["b"]}, "two": rs.Run({"q": [], "r": ["b"], "s": ["b"], "q2": ["b"]})}
    result = look(qrels, {"one": runs["one"]}, measure)
    assert Failures.model_validate(result.to_dict()) == result
    result = look({"q": {"b": 1}, "r": {"b": 1}}, runs, measure, corpus={}, queries={})
    assert causes(result, 1) == {"q": "gold not in the corpus"}


def naive_by_design(qrels: dict[str, dict[str, int]]) -> bool:
    """Say whether hardly anything but what is relevant was judged, from the definition."""
    grades = [grade for judged in qrels.values() for grade in judged.values()]
    pooled = sum(any(grade < 1 for grade in judged.values()) for judged in qrels.values())
    return sum(grade < 1 for grade in grades) / len(grades) < 0.2 or pooled / len(qrels) < 0.5


def naive_cause(
    grades: dict[str, int], scores: dict[str, float], cutoff: int, by_design: bool
) -> str | None:
    """Say why a question fails, from the definitions, one query at a time, without a corpus."""
    order = sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)
    top = order[:cutoff]
    relevant = {doc_id: grade for doc_id, grade in grades.items() if grade > 0}
    if not relevant:
        return "no relevant document"
    best = max([relevant.get(doc_id, 0) for doc_id in top], default=0)
    missed = {doc_id for doc_id, grade in relevant.items() if grade > best}
    if not missed:
        return None
    if not order:
        return "empty answer"
    if any(doc_id in missed and scores[doc_id] == scores[top[-1]] for doc_id in order):
        return "decided by a tie"
    nonrelevant = sum(grade == 0 for grade in grades.values())
    unjudged = sum(grades.get(doc_id, -1) < 0 for doc_id in top)
    is_pooled = nonrelevant >= len(relevant) and nonrelevant + len(relevant) >= 5
    if not best and is_pooled and not by_design and 2 * unjudged >= len(top):
        return "top results unjudged"
    if best:
        return "only lower grades on top"
    return "below the cutoff" if missed & set(order) else "not retrieved"


DOCS = st.sampled_from("abcdefgh")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(DOCS, st.integers(-1, 3), min_size=1),
            st.dictionaries(DOCS, st.integers(0, 4).map(float)),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 4),
)
def test_as_the_naive_twin(queries: Any, cutoff: int) -> None:
    qrels = {f"q{n}": grades for n, (grades, _) in enumerate(queries)} | {"z": {"z": 1}}
    run = rs.Run({f"q{n}": scores for n, (_, scores) in enumerate(queries)} | {"z": {"z": 1.0}})
    result = look(qrels, {"s": run}, f"nDCG@{cutoff}")
    expected = {
        f"q{n}": naive_cause(grades, scores, cutoff, naive_by_design(qrels))
        for n, (grades, scores) in enumerate(queries)
    }
    assert causes(result) == {query_id: cause for query_id, cause in expected.items() if cause}


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
