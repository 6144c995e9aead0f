"""Unjudged documents: planted ones are found, and what they could change is what judging does."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.hole_effects import Conclusion
from rankscope.diagnosis.holes import Holes, holes
from rankscope.diagnosis.judge_next import SMOOTHING, write_pool
from rankscope.errors import InputError
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments

DOCS = list("abcdefgh")


def look(qrels: Any, runs: Any, measures: Any = "P@2", **given_inputs: Any) -> Holes:
    asked = [measures] if isinstance(measures, str) else measures
    diagnosis = rs.diagnose(qrels, runs, asked, only="holes", **given_inputs)
    answer = diagnosis.analyses.holes  # type: ignore[attr-defined]
    assert isinstance(answer, Holes)
    json.dumps(answer.to_dict(), allow_nan=False)
    return answer


def codes(result: Holes) -> list[str]:
    return [finding.code for finding in result.findings]


# --- what is unjudged


def test_pooled_documents_are_unjudged() -> None:
    result = look({"q": {"a": 1, "b": 0, "c": -1}}, {"s": {"q": ["c", "a"]}})
    [system] = result.systems
    assert system.unjudged == {1: 1, 2: 1}
    assert result.negative == 1


def test_many_unjudged_are_a_finding_and_advice() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 0, "c": 1} for n in range(20)}
    runs = {
        "new": {q: ["x", "a", "y", "z", "c"] for q in qrels},
        "old": {q: ["b", "b2", "b3", "a"] for q in qrels},
    }
    qrels = {q: {**grades, "b2": 0, "b3": 0} for q, grades in qrels.items()}
    result = look(qrels, runs, "P@4")
    assert codes(result) == ["RS675"]
    result = look(qrels, runs, "RR@4")
    assert codes(result) == ["RS675"]
    assert [finding.gain for finding in result.findings] == [0.5]
    sound = {q: grades | dict.fromkeys("xyz", 0) for q, grades in qrels.items()}
    result = look(sound, runs, "P@4")
    assert (result.findings, result.judge, result.candidates) == ((), (), 0)


def test_where_only_relevant_documents_were_judged_nothing_is_alarming() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(20)}
    runs = {"s": {q: ["x", "y", "z", "a"] for q in qrels}, "t": {q: ["a"] for q in qrels}}
    result = look(qrels, runs, "nDCG@5")
    assert (result.by_design, result.findings) == (True, ())
    # a nonrelevant judgment of half of the queries is enough to be judged by a pool
    qrels = {
        q: {**grades, "n": 0} if n < 10 else grades for n, (q, grades) in enumerate(qrels.items())
    }
    assert look(qrels, runs, "nDCG@5").findings


# --- conclusions


def conclusion_of(qrels: Any, runs: Any, measure: str, **options: Any) -> Conclusion:
    [conclusion] = look(qrels, runs, measure, **options).conclusions
    return conclusion


def test_a_conclusion_that_is_open() -> None:
    # ahead is right on 5 of 8 queries, behind on 3, and on 4 nobody knows about behind
    qrels = {f"q{n}": {"a": 1, "n": 0} for n in range(8)}
    runs = {
        "ahead": {f"q{n}": ["a"] if n < 5 else ["n"] for n in range(8)},
        "behind": {f"q{n}": ["x"] if n < 4 else ["n"] if n == 4 else ["a"] for n in range(8)},
    }
    result = look(qrels, runs, "P@1")
    [conclusion] = result.conclusions
    assert conclusion.p_corrected is not None
    assert conclusion.p_corrected > 0.5  # more queries matter, and not what is unjudged
    assert "RS677" not in codes(result)
    assert conclusion.verdict == "open"
    assert conclusion.difference == 2 / 8
    assert conclusion.unjudged == 4
    assert conclusion.lowest == pytest.approx(2 / 8 - 4 / 8)
    # of the 8 documents that only behind has at rank 1, 3 are known to be relevant
    p = (3 + SMOOTHING * 3.5 / 9) / (8 + SMOOTHING)
    assert [pair.probability for pair in result.judge] == pytest.approx([p] * 4)
    # 3 or 4 of 4 must be relevant; three standard errors of 400 draws
    assert conclusion.chance == pytest.approx(4 * p**3 * (1 - p) + p**4, abs=0.055)


def test_a_conclusion_that_is_shown_and_open_is_a_finding() -> None:
    """Ahead is right on all of 20 queries; behind on 12, and on 8 nobody knows."""
    qrels = {f"q{n}": {"a": 1, "b": 1, "n": 0} for n in range(20)}
    runs = {
        "ahead": {f"q{n}": ["a", "n"] for n in range(20)},
        "behind": {f"q{n}": ["x", "y"] if n < 8 else ["b", "n"] for n in range(20)},
    }
    result = look(qrels, runs, "P@2")
    [conclusion] = result.conclusions
    assert conclusion.p_corrected == pytest.approx(2 / 2**8, abs=0.005)  # by sign flips
    assert (conclusion.verdict, conclusion.unjudged) == ("open", 16)
    assert conclusion.chance is not None
    assert conclusion.chance >= 0.05
    assert [each.gain for each in result.findings if each.code == "RS677"] == [4 / 20]


def test_equal_systems_have_no_conclusion_to_turn_round() -> None:
    runs = {"s": {"q": ["a", "x"]}, "t": {"q": ["a", "y"]}}
    conclusion = conclusion_of({"q": {"a": 1, "b": 0}}, runs, "P@2")
    assert (conclusion.verdict, conclusion.difference, conclusion.chance) == ("equal", 0.0, None)


WORLD = st.tuples(
    st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0, 1, 2]), min_size=1, max_size=5),
    st.permutations(DOCS),
    st.permutations(DOCS),
    st.integers(1, 5),
)


@settings(max_examples=12, deadline=None)
@given(worlds=st.lists(WORLD, min_size=1, max_size=3))
def test_no_way_to_judge_is_much_worse_than_the_worst_case(worlds: list[Any]) -> None:
    queries = [f"q{n}" for n in range(len(worlds))]
    qrels = {q: {**world[0], "i": 0} for q, world in zip(queries, worlds, strict=True)}
    runs = {
        name: {q: list(world[side])[: world[3]] for q, world in zip(queries, worlds, strict=True)}
        for side, name in ((1, "s"), (2, "t"))
    }
    qrels["sound"], qrels["known"] = {"a": 2, "n": 0}, {"b": 1, "n": 0}
    for run in runs.values():
        run["sound"], run["known"] = ["a"], ["b"]
    for measure in ("P@2", "RR@3"):  # the more that help are relevant, the better for the worse
        conclusion = conclusion_of(qrels, runs, measure)
        if conclusion.verdict == "equal":
            continue
        pair = [runs[conclusion.worse], runs[conclusion.better]]
        worse, better = (rs.evaluate(qrels, run, measure)[measure] for run in pair)
        assert conclusion.difference == pytest.approx(better - worse)
        assert (conclusion.verdict == "holds") == (conclusion.lowest > 1e-9)
        if conclusion.unjudged <= 5:
            lowest = lowest_of_all(qrels, pair, measure)
            assert conclusion.lowest == pytest.approx(lowest, abs=1e-9)


def lowest_of_all(qrels: Any, pair: list[Any], measure: str) -> float:
    """Return the lowest difference over all ways to judge."""
    depth = int(measure.partition("@")[2])
    holes = sorted(
        {
            (q, doc_id)
            for run in pair
            for q, docs in run.items()
            for doc_id in docs[:depth]
            if doc_id not in qrels[q]
        }
    )
    differences: list[float] = []
    for way in product((0, 1), repeat=len(holes)):
        judged = {q: dict(grades) for q, grades in qrels.items()}
        for (query_id, doc_id), grade in zip(holes, way, strict=True):
            judged[query_id][doc_id] = grade
        worse, better = (rs.evaluate(judged, run, measure)[measure] for run in pair)
        differences.append(better - worse)
    return float(min(differences))


# --- what to judge next


def test_the_order_of_what_to_judge_by_hand() -> None:
    qrels = {q: {"a": 1, "n": 0, "m": 0} for q in ("q1", "q2")}
    runs = {
        "base": {"q1": ["a", "x"], "q2": ["a", "n"]},
        "new": {"q1": ["y", "x"], "q2": ["n", "z"]},
    }
    result = look(
        qrels, runs, "DCG@2", baseline="base", queries={"q1": "what?"}, corpus={"y": "Ypsilon"}
    )
    # x is in both at rank 2 and changes nothing; y is worth 1 at rank 1, z 1/log2(3) at rank 2
    second = 1 / math.log2(3)
    assert [(pair.query_id, pair.doc_id) for pair in result.judge] == [("q1", "y"), ("q2", "z")]
    first, last = result.judge
    assert (first.text, first.title, first.ranks) == ("what?", "Ypsilon", {"new": 1})
    assert (last.text, last.title, last.ranks) == (None, None, {"new": 2})
    assert first.change == pytest.approx(1 / 2)  # of the mean of two queries
    assert last.change == pytest.approx(second / 2)
    # of the two documents that only new has, one at each rank, none is known to be relevant
    overall = 0.5 / 3
    assert first.probability == pytest.approx((0 + SMOOTHING * overall) / (1 + SMOOTHING))
    assert last.probability == first.probability
    assert first.priority == first.change * first.probability
    assert result.candidates == 3


def test_only_pairs_that_are_open_are_worth_judging() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 1, "n": 0, "m": 0} for n in range(4)}
    runs = {
        "best": {q: ["a", "b"] for q in qrels},
        "near": {q: ["a", "b"] if q != "q0" else ["a", "x"] for q in qrels},
        "far": {q: ["n", "m"] if q != "q1" else ["n", "y"] for q in qrels},
    }
    result = look(qrels, runs, "P@2")
    assert [row.verdict for row in result.conclusions] == ["open", "holds"]
    assert [pair.doc_id for pair in result.judge] == ["x"]


def test_the_pool_is_a_file_of_judgments_to_be_made(tmp_path: Path) -> None:
    qrels = {q: {"a": 1, "n": 0} for q in ("q1", "q2")}
    runs = {"s": {"q1": ["a"], "q2": ["n", "x"]}, "t": {"q1": ["y", "z"], "q2": ["a"]}}
    result = look(qrels, runs, "P@2", queries={"q1": 'a "quoted", question'})
    pairs = {(pair.query_id, pair.doc_id) for pair in result.judge}
    assert pairs == {("q2", "x"), ("q1", "y"), ("q1", "z")}
    for name in ("pool.qrels", "pool.qrels.gz"):
        write_pool(result.judge, tmp_path / name)
        back = rs.read_qrels(tmp_path / name).to_dict()
        assert {(q, doc_id) for q, docs in back.items() for doc_id in docs} == pairs
        assert {grade for docs in back.values() for grade in docs.values()} == {-1}
    assert (tmp_path / "pool.qrels").read_text() == "q1 0 y -1\nq1 0 z -1\nq2 0 x -1\n"
    # put beside the judgments they change nothing: pooled is not judged
    both = {q: {**qrels[q], **back[q]} for q in qrels}
    assert rs.evaluate(both, runs["t"], "P@2")["P@2"] == rs.evaluate(qrels, runs["t"], "P@2")["P@2"]
    write_pool(result.judge, tmp_path / "pool.jsonl")
    lines = (tmp_path / "pool.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [pair.to_dict() for pair in result.judge]
    write_pool(result.judge, tmp_path / "pool.csv")
    table = pl.read_csv(tmp_path / "pool.csv")
    assert table["doc_id"].to_list() == [pair.doc_id for pair in result.judge]
    assert table["text"].to_list() == [pair.text for pair in result.judge]
    assert table["rank"].to_list() == [min(pair.ranks.values()) for pair in result.judge]
    with pytest.raises(InputError, match="pdf"):
        write_pool(result.judge, tmp_path / "pool.pdf")


# --- odd but legal


def test_the_grade_of_a_hole_is_relevant_to_the_main_measure() -> None:
    qrels, runs = {"q": {"a": 2, "b": 1, "c": 0}}, {"s": {"q": ["x", "a"]}}
    assert look(qrels, runs, "P(rel=2)@2").grade == 2
    assert look(qrels, runs, "P(rel=2)@2").judge
    assert look(qrels, runs, "P@2").grade == 1
    assert look(qrels, runs, "P@2", configs={"holes": {"hole_grade": 3}}).grade == 3
    # with one system its mean counts, and of equal pairs the lower id comes first
    run = {"q": ["y", "x", "a"]}
    assert [(pair.doc_id, pair.change) for pair in look(qrels, {"s": run}, "P@2").judge] == [
        ("x", 1 / 2),
        ("y", 1 / 2),
    ]


def test_measures_by_subtopic_are_left_to_others() -> None:
    qrels = {"q": {"a": {"1": 1, "2": 0}, "b": {"2": 1}}}
    runs = {"s": {"q": ["x", "a"]}, "t": {"q": ["a", "b"]}}
    result = look(qrels, runs, ["alpha_nDCG@5", "P@2"])
    assert (result.measure, result.judged_by) == ("alpha_nDCG@5", "P@2")
    assert result.values[0].relevant is None
    alone = look(qrels, runs, ["alpha_nDCG@5"])
    assert (alone.judged_by, alone.conclusions, alone.judge) == (None, (), ())


def test_without_documents_it_is_not_applicable() -> None:
    runs = {"s": rs.Run({"p": ["a"]})}
    scores = rs.evaluate({"p": {"a": 1}}, runs, ["P@1"])
    given = Inputs(scores=scores, runs=runs, qrels=as_judgments({"q": {"a": 1}}))
    answer = holes.answer(holes.config(), given)
    assert isinstance(answer, NotApplicable)


def test_documents_of_one_query_count_together() -> None:
    """Ten unjudged documents of one query are worth no more than that query."""
    qrels: Any = {f"q{n}": {"a": 1, "n": 0} for n in range(12)}
    qrels["none"] = {"n": 0}
    runs: Any = {
        "ahead": {query: ["a", *(f"s{n}" for n in range(9))] for query in qrels},
        "behind": {query: ["n", "a", *(f"s{n}" for n in range(8))] for query in qrels},
    }
    runs["ahead"]["none"] = ["n"]
    runs["behind"]["none"] = [f"x{n}" for n in range(10)]
    result = look(qrels, runs, "nDCG@10")
    [conclusion] = result.conclusions
    # the query without a relevant document is worth 1 / 13 at most, and the lead is larger
    assert conclusion.difference > 1 / 13
    assert conclusion.chance == 0.0
