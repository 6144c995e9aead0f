"""Other tools agree: pytrec_eval (trec_eval 9.0.8), and what cwl_eval answered.

Scores in these worlds are exact in single precision, so trec_eval 9 ranks as we do.
"""

from __future__ import annotations

import math

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.naive import make
from measures.worlds import NOT_NEGATIVE, WHOLE, World, worlds
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.registry import compute

SHARED = ["map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P.1,2,3,5,10,100",
          "recall.1,2,3,5,10,100", "infAP", "Rprec_mult", "utility", "11pt_avg", "binG", "G",
          "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut.1,2,3,5,10,100", "map_cut.1,2,3,5,10,100",
          "relative_P.1,2,3,5,10,100", "success.1,2,5", "set_P", "set_relative_P", "set_recall",
          "set_map", "set_F", "num_ret", "num_rel", "num_rel_ret",
          "num_nonrel_judged_ret"]  # fmt: skip
"""Everything pytrec_eval returns by query, but the texts."""


def integers(world: World) -> dict[str, dict[str, int]]:
    return {q: {d: int(g) for d, g in grades.items()} for q, grades in world.qrels.items()}


def judged_somewhere(world: World) -> bool:
    """Tell whether each query has a judgment that is not negative; trec_eval 9 hangs otherwise."""
    return all(max(grades.values()) >= 0 for grades in world.qrels.values())


def as_trec_eval_9(measure: Measure) -> Measure:
    return measure.replaced(rule=9) if measure.name in ("IPrec", "11pt") else measure


def check_against_trec_eval(world: World, level: int, judged_only: bool) -> None:
    oracle = pytrec_eval.RelevanceEvaluator(
        integers(world), set(SHARED), relevance_level=level, judged_docs_only_flag=judged_only
    )
    theirs = oracle.evaluate({q: docs for q, docs in world.run.items() if docs})
    for text in SHARED:
        for parsed in parse_trec_measures(text):
            measure = as_trec_eval_9(parsed.measure)
            if level != 1 and measure.definition.parameter("rel"):
                if measure.definition.parameter("gain") is None:
                    measure = measure.replaced(rel=level)
                elif measure.name == "RnDCG":  # trec_eval gives up without a document of the level
                    continue
            ours = compute(measure.replaced(judged_only=judged_only), world.judged_run)
            for query, value in zip(world.judged_run.query_ids, ours, strict=True):
                if query in theirs and not math.isnan(theirs[query][parsed.asked]):
                    expected = theirs[query][parsed.asked]
                    assert value == pytest.approx(expected, abs=1e-9), (query, str(measure))


@settings(max_examples=60, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere))
def test_trec_eval(world: World) -> None:
    check_against_trec_eval(world, level=1, judged_only=False)


@settings(max_examples=30, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere), level=st.sampled_from([2, 3]))
def test_trec_eval_relevance_level(world: World, level: int) -> None:
    check_against_trec_eval(world, level=level, judged_only=False)


@settings(max_examples=30, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere))
def test_trec_eval_judged_only(world: World) -> None:
    check_against_trec_eval(world, level=1, judged_only=True)


@pytest.mark.parametrize("weight", ["0.5", "2", "4"])
@settings(max_examples=15, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere))
def test_trec_eval_set_f_takes_the_squared_weight(world: World, weight: str) -> None:
    oracle = pytrec_eval.RelevanceEvaluator(integers(world), {f"set_F.{weight}"})
    theirs = oracle.evaluate({q: docs for q, docs in world.run.items() if docs})
    ours = compute(Measure.parse(f"set_F.{weight}"), world.judged_run)
    for query, value in zip(world.judged_run.query_ids, ours, strict=True):
        if query in theirs:
            assert value == theirs[query]["set_F"]


@settings(max_examples=25, deadline=None)
@given(world=worlds(NOT_NEGATIVE))
def test_trec_eval_gain_table(world: World) -> None:
    """pytrec_eval takes no gain table, but grades changed beforehand are the same thing."""
    table = {0: 0, 1: 3, 2: 9, 3: 1, 5: 2}
    changed = {q: {d: table[g] for d, g in docs.items()} for q, docs in integers(world).items()}
    oracle = pytrec_eval.RelevanceEvaluator(changed, {"ndcg", "ndcg_cut.3", "Rndcg", "G"})
    theirs = oracle.evaluate({q: docs for q, docs in world.run.items() if docs})
    pairs = ",".join(f"{grade}={gain}" for grade, gain in table.items())
    written = "nDCG(gain={0:0,1:3,2:9,3:1,5:2})@3"
    for label, text in [
        ("ndcg", f"ndcg.{pairs}"),
        ("ndcg_cut_3", written),
        ("Rndcg", f"Rndcg.{pairs}"),
        ("G", f"G.{pairs}"),
    ]:
        ours = compute(Measure.parse(text), world.judged_run)
        for query, value in zip(world.judged_run.query_ids, ours, strict=True):
            if query in theirs and not math.isnan(theirs[query][label]):
                assert value == pytest.approx(theirs[query][label], abs=1e-9)


CWL = {
    "INST(T=1.0,max_rel=3)": 0.4373921689311012,
    "INST(T=2.5,max_rel=4)": 0.2029702528998027,
    "INSQ(T=1.0,max_rel=3)": 0.35238184064056,
    "INSQ(T=3.0,max_rel=3)": 0.21973122296064568,
    "BPM(T=1.0,max_rel=3)@10": 0.41666666666666663,
    "BPM(T=2.0,max_rel=3)@5": 0.4,
    "BPM(T=9.0,max_rel=3)@7": 0.2857142857142857,
    "SDCG(max_rel=3)@10": 0.33739165847297997,
    "SDCG(max_rel=4)@3": 0.23463936301137828,
    "RBP(p=0.8,rel=1)": 0.45310658559999994,
    "RBP(p=0.95,rel=2)": 0.1277856148046876,
}
"""From cwl_eval 1.0.12 by way of ir_measures 0.4.3, on the ranking in the test."""


def test_cwl_eval() -> None:
    ranking = [2, None, 0, 3, 1, None, 0, 2, 0, 1]
    grades = {f"d{at}": float(grade) for at, grade in enumerate(ranking) if grade is not None}
    scores = {f"d{at}": 100.0 - at for at in range(len(ranking))}
    judged_run, _ = make({"q": {**grades, "missed": 3.0}}, {"q": scores})
    for text, expected in CWL.items():
        assert compute(Measure.parse(text), judged_run)[0] == pytest.approx(expected, abs=1e-9), (
            text
        )
