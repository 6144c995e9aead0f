"""Plain functions: a metric of one ranked list, a batch of lists, an interval, a test.

For code that has lists of ids and wants a number. Each takes what is relevant first and what was
retrieved second, best first, and computes what `rankscope.evaluate` computes:

>>> hit_at_k(["a", "b"], ["x", "a"], k=1), hit_at_k("a", ["x", "a"], k=2)
(0.0, 1.0)

Ids are text or whole numbers (``7`` is the id ``"7"``); a single id may stand for a list of one.
Without a relevant document, or with nothing retrieved, a metric is 0. A ranked list in which a
document appears twice is an `InputError`: it would be found twice. So are no queries at all, whose
mean would be a number about nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.retrieval.results import pairs_of
from rankscope.tables.columns import QRELS, find_name
from rankscope.tables.ids import id_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.measures.judged import JudgedRun
    from rankscope.statistics.intervals import Bounds, Interval
    from rankscope.statistics.paired import TestResult

Ids: TypeAlias = str | int | Iterable[str | int]
"""One id, or several."""

BATCH_METRICS = ("hit@1", "hit@3", "hit@5", "ndcg@5", "ndcg@10", "mrr")
"""What `evaluate_retrieval_batch` computes unless it is told otherwise."""

_TARGETS = ("source_recipe_id", "target_id", "doc_id", *QRELS.lists)
_TEXTS = ("query", "question", "text", "user_input")


# --- one query -----------------------------------------------------------------------------------


def hit_at_k(relevant_ids: Ids, predicted_ids: Ids, k: int = 10) -> float:
    """Return 1 if a relevant document is among the first k, else 0 (Success@k)."""
    return _value("Success", k, relevant_ids, predicted_ids)


def ndcg_at_k(
    relevant_ids: Ids,
    predicted_ids: Ids,
    k: int = 10,
    relevance_grades: Mapping[str, float] | None = None,
) -> float:
    """Return nDCG@k with linear gain: DCG = Σ grade / log₂(rank + 1), divided by the best possible.

    Only ``relevant_ids`` count; ``relevance_grades`` says how much, and one without a grade counts
    1. Two examples of the RAG specification are wrong: its NDCG@4 of 0.985 is 0.930 (ranks 2 and 3
    have each other's discount), and its NDCG@4 of 0.693 is 0.498.

    >>> round(ndcg_at_k(["doc1", "doc2", "doc3"], ["doc4", "doc1", "doc5", "doc2"], k=4), 3)
    0.498
    """
    return _value("nDCG", k, relevant_ids, predicted_ids, relevance_grades)


def recall_at_k(relevant_ids: Ids, predicted_ids: Ids, k: int = 10) -> float:
    """Return the share of the relevant documents that is among the first k (R@k).

    The recipes tutorial calls a hit rate by this name; the two are equal where one document is
    relevant.
    """
    return _value("R", k, relevant_ids, predicted_ids)


def precision_at_k(relevant_ids: Ids, predicted_ids: Ids, k: int = 10) -> float:
    """Return the share of the first k that is relevant: found / k (P@k).

    The RAG specification and the ontology benchmark divide by how many were retrieved, which
    rewards a short list: one document, relevant, would be perfect at every k.
    """
    return _value("P", k, relevant_ids, predicted_ids)


def average_precision_at_k(relevant_ids: Ids, predicted_ids: Ids, k: int = 10) -> float:
    """Return the mean over all R relevant documents of the precision at their ranks, 0 past k.

    This is AP@k of trec_eval and of the RAG specification; the ontology benchmark divides by
    min(R, k) instead, which is ``AP(norm=min)@k`` of `rankscope.evaluate`.
    """
    return _value("AP", k, relevant_ids, predicted_ids)


def reciprocal_rank(relevant_ids: Ids, predicted_ids: Ids, k: int | None = None) -> float:
    """Return 1 / the rank of the first relevant document, 0 if none is retrieved; k cuts (RR@k)."""
    return _value("RR", k, relevant_ids, predicted_ids)


# --- several queries -----------------------------------------------------------------------------


def mean_reciprocal_rank(
    relevant_ids_list: Sequence[Ids], predicted_ids_list: Sequence[Ids], k: int | None = None
) -> float:
    """Return the mean of `reciprocal_rank` over queries.

    It is not the reciprocal of the mean rank, as the recipes tutorial has it: 1 / MRR is a harmonic
    mean of ranks. Lists of unequal length are an error, not cut to the shorter.
    """
    return _mean("RR", k, relevant_ids_list, predicted_ids_list)


def mean_average_precision(
    relevant_ids_list: Sequence[Ids], predicted_ids_list: Sequence[Ids], k: int = 10
) -> float:
    """Return the mean of `average_precision_at_k` over queries."""
    return _mean("AP", k, relevant_ids_list, predicted_ids_list)


def evaluate_retrieval_batch(
    queries: Sequence[Mapping[str, Any]],
    retrieval_results: Sequence[Any],
    metrics: Sequence[str] | None = None,
) -> dict[str, float]:
    """Return the mean of each metric over queries, by the name it was asked for.

    A query is a mapping with its relevant ids as ``relevant_docs`` (or another name of judgments,
    such as ``expected_ids``); its result a list of records with an ``id``, or of ids, best first.
    ``metrics`` are measures in any notation (`BATCH_METRICS` if none are given).

    >>> evaluate_retrieval_batch([{"relevant_docs": ["a"]}], [[{"id": "b"}, {"id": "a"}]], ["mrr"])
    {'mrr': 0.5}
    """
    relevant = [
        _field(query, QRELS.lists, f"query {place}: no relevant documents")
        for place, query in enumerate(queries, start=1)
    ]
    judged = _judged_lists(relevant, [_listed(result) for result in retrieval_results])
    measures = {name: Measure.parse(name) for name in metrics or BATCH_METRICS}
    return {name: aggregate(m, compute(m, judged)) for name, m in measures.items()}


def evaluate_retrieval(
    queries: Sequence[Mapping[str, Any]], retriever: Any
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Ask a retriever every query; return the means, and a row for each query.

    A query has its text as ``query`` and the id it should find as ``source_recipe_id`` (or
    ``target_id``, ``expected_ids``, …; several may be relevant). The retriever is an object with
    ``retrieve(query, top_k=10)``, or a function of these. Recall is the share found, which the
    tutorial's hit rate equals where one document is relevant; ``target_rank`` is that of the first.

    `rankscope.evaluate_retriever` does the same for any function, with intervals.
    """
    ask = getattr(retriever, "retrieve", retriever)
    rows: list[dict[str, Any]] = []
    for place, item in enumerate(queries, start=1):
        query = _field(item, _TEXTS, f"query {place}: no text")
        target = _field(item, _TARGETS, f"query {place}: no target")
        retrieved = _listed(ask(query, top_k=10))
        rank = reciprocal_rank(target, retrieved)
        recalls = {f"recall_{k}": recall_at_k(target, retrieved, k) for k in (1, 3, 5, 10)}
        rows.append(
            {
                "query": query,
                "target_id": target,
                **recalls,
                "reciprocal_rank": rank,
                "target_rank": round(1 / rank) if rank else None,
            }
        )
    if not rows:
        raise InputError("there is no query; give at least one")
    means = {
        f"recall_at_{k}": math.fsum(row[f"recall_{k}"] for row in rows) / len(rows)
        for k in (1, 3, 5, 10)
    }
    mrr = math.fsum(row["reciprocal_rank"] for row in rows) / len(rows)
    return {**means, "mrr": mrr, "total_queries": len(rows)}, rows


# --- intervals and tests -------------------------------------------------------------------------


def bootstrap_confidence_interval(
    values: Sequence[float],
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    metric_fn: Callable[[Any], float] | None = None,
    *,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return the mean of per-query values and the ends of its bootstrap interval.

    For the mean this is the BCa interval of `rankscope.compare`, for another ``metric_fn`` (a
    median) the percentile interval. The ontology benchmark's own draws from the global random
    state, so its ends differ from call to call, and have no width where all values are equal: this
    one has a seed, answers fewer than 10 values by Student's t, and equal values by what may have
    gone unseen.
    """
    import numpy as np  # noqa: PLC0415

    if metric_fn is None or metric_fn is np.mean:
        interval = _interval(
            values, method="bca", level=confidence_level, resamples=n_bootstrap, seed=seed
        )
        return _average(values), interval.low, interval.high
    from rankscope.statistics.arrays import check_level, check_resamples  # noqa: PLC0415

    check_level(confidence_level)
    check_resamples(n_bootstrap)
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size:
        raise InputError("there is no value to resample")
    random = np.random.default_rng(seed)
    drawn = [metric_fn(random.choice(sample, sample.size)) for _ in range(n_bootstrap)]
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
    return float(metric_fn(sample)), low, high


def calculate_confidence_interval(
    scores: Sequence[float], confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return the ends of Student's interval of the mean.

    The RAG specification takes 1.96 for every number of queries, which is too narrow for few: with
    five it is 2.78.
    """
    interval = _interval(scores, method="t", level=confidence_level)
    return interval.low, interval.high


def paired_bootstrap_test(
    values_a: Sequence[float],
    values_b: Sequence[float],
    n_bootstrap: int = 10_000,
    *,
    seed: int = 0,
) -> tuple[float, bool]:
    """Return the p-value of the paired bootstrap test, and whether it is at most 0.05.

    p = (count + 1) / (B + 1). The ontology benchmark's count / B can be 0, which no number of
    resamples shows.
    """
    result = _paired(values_a, values_b, test="bootstrap", resamples=n_bootstrap, seed=seed)
    return result.p, result.p <= 0.05


def statistical_significance_test(
    scores_a: Sequence[float], scores_b: Sequence[float], alpha: float = 0.05
) -> dict[str, Any]:
    """Test whether two systems differ on the same queries: Student's paired t.

    The RAG specification's test is unpaired: it takes the differences between queries for noise,
    and so misses differences between systems. Where all differences are equal there is no spread
    for t: p is the sign test's, and ``t_statistic`` infinite (0 for equal scores).
    """
    result = _paired(scores_a, scores_b, test="t")
    statistic = result.statistic
    if "no spread" in result.method:
        statistic = math.copysign(math.inf, statistic)
    return {
        "t_statistic": statistic,
        "p_value": result.p,
        "significant": result.p <= alpha,
        "mean_a": _average(scores_a),
        "mean_b": _average(scores_b),
    }


# --- the cache and the suite ---------------------------------------------------------------------


class MetricsCache:
    """Values by query, metric and k.

    The RAG specification joins the three with ``_``, so that ("q_1", "hit") and ("q", "1_hit") are
    one key; here they are two.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, int | None], float] = {}

    def get_cached_metric(self, query_id: str, metric: str, k: int | None) -> float | None:
        """Return a value, or None if it is not there."""
        return self._values.get((query_id, metric, k))

    def cache_metric(self, query_id: str, metric: str, k: int | None, value: float) -> None:
        """Keep a value."""
        self._values[query_id, metric, k] = value


class RetrievalMetricsSuite:
    """The metrics by name; ``metrics`` is a dict to which others may be added.

    >>> RetrievalMetricsSuite().evaluate("hit", ["a"], ["b", "a"], k=2)
    1.0
    """

    def __init__(self) -> None:
        self.metrics: dict[str, Callable[..., float]] = {
            "hit": hit_at_k,
            "ndcg": ndcg_at_k,
            "mrr": mean_reciprocal_rank,
            "map": mean_average_precision,
            "recall": recall_at_k,
            "precision": precision_at_k,
        }

    def evaluate(self, metric_name: str, *args: Any, **kwargs: Any) -> float:
        """Call the metric of this name with the other arguments."""
        if metric_name not in self.metrics:
            raise UnknownNameError("metric", metric_name, self.metrics)
        return self.metrics[metric_name](*args, **kwargs)


# --- from lists to what measures see -------------------------------------------------------------


@lru_cache(maxsize=256)
def _measure(name: str, cutoff: int | None) -> Measure:
    return Measure.of(name, cutoff=cutoff)


def _value(
    name: str,
    cutoff: int | None,
    relevant_ids: Ids,
    predicted_ids: Ids,
    grades: Mapping[str, float] | None = None,
) -> float:
    measure = _measure(name, cutoff)
    judged = _judged([_graded(relevant_ids, grades)], [_ids(predicted_ids)])
    return float(compute(measure, judged)[0])


def _mean(
    name: str, cutoff: int | None, relevant: Sequence[Ids], predicted: Sequence[Ids]
) -> float:
    measure = _measure(name, cutoff)
    return aggregate(measure, compute(measure, _judged_lists(relevant, predicted)))


def _judged_lists(relevant: Sequence[Ids], predicted: Sequence[Ids]) -> JudgedRun:
    """Join relevant ids and ranked lists, one of each for every query."""
    if isinstance(relevant, str) or isinstance(predicted, str):
        raise InputError("expected a list for each query, got text; for one query pass [ids]")
    if len(relevant) != len(predicted):
        raise InputError(
            f"expected one ranked list for each query, got {counted(len(relevant), 'query')} and "
            f"{counted(len(predicted), 'list')}"
        )
    if not relevant:
        raise InputError("there is no query; give at least one")
    return _judged([_graded(ids) for ids in relevant], [_ids(ids) for ids in predicted])


def _judged(relevant: Sequence[Mapping[str, float]], ranked: Sequence[Sequence[str]]) -> JudgedRun:
    """Join grades and ranked ids without a run between: their ranks are their places."""
    import numpy as np  # noqa: PLC0415

    from rankscope.measures.judged import JudgedRun  # noqa: PLC0415

    hits = [
        (query, rank, grades[doc_id])
        for query, (grades, doc_ids) in enumerate(zip(relevant, ranked, strict=True))
        for rank, doc_id in enumerate(doc_ids, start=1)
        if doc_id in grades
    ]
    judgments = [
        (query, grade)
        for query, grades in enumerate(relevant)
        for grade in sorted(grades.values(), reverse=True)
    ]
    return JudgedRun(
        query_ids=tuple(map(str, range(len(relevant)))),
        retrieved=np.array([len(doc_ids) for doc_ids in ranked], dtype=np.int64),
        in_run=np.ones(len(ranked), dtype=np.bool_),
        hit_query=np.array([query for query, _, _ in hits], dtype=np.int64),
        hit_rank=np.array([rank for _, rank, _ in hits], dtype=np.int64),
        hit_grade=np.array([grade for _, _, grade in hits], dtype=np.float64),
        judged_query=np.array([query for query, _ in judgments], dtype=np.int64),
        judged_grade=np.array([grade for _, grade in judgments], dtype=np.float64),
        max_grade=max((grade for _, grade in judgments), default=0.0),
    )


def _graded(ids: Ids, grades: Mapping[str, Any] | None = None) -> dict[str, float]:
    relevant = dict.fromkeys(_texts(ids), 1.0)
    for doc_id, grade in (grades or {}).items():
        name = _text(doc_id)
        if name in relevant:
            if isinstance(grade, str) or not math.isfinite(grade):
                raise InputError(
                    f"document {shown(name)}: the grade is {shown(grade)}; expected a finite number"
                )
            relevant[name] = float(grade)
    return relevant


def _ids(ids: Ids) -> list[str]:
    ranked = _texts(ids)
    if len(set(ranked)) < len(ranked):
        twice = next(doc_id for place, doc_id in enumerate(ranked) if doc_id in ranked[:place])
        raise InputError(
            f"the document {shown(twice)} is retrieved twice; keep each document once, at its "
            "first rank"
        )
    return ranked


def _texts(ids: Ids) -> list[str]:
    if isinstance(ids, str) or hasattr(ids, "__index__"):
        return [_text(ids)]
    if ids is None or isinstance(ids, bytes) or not isinstance(ids, Iterable):
        raise InputError(f"expected document ids, got {shown(ids)} ({type(ids).__name__})")
    return [doc_id if type(doc_id) is str else _text(doc_id) for doc_id in ids]


def _text(doc_id: object) -> str:
    try:
        return id_text(doc_id)
    except ValueError as error:
        raise InputError(f"a document id is {error}") from None


def _listed(result: Any) -> list[str]:
    """Return the ids of a result, in the order in which they are listed."""
    return [doc_id for doc_id, _ in pairs_of(result)]


def _field(item: Mapping[str, Any], names: tuple[str, ...], problem: str) -> Any:
    name = find_name(item, names)
    if name is None:
        raise InputError(
            f"{problem} among the fields {shown(', '.join(map(str, item)))}; name one of them "
            f"{' or '.join(names[:3])}"
        )
    return item[name]


def _average(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _interval(values: Sequence[float], **options: Any) -> Interval:
    from rankscope.statistics.intervals import mean_intervals  # noqa: PLC0415

    # values of a metric lie between 0 and 1, and say so unless one does not
    bounds: Bounds | None = (0.0, 1.0) if all(0 <= value <= 1 for value in values) else None
    [interval] = mean_intervals([list(values)], bounds=bounds, **options)
    return interval


def _paired(values_a: Sequence[float], values_b: Sequence[float], **options: Any) -> TestResult:
    from rankscope.statistics.paired import paired_tests  # noqa: PLC0415

    if len(values_a) != len(values_b):
        raise InputError(
            f"expected the same queries on both sides, got {counted(len(values_a), 'value')} and "
            f"{len(values_b):,}"
        )
    differences = [a - b for a, b in zip(values_a, values_b, strict=True)]
    [result] = paired_tests([differences], **options)
    return result
