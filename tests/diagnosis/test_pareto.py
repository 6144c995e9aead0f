"""Quality against cost: fronts by hand, with ties and equal costs, and what the tests show."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.pareto import Pareto, ParetoFront, pareto
from rankscope.findings import NotApplicable
from rankscope.statistics.settings import Settings

QUERIES = [f"q{number:02}" for number in range(40)]
QRELS = {query_id: {"d": 1} for query_id in QUERIES}


def ranked(*ranks: int) -> dict[str, list[str]]:
    """Make a run that has the one relevant document at these ranks, again and again."""
    return {
        query_id: [*(f"x{n}" for n in range(1, ranks[place % len(ranks)])), "d"]
        for place, query_id in enumerate(QUERIES)
    }


# RR: bad 0.25, middle 0.5, alike 0.5, near 0.5125, good 0.75, best 1
RUNS = {
    "bad": ranked(4),
    "middle": ranked(2),
    "alike": ranked(2),
    "near": ranked(*[2] * 39, 1),
    "good": ranked(1, 2),
    "best": ranked(1),
}


def inputs(costs: Any, runs: Any = None, measures: Any = ("RR", "nDCG@10"), **more: Any) -> Inputs:
    scores = rs.evaluate(QRELS, RUNS if runs is None else runs, list(measures))
    return Inputs(scores=scores, costs=costs, settings=Settings(resamples=999), **more)


def looked(costs: Any, **more: Any) -> Pareto:
    answer = pareto.answer(pareto.config(), inputs(costs, **more))
    assert isinstance(answer, Pareto)
    assert Pareto.model_validate(answer.to_dict()) == answer
    return answer


def on_front(front: ParetoFront) -> set[str]:
    return {system.system for system in front.systems if system.on_front}


def test_a_front_by_hand() -> None:
    milliseconds = {"bad": 1, "middle": 2, "alike": 5, "near": 6, "good": 4, "best": 9}
    answer = looked({name: {"ms": float(ms)} for name, ms in milliseconds.items()})
    [front] = answer.fronts
    assert (answer.measure, front.cost, front.left_out) == ("RR", "ms", ())
    assert on_front(front) == {"bad", "middle", "good", "best"}
    by_name = {system.system: system for system in front.systems}
    assert by_name["alike"].dominated_by == ("good", "middle")  # the best first
    assert by_name["near"].dominated_by == ("good",)
    assert by_name["alike"].beaten_by == ("good",)
    assert [finding.code for finding in answer.findings] == ["RS671"]
    assert answer.findings[0].count == 2


def test_a_dearer_system_that_is_not_shown_to_be_better() -> None:
    answer = looked({"middle": {"ms": 12.0}, "near": {"ms": 340.0}, "bad": {"ms": 1.0}})
    [front] = answer.fronts
    by_name = {system.system: system for system in front.systems}
    assert by_name["near"].on_front
    assert by_name["near"].not_better_than == ("middle",)
    assert {finding.code for finding in answer.findings} == {"RS672"}
    assert front.left_out == ("alike", "good", "best")


def test_ties_and_equal_costs() -> None:
    """Of systems that are equal in both neither dominates; else the better or the cheaper does."""
    [front] = looked({"middle": {"ms": 3.0}, "alike": {"ms": 3.0}}).fronts
    assert on_front(front) == {"middle", "alike"}
    assert not any(system.not_better_than for system in front.systems)
    [front] = looked({"good": {"ms": 3.0}, "best": {"ms": 3.0}}).fronts
    assert on_front(front) == {"best"}
    [front] = looked({"middle": {"ms": 3.0}, "alike": {"ms": 2.0}}).fronts
    assert on_front(front) == {"alike"}
    [dominated] = [system for system in front.systems if not system.on_front]
    assert (dominated.dominated_by, dominated.beaten_by) == (("alike",), ())


def test_what_it_needs() -> None:
    def reason(costs: Any, **more: Any) -> str:
        answer = pareto.answer(pareto.config(), inputs(costs, **more))
        assert isinstance(answer, NotApplicable)
        return answer.reason

    assert "two systems" in reason({"bad": {"ms": 1.0}})
    assert "two systems" in reason({})
    two = {"bad": {"ms": 1.0}, "best": {"ms": 1.0}}
    assert "two systems" in reason(two, runs={"bad": RUNS["bad"]})
    assert "mean" in reason(two, measures=["NumRelRet"])


def test_each_cost_of_two_systems_has_a_front() -> None:
    costs = {"bad": {"ms": 1.0, "euros": 3.0}, "best": {"ms": 2.0, "euros": 1.0, "mb": 1.0}}
    assert [front.cost for front in looked(costs).fronts] == ["ms", "euros"]


def test_no_finding_rests_on_the_clock() -> None:
    """Times differ from one run to the next; what is found must not."""
    costs = {"good": {"ms": 1.0}, "bad": {"ms": 2.0}}
    found, measured = looked(costs), looked(costs, costs_are_times=True)
    assert found.findings
    assert measured == found.model_copy(update={"findings": ()})
