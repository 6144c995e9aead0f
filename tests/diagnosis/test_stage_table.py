"""Stages: a naive twin counts the same, and a reranker that does more than reorder is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.pipeline import Pipeline
from rankscope.diagnosis.stages import StageRow, StageSpec, stage_table
from rankscope.errors import UnknownNameError
from rankscope.findings import Finding
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings

Pairs = Mapping[str, Mapping[str, float]]

FAST = Settings(resamples=100)
MEASURES = ["nDCG@3", "RR@3", "AP", "R@2", "Success@1"]


def table(
    qrels: Pairs,
    runs: Mapping[str, Pairs],
    stages: list[StageSpec],
    measures: list[str] = MEASURES,
    **options: Any,
) -> tuple[dict[str, StageRow], list[Finding]]:
    judgments = as_judgments(qrels)
    made: Any = {name: rs.Run(run, name=name) for name, run in runs.items()}
    scores = rs.evaluate(judgments, made, measures, **options.pop("rules", {}))
    pipeline = Pipeline(judgments, made, stages, scores)
    options = {"settings": FAST, "cutoff": 10, "depth": None, **options}
    rows, findings = stage_table(pipeline, **options)
    return {row.system: row for row in rows}, findings


def test_the_main_measure_is_tested_as_in_a_comparison_of_all_systems() -> None:
    random = np.random.default_rng(1)
    ids = [f"q{number}" for number in range(30)]
    qrels: Pairs = {query: {f"d{n}": float(n % 3) for n in range(5)} for query in ids}
    runs: dict[str, Pairs] = {
        name: {query: {f"d{n}": float(random.random()) for n in range(8)} for query in ids}
        for name in ("a", "b", "c")
    }
    stages = [StageSpec("c", "fuse", ("a", "b"), None)]
    own = Settings(resamples=500, seed=7, level=0.9)
    rows, _ = table(qrels, runs, stages, ["nDCG@5", "NumRelRet", "GMAP"], settings=own)
    compared = rs.compare(qrels, runs, ["nDCG@5"], resamples=500, seed=7, level=0.9)
    assert [(one.measure, one.of) for one in rows["c"].changes] == [
        ("nDCG@5", "a"),
        ("nDCG@5", "b"),
    ]
    assert set(rows["c"].measures) == {"nDCG@5", "NumRelRet", "GMAP"}
    for change in rows["c"].changes:
        [pair] = [pair for pair in compared.pairs if {pair.base, pair.system} == {"c", change.of}]
        ends = [pair.interval.low, pair.interval.high]
        expected = ends if pair.system == "c" else [-end for end in reversed(ends)]
        assert [change.interval.low, change.interval.high] == pytest.approx(expected)
        assert change.p_corrected == pytest.approx(pair.p_corrected)


def test_measures_without_a_best_order_have_none() -> None:
    measures = ["nDCG(gain={0:0,1:5,2:1})@3", "nDCG(gain={0:0,1:1,2:5})@3", "Unjudged@1", "P@1"]
    run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    rows, _ = table({"q": {"a": 1, "b": 2}}, {"below": run, "above": run}, rerank(3), measures)
    assert list(rows["above"].ceiling) == ["nDCG(gain={0:0,1:1,2:5})@3", "P@1"]


def test_several_inputs_are_counted_against_the_best_by_the_first_measure() -> None:
    qrels = {"q": {"a": 1, "b": 1}}
    runs: dict[str, Pairs] = {
        "weak": {"q": {"x": 2.0, "a": 1.0}},
        "strong": {"q": {"b": 2.0, "x": 1.0}},
        "both": {"q": {"a": 2.0, "x": 1.0}},
    }
    stages = [StageSpec("both", "fuse", ("weak", "strong"), None)]
    for measure, counts in (
        ("RR", (1, 1)),  # b for a, against strong
        ("R@5", (0, 0)),  # of equal ones the first
        ("Unjudged@1", (1, 1)),  # less is better
    ):
        rows, _ = table(qrels, runs, stages, [measure], cutoff=2)
        assert (rows["both"].lost, rows["both"].promoted) == counts


# --- recall stays what it was


def rerank(depth: int) -> list[StageSpec]:
    return [StageSpec("below", "bm25", (), None), StageSpec("above", "rerank", ("below",), depth)]


def test_a_dropped_and_an_added_document_are_errors() -> None:
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"a": 2}, "q3": {"a": 1}}
    below = {query: {"a": 3.0, "x": 2.0, "b": 1.0} for query in qrels}
    above = {
        "q1": {"b": 3.0, "x": 2.0, "a": 1.0},  # b for a: as many, and not the same
        "q2": {"x": 3.0, "y": 2.0, "a": 1.0},  # a is lost, y stands for it
        "q3": {"y": 3.0, "a": 2.0, "x": 1.0},  # y is new, and nobody judged it
    }
    rows, [finding] = table(qrels, {"below": below, "above": above}, rerank(2))
    assert (finding.code, finding.severity, finding.count) == ("RS701", "error", 2)
    assert [(place.query_id, place.doc_id) for place in finding.places] == [
        ("q1", "a"),
        ("q2", "a"),
    ]
    assert finding.evidence["dropped"] == 2
    assert rows["above"].input_recall == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert rows["above"].output_recall == pytest.approx((1 / 2 + 0 + 1) / 3)


def test_a_query_that_was_not_answered_is_no_dropped_document() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    below: Pairs = {query: {"a": 1.0} for query in qrels}
    runs: dict[str, Pairs] = {"below": below, "above": {"q1": {"a": 1.0}, "q3": {}}}
    rows, [finding] = table(qrels, runs, rerank(1))
    assert [place.query_id for place in finding.places] == ["q3"]  # answered with nothing
    assert rows["above"].input_recall == 1
    assert rows["above"].output_recall == pytest.approx(1 / 3)
    assert rows["above"].lost == 2


def test_runs_that_are_cut_above_the_depth_cannot_be_checked() -> None:
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    below = {"q1": {"a": 3.0, "x": 2.0}, "q2": {"x": 1.0}}
    above = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"x": 1.0}}  # b came from below the cut
    runs: dict[str, Pairs] = {"below": below, "above": above}
    rows, [finding] = table(qrels, runs, rerank(5), depth=2)
    assert (finding.code, finding.severity, finding.count) == ("RS702", "note", 1)
    assert [place.query_id for place in finding.places] == ["q1"]
    assert rows["above"].input_recall == pytest.approx((1 / 2 + 0) / 2)
    assert rows["above"].output_recall == pytest.approx((1 + 0) / 2)
    # the longest answer stands for an unknown depth
    assert [one.code for one in table(qrels, runs, rerank(5))[1]] == ["RS702"]
    # as deep as the runs: everything is seen
    assert [one.code for one in table(qrels, runs, rerank(2), depth=2)[1]] == ["RS701"]
    # the runs could hold more: the answers are short
    assert [one.code for one in table(qrels, runs, rerank(5), depth=100)[1]] == ["RS701"]


def test_ties_are_broken_as_systems_break_them() -> None:
    """In single precision the scores are equal, and yet b was not among what was reranked."""
    qrels = {"q": {"a": 1, "b": 1}}
    below = {"q": {"a": 20000001.0, "b": 20000000.0}}
    above = {"q": {"a": 2.0, "b": 1.0}}
    rules = {"profile": "trec_eval-9"}
    rows, findings = table(qrels, {"below": below, "above": above}, rerank(1), rules=rules)
    assert findings == []
    assert rows["above"].input_recall == 0.5
    tied = {"q": {"a": 1.0, "b": 1.0}}
    rows, [finding] = table(qrels, {"below": tied, "above": above}, rerank(1), cutoff=1)
    assert finding.evidence["dropped"] == 1  # b is first of the tie
    assert (rows["above"].lost, rows["above"].promoted) == (1, 1)


def test_a_query_as_its_own_document_is_left_out_where_the_profile_does() -> None:
    qrels = {"q1": {"a": 1, "q1": 1}}
    runs: dict[str, Pairs] = {
        "below": {"q1": {"q1": 3.0, "x": 2.0, "a": 1.0}},
        "above": {"q1": {"q1": 3.0, "a": 2.0, "x": 1.0}},
    }
    options: Any = {"rules": {"profile": "beir"}, "cutoff": 1}
    rows, findings = table(qrels, runs, rerank(3), ["nDCG@1"], depth=3, **options)
    assert findings == []
    assert rows["below"].labels == {"1": 0, "unjudged": 1}
    assert rows["above"].promoted == 1
    _, [finding] = table(qrels, runs, rerank(4), ["nDCG@1"], depth=3, **options)
    assert finding.code == "RS702"  # what is left out was there, so the answer is not short


def test_many_grades_are_counted_by_their_whole_part() -> None:
    qrels = {"q": {f"d{n}": n / 10 for n in range(25)}}
    run = {"q": {f"d{n}": float(n) for n in range(25)}}
    rows, _ = table(qrels, {"one": run}, [StageSpec("one", "bm25", (), None)], cutoff=6)
    assert rows["one"].labels == {"2": 5, "1": 1, "0": 0, "unjudged": 0}
    few = {"q": {"d1": 0.5, "d2": 1.25}}
    rows, _ = table(few, {"one": run}, [StageSpec("one", "bm25", (), None)], cutoff=25)
    assert rows["one"].labels == {"1.25": 1, "0.5": 1, "unjudged": 23}


def test_an_unknown_system_is_named() -> None:
    stages = [replace(rerank(3)[0], system="belov")]
    with pytest.raises(UnknownNameError, match="nearest: below"):
        table({"q": {"a": 1}}, {"below": {"q": {"a": 1.0}}}, stages)


# --- a naive twin


def ranked(documents: Mapping[str, float]) -> list[str]:
    by_id = sorted(documents, reverse=True)
    return sorted(by_id, key=lambda doc: -documents[doc])


def naive_ceiling(qrels: Pairs, run: Pairs, depth: int, measures: list[str]) -> dict[str, float]:
    best: dict[str, dict[str, float]] = {}
    for query, documents in run.items():
        order = ranked(documents)
        grades = qrels.get(query, {})
        top = sorted(order[:depth], key=lambda doc: -max(grades.get(doc, 0.0), 0.0))
        best[query] = {doc: -float(n) for n, doc in enumerate(top + order[depth:])}
    return dict(rs.evaluate(qrels, {"one": best}, measures).run("one").means)


IDS = st.sampled_from(["d1", "d2", "d3", "D9", "d10", "é"])
GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
SCORES = st.sampled_from([0.0, 1.0, 2.0, 2.5])
QUERIES = st.sampled_from(["q1", "q2", "q3"])


@settings(max_examples=40, deadline=None)
@given(
    qrels=st.dictionaries(
        QUERIES, st.dictionaries(IDS, GRADES, min_size=1), min_size=1, max_size=3
    ),
    below=st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES), min_size=1),
    above=st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES), min_size=1),
    depth=st.integers(1, 6),
    cutoff=st.integers(1, 6),
)
def test_a_naive_twin(qrels: Pairs, below: Pairs, above: Pairs, depth: int, cutoff: int) -> None:
    measures = ["nDCG@3", "nDCG(gain=exp)", "AP", "P(judged_only=True)@2", "Bpref", "ERR@4"]
    qrels, below, above = ({**pairs, "sound": {"a": 1.0}} for pairs in (qrels, below, above))
    runs = {"below": below, "above": above}
    rows, findings = table(qrels, runs, rerank(depth), measures, cutoff=cutoff, depth=100)
    row = rows["above"]

    def top(run: Pairs, query: str, end: int) -> set[str]:
        first = ranked(run.get(query, {}))[:end]
        return {doc for doc in first if qrels[query].get(doc, 0) >= 1}

    assert row.lost == sum(len(top(below, q, cutoff) - top(above, q, cutoff)) for q in qrels)
    assert row.promoted == sum(len(top(above, q, cutoff) - top(below, q, cutoff)) for q in qrels)
    for name, run in runs.items():
        seen = Counter(
            "unjudged" if (grade := qrels[query].get(doc, -1)) < 0 else f"{grade:g}"
            for query in qrels
            for doc in ranked(run.get(query, {}))[:cutoff]
        )
        labels = rows[name].labels
        assert {label: count for label, count in labels.items() if count} == dict(seen)
        assert list(labels)[-1] == "unjudged"
        grades = [float(label) for label in list(labels)[:-1]]
        assert grades == sorted(grades, reverse=True)
    relevant = {q: {doc for doc, grade in qrels[q].items() if grade >= 1} for q in qrels}
    for run, recall in ((below, row.input_recall), (above, row.output_recall)):
        shares = [len(top(run, q, depth)) / max(len(relevant[q]), 1) for q in qrels]
        assert recall == pytest.approx(sum(shares) / len(shares))
    assert row.ceiling == pytest.approx(naive_ceiling(qrels, below, depth, measures))
    changed = [
        query
        for query in qrels
        if query in below
        and query in above
        and top(below, query, depth) != top(above, query, depth)
    ]
    assert sum(finding.count for finding in findings) == len(changed)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), depth=st.integers(1, 6))
def test_an_honest_reranker_is_never_blamed_and_stays_below_its_ceiling(
    data: st.DataObject, depth: int
) -> None:
    one = st.dictionaries(IDS, GRADES, min_size=1)
    qrels = data.draw(st.dictionaries(QUERIES, one, min_size=1, max_size=3))
    below = data.draw(st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES), min_size=1))
    qrels, below = ({**pairs, "sound": {"a": 1.0}} for pairs in (qrels, below))
    above: dict[str, dict[str, float]] = {}
    for query, documents in below.items():
        order = ranked(documents)
        top = data.draw(st.permutations(order[:depth]))
        above[query] = {doc: -float(n) for n, doc in enumerate([*top, *order[depth:]])}
    rows, findings = table(qrels, {"below": below, "above": above}, rerank(depth), depth=6)
    row = rows["above"]
    assert findings == []
    assert row.input_recall == row.output_recall
    for measure, most in row.ceiling.items():
        assert row.measures[measure] <= most + 1e-12
