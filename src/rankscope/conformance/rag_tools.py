"""Adapters of RAG frameworks: they take lists of documents, one query at a time or all at once."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from rankscope.conformance.tools import (
    CannotAskError,
    Question,
    Values,
    by_query,
    mean,
    relevant,
    tool,
)


@tool("LlamaIndex", package="llama-index-core")
def _llama_index(question: Question) -> Values:
    metrics = import_module("llama_index.core.evaluation.retrieval.metrics")

    def computed(metric: Any) -> Any:
        def score(grades: dict[str, int], ranking: list[str], cutoff: int) -> Any:
            expected, retrieved = relevant(grades), ranking[:cutoff]
            return metric().compute(expected_ids=expected, retrieved_ids=retrieved).score

        return score

    return by_query(
        question,
        {
            "nDCG": computed(metrics.NDCG),
            "AP": computed(metrics.AveragePrecision),
            "RR": computed(metrics.MRR),
            "P": computed(metrics.Precision),
            "R": computed(metrics.Recall),
        },
    )


@tool("Haystack", package="haystack-ai")
def _haystack(question: Question) -> Values:
    evaluators = import_module("haystack.components.evaluators")
    document = import_module("haystack").Document
    lists = question.lists()
    values: dict[str, float | None] = {}
    for text, measure in question.parsed.items():
        expected = []
        for grades, _ in lists.values():
            relevant_ids = relevant(grades)
            graded = measure.name == "nDCG" and len(set(grades.values())) > 1
            expected.append(
                [
                    document(content=d, score=float(grades[d]) if graded else None)
                    for d in relevant_ids
                ]
            )
        cutoff = measure.cutoff
        retrieved = [
            [document(content=d) for d in ranking[:cutoff]] for _, ranking in lists.values()
        ]
        if measure.name == "R":
            evaluator = evaluators.DocumentRecallEvaluator(mode="multi_hit")
        elif measure.name in ("nDCG", "AP", "RR"):
            name = {"nDCG": "NDCG", "AP": "MAP", "RR": "MRR"}[measure.name]
            evaluator = getattr(evaluators, f"Document{name}Evaluator")()
        else:
            raise CannotAskError(f"has no {text}")
        values[text] = evaluator.run(
            ground_truth_documents=expected, retrieved_documents=retrieved
        )["score"]
    return values


@tool("TruLens", package="trulens-feedback")
def _trulens(question: Question) -> Values:
    agreement = import_module("trulens.feedback.groundtruth").GroundTruthAgreement
    provider: Any = import_module("trulens.feedback.llm_provider").LLMProvider

    class Silent(provider):  # type: ignore[misc]
        """Stands in for a language model, which these measures do not ask."""

        def _create_chat_completion(self, *_: Any, **__: Any) -> str:
            return ""

    queries = question.pairs()
    golden = [
        {
            "query": query_id,
            "expected_response": "",
            "expected_chunks": [
                {"text": doc_id, "expect_score": grades[doc_id]} for doc_id in relevant(grades)
            ],
        }
        for query_id, (grades, _) in queries.items()
    ]
    judge = agreement(golden, provider=Silent(model_engine="none"))
    functions = {
        "nDCG": judge.ndcg_at_k,
        "P": judge.precision_at_k,
        "R": judge.recall_at_k,
        "RR": judge.mrr,
    }
    values: dict[str, float | None] = {}
    for text, measure in question.parsed.items():
        if measure.name not in functions:
            raise CannotAskError(f"has no {text}")
        per_query = []
        for query_id, (_, pairs) in queries.items():
            options: dict[str, Any] = {"relevance_scores": [score for _, score in pairs]}
            doc_ids = [doc_id for doc_id, _ in pairs]
            if measure.name == "RR" and measure.cutoff is not None:
                if len(doc_ids) > measure.cutoff or measure.cutoff == 1:
                    raise CannotAskError(f"has no {text}")
            elif measure.name != "RR":
                options["k"] = measure.cutoff
            per_query.append(functions[measure.name](query_id, doc_ids, **options))
        values[text] = mean(per_query)
    return values


@tool("Ragas", package="ragas")
def _ragas(question: Question) -> Values:
    metrics = import_module("ragas.metrics")
    sample = import_module("ragas").SingleTurnSample

    def precision_of_ranks(grades: dict[str, int], ranking: list[str], cutoff: int) -> float:
        metric = metrics.NonLLMContextPrecisionWithReference(
            distance_measure=metrics.ExactMatch(), threshold=1.0
        )
        row = sample(retrieved_contexts=ranking[:cutoff], reference_contexts=relevant(grades))
        return float(asyncio.run(metric.single_turn_ascore(row)))

    def by_ids(metric: Any) -> Any:
        def score(grades: dict[str, int], ranking: list[str], cutoff: int) -> float:
            row = sample(
                retrieved_context_ids=ranking[:cutoff], reference_context_ids=relevant(grades)
            )
            return float(asyncio.run(metric.single_turn_ascore(row)))

        return score

    return by_query(
        question,
        {
            "AP": precision_of_ranks,
            "P": by_ids(metrics.IDBasedContextPrecision()),
            "R": by_ids(metrics.IDBasedContextRecall()),
        },
    )


@tool("AutoRAG", package="AutoRAG")
def _autorag(question: Question) -> Values:
    metrics = import_module("autorag.evaluation.metric.retrieval")
    metric_input = import_module("autorag.schema.metricinput").MetricInput

    def computed(function: Any, *, each: bool = False) -> Any:
        """Documents of one group stand for each other; recall asks for ``each`` of them."""

        def score(grades: dict[str, int], ranking: list[str], cutoff: int) -> Any:
            expected = relevant(grades)
            groups = [[doc_id] for doc_id in expected] if each else [expected]
            (value,) = function([metric_input(retrieval_gt=groups, retrieved_ids=ranking[:cutoff])])
            return value

        return score

    return by_query(
        question,
        {
            "nDCG": computed(metrics.retrieval_ndcg),
            "AP": computed(metrics.retrieval_map),
            "RR": computed(metrics.retrieval_mrr),
            "P": computed(metrics.retrieval_precision),
            "R": computed(metrics.retrieval_recall, each=True),
        },
    )


@tool("MLflow", package="mlflow")
def _mlflow(question: Question) -> Values:
    metrics, pandas = import_module("mlflow.metrics"), import_module("pandas")
    lists = question.lists()
    functions = {"nDCG": metrics.ndcg_at_k, "P": metrics.precision_at_k, "R": metrics.recall_at_k}
    values: dict[str, float | None] = {}
    for text, measure in question.parsed.items():
        if measure.name not in functions:
            raise CannotAskError(f"has no {text}")
        computed = functions[measure.name](measure.cutoff)(
            predictions=pandas.Series([ranking for _, ranking in lists.values()]),
            targets=pandas.Series([relevant(grades) for grades, _ in lists.values()]),
        )
        values[text] = mean(map(float, computed.scores))
    return values
