"""The first documents of each answer: in the order that was scored; adds are those of explain."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import rankscope as rs
from rankscope.measures.language import Measure
from rankscope.runs.table import as_run
from rankscope.scoring.explain import best_judged, tops
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.rules import profile_named

MEASURES = ("nDCG@10", "AP", "RR", "P@5", "ERR@20", "RBP(p=0.8)", "Bpref", "Success@3", "R@4",
            "nDCG(judged_only=true)@5", "infAP", "SetP")  # fmt: skip


def world(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Make judgments and a run with ties, gaps and unjudged documents."""
    chance = random.Random(seed)
    qrels, run = {}, {}
    for number in range(12):
        docs = [f"d{doc}" for doc in range(30)]
        judged = chance.sample(docs, 9)
        qrels[f"q{number}"] = {doc: chance.choice([-1, 0, 0, 1, 2]) for doc in judged}
        if number != 3:
            retrieved = chance.sample(docs, chance.randint(1, 15))
            run[f"q{number}"] = {doc: float(chance.randint(0, 6)) for doc in retrieved}
    run["unjudged"] = {"d1": 1.0}
    return qrels, run


@pytest.mark.parametrize("profile", ["rankscope", "trec_eval-9", "ranx"])
def test_adds_are_those_of_explain(profile: str) -> None:
    qrels, run = world(1)
    rules = profile_named(profile)
    for measure in MEASURES:
        meant = rules.meaning(Measure.parse(measure))
        top = tops(as_judgments(qrels), as_run(run), meant, profile=rules, depth=8)
        for query_id in sorted(run):
            rows = top.filter(pl.col("query_id") == query_id)
            assert rows["rank"].to_list() == list(range(1, min(8, len(run[query_id])) + 1))
            if query_id not in qrels:
                assert rows["adds"].null_count() == len(rows)
                continue
            steps = rs.explain(qrels, run, query_id, measure, profile=profile, depth=30).steps
            for step in steps[: len(rows)]:
                row = rows.row(step.rank - 1, named=True)
                assert (row["doc_id"], row["score"]) == (step.doc_id, step.score)
                assert row["adds"] == pytest.approx(step.contribution, abs=1e-12), measure


def test_the_best_judged_come_by_grade_then_by_the_higher_id() -> None:
    grades = [("b", "x", 1.0), ("b", "y", 2.0), ("b", "z", 2.0), ("a", "u", 0.0), ("b", "w", -1.0),
              ("a", "v", 1.0)]  # fmt: skip
    judged = pl.DataFrame(grades, schema=["query_id", "doc_id", "grade"], orient="row")
    best = best_judged(judged, 2).select("query_id", "doc_id", "rank")
    assert best.rows() == [("b", "z", 1), ("b", "y", 2), ("a", "v", 1)]


def test_an_empty_run_has_no_top() -> None:
    top = tops(as_judgments({"q": {"d": 1}}), as_run({"q": {}}), Measure.parse("RR"),
               profile=profile_named("rankscope"), depth=5)  # fmt: skip
    assert len(top) == 0
    assert np.dtype("float64") == top["adds"].to_numpy().dtype
