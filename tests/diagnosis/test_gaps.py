"""Gap analysis: the tutorial's examples, planted problems, and a naive twin that reorders lists."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.gap_kinds import GapsConfig, classify, loss_of, style_of
from rankscope.diagnosis.gaps import GAPS, Gaps, SystemGaps
from rankscope.diagnosis.registry import Inputs
from rankscope.findings import NotApplicable
from rankscope.measures import registry
from rankscope.scoring.inputs import as_judgments


def look(qrels: Any, runs: Any, measures: Any = ("nDCG@10",), **given: Any) -> Gaps:
    diagnosis = rs.diagnose(qrels, runs, list(measures), only="gaps", **given)
    json.loads(diagnosis.to_json())  # what is not finite has no place there
    answer = getattr(diagnosis.analyses, "gaps")  # noqa: B009
    assert isinstance(answer, Gaps)
    return answer


def system(qrels: Any, run: Any, *measures: str, **given: Any) -> SystemGaps:
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


@pytest.mark.parametrize(
    ("first", "deepest", "kind"),
    [
        (0.45, 0.85, "ranking"),  # its gap analysis: Recall@1, Recall@10
        (1.00, 1.00, "neither"),  # perfect system
        (0.60, 0.85, "neither"),  # good ranking
        (0.30, 0.85, "ranking"),  # poor ranking
        (0.15, 0.25, "retrieval"),  # retrieval failure
        (0.20, 0.60, "both"),
        (0.40, 0.70, "both"),  # both thresholds are reached, but for rounding
    ],
)
def test_the_problem_of_the_tutorials_systems(first: float, deepest: float, kind: str) -> None:
    assert classify(first, deepest) == kind


def test_thresholds_can_be_changed() -> None:
    assert classify(0.6, 0.85, GapsConfig(not_first=0.25, not_retrieved=0.15)) == "both"
    assert style_of(0.85, 0.7, GapsConfig(success_high=0.9)) == "precision"
    assert style_of(0.85, 0.7, GapsConfig(rr_high=0.8)) == "recall"


@pytest.mark.parametrize(
    ("rr", "success_5", "style"),
    [
        (0.65, 0.70, "precision"),  # high MRR, moderate Recall@5: quality over quantity
        (0.50, 0.85, "recall"),  # moderate MRR, high Recall@5: quantity over quality
        (1.00, 1.00, None),  # perfect system
        (0.70, 0.85, None),  # good ranking
        (0.40, 0.85, "recall"),  # poor ranking
        (0.18, 0.25, None),  # retrieval failure
    ],
)
def test_what_the_tutorials_systems_favour(rr: float, success_5: float, style: str | None) -> None:
    assert style_of(success_5, rr) == style


def test_the_tutorials_gap_analysis_from_a_run() -> None:
    """45 of 100 targets are first, 33 more in the first five, 7 more in the first ten."""
    qrels, run = targets(*[1] * 45, *[4] * 33, *[8] * 7, *[None] * 15, length=10)
    result = look(qrels, {"s": run})
    [only] = result.systems
    assert result.cutoffs == (1, 3, 5, 10)
    assert only.success == pytest.approx((0.45, 0.45, 0.78, 0.85), abs=1e-15)
    assert only.recall == only.success
    assert only.rr == pytest.approx(0.45 + 0.33 / 4 + 0.07 / 8, abs=1e-15)
    assert (only.kind, result.single) == ("ranking", True)
    assert (only.relevant, only.missing) == (100, 15)
    assert [finding.code for finding in result.findings] == ["RS651"]


# --- planted problems ----------------------------------------------------------------------------


def test_a_ranking_problem_and_nothing_else() -> None:
    result = look(*targets(*[2] * 10, *[5] * 10), ["RR"])
    [only] = result.systems
    assert (only.kind, only.loss) == ("ranking", "mostly ranking")
    assert (only.ranking.share, only.retrieval.share) == (1.0, 0.0)
    assert [advice.gain for advice in result.advice] == [pytest.approx(1 - (0.5 + 0.2) / 2)]


def test_a_retrieval_problem_and_nothing_else() -> None:
    result = look(*targets(*[1] * 10, *[None] * 10), ["RR"])
    [only] = result.systems
    assert (only.kind, only.loss) == ("retrieval", "mostly retrieval")
    assert (only.ranking.gain, only.ranking.share) == (0.0, 0.0)
    assert (only.retrieval.gain, only.retrieval.share) == (0.5, 1.0)
    [advice] = result.advice
    assert advice.gain == 0.5
    # the run is cut above the depth a reranker could look at, so the rest may follow right below
    assert [finding.code for finding in result.findings] == ["RS652", "RS653"]


@pytest.mark.parametrize(
    ("length", "is_short"),
    [(2, True), (19, True), (20, False)],  # RR is looked at down to 10
)
def test_a_run_that_is_cut_very_short_allows_no_conclusion(length: int, is_short: bool) -> None:
    result = look(*targets(*[1] * 10, *[None] * 10, length=length), ["RR"])
    [only] = result.systems
    assert only.is_short == is_short
    assert (only.loss == "too short to tell") == is_short
    codes = [finding.code for finding in result.findings]
    assert codes == (["RS653"] if is_short else ["RS652", "RS653"])


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
    assert (only.success[0], only.success[-1]) == (0.0, 0.5)
    assert (only.now, only.ideal) == (0.25, 1.0)
    assert (only.ranking.gain, only.retrieval.gain) == (0.25, 0.5)
    assert (only.relevant, only.missing) == (20, 10)
    assert [advice.gain for advice in result.advice] == [0.25, 0.125]  # over all 40


@pytest.mark.parametrize(
    ("ranking", "retrieval", "is_short", "loss"),
    [
        (0.06, 0.04, False, "mostly ranking"),  # the other is worth no sentence
        (0.04, 0.06, False, "mostly retrieval"),
        (0.3, 0.2, False, "mostly ranking"),  # 0.6 of it
        (0.25, 0.2, False, "both"),
        (0.04, 0.049, False, "little"),
        (0.25, 0.2, True, "too short to tell"),
        (0.3, 0.2, True, "mostly ranking"),
    ],
)
def test_the_loss_is_called_by_its_parts(
    ranking: float, retrieval: float, is_short: bool, loss: str
) -> None:
    assert loss_of(ranking, retrieval, 1.0, is_short=is_short) == loss


def test_as_deep_as_the_run_is_retrieved() -> None:
    """The run holds 300, so a target at 250 is retrieved; below 1,000 nothing is looked at."""
    for target, length, found in ((250, 300, (300, 0)), (1100, 1200, (1000, 1))):
        result = look(*targets(target, 1, length=length), ["RR@10"])
        assert (result.depth, result.systems[0].missing) == found


@pytest.mark.parametrize(("asked", "is_cut"), [(None, True), (5, True), (50, False)])
def test_a_run_that_was_asked_for_more_is_not_cut(asked: int | None, is_cut: bool) -> None:
    """Five documents of fifty that were asked for: nothing follows below."""
    qrels, lists = targets(*[1] * 10, *[None] * 10, length=5)
    run = rs.Run(lists, name="s")
    scores = rs.evaluate(qrels, {"s": run}, ["RR"])
    inputs = Inputs(scores=scores, runs={"s": run}, qrels=as_judgments(qrels), depth=asked)
    answer = GAPS.answer(GapsConfig(), inputs)
    assert isinstance(answer, Gaps)
    assert answer.systems[0].is_cut == is_cut
    assert ("RS653" in {finding.code for finding in answer.findings}) == is_cut


def test_noise_below_the_worth_is_not_advised() -> None:
    """One of 50 targets is second: RR loses 0.01, a fiftieth of what is worth a sentence."""
    qrels, run = targets(*[1] * 49, 2)
    assert look(qrels, run, ["RR"]).advice == ()
    assert look(qrels, run, ["RR"], configs={"gaps": {"worth": 0.005}}).advice != ()


@pytest.mark.parametrize(
    "measure", ["FallOut@3", "Judged@3", "NumRelRet", "SetP", "nDCG(gain={0:0,1:5,2:1})@3"]
)
def test_a_measure_that_cannot_be_split_is_replaced(measure: str) -> None:
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}}
    result = look(qrels, {"q1": ["c", "b", "a"], "q2": ["x", "a"]}, [measure])
    assert result.instead_of == measure
    assert result.reason
    assert result.measure in ("nDCG@3", "nDCG@10")


def test_a_measure_of_somebody_elses_that_falls_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.known_names()
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))

    @rs.measure("LastIsRelevant", example="LastIsRelevant")
    def last_is_relevant(run: Any) -> Any:
        """Whether the last document is relevant."""
        last = run.hit_rank == run.retrieved[run.hit_query]
        return run.count(run.hit_query[last & (run.hit_grade >= 1)]).astype(float)

    result = look({"q": {"a": 1}}, {"q": ["x", "a"]}, ["LastIsRelevant"])
    assert result.instead_of == "LastIsRelevant"


# --- a naive twin --------------------------------------------------------------------------------

GRADES = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1)
LISTS = st.lists(st.sampled_from("abcdefuvwxyz"), unique=True, min_size=1)


def reordered(documents: list[str], grades: dict[str, int], depth: int) -> list[str]:
    top = sorted(documents[:depth], key=lambda doc_id: -max(grades.get(doc_id, 0), 0))
    return top + documents[depth:]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(GRADES, LISTS), min_size=1, max_size=5),
    st.sampled_from(["nDCG@3", "RR@2", "AP", "R@2", "P@3", "ERR@3", "Bpref", "RBP", "Success@1"]),
)
def test_values_are_those_of_reordered_lists(world: Any, measure: str) -> None:
    qrels = {f"q{place}": grades for place, (grades, _) in enumerate(world)}
    qrels["always"] = {"a": 1}
    run = {f"q{place}": documents for place, (_, documents) in enumerate(world)}
    run["always"] = ["z", "a"]
    only = system(qrels, run, measure, configs={"gaps": {"depth": 4}})
    for step in only.reranked:
        lists = {
            query_id: reordered(documents, qrels[query_id], step.depth)
            for query_id, documents in run.items()
        }
        assert step.value == pytest.approx(rs.evaluate(qrels, lists, [measure])[measure])
    best = {
        query_id: sorted(grades, key=grades.__getitem__, reverse=True)
        for query_id, grades in qrels.items()
    }
    assert only.ideal == pytest.approx(rs.evaluate(qrels, best, [measure])[measure])
    assert only.ranking.gain >= 0
    assert only.retrieval.gain >= -1e-12
    assert only.now + only.ranking.gain + only.retrieval.gain == pytest.approx(only.ideal)
    assert 0 <= only.not_retrieved <= 1
    assert 0 <= only.not_first <= 1


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
