"""Ties: a planted one is seen with the range it makes, and where there is none nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.tie_effects import TieEffects


def look(qrels: Any, runs: Any, measures: Any = ("RR@2",), **given: Any) -> TieEffects:
    diagnosis = rs.diagnose(qrels, runs, measures, only="ties", **given)
    answer = getattr(diagnosis.analyses, "ties")  # noqa: B009
    assert isinstance(answer, TieEffects)
    assert TieEffects.model_validate(answer.to_dict()) == answer
    return answer


def test_a_planted_tie() -> None:
    # q1: a, b and c share ranks 1 to 3, and only a is relevant: RR@2 is 1, 1/2 or 0.
    # q2: no tie; RR is 1/2. The rule "higher id first" puts a third: RR@2 is 0 now.
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    run = {"q1": {"a": 1.0, "b": 1.0, "c": 1.0}, "q2": {"a": 3.0, "b": 2.0, "c": 1.0}}
    result = look(qrels, {"s": run}, ["RR@2", "P@1", "R@3"])
    [system] = result.systems
    assert (system.value, system.lowest, system.highest) == (0.25, 0.25, 0.75)
    tied = {cutoff.cutoff: (cutoff.queries, cutoff.share) for cutoff in system.cutoffs}
    assert tied == {2: (1, 0.5), 1: (1, 0.5), 3: (0, 0.0)}
    assert list(tied) == [2, 1, 3]
    assert (system.documents, system.tied_documents) == (6, 3)
    assert (system.distinct_scores, system.answer_size) == (2.0, 3.0)
    assert system.constant_answers == 1
    assert [finding.code for finding in result.findings] == ["RS641"]
    assert [advice.gain for advice in result.advice] == [0.5]


def test_ties_that_move_nothing_are_no_finding() -> None:
    for run in ({"a": 2.0, "b": 1.0, "c": 1.0}, {"a": 3.0, "b": 2.0, "c": 1.0}):
        result = look({"q": {"a": 1}}, {"s": {"q": run}})
        assert (result.findings, result.advice, result.reversals) == ((), (), ())


@pytest.mark.parametrize(
    ("scores", "rounded"),
    [
        ((0.8125, 0.8125, 0.75), True),
        ((12.34, 12.34, 5.0), True),
        ((1234000.0, 1234000.0, 1.0), True),
        ((0.1234000027179718, 0.1234000027179718, 0.1), True),  # single precision
        ((0.81254321, 0.81254321, 0.75), False),
        ((1 / 3, 1 / 3, 0.1), False),
        ((1.0, 0.0, 0.0), False),  # nothing is known of them
        ((1.0, 1.0, 1.0), False),
    ],
)
def test_more_digits_are_for_rounded_scores(scores: Any, rounded: bool) -> None:
    run = {"q": dict(zip("zab", scores, strict=True))}
    result = look({"q": {"a": 1}}, {"s": run}, ["RR@10"])
    assert result.systems[0].rounded == rounded


def test_the_widest_range_of_another_system_is_named_second() -> None:
    """Of 20 queries: the best is moved by 1 tie (0.025), another by all (0.5)."""
    qrels = {f"q{n}": {"a": 1} for n in range(20)}
    tied, clear = {"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 1.0}
    best = dict.fromkeys(qrels, clear) | {"q0": tied}
    worse = dict.fromkeys(qrels, tied)
    result = look(qrels, {"worse": worse, "best": best}, ["RR@2"])
    first, second = result.advice
    assert ("best" in first.text, "worse" in second.text) == (True, True)
    assert first.gain == pytest.approx(0.025)
    assert second.gain == pytest.approx(0.025)  # no more than that of the best
    sure = dict.fromkeys(qrels, clear)
    [other] = look(qrels, {"worse": worse, "best": sure}, ["RR@2"]).advice
    assert other.gain == pytest.approx(0.05)  # capped, from 0.25
    # one tie of twenty is 0.025: not wide enough for a system that is not the best
    few = {query_id: {"b": 2.0, "a": 1.0} for query_id in qrels} | {"q0": tied}
    assert look(qrels, {"worse": few, "best": sure}, ["RR@2"]).advice == ()


def test_ties_that_decide_which_system_is_better() -> None:
    # s: a relevant document is first by the tie rule (z before y): RR 1, and 1/2 if it is not.
    # t: second without a tie in one of two queries: RR 3/4.
    qrels = {"q1": {"z": 1}, "q2": {"z": 1}}
    tied = {query_id: {"z": 1.0, "y": 1.0} for query_id in qrels}
    clear = {"q1": {"z": 2.0, "y": 1.0}, "q2": {"y": 2.0, "z": 1.0}}
    result = look(qrels, {"s": tied, "t": clear})
    [pair] = result.reversals
    assert (pair.better, pair.worse) == ("s", "t")
    assert (pair.difference, pair.reversed) == (0.25, 0.25)
    assert {finding.code for finding in result.findings} == {"RS641", "RS642"}
    # a system that is ahead in any order
    worse = {query_id: {"y": 3.0, "x": 2.0, "z": 1.0} for query_id in qrels}
    assert look(qrels, {"s": tied, "t": worse}).reversals == ()


def test_the_rules_of_the_scores_count() -> None:
    # equal in single precision only
    run = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    double = look({"q": {"a": 1}}, {"s": run}, ["RR@1"])
    single = look({"q": {"a": 1}}, {"s": run}, ["RR@1"], profile="trec_eval-9")
    assert double.systems[0].tied_documents == 0
    assert single.systems[0].tied_documents == 2
    assert (single.ties, single.precision) == ("trec", "single")
    assert single.systems[0].lowest == 0.0
