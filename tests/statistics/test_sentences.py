"""Sentences: compare, gate and verdict write numbers alike and say the same in the same words."""

from __future__ import annotations

import math
import re

import pytest

import rankscope as rs
from rankscope.statistics import sentences
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
        r"RR: good is better than bad by 0\.5000 \[.*\], p = [\d.]+ after correction", better
    )
    worse = rs.compare(QRELS, runs, ["RR"], baseline="good", resamples=200).pair("bad").sentence
    assert worse.startswith("RR: bad is worse than good by 0.5000 [")
    same = result.pair("same", "good").sentence
    assert same.endswith("; they are the same on every query")
    unclear = result.pair("mixed", "bad").sentence
    assert "mixed is not shown to differ from bad: +0.3333 [" in unclear or "better" in unclear
    few = rs.compare(dict(list(QRELS.items())[:5]), runs, ["RR"], resamples=200)
    assert "is not shown to differ from" in few.pair("mixed", "bad").sentence
    assert "5 queries like these would show a difference of" in few.pair("mixed", "bad").sentence


def test_lower_is_better() -> None:
    unjudged = {query_id: {"x": 2.0, "y": 1.0, "d": 0.5} for query_id in QRELS}
    runs = {"full": GOOD, "empty": unjudged}
    pair = rs.compare(QRELS, runs, ["Unjudged@2"], resamples=200).pair("empty", "full")
    assert pair.sentence.startswith("Unjudged@2: empty is worse than full by 0.5000 [")


def test_equivalent() -> None:
    result = rs.compare(QRELS, {"a": GOOD, "b": GOOD}, ["RR"], margin=0.6, resamples=200)
    assert result.pairs[0].sentence.startswith("RR: b and a are equivalent within ±0.6: 0.0000 [")


def test_the_gate_says_it_in_one_sentence() -> None:
    failed = rs.gate(GOOD, BAD, ["RR", "P@1"], qrels=QRELS)
    assert failed.sentence == (
        "gate failed: RR dropped by 0.5000, more than 0.01, with p = 0.000977; "
        "P@1 dropped by 1.0000, more than 0.01, with p = 0.000977."
    )
    undecided = rs.gate(GOOD, MIXED, "RR", qrels=QRELS, alpha=0.01)
    visible = undecided.checks[0].visible_drop
    assert visible is not None
    assert undecided.passed
    assert undecided.sentence == (
        f"gate passed, undecided: 12 queries cannot show a drop under {number(visible)}; "
        "observed RR -0.1667."
    )
    warning = undecided.checks[0].warning
    assert "not shown to be more than chance" in undecided.checks[0].explanation
    assert re.search("it takes about [0-9,]+ queries, or a larger margin", warning)
    passed = rs.gate(GOOD, GOOD, ["RR", "P@1"], qrels=QRELS)
    assert passed.sentence == (
        "gate passed: no significant drop above 0.01 in any of 2 measures over 12 queries."
    )
    nothing = rs.gate(GOOD, BAD, "RR", qrels=dict(list(QRELS.items())[:3]))
    assert nothing.sentence == (
        "gate passed, undecided: 3 queries cannot show any drop; observed RR -0.5000."
    )


def test_intervals_are_written_in_brackets() -> None:
    """A mean of 1 with ± half a width would seem to reach above 1."""
    result = rs.compare(QRELS, {"good": GOOD, "bad": BAD}, ["RR"], resamples=200)
    assert "good  1.0000 [0.7354, 1.0000]" in repr(result)
    assert "±" not in repr(result)


def test_corrections_have_names() -> None:
    assert set(sentences.CORRECTIONS) == {"holm", "bonferroni", "bh"}
