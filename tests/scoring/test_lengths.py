"""Document lengths reach the measures that need them, in rank order."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.errors import InputError

QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d3": 1.0}}
LENGTHS = {"d1": 100, "d2": 500, "d3": 10}


@pytest.mark.parametrize("form", [dict, rs.Run])
def test_the_time_spent_above_discounts_a_document(form: Any) -> None:
    """In q1 a nonrelevant document of 500 words is read first; in q2 nothing is."""
    seconds = 4.4 + 0.39 * (0.018 * 500 + 7.8)
    scores = rs.evaluate(QRELS, form(RUN), ["TBG"], lengths=LENGTHS)
    expected = {"q1": 0.64 * 0.77 * 2 ** (-seconds / 224), "q2": 0.64 * 0.77}
    assert scores.values("TBG") == pytest.approx(expected)


def naive_tbg(qrels: dict[str, int], ranking: list[str]) -> float:
    """Add up what a user saves; each document above takes its time."""
    seconds = gain = 0.0
    for doc in ranking:
        relevant = qrels.get(doc, 0) >= 1
        gain += relevant * 0.64 * 0.77 * 2 ** (-seconds / 224)
        seconds += 4.4 + (0.64 if relevant else 0.39) * (0.018 * LENGTHS[doc] + 7.8)
    return gain


def test_queries_that_are_left_out_take_their_lengths_with_them() -> None:
    qrels = {"none": {"d1": 0}, "gone": {"d1": 1}, **QRELS}
    run = {"none": {"d3": 3.0, "d2": 2.0}, **RUN}
    expected = {"q1": naive_tbg(QRELS["q1"], ["d2", "d1"]), "q2": naive_tbg(QRELS["q2"], ["d3"])}
    for given in (run, rs.Run(run)):
        scores = rs.evaluate(qrels, given, "TBG", profile="sentence-transformers", lengths=LENGTHS)
        assert scores.values("TBG") == pytest.approx({"gone": 0.0, **expected})
        scores = rs.evaluate(qrels, given, "TBG", profile="trec_eval-9", lengths=LENGTHS)
        assert scores.values("TBG") == pytest.approx({"none": 0.0, **expected})


def test_a_document_that_is_dropped_takes_its_length_with_it() -> None:
    run = {"q1": {"q1": 9.0, **RUN["q1"]}, "q2": RUN["q2"]}
    expected = {"q1": naive_tbg(QRELS["q1"], ["d2", "d1"]), "q2": naive_tbg(QRELS["q2"], ["d3"])}
    for given in (run, rs.Run(run)):
        scores = rs.evaluate(QRELS, given, "TBG", profile="beir", lengths={**LENGTHS, "q1": 7000})
        assert scores.values("TBG") == pytest.approx(expected)


def test_lengths_that_are_missing_or_impossible_are_refused() -> None:
    with pytest.raises(InputError, match="lengths"):
        rs.evaluate(QRELS, RUN, ["TBG"])
    for lengths in ({"d1": 1, "d3": 2}, {**LENGTHS, "d2": float("nan")}):
        with pytest.raises(InputError, match="'d2'"):
            rs.evaluate(QRELS, RUN, ["TBG"], lengths=lengths)
