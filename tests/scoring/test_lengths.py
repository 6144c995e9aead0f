"""Document lengths reach the measures that need them, in rank order."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.errors import InputError

QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d3": 1.0}}
LENGTHS = {"d1": 100, "d2": 500, "d3": 10}


@pytest.mark.parametrize("run", [RUN, rs.Run(RUN)], ids=["dict", "table"])
def test_the_time_spent_above_discounts_a_document(run: object) -> None:
    """In q1 a nonrelevant document of 500 words is read first; in q2 nothing is."""
    seconds = 4.4 + 0.39 * (0.018 * 500 + 7.8)
    scores = rs.evaluate(QRELS, run, ["TBG"], lengths=LENGTHS)
    expected = {"q1": 0.64 * 0.77 * 2 ** (-seconds / 224), "q2": 0.64 * 0.77}
    assert scores.values("TBG") == pytest.approx(expected)


def test_without_lengths_it_says_what_it_needs() -> None:
    with pytest.raises(InputError, match="needs the lengths"):
        rs.evaluate(QRELS, RUN, ["TBG"])


@pytest.mark.parametrize("lengths", [{"d1": 1, "d3": 2}, {**LENGTHS, "d2": float("nan")}])
def test_a_missing_or_impossible_length_is_named(lengths: dict[str, float]) -> None:
    with pytest.raises(InputError, match="length of document 'd2' is"):
        rs.evaluate(QRELS, RUN, ["TBG"], lengths=lengths)
