"""What is said of a benchmark beside its decision: what to be careful about, targets missed."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

from rankscope.reports.verdict import _prices, cautions, decision_of, verdict
from reports.sample import sample

T = TypeVar("T", bound=BaseModel)


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


def test_the_decision_comes_first() -> None:
    report = sample()
    decision = decision_of(report)
    assert decision.choice == "reranked"
    assert verdict(report)[0] == f"{decision.headline}: {decision.reason}."


def test_a_system_alone_is_better_than_nobody() -> None:
    report = sample()
    decision = decision_of(changed(report, systems=report.systems[:1], comparison=None))
    assert decision.choice == "words"
    assert "no other system" in decision.evidence


def test_what_is_recorded_does_not_rest_on_the_clock() -> None:
    report = sample(("words", "letters", "hybrid"), None)
    slow = [
        changed(each, timing=changed(each.timing, p50=place + 1.0))
        for place, each in enumerate(report.systems)
    ]
    assert verdict(changed(report, systems=slow)) == verdict(report)


def test_latency_is_the_median_which_a_few_slow_answers_do_not_move() -> None:
    report = sample()
    slow = [changed(each, timing=changed(each.timing, per_second=0.01)) for each in report.systems]
    *_, latency = _prices(changed(report, systems=slow), with_times=True)
    assert latency.of == {each.name: each.timing.p50 for each in report.systems}
    batches = [changed(each, timing=changed(each.timing, p50=None)) for each in slow]
    *_, latency = _prices(changed(report, systems=[*slow[1:], batches[0]]), with_times=True)
    assert {*latency.of.values()} == {100.0}, "of all the mean, where one has no median"


def test_nothing_is_concluded_from_measures_deeper_than_the_runs() -> None:
    report = sample()
    collection = changed(report.collection, documents=None)
    shallow = changed(report, depth=40, collection=collection)
    [said] = [one for one in cautions(shallow) if "Nothing is concluded" in one]
    assert "AP@100, R@50 and R@100" in said
    only = changed(shallow, measures=[info for info in report.measures if info.measure == "R@100"])
    assert decision_of(only).headline == "Nothing was measured"


def test_broken_systems_are_named_and_not_compared() -> None:
    report = sample()
    words = changed(report.systems[0], broken="its run is empty", measures=[])
    said = cautions(changed(report, systems=[words, *report.systems[1:]]))
    assert said[0] == "words is broken and was not scored: its run is empty."


def test_targets_that_are_missed_are_named() -> None:
    assert any("hybrid misses R@50 ≥ 0.95 (0.889)" in one for one in verdict(sample()))
