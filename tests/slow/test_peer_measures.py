"""Measures beside the tools that have them too, where installed: ir_measures and ndeval."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.test_oracles import integers
from measures.worlds import NOT_NEGATIVE, World, worlds
from rankscope.measures.language import Measure, parse_measures
from rankscope.measures.registry import compute


def ir_measures_values(text: str, world: World) -> dict[str, float]:
    ir_measures = pytest.importorskip("ir_measures")

    measure = ir_measures.parse_measure(text)
    run = {q: docs for q, docs in world.run.items() if docs}
    return {m.query_id: m.value for m in ir_measures.iter_calc([measure], integers(world), run)}


@settings(max_examples=40, deadline=None)
@given(world=worlds(NOT_NEGATIVE, missing=False))
def test_ir_measures_judged(world: World) -> None:
    for text in ("Judged@3", "Judged@20", "Judged"):
        theirs = ir_measures_values(text, world)
        ours = compute(Measure.parse(text), world.judged_run)
        for query, value in zip(world.judged_run.query_ids, ours, strict=True):
            if len(set(world.run[query].values())) == len(world.run[query]):  # its ties go by id
                assert value == pytest.approx(theirs[query], abs=1e-9)


def without_ties(world: World) -> World:
    """Move scores apart such that the order, by trec_eval's rule, has no tie; all above 0."""
    ranks = {q: sorted(d, key=lambda x: (d[x], x.encode())) for q, d in world.run.items()}
    run = {q: {doc: at + 1.0 for at, doc in enumerate(docs)} for q, docs in ranks.items()}
    return World(world.qrels, run, world.subtopics)


@settings(max_examples=60, deadline=None)
@given(world=worlds(NOT_NEGATIVE, missing=False).map(without_ties))
def test_ir_measures_accuracy(world: World) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures.providers.accuracy_provider import AccuracyProvider

    for text, ours in (("Accuracy", "Accuracy"), ("Accuracy(rel=2)@4", "Accuracy(rel=2,depth=4)")):
        values = compute(Measure.parse(ours), world.judged_run)
        for query, value in zip(world.judged_run.query_ids, values, strict=True):
            alone = {query: world.run[query]}
            make_provider: Any = AccuracyProvider
            provider = make_provider().evaluator([ir_measures.parse_measure(text)], integers(world))
            try:
                theirs = [metric.value for metric in provider.iter_calc(alone)]
            except ZeroDivisionError:  # it has no answer where only relevant documents came
                assert value == 1.0
                continue
            assert value == pytest.approx(theirs[0] if theirs else 0.0, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(world=worlds(NOT_NEGATIVE, missing=False).map(without_ties))
def test_ir_measures_compat(world: World) -> None:
    for text in ("Compat", "Compat(p=0.5)", "Compat(p=0.8,normalize=False)"):
        theirs = ir_measures_values(text, world)
        ours = compute(Measure.parse(text), world.judged_run)
        for query, value in zip(world.judged_run.query_ids, ours, strict=True):
            assert value == pytest.approx(theirs[query], abs=1e-9)


NDEVAL = {
    "alpha_DCG@5": "alpha-DCG@5",
    "alpha_nDCG@10": "alpha-nDCG@10",
    "alpha_nDCG@3": "alpha-nDCG@3",
    "ERR_IA@10": "ERR-IA@10",
    "nERR_IA@5": "nERR-IA@5",
    "P_IA@5": "P-IA@5",
    "StRecall@3": "strec@3",
    "AP_IA": "MAP-IA",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
}


@settings(max_examples=100, deadline=None)
@given(world=worlds(missing=False).map(without_ties), alpha=st.sampled_from([0.5, 0.25]))
def test_ndeval(world: World, alpha: float) -> None:
    pyndeval = pytest.importorskip("pyndeval")
    # its queries are numbers, its subtopics too, and a query without judgments is unknown to it
    numbered = [q for q in world.qrels if world.subtopics[q]]
    qrels = [
        pyndeval.SubtopicQrel(q[1:], topic[1:], doc, int(grade))
        for q in numbered
        for (doc, topic), grade in world.subtopics[q].items()
    ]
    run = [
        pyndeval.ScoredDoc(q[1:], doc, score)
        for q in numbered
        for doc, score in world.run[q].items()
    ]
    if not qrels:
        return
    theirs = pyndeval.ndeval(qrels, run, measures=list(NDEVAL.values()), alpha=alpha)
    for text, label in NDEVAL.items():
        measure = Measure.parse(text)
        if measure.definition.parameter("alpha") is not None:
            measure = measure.replaced(alpha=alpha)
        ours = compute(measure, world.judged_run)
        for query, value in zip(world.judged_run.query_ids, ours, strict=True):
            if query in numbered and not math.isnan(theirs[query[1:]][label]):
                assert value == pytest.approx(theirs[query[1:]][label], abs=1e-9), text


def test_measures_of_ir_measures() -> None:
    """Its objects are written like their text, which is read."""
    ir_measures = pytest.importorskip("ir_measures")
    theirs = [
        ir_measures.nDCG @ 10,
        ir_measures.AP(rel=2),
        ir_measures.nDCG(dcg="exp-log2") @ 5,
        ir_measures.IPrec @ 0.1,
        ir_measures.alpha_nDCG @ 20,
    ]
    found = [str(parsed.measure) for parsed in parse_measures(theirs)]
    assert found == [
        *("nDCG@10", "AP(rel=2)", "nDCG(gain=exp)@5", "IPrec(recall=0.1)", "alpha_nDCG@20")
    ]
    assert Measure.parse(ir_measures.RR @ 10) == Measure.parse("RR@10")
