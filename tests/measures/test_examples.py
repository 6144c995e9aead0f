"""Worked examples from documents and papers, with the right values."""

from __future__ import annotations

import numpy as np
import pytest

from measures.naive import make
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute


def value(text: str, ranking: list[float | None], missed: list[float] = []) -> float:  # noqa: B006
    """Measure one query with these grades, from the top, and these judged but not retrieved."""
    docs = [f"d{at:03}" for at in range(len(ranking))]
    grades = {doc: grade for doc, grade in zip(docs, ranking, strict=True) if grade is not None}
    grades |= {f"missed{at}": grade for at, grade in enumerate(missed)}
    scores = {doc: float(-at) for at, doc in enumerate(docs)}
    judged_run, _ = make({"q": grades}, {"q": scores})
    return float(compute(Measure.parse(text), judged_run)[0])


def test_product_search_example() -> None:
    """Exact, substitute, complement; the ideal is exact, exact, substitute."""
    ranking: list[float | None] = [3, 2, 1]
    assert value("nDCG(gain=exp)@3", ranking, [3]) == pytest.approx(0.727, abs=5e-4)
    assert value("nDCG@3", ranking, [3]) == pytest.approx(0.808, abs=5e-4)


def test_rag_example_with_positions_in_order() -> None:
    """The document says 0.985, having discounted positions 2 and 3 the wrong way round."""
    assert value("NDCG@4", [3, 0, 2, 1]) == pytest.approx(0.930, abs=5e-4)


def test_rag_case_perfect() -> None:
    ranking: list[float | None] = [1, 1, None, None]
    for text in ("hit@1", "hit@2", "NDCG@2", "MRR"):
        assert value(text, ranking) == 1.0


def test_rag_case_nothing_found() -> None:
    ranking: list[float | None] = [None, None, None, None]
    for text in ("hit@10", "NDCG@10", "MRR"):
        assert value(text, ranking, [1, 1]) == 0.0


def test_rag_case_partial() -> None:
    """The document says 0.693 for NDCG@4; it is 0.498."""
    ranking: list[float | None] = [None, 1, None, 1]
    assert value("hit@2", ranking, [1]) == 1.0
    assert value("hit@1", ranking, [1]) == 0.0
    assert value("NDCG@4", ranking, [1]) == pytest.approx(0.498, abs=5e-4)
    assert value("MRR", ranking, [1]) == 0.5


def test_mean_reciprocal_rank_example() -> None:
    qrels = {"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {"x": 1.0}}
    run = {"a": {"x": 9.0}, "b": {"u": 9.0, "v": 8.0, "x": 7.0}, "c": {"x": 1.0}}
    judged_run, _ = make(qrels, run)
    measure = Measure.parse("MRR@10")
    assert aggregate(measure, compute(measure, judged_run)) == pytest.approx(0.778, abs=5e-4)


def test_recall_example() -> None:
    assert value("Recall@100", [1, None, 1, 1, 1, None, 1, 1], [1, 1]) == 0.75


def test_rank_biased_precision_by_hand() -> None:
    """Relevant at ranks 1 and 3 with p = 0.5: 0.5 · (1 + 0.25)."""
    assert value("RBP(p=0.5)", [1, 0, 1]) == pytest.approx(0.625)
    assert value("RBP_residual(p=0.5)", [1, None, 1]) == pytest.approx(0.5**3 + 0.5 * 0.5)


def test_expected_reciprocal_rank_by_hand() -> None:
    """Highest grade 2: s is 3/4 for grade 2 and 1/4 for grade 1."""
    assert value("ERR", [1, 2]) == pytest.approx(1 / 4 + (1 / 2) * (3 / 4) * (3 / 4))


def test_average_precision_divisors() -> None:
    ranking: list[float | None] = [1, 0, 1, 0]
    top = 1 + 2 / 3
    assert value("AP@3", ranking, [1, 1]) == pytest.approx(top / 4)
    assert value("AP(norm=min)@3", ranking, [1, 1]) == pytest.approx(top / 3)
    assert value("AP(norm=retrieved)@3", ranking, [1, 1]) == pytest.approx(top / 2)


def test_all_found_or_any() -> None:
    """LongMemEval: gold {a, b}, ranking x, a, b, y."""
    ranking: list[float | None] = [None, 1, 1, None]
    assert [value(f"SuccessAll@{k}", ranking) for k in (2, 3)] == [0, 1]
    assert [value(f"recall_any@{k}", ranking) for k in (1, 2)] == [0, 1]
    assert value("SuccessAll@3", ranking, [1]) == 0


def test_precision_of_a_short_list() -> None:
    """One document, relevant: the RAG specification divides by what was retrieved."""
    assert value("P@10", [1]) == 0.1
    assert value("P(norm=retrieved)@10", [1]) == 1.0


def test_recall_of_all_queries_as_one() -> None:
    """One of one and one of four: 0.625 by query, 2 of 5 in all."""
    qrels = {"a": {"x": 1.0}, "b": dict.fromkeys("vxyz", 1.0)}
    judged_run, _ = make(qrels, {query_id: {"x": 1.0} for query_id in qrels})
    macro, micro = Measure.parse("R@5"), Measure.parse("R(mean=micro)@5")
    values = compute(micro, judged_run)
    assert values.tolist() == compute(macro, judged_run).tolist()
    assert aggregate(macro, values) == 0.625
    assert aggregate(micro, values, judged_run) == 0.4
    with pytest.raises(InputError, match="whole run"):
        aggregate(micro, values)


def test_recall_point_rules_differ() -> None:
    """R = 4 at recall 0.3: relevant document 1 by rounding, 2 by adding 0.9."""
    ranking: list[float | None] = [1, 0, 0, 1, 0, 0, 0, 1]
    assert value("IPrec(recall=0.3)", ranking, [1]) == 1.0
    assert value("IPrec(recall=0.3,rule=9)", ranking, [1]) == 0.5


def test_geometric_mean_has_a_floor() -> None:
    measure = Measure.parse("gm_map")
    assert aggregate(measure, np.array([0.0, 1.0])) == pytest.approx(1e-5**0.5)


def test_sums_and_means() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert aggregate(Measure.parse("NumRet"), values) == 7.0
    assert aggregate(Measure.parse("P@5"), values) == 7.0 / 3
