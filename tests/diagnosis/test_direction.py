"""Direction: a run of distances is told from a bad one."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.direction import Direction, reversed_run
from rankscope.findings import NotApplicable
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments

QRELS = {f"q{n:02}": {"a": 2, "b": 1} for n in range(12)}
BEST: dict[str, Any] = {query: ["a", "b", "x", "y"][: 3 + n % 2] for n, query in enumerate(QRELS)}


def look(runs: Any, measure: str = "nDCG@2") -> Any:
    [(_, answer)] = rs.diagnose(QRELS, runs, [measure], only="direction").answers()
    return answer


def test_an_answer_from_its_end() -> None:
    judged = align(as_judgments({"q": {"a": 1, "c": 0}}), rs.Run({"q": ["a", "b", "c"]})).judged
    turned = reversed_run(judged)
    assert turned.hit_rank.tolist() == [1, 3]
    assert turned.hit_grade.tolist() == [0.0, 1.0]


def test_distances_are_found() -> None:
    distances = {query: list(reversed(answer)) for query, answer in BEST.items()}
    result = look({"good": BEST, "bad": distances})
    assert isinstance(result, Direction)
    good, bad = result.systems
    assert (good.is_upside_down, bad.is_upside_down) == (False, True)
    assert (bad.mean, bad.reversed_mean) == (good.reversed_mean, good.mean)
    [finding] = result.findings
    assert finding.code == "RS722"
    assert finding.message.startswith("bad has nDCG@2 of")
    [advice] = result.advice
    assert advice.gain == pytest.approx(bad.reversed_mean - bad.mean)


def test_a_bad_system_is_not_upside_down() -> None:
    """The relevant documents are in the middle: no end is better."""
    middle = {query: ["x", "y", "a", "b", "v", "w"] for query in QRELS}
    result = look({"s": middle}, "RR")
    assert result.findings == ()
    assert result.advice == ()


def test_less_is_better() -> None:
    result = look({"s": BEST}, "Unjudged@2")
    assert not result.systems[0].is_upside_down


def test_a_sum_has_no_direction() -> None:
    assert isinstance(look({"s": BEST}, "NumRelRet"), NotApplicable)
