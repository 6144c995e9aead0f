"""Explanations add up, and show the gains and discounts a value is made of."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from measures.variants import VARIANTS
from rankscope.measures.language import Measure
from rankscope.records.tops import best_judged, tops
from rankscope.runs.table import as_run
from rankscope.scoring.explain import Explanation
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.rules import PROFILES, profile_named
from scoring.worlds import DOCS, GRADES, naive_ranking

JUDGED = st.dictionaries(st.sampled_from(DOCS), GRADES, min_size=1)
SCORED = st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0.5, 1.0, 2.0, 20000001.0]))
BY_GRADE = [measure for measure in VARIANTS if not measure.definition.needs]
BY_SUBTOPIC = [measure for measure in VARIANTS if measure.definition.needs == "subtopics"]


def check(told: Explanation, value: float) -> None:
    assert told.value == value
    assert told.start + math.fsum(step.contribution for step in told.steps) == pytest.approx(
        value, abs=1e-9
    )
    ranks = [step.rank for step in told.steps]
    assert ranks == sorted(set(ranks))
    assert all(step.contribution for step in told.steps if step.rank > 3)


def check_all(qrels: Any, run: Any, measures: list[Measure]) -> None:
    values = rs.evaluate(qrels, run, measures)
    for measure in measures:
        told = rs.explain(qrels, run, "q", measure, depth=3)
        check(told, values.values(measure)["q"])


@settings(max_examples=12, deadline=None)
@given(grades=JUDGED, scores=SCORED)
def test_contributions_add_up_to_the_value(
    grades: dict[str, float], scores: dict[str, float]
) -> None:
    check_all({"q": grades, "p": {"a": 5.0}}, {"q": scores, "p": {"a": 1.0}}, BY_GRADE)


@settings(max_examples=12, deadline=None)
@given(
    grades=st.dictionaries(
        st.sampled_from(DOCS), st.dictionaries(st.sampled_from("xyz"), st.sampled_from([0, 1, 1]))
    ).filter(lambda grades: len({topic for one in grades.values() for topic in one}) > 1),
    scores=SCORED,
)
def test_contributions_add_up_by_subtopic(
    grades: dict[str, dict[str, float]], scores: dict[str, float]
) -> None:
    qrels = {"q": grades, "p": {"a": {"x": 1, "y": 1}}}
    check_all(qrels, {"q": scores, "p": {"a": 1.0}}, BY_SUBTOPIC)


SUMS = [Measure.parse(f"{name}{params}{cut}")
        for name in ("DCG", "nDCG")
        for params in ("", "(gain=exp)", "(gain=binary,rel=2)", "(gain={0:1,1:3,2:0.5})",
                       "(judged_only=True)")
        for cut in ("", "@2", "@5")] + [
    Measure.parse(text)
    for text in ("RBP", "RBP(p=0.5)@3", "RBP(gain=linear)", "RBP(gain=exp,scale=query)",
                 "RBP(gain={1:3,2:1})", "RBP(judged_only=True)@4")]  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(grades=JUDGED, scores=SCORED)
def test_gains_times_discounts_are_the_value(
    grades: dict[str, float], scores: dict[str, float]
) -> None:
    qrels, run = {"q": grades, "p": {"a": 2.0}}, {"q": scores, "p": {"a": 1.0}}
    for measure in SUMS:
        told = rs.explain(qrels, run, "q", measure)
        found = sum((step.gain or 0.0) * (step.discount or 0.0) for step in told.steps)
        if measure.name == "nDCG":
            dcg = rs.evaluate(qrels, run, str(measure).replace("nDCG", "DCG", 1))
            best = told.value and dcg.values(dcg.measures[0])["q"] / told.value
            assert found == pytest.approx(told.value * best, abs=1e-9), str(measure)
        else:
            assert found == pytest.approx(told.value, abs=1e-9), str(measure)
        for step in told.steps:
            whole = (measure.name == "nDCG" and best) or 1.0
            assert (step.gain or 0.0) * (step.discount or 0.0) / whole == pytest.approx(
                step.contribution, abs=1e-9
            )


@pytest.mark.parametrize("profile", PROFILES)
def test_ranks_are_those_of_the_profile(profile: str) -> None:
    rules = PROFILES[profile].rules_for(Measure.parse("RR"))
    run = {"q": {"a": 20000000.0, "q": 20000000.0, "c": 20000001.0, "b": 20000000.0}}
    told = rs.explain({"q": {"b": 1}}, run, "q", "RR", profile=profile)
    scores = {d: s for d, s in run["q"].items() if rules.identical_ids or d != "q"}
    docs = [step.doc_id for step in told.steps]
    assert docs == naive_ranking(scores, rules.ties, rules.precision)
    assert told.value == rs.evaluate({"q": {"b": 1}}, run, "RR", profile=profile)["RR"]


def test_an_explanation_by_hand() -> None:
    qrels = {"q": {"a": 3, "b": 1, "c": 2, "n": 0}, "p": {"z": 1}}
    run = {"q": {"x": 4.0, "a": 3.0, "n": 2.0, "b": 1.0}}
    told = rs.explain(qrels, {"bm25": run}, "q", "ndcg_cut_10")
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    found = 3 / math.log2(3) + 1 / math.log2(5)
    assert (told.measure, told.query_id, told.run) == ("nDCG@10", "q", "bm25")
    assert (told.relevant, told.retrieved, told.left_out, told.start) == (3, 4, 0, 0.0)
    assert told.value == pytest.approx(found / ideal)
    assert [step.doc_id for step in told.ideal] == ["a", "c", "b"]
    assert rs.explain(qrels, run, "q", "AP(rel=2)").relevant == 2
    step = told.steps[1]
    assert (step.rank, step.doc_id, step.score, step.grade) == (2, "a", 3.0, 3.0)
    assert (step.gain, step.discount) == (3.0, 1 / math.log2(3))
    assert step.contribution == pytest.approx(told.value - told.steps[3].contribution)


def test_ranks_that_add_nothing_are_counted_and_not_listed() -> None:
    run = {"q": {f"d{n:03}": float(-n) for n in range(200)}}
    told = rs.explain({"q": {"d150": 1}}, run, "q", "AP", depth=5)
    assert [step.rank for step in told.steps] == [1, 2, 3, 4, 5, 151]
    assert told.left_out == 194
    falling = rs.explain({"q": {"d001": 1, "d099": 0}}, run, "q", "SetP", depth=5)
    assert [step.rank for step in falling.steps] == [1, 2, 3, 4, 5, 100, 200]
    assert falling.steps[5].contribution == pytest.approx(1 / 100 - 1 / 5)  # ranks 6 to 100


def test_a_query_the_run_lacks_is_explained() -> None:
    told = rs.explain({"q": {"a": 1}, "p": {"a": 1}}, {"p": {"a": 1.0}}, "q", "nDCG@10")
    assert (told.value, told.retrieved, told.steps) == (0.0, 0, ())


def test_ids_given_as_numbers_and_unknown_queries() -> None:
    assert rs.explain({1: {2: 1}}, {1: {2: 1.0}}, 1, "RR").value == 1.0  # type: ignore[arg-type]
    with pytest.raises(rs.UnknownNameError, match="q1"):
        rs.explain({"q1": {"a": 1}}, {"q1": {"a": 1.0}}, "q3", "RR")
    with pytest.raises(rs.InputError, match="one run"):
        rs.explain({"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}, "y": {"q": {"a": 1.0}}}, "q", "RR")


# --- the first documents of every answer ---------------------------------------------------------

TOP_MEASURES = ("nDCG@10", "AP", "RR", "P@5", "ERR@20", "RBP(p=0.8)", "Bpref", "Success@3", "R@4",
            "nDCG(judged_only=true)@5", "infAP", "SetP")  # fmt: skip


def tied_world(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
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
    qrels, run = tied_world(1)
    rules = profile_named(profile)
    for measure in TOP_MEASURES:
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
