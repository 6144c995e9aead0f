"""The tools, each asked as its documentation shows, with its options left alone."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean
from typing import Any, Literal

from rankscope.measures.language import Measure

from .cases import Case, Value


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the version asked, what it takes, what it calls measures, and how it is asked."""

    name: str
    version: str
    module: str
    takes: Literal["rows", "scores", "labels", "lists"]
    """``rows`` and ``scores``: all queries at once, a document twice or once. ``labels``: grades
    and scores of one query. ``lists``: the relevant and the ranked documents of one query."""
    names: dict[str, str]
    ask: Callable[[Any, Case, list[str]], Sequence[float]]

    def names_for(self, case: Case) -> list[str]:
        """Return what it calls the measures; [] if the case cannot be put to it."""
        has_copies = any(len(dict(rows)) < len(rows) for rows in case.run.values())
        by_query = case.qrels.keys() == case.run.keys()
        can = {
            "rows": True,
            "scores": not has_copies,
            "labels": by_query and not has_copies,
            "lists": by_query and "=" not in case.returned and "=-" not in case.judged,
        }
        names = []
        for measure in map(Measure.parse, case.ask.split(" - ")):
            name = self.names.get(measure.name)
            if name is None or not can[self.takes]:
                return []
            names.append(name.format(k=measure.cutoff))
        return names

    def answer(self, case: Case) -> Value:
        """Ask."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = import_module(self.module)
            try:
                first, *second = self.ask(module, case, self.names_for(case))
            except Exception:  # whatever it raises is its answer
                return "refused"
        return float(first) - sum(second)


def _rankscope(rankscope: Any, case: Case, names: list[str]) -> list[float]:
    rows = [(query_id, *row) for query_id, rows in case.run.items() for row in rows]
    scores = rankscope.evaluate(case.qrels, rows, names)
    return [scores[name] for name in names]


def _pytrec_eval(pytrec_eval: Any, case: Case, names: list[str]) -> list[float]:
    wanted = {re.sub(r"_(\d+)$", r".\1", name) for name in names}
    rows = pytrec_eval.RelevanceEvaluator(case.qrels, wanted).evaluate(case.scores).values()
    return [fmean(row[name] for row in rows) for name in names]


def _ir_measures(ir_measures: Any, case: Case, names: list[str]) -> list[float]:
    measures = [ir_measures.parse_measure(name) for name in names]
    run = [ir_measures.ScoredDoc(query, *row) for query, rows in case.run.items() for row in rows]
    means = ir_measures.calc_aggregate(measures, case.qrels, run)
    return [means[measure] for measure in measures]


def _ranx(ranx: Any, case: Case, names: list[str]) -> list[float]:
    return [ranx.evaluate(ranx.Qrels(case.qrels), ranx.Run(case.scores), name) for name in names]


def _beir(beir: Any, case: Case, names: list[str]) -> list[float]:
    def value(name: str) -> float:
        qrels, run, cutoffs = case.qrels, case.scores, [int(name.partition("@")[2])]
        if name.startswith("MRR"):
            return float(beir.EvaluateRetrieval.evaluate_custom(qrels, run, cutoffs, "mrr")[name])
        parts = beir.EvaluateRetrieval.evaluate(qrels, run, cutoffs)
        return float(next(part[name] for part in parts if name in part))

    return [value(name) for name in names]


def _sklearn(metrics: Any, case: Case, names: list[str]) -> list[float]:
    def value(query_id: str, cutoff: int) -> float:
        grades, rows = case.qrels[query_id], case.scores[query_id]
        doc_ids = {**rows, **grades}  # what was not retrieved goes to the end
        labels, scores = [[part.get(d, 0) for d in doc_ids] for part in (grades, rows)]
        return float(metrics.ndcg_score([labels], [scores], k=cutoff))

    return [fmean(value(query_id, int(name)) for query_id in case.run) for name in names]


def _llama_index(metrics: Any, case: Case, names: list[str]) -> list[float]:
    def value(query_id: str, metric: str, cutoff: int) -> float:
        relevant = [doc for doc, grade in case.qrels[query_id].items() if grade > 0]
        retrieved = [doc for doc, _ in case.run[query_id][:cutoff]]
        compute = getattr(metrics, metric)().compute
        return float(compute(expected_ids=relevant, retrieved_ids=retrieved).score)

    parts = [name.split("@") for name in names]
    return [fmean(value(q, metric, int(k)) for q in case.run) for metric, k in parts]


def _names(text: str) -> dict[str, str]:
    return dict(zip(("nDCG", "P", "R", "RR"), text.split(), strict=False))


_OURS = _names("nDCG@{k} P@{k} R@{k} RR@{k}")
_PYTREC = _names("ndcg_cut_{k} P_{k} recall_{k}")
_RANX = _names("ndcg@{k} precision@{k} recall@{k} mrr@{k}")
_BEIR = _names("NDCG@{k} P@{k} Recall@{k} MRR@{k}")
_LLAMA = _names("NDCG@{k} Precision@{k} Recall@{k} MRR@{k}")
_LLAMA_MODULE = "llama_index.core.evaluation.retrieval.metrics"

TOOLS = (
    Tool("rankscope", "", "rankscope", "rows", _OURS, _rankscope),
    Tool("pytrec_eval", "0.5.11", "pytrec_eval", "scores", _PYTREC, _pytrec_eval),
    Tool("ir_measures", "0.4.3", "ir_measures", "rows", _OURS, _ir_measures),
    Tool("ranx", "0.3.21", "ranx", "scores", _RANX, _ranx),
    Tool("BEIR", "2.2.0", "beir.retrieval.evaluation", "scores", _BEIR, _beir),
    Tool("scikit-learn", "1.9.1", "sklearn.metrics", "labels", _names("{k}"), _sklearn),
    Tool("LlamaIndex", "0.14.25", _LLAMA_MODULE, "lists", _LLAMA, _llama_index),
)
