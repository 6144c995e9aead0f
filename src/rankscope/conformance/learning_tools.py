"""Adapters of machine-learning libraries and recommenders: arrays of labels and predictions."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

from rankscope.conformance.tools import (
    CannotAskError,
    Question,
    Values,
    by_query,
    cutoffs,
    mean,
    names_for,
    relevant,
    tool,
)


def _labelled(question: Question) -> list[tuple[list[int], list[float]]]:
    """Return grades and scores of every document of a query, as such libraries take them.

    They rank whatever they are given, so that a judged document that was not retrieved can only be
    given a score below all others, and that is the same thing only past the cutoff.
    """
    if question.has_duplicates:
        raise CannotAskError("takes one label and one score for each document")
    rows = []
    for grades, pairs in question.pairs().values():
        scores = dict(pairs)
        missing = {doc_id for doc_id, grade in grades.items() if grade > 0} - scores.keys()
        if missing and cutoffs(question)[-1] > len(scores):
            raise CannotAskError("ranks every document it is given: none can be missing")
        lowest = min(scores.values(), default=1.0) - 1.0
        doc_ids = [*scores, *(doc_id for doc_id in grades if doc_id not in scores)]
        rows.append(
            (
                [grades.get(doc_id, 0) for doc_id in doc_ids],
                [scores.get(doc_id, lowest) for doc_id in doc_ids],
            )
        )
    return rows


@tool("scikit-learn", package="scikit-learn")
def _sklearn(question: Question) -> Values:
    metrics = import_module("sklearn.metrics")
    rows = _labelled(question)
    values: dict[str, float | None] = {}
    for text, measure in question.parsed.items():
        if measure.name == "nDCG":
            values[text] = mean(
                metrics.ndcg_score([labels], [scores], k=measure.cutoff) for labels, scores in rows
            )
        elif measure.name == "AP" and (measure.cutoff or 1000) >= max(len(row[0]) for row in rows):
            values[text] = mean(metrics.average_precision_score(*row) for row in rows)
        else:
            raise CannotAskError(f"has no {text}")
    return values


@tool("TorchMetrics", package="torchmetrics")
def _torchmetrics(question: Question) -> Values:
    retrieval, torch = import_module("torchmetrics.retrieval"), import_module("torch")
    classes = {
        "nDCG": retrieval.RetrievalNormalizedDCG,
        "AP": retrieval.RetrievalMAP,
        "RR": retrieval.RetrievalMRR,
        "P": retrieval.RetrievalPrecision,
        "R": retrieval.RetrievalRecall,
    }
    rows = _labelled(question)
    indexes = [number for number, (labels, _) in enumerate(rows) for _ in labels]
    labels = [label for labels, _ in rows for label in labels]
    scores = [score for _, scores in rows for score in scores]
    values = {}
    for text, measure in question.parsed.items():
        if measure.name not in classes:
            raise CannotAskError(f"has no {text}")
        metric = classes[measure.name](top_k=measure.cutoff)
        target = torch.tensor(labels)
        values[text] = float(
            metric(
                torch.tensor(scores, dtype=torch.float64),
                target if measure.name == "nDCG" else target > 0,
                indexes=torch.tensor(indexes),
            )
        )
    return values


@tool("XGBoost", package="xgboost-cpu")
def _xgboost(question: Question) -> Values:
    xgboost, numpy = import_module("xgboost"), import_module("numpy")
    names = names_for(question, {"nDCG": "ndcg@{k}", "AP": "map@{k}", "P": "pre@{k}"})
    rows = _labelled(question)
    sizes = [len(labels) for labels, _ in rows]
    data = xgboost.DMatrix(
        numpy.zeros((sum(sizes), 1)),
        label=[label for labels, _ in rows for label in labels],
        base_margin=[score for _, scores in rows for score in scores],
    )
    data.set_group(sizes)
    booster = xgboost.Booster(
        {
            "objective": "rank:ndcg"
            if names[question.measures[0]].startswith("nd")
            else "rank:map",
            "eval_metric": list(names.values()),
            "base_score": 0.0,
            "lambdarank_unbiased": False,
        },
        [data],
    )
    values_by_name = dict(
        part.split(":") for part in booster.eval(data, name="e").replace("e-", "").split("\t")[1:]
    )
    return {text: float(values_by_name[name]) for text, name in names.items()}


@tool("LightGBM", package="lightgbm")
def _lightgbm(question: Question) -> Values:
    lightgbm, numpy = import_module("lightgbm"), import_module("numpy")
    names = names_for(question, {"nDCG": "ndcg@{k}", "AP": "map@{k}"})
    rows = _labelled(question)
    sizes = [len(labels) for labels, _ in rows]
    data = lightgbm.Dataset(
        numpy.zeros((sum(sizes), 1)),
        label=[label for labels, _ in rows for label in labels],
        group=sizes,
        init_score=[score for _, scores in rows for score in scores],
    )
    values_by_name: dict[str, Any] = {}
    lightgbm.train(  # nothing can be learned from zeros: what is measured are the scores given
        {
            "objective": "lambdarank",
            "metric": sorted({name.split("@")[0] for name in names.values()}),
            "eval_at": cutoffs(question),
            "verbose": -1,
        },
        data,
        num_boost_round=1,
        valid_sets=[data],
        valid_names=["given"],
        callbacks=[lightgbm.record_evaluation(values_by_name)],
    )
    return {text: values_by_name["given"][name][0] for text, name in names.items()}


_SENTENCE_TRANSFORMERS = {
    "nDCG": "ndcg@k",
    "AP": "map@k",
    "RR": "mrr@k",
    "P": "precision@k",
    "R": "recall@k",
}


@tool("sentence-transformers", package="sentence-transformers")
def _sentence_transformers(question: Question) -> Values:
    evaluation = import_module("sentence_transformers.sentence_transformer.evaluation")
    names = names_for(question, _SENTENCE_TRANSFORMERS)
    queries, scored, cuts = question.pairs(), question.scored(), cutoffs(question)
    doc_ids = {
        doc_id for part in (question.qrels, scored) for row in part.values() for doc_id in row
    }
    evaluator = evaluation.InformationRetrievalEvaluator(
        queries={query_id: query_id for query_id in queries},
        corpus={doc_id: doc_id for doc_id in doc_ids},
        relevant_docs={
            query_id: set(relevant(grades)) for query_id, grades in question.qrels.items()
        },
        mrr_at_k=cuts,
        ndcg_at_k=cuts,
        accuracy_at_k=cuts,
        precision_recall_at_k=cuts,
        map_at_k=cuts,
    )
    results = [
        [{"corpus_id": doc_id, "score": score} for doc_id, score in queries[query_id][1]]
        for query_id in evaluator.queries_ids
    ]
    for _ in range(question.times):
        values_by_name = evaluator.compute_metrics(results)
    return {
        text: float(values_by_name[name][question.parsed[text].cutoff])
        for text, name in names.items()
    }


@tool("sentence-transformers reranking", package="sentence-transformers")
def _reranking(question: Question) -> Values:
    evaluation = import_module("sentence_transformers.cross_encoder.evaluation")
    numpy = import_module("numpy")
    question.scored()
    queries = question.pairs()
    names = names_for(question, {"nDCG": "ndcg@{k}", "RR": "mrr@{k}"}, uncut={"AP": "map"})

    class Model:
        """Gives the scores of the run, and its best to a relevant document it was not given."""

        model_card_data = SimpleNamespace(set_evaluation_metrics=lambda *_, **__: None)

        def predict(self, pairs: list[list[str]], **_: Any) -> Any:
            scores = []
            for query_id, doc_id in pairs:
                known = dict(queries[query_id][1])
                best = max(known.values(), default=0.0) + 1.0
                scores.append(known.get(doc_id, best))
            return numpy.array(scores)

    evaluator = evaluation.CrossEncoderRerankingEvaluator(
        samples=[
            {"query": query_id, "positive": relevant(grades), "documents": list(dict(pairs))}
            for query_id, (grades, pairs) in queries.items()
        ],
        at_k=cutoffs(question)[-1],
        write_csv=False,
    )
    values_by_name = evaluator(Model())
    if not set(names.values()) <= values_by_name.keys():
        raise CannotAskError(f"has no {question.measures[0]} beside other cutoffs")
    return {text: float(values_by_name[name]) for text, name in names.items()}


@tool("Recommenders", package="recommenders")
def _recommenders(question: Question) -> Values:
    evaluation = import_module("recommenders.evaluation.python_evaluation")
    pandas = import_module("pandas")
    if question.has_duplicates:
        raise CannotAskError("takes one prediction for each pair")
    true = pandas.DataFrame(
        [
            (query_id, doc_id, float(grade))
            for query_id, grades in question.qrels.items()
            for doc_id, grade in grades.items()
            if doc_id in relevant(grades)
        ],
        columns=["userID", "itemID", "rating"],
    )
    predicted = pandas.DataFrame(
        [(query_id, *pair) for query_id, pairs in question.run.items() for pair in pairs],
        columns=["userID", "itemID", "prediction"],
    )
    functions = {
        "nDCG": evaluation.ndcg_at_k,
        "AP": evaluation.map_at_k,
        "P": evaluation.precision_at_k,
        "R": evaluation.recall_at_k,
    }
    values = {}
    for text, measure in question.parsed.items():
        if measure.name not in functions or measure.cutoff is None:
            raise CannotAskError(f"has no {text}")
        options = {"score_type": "raw"} if measure.name == "nDCG" else {}  # with grades
        values[text] = float(functions[measure.name](true, predicted, k=measure.cutoff, **options))
    return values


@tool("LensKit", package="lenskit")
def _lenskit(question: Question) -> Values:
    ranking = import_module("lenskit.metrics.ranking")
    items = import_module("lenskit.data").ItemList
    classes = {
        "nDCG": ranking.NDCG,
        "AP": ranking.AveragePrecision,
        "RR": ranking.RecipRank,
        "P": ranking.Precision,
        "R": ranking.Recall,
    }

    def computed(metric: Any) -> Any:
        def score(grades: dict[str, int], ranked: list[str], cutoff: int) -> Any:
            relevant_ids = relevant(grades)
            options = {"gain": "rating"} if metric is ranking.NDCG else {}
            truth = items(
                item_ids=relevant_ids, rating=[float(grades[doc_id]) for doc_id in relevant_ids]
            )
            return metric(n=cutoff, **options).measure_list(items(ranked, ordered=True), truth)

        return score

    return by_query(question, {name: computed(metric) for name, metric in classes.items()})
