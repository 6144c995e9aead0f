"""Sentences: compare, gate and verdict write numbers alike and say the same in the same words."""

from __future__ import annotations

import math
import re

import pytest

import rankscope as rs
from rankscope.statistics.intervals import Interval
from rankscope.statistics.sentences import about, ends, listed, measured, number, p_text, percent

QRELS = {f"q{n}": {"d": 1} for n in range(12)}
GOOD = {query_id: {"d": 2.0, "e": 1.0} for query_id in QRELS}
BAD = {query_id: {"d": 1.0, "e": 2.0} for query_id in QRELS}
MIXED = {q: {"d": float(n % 3), "e": 0.5} for n, q in enumerate(QRELS)}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "0.2500"), (-0.0, "0.0000"), (0.00004, "4e-05"), (math.inf, "∞"), (-math.inf, "-∞")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_signs() -> None:
    assert (number(0.1, sign=True), number(-0.1, sign=True), number(0.0, sign=True)) == (
        "+0.1000",
        "-0.1000",
        "0.0000",
    )


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "p < 0.0001"), (0.00009, "p < 0.0001"), (0.0312, "p = 0.0312"), (1.0, "p = 1")],
)
def test_p_values_are_never_0(p: float, text: str) -> None:
    assert p_text(p) == text


def test_shares_and_counts() -> None:
    assert (percent(0.95), percent(0.9999)) == ("95 %", "99.99 %")
    assert (about(22_797), about(8), about(1)) == (
        "about 23,000 queries",
        "about 8 queries",
        "about 1 query",
    )
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed("abcd", 3) == "a, b, c and d"
    assert listed("abcde", 3) == "a, b, c and 2 more"


def test_a_difference_turned_round() -> None:
    interval = Interval(low=-0.3, high=math.inf, level=0.95, method="t")
    assert ends(interval) == "[-0.3000, ∞]"
    assert measured(0.1, interval, "p = 0.02") == "+0.1000 [-0.3000, ∞], p = 0.02"
    assert measured(0.1, interval, "p = 0.02", turned=True) == "-0.1000 [-∞, 0.3000], p = 0.02"


def test_pairs() -> None:
    runs = {"bad": BAD, "good": GOOD, "mixed": MIXED, "same": GOOD}
    result = rs.compare(QRELS, runs, ["RR"], resamples=200)
    better = result.pair("good", "bad").sentence
    assert re.fullmatch(
        r"RR: good is better than bad by 0\.5000 \[.*\], p = [\d.]+ corrected for 6 tests", better
    )
    worse = rs.compare(QRELS, runs, ["RR"], baseline="good", resamples=200).pair("bad").sentence
    assert worse.startswith("RR: bad is worse than good by 0.5000 [")
    same = result.pair("same", "good").sentence
    assert same.endswith("; they are the same on every query")
    unclear = result.pair("mixed", "bad").sentence
    assert "mixed is not shown to differ from bad: +0.3333 [" in unclear or "better" in unclear
    few = rs.compare(dict(list(QRELS.items())[:5]), runs, ["RR"], resamples=200)
    assert "is not shown to differ from" in few.pair("mixed", "bad").sentence
    assert few.pair("mixed", "bad").sentence.endswith(
        "3 of 5 queries differ, too few for any outcome to be significant"
    )
    odd, even = (
        {q: {"d": 2.0, "e": 1.0 + 2 * (n % 2 == side)} for n, q in enumerate(QRELS)}
        for side in (0, 1)
    )
    pair = rs.compare(QRELS, {"a": odd, "b": even}, ["RR"], test="t").pairs[0]
    assert re.search("12 queries like these would show a difference of about 0", pair.sentence)


def test_lower_is_better() -> None:
    unjudged = {query_id: {"x": 2.0, "y": 1.0, "d": 0.5} for query_id in QRELS}
    runs = {"full": GOOD, "empty": unjudged}
    pair = rs.compare(QRELS, runs, ["Unjudged@2"], resamples=200).pair("empty", "full")
    assert pair.sentence.startswith("Unjudged@2: empty is worse than full by 0.5000 [")


def test_equivalent() -> None:
    result = rs.compare(QRELS, {"a": GOOD, "b": GOOD}, ["RR"], margin=0.6, resamples=200)
    assert result.pairs[0].sentence.startswith("RR: b and a are equivalent within ±0.6: 0.0000 [")
    assert re.search(r"\], equivalence p [=<] ", result.pairs[0].sentence)


def test_the_gate_says_it_in_one_sentence() -> None:
    failed = rs.gate(GOOD, BAD, ["RR", "P@1"], qrels=QRELS)
    assert re.fullmatch(
        r"regression: RR changed by -0\.5000 \[.*\], p = 0\.000488: worse, and by more than 0\.01; "
        r"P@1 changed by -1\.0000 \[.*\], p = 0\.000488: worse, and by more than 0\.01\.",
        failed.sentence,
    )
    undecided = rs.gate(GOOD, MIXED, "RR", qrels=QRELS)
    assert undecided.passed
    assert undecided.sentence.startswith("undecided: RR changed by -0.1667 [")
    assert "4 of 12 queries differ" in undecided.sentence
    strict = rs.gate(GOOD, MIXED, "RR", qrels=QRELS, undecided="fail")
    assert not strict.passed
    assert strict.sentence.startswith("undecided (counted as a failure): RR ")
    same = rs.gate(GOOD, GOOD, ["RR", "P@1"], qrels=QRELS)
    assert same.sentence == "no regression: the two are identical in each of 12 queries."
    better = rs.gate(BAD, GOOD, ["RR", "P@1"], qrels=QRELS)
    assert better.sentence == (
        "no regression: a drop of 0.01 or more is ruled out in any of 2 measures over 12 queries."
    )


def test_intervals_are_written_in_brackets() -> None:
    """A mean of 1 with ± half a width would seem to reach above 1."""
    result = rs.compare(QRELS, {"good": GOOD, "bad": BAD}, ["RR"], resamples=200)
    assert "good  1.0000 [0.7354, 1.0000]" in repr(result)
    assert "±" not in repr(result)
