"""What is said of a benchmark beside its decision: what to be careful about, targets missed."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from rankscope.diagnosis.segments import segments
from rankscope.reports.verdict import cautions, decision_of, verdict
from reports.sample import sample, with_analyses

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


def test_failures_and_targets() -> None:
    report = sample()
    words = report.systems[0]
    run = changed(words.run, failures={"q001": "no answer", "q002": "no answer"})
    said = verdict(changed(report, systems=[changed(words, run=run), *report.systems[1:]]))
    assert any("words could not answer 2 of 120 questions" in one for one in said)
    assert any("hybrid misses R@50 ≥ 0.95 (0.889)" in one for one in said)


@pytest.mark.parametrize(("p", "expected"), [(0.01, True), (0.2, False)])
def test_a_group_that_contradicts_the_whole(p: float, expected: bool) -> None:
    report = sample()
    found: Any = segments.of(report.analyses)
    group = found.groups[0]
    change = changed(group.changes["reranked"], value=-0.2, p_corrected=p)
    group = changed(group, changes={**group.changes, "reranked": change})
    said = cautions(with_analyses(report, segments={"groups": (group, *found.groups[1:])}))
    about = f"reranked is worse than words where category is {group.label} ({group.n} questions)"
    assert any(about in one for one in said) is expected
