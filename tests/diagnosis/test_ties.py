"""Ties: a planted one is seen with the range it makes, and where there is none nothing is said."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from rankscope.diagnosis.ties import Ties


def look(qrels: Any, runs: Any, measures: Any = ("RR@2",), **given: Any) -> Ties:
    diagnosis = rs.diagnose(qrels, runs, measures, only="ties", **given)
    answer = getattr(diagnosis.analyses, "ties")  # noqa: B009
    assert isinstance(answer, Ties)
    assert Ties.model_validate(answer.to_dict()) == answer
    return answer


def test_a_planted_tie() -> None:
    # q1: a, b and c share ranks 1 to 3, and only a is relevant: RR@2 is 1, 1/2 or 0.
    # q2: no tie; RR is 1/2. The rule "higher id first" puts a third: RR@2 is 0 now.
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    run = {"q1": {"a": 1.0, "b": 1.0, "c": 1.0}, "q2": {"a": 3.0, "b": 2.0, "c": 1.0}}
    result = look(qrels, {"s": run}, ["RR@2", "P@1", "R@3"])
    [system] = result.systems
    assert (system.value, system.lowest, system.highest) == (0.25, 0.25, 0.75)
    assert list(system.across.items()) == [(2, 1), (1, 1), (3, 0)]
    assert (system.documents, system.tied, system.constant) == (6, 3, 1)
    assert [(finding.code, finding.gain) for finding in result.findings] == [("RS641", 0.5)]


def test_ties_that_move_nothing_are_no_finding() -> None:
    for run in ({"a": 2.0, "b": 1.0, "c": 1.0}, {"a": 3.0, "b": 2.0, "c": 1.0}):
        result = look({"q": {"a": 1}}, {"s": {"q": run}})
        assert (result.findings, result.reversals) == ((), ())


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
    assert double.systems[0].tied == 0
    assert single.systems[0].tied == 2
    assert (single.ties, single.precision) == ("trec", "single")
    assert single.systems[0].lowest == 0.0
