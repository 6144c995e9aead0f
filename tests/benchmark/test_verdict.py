"""The verdict never says more than the report holds: who is better, by how much, what limits it."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from rankscope.benchmark.verdict import FOUND, MISSED, NEAR, verdict
from rankscope.diagnosis.segments import segments
from rankscope.diagnosis.stages import stages
from rankscope.measures.language import Measure
from rankscope.records import BenchmarkReport
from rankscope.statistics.sentences import p_text
from rankscope.statistics.system_pairs import Pair, Pairs
from reports.sample import sample, with_analyses

ALL = ("words", "letters", "hybrid", "reranked")

T = TypeVar("T", bound=BaseModel)


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


def with_value(report: BenchmarkReport, system: str, measure: str, value: float) -> BenchmarkReport:
    """Return the report with another value in the system's own measures."""

    def of(values: Any) -> list[Any]:
        return [changed(one, value=value) if one.measure == measure else one for one in values]

    systems = [
        changed(one, measures=of(one.measures)) if one.name == system else one
        for one in report.systems
    ]
    return changed(report, systems=systems)


def pair_of(report: BenchmarkReport, system: str, base: str) -> Pair:
    assert report.comparison is not None
    return report.comparison.pair(system, base, "nDCG@10")


# --- the main measure ----------------------------------------------------------------------------


def test_better_than_the_baseline() -> None:
    report = sample()
    pair = pair_of(report, "reranked", "words")
    said = verdict(report)[0]
    assert said.startswith("reranked is better than words on nDCG@10")
    for number in (pair.difference, pair.interval.low, pair.interval.high):
        assert f"{number:.4f}" in said
    assert f"{p_text(pair.p_corrected)} corrected for 6 tests" in said
    assert "better than hybrid and letters" in said


def test_no_winner_where_none_is_shown() -> None:
    report = sample(("words", "letters", "hybrid"))
    said = verdict(report)[0]
    assert "hybrid has the highest nDCG@10, but is not shown to be better than words" in said
    assert f"{pair_of(report, 'hybrid', 'words').detectable:.4f}" in said
    assert "is better than" not in said
    said = verdict(sample(("words", "letters", "hybrid"), None))[0]
    assert "is not shown to differ from words and letters" in said


def test_nothing_is_said_of_systems_that_were_not_compared() -> None:
    """A comparison with the baseline only has neither pairs of the others nor letters."""
    report = sample()
    assert report.comparison is not None
    pairs = Pairs.of(pair for pair in report.comparison.pairs if pair.base == "words")
    means = [changed(mean, letters="", near_best=None) for mean in report.comparison.means]
    report = changed(report, comparison=changed(report.comparison, pairs=pairs, means=means))
    said = verdict(report)[0]
    assert said.startswith("reranked is better than words on nDCG@10")
    assert "better than hybrid" not in said


def test_one_system_is_better_than_nobody() -> None:
    report = sample(("hybrid",), None)
    said = verdict(report)
    held = report.systems[0].measures[0]
    assert held.interval is not None
    assert f"{held.value:.4f} [{held.interval.low:.4f}, {held.interval.high:.4f}]" in said[0]
    assert not any("better than" in sentence for sentence in said)


# --- what limits it ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recall", "text"),
    [
        (FOUND, "the ranking is what limits it"),
        (MISSED, "a better retriever and a better ranking can both add"),
        (MISSED - 0.01, "no reranker can bring them back"),
        (0.0, "100 % of a query's relevant documents"),
    ],
)
def test_recall_limits(recall: float, text: str) -> None:
    report = with_value(sample(("words", "letters", "hybrid")), "hybrid", "R@100", recall)
    assert text in verdict(report)[2]
    assert f"R@100 of {recall:.2f} (hybrid)" in verdict(report)[2]


def test_when_recall_says_nothing_of_the_retriever() -> None:
    report = sample(("words", "letters", "hybrid"))
    deeper = verdict(with_value(changed(report, depth=1000), "hybrid", "R@100", 0.5))
    assert not any("retriever" in sentence for sentence in deeper)
    whole = changed(report, collection=changed(report.collection, documents=34))
    all_found = verdict(with_value(whole, "hybrid", "R@100", 1.0))
    assert not any("retriever" in sentence for sentence in all_found)
    without = verdict(sample(("words", "letters"), "words", ("nDCG@10", "MRR@10")))
    assert not any("retriever" in sentence for sentence in without)
    near = with_value(sample(("hybrid",), None), "hybrid", "nDCG@10", 0.95)
    assert "nDCG@10 of 0.95 little for a better ranking" in verdict(near)[1]


def test_a_reranker_and_its_ceiling() -> None:
    report = sample()
    said = verdict(report)[2]
    assert "0.8713" in said
    assert "(R@20 of 0.79, R@100 of 0.95)" in said
    found: Any = stages.of(report.analyses)
    stage = found.stages[-1]
    value = stage.mean

    def about(**update: Any) -> str:
        return verdict(with_analyses(report, stages={"stages": (changed(stage, **update),)}))[2]

    far = value / NEAR + 0.01
    assert f"a better reranker has {far - value:.4f} to gain" in about(ceiling=far)
    assert "94 % of a query's relevant documents" in about(input_recall=0.94)
    assert "more must come from what it is given" in about(input_recall=None)
    assert "leaves little" in about(ceiling=None), "without a ceiling the recall counts"


def test_nothing_is_concluded_from_measures_deeper_than_the_runs() -> None:
    """R@100 of runs with 50 documents is R@50, whatever its name says."""
    report = sample()
    cutoffs = {info.measure: Measure.parse(info.measure).cutoff or 0 for info in report.measures}
    deepest = max(cutoffs.values())
    assert not any("deeper" in text for text in verdict(changed(report, depth=deepest)))
    deep = [measure for measure, cutoff in cutoffs.items() if cutoff == deepest]
    shallow = changed(report, depth=deepest - 1)
    (text,) = [text for text in verdict(shallow) if "deeper" in text]
    assert deep[0] in text
    others = " ".join(one for one in verdict(shallow) if one != text)
    assert not any(measure in others for measure in deep)
    everything = changed(shallow, collection=changed(shallow.collection, documents=deepest - 1))
    assert not any("deeper" in text for text in verdict(everything)), "there are no more documents"
    none = verdict(changed(report, depth=1))
    assert sum("deeper" in text for text in none) == 1
    assert not any("better" in text for text in none)


# --- what else -----------------------------------------------------------------------------------


def test_failures_and_targets() -> None:
    report = sample()
    words = report.systems[0]
    run = changed(words.run, failures={"q1": "timeout", "q2": "timeout"})
    said = verdict(changed(report, systems=[changed(words, run=run), *report.systems[1:]]))
    assert any("words could not answer 2 of 120 queries" in one for one in said)
    assert any("1 of 3 targets: R@50 (0.8886, target 0.95)" in one for one in said)
    assert not any("target" in one for one in verdict(changed(report, kpis=[])))
    assert verdict(changed(report, systems=[])) == ["Nothing was measured."]


@pytest.mark.parametrize(("p", "expected"), [(0.01, True), (0.2, False)])
def test_a_group_that_contradicts_the_whole(p: float, expected: bool) -> None:
    report = sample()
    found: Any = segments.of(report.analyses)
    group = found.groups[0]
    change = changed(group.changes["reranked"], value=-0.2, p_corrected=p)
    group = changed(group, changes={**group.changes, "reranked": change})
    said = verdict(with_analyses(report, segments={"groups": (group, *found.groups[1:])}))
    about = f"reranked is worse than words where category is {group.label} ({group.n} queries)"
    assert any(about in one for one in said) is expected
