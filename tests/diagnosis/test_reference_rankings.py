"""Random and ideal rankings: against the mean over all orders, each scored as a run."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.reference_rankings import RandomRankings
from rankscope.measures.judged import BoolArray
from rankscope.scoring.inputs import as_judgments

QRELS: dict[str, dict[str, int]] = {
    "q1": {"a": 2, "b": 1, "c": 0},
    "q2": {"b": 1},
    "q3": {"a": 0, "c": -1, "d": 3},
}
DOCUMENTS = ["a", "b", "c", "d", "e"]
DEPTH = 3


def rankings(qrels: Any = None, placed: BoolArray | None = None) -> RandomRankings:
    judgments = as_judgments(QRELS if qrels is None else qrels)
    every = np.ones(len(judgments.query), np.bool_)
    given: dict[str, Any] = {"documents": len(DOCUMENTS), "depth": DEPTH}
    return RandomRankings(judgments, placed=every if placed is None else placed, **given)


@cache
def all_orders(depth: int | None) -> dict[str, Any]:
    """Score all orders of the documents as runs: by measure ``[orders, queries]``."""
    measures = FORMULAS
    values = []
    for order in itertools.permutations(DOCUMENTS):
        run = {query_id: list(order[:depth]) for query_id in QRELS}
        scores = rs.evaluate(QRELS, run, measures)
        values.append([list(scores.values(measure).values()) for measure in measures])
    table = np.array(values)
    return {measure: table[:, row] for row, measure in enumerate(measures)}


def mean_of_all_orders(measure: str) -> tuple[Any, Any]:
    """Return mean and variance by query; a measure without cutoff sees runs of the depth."""
    is_cut = rs.Measure.parse(measure).cutoff is not None
    values = all_orders(None if is_cut else DEPTH)[measure]
    return values.mean(axis=0), values.var(axis=0)


FORMULAS = [
    "Success@2",
    "P@2",
    "P@7",
    "R@2",
    "R(rel=2)@3",
    "R(rel=0)@2",
    "RR",
    "RR@2",
    "AP",
    "AP@2",
    "AP(norm=min)@2",
    "nDCG@2",
    "nDCG",
    "nDCG(gain={1:3,2:1})@3",
    "DCG(least=2)@3",
]


@pytest.mark.parametrize("measure", FORMULAS)
def test_formulas_agree_with_all_orders(measure: str) -> None:
    chance = rankings().of(rs.Measure.parse(measure))
    assert chance is not None
    mean, variance = mean_of_all_orders(measure)
    assert chance[0].tolist() == pytest.approx(mean.tolist(), abs=1e-12)
    if measure.startswith("AP"):
        assert chance[1] is None
    else:
        assert chance[1] is not None
        assert chance[1].tolist() == pytest.approx(variance.tolist(), abs=1e-12)


def test_documents_that_are_not_there_are_never_found() -> None:
    judgments = as_judgments(QRELS)
    assert judgments.judged_query.tolist() == [0, 0, 0, 1, 2, 2, 2]
    placed = np.array([False, True, True, True, False, True, True])  # without a of q1, d of q3
    world = rankings(placed=placed)
    recall = world.of(rs.Measure.parse("R@2"))
    assert recall is not None
    assert recall[0].tolist() == pytest.approx([0.2, 0.4, 0.0])  # of q1 one of two can be found
    success = world.of(rs.Measure.parse("Success@5"))
    assert success is not None
    assert success[0].tolist() == [1.0, 1.0, 0.0]


def test_what_needs_more_than_grades_or_has_no_formula_has_no_answer() -> None:
    assert rankings().of(rs.Measure.parse("ERR@5")) is None
    assert rankings().of(rs.Measure.parse("RR(judged_only=True)@2")) is None
    assert rankings().of(rs.Measure.parse("alpha_nDCG@5")) is None
