"""The profile of sentence-transformers beside its InformationRetrievalEvaluator."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from scoring.test_rules import (
    DOCS,
    RUNS,
    Qrels,
    Run,
    agrees_with_sentence_transformers,
    qrels_of,
)


def evaluator_scores(qrels: Qrels, run: Run, k: int) -> dict[str, float]:
    relevant = {q: {d for d, grade in grades.items() if grade > 0} for q, grades in qrels.items()}
    cutoffs = {
        f"{name}_at_k": [k] for name in ("accuracy", "precision_recall", "mrr", "ndcg", "map")
    }
    evaluator = InformationRetrievalEvaluator(
        {query: query for query in qrels}, {doc: doc for doc in DOCS}, relevant, **cutoffs
    )
    if not evaluator.queries_ids:
        return {}
    results = [
        [{"corpus_id": doc, "score": score} for doc, score in run.get(query, {}).items()]
        for query in evaluator.queries_ids
    ]
    computed: Mapping[str, Mapping[int, float]] = evaluator.compute_metrics(results)
    return {f"{name.removesuffix('@k')}@{k}": values[k] for name, values in computed.items()}


@settings(max_examples=60, deadline=None)
@given(qrels=qrels_of(0, 0, 1, 1, 2), run=RUNS)
def test_the_evaluator(qrels: Qrels, run: Run) -> None:
    agrees_with_sentence_transformers(evaluator_scores, qrels, run)
