"""Adaptive depth: every answer cut at its own k, against a naive twin and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.collection.decisions import Decisions
from rankscope.diagnosis.adaptive_depths import (
    ADAPTIVE_DEPTHS,
    AdaptiveDepths,
    AdaptiveDepthsConfig,
    same_cost,
)
from rankscope.diagnosis.registry import Inputs
from rankscope.document.blocks import Table
from rankscope.findings import NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings


def inputs(qrels: Any, runs: Any, depths: Any, measures: Any = ("nDCG@10",)) -> Inputs:
    tables: Any = {name: rs.Run(run, name=name) for name, run in runs.items()}
    return Inputs(
        scores=rs.evaluate(qrels, tables, list(measures)),
        runs=tables,
        qrels=as_judgments(qrels),
        decisions=Decisions([{"query_id": query_id, "k": k} for query_id, k in depths.items()]),
        settings=Settings(resamples=999),
    )


def look(*given: Any, config: AdaptiveDepthsConfig | None = None) -> AdaptiveDepths:
    answer = ADAPTIVE_DEPTHS.answer(config or AdaptiveDepthsConfig(), inputs(*given))
    assert isinstance(answer, AdaptiveDepths), answer
    section = ADAPTIVE_DEPTHS.section(answer)
    assert section.blocks
    assert AdaptiveDepths.model_validate(answer.to_dict()).to_dict() == answer.to_dict()
    return answer


def world(seed: int, queries: int = 30, documents: int = 15) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    qrels, run = {}, {}
    for n in range(queries):
        grades = random.choice([0, 0, 0, 1, 2], documents)
        qrels[f"q{n}"] = {f"d{d}": int(grade) for d, grade in enumerate(grades) if d % 4}
        kept = documents - int(random.integers(0, 5))
        run[f"q{n}"] = {f"d{d}": float(random.random()) for d in range(kept)}
    return qrels, run


def best_first(run: Any) -> dict[str, list[str]]:
    return {
        query_id: sorted(documents, key=lambda doc_id: -documents[doc_id])
        for query_id, documents in run.items()
    }


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), measure=st.sampled_from(["nDCG@10", "AP", "RR@5", "SetP", "R@3"]))
def test_answers_cut_one_by_one_have_the_same_values(seed: int, measure: str) -> None:
    """The twin cuts the lists before they are scored."""
    qrels, run = world(seed)
    depths = np.random.default_rng(seed + 1).integers(0, 12, len(qrels))
    ranked = best_first(run)
    twin = {q: ranked[q][:k] for q, k in zip(ranked, depths.tolist(), strict=True)}
    expected = rs.evaluate(qrels, rs.Run(twin), [measure]).values(measure)
    judged = align(as_judgments(qrels), rs.Run(run)).judged
    values = compute(Measure.parse(measure), judged.cut(depths))
    assert dict(zip(judged.query_ids, values.tolist(), strict=True)) == expected


def test_a_cut_with_subtopics_lengths_and_spans() -> None:
    diverse = {"q": {"a": {"1": 1}, "b": {"2": 1}}, "r": {"a": {"1": 1}}}
    judged = align(as_judgments(rs.Qrels(diverse)), rs.Run({"q": [*"xab"], "r": [*"ax"]})).judged
    cut = judged.cut(np.array([2, 0]))
    assert cut.subtopics is not None
    assert sorted(cut.subtopics.rank.tolist()) == [0, 0, 2]
    assert cut.retrieved.tolist() == [2, 0]


def test_qualities_by_hand() -> None:
    """One relevant document each: q1 at 1 (k 1), q2 at 3 (k 2), q3 at 2 (k 3)."""
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}, "q3": {"d": 1}}
    run = {"q1": [*"dxyz"], "q2": [*"xydz"], "q3": [*"xdyz"]}
    result = look(qrels, {"s": run}, {"q1": 1, "q2": 2, "q3": 3, "other": 9}, ["RR"])
    assert (result.queries, result.undecided, result.unjudged) == (3, 0, 1)
    assert (result.smallest_k, result.mean_k, result.largest_k) == (1, 2.0, 3)
    [system] = result.systems
    assert system.decided.value == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert system.decided.success == pytest.approx(2 / 3)
    assert system.decided.precision == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert system.decided.recall == pytest.approx(2 / 3)
    assert system.decided.documents == 2.0
    assert system.fixed_k == 2.0
    assert system.fixed is not None
    assert system.fixed.value == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert system.largest is not None
    assert system.largest.value == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    assert system.saved == pytest.approx(1 - 6 / 9)
    assert system.difference == 0.0
    assert [(group.low, group.high, group.n) for group in system.groups] == [
        (1, 1, 1),
        (2, 2, 1),
        (3, 3, 1),
    ]
    assert [group.decided.value for group in system.groups] == [1.0, 0.0, 0.5]
    assert [group.fixed for group in system.groups] == [1.0, 0.0, 0.5]
    assert [finding.code for finding in result.findings] == ["RS720"]  # of "other"
    assert result.advice == ()


@given(pairs=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=12))
def test_the_fixed_depth_shows_as_many_documents(pairs: list[tuple[int, int]]) -> None:
    decided, retrieved = (np.array(column) for column in zip(*pairs, strict=True))
    depth, share = same_cost(decided, retrieved)
    assert 0 <= share < 1
    below, above = (np.minimum(d, retrieved).sum() for d in (depth, depth + 1))
    assert (1 - share) * below + share * above == pytest.approx(
        np.minimum(decided, retrieved).sum()
    )
    assert depth + share <= decided.max()


def planted(*, wise: bool) -> tuple[Any, Any, Any]:
    """Half of the questions have their document at rank 1, half at rank 5; k is 1 and 5."""
    queries = [f"q{n}" for n in range(40)]
    run = {q: [*("dwxyz" if n % 2 else "wxyzd"), *"uvst"] for n, q in enumerate(queries)}
    depths = {q: 1 if (n % 2 == 1) == wise else 5 for n, q in enumerate(queries)}
    return {q: {"d": 1} for q in queries}, {"s": run}, depths


def test_a_wise_depth_finds_all_that_the_largest_does() -> None:
    result = look(*planted(wise=True), ["Success@10"])
    [system] = result.systems
    assert system.fixed_k == 3.0
    assert system.decided.success == 1.0
    assert system.fixed is not None
    assert system.fixed.success == 0.5
    assert system.difference == 0.5
    assert system.p_corrected is not None
    assert system.p_corrected < 0.001
    assert (result.findings, result.advice) == ((), ())
    [table] = ADAPTIVE_DEPTHS.section(result).blocks
    assert isinstance(table, Table)
    assert table.rows[1][-1].marker == "↑"


def test_a_depth_that_loses_against_a_fixed_one() -> None:
    result = look(*planted(wise=False), ["RR"])
    [system] = result.systems
    # decided: rank 1 is shown of half, rank 5 never: 0.5; the same with 3 documents for all
    assert system.difference == 0.0
    assert result.findings == ()
    qrels, runs, depths = planted(wise=False)
    runs["s"] = {q: [*"wd", *"xyzuv"] for q in qrels}  # always at rank 2
    result = look(qrels, runs, depths, ["RR"])
    [finding] = result.findings
    assert finding.code == "RS695"
    assert finding.message == (
        "s has RR of 0.250 with the decided k, and 0.500 with k = 3 for every question, which "
        "shows as many documents"
    )
    [advice] = result.advice
    assert advice.gain == pytest.approx(0.25)
    assert advice.text.startswith("Adaptive k: s has RR of 0.250 with the decided k")


def test_a_depth_between_two_whole_ones_is_said_as_a_mix() -> None:
    qrels, runs, depths = planted(wise=False)
    runs["s"] = {q: [*"wd", *"xyzuv"] for q in qrels}
    lowered = next(query_id for query_id, depth in depths.items() if depth == 5)
    result = look(qrels, runs, {**depths, lowered: 4, "other": 9}, ["RR"])
    loses, left_out = result.findings
    fixed = result.systems[0].fixed
    assert fixed is not None
    assert fixed.documents == pytest.approx(3 - 1 / len(qrels))
    assert loses.message.endswith(
        f"0.500 with the same {fixed.documents:.3g} documents on average, as a mix of k = 2 and 3"
    )
    [table] = ADAPTIVE_DEPTHS.section(result).blocks
    assert isinstance(table, Table)
    assert table.rows[1][1].value == "fixed, k = 2 and 3"
    assert left_out.message == "1 decision for a query that the qrels do not have is left out"
    assert (left_out.code, result.other_queries, result.unjudged) == ("RS720", 1, 1)


def test_where_less_is_better_more_is_a_loss() -> None:
    """Only the first document is judged: k = 3 shows 2 of 3 unjudged, k = 1 none, k = 5 4 of 5."""
    queries = [f"q{n}" for n in range(20)]
    qrels = {q: {"d": 1} for q in queries}
    runs = {"s": {q: [*"duvwxyz"] for q in queries}}
    depths = {q: 1 if n % 2 else 5 for n, q in enumerate(queries)}
    result = look(qrels, runs, depths, ["Unjudged@5"])
    [system] = result.systems
    assert system.difference is not None
    assert system.fixed_k == 3.0


def test_a_run_that_was_cut_shows_no_fixed_depth() -> None:
    qrels, run = world(3)
    depths = {query_id: n % 5 + 1 for n, query_id in enumerate(qrels)}
    cut = {q: documents[: depths[q]] for q, documents in best_first(run).items()}
    result = look(qrels, {"s": cut, "whole": run}, depths)
    system, whole = result.systems
    assert system.is_cut
    assert (system.fixed, system.fixed_k, system.largest, system.saved) == (None, None, None, None)
    assert not whole.is_cut
    assert system.decided == whole.decided
    [table] = ADAPTIVE_DEPTHS.section(result).blocks
    assert isinstance(table, Table)
    assert any("the run ends at the decided k" in note for note in table.notes)


def test_many_depths_are_grouped() -> None:
    qrels, run = world(4, queries=60)
    depths = {query_id: n for n, query_id in enumerate(qrels)}
    [system] = look(qrels, {"s": run}, depths, config=AdaptiveDepthsConfig(groups=4)).systems
    assert [(group.low, group.high) for group in system.groups] == [
        (0, 14),
        (15, 29),
        (30, 44),
        (45, 59),
    ]
    assert sum(group.n for group in system.groups) == 60


@pytest.mark.parametrize("measure", ["NumRet", "GMAP", "RBP", "SetP"])
def test_any_measure(measure: str) -> None:
    qrels, run = world(5)
    result = look(qrels, {"s": run}, dict.fromkeys(qrels, 3), [measure])
    assert result.systems[0].fixed_k == 3.0
    if measure in ("NumRet", "GMAP"):
        assert result.systems[0].difference is None


@pytest.mark.parametrize(
    ("run", "depths"),
    [
        ({"q": ["d"]}, {"q": 0}),
        ({"q": ["d"]}, {"q": 10**9}),
        ({"q": [], "r": ["d"]}, {"q": 3}),
        ({"r": ["d"]}, {"q": 3, "r": 1}),
    ],
)
def test_odd_but_legal(run: Any, depths: Any) -> None:
    look({"q": {"d": 1}, "r": {"d": 1}, "none": {"d": 0}}, {"s": run}, depths)


def test_where_it_cannot_look() -> None:
    qrels, run = {"q": {"d": 1}}, {"s": {"q": ["d"]}}
    answer = ADAPTIVE_DEPTHS.answer(AdaptiveDepthsConfig(), inputs(qrels, run, {"other": 3}))
    assert isinstance(answer, NotApplicable)
    assert answer.reason == (
        "the only decision is not for a judged query; check that both use the same query ids"
    )
    judged = Inputs(
        **{
            **vars(inputs(qrels, run, {"q": 3})),
            "decisions": Decisions([{"id": "q", "route": "a"}, {"id": "other", "k": 3}]),
        }
    )
    answer = ADAPTIVE_DEPTHS.answer(AdaptiveDepthsConfig(), judged)
    assert isinstance(answer, NotApplicable)
    assert answer.reason.startswith("no question with a decided k is judged")
    lacking = Inputs(
        **{
            **vars(inputs(qrels, run, {"q": 3})),
            "decisions": Decisions([{"id": "q", "route": "a"}]),
        }
    )
    answer = ADAPTIVE_DEPTHS.answer(AdaptiveDepthsConfig(), lacking)
    assert isinstance(answer, NotApplicable)
    assert "no column k (or top_k" in answer.reason
