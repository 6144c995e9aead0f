"""What stages do, drop and improve: planted cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.rankings import Rankings
from rankscope.diagnosis.stage_roles import Lookup, Seen, Step
from rankscope.diagnosis.stages import STAGES, StageRow, Stages, StagesConfig, StageSpec
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings

Lists = Mapping[str, list[str]]
Grades = Mapping[str, Mapping[str, float]]

IDS = [f"q{number:03}" for number in range(40)]
DOCS = [f"d{number:02}" for number in range(20)]


def looked(
    qrels: Grades,
    runs: Mapping[str, Lists],
    stages: str | list[StageSpec],
    measures: Any = ("nDCG@10",),
    **rules: Any,
) -> Stages:
    """Ask about stages; names separated by commas each build on the one before."""
    if isinstance(stages, str):
        names = stages.split(",")
        stages = [
            StageSpec(name, "stage" if place else "retrieval", tuple(names[place - 1 : place]))
            for place, name in enumerate(names)
        ]
    made: Any = {name: rs.Run(dict(run), name=name) for name, run in runs.items()}
    judgments = as_judgments(qrels)
    inputs = Inputs(
        scores=rs.evaluate(judgments, made, list(measures), **rules),
        runs=made,
        qrels=judgments,
        pipeline=stages,
        settings=Settings(resamples=999),
    )
    answer = STAGES.answer(StagesConfig(), inputs)
    assert isinstance(answer, Stages)
    assert Stages.model_validate(answer.to_dict()) == answer
    return answer


def row_of(result: Stages, system: str) -> StageRow:
    return next(row for row in result.stages if row.system == system)


def same(*docs: str) -> dict[str, list[str]]:
    """Return the same documents for every query."""
    return {query_id: list(docs) for query_id in IDS}


def shuffled(seed: int, *, depth: int, whole: int = 20) -> dict[str, list[str]]:
    """Return other orders of the first documents, those below as they were."""
    random = np.random.default_rng(seed)
    return {
        query_id: [*random.permutation(DOCS[:depth]).tolist(), *DOCS[depth:whole]]
        for query_id in IDS
    }


BELOW = dict.fromkeys(IDS, DOCS)
QRELS = {query_id: {"d03": 2, "d08": 1, "d15": 1, "elsewhere": 1} for query_id in IDS}


# --- what a stage does ---------------------------------------------------------------------------


def seen(below: Lists, above: Lists) -> Seen | None:
    judgments = as_judgments({query_id: {"d03": 1} for query_id in {**below, **above}})
    runs: Any = {"below": rs.Run(dict(below)), "above": rs.Run(dict(above))}
    systems = Rankings.of(judgments, runs).systems
    return Step(Lookup(systems["below"]), Lookup(systems["above"])).seen()


FAILED = [(query_id, ["other", "d00"]) for query_id in IDS[:3]]


@pytest.mark.parametrize(
    ("above", "does"),
    [
        (shuffled(1, depth=12), Seen("rerank", 12, "seen")),
        (shuffled(1, depth=20), Seen("rerank", 20, "seen")),
        (shuffled(1, depth=5, whole=5), Seen("rerank", 5, "seen")),
        # two queries may be exceptions, three may not
        (shuffled(1, depth=12) | dict(FAILED[:2]), Seen("rerank", 12, "seen", 2)),
        (shuffled(1, depth=12) | dict(FAILED), Seen("other")),
        (same(*DOCS[1::2]), Seen("filter")),
        (same(*DOCS[:7]), Seen("filter")),
        ({**BELOW, "q000": DOCS[1:]}, Seen("filter")),
        (same("new", *DOCS), Seen("other")),
        (BELOW, Seen("same")),
        ({"nobody": ["d00"]}, None),
        (same(), None),
    ],
)
def test_what_a_stage_does(above: Lists, does: Seen | None) -> None:
    assert seen(BELOW, above) == does


def test_a_reranker_that_returns_a_few_of_what_it_looks_at() -> None:
    """Each query has three documents of the first 18, and the 18th is among them once."""
    above = {query_id: ["d10", "d02", DOCS[place % 9]] for place, query_id in enumerate(IDS)}
    above = {query_id: list(dict.fromkeys(docs)) for query_id, docs in above.items()}
    above["q003"] = ["d17", "d01"]
    assert seen(BELOW, above) == Seen("rerank and cut", 18, "at least")


# --- what it was given, kept and dropped ---------------------------------------------------------


def test_a_filter_drops_relevant_documents() -> None:
    """Without d03 the best that is left is d08, d15."""
    kept = same(*(doc for doc in DOCS if doc != "d03"))
    result = looked(QRELS, {"a": BELOW, "b": kept}, "a,b")
    row = row_of(result, "b")
    assert (row.role, row.depth) == ("filter", None)
    assert (row.dropped, row.dropped_queries) == (40, 40)
    assert (row.input_recall, row.output_recall) == (3 / 4, 2 / 4)
    first, second, third, fourth = (1 / np.log2(rank + 1) for rank in range(1, 5))
    ideal = 2 * first + second + third + fourth
    assert row.ceiling["nDCG@10"] == pytest.approx((2 * first + second + third) / ideal)
    left = (first + second) / ideal
    assert row.dropped_ceiling == pytest.approx(row.ceiling["nDCG@10"] - left)
    codes = {finding.code: finding for finding in result.findings}
    assert codes["RS712"].severity == "warning"
    assert codes["RS712"].places[0].doc_id == "d03"
    better = looked(QRELS, {"a": BELOW, "b": kept, "c": same("d08", "d15")}, "a,b,c")
    assert [advice.gain for advice in better.advice] == [row.dropped_ceiling]


def test_the_ceiling_of_a_fusion() -> None:
    """It is all that its inputs have; unless documents are from elsewhere."""
    qrels = {query_id: {"a": 2, "b": 1, "c": 1} for query_id in IDS}
    runs = {"first": same("x", "a"), "second": same("y", "b", "a"), "both": same("x", "b")}
    stages = [
        StageSpec("first", "bm25"),
        StageSpec("second", "vector"),
        StageSpec("both", "fuse", ("first", "second")),
    ]
    row = row_of(looked(qrels, runs, stages, ["RR", "nDCG@2", "SetP", "P@2"]), "both")
    assert (row.role, row.depth, row.dropped) == ("fuse", None, 40)  # a, which both have
    assert row.ceiling == {"RR": 1.0, "nDCG@2": 1.0, "P@2": 1.0}
    assert row.input_recall == pytest.approx(2 / 3)
    row = row_of(looked(qrels, {**runs, "both": same("x", "b", "new")}, stages), "both")
    assert (row.ceiling, row.input_recall, row.dropped) == ({}, None, None)


def test_improvements_are_told_of_the_main_measure_and_of_ndcg() -> None:
    """RR rises from 1/4 to 1, and nDCG from what rank 4 counts to what rank 1 does."""
    qrels = {query_id: {"d03": 1} for query_id in IDS}
    result = looked(qrels, {"a": BELOW, "b": same("d03", "d00")}, "a,b", ["RR"])
    assert [(change.measure, change.of) for change in row_of(result, "b").improvements] == [
        ("RR", "a"),
        ("nDCG@10", "a"),
    ]
    percents = [change.percent for change in row_of(result, "b").improvements]
    assert percents == pytest.approx([300, 100 * (np.log2(5) - 1)])


def test_of_nothing_there_is_no_percentage() -> None:
    qrels = {query_id: {"d19": 1, "x": 0} for query_id in IDS}
    result = looked(qrels, {"a": same("x"), "b": same("d19")}, "a,b")
    [change] = row_of(result, "b").improvements
    assert (change.percent, change.mean) == (None, 1.0)


# --- a stage that loses --------------------------------------------------------------------------


def test_a_stage_that_loses_is_named() -> None:
    good = {query_id: ["d03", "d08", "d15", *DOCS[:3]] for query_id in IDS}
    bad = {query_id: [*DOCS[:3], "d15", "d08", "d03"] for query_id in IDS}
    result = looked(QRELS, {"a": good, "b": bad}, "a,b")
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS711", "warning")
    [advice] = result.advice
    assert advice.gain == pytest.approx(-finding.evidence["difference"])
    # a later stage makes up for it: the finding stays, and nothing is advised
    mended = looked(QRELS, {"a": good, "b": bad, "c": good}, "a,b,c")
    assert [finding.code for finding in mended.findings] == ["RS711"]
    assert mended.advice == ()
    assert looked(QRELS, {"a": bad, "b": good}, "a,b").advice == ()


@pytest.mark.parametrize("profile", ["beir", "trec_eval-9"])
def test_profiles(profile: str) -> None:
    """With beir a document that has its query's id is left out, and so it is here."""
    qrels = {**QRELS, "d00": {"d03": 1}}
    runs = {
        "a": {**BELOW, "d00": ["d00", "d01", "d03"]},
        "b": {**shuffled(1, depth=12), "d00": ["d03", "d00", "d01"]},
    }
    result = looked(qrels, runs, "a,b", profile=profile)
    row = row_of(result, "b")
    assert (row.role, row.depth) == ("rerank", 12)
