"""Stages: planted cases, a naive twin, and rerankers that do more than reorder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.analysis import Config, Inputs
from rankscope.diagnosis.stages import StageRow, Stages, StageSpec, stages
from rankscope.errors import UnknownNameError
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings

Lists = Mapping[str, list[str]]
Pairs = Mapping[str, Mapping[str, float]]

IDS = [f"q{number:03}" for number in range(40)]
DOCS = [f"d{number:02}" for number in range(20)]


def looked(
    qrels: Pairs,
    runs: Mapping[str, Any],
    pipeline: str | list[StageSpec],
    measures: Any = ("nDCG@10",),
    **given: Any,
) -> Stages:
    """Ask about stages; names separated by commas each build on the one before."""
    if isinstance(pipeline, str):
        names = pipeline.split(",")
        pipeline = [
            StageSpec(name, "stage" if place else "retrieval", tuple(names[place - 1 : place]))
            for place, name in enumerate(names)
        ]
    made: Any = {name: rs.Run(dict(run), name=name) for name, run in runs.items()}
    judgments = as_judgments(qrels)
    options = {"settings": Settings(resamples=100), **given}
    rules = options.pop("rules", {})
    inputs = Inputs(
        scores=rs.evaluate(judgments, made, list(measures), **rules),
        runs=made,
        qrels=judgments,
        pipeline=pipeline,
        **options,
    )
    answer = stages.answer(Config(), inputs)
    assert isinstance(answer, Stages)
    assert Stages.model_validate(answer.to_dict()) == answer
    assert stages.section(answer).all_blocks
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
FAILED = [(query_id, ["other", "d00"]) for query_id in IDS[:3]]


# --- what a stage does


@pytest.mark.parametrize(
    ("above", "role"),
    [
        (shuffled(1, depth=12), "rerank"),
        (shuffled(1, depth=5, whole=5), "rerank"),
        # two queries may be exceptions, three may not
        (shuffled(1, depth=12) | dict(FAILED[:2]), "rerank"),
        (shuffled(1, depth=12) | dict(FAILED), "other"),
        (same(*DOCS[1::2]), "filter"),
        (same(*DOCS[:7]), "filter"),
        ({**BELOW, "q000": DOCS[1:]}, "filter"),
        (BELOW, "filter"),
        (same("new", *DOCS), "other"),
        ({"nobody": ["d00"]}, None),
    ],
)
def test_what_a_stage_does(above: Lists, role: str | None) -> None:
    qrels = {query_id: {"d03": 1} for query_id in {**BELOW, **above}}
    assert row_of(looked(qrels, {"a": BELOW, "b": above}, "a,b"), "b").role == role


# --- what it was given, kept and dropped


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
    assert row.ceiling == pytest.approx((2 * first + second + third) / ideal)
    codes = {finding.code: finding for finding in result.findings}
    assert codes["RS712"].severity == "warning"
    assert codes["RS712"].places[0].doc_id == "d03"


def test_the_ceiling_of_a_fusion() -> None:
    """It is all that its inputs have; unless documents are from elsewhere."""
    qrels = {query_id: {"a": 2, "b": 1, "c": 1} for query_id in IDS}
    runs = {"first": same("x", "a"), "second": same("y", "b", "a"), "both": same("x", "b")}
    pipeline = [
        StageSpec("first", "bm25"),
        StageSpec("second", "vector"),
        StageSpec("both", "fuse", ("first", "second")),
    ]
    for measure, ceiling in (("RR", 1.0), ("nDCG@2", 1.0), ("P@2", 1.0), ("SetP", None)):
        row = row_of(looked(qrels, runs, pipeline, [measure]), "both")
        assert row.ceiling == ceiling
        assert (row.role, row.depth, row.dropped) == ("fuse", None, 40)  # a, which both have
        assert row.input_recall == pytest.approx(2 / 3)
    row = row_of(looked(qrels, {**runs, "both": same("x", "b", "new")}, pipeline), "both")
    assert (row.role, row.ceiling, row.input_recall, row.dropped) == ("other", None, None, None)


def test_improvements_are_in_per_cent_of_what_was_there() -> None:
    """RR rises from 1/4 to 1, and nDCG from what rank 4 counts to what rank 1 does."""
    qrels = {query_id: {"d03": 1} for query_id in IDS}
    result = looked(qrels, {"a": BELOW, "b": same("d03", "d00")}, "a,b", ["RR", "nDCG@10"])
    changes = row_of(result, "b").changes
    assert [(change.measure, change.base) for change in changes] == [("RR", "a"), ("nDCG@10", "a")]
    assert [change.relative for change in changes] == pytest.approx([3, np.log2(5) - 1])
    [figure] = result.figures
    assert figure.value == pytest.approx(np.log2(5) - 1)
    nothing = {query_id: {"d19": 1, "x": 0} for query_id in IDS}
    [change] = row_of(looked(nothing, {"a": same("x"), "b": same("d19")}, "a,b"), "b").changes
    assert (change.relative, change.system_mean) == (None, 1.0)


def test_a_stage_that_loses_is_named() -> None:
    good = {query_id: ["d03", "d08", "d15", *DOCS[:3]] for query_id in IDS}
    bad = {query_id: [*DOCS[:3], "d15", "d08", "d03"] for query_id in IDS}
    [finding] = looked(QRELS, {"a": good, "b": bad}, "a,b").findings
    assert (finding.code, finding.severity) == ("RS711", "warning")
    mended = looked(QRELS, {"a": good, "b": bad, "c": good}, "a,b,c")
    assert [finding.code for finding in mended.findings] == ["RS711"]
    assert looked(QRELS, {"a": bad, "b": good}, "a,b").findings == ()


def test_measures_without_a_best_order_have_no_ceiling() -> None:
    run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    for measure, has_ceiling in (
        ("nDCG(gain={0:0,1:5,2:1})@3", False),
        ("nDCG(gain={0:0,1:1,2:5})@3", True),
        ("Unjudged@1", False),
        ("P@1", True),
    ):
        found = looked({"q": {"a": 1, "b": 2}}, {"below": run, "above": run}, rerank(3), [measure])
        assert (row_of(found, "above").ceiling is not None) == has_ceiling


# --- recall stays what it was


def rerank(depth: int) -> list[StageSpec]:
    return [StageSpec("below", "bm25", (), None), StageSpec("above", "rerank", ("below",), depth)]


def table(
    qrels: Pairs, runs: Mapping[str, Pairs], reranked: int, **given: Any
) -> tuple[dict[str, StageRow], list[Any]]:
    """Return the rows of a pipeline with a reranker, and what changed its recall."""
    found = looked(
        qrels, runs, rerank(reranked), given.pop("measures", ("nDCG@3", "RR@3")), **given
    )
    return {row.system: row for row in found.stages}, [
        finding for finding in found.findings if finding.code == "RS701"
    ]


def test_a_dropped_and_an_added_document_are_errors() -> None:
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"a": 2}, "q3": {"a": 1}}
    below = {query: {"a": 3.0, "x": 2.0, "b": 1.0} for query in qrels}
    above = {
        "q1": {"b": 3.0, "x": 2.0, "a": 1.0},  # b for a: as many, and not the same
        "q2": {"x": 3.0, "y": 2.0, "a": 1.0},  # a is lost, y stands for it
        "q3": {"y": 3.0, "a": 2.0, "x": 1.0},  # y is new, and nobody judged it
    }
    rows, [finding] = table(qrels, {"below": below, "above": above}, 2)
    assert (finding.severity, finding.count) == ("error", 1)
    assert rows["above"].input_recall == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert rows["above"].output_recall == pytest.approx((1 / 2 + 0 + 1) / 3)


def test_an_unknown_system_is_named() -> None:
    run = {"q": {"a": 1.0}}
    pipeline = [StageSpec("above", "rerank", ("belov",), 3)]
    with pytest.raises(UnknownNameError, match="nearest: below"):
        looked({"q": {"a": 1}}, {"below": run, "above": run}, pipeline)


# --- a naive twin


def ranked(documents: Mapping[str, float]) -> list[str]:
    by_id = sorted(documents, reverse=True)
    return sorted(by_id, key=lambda doc: -documents[doc])


def naive_ceiling(qrels: Pairs, run: Pairs, depth: int, measure: str) -> float:
    best: dict[str, dict[str, float]] = {}
    for query, documents in run.items():
        order = ranked(documents)
        grades = qrels.get(query, {})
        top = sorted(order[:depth], key=lambda doc: -max(grades.get(doc, 0.0), 0.0))
        best[query] = {doc: -float(n) for n, doc in enumerate(top + order[depth:])}
    return rs.evaluate(qrels, {"one": best}, [measure]).run("one").means[measure]


NAMES = st.sampled_from(["d1", "d2", "d3", "D9", "d10", "é"])
GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
SCORES = st.sampled_from([0.0, 1.0, 2.0, 2.5])
QUERIES = st.sampled_from(["q1", "q2", "q3"])


@settings(max_examples=40, deadline=None)
@given(
    qrels=st.dictionaries(
        QUERIES, st.dictionaries(NAMES, GRADES, min_size=1), min_size=1, max_size=3
    ),
    below=st.dictionaries(QUERIES, st.dictionaries(NAMES, SCORES), min_size=1),
    above=st.dictionaries(QUERIES, st.dictionaries(NAMES, SCORES), min_size=1),
    depth=st.integers(1, 6),
    main=st.sampled_from(["nDCG@3", "nDCG(gain=exp)", "AP", "P@2", "Bpref", "ERR@4"]),
)
def test_a_naive_twin(qrels: Pairs, below: Pairs, above: Pairs, depth: int, main: str) -> None:
    qrels, below, above = ({**pairs, "sound": {"a": 1.0}} for pairs in (qrels, below, above))
    runs = {"below": below, "above": above}
    rows, _ = table(qrels, runs, depth, measures=[main], depth=100)
    row, cutoff = rows["above"], int(main.partition("@")[2] or 10)

    def top(run: Pairs, query: str, end: int) -> set[str]:
        first = ranked(run.get(query, {}))[:end]
        return {doc for doc in first if qrels[query].get(doc, 0) >= 1}

    assert row.lost == sum(len(top(below, q, cutoff) - top(above, q, cutoff)) for q in qrels)
    assert row.promoted == sum(len(top(above, q, cutoff) - top(below, q, cutoff)) for q in qrels)
    assert row.kept == sum(len(top(above, q, cutoff) & top(below, q, cutoff)) for q in qrels)
    relevant = {q: {doc for doc, grade in qrels[q].items() if grade >= 1} for q in qrels}
    for run, recall in ((below, row.input_recall), (above, row.output_recall)):
        shares = [len(top(run, q, depth)) / max(len(relevant[q]), 1) for q in qrels]
        assert recall == pytest.approx(sum(shares) / len(shares))
    assert row.ceiling == pytest.approx(naive_ceiling(qrels, below, depth, main))


@settings(max_examples=25, deadline=None)
@given(data=st.data(), depth=st.integers(1, 6))
def test_an_honest_reranker_is_never_blamed_and_stays_below_its_ceiling(
    data: st.DataObject, depth: int
) -> None:
    one = st.dictionaries(NAMES, GRADES, min_size=1)
    qrels = data.draw(st.dictionaries(QUERIES, one, min_size=1, max_size=3))
    below = data.draw(st.dictionaries(QUERIES, st.dictionaries(NAMES, SCORES), min_size=1))
    qrels, below = ({**pairs, "sound": {"a": 1.0}} for pairs in (qrels, below))
    above: dict[str, dict[str, float]] = {}
    for query, documents in below.items():
        order = ranked(documents)
        top = data.draw(st.permutations(order[:depth]))
        above[query] = {doc: -float(n) for n, doc in enumerate([*top, *order[depth:]])}
    rows, findings = table(qrels, {"below": below, "above": above}, depth, depth=6)
    row = rows["above"]
    assert findings == []
    assert row.input_recall == row.output_recall
    assert row.ceiling is not None
    assert row.mean <= row.ceiling + 1e-12
