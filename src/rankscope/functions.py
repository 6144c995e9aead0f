"""Plain functions: a metric of one ranked list, a batch of lists, an interval, a test.

For code that has lists of ids and wants a number. **Two lists by position are (relevant,
predicted)**, the second best first:

>>> hit_at_k(["a", "b"], ["x", "a"], k=1), hit_at_k("a", ["x", "a"], k=2)
(0.0, 1.0)

Calls of documents that have it the other way round work where the arguments show it: a Chroma
answer is what was retrieved wherever it stands, and so is what a keyword names (``retrieved_ids``,
``results``; the relevant side is ``target_id``, ``expected_ids``).

Ids are text or whole numbers (``7`` is the id ``"7"``); a single id may stand for a list of one. A
dict of relevant ids holds their grades, and a grade below 1 is not relevant. Without a relevant
document, or with nothing retrieved, a metric is 0. A document that is retrieved twice, lists of
unequal length and no query at all are an `InputError`. All else is as in `rankscope.evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, shown
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.retrieval.results import doc_id_of, pairs_of
from rankscope.tables.documents import is_answer

if TYPE_CHECKING:
    from rankscope.measures.judged import JudgedRun
    from rankscope.statistics.intervals import Interval

BATCH_METRICS = ("hit@1", "hit@3", "hit@5", "ndcg@5", "ndcg@10", "mrr")
"""What `evaluate_retrieval_batch` computes unless it is told otherwise."""

_TARGETS = ("source_recipe_id", "target_id", "relevant_docs", "relevant_ids", "expected_ids",
            "expected_hpo_ids")  # fmt: skip
_RESULTS = ("results", "retrieved_ids", "retrieved_docs", "predicted_ids")
_RELEVANT = ("relevant_ids", "relevant_ids_list", "target_id", "expected_ids")
_RANKED = ("predicted_ids", "predicted_ids_list", "retrieved_ids", "results")


def _is_id(value: object) -> bool:
    return isinstance(value, str | Integral)


def _by_any_name(function: Callable[..., float]) -> Callable[..., float]:
    """Let a metric be called as each document does: keywords decide, then the shape does."""
    takes_target = function.__name__ in ("recall_at_k", "reciprocal_rank")

    @wraps(function)
    def call(*args: Any, **named: Any) -> float:
        relevant = [named.pop(name) for name in _RELEVANT if name in named]
        ranked = [named.pop(name) for name in _RANKED if name in named]
        count = 2 - len(relevant) - len(ranked)
        placed, rest = args[: max(count, 0)], args[max(count, 0) :]
        has_k = not rest or not isinstance(rest[0], Iterable)
        if len(placed) != count or len(relevant) > 1 or len(ranked) > 1 or not has_k:
            raise InputError(
                f"{function.__name__} takes relevant_ids=…, predicted_ids=… and k, each once"
            )
        if "relevance_scores" in named:
            named["relevance_grades"] = named.pop("relevance_scores")
        if count == 2:
            first, second = placed
            is_list = isinstance(first, Iterable) and not isinstance(
                first, str | Mapping | set | frozenset
            )
            is_target = takes_target and is_list and _is_id(second)
            sides = (second, first) if is_answer(first) or is_target else placed
        else:  # what has no name is the other side
            sides = (*relevant, *placed, *ranked)
        return function(*sides, *rest, **named)

    return call


# --- one query -----------------------------------------------------------------------------------


@_by_any_name
def hit_at_k(relevant_ids: Any, predicted_ids: Any, k: int = 10) -> float:
    """(relevant, predicted): return 1 if a relevant document is in the first k, else 0 (Success@k).

    >>> hit_at_k({"a": 0, "b": 2}, ["a", "b"], 1)
    0.0
    """
    return _value(_measure("Success", k), relevant_ids, predicted_ids)


@_by_any_name
def hit_rate_at_k(relevant_ids: Any, predicted_ids: Any, k: int = 5) -> float:
    """(relevant, predicted): return `hit_at_k`; the name and k are the ontology benchmark's."""
    return _value(_measure("Success", k), relevant_ids, predicted_ids)


@_by_any_name
def ndcg_at_k(
    relevant_ids: Any,
    predicted_ids: Any,
    k: int = 10,
    relevance_grades: Mapping[str, float] | None = None,
) -> float:
    """(relevant, predicted): return nDCG@k with linear gain: Σ grade / log₂(rank + 1), normalised.

    Only relevant ids count; ``relevance_grades`` (or ``relevance_scores``) say how much, and one
    without a grade counts 1. Two examples of the RAG specification are wrong: its NDCG@4 of 0.985
    is 0.930 (ranks 2 and 3 have each other's discount), and its NDCG@4 of 0.693 is 0.498.

    >>> round(ndcg_at_k(["doc1", "doc2", "doc3"], ["doc4", "doc1", "doc5", "doc2"], k=4), 3)
    0.498
    """
    return _value(_measure("nDCG", k), relevant_ids, predicted_ids, relevance_grades)


@_by_any_name
def recall_at_k(relevant_ids: Any, predicted_ids: Any, k: int = 10) -> float:
    """(relevant, predicted): return the share of the relevant documents in the first k (R@k).

    A list and then a single id are the recipes tutorial's (retrieved_ids, target_id). It calls a
    hit rate by this name; the two are equal where one document is relevant.
    """
    return _value(_measure("R", k), relevant_ids, predicted_ids)


@_by_any_name
def precision_at_k(relevant_ids: Any, predicted_ids: Any, k: int = 10, norm: str = "k") -> float:
    """(relevant, predicted): return the share of the first k that is relevant: found / k (P@k).

    The RAG specification and the ontology benchmark's code (not its appendix) divide by how many
    were retrieved, ``norm="retrieved"``: one document, relevant, is then perfect at every k.
    """
    return _value(_measure("P", k, norm), relevant_ids, predicted_ids)


@_by_any_name
def average_precision_at_k(
    relevant_ids: Any, predicted_ids: Any, k: int = 10, norm: str = "rel"
) -> float:
    """(relevant, predicted): return the mean over all R relevant of precision at their rank (AP@k).

    Ranks past k count 0. This is AP@k of trec_eval and the RAG specification; the ontology
    benchmark and the TREC reference divide by min(R, k) instead, ``norm="min"``.
    """
    return _value(_measure("AP", k, norm), relevant_ids, predicted_ids)


@_by_any_name
def reciprocal_rank(relevant_ids: Any, predicted_ids: Any, k: int | None = None) -> float:
    """(relevant, predicted): return 1 / the rank of the first relevant document, or 0 (RR, RR@k).

    A list and then a single id are the recipes tutorial's (retrieved_ids, target_id).
    """
    return _value(_measure("RR", k), relevant_ids, predicted_ids)


# --- several queries -----------------------------------------------------------------------------


@_by_any_name
def mean_reciprocal_rank(
    relevant_ids_list: Any, predicted_ids_list: Any, k: int | None = None
) -> float:
    """(relevant, predicted), with an entry for each query: return the mean of `reciprocal_rank`.

    A Chroma answer is one query, as in the ontology benchmark. The mean is not the reciprocal of
    the mean rank, as the recipes tutorial has it: 1 / MRR is a harmonic mean of ranks.
    """
    if is_answer(predicted_ids_list):
        return _value(_measure("RR", k), relevant_ids_list, predicted_ids_list)
    return _mean(_measure("RR", k), relevant_ids_list, predicted_ids_list)


@_by_any_name
def mean_average_precision(
    relevant_ids_list: Any, predicted_ids_list: Any, k: int = 10, norm: str = "rel"
) -> float:
    """(relevant, predicted), with an entry for each query: return the mean of AP@k."""
    return _mean(_measure("AP", k, norm), relevant_ids_list, predicted_ids_list)


def evaluate_retrieval_batch(
    queries: Sequence[Mapping[str, Any]],
    retrieval_results: Sequence[Any],
    metrics: Sequence[str] | None = None,
) -> dict[str, float]:
    """Return the mean of each metric over queries, by the name it was asked for.

    A query has its relevant ids as ``relevant_docs`` or ``expected_ids``; a result is a list of
    records with an ``id``, or of ids, best first.
    ``metrics`` are measures in any notation (`BATCH_METRICS` if none are given).

    >>> evaluate_retrieval_batch([{"relevant_docs": ["a"]}], [[{"id": "b"}, {"id": "a"}]], ["mrr"])
    {'mrr': 0.5}
    """
    relevant = [_field(query, _TARGETS, "relevant documents") for query in queries]
    measures = {name: Measure.parse(name) for name in metrics or BATCH_METRICS}
    return {name: _mean(m, relevant, retrieval_results) for name, m in measures.items()}


def batch_evaluate_metrics(
    queries: Iterable[Mapping[str, Any]],
    batch_size: int = 100,
    metrics: Sequence[str] | None = None,
) -> Iterator[dict[str, float]]:
    """Yield the means of one batch of queries after the other, holding one batch at a time.

    Each query has its result beside its relevant ids, as ``results`` or ``retrieved_ids``. The RAG
    specification's function forgets the results, and lists the names of metrics, not their values.
    """
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, not {batch_size}")
    remaining = iter(queries)
    while batch := list(islice(remaining, batch_size)):
        results = [_field(query, _RESULTS, "results") for query in batch]
        yield evaluate_retrieval_batch(batch, results, metrics)


def evaluate_retrieval(
    queries: Sequence[Mapping[str, Any]], retriever: Any
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Ask a retriever every query; return the means, and a row for each query.

    A query has its text as ``query`` and the id it should find as ``source_recipe_id`` (or
    ``target_id``, ``expected_ids``, …). The retriever is an object with ``retrieve(query,
    top_k=10)``, or a function of these. Where several are relevant, recall is the share found and
    ``target_rank`` that of the first. `rankscope.evaluate_retriever` does more, with intervals.
    """
    ask = getattr(retriever, "retrieve", retriever)
    texts = [_field(item, ("query", "text"), "text") for item in queries]
    targets = [_field(item, _TARGETS, "target") for item in queries]
    judged = _judged(map(_graded, targets), [_ranked(ask(text, top_k=10)) for text in texts])
    columns = {f"recall_{k}": compute(_measure("R", k), judged).tolist() for k in (1, 3, 5, 10)}
    ranks = columns["reciprocal_rank"] = compute(_measure("RR", None), judged).tolist()
    means = {name.replace("_", "_at_"): _average(column) for name, column in columns.items()}
    columns["target_rank"] = [round(1 / rank) if rank else None for rank in ranks]
    means["mrr"] = means.pop("reciprocal_at_rank")
    rows = [
        {"query": text, "target_id": target, **dict(zip(columns, values, strict=True))}
        for text, target, *values in zip(texts, targets, *columns.values(), strict=True)
    ]
    return {**means, "total_queries": len(rows)}, rows


def evaluate_multilingual_model(
    model: Any,
    languages: Sequence[str] = ("de", "en", "fr", "es", "nl"),
    *,
    cases: Any = "tests/data/benchmarks",
    k: int = 10,
) -> dict[str, Any]:
    """Ask a retriever the cases of each language by itself, and say how its MRR varies over them.

    ``model`` is a retriever as `rankscope.evaluate_retriever` takes it; ``cases`` a folder with
    ``<language>/standard_v1.json``, or gold by language. As in the ontology benchmark, a language
    without cases is left out, and mean and variance count languages alike. ``per_language`` holds
    `Scores`.
    """
    from rankscope.retrieval.golden import evaluate_retriever  # noqa: PLC0415

    if not isinstance(cases, Mapping):
        files = {code: Path(cases) / code / "standard_v1.json" for code in languages}
        cases = {code: path for code, path in files.items() if path.exists()}
    scores = {
        code: evaluate_retriever(model, cases[code], k, measures=["RR", f"hit@{k}", f"nDCG@{k}"])
        for code in languages
        if code in cases
    }
    if not scores:
        raise InputError(
            f"there are no cases in {', '.join(languages)}; give cases={{language: …}}"
        )
    values = [each["RR"] for each in scores.values()]
    mean = _average(values)
    variance = _average([(value - mean) ** 2 for value in values])
    return {"per_language": scores, "cross_lingual_variance": variance, "average_mrr": mean}


# --- experts, gates and rerankers ----------------------------------------------------------------


def routing_accuracy(routes: Sequence[Any], optimal_experts: Sequence[Any]) -> float:
    """Return the share of queries that were sent to the expert that is best for them."""
    _refuse_unequal(routes, optimal_experts)
    pairs = zip(routes, optimal_experts, strict=True)
    return _average([float(route == best) for route, best in pairs])


def gate_efficiency(retrievals_saved: int, total_queries: int) -> float:
    """Return for how many of all queries retrieval was rightly skipped, in percent.

    >>> gate_efficiency(30, 120)
    25.0
    """
    if not 0 <= retrievals_saved <= total_queries or total_queries == 0:
        raise InputError(f"{retrievals_saved} retrievals of {total_queries} cannot be saved")
    return 100.0 * retrievals_saved / total_queries


def reranking_improvement(ndcg_reranked: float, ndcg_baseline: float) -> float:
    """Return how much higher nDCG is after reranking, in percent of the baseline.

    Whether the gain is more than chance is a question for `statistical_significance_test`.

    >>> reranking_improvement(0.75, 0.5)
    50.0
    """
    if not ndcg_baseline > 0:
        raise InputError(f"no share of a baseline of {ndcg_baseline} is defined; give one above 0")
    return 100.0 * (ndcg_reranked - ndcg_baseline) / ndcg_baseline


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
    median) the percentile interval. The ontology benchmark's own has no seed, and no width where
    all values are equal; this one answers fewer than 10 values by Student's t, and equal values by
    what may have gone unseen.
    """
    import numpy as np  # noqa: PLC0415

    options = {"level": confidence_level, "resamples": n_bootstrap, "seed": seed}
    interval = _interval(values, method="bca", **options)
    if metric_fn is None or metric_fn is np.mean:
        return _average(values), interval.low, interval.high
    sample = np.asarray(values, dtype=np.float64)
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
    five it is 2.78. It also takes 2.576 for every level but 95%.
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
    """Return the p-value of the paired bootstrap test, and whether it is below 0.05.

    p = (count + 1) / (B + 1). The ontology benchmark's count / B can be 0, which no number of
    resamples shows.
    """
    p, _ = _paired(values_a, values_b, test="bootstrap", resamples=n_bootstrap, seed=seed)
    return p, p < 0.05


def statistical_significance_test(
    scores_a: Sequence[float], scores_b: Sequence[float], alpha: float = 0.05
) -> dict[str, Any]:
    """Test whether two systems differ on the same queries: Student's paired t.

    The RAG specification calls ``ttest_ind``, which is unpaired: it takes the differences between
    queries for noise, and so misses differences between systems. Where all differences are equal
    there is no spread for t: p is the sign test's, and ``t_statistic`` infinite (0 for equal
    scores).
    """
    p, statistic = _paired(scores_a, scores_b, test="t")
    return {
        "t_statistic": statistic,
        "p_value": p,
        "significant": p < alpha,
        "mean_a": _average(scores_a),
        "mean_b": _average(scores_b),
    }


# --- the suite -----------------------------------------------------------------------------------


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
            known = ", ".join(self.metrics)
            raise InputError(f"there is no metric {shown(metric_name)}, only {known}")
        return self.metrics[metric_name](*args, **kwargs)


# --- from lists to what measures see -------------------------------------------------------------


@lru_cache(maxsize=256)
def _measure(name: str, cutoff: int | None, norm: str | None = None) -> Measure:
    return Measure.of(name, cutoff=cutoff, **({} if norm is None else {"norm": norm}))


def _value(measure: Measure, relevant: Any, ranked: Any, grades: Any = None) -> float:
    return float(compute(measure, _judged([_graded(relevant, grades)], [_ranked(ranked)]))[0])


def _mean(measure: Measure, relevant: Sequence[Any], ranked: Sequence[Any]) -> float:
    if any(isinstance(side, str | Mapping) for side in (relevant, ranked)):
        raise InputError("expected an entry for each query; for one query pass [ids]")
    _refuse_unequal(relevant, ranked)
    if not relevant:
        raise InputError("there is no query; give at least one")
    judged = _judged(map(_graded, relevant), list(map(_ranked, ranked)))
    return aggregate(measure, compute(measure, judged), judged)


def _judged(relevant: Iterable[Mapping[str, float]], ranked: Sequence[Sequence[str]]) -> JudgedRun:
    """Join grades and ranked ids without a run between: their ranks are their places."""
    import numpy as np  # noqa: PLC0415

    from rankscope.measures.judged import JudgedRun  # noqa: PLC0415

    hits, judgments = [], []
    for query, (grades, doc_ids) in enumerate(zip(relevant, ranked, strict=True)):
        places = enumerate(doc_ids, start=1)
        hits += [(query, rank, grades[doc_id]) for rank, doc_id in places if doc_id in grades]
        judgments += [(query, grade) for grade in sorted(grades.values(), reverse=True)]
    hit_query, hit_rank, hit_grade = np.array(hits, np.float64).reshape(-1, 3).T
    judged_query, judged_grade = np.array(judgments, np.float64).reshape(-1, 2).T
    return JudgedRun(
        query_ids=tuple(map(str, range(len(ranked)))),
        retrieved=np.array(list(map(len, ranked)), np.int64),
        in_run=np.ones(len(ranked), np.bool_),
        hit_query=hit_query.astype(np.int64),
        hit_rank=hit_rank.astype(np.int64),
        hit_grade=hit_grade,
        judged_query=judged_query.astype(np.int64),
        judged_grade=judged_grade,
        max_grade=float(judged_grade.max(initial=0.0)),
    )


def _graded(relevant: Any, grades: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Return the grades of what is relevant; ``grades`` of other documents do not count."""
    if not _is_id(relevant) and not isinstance(relevant, Iterable):
        raise InputError(f"expected the ids of relevant documents, got {shown(relevant)}")
    if grades is not None and not isinstance(grades, Mapping):
        raise InputError(f"expected grades by document, such as {{'d1': 3}}, got {shown(grades)}")
    given = relevant if isinstance(relevant, Mapping) else {}
    ids = [relevant] if _is_id(relevant) else relevant
    graded = {doc_id_of(doc_id): given.get(doc_id, 1.0) for doc_id in ids}
    for doc_id, grade in (grades or {}).items():
        if doc_id_of(doc_id) in graded:
            graded[doc_id_of(doc_id)] = grade
    for doc_id, grade in graded.items():
        if not hasattr(grade, "__float__") or not math.isfinite(grade):
            raise InputError(f"document {shown(doc_id)}: expected a grade, got {shown(grade)}")
    return graded


def _ranked(retrieved: Any) -> list[str]:
    """Return the ids of what was retrieved, best first: ids, records or a Chroma answer."""
    if isinstance(retrieved, Mapping) and retrieved and not is_answer(retrieved):
        raise InputError("expected a ranked list, got a dict; of grades say expected_ids=…")
    return [doc_id for doc_id, _ in pairs_of([retrieved] if _is_id(retrieved) else retrieved)]


def _field(query: Mapping[str, Any], names: tuple[str, ...], what: str) -> Any:
    values = [query[name] for name in names if name in query]
    if len(values) == 1:
        return values[0]
    raise InputError(f"a query needs one of the fields {', '.join(names)}, for its {what}")


def _average(values: Sequence[float]) -> float:
    if not len(values):
        raise InputError("there is no query; give at least one")
    return math.fsum(values) / len(values)


def _refuse_unequal(first: Sequence[Any], second: Sequence[Any]) -> None:
    if len(first) != len(second):
        raise InputError(f"one side has {len(first):,} queries and the other {len(second):,}")


def _interval(values: Sequence[float], **options: Any) -> Interval:
    from rankscope.statistics.intervals import mean_intervals  # noqa: PLC0415

    if len(values) < 2:
        raise InputError(f"an interval takes at least 2 values, not {len(values)}")
    # values of a metric lie between 0 and 1, and say so unless one does not
    bounds = (0.0, 1.0) if all(0 <= value <= 1 for value in values) else None
    [interval] = mean_intervals([list(values)], bounds=bounds, **options)
    return interval


def _paired(
    values_a: Sequence[float], values_b: Sequence[float], **options: Any
) -> tuple[float, float]:
    from rankscope.statistics.tests import paired_tests  # noqa: PLC0415

    _refuse_unequal(values_a, values_b)
    p, statistic = paired_tests(
        [[a - b for a, b in zip(values_a, values_b, strict=True)]], **options
    )
    return float(p[0]), float(statistic[0])
