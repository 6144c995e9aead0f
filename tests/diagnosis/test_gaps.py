"""Gap analysis: the tutorial's examples, planted problems, and a naive twin that reorders lists."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.gaps import Gap, Gaps, GapsConfig, gaps
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments


def look(qrels: Any, runs: Any, measures: Any = ("nDCG@10",), **given: Any) -> Gaps:
    diagnosis = rs.diagnose(qrels, runs, list(measures), only="gaps", **given)
    json.loads(diagnosis.to_json())  # what is not finite has no place there
    answer = getattr(diagnosis.analyses, "gaps")  # noqa: B009
    assert isinstance(answer, Gaps)
    return answer


def system(qrels: Any, run: Any, *measures: str, **given: Any) -> Gap:
    [only] = look(qrels, {"s": run}, measures or ("nDCG@10",), **given).systems
    return only


def targets(*ranks: int | None, length: int = 20) -> tuple[Any, Any]:
    """Make qrels with one target a query, and a run that has it at these ranks."""
    qrels = {f"q{number:03}": {"target": 1} for number in range(len(ranks))}
    run = {}
    for query_id, rank in zip(qrels, ranks, strict=True):
        documents = [f"x{number}" for number in range(length)]
        if rank is not None:
            documents[rank - 1] = "target"
        run[query_id] = documents
    return qrels, run


# --- the tutorial --------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["RR", "Success@5", "R@10", "P@1", "nDCG@10"])
def test_the_tutorials_gap_analysis_is_a_ranking_problem_whatever_the_measure(measure: str) -> None:
    """45 of 100 targets are first, 33 more in the first five, 7 more in the first ten."""
    qrels, run = targets(*[1] * 45, *[4] * 33, *[8] * 7, *[None] * 15, length=10)
    result = look(qrels, {"s": run}, [measure])
    [only] = result.systems
    assert only.success == pytest.approx({1: 0.45, 3: 0.45, 5: 0.78, 10: 0.85}, abs=1e-15)
    assert only.rr == pytest.approx(0.45 + 0.33 / 4 + 0.07 / 8, abs=1e-15)
    assert only.problem == "ranking"
    assert (only.relevant, only.missing) == (100, 15)
    assert [finding.code for finding in result.findings] == ["RS651"]


@pytest.mark.parametrize(
    ("ranks", "problem"),
    [
        ([1] * 100, "none: perfect"),  # Recall@1, Recall@5 and MRR of 1
        ([1] * 60 + [2] * 8 + [4] * 17 + [None] * 15, "none: good ranking"),  # .60, .85, .70
        ([1] * 30 + [5] * 55 + [None] * 15, "ranking"),  # poor ranking: .30, .85, .40
        ([1] * 15 + [4] * 10 + [None] * 75, "retrieval"),  # retrieval failure: .15, .25, .18
    ],
)
def test_the_four_systems_of_the_tutorial(ranks: list[int | None], problem: str) -> None:
    assert system(*targets(*ranks), "RR").problem == problem


@pytest.mark.parametrize(
    ("ranks", "favours"),
    [
        ([1] * 62 + [3] * 8 + [None] * 30, "quality over quantity"),  # high MRR, moderate Recall@5
        ([1] * 30 + [3] * 60 + [None] * 10, "quantity over quality"),
        ([1] * 100, ""),
        ([1] * 15 + [4] * 10 + [None] * 75, ""),
    ],
)
def test_what_systems_favour(ranks: list[int | None], favours: str) -> None:
    assert system(*targets(*ranks), "RR").favours == favours


# --- planted problems ----------------------------------------------------------------------------


def test_a_ranking_problem_and_nothing_else() -> None:
    result = look(*targets(*[2] * 10, *[5] * 10), ["RR"])
    [only] = result.systems
    assert (only.problem, only.retrieval.value) == ("ranking", 0.0)
    assert [finding.gain for finding in result.findings] == [pytest.approx(1 - (0.5 + 0.2) / 2)]


def test_a_retrieval_problem_and_nothing_else() -> None:
    result = look(*targets(*[1] * 10, *[None] * 10), ["RR"])
    [only] = result.systems
    assert (only.problem, only.ranking.value, only.retrieval.value) == ("retrieval", 0.0, 0.5)
    assert [(finding.code, finding.gain) for finding in result.findings] == [("RS652", 0.5)]


@pytest.mark.parametrize(("length", "code"), [(2, "RS653"), (19, "RS653"), (20, "RS652")])
def test_a_run_that_is_cut_very_short_allows_no_conclusion(length: int, code: str) -> None:
    """RR is looked at down to 10; what is missing may follow right below the cut."""
    result = look(*targets(*[1] * 10, *[None] * 10, length=length), ["RR"])
    assert [finding.code for finding in result.findings] == [code]


@pytest.mark.parametrize(("asked", "code"), [(None, "RS653"), (5, "RS653"), (50, "RS652")])
def test_a_run_that_was_asked_for_more_is_not_cut(asked: int | None, code: str) -> None:
    """Five documents of fifty that were asked for: nothing follows below."""
    qrels, lists = targets(*[1] * 10, *[None] * 10, length=5)
    run = rs.Run(lists, name="s")
    scores = rs.evaluate(qrels, {"s": run}, ["RR"])
    inputs = Inputs(scores=scores, runs={"s": run}, qrels=as_judgments(qrels), depth=asked)
    answer = gaps.answer(GapsConfig(), inputs)
    assert isinstance(answer, Gaps)
    assert [finding.code for finding in answer.findings] == [code]


def test_queries_that_a_run_lacks_are_left_out_and_empty_answers_are_not() -> None:
    """Of 40 queries 20 are missing, 10 are answered with nothing, 10 have it second."""
    qrels, run = targets(*[None] * 20, *[2] * 10, *[None] * 10)
    for number, query_id in enumerate(qrels):
        if number < 20:
            del run[query_id]
        elif number >= 30:
            run[query_id] = []
    result = look(qrels, {"s": run}, ["RR"])
    [only] = result.systems
    assert (result.queries, only.left_out) == (40, 20)
    assert (only.now, only.ideal) == (0.25, 1.0)
    assert (only.ranking.value, only.retrieval.value) == (0.25, 0.5)
    assert (only.relevant, only.missing) == (20, 10)
    assert [finding.gain for finding in result.findings] == [0.125, 0.25]  # over all 40


def test_as_deep_as_the_run_is_retrieved() -> None:
    """The run holds 300, so a target at 250 is retrieved; below 1,000 nothing is looked at."""
    for target, length, missing in ((250, 300, 0), (1100, 1200, 1)):
        assert system(*targets(target, 1, length=length), "RR@10").missing == missing


def test_the_threshold_can_be_set() -> None:
    """Ten of 50 targets are second: RR loses a tenth."""
    qrels, run = targets(*[1] * 40, *[2] * 10)
    assert look(qrels, run, ["RR"]).findings == ()
    assert look(qrels, run, ["RR"], configs={"gaps": {"problem": 0.1}}).findings != ()


def test_one_finding_names_all_systems_and_counts_the_gain_of_the_best() -> None:
    qrels, low = targets(*[5] * 20)
    _, high = targets(*[3] * 20)
    [finding] = look(qrels, {"low": low, "high": high}, ["RR"]).findings
    assert finding.count == 2
    assert finding.gain == pytest.approx(2 / 3)
    assert finding.message.startswith("high ranks")
    assert finding.message.endswith("likewise low")


@pytest.mark.parametrize(
    "measure", ["FallOut@3", "Judged@3", "NumRelRet", "SetP", "nDCG(gain={0:0,1:5,2:1})@3"]
)
def test_a_measure_that_cannot_be_split_is_replaced(measure: str) -> None:
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}}
    result = look(qrels, {"q1": ["c", "b", "a"], "q2": ["x", "a"]}, [measure])
    assert result.measure == "RR"


# --- a naive twin --------------------------------------------------------------------------------

GRADES = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1)
LISTS = st.lists(st.sampled_from("abcdefuvwxyz"), unique=True, min_size=1)


def reordered(documents: list[str], grades: dict[str, int], depth: int) -> list[str]:
    top = sorted(documents[:depth], key=lambda doc_id: -max(grades.get(doc_id, 0), 0))
    return top + documents[depth:]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(GRADES, LISTS), min_size=1, max_size=5),
    st.sampled_from(["nDCG@3", "RR@2", "AP", "ERR@3", "Bpref", "RBP", "DCG@5"]),
)
def test_values_are_those_of_reordered_lists(world: Any, measure: str) -> None:
    qrels = {f"q{place}": grades for place, (grades, _) in enumerate(world)}
    qrels["always"] = {"a": 1}
    run = {f"q{place}": documents for place, (_, documents) in enumerate(world)}
    run["always"] = ["z", "a"]
    only = system(qrels, run, measure, configs={"gaps": {"depth": 4}})
    for depth, mean in only.reranked.items():
        lists = {
            query_id: reordered(documents, qrels[query_id], depth)
            for query_id, documents in run.items()
        }
        assert mean == pytest.approx(rs.evaluate(qrels, lists, [measure])[measure])
    best = {
        query_id: sorted(grades, key=grades.__getitem__, reverse=True)
        for query_id, grades in qrels.items()
    }
    assert only.ideal == pytest.approx(rs.evaluate(qrels, best, [measure])[measure])
    assert only.ranking.value >= 0
    assert only.retrieval.value >= -1e-12
    assert only.now + only.ranking.value + only.retrieval.value == pytest.approx(only.ideal)


def test_now_is_what_was_scored_whatever_the_rules() -> None:
    """Equal scores, missing queries and documents that are the query itself, by several rules."""
    draw = random.Random(5)
    names = [f"d{number}" for number in range(12)]
    qrels = {f"d{number}": {draw.choice(names): draw.randint(0, 2) for _ in range(4)}
             for number in range(12)}  # fmt: skip
    qrels["d0"] = {"d1": 1, "d2": 2}
    run = {
        query_id: {doc_id: float(draw.randint(0, 3)) for doc_id in names}
        for query_id in list(qrels)[:9]
    }
    for profile in ("rankscope", "trec_eval-9", "beir"):
        scores = rs.evaluate(qrels, run, ["nDCG@5"], profile=profile)
        only = system(qrels, run, "nDCG@5", profile=profile)
        values = scores.values("nDCG@5")
        known = [values[query_id] for query_id in run if query_id in values]
        assert only.now == pytest.approx(sum(known) / len(known), abs=1e-15), profile


def test_not_applicable_where_nothing_counts_as_relevant() -> None:
    diagnosis = rs.diagnose({"q": {"a": 0.5}}, {"q": ["a"]}, ["nDCG@3"], only="gaps")
    assert isinstance(getattr(diagnosis.analyses, "gaps"), NotApplicable)  # noqa: B009
