"""The verdict: what it says, and that it never says more than the report holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from rankscope.benchmark.verdict import FOUND, MISSED, NEAR, verdict
from rankscope.measures.language import Measure
from rankscope.records import BenchmarkReport
from rankscope.statistics.pair import Pair, Pairs
from reports.sample import compared, sample, with_analyses

ALL = ("words", "letters", "hybrid", "reranked")


T = TypeVar("T", bound=BaseModel)


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


def with_pairs(report: BenchmarkReport, measure: str, **update: Any) -> BenchmarkReport:
    """Return the report with other numbers in all pairs of a measure."""
    assert report.comparison is not None
    pairs = [
        changed(pair, **update) if pair.measure == measure else pair
        for pair in report.comparison.pairs
    ]
    return changed(report, comparison=changed(report.comparison, pairs=Pairs.of(pairs)))


def with_value(report: BenchmarkReport, system: str, measure: str, value: float) -> BenchmarkReport:
    """Return the report with another value in the system's own measures."""
    systems = [
        changed(
            one,
            measures=[
                changed(each, value=value) if each.measure == measure else each
                for each in one.measures
            ],
        )
        if one.name == system
        else one
        for one in report.systems
    ]
    return changed(report, systems=systems)


def pair_of(report: BenchmarkReport, system: str, base: str, measure: str) -> Pair:
    assert report.comparison is not None
    return next(
        one
        for one in report.comparison.pairs
        if (one.system, one.base, one.measure) == (system, base, measure)
    )


def small(
    runs: dict[str, dict[str, dict[str, float]]],
    measures: Sequence[str] = ("P@1", "R@100"),
    baseline: str | None = None,
) -> BenchmarkReport:
    """Return a report over a few queries, each with the relevant document d."""
    queries = next(iter(runs.values()))
    qrels = {query_id: {"d": 1} for query_id in queries}
    result = compared(qrels, runs, measures, baseline, resamples=100)
    report = sample()
    systems = [
        changed(
            report.systems[0],
            name=name,
            measures=[
                changed(
                    report.systems[0].measures[0],
                    measure=measure,
                    asked=measure,
                    value=result.mean(name, measure).mean,
                )
                for measure in result.measures
            ],
        )
        for name in runs
    ]
    infos = [
        changed(
            report.measures[0],
            measure=measure,
            asked=measure,
            best=[one.run for one in result.means if one.measure == measure and one.best],
        )
        for measure in result.measures
    ]
    return changed(
        report,
        systems=systems,
        measures=infos,
        baseline=baseline,
        comparison=result,
        kpis=[],
        analyses=changed(report.analyses, segments=None, stages=None),
    )


# --- the main measure ----------------------------------------------------------------------------


def test_better_than_the_baseline() -> None:
    report = sample()
    pair = pair_of(report, "reranked", "words", "nDCG@10")
    interval = f"[{pair.shown.low:.4f}, {pair.shown.high:.4f}]"
    said = verdict(report)[0]
    assert said.startswith(
        f"reranked is better than words on nDCG@10 by {pair.difference:.4f} {interval}, "
        f"p = {pair.p_corrected:.3g} corrected for 6 tests"
    )
    assert said.endswith("it is better than hybrid and letters too.")


def test_no_winner_where_none_is_shown() -> None:
    report = sample(("words", "letters", "hybrid"))
    pair = pair_of(report, "hybrid", "words", "nDCG@10")
    said = verdict(report)[0]
    assert "hybrid has the highest nDCG@10, but is not shown to be better than words" in said
    assert f"120 queries like these would show a difference of about {pair.detectable:.4f}" in said
    assert "is better than" not in said


def test_the_baseline_is_best() -> None:
    assert verdict(sample(ALL, "reranked"))[0].startswith(
        "reranked, the baseline, is better than hybrid on nDCG@10 by "
    )
    said = verdict(sample(("words", "letters")))[0]
    assert (
        "words, the baseline, has the highest nDCG@10, 0.6908, but is not shown to differ" in said
    )


def test_without_a_baseline() -> None:
    said = verdict(sample(("hybrid", "reranked"), None))[0]
    assert said.startswith("reranked is better than hybrid on nDCG@10 by ")
    assert "Holm" not in said, "one test needs no correction"
    said = verdict(sample(("words", "letters", "hybrid"), None))[0]
    assert "is not shown to differ from words and letters; against words: +0.0106 [" in said


def test_a_second_that_is_better_while_the_first_is_not_shown_to_be() -> None:
    report = sample()
    assert report.comparison is not None
    words = {"reranked": "no difference shown", "hybrid": "better"}
    pairs = [
        changed(pair, verdict=words.get(pair.system, pair.verdict))
        for pair in report.comparison.pairs
    ]
    said = verdict(changed(report, comparison=changed(report.comparison, pairs=Pairs.of(pairs))))[0]
    assert "reranked has the highest nDCG@10, but is not shown to be better than words" in said
    assert "; hybrid is better than words by 0.0106" in said


def test_equivalent() -> None:
    report = with_pairs(sample(("words", "hybrid")), "nDCG@10", verdict="equivalent")
    assert report.comparison is not None
    settings = changed(report.comparison.settings, margin=0.05)
    report = changed(report, comparison=changed(report.comparison, settings=settings))
    assert (
        "hybrid has the highest nDCG@10 and is equivalent to words within ±0.05: +0.0106"
        in (verdict(report)[0])
    )


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "p < 0.0001"), (0.00002, "p < 0.0001"), (0.0312, "p = 0.0312"), (1.0, "p = 1 ")],
)
def test_p_values_are_never_0(p: float, text: str) -> None:
    report = with_pairs(sample(), "nDCG@10", p_corrected=p)
    said = " ".join(verdict(report))
    assert text in said
    assert "p = 0 " not in said


def test_a_p_value_says_over_how_many_tests() -> None:
    report = sample()
    assert "corrected for" not in verdict(with_pairs(report, "nDCG@10", family=1))[0]
    older = with_pairs(report, "nDCG@10", family=None, p=0.001, p_corrected=0.002)
    assert "p = 0.002 after correction" in verdict(older)[0]


def test_nothing_is_said_of_systems_that_were_not_compared() -> None:
    """A comparison with the baseline only has neither pairs of the others nor letters."""
    report = sample()
    assert report.comparison is not None
    pairs = Pairs.of(pair for pair in report.comparison.pairs if pair.base == "words")
    means = [changed(mean, letters="", near_best=None) for mean in report.comparison.means]
    report = changed(report, comparison=changed(report.comparison, pairs=pairs, means=means))
    said = verdict(report)[0]
    assert said.startswith("reranked is better than words on nDCG@10 by ")
    assert "better than hybrid" not in said


def test_lower_is_better() -> None:
    report = sample(("words", "letters"), "words")
    info = changed(report.measures[0], higher_is_better=False, best=["letters"])
    report = changed(report, measures=[info, *report.measures[1:]])
    report = with_pairs(report, "nDCG@10", verdict="better", p_corrected=0.01)
    pair = pair_of(report, "letters", "words", "nDCG@10")
    low, high = pair.interval.low, pair.interval.high
    assert verdict(report)[0] == (
        f"letters is better than words on nDCG@10 (lower is better) by {-pair.difference:.4f} "
        f"[{-high:.4f}, {-low:.4f}], p = 0.01."
    )


def test_one_system() -> None:
    report = sample(("hybrid",), None)
    said = verdict(report)
    held = report.systems[0].measures[0]
    assert held.interval is not None
    assert said[0] == (
        f"hybrid has nDCG@10 of {held.value:.4f} [{held.interval.low:.4f}, "
        f"{held.interval.high:.4f}] over 120 queries; there is no other system to compare it with."
    )
    assert not any("better than" in sentence for sentence in said)


def test_several_systems_without_a_comparison() -> None:
    said = verdict(changed(sample(), comparison=None))
    assert said[0] == (
        "reranked has the highest nDCG@10, 0.8458; no test says whether that is more than chance."
    )


def test_a_main_measure_that_was_not_tested() -> None:
    report = sample()
    assert report.comparison is not None
    comparison = changed(
        report.comparison,
        means=[one for one in report.comparison.means if one.measure != "nDCG@10"],
        pairs=Pairs.of(one for one in report.comparison.pairs if one.measure != "nDCG@10"),
    )
    assert "no test says" in verdict(changed(report, comparison=comparison))[0]


@pytest.mark.parametrize(("count", "who"), [(2, "Both"), (3, "All 3")])
def test_identical_systems(count: int, who: str) -> None:
    answers = {f"q{number}": {"d": 1.0} for number in range(5)}
    said = verdict(small({f"s{number}": answers for number in range(count)}))
    assert said[0] == f"{who} systems have the same P@1 on each of 5 queries: 1.0000."


def test_two_queries() -> None:
    hit, miss = {"d": 1.0}, {"x": 1.0}
    runs = {"a": {"q1": hit, "q2": hit}, "b": {"q1": hit, "q2": miss}}
    said = verdict(small(runs, baseline="b"))[0]
    assert "a has the highest P@1, but is not shown to be better than b" in said
    assert "1 of 2 queries differ, too few for any outcome to be significant" in said
    one = {name: {"q1": run["q1"]} for name, run in runs.items()}
    assert verdict(small(one))[0] == "Both systems have the same P@1 on each of 1 query: 1.0000."


def test_measures_all_of_which_are_deeper_are_said_to_be() -> None:
    report = sample(("hybrid",), None)
    report = changed(report, depth=3)
    assert any("look deeper than the 3 documents" in sentence for sentence in verdict(report))


def test_all_documents_are_as_deep_as_there_are() -> None:
    report = sample(("hybrid",), None)
    small = changed(report, depth=3, collection=changed(report.collection, documents=3))
    assert not any("deeper" in sentence for sentence in verdict(small))


def test_nothing() -> None:
    report = sample()
    assert verdict(changed(report, systems=[])) == ["Nothing was measured."]
    assert verdict(changed(report, measures=[])) == ["Nothing was measured."]


# --- the other measures --------------------------------------------------------------------------


def test_other_measures_agree() -> None:
    assert verdict(sample())[1] == (
        "reranked is better than words on AP@100, RR@10, R@50, R@100 and Success@5 too."
    )


def test_other_measures_differ() -> None:
    said = verdict(sample(("words", "letters")))[1]
    assert said == (
        "On the other measures, words against letters: no difference shown on AP@100, RR@10 and "
        "Success@5; worse on R@50 and R@100."
    )


def test_a_third_system_is_ahead_elsewhere() -> None:
    report = sample()
    assert report.comparison is not None
    means = [
        changed(one, mean=0.99) if (one.run, one.measure) == ("letters", "R@50") else one
        for one in report.comparison.means
    ]
    pairs = [
        changed(pair, verdict="better" if pair.system == "letters" else "worse")
        if pair.measure == "R@50" and {pair.system, pair.base} == {"letters", "reranked"}
        else pair
        for pair in report.comparison.pairs
    ]
    held = changed(report.comparison, means=means, pairs=Pairs.of(pairs))
    said = verdict(changed(report, comparison=held))[1]
    assert said.endswith("; letters is better than reranked on R@50.")


# --- what limits it ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recall", "text"),
    [
        (FOUND, "leaves little for a better retriever; the ranking is what limits it"),
        (MISSED, "a better retriever and a better ranking can both add"),
        (MISSED - 0.01, "no reranker can bring them back"),
        (0.0, "on average 100 % of a query's relevant documents"),
    ],
)
def test_recall_limits(recall: float, text: str) -> None:
    report = with_value(sample(("words", "letters", "hybrid")), "hybrid", "R@100", recall)
    assert text in verdict(report)[2]
    assert f"R@100 of {recall:.2f} (hybrid)" in verdict(report)[2]


def test_recall_above_the_depth_says_nothing_of_the_retriever() -> None:
    report = changed(sample(("words", "letters", "hybrid")), depth=1000)
    said = verdict(with_value(report, "hybrid", "R@100", 0.5))[2]
    assert "how many of them are further down was not measured" in said
    assert "retriever" not in said


def test_recall_over_the_whole_corpus_says_nothing() -> None:
    """Whoever returns all documents has found all relevant ones."""
    report = with_value(sample(("words", "letters", "hybrid")), "hybrid", "R@100", 1.0)
    assert "leaves little for a better retriever" in verdict(report)[2]
    tiny = changed(report, collection=changed(report.collection, documents=34))
    assert not any("retriever" in sentence for sentence in verdict(tiny))


def test_nothing_limits() -> None:
    report = with_value(sample(("hybrid",), None), "hybrid", "nDCG@10", 0.95)
    assert "and nDCG@10 of 0.95 little for a better ranking" in verdict(report)[1]


def test_without_recall_nothing_is_said_of_it() -> None:
    said = verdict(sample(("words", "letters"), "words", ("nDCG@10", "MRR@10")))
    assert len([one for one in said if "target" not in one]) == 2


def test_a_reranker_and_its_ceiling() -> None:
    report = sample()
    said = verdict(report)[2]
    assert "where the best order of the 20 documents it looks at would have 0.8713" in said
    assert "is below rank 20 (R@20 of 0.79, R@100 of 0.95)" in said
    stage = report.stages[-1]
    value = stage.measures["nDCG@10"]

    def about(**update: Any) -> str:
        return verdict(with_analyses(report, stages=[changed(stage, **update)]))[2]

    far = value / NEAR + 0.01
    assert f"a better reranker has {far - value:.4f} to gain" in about(ceiling={"nDCG@10": far})
    assert "which holds 94 % of a query's relevant documents" in about(input_recall=0.94)
    assert "more must come from what it is given." in about(input_recall=None)
    assert "leaves little" in about(ceiling={}), "without a ceiling the recall counts"


# --- what else -----------------------------------------------------------------------------------


def test_failures_and_targets() -> None:
    report = sample()
    words = report.systems[0]
    run = changed(words.run, failures={"q1": "timeout", "q2": "timeout"})
    said = verdict(changed(report, systems=[changed(words, run=run), *report.systems[1:]]))
    assert "words could not answer 2 of 120 queries; they count as 0." in said
    assert "reranked misses 1 of 3 targets: R@50 (0.8886, target 0.95)." in said
    assert not any("target" in one for one in verdict(changed(report, kpis=[])))


@pytest.mark.parametrize(("p", "expected"), [(0.01, True), (0.2, False), (None, False)])
def test_a_group_that_contradicts_the_whole(p: float | None, expected: bool) -> None:
    report = sample()
    segment = report.segments[0]
    group = segment.groups[0]
    means = [
        changed(one, difference=-0.2, p_corrected=p) if one.system == "reranked" else one
        for one in group.means
    ]
    segment = changed(segment, groups=[changed(group, means=means), *segment.groups[1:]])
    said = verdict(with_analyses(report, segments=[segment]))
    sentence = (
        "Contrary to the whole, reranked is worse than words where category is "
        f"{group.label} ({group.n} queries)."
    )
    assert (sentence in said) is expected


def test_sentences() -> None:
    """Every verdict of the sample is made of sentences, and of no more than a screen of them."""
    cases: list[tuple[tuple[str, ...], str | None]] = [
        (ALL, None),
        (ALL, "letters"),
        (ALL[:3], "hybrid"),
        (ALL[2:], None),
    ]
    for names, baseline in cases:
        said = verdict(sample(names, baseline))
        assert 2 <= len(said) <= 6
        for sentence in said:
            assert sentence.endswith(".")
            assert not re.search(r"\bnan\b|\bNone\b|-0\.000|p = 0\b(?!\.)", sentence)


def test_nothing_is_concluded_from_measures_deeper_than_the_runs() -> None:
    """R@100 of runs with 50 documents is R@50, whatever its name says."""
    report = sample()
    cutoffs = {info.measure: Measure.parse(info.measure).cutoff or 0 for info in report.measures}
    deepest = max(cutoffs.values())
    assert not any("deeper" in text for text in verdict(changed(report, depth=deepest)))
    deep = [measure for measure, cutoff in cutoffs.items() if cutoff == deepest]
    shallow = changed(report, depth=deepest - 1)
    (text,) = [text for text in verdict(shallow) if "deeper" in text]
    assert text.startswith(f"Nothing is concluded from {deep[0]}")
    others = " ".join(one for one in verdict(shallow) if one != text)
    assert not any(measure in others for measure in deep)
    everything = changed(shallow, collection=changed(shallow.collection, documents=deepest - 1))
    assert not any("deeper" in text for text in verdict(everything)), "there are no more documents"
    none = verdict(changed(report, depth=1))
    assert sum("deeper" in text for text in none) == 1
    assert not any("better" in text for text in none)
