"""Adapters of packages that evaluate tables of judgments and scores."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankscope.conformance.tools import (
    CannotAskError,
    Question,
    Values,
    cutoffs,
    mean,
    names_for,
    tool,
)
from rankscope.scoring.evaluate import evaluate


@tool("rankscope", package="rankscope")
def _rankscope(question: Question) -> Values:
    rows = [(query_id, *pair) for query_id, pairs in question.run.items() for pair in pairs]
    run = rows if question.has_duplicates else question.scored()
    for _ in range(question.times):
        scores = evaluate(question.qrels, run, list(question.measures))
    return {text: scores[text] for text in question.measures}


@tool("pytrec_eval", package="pytrec_eval-terrier")
def _pytrec_eval(question: Question) -> Values:
    known = {"nDCG": "ndcg_cut_{k}", "AP": "map_cut_{k}", "P": "P_{k}", "R": "recall_{k}"}
    names = names_for(question, known, uncut={"AP": "map", "RR": "recip_rank"})
    cuts: dict[str, list[str]] = {}  # the cutoffs of a measure are asked for together
    for name in names.values():
        root, _, cutoff = name.rpartition("_")
        if cutoff.isdecimal():
            cuts.setdefault(root, []).append(cutoff)
        else:
            cuts[name] = []
    wanted = {
        ".".join([root, ",".join(numbers)]) if numbers else root for root, numbers in cuts.items()
    }
    evaluator = import_module("pytrec_eval").RelevanceEvaluator(question.qrels, wanted)
    for _ in range(question.times):
        rows = evaluator.evaluate(question.scored())
    return {text: mean(row.get(name, 0.0) for row in rows.values()) for text, name in names.items()}


@tool("ir_measures", package="ir_measures")
def _ir_measures(question: Question) -> Values:
    ir_measures = import_module("ir_measures")
    names = names_for(question, _OWN | {"Unjudged": "Judged@{k}"})
    parsed = {text: ir_measures.parse_measure(name) for text, name in names.items()}
    scored_doc = ir_measures.ScoredDoc
    run: Any
    if question.has_duplicates:
        run = [
            scored_doc(query_id, *pair)
            for query_id, pairs in question.run.items()
            for pair in pairs
        ]
    else:
        run = question.scored()
    evaluator = ir_measures.evaluator(list(parsed.values()), question.qrels)
    for _ in range(question.times):
        means = evaluator.calc_aggregate(run)
    return {
        text: 1.0 - means[measure] if names[text].startswith("Judged") else means[measure]
        for text, measure in parsed.items()
    }


_OWN = {"nDCG": "nDCG@{k}", "AP": "AP@{k}", "RR": "RR@{k}", "P": "P@{k}", "R": "R@{k}"}
_RANX = {
    "nDCG": "ndcg@{k}",
    "AP": "map@{k}",
    "RR": "mrr@{k}",
    "P": "precision@{k}",
    "R": "recall@{k}",
}
_BEIR = {
    "nDCG": "NDCG@{k}",
    "AP": "MAP@{k}",
    "RR": "MRR@{k}",
    "P": "P@{k}",
    "R": "Recall@{k}",
}


@tool("ranx", package="ranx")
def _ranx(question: Question) -> Values:
    ranx = import_module("ranx")
    names = names_for(question, _RANX)
    qrels, run = ranx.Qrels(question.qrels), ranx.Run(question.scored())
    for _ in range(question.times):
        means = ranx.evaluate(qrels, run, list(names.values()))
    if not isinstance(means, dict):  # one measure: a number
        means = dict.fromkeys(names.values(), means)
    return {text: float(means[name]) for text, name in names.items()}


@tool("BEIR", package="beir")
def _beir(question: Question) -> Values:
    evaluation = import_module("beir.retrieval.evaluation").EvaluateRetrieval
    names = names_for(question, _BEIR | {"Unjudged": "Hole@{k}"})
    cuts = cutoffs(question)
    means: dict[str, float] = {}
    for _ in range(question.times):
        for part in evaluation.evaluate(question.qrels, question.scored(), cuts):
            means.update(part)
    for prefix, metric in (("MRR", "mrr"), ("Hole", "hole")):
        if any(name.startswith(prefix) for name in names.values()):
            means |= evaluation.evaluate_custom(question.qrels, question.scored(), cuts, metric)
    return {text: means[name] for text, name in names.items()}


@tool("MTEB", package="mteb")
def _mteb(question: Question) -> Values:
    metrics = import_module("mteb._evaluators.retrieval_metrics")
    names = names_for(question, _BEIR | {"Unjudged": "Hole_at_{k}"})
    run, cuts = question.scored(), cutoffs(question)
    if any(name.startswith("Hole") for name in names.values()):
        holes = metrics.hole(question.qrels, run, cuts)
        return {text: mean(holes[name]) for text, name in names.items()}
    for _ in range(question.times):
        result = metrics.calculate_retrieval_scores(run, question.qrels, cuts)
    means = result.ndcg | result.map | result.recall | result.precision | result.mrr
    return {text: float(means[name]) for text, name in names.items()}


@tool("trectools", package="trectools")
def _trectools(question: Question) -> Values:
    trectools = import_module("trectools")
    run = [
        f"{query_id} Q0 {doc_id} {rank} {score} run"
        for query_id, pairs in question.run.items()
        for rank, (doc_id, score) in enumerate(pairs, start=1)
    ]
    qrels = [
        f"{query_id} 0 {doc_id} {grade}"
        for query_id, grades in question.qrels.items()
        for doc_id, grade in grades.items()
    ]
    with TemporaryDirectory() as folder:
        for name, lines in (("run", run), ("qrels", qrels)):
            Path(folder, name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        evaluation = trectools.TrecEval(
            trectools.TrecRun(f"{folder}/run"), trectools.TrecQrel(f"{folder}/qrels")
        )
    functions = {
        "nDCG": evaluation.get_ndcg,
        "AP": evaluation.get_map,
        "RR": evaluation.get_reciprocal_rank,
        "P": evaluation.get_precision,
        "R": evaluation.get_recall,
    }
    values = {}
    for text, measure in question.parsed.items():
        if measure.name not in functions:
            raise CannotAskError(f"has no {text}")
        values[text] = float(functions[measure.name](depth=measure.cutoff or 1000))
    return values
