"""Plain functions: the cases of the documents they come from, and what those get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope import functions as fn

PERFECT = (["doc1", "doc2"], ["doc1", "doc2", "doc3", "doc4"])
NOTHING = (["doc1", "doc2"], ["doc3", "doc4", "doc5", "doc6"])
PARTLY = (["doc1", "doc2", "doc3"], ["doc4", "doc1", "doc5", "doc2"])

METRICS: dict[str, Callable[..., float]] = {
    "Success": fn.hit_at_k,
    "nDCG": fn.ndcg_at_k,
    "R": fn.recall_at_k,
    "P": fn.precision_at_k,
    "AP": fn.average_precision_at_k,
    "RR": fn.reciprocal_rank,
}


@pytest.mark.parametrize(
    ("case", "metric", "k", "value"),
    [
        (PERFECT, fn.hit_at_k, 2, 1.0),
        (PERFECT, fn.ndcg_at_k, 2, 1.0),
        (NOTHING, fn.hit_at_k, 10, 0.0),
        (PARTLY, fn.hit_at_k, 2, 1.0),
        (PARTLY, fn.hit_at_k, 1, 0.0),
        (PARTLY, fn.reciprocal_rank, None, 0.5),
        (PARTLY, fn.recall_at_k, 4, 2 / 3),
        # ranks 2 and 4 of three relevant ones; the specification says 0.693
        (
            PARTLY,
            fn.ndcg_at_k,
            4,
            (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / 2),
        ),
    ],
)
def test_known_cases(
    case: tuple[list[str], list[str]], metric: Callable[..., float], k: int | None, value: float
) -> None:
    assert metric(*case, k) == pytest.approx(value, abs=1e-12)


def test_the_graded_example() -> None:
    """Grades 3, 0, 2, 1 from the top; the specification swaps two discounts and says 0.985."""
    grades = {"a": 3, "b": 2, "c": 1, "d": 0}
    value = fn.ndcg_at_k(["a", "b", "c", "d"], ["a", "d", "b", "c"], 4, relevance_grades=grades)
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert value == pytest.approx((3 + 2 / 2 + 1 / math.log2(5)) / ideal)
    assert f"{value:.3f}" == "0.930"


def test_grades_count_for_relevant_documents_only() -> None:
    grades = {"a": 2.0, "other": 5.0}
    assert fn.ndcg_at_k(["a", "b"], ["other", "a", "b"], 3, grades) == pytest.approx(
        (2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3))
    )


@pytest.mark.parametrize("metric", METRICS.values())
def test_edges(metric: Callable[..., float]) -> None:
    assert metric([], ["a"], 5) == 0
    assert metric(["a"], [], 5) == 0
    assert metric([], [], 5) == 0
    assert metric("a", "a", 1) == 1
    assert metric(7, ["7"], 1) == metric({"7"}, [7], 1) == 1
    assert metric(["a"], ["b", "a"], 1) == 0
    with pytest.raises(rs.InputError, match="'b' is retrieved twice"):
        metric(["a"], ["b", "a", "b"], 2)
    with pytest.raises(rs.InputError, match="cutoff must be a whole number"):
        metric(["a"], ["a"], 0)
    with pytest.raises(rs.InputError, match="expected document ids, got 'None'"):
        metric(None, ["a"], 1)
    with pytest.raises(rs.InputError, match="a document id is null"):
        metric(["a"], [None], 1)


def test_precision_divides_by_k() -> None:
    """Not by how many were retrieved: a list of one would be perfect at every k."""
    assert fn.precision_at_k(["a"], ["a"], 10) == 0.1


IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@settings(deadline=None, max_examples=40)
@given(relevant=IDS.filter(bool), ranked=IDS, k=st.integers(1, 9))
def test_the_numbers_are_those_of_evaluate(relevant: list[str], ranked: list[str], k: int) -> None:
    qrels = {"q": dict.fromkeys(relevant, 1), "other": {"z": 1}}
    run = {
        "q": {doc_id: -float(rank) for rank, doc_id in enumerate(ranked)},
        "other": {"z": 1.0},
    }
    scores = rs.evaluate(qrels, run, [f"{name}@{k}" for name in METRICS])
    for name, metric in METRICS.items():
        assert metric(relevant, ranked, k) == scores.values(f"{name}@{k}")["q"], name


def test_means() -> None:
    relevant = [["a"], ["a"], ["a"]]
    ranked = [["a"], ["x", "y", "a"], ["x"]]
    assert fn.mean_reciprocal_rank(relevant, ranked) == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert fn.mean_reciprocal_rank(relevant, ranked, k=2) == pytest.approx(1 / 3)
    assert fn.mean_average_precision(relevant, ranked, k=2) == pytest.approx(1 / 3)
    with pytest.raises(rs.InputError, match="got 3 queries and 2 lists"):
        fn.mean_reciprocal_rank(relevant, ranked[:2])
    with pytest.raises(rs.InputError, match="there is no query"):
        fn.mean_reciprocal_rank([], [])
    with pytest.raises(rs.InputError, match="expected a list for each query, got text"):
        fn.mean_reciprocal_rank("ab", "ab")


def test_a_batch() -> None:
    queries: list[dict[str, Any]] = [{"relevant_docs": ["a", "b"]}, {"relevant_docs": "c"}]
    results = [[{"id": "x"}, {"id": "a"}], [{"id": "c", "score": 0.2}, {"id": "d", "score": 0.9}]]
    means = fn.evaluate_retrieval_batch(queries, results)
    assert list(means) == ["hit@1", "hit@3", "hit@5", "ndcg@5", "ndcg@10", "mrr"]
    assert (means["hit@1"], means["hit@3"], means["mrr"]) == (0.5, 1.0, 0.75)
    other = fn.evaluate_retrieval_batch(
        [{"expected_ids": ["a"]}], [["b", "a"]], ["recall@2", "MAP@10", "ndcg_cut_10"]
    )
    assert other == {"recall@2": 1.0, "MAP@10": 0.5, "ndcg_cut_10": pytest.approx(1 / math.log2(3))}
    with pytest.raises(rs.InputError, match="query 1: no relevant documents among the fields 'x'"):
        fn.evaluate_retrieval_batch([{"x": 1}], [["a"]])
    with pytest.raises(rs.UnknownNameError):
        fn.evaluate_retrieval_batch(queries, results, ["gibberish@3"])


class Kitchen:
    """A retriever with the tutorial's interface."""

    def retrieve(self, query: str, top_k: int) -> list[dict[str, Any]]:
        answers = {"soup": [3, 1, 2], "cake": [9, 8]}
        return [{"id": recipe} for recipe in answers[query]][:top_k]


def test_the_tutorials_loop() -> None:
    queries = [
        {"query": "soup", "source_recipe_id": 1},
        {"query": "cake", "source_recipe_id": 7},
    ]
    metrics, rows = fn.evaluate_retrieval(queries, Kitchen())
    assert metrics == {
        "recall_at_1": 0.0,
        "recall_at_3": 0.5,
        "recall_at_5": 0.5,
        "recall_at_10": 0.5,
        "mrr": 0.25,
        "total_queries": 2,
    }
    assert [row["target_rank"] for row in rows] == [2, None]
    assert fn.evaluate_retrieval(queries, Kitchen().retrieve)[0] == metrics
    with pytest.raises(rs.InputError, match="query 1: no target among the fields 'query'"):
        fn.evaluate_retrieval([{"query": "soup"}], Kitchen())
    with pytest.raises(rs.InputError, match="there is no query"):
        fn.evaluate_retrieval([], Kitchen())


def test_bootstrap_interval() -> None:
    values = [0.1, 0.4, 0.9, 0.5, 0.0, 1.0, 0.3, 0.3, 0.6, 0.7, 0.2, 0.8]
    mean, low, high = fn.bootstrap_confidence_interval(values)
    assert mean == pytest.approx(sum(values) / len(values))
    assert 0 <= low < mean < high <= 1
    assert fn.bootstrap_confidence_interval(values) == (mean, low, high), "the seed is fixed"
    assert fn.bootstrap_confidence_interval(values, seed=1) != (mean, low, high)
    _, lower, higher = fn.bootstrap_confidence_interval(values, confidence_level=0.99)
    assert lower < low < high < higher
    median, below, above = fn.bootstrap_confidence_interval(values, metric_fn=np.median)
    assert median == np.median(values)
    assert below < median < above
    assert fn.bootstrap_confidence_interval(values, metric_fn=np.mean) == (mean, low, high)


def test_equal_values_are_no_certainty() -> None:
    """Five hits of five: the rate may well be 0.6; the ontology benchmark says 1 to 1."""
    mean, low, high = fn.bootstrap_confidence_interval([1.0] * 5)
    assert (mean, high) == (1, 1)
    assert low == pytest.approx(0.025 ** (1 / 5))  # Clopper and Pearson


def test_student_interval_takes_the_quantile_of_its_size() -> None:
    values = [0.2, 0.4, 0.5, 0.6, 0.8]
    low, high = fn.calculate_confidence_interval(values)
    reach = 2.7764451052 * np.std(values, ddof=1) / math.sqrt(5)  # t(4), not 1.96
    assert (low, high) == pytest.approx((0.5 - reach, 0.5 + reach))


def test_paired_tests() -> None:
    base = np.linspace(0, 0.9, 30)
    better = base + np.tile([0.05, 0.02, 0.08], 10)
    result = fn.statistical_significance_test(better.tolist(), base.tolist())
    assert result["significant"] is True
    assert result["mean_a"] - result["mean_b"] == pytest.approx(0.05)
    differences = better - base
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(30))
    assert result["t_statistic"] == pytest.approx(t)
    p, significant = fn.paired_bootstrap_test(better.tolist(), base.tolist(), 999)
    assert (p, significant) == (1 / 1000, True), "never 0"
    assert fn.paired_bootstrap_test([0.1, 0.2], [0.1, 0.2]) == (1.0, False)
    with pytest.raises(rs.InputError, match="got 2 values and 1"):
        fn.statistical_significance_test([0.1, 0.2], [0.1])


def test_equal_differences() -> None:
    same = fn.statistical_significance_test([0.5, 0.7], [0.5, 0.7])
    assert (same["t_statistic"], same["p_value"], same["significant"]) == (0, 1, False)
    worse = fn.statistical_significance_test([0.0, 0.0], [1.0, 1.0])
    assert (worse["t_statistic"], worse["p_value"]) == (-math.inf, 0.5)


def test_cache_keys_do_not_run_together() -> None:
    cache = fn.MetricsCache()
    cache.cache_metric("q_1", "hit", 5, 1.0)
    assert cache.get_cached_metric("q_1", "hit", 5) == 1.0
    assert cache.get_cached_metric("q", "1_hit", 5) is None
    assert cache.get_cached_metric("q_1", "hit", 10) is None
