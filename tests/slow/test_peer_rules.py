"""Profiles beside the tools they stand for, where installed: ir_measures, BEIR and ranx."""

from __future__ import annotations

import copy
import warnings
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from measures.variants import IR_MEASURES
from scoring.test_rules import RUNS, SCORES, Qrels, Run, qrels_of


@settings(max_examples=60, deadline=None)
@given(qrels=qrels_of(-1, 0, 0, 1, 1, 2), run=RUNS)
def test_ir_measures(qrels: Qrels, run: Run) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    # trec_eval reads memory it did not write for a query whose grades are all negative
    qrels = {query: {"never": 0, **grades} for query, grades in qrels.items()}
    if not set(qrels) & set(run):  # which is an error here
        return
    parsed = {text: ir_measures.parse_measure(text) for text in IR_MEASURES}
    theirs = ir_measures.calc_aggregate(list(parsed.values()), qrels, run)
    ours = rs.evaluate(qrels, run, IR_MEASURES, profile="ir_measures")
    for text, measure in parsed.items():
        assert ours[text] == pytest.approx(theirs[measure], abs=1e-9), text


@settings(max_examples=60, deadline=None)
@given(qrels=qrels_of(0, 1, 1, 2), run=RUNS, data=st.data())
def test_beir(qrels: Qrels, run: Run, data: st.DataObject) -> None:
    evaluation = pytest.importorskip("beir.retrieval.evaluation").EvaluateRetrieval
    # it stops at a query nobody judged, and at one without a relevant document
    qrels = {query: {**grades, "D0": 1} for query, grades in qrels.items()}
    run = {query: {**docs, "D1": 0.25} for query, docs in run.items() if query in qrels}
    if not run:
        run = {next(iter(qrels)): {"D1": data.draw(SCORES)}}
    ours = rs.evaluate(
        qrels, run, ["NDCG@3", "MAP@3", "Recall@3", "P@3", "MRR@3", "R_cap@3", "Accuracy@3"],
        profile="beir",
    )  # fmt: skip
    given = copy.deepcopy(run)  # it removes hits from what it is given
    theirs: dict[str, float] = {}
    for part in evaluation.evaluate(qrels, given, [3]):
        theirs |= part
    for metric in ("mrr", "r_cap", "accuracy"):
        theirs |= evaluation.evaluate_custom(qrels, given, [3], metric)
    assert len(theirs) == 7
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, abs=6e-6), name  # it rounds to five decimals


RANX = ["ndcg@5", "ndcg", "ndcg_burges@5", "map@5", "map", "mrr@5", "mrr", "precision@5",
        "recall@5", "hit_rate@5", "f1@5", "r-precision", "bpref", "map@5-l2", "ndcg@5-l2",
        "rbp.95", "rbp.95-l2", "recall", "precision", "hit_rate", "f1"]  # fmt: skip


def test_ranx() -> None:
    """One large call: it compiles itself, and interpreted its sort would not keep ties."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranx = pytest.importorskip("ranx")
    random = Random(5)
    docs = [f"D{n}" for n in range(25)]
    qrels: Qrels = {}
    run: Run = {}
    for number in range(60):
        judged = {d: random.choice([-1, 0, 1, 1, 2, 3]) for d in random.sample(docs, 9)}
        qrels[f"q{number:02}"] = judged | {"never": 0, "always": 1}
        run[f"q{number:02}"] = {  # short lists, as it says
            d: random.choice([1.0, 2.0, 20000000.0, 20000001.0])
            for d in random.sample(docs, random.randint(1, 15))
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), RANX)
    ours = rs.evaluate(qrels, run, RANX, profile="ranx")
    for name in RANX:
        assert ours[name] == pytest.approx(theirs[name], abs=1e-9), name
    # it multiplies by the grade and never scales
    ours = rs.evaluate(qrels, run, ["RBP(p=0.95)", "RBP(p=0.95,rel=2)"], profile="ranx")
    assert [*ours.means] == ["RBG(p=0.95)", "RBG(p=0.95,least=2)"]
    assert [*ours.means.values()] == pytest.approx([theirs["rbp.95"], theirs["rbp.95-l2"]])
