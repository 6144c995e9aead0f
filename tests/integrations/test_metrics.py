"""Flat metrics: names that stay, numbers that are those of the result."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from conftest import Rankscope
from rankscope.integrations.metrics import metrics_of

QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
GOOD = {query_id: {"b": 2.0, "a": 1.0} for query_id in QRELS}
MIXED = {
    query_id: {"a": 2.0, "b": 1.0} if n % 3 else GOOD[query_id] for n, query_id in enumerate(QRELS)
}


def test_scores_of_one_run_have_plain_names() -> None:
    scores = rs.evaluate(QRELS, MIXED, ["nDCG@10", "NumRet"])
    metrics = metrics_of(scores)
    assert list(metrics) == ["nDCG@10", "nDCG@10.low", "nDCG@10.high", "NumRet", "queries"]
    assert metrics["nDCG@10"] == scores["nDCG@10"]
    assert metrics["nDCG@10.low"] == scores.intervals["nDCG@10"].low < scores["nDCG@10"]
    assert metrics["queries"] == 12
    assert list(metrics_of(scores, intervals=False)) == ["nDCG@10", "NumRet", "queries"]


def test_several_runs_come_first_in_the_names() -> None:
    scores = rs.evaluate(QRELS, {"x": GOOD, "y": MIXED}, ["nDCG@10"])
    assert list(metrics_of(scores, intervals=False)) == [
        "x/nDCG@10", "x/queries", "y/nDCG@10", "y/queries"
    ]  # fmt: skip


def test_a_comparison() -> None:
    comparison = rs.compare(QRELS, {"x": GOOD, "y": MIXED}, ["nDCG@10"], resamples=200)
    metrics = metrics_of(comparison)
    pair = comparison.pair("y", "x")
    assert metrics["y-vs-x/nDCG@10.difference"] == pair.difference
    assert metrics["y-vs-x/nDCG@10.difference.low"] == pair.interval.low
    assert metrics["y-vs-x/nDCG@10.p"] == pair.p_corrected
    assert metrics["x/nDCG@10"] == 1
    assert metrics["y/nDCG@10.high"] == comparison.mean("y").interval.high


@pytest.mark.parametrize(
    ("candidate", "answer"), [(GOOD, (1, 0, 0)), (MIXED, (0, 1, 0)), ({**GOOD, **{
        query_id: MIXED[query_id] for query_id in ("q1", "q2")}}, (1, 0, 1))]
)  # fmt: skip
def test_a_gate_says_its_answer_in_numbers(candidate: Any, answer: tuple[int, int, int]) -> None:
    result = rs.gate(GOOD, candidate, "nDCG@10", qrels=QRELS, minimum={"RR": 0.5})
    metrics = metrics_of(result)
    assert tuple(metrics[name] for name in ("passed", "regression", "cant_tell")) == answer
    assert metrics["nDCG@10.baseline"] == 1
    assert metrics["RR.floor"] == 0.5
    assert metrics["nDCG@10.difference"] == result.checks[0].difference


def test_names_do_not_depend_on_the_outcome() -> None:
    better = metrics_of(rs.gate(MIXED, GOOD, ["nDCG@10", "RR"], qrels=QRELS))
    worse = metrics_of(rs.gate(GOOD, MIXED, ["nDCG@10", "RR"], qrels=QRELS))
    assert list(better) == list(worse)


def test_what_is_not_finite_is_left_out() -> None:
    equal = rs.evaluate({"q": ["a"], "r": ["a"]}, {"q": ["a"], "r": ["a"]}, "DCG@3")
    assert math.isinf(equal.intervals["DCG@3"].high)
    assert list(metrics_of(equal)) == ["DCG@3", "DCG@3.low", "queries"]


def test_a_retriever() -> None:
    result = rs.evaluate_retriever({"x?": ["a"], "y?": ["b"]}.get, {"x?": ["a"], "y?": ["c"]}, k=3)
    metrics = metrics_of(result)
    assert (metrics["Success@3"], metrics["failing"], metrics["queries"]) == (0.5, 1, 2)


def test_other_things_have_none() -> None:
    with pytest.raises(TypeError, match="Explanation has no metrics"):
        metrics_of(rs.explain(QRELS, GOOD, "q1", "RR"))


# --- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "code", "name"),
    [
        ("evaluate qrels.tsv mixed.run -m nDCG@2", 0, "nDCG@2.low"),
        ("compare qrels.tsv good.run mixed.run -m nDCG@2", 0, "mixed-vs-good/nDCG@2.difference"),
        ("gate good.run mixed.run --qrels qrels.tsv -m nDCG@2", 1, "nDCG@2.difference.high"),
        ("evaluate qrels.tsv part.run -m RR", 0, "RR"),
    ],
)
def test_commands_write_one_flat_object(
    rankscope: Rankscope, tmp_path: Path, typed: str, code: int, name: str
) -> None:
    """Warnings go to standard error."""
    part = {query_id: GOOD[query_id] for query_id in list(GOOD)[1:]}
    for run_name, run in (("good", GOOD), ("mixed", MIXED), ("part", part)):
        rs.Run(run).write(tmp_path / f"{run_name}.run")
    rs.Qrels(QRELS).write(tmp_path / "qrels.tsv")
    done = rankscope(*typed.split(), "--format", "metrics")
    assert done.returncode == code
    metrics = json.loads(done.stdout)
    assert name in metrics
    assert {type(value) for value in metrics.values()} <= {int, float}
    assert bool(done.stderr) == ("part" in typed)
