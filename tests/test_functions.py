"""Plain functions: every worked example of the five documents, with their errors named.

The documents: the TREC reference of indicators, the ranking stack's metrics, the RAG specification,
the recipes tutorial and the ontology benchmark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope import functions as fn

METRICS: dict[str, Callable[..., float]] = {
    "Success": fn.hit_at_k,
    "nDCG": fn.ndcg_at_k,
    "R": fn.recall_at_k,
    "P": fn.precision_at_k,
    "AP": fn.average_precision_at_k,
    "RR": fn.reciprocal_rank,
}


def at_ranks(*ranks: int, depth: int = 10) -> tuple[list[str], list[str]]:
    """Return relevant ids, and a ranking that has them at these ranks."""
    relevant = [f"r{rank}" for rank in ranks]
    return relevant, [f"r{n}" if n in ranks else f"x{n}" for n in range(1, depth + 1)]


# --- the TREC reference and the ranking stack ----------------------------------------------------


def test_average_precision_of_the_trec_reference() -> None:
    """Ranks 1, 2, 4 are far better than 2, 5, 6; it divides by min(R, 100), trec_eval by R."""
    early, late = (fn.average_precision_at_k(*at_ranks(*r)) for r in ((1, 2, 4), (2, 5, 6)))
    assert early == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert late == pytest.approx((1 / 2 + 2 / 5 + 3 / 6) / 3)
    relevant, ranked = [f"d{n}" for n in range(4)], ["d0", "d1"]
    assert fn.average_precision_at_k(relevant, ranked, 2) == 0.5
    assert fn.average_precision_at_k(relevant, ranked, 2, norm="min") == 1.0


def test_product_search_of_the_ranking_stack() -> None:
    """Exact, substitute, complement, and one more exact that was missed.

    Its formula is exponential and gives 0.727; the numbers in its table are linear.
    """
    grades, ranked = {"E": 3, "S": 2, "C": 1, "E2": 3}, ["E", "S", "C"]
    run = {"q": {doc_id: -rank for rank, doc_id in enumerate(ranked)}}
    scores = rs.evaluate({"q": grades}, run, ["nDCG(gain=exp)@3"])
    assert scores["nDCG(gain=exp)@3"] == pytest.approx(0.727, abs=5e-4)
    assert fn.ndcg_at_k(grades, ranked, 3) == pytest.approx(0.808, abs=5e-4)


def test_means_of_the_ranking_stack() -> None:
    relevant, ranked = zip(*(at_ranks(rank) for rank in (1, 3, 1)), strict=True)
    assert fn.mean_reciprocal_rank(relevant, ranked, k=10) == pytest.approx(0.778, abs=5e-4)
    found, ranking = at_ranks(*range(1, 7), depth=100)
    assert fn.recall_at_k([*found, "missed", "too"], ranking, 100) == 0.75


# --- the RAG specification -----------------------------------------------------------------------


def test_hit_example_of_the_rag_specification() -> None:
    assert fn.hit_at_k(["doc1", "doc3", "doc5"], ["doc2", "doc1", "doc4"], 3) == 1


def test_graded_example_of_the_rag_specification() -> None:
    """Grades 3, 0, 2, 1 from the top; it swaps the discounts of ranks 2 and 3 and says 0.985."""
    grades = {"a": 3, "b": 2, "c": 1, "d": 0}
    value = fn.ndcg_at_k(["a", "b", "c", "d"], ["a", "d", "b", "c"], 4, relevance_grades=grades)
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert value == pytest.approx((3 + 2 / 2 + 1 / math.log2(5)) / ideal)
    assert f"{value:.3f}" == "0.930"
    assert fn.ndcg_at_k(grades, ["a", "d", "b", "c"], 4) == value


def test_mean_examples_of_the_rag_specification() -> None:
    relevant, ranked = zip(at_ranks(1), at_ranks(3), (["never"], ["x"]), strict=True)
    assert fn.mean_reciprocal_rank(relevant, ranked) == pytest.approx(0.444, abs=5e-4)
    assert fn.average_precision_at_k(*at_ranks(1, 3, 5), 5) == pytest.approx(0.756, abs=5e-4)


def test_known_cases_of_the_rag_specification() -> None:
    perfect = (["doc1", "doc2"], ["doc1", "doc2", "doc3", "doc4"])
    for metric, k in ((fn.hit_at_k, 1), (fn.hit_at_k, 2), (fn.ndcg_at_k, 2)):
        assert metric(*perfect, k) == 1
    assert fn.mean_reciprocal_rank([perfect[0]], [perfect[1]]) == 1
    nothing = (["doc1", "doc2"], ["doc3", "doc4", "doc5", "doc6"])
    for metric in METRICS.values():
        assert metric(*nothing, 10) == 0
    partly = (["doc1", "doc2", "doc3"], ["doc4", "doc1", "doc5", "doc2"])
    assert [fn.hit_at_k(*partly, k) for k in (1, 2)] == [0, 1]
    assert fn.reciprocal_rank(*partly) == 0.5
    # it says 0.693
    assert fn.ndcg_at_k(*partly, 4) == pytest.approx(0.498, abs=5e-4)


@pytest.mark.parametrize("metric", METRICS.values())
def test_edges_of_the_rag_specification(metric: Callable[..., float]) -> None:
    assert metric([], ["a"], 5) == metric(["a"], [], 5) == metric([], [], 5) == 0
    assert metric("a", "a", 1) == 1
    assert metric(7, ["7"], 1) == metric({"7"}, [7], 1) == metric({"7": 1}, [7], 1) == 1
    assert metric(["a"], ["b", "a"], 1) == 0
    for relevant, ranked, k in (
        (["a"], ["b", "a", "b"], 2),
        (["a"], ["a"], 0),
        (None, ["a"], 1),
        (["a"], None, 1),
        (["a"], [None], 1),
        ({"a": float("nan")}, ["a"], 1),
        (["a"], {"a", "b"}, 1),
        (["b", "a"], {"a": 3, "b": 1}, 1),
    ):
        with pytest.raises(rs.InputError):
            metric(relevant, ranked, k)


def test_a_dict_of_grades_is_grades() -> None:
    assert fn.hit_at_k({"a": 0}, ["a"], 1) == 0
    assert fn.recall_at_k({"a": 2, "b": 0, "c": 1}, ["a"], 1) == 0.5
    value = fn.ndcg_at_k({"a": 3, "b": 1}, ["b", "a"], 5)
    assert value == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    with pytest.raises(rs.InputError):
        fn.ndcg_at_k(["a"], ["a"], 10, ["a"])
    # grades of others do not count, and a relevant one without a grade counts 1
    assert fn.ndcg_at_k(["a", "b"], ["other", "a", "b"], 3, {"a": 2.0, "other": 5.0}) == (
        pytest.approx((2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3)))
    )


def test_precision_divides_by_k_unless_told_otherwise() -> None:
    """The specification divides by what was retrieved: a list of one is perfect at every k."""
    assert fn.precision_at_k(["a"], ["a"], 10) == 0.1
    assert fn.precision_at_k(["a"], ["a"], 10, norm="retrieved") == 1.0


def test_a_batch_of_the_rag_specification() -> None:
    queries: list[dict[str, Any]] = [{"relevant_docs": ["a", "b"]}, {"relevant_docs": "c"}]
    results = [[{"id": "x"}, {"id": "a"}], [{"id": "c", "score": 0.2}, {"id": "d", "score": 0.9}]]
    means = fn.evaluate_retrieval_batch(queries, results)
    assert list(means) == ["hit@1", "hit@3", "hit@5", "ndcg@5", "ndcg@10", "mrr"]
    assert (means["hit@1"], means["hit@3"], means["mrr"]) == (0.5, 1.0, 0.75)
    names = ["recall@2", "MAP@10", "R(mean=micro)@2"]
    other = fn.evaluate_retrieval_batch([{"expected_ids": ["a"]}], [["b", "a"]], names)
    assert other == {"recall@2": 1.0, "MAP@10": 0.5, "R(mean=micro)@2": 1.0}
    for bad, found in (([{"x": 1}], [["a"]]), (queries, results[:1]), ([], [])):
        with pytest.raises(rs.InputError):
            fn.evaluate_retrieval_batch(bad, found)
    with pytest.raises(rs.UnknownNameError):
        fn.evaluate_retrieval_batch(queries, results, ["gibberish@3"])


def test_batches_come_one_after_the_other() -> None:
    """The specification's own function passes no results on, and lists names of metrics."""
    asked = ({"relevant_docs": ["a"], "results": [{"id": "a" if n else "b"}]} for n in range(3))
    batches = fn.batch_evaluate_metrics(asked, batch_size=2, metrics=["hit@1"])
    assert next(batches) == {"hit@1": 0.5}
    assert list(batches) == [{"hit@1": 1.0}]
    with pytest.raises(rs.InputError):
        list(fn.batch_evaluate_metrics([], batch_size=0))


def test_experts_gates_and_rerankers_of_the_rag_specification() -> None:
    assert (
        fn.routing_accuracy(["law", "code", "law", "law"], ["law", "code", "code", "law"]) == 0.75
    )
    assert fn.gate_efficiency(retrievals_saved=30, total_queries=120) == 25
    assert fn.reranking_improvement(ndcg_reranked=0.66, ndcg_baseline=0.6) == pytest.approx(10)
    refused: list[tuple[Callable[..., float], Any, Any]] = [
        (fn.routing_accuracy, ["a"], []),
        (fn.routing_accuracy, [], []),
        (fn.gate_efficiency, 3, 2),
        (fn.gate_efficiency, 0, 0),
        (fn.reranking_improvement, 0.5, 0),
    ]
    for function, first, second in refused:
        with pytest.raises(rs.InputError):
            function(first, second)


def test_interval_of_the_rag_specification_takes_the_quantile_of_its_size() -> None:
    """It takes 1.96 for every number of queries, and 2.576 for every other level."""
    values = [0.2, 0.4, 0.5, 0.6, 0.8]
    error = np.std(values, ddof=1) / math.sqrt(5)
    for level, quantile in ((0.95, 2.7764451052), (0.9, 2.1318467863)):
        ends = fn.calculate_confidence_interval(values, level)
        assert ends == pytest.approx((0.5 - quantile * error, 0.5 + quantile * error))
    with pytest.raises(rs.InputError):
        fn.calculate_confidence_interval([0.5])


def test_significance_is_paired() -> None:
    """The specification's ttest_ind takes the spread of queries for noise, and misses this."""
    base = np.linspace(0, 0.9, 30)
    better = base + np.tile([0.05, 0.02, 0.08], 10)
    result = fn.statistical_significance_test(better.tolist(), base.tolist())
    assert result["significant"] is True
    assert result["mean_a"] - result["mean_b"] == pytest.approx(0.05)
    differences = better - base
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(30))
    assert result["t_statistic"] == pytest.approx(t)
    same = fn.statistical_significance_test([0.5, 0.7], [0.5, 0.7])
    assert (same["t_statistic"], same["p_value"], same["significant"]) == (0, 1, False)
    worse = fn.statistical_significance_test([0.0, 0.0], [1.0, 1.0])
    assert (worse["t_statistic"], worse["p_value"]) == (-math.inf, 0.5)
    with pytest.raises(rs.InputError):
        fn.statistical_significance_test([0.1, 0.2], [0.1])


def test_suite_of_the_rag_specification() -> None:
    suite = fn.RetrievalMetricsSuite()
    assert suite.evaluate("precision", ["a"], ["b", "a"], k=2) == 0.5
    assert suite.evaluate("map", [["a"]], [["b", "a"]]) == 0.5
    suite.metrics["own"] = lambda: 0.25
    assert suite.evaluate("own") == 0.25
    with pytest.raises(ValueError, match="gibberish"):
        suite.evaluate("gibberish", ["a"], ["a"])


# --- the recipes tutorial ------------------------------------------------------------------------


def test_queries_of_the_tutorial() -> None:
    """Its order is (retrieved, target); the target of the third is at rank 23."""
    vegetables, bulgogi = [42, 18, 91, 3, 55], [88, 33, 127, 204, 5]
    bread = [12, 45, 78, 99, 134]
    for ranked, target, hits in (
        (vegetables, 42, [1, 1, 1]),
        (bulgogi, 127, [0, 1, 1]),
        (bread, 201, [0, 0, 0]),
    ):
        assert [fn.recall_at_k(ranked, target, k) for k in (1, 3, 5)] == hits
        named = fn.recall_at_k(retrieved_ids=ranked, target_id=target, k=5)
        assert named == fn.recall_at_k(ranked, target_id=target, k=5) == hits[2]
    assert fn.reciprocal_rank(bulgogi, 127) == 1 / 3
    for held in (np.array(bulgogi), (each for each in bulgogi), range(125, 140)):
        assert fn.reciprocal_rank(held, np.int64(127)) == 1 / 3, "whatever holds the list"
    assert fn.recall_at_k({127, 5}, 127, 1) == 0.5  # a set is no ranking
    assert fn.reciprocal_rank(target_id=127, retrieved_ids=bulgogi) == 1 / 3
    assert fn.reciprocal_rank(bread, 201) == 0


def test_mean_reciprocal_ranks_of_the_tutorial() -> None:
    """0.355 as it says; but neither 0.82 nor 0.18 is one over a mean rank (2.8, 6), as it says."""

    def mean(*ranks: int) -> float:
        pairs = [at_ranks(rank) if rank else (["never"], ["x"]) for rank in ranks]
        return fn.mean_reciprocal_rank(*map(list, zip(*pairs, strict=True)))

    assert mean(1, 2, 3, 5, 10, 0) == pytest.approx(0.355, abs=1e-3)
    for ranks, value in (([1] * 80 + [10] * 20, 0.82), ([5] * 80 + [10] * 20, 0.18)):
        assert mean(*ranks) == pytest.approx(value)
        assert mean(*ranks) != pytest.approx(1 / np.mean(ranks), abs=0.01)


class Kitchen:
    """A retriever with the tutorial's interface."""

    def retrieve(self, query: str, top_k: int) -> list[dict[str, Any]]:
        answers = {"soup": [3, 1, 2], "cake": [9, 8]}
        return [{"id": recipe} for recipe in answers[query]][:top_k]


def test_the_loop_of_the_tutorial() -> None:
    queries = [{"query": "soup", "source_recipe_id": 1}, {"query": "cake", "source_recipe_id": 7}]
    metrics, rows = fn.evaluate_retrieval(queries, Kitchen())
    recalls = {"recall_at_1": 0.0, "recall_at_3": 0.5, "recall_at_5": 0.5, "recall_at_10": 0.5}
    assert metrics == {**recalls, "mrr": 0.25, "total_queries": 2}
    recalls = {"recall_1": 0.0, "recall_3": 1.0, "recall_5": 1.0, "recall_10": 1.0}
    ranks = {"reciprocal_rank": 0.5, "target_rank": 2}
    assert rows[0] == {"query": "soup", "target_id": 1, **recalls, **ranks}
    assert rows[1]["target_rank"] is None
    assert fn.evaluate_retrieval(queries, Kitchen().retrieve)[0] == metrics
    for bad in ([{"query": "soup"}], []):
        with pytest.raises(rs.InputError):
            fn.evaluate_retrieval(bad, Kitchen())


# --- the ontology benchmark ----------------------------------------------------------------------


def chroma(*term_ids: str) -> dict[str, Any]:
    return {
        "ids": [[f"entry-{n}" for n in range(len(term_ids))]],
        "metadatas": [[{"hpo_id": term_id} for term_id in term_ids]],
        "distances": [[0.1 * n for n in range(len(term_ids))]],
    }


EXPECTED = ["HP:0001639", "HP:0001712", "HP:0001250"]


@pytest.mark.parametrize("found", range(4))
def test_recall_is_no_hit_rate(found: int) -> None:
    """The benchmark's table: 0, 1, 2 or 3 of three found in the first k."""
    results = chroma("HP:0000001", *EXPECTED[:found])
    ap = sum((n + 1) / (n + 2) for n in range(found)) / 3
    for metric, value in (
        (fn.recall_at_k, found / 3),
        (fn.hit_rate_at_k, float(found > 0)),
        (fn.hit_at_k, float(found > 0)),
        (fn.precision_at_k, found / 5),
        (fn.average_precision_at_k, ap),
    ):
        assert metric(results, EXPECTED, 5) == metric(EXPECTED, results, 5) == pytest.approx(value)
        assert metric(results=results, expected_ids=EXPECTED, k=5) == pytest.approx(value)
    assert fn.precision_at_k(results, EXPECTED, 5, norm="retrieved") == found / (found + 1)
    assert fn.mean_reciprocal_rank(results, EXPECTED) == (0.5 if found else 0)


def test_grades_of_the_ontology_benchmark() -> None:
    """Sides and grades by its own keywords and places; an entry twice counts once."""
    results = chroma("HP:0001712", "HP:0001639", "HP:0001712")
    grades = {"HP:0001639": 2.0}
    expected = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert fn.ndcg_at_k(results, EXPECTED[:2], 10, grades) == pytest.approx(expected)
    named = fn.ndcg_at_k(results=results, expected_ids=EXPECTED[:2], k=10, relevance_scores=grades)
    assert named == pytest.approx(expected)
    for metric in METRICS.values():
        assert metric(results={}, expected_ids=["a"]) == 0
        assert metric(chroma(), ["a"]) == 0


def test_sides_that_are_not_clear_are_refused() -> None:
    refused: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((["a"],), {}),
        ((["a"], ["a"]), {"retrieved_ids": ["a"]}),
        ((), {"target_id": "a", "expected_ids": ["a"]}),
        ((), {"retrieved_ids": ["a"]}),
        ((chroma("a"), chroma("a")), {}),
        ((["a"], ["a"], ["a"]), {}),
    ]
    for args, named in refused:
        with pytest.raises(rs.InputError):
            fn.hit_at_k(*args, **named)
    with pytest.raises(TypeError):
        fn.hit_at_k(["a"], ["a"], typo=1)


def test_bootstrap_of_the_ontology_benchmark() -> None:
    values = [0.1, 0.4, 0.9, 0.5, 0.0, 1.0, 0.3, 0.3, 0.6, 0.7, 0.2, 0.8]
    mean, low, high = fn.bootstrap_confidence_interval(values)
    assert mean == pytest.approx(sum(values) / len(values))
    assert 0 <= low < mean < high <= 1
    assert fn.bootstrap_confidence_interval(values) == (mean, low, high), "the seed is fixed"
    assert fn.bootstrap_confidence_interval(values, seed=1) != (mean, low, high)
    _, lower, higher = fn.bootstrap_confidence_interval(values, confidence_level=0.99)
    assert lower < low < high < higher
    median, below, above = fn.bootstrap_confidence_interval(values, metric_fn=np.median)
    assert below < median == np.median(values) < above
    assert fn.bootstrap_confidence_interval(values, metric_fn=np.mean) == (mean, low, high)
    # five hits of five: its own says 1 to 1, though the rate may well be 0.6
    mean, low, high = fn.bootstrap_confidence_interval([1.0] * 5)
    assert (mean, high) == (1, 1)
    assert low == pytest.approx(0.025 ** (1 / 5))  # Clopper and Pearson
    with pytest.raises(rs.InputError):
        fn.bootstrap_confidence_interval([1.0])


def test_no_resampling_shows_a_p_of_0() -> None:
    """The benchmark's count / B can be 0."""
    base = np.linspace(0, 0.9, 30)
    better = base + np.tile([0.05, 0.02, 0.08], 10)
    assert fn.paired_bootstrap_test(better.tolist(), base.tolist(), 999) == (1 / 1000, True)
    assert fn.paired_bootstrap_test([0.1, 0.2], [0.1, 0.2]) == (1.0, False)


def test_languages_of_the_ontology_benchmark(tmp_path: Path) -> None:
    answers = {"Krampfanfälle": ["HP:0001250"], "seizure": ["HP:0000001", "HP:0001250"]}
    for code, text in (("de", "Krampfanfälle"), ("en", "seizure")):
        (tmp_path / code).mkdir()
        case = {"case_id": f"{code}_001", "text": text, "expected_hpo_ids": ["HP:0001250"]}
        content = {"metadata": {"language": code}, "test_cases": [case]}
        (tmp_path / code / "standard_v1.json").write_text(json.dumps(content))
    result = fn.evaluate_multilingual_model(answers.get, cases=tmp_path)
    assert list(result["per_language"]) == ["de", "en"]
    assert result["per_language"]["en"]["MRR"] == 0.5
    assert result["average_mrr"] == 0.75
    assert result["cross_lingual_variance"] == 0.0625
    gold = {"fr": {"crise": ["HP:0001250"]}}
    french = fn.evaluate_multilingual_model(lambda _: ["HP:0001250"], ["fr", "xx"], cases=gold)
    assert (french["average_mrr"], list(french["per_language"])) == (1.0, ["fr"])
    with pytest.raises(rs.InputError):
        fn.evaluate_multilingual_model(answers.get, ["xx"], cases=tmp_path)


# --- as in `evaluate` ----------------------------------------------------------------------------

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


def test_means_take_an_entry_for_each_query() -> None:
    relevant, ranked = [["a"], ["a"], ["a"]], [["a"], ["x", "y", "a"], ["x"]]
    assert fn.mean_reciprocal_rank(relevant, ranked, k=2) == pytest.approx(1 / 3)
    assert fn.mean_average_precision(relevant, ranked, k=2) == pytest.approx(1 / 3)
    for few, others in ((relevant, ranked[:2]), ([], []), ("ab", "ab")):
        with pytest.raises(rs.InputError):
            fn.mean_reciprocal_rank(few, others)
