"""Document lengths reach the measures that need them, in rank order."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.errors import InputError

QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d3": 1.0}}
LENGTHS = {"d1": 100, "d2": 500, "d3": 10, "q1": 7000}


def naive_tbg(query_id: str, ranking: list[str]) -> float:
    """Add up what a user saves; each document above takes its time."""
    seconds = gain = 0.0
    for doc in ranking:
        relevant = doc in QRELS[query_id]
        gain += relevant * 0.64 * 0.77 * 2 ** (-seconds / 224)
        seconds += 4.4 + (0.64 if relevant else 0.39) * (0.018 * LENGTHS[doc] + 7.8)
    return gain


EXPECTED = {"q1": naive_tbg("q1", ["d2", "d1"]), "q2": naive_tbg("q2", ["d3"])}


def test_the_time_spent_above_discounts_a_document() -> None:
    for run in (RUN, rs.Run(RUN)):
        scores = rs.evaluate(QRELS, run, ["TBG"], lengths=LENGTHS)
        assert scores.values("TBG") == pytest.approx(EXPECTED)


def test_what_is_left_out_takes_its_lengths_with_it() -> None:
    """Queries without a relevant document or an answer; the document with the query's own id."""
    qrels = {"none": {"d1": 0}, "gone": {"d1": 1}, **QRELS}
    run = {"none": {"d3": 3.0, "d2": 2.0}, **RUN}
    own = {**run, "q1": {"q1": 9.0, **RUN["q1"]}}
    for profile, answers, left in (
        ("sentence-transformers", run, "gone"),
        ("trec_eval-9", run, "none"),
        ("beir", own, "none"),
    ):
        for given in (answers, rs.Run(answers)):
            scores = rs.evaluate(qrels, given, "TBG", profile=profile, lengths=LENGTHS)
            assert scores.values("TBG") == pytest.approx({left: 0.0, **EXPECTED}), profile


def test_lengths_that_are_missing_or_impossible_are_refused() -> None:
    with pytest.raises(InputError, match="lengths"):
        rs.evaluate(QRELS, RUN, ["TBG"])
    for lengths in ({"d1": 1, "d3": 2}, {**LENGTHS, "d2": float("nan")}):
        with pytest.raises(InputError, match="'d2'"):
            rs.evaluate(QRELS, RUN, ["TBG"], lengths=lengths)
