"""Analyses of real collections: published numbers, plain counts, and how good guesses are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from real import COLLECTIONS

RECIPES, ROBUST = COLLECTIONS / "recipes", COLLECTIONS / "robust03"
pytestmark = pytest.mark.skipif(not COLLECTIONS.exists(), reason="no real collections here")


def look(analysis: str, qrels: Any, runs: Any, measures: Any, **given: Any) -> Any:
    diagnosis = rs.diagnose(qrels, runs, measures, only=analysis, **given)
    return getattr(diagnosis.analyses, analysis)


def test_gaps_of_the_published_system_of_the_tutorial() -> None:
    """Published: hit@1, 3, 5, 10 of 0.535, 0.68, 0.73, 0.81, and MRR of 0.623."""
    qrels, run = {}, {}
    for line in (RECIPES / "published-bm25.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        query_id, target, rank = row["query_id"], row["target"], row["target_rank"]
        documents = [*row["retrieved"], *(f"unknown {number}" for number in range(5))]
        if rank is not None:
            documents[rank - 1] = target
        qrels[query_id], run[query_id] = {target: 1}, documents
    [only] = look("gaps", qrels, {"bm25": run}, ["RR@10"]).systems
    assert only.success == pytest.approx({1: 0.535, 3: 0.68, 5: 0.73, 10: 0.81}, abs=1e-12)
    assert round(only.rr, 3) == 0.623
    assert (only.problem, only.favours) == ("none: good ranking", "quality over quantity")
    assert only.reranked[10] == pytest.approx(0.81)
    assert only.retrieval.value == pytest.approx(0.19)


def test_unjudged_documents_of_official_runs_as_bounds_has_them() -> None:
    runs = {name: rs.read_run(ROBUST / f"{name}.run.gz") for name in ("THUIRr0301", "uic0301")}
    qrels = rs.read_qrels(ROBUST / "qrels.txt.gz")
    result = look("holes", qrels, runs, ["nDCG@10", "P@10"])
    for row in result.values:
        [bound] = rs.bounds(qrels, runs[row.system], row.measure)
        assert bound.holes is not None
        assert row.value == bound.value


@pytest.mark.parametrize("name", ["rutcor03100", "pircRBa1"])
def test_documents_taken_out_of_the_judgments_are_as_often_relevant_as_is_estimated(
    name: str,
) -> None:
    qrels = rs.read_qrels(ROBUST / "qrels.txt.gz").to_dict()
    runs = {path.name[:-7]: rs.read_run(path) for path in sorted(ROBUST.glob("*.run.gz"))}
    tops = {
        system: {
            query_id: sorted(scores, key=lambda d, s=scores: (s[d], d), reverse=True)[:50]  # type: ignore[misc]
            for query_id, scores in run.to_dict().items()
        }
        for system, run in runs.items()
    }
    taken = {}
    for query_id, documents in tops[name].items():
        others = {d for system in runs if system != name for d in tops[system].get(query_id, ())}
        for doc_id in documents[:10]:
            if doc_id not in others and doc_id in qrels.get(query_id, {}):
                taken[query_id, doc_id] = qrels[query_id].pop(doc_id) >= 1
    config = {"holes": {"judge": 10_000}}
    judge = look("holes", qrels, runs, ["P@10"], baseline=name, configs=config).judge
    guesses = [pair.probability for pair in judge if (pair.query_id, pair.doc_id) in taken]
    assert len(guesses) >= 0.9 * len(taken)
    assert np.mean(guesses) == pytest.approx(np.mean(list(taken.values())), abs=0.05)


def test_copies_among_products() -> None:
    corpus = rs.read_corpus(COLLECTIONS / "electronics" / "corpus.jsonl.gz")
    qrels = rs.read_qrels(COLLECTIONS / "electronics" / "qrels" / "test.tsv")
    ranking = {query_id: list(qrels[query_id]) for query_id in qrels.query_ids}
    result = look("duplicates", qrels, rs.Run(ranking), ["nDCG@10"], corpus=corpus)
    forms = {(document.title + " " + document.text).casefold() for document in corpus.documents()}
    spaced = {" ".join(form.split()) for form in forms}
    assert result.pairs_left_out == 0
    assert result.exact.superfluous >= len(corpus) - len(spaced) > 100
    assert result.all_copies.documents == 302


def test_claims_that_are_in_training_too() -> None:
    folder = COLLECTIONS / "scifact"
    queries = rs.read_queries(folder / "queries.jsonl")
    qrels = rs.read_qrels(folder / "qrels" / "test.tsv")
    learnt = rs.read_qrels(folder / "qrels" / "train.tsv").query_ids
    training = {query_id: queries[query_id] for query_id in learnt}
    run = rs.Run({query_id: list(qrels[query_id]) for query_id in qrels.query_ids})
    result = look("leaks", qrels, run, ["RR@2"], queries=queries, training=training)
    assert {count.kind: count.queries for count in result.kinds} == {
        "is a training question": 2,
        "is nearly a training question": 16,
    }
