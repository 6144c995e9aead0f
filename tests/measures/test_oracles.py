"""Other tools agree: pytrec_eval (trec_eval 9.0.8), ir_measures, pyndeval (ndeval), cwl_eval.

Scores in these worlds are exact in single precision, so trec_eval 9 ranks as we do.
"""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.naive import make
from measures.worlds import NOT_NEGATIVE, WHOLE, World, worlds
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.registry import aggregate, compute
from real import COLLECTIONS

SHARED = [
    "map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P.1,2,3,5,10,100",
    "recall.1,2,3,5,10,100",
    "infAP",
    "Rprec_mult",
    "utility",
    "11pt_avg",
    "binG",
    "G",
    "ndcg",
    "ndcg_rel",
    "Rndcg",
    "ndcg_cut.1,2,3,5,10,100",
    "map_cut.1,2,3,5,10,100",
    "relative_P.1,2,3,5,10,100",
    "success.1,2,5",
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_map",
    "set_F",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "num_nonrel_judged_ret",
]
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


@settings(max_examples=300, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere))
def test_trec_eval(world: World) -> None:
    check_against_trec_eval(world, level=1, judged_only=False)


@settings(max_examples=60, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere), level=st.sampled_from([2, 3]))
def test_trec_eval_relevance_level(world: World, level: int) -> None:
    check_against_trec_eval(world, level=level, judged_only=False)


@settings(max_examples=60, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere))
def test_trec_eval_judged_only(world: World) -> None:
    check_against_trec_eval(world, level=1, judged_only=True)


@pytest.mark.parametrize("weight", ["0.5", "4"])
@settings(max_examples=30, deadline=None)
@given(world=worlds(WHOLE).filter(judged_somewhere))
def test_trec_eval_set_f_takes_the_squared_weight(world: World, weight: str) -> None:
    oracle = pytrec_eval.RelevanceEvaluator(integers(world), {f"set_F.{weight}"})
    theirs = oracle.evaluate({q: docs for q, docs in world.run.items() if docs})
    ours = compute(Measure.parse(f"set_F.{weight}"), world.judged_run)
    for query, value in zip(world.judged_run.query_ids, ours, strict=True):
        if query in theirs:
            assert value == pytest.approx(theirs[query]["set_F"], abs=1e-9)


@settings(max_examples=60, deadline=None)
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


def ir_measures_values(text: str, world: World) -> dict[str, float]:
    import ir_measures

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
    return World(world.qrels, run, world.subtopics, world.lengths)


@settings(max_examples=60, deadline=None)
@given(world=worlds(NOT_NEGATIVE, missing=False).map(without_ties))
def test_ir_measures_accuracy(world: World) -> None:
    import ir_measures
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


@pytest.mark.parametrize(("text", "expected"), CWL.items())
def test_cwl_eval(text: str, expected: float) -> None:
    ranking = [2, None, 0, 3, 1, None, 0, 2, 0, 1]
    grades = {f"d{at}": float(grade) for at, grade in enumerate(ranking) if grade is not None}
    scores = {f"d{at}": 100.0 - at for at in range(len(ranking))}
    judged_run, _ = make({"q": {**grades, "missed": 3.0}}, {"q": scores})
    assert compute(Measure.parse(text), judged_run)[0] == pytest.approx(expected, abs=1e-9)


def collection(name: str) -> Any:
    folder = COLLECTIONS / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return folder


def read_qrels(path: Path) -> dict[str, dict[str, float]]:
    qrels: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = float(grade)
    return qrels


def read_run(path: Path) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    return run


def unpacked(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_robust_2003() -> None:
    """A real run against pytrec_eval; it ranks by scores in single precision."""
    folder = collection("robust03")
    qrels: dict[str, dict[str, int]] = {}
    for line in unpacked(folder / "qrels.txt.gz"):
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    run: dict[str, dict[str, float]] = {}
    for line in unpacked(folder / "aplrob03a.run.gz"):
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(np.float32(score))
    judged_run, _ = make(qrels, run)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(SHARED)).evaluate(run)
    assert len(theirs) == 100
    for text in SHARED:
        for parsed in parse_trec_measures(text):
            ours = compute(as_trec_eval_9(parsed.measure), judged_run)
            for query, value in zip(judged_run.query_ids, ours, strict=True):
                expected = theirs[query][parsed.asked]
                assert value == pytest.approx(expected, abs=1e-9), (query, parsed.asked)


def printed(path: Path) -> dict[tuple[str, str], str]:
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {(query, name.strip()): value for name, query, value in rows}


PARAMETERS = """
iprec_at_recall..10,.20,.25,.75,.50 P.5,7,3 recall.20,2000 Rprec_mult.5.0,0.2,0.35 utility.2,-1,0,0
11pt_avg..25,.5,.75 ndcg.1=3,2=9,4=4.5 ndcg_cut.10,20,23.4 success.2,5,20
"""


@pytest.mark.parametrize(
    ("options", "expected", "qrels_file", "level"),
    [
        ("all_trec", "out.test.aq", "qrels.test", 1),
        ("all_trec", "out.test.aql", "qrels.rel_level", 2),
        (PARAMETERS, "out.test.meas_params", "qrels.test", 1),
    ],
)
def test_nist_files(options: str, expected: str, qrels_file: str, level: int) -> None:
    folder = collection("trec_eval")
    rows = printed(folder / expected)
    judged_run, _ = make(read_qrels(folder / qrels_file), read_run(folder / "results.test"))
    compared = 0
    for option in options.split():
        for parsed in parse_trec_measures(option):
            measure = parsed.measure
            parameters = {item.name for item in measure.definition.parameters}
            if "rel" in parameters and "gain" not in parameters:
                measure = measure.replaced(rel=level)
            values = compute(measure, judged_run)
            found = {**dict(zip(judged_run.query_ids, values, strict=True))}
            found["all"] = np.float64(aggregate(measure, values))
            for query, value in found.items():
                row = rows.get((query, parsed.asked))
                if row is not None:
                    shown = f"{value:.4f}" if "." in row else f"{value:.0f}"
                    assert (parsed.asked, query, shown) == (parsed.asked, query, row)
                    compared += 1
    assert compared > 80
