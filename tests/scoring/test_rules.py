"""Each profile beside the tool it stands for.

Here are pytrec_eval and a twin of sentence-transformers, written from its source (version 6.2);
`slow/with_torch` runs the latter itself, `slow/test_peer_rules.py` ir_measures, BEIR and ranx.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from measures.variants import VARIANTS
from rankscope.measures.language import Measure
from rankscope.scoring.bounds import TieBounds
from rankscope.scoring.rules import PROFILES

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

DOCS = [f"D{n}" for n in range(9)] + ["q1", "q2"]
QUERIES = ["q1", "q2", "q3"]
SCORES = st.sampled_from([0.5, 0.5, 1.0, 2.0, 20000000.0, 20000001.0])
RUNS = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(DOCS), SCORES, min_size=1), min_size=1
).map(lambda run: {**run, "sound": {"D0": 1.0}})
"""One query is always answered, for a run that finds nothing at all is refused."""


def qrels_of(*grades: int) -> st.SearchStrategy[Qrels]:
    judged = st.dictionaries(st.sampled_from(DOCS), st.sampled_from(grades), min_size=1)
    judgments = st.dictionaries(st.sampled_from(QUERIES), judged, min_size=1)
    return judgments.map(lambda qrels: {**qrels, "sound": {"D0": max(grades)}})


@settings(max_examples=40, deadline=None)
@given(qrels=qrels_of(0, 0, 1, 1, 2), run=RUNS)
def test_trec_eval_9_is_pytrec_eval(qrels: Qrels, run: Run) -> None:
    names = {"map", "ndcg_cut.3,10", "recip_rank", "P.3", "recall.3", "bpref", "11pt_avg",
             "iprec_at_recall"}  # fmt: skip
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    if not theirs:
        return
    measures = list(next(iter(theirs.values())))
    ours = rs.evaluate(qrels, run, measures, profile="trec_eval-9")
    for name in measures:
        mean = statistics.fmean(values[name] for values in theirs.values())
        assert ours[name] == pytest.approx(mean, abs=1e-9), name


def test_ir_measures_asks_a_package_for_each_measure() -> None:
    """The rules of the packages it asks, which need not be installed here: ties and constants."""
    qrels = {"1": {"a": 1, "b": 2}}
    run = {"1": {"x": 5.0, "a": 5.0, "b": 5.0}}  # given: x a b; by id ascending a b x, else x b a
    scores = rs.evaluate(
        qrels, run, ["ERR@3", "nDCG(gain=exp)@3", "RBP(p=0.5)", "AP"], profile="ir_measures"
    )
    # gdeval: by id descending, the highest grade is 4: stops with 3/16 at rank 2 and 1/16 at rank 3
    assert scores["ERR@3"] == pytest.approx(3 / 16 / 2 + (13 / 16) * (1 / 16) / 3)
    dcg = 3 / math.log2(3) + 1 / math.log2(4)
    assert scores["nDCG(gain=exp)@3"] == pytest.approx(dcg / (3 + 1 / math.log2(3)))
    assert scores["RBP(p=0.5)"] == pytest.approx(0.5 * (0.5 + 0.25))  # cwl: as given
    assert scores["AP"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    topics = {"1": {"a": {"1": 1}, "b": {"2": 1}}}
    diverse = rs.evaluate(topics, run, ["StRecall@1", "P_IA@2"], profile="ir_measures")
    assert diverse.means == {"StRecall@1": 0.5, "P_IA@2": pytest.approx(0.5)}  # ndeval: a first


def test_numbers_that_are_not_the_tools_own_are_said() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 0.5}}
    scores = rs.evaluate(qrels, run, ["nDCG@10", "Accuracy", "ERR@10"], profile="ir_measures")
    notes = str(scores)
    assert "Accuracy may differ from that of ir_measures" in notes
    assert "ERR(max_rel=4)@10 may differ" in notes
    assert "nDCG@10 may differ" not in notes


# --- sentence-transformers -----------------------------------------------------------------------


def sentence_transformers_twin(qrels: Qrels, run: Run, k: int) -> dict[str, float]:
    """Return what InformationRetrievalEvaluator.compute_metrics computes, from reading it."""
    rows: dict[str, list[float]] = {
        name: [] for name in ("accuracy", "precision", "recall", "mrr", "ndcg", "map")
    }
    for query, grades in qrels.items():
        relevant = {doc for doc, grade in grades.items() if grade > 0}
        if not relevant:
            continue  # such queries are dropped when the evaluator is made
        scores = run.get(query, {})
        top = sorted(scores, key=lambda doc: (-scores[doc], doc))[:k]
        hits = [doc in relevant for doc in top]
        found = sum(hits)
        dcg = sum(hit / math.log2(at + 2) for at, hit in enumerate(hits))
        ideal = sum(1 / math.log2(at + 2) for at in range(min(k, len(relevant))))
        precisions = (sum(hits[: at + 1]) / (at + 1) for at, hit in enumerate(hits) if hit)
        rows["accuracy"].append(float(found > 0))
        rows["precision"].append(found / k)
        rows["recall"].append(found / len(relevant))
        rows["mrr"].append(1 / (hits.index(True) + 1) if found else 0.0)
        rows["ndcg"].append(dcg / ideal)
        rows["map"].append(sum(precisions) / min(k, len(relevant)))
    return {f"{name}@{k}": statistics.fmean(values) for name, values in rows.items() if values}


NAMES = {"accuracy@3": "Success@3", "precision@3": "P@3", "recall@3": "R@3", "mrr@3": "RR@3",
         "ndcg@3": "nDCG@3", "map@3": "AP@3"}  # fmt: skip


def agrees_with_sentence_transformers(tool: Any, qrels: Qrels, run: Run) -> None:
    theirs = tool(qrels, run, 3)
    if not theirs:
        return
    ours = rs.evaluate(qrels, run, list(NAMES.values()), profile="sentence-transformers")
    for name, own in NAMES.items():
        assert ours[own] == pytest.approx(theirs[name], abs=1e-9), name


@settings(max_examples=40, deadline=None)
@given(qrels=qrels_of(0, 0, 1, 1, 2), run=RUNS)
def test_sentence_transformers(qrels: Qrels, run: Run) -> None:
    agrees_with_sentence_transformers(sentence_transformers_twin, qrels, run)


# --- every profile -------------------------------------------------------------------------------

MEASURES = [measure for measure in VARIANTS if measure.definition.needs != "subtopics"]


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=12, deadline=None)
@given(qrels=qrels_of(-1, 0, 0, 1, 1, 2), run=RUNS)
def test_the_mean_is_the_mean_of_the_values(profile: str, qrels: Qrels, run: Run) -> None:
    qrels = {**qrels, "sound": {"D0": 5}}
    if PROFILES[profile].queries == "strict":
        run = {query: run.get(query, {}) for query in qrels}
    try:
        scores = rs.evaluate(qrels, run, MEASURES, profile=profile)
    except rs.InputError as error:
        assert "leaves no query to average over" in str(error)  # noqa: PT017
        return
    rows = scores.per_query.group_by("measure", maintain_order=True).agg("value")
    listed = dict(zip(rows["measure"], rows["value"].to_list(), strict=True))
    for name, mean in scores.means.items():
        values = list(scores.values(name).values())
        kind = Measure.parse(name).definition.aggregate
        assert values == listed[name]
        if kind == "pooled":
            continue
        if kind == "geometric":
            expected = math.exp(statistics.fmean(math.log(max(value, 1e-5)) for value in values))
        else:
            expected = sum(values) / (1 if kind == "sum" else len(values))
        assert mean == pytest.approx(expected, abs=1e-12), name


def test_beir_counts_missing_queries_as_0_in_some_measures_and_leaves_them_out_of_others() -> None:
    qrels, run = {"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1.0}}
    alone = rs.evaluate(qrels, run, "RR", profile="beir")
    assert (alone["RR"], alone.accounting.missing_policy) == (0.5, "all")
    both = rs.evaluate(qrels, run, ["nDCG@3", "RR"], profile="beir")
    assert both.means == {"nDCG@3": 1.0, "RR": 0.5}
    assert both.run().complete().query_ids == ("q",)
    other = {"q": {"b": 1.0}, "p": {"a": 1.0}}
    compared = rs.compare(qrels, {"x": run, "y": other}, ["nDCG@3", "RR"], profile="beir")
    assert compared.queries == 1  # that all measures count in both runs


# --- rules that count for some measures only -----------------------------------------------------


def test_a_measure_apart_is_scored_under_its_own_rules() -> None:
    qrels, run = {"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    scores = rs.evaluate(qrels, run, ["RR@10", "nDCG@1", "P@2"], profile="beir")
    assert scores.measures == ["RR@10", "nDCG@1", "P@2"]
    assert scores["RR@10"] == 1 / 2  # a first as given, over both queries
    assert scores["nDCG@1"] == 0.0  # b first by its id, over the query the run has
    assert scores["P@2"] == 1 / 2
    assert scores.values("RR@10") == {"q": 1.0, "p": 0.0}
    assert scores.values("P@2") == {"q": 0.5}
    [bound] = rs.bounds(qrels, run, "RR@10", profile="beir")
    assert bound.value == 1 / 2
    assert bound.ties == TieBounds(lowest=1 / 4, highest=1 / 2)
    [outcome] = rs.why(qrels, run, "RR@10", profiles=["beir"]).outcomes
    assert outcome.value == 1 / 2
    assert rs.explain(qrels, run, "q", "RR@10", profile="beir").value == 1.0


def test_queries_without_a_relevant_document_are_left_out_where_the_tool_does() -> None:
    qrels, run = {"q": {"a": 1}, "p": {"a": 0}}, {"q": {"a": 1.0}, "p": {"a": 1.0}}
    scores = rs.evaluate(qrels, run, "RR", profile="sentence-transformers")
    assert scores["RR"] == 1.0
    assert scores.accounting.queries == 1
    assert scores.accounting.without_relevant == 1
    [outcome] = rs.why(qrels, run, "RR", profiles=["sentence-transformers"]).outcomes
    changed = {effect.rule: effect.change for effect in outcome.effects if effect.change}
    assert changed == {"queries without a relevant document": 0.5}
