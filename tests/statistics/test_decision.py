"""The decision: each rule, on runs that are made so that it applies."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from rankscope.statistics.comparison import Comparison
from rankscope.statistics.decision import Decision, Price, decide, times, worded

QUESTIONS = 40
QRELS = {f"q{n}": {"right": 1} for n in range(QUESTIONS)}


def run(rank_of: object) -> dict[str, dict[str, float]]:
    """Make a run that has the right document at the rank that a function of the question gives."""
    made = {}
    for number in range(QUESTIONS):
        rank = rank_of(number)  # type: ignore[operator]
        names = [f"wrong{place}" for place in range(1, 10)]
        names.insert(rank - 1, "right")
        made[f"q{number}"] = {name: -float(place) for place, name in enumerate(names)}
    return made


FIRST = run(lambda n: 1 if n % 4 else 2)
"""Mostly on top."""
ALMOST = run(lambda n: 1 if (n + 1) % 4 else 2)
"""As good, on other questions."""
THIRD = run(lambda n: 3 if n % 4 else 2)
FIFTH = run(lambda n: 5 if n % 3 else 4)


def compared(baseline: str | None = None, **runs: dict[str, dict[str, float]]) -> Comparison:
    return rs.compare(QRELS, runs, ["RR"], baseline=baseline)


def decided(comparison: Comparison, *prices: Price) -> Decision:
    return decide(comparison, "RR", prices)


def test_two_systems_of_which_one_is_better() -> None:
    decision = decided(compared("old", new=FIRST, old=THIRD))
    pair = compared("old", new=FIRST, old=THIRD).pair("new")
    assert decision.choice == "new"
    assert decision.headline == "new is better than old"
    assert f"+{pair.difference:.3f} [+{pair.interval.low:.3f}, " in decision.reason
    assert decision.evidence == f"new wins {pair.wins} questions, loses 0 and ties {pair.ties}."


def test_two_systems_of_which_the_new_one_is_worse() -> None:
    decision = decided(compared("old", new=THIRD, old=FIRST))
    assert decision.choice == "old"
    assert decision.headline == "new is worse than old"


def test_two_systems_that_cannot_be_told_apart() -> None:
    decision = decided(compared("old", new=FIRST, old=ALMOST))
    assert decision.choice == "old"
    assert decision.headline == "40 questions can't tell new from old"
    near = run(lambda n: 1 if n % 4 else 3)
    about = decided(compared("old", new=near, old=ALMOST)).evidence
    assert about.startswith("About ") or "No number of questions" in about


def test_all_the_same() -> None:
    decision = decided(compared(a=FIRST, b=FIRST, c=FIRST))
    assert decision.choice is None


def test_one_winner_of_several() -> None:
    decision = decided(compared("old", new=FIRST, other=FIFTH, old=THIRD))
    assert decision.choice == "new"
    assert decision.headline == "Use new"
    decision = decided(compared(a=FIRST, b=THIRD, c=FIFTH))
    assert decision.choice == "a"
    assert "beats all 2 others" in decision.reason


def test_of_several_winners_the_cheapest() -> None:
    better = run(lambda n: 1 if n % 5 else 2)
    comparison = compared(a=better, b=ALMOST, old=THIRD)
    cost = Price("cost", {"a": 30.0, "b": 1.0, "old": 0.1})
    decision = decided(comparison, cost)
    assert decision.choice == "b"
    assert decision.headline == "Start with b"
    assert decision.reason.startswith("a adds 0.0")
    assert decision.reason.endswith("at about 30 × the cost")
    assert "can't tell the two apart" in decision.evidence
    unknown = decided(comparison)
    assert unknown.choice is None
    assert unknown.headline == "Choose a or b by what they cost"


def test_systems_that_were_not_compared_are_not_said_to_be_alike() -> None:
    runs: Any = {"a": run(lambda _: 1), "b": THIRD, "old": FIFTH}
    decision = decided(compared("old", **runs))
    assert (decision.choice, decision.headline) == (None, "a and b both beat old")
    assert "compared with old only" in decision.evidence
    assert decided(compared(**runs)).headline == "Use a"


def test_times_that_are_almost_the_same_choose_nothing() -> None:
    comparison = compared(a=FIRST, b=ALMOST, old=THIRD)
    near = Price("latency", {"a": 1.0, "b": 1.2, "old": 1.0}, is_time=True)
    assert decided(comparison, near).choice is None
    short = Price("latency", {"a": 0.0001, "b": 0.001, "old": 1.0}, is_time=True)
    assert decided(comparison, short).choice is None
    far = Price("latency", {"a": 1.0, "b": 12.0, "old": 1.0}, is_time=True)
    assert decided(comparison, far).choice == "a"


def test_nobody_beats_the_baseline() -> None:
    decision = decided(compared("old", a=THIRD, b=FIFTH, old=FIRST))
    assert decision.choice == "old"
    assert decision.reason == "all 2 others are worse"
    decision = decided(compared("old", a=ALMOST, b=FIFTH, old=FIRST))
    assert decision.headline == "Stay with old"
    assert decision.reason == "40 questions show no system to be better"
    assert decision.evidence.startswith("The nearest is a: RR ")


def test_nothing_can_be_told_of_many() -> None:
    comparison = compared(a=FIRST, b=ALMOST, c=run(lambda n: 1 if (n + 2) % 4 else 2))
    decision = decided(comparison)
    assert decision.choice is None
    assert decision.headline == "40 questions can't tell the 3 systems apart"


def test_less_can_be_better() -> None:
    first = run(lambda _: 1)
    comparison = rs.compare(QRELS, {"late": FIFTH, "early": first}, ["Unjudged@3"], baseline="late")
    decision = decide(comparison, "Unjudged@3")
    assert (decision.choice, decision.headline) == ("early", "early is better than late")


def test_in_sentences() -> None:
    decision = decided(compared("old", new=FIRST, old=THIRD))
    first, second = worded(decision)
    assert first == f"{decision.headline}: {decision.reason}."
    assert second == decision.evidence


def test_ratios_are_an_order_of_magnitude() -> None:
    assert [times(x, 1) for x in (1.26, 4.4, 47, 1234)] == [
        "about 1.3 ×",
        "about 4 ×",
        "about 50 ×",
        "about 1,000 ×",
    ]
