"""`why` names the rule that was planted, and the rules behind a number."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

import rankscope as rs
from rankscope.scoring.why import Reproduction


def reproduce(qrels: Any, run: Any, measure: str, number: str) -> tuple[Reproduction, ...]:
    """Return the rules that give a number."""
    return rs.why(qrels, run, measure, profiles=[], numbers=[number]).reproduced[number]


GIVEN_FIRST = {"q": {"a": 1.0, "b": 1.0}}
FLOAT32 = {"q": {"a": 20000001.0, "b": 20000000.0}}
GRADED = {"q": {"a": 3, "b": 1}}
BACKWARDS = {"q": {"b": 2.0, "a": 1.0}}


@dataclass(frozen=True)
class Planted:
    """A run whose value under a profile differs from ours for one reason."""

    profile: str
    measure: str
    rule: str
    ours: float
    theirs: float
    qrels: Any
    run: Any


PLANTED = [
    # b goes first by id, a as given
    Planted("ranx", "RR", "ties", 1 / 2, 1.0, {"q": {"a": 1}}, GIVEN_FIRST),
    Planted("trec_eval-9", "RR", "score precision", 1.0, 1 / 2, {"q": {"a": 1}}, FLOAT32),
    Planted(
        "trec_eval-9", "P@1", "missing queries", 1 / 2, 1.0, {"q": {"a": 1}, "p": {"a": 1}},
        {"q": {"a": 1.0}},
    ),
    Planted(
        "beir", "RR", "documents with the query's id", 1 / 2, 1.0, {"q": {"a": 1}},
        {"q": {"q": 2.0, "a": 1.0}},
    ),
    # (1 + 3/log2 3) / (3 + 1/log2 3) against 1: with binary gains every order of two is ideal
    Planted(
        "sentence-transformers", "nDCG@10", "definition",
        (1 + 3 * 0.6309297535714574) / (3 + 0.6309297535714574), 1.0, GRADED, BACKWARDS,
    ),
    # one of three relevant documents in a list cut at one: 1/3 against 1/min(3, 1)
    Planted(
        "sentence-transformers", "AP@1", "definition", 1 / 3, 1.0,
        {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 2.0, "b": 1.0}},
    ),
    # 0.35 of 4 relevant documents: 1.4 rounds to 1 (precision 1), 1.4 + 0.9 is cut to 2 (2/3)
    Planted(
        "trec_eval-9", "IPrec(recall=0.35)", "definition", 1.0, 2 / 3,
        {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: f"{case.profile} {case.measure}")
def test_why_finds_the_planted_rule(case: Planted) -> None:
    profiles = ["rankscope", case.profile]
    ours, theirs = rs.why(case.qrels, case.run, case.measure, profiles=profiles).outcomes
    assert ours.value == pytest.approx(case.ours)
    assert (ours.effects, ours.difference) == ((), 0.0)
    assert theirs.value == pytest.approx(case.theirs)
    assert theirs.difference == pytest.approx(case.theirs - case.ours)
    causes = {effect.rule: effect.change for effect in theirs.effects if effect.change}
    assert causes == {case.rule: pytest.approx(case.theirs - case.ours)}
    assert theirs.together == pytest.approx(0.0)
    by_profile = rs.evaluate(case.qrels, case.run, case.measure, profile=case.profile)
    assert theirs.value == by_profile[case.measure]
    found = reproduce(case.qrels, case.run, case.measure, f"{case.theirs:.6f}")
    assert any(len(one.changes) == 1 for one in found)


def test_a_cut_is_found() -> None:
    qrels, run = {"q": {"z": 1}}, {"q": {f"{n:02}": float(-n) for n in range(20)} | {"z": -15.5}}
    found, *_ = reproduce(qrels, run, "RR@10", "0.0588")
    assert found.changes == ("another definition",)
    assert found.measure == "RR"
    assert found.value == pytest.approx(1 / 17)
    assert reproduce(qrels, run, "RR", "0.0000")[0].measure == "RR@10"


RELEVANT = {"q": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}}
"""Five relevant documents."""


@pytest.mark.parametrize(
    ("measure", "qrels", "ranking", "number", "change"),
    [
        # one of five, returned alone: its own ideal
        ("nDCG@5", RELEVANT, ["a"], 1.0, "ideal: of retrieved documents only"),
        # grades 1, 0, 3: DCG 1 at k = 1 over 1, while the 3 below the cut would make it 1/3
        ("nDCG@1", {"q": {"a": 1, "b": 3}}, ["a", "x", "b"], 1.0,
         "ideal: of the first k documents only"),
        ("R@2", RELEVANT, ["a", "x"], 1 / 2, "R_cap@2"),
        ("R_cap@2", RELEVANT, ["a", "x"], 1 / 5, "R@2"),
        ("P@10", RELEVANT, ["a", "x", "b"], 2 / 3, "P(norm=retrieved)@10"),
        ("Success@5", RELEVANT, ["x", "y", "z", "u", "v", "a"], 1.0, "Success@10"),
        ("P@10", RELEVANT, ["a", "x", "x2", "b", "c"], 3 / 5, "P@5"),
        ("R@2", RELEVANT, ["a", "x"], 1.0, "Success@2"),
        ("Success@2", RELEVANT, ["a", "x"], 1 / 5, "R@2"),
    ],
)  # fmt: skip
def test_definitions_and_faults_that_share_a_name(
    measure: str, qrels: Any, ranking: list[str], number: float, change: str
) -> None:
    found = reproduce(qrels, {"q": ranking}, measure, f"{number:.6f}")
    assert change in {name for one in found for name in (one.measure, *one.changes)}
    assert all(reproduction.value == pytest.approx(number, abs=1e-6) for reproduction in found)


def test_rules_that_work_only_together_are_both_named() -> None:
    # float32 makes the two scores equal, and only then does the order of ties matter
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 20000000.0, "b": 20000001.0}}
    found = reproduce(qrels, run, "RR", "1.0")
    assert [set(one.changes) for one in found] == [
        {"score precision: single (float32)", "ties: lower id first"},
        {"score precision: single (float32)", "ties: as given"},
    ]


def test_a_tool_that_stops_has_no_value() -> None:
    qrels = {"q": {"a": 1}, "p": {"a": 1}}
    [found] = rs.why(qrels, GIVEN_FIRST, "RR", profiles=["trec_eval-10"]).outcomes
    assert found.value is None
    assert found.difference is None
    assert "missing" in found.stops


def test_the_digits_of_a_number_say_how_exactly_it_is_met() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    for number in ("0.5", "0.50", "50", "50.0", "5e-1", " 0.5 "):
        assert reproduce(qrels, run, "RR", number)[0].changes == (), number
    for number in ("0.4", "0.49", "0.6", "51"):
        assert not reproduce(qrels, run, "RR", number), number
    for number in ("", "high", "nan", "inf", "0,41"):
        with pytest.raises(rs.InputError, match="number"):
            reproduce(qrels, run, "RR", number)


@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG(gain=binary,rel=2)@5", "IPrec", "RBP"])
def test_what_is_reproduced_is_what_evaluate_gives(measure: str) -> None:
    """Every set of rules tried gives the value it is said to give."""
    qrels = {"q": {"a": 3, "b": 1, "c": 0, "q": 2}, "p": {"a": 1}}
    run = {"q": {"a": 20000001.0, "b": 20000000.0, "c": 20000000.0, "q": 20000000.0, "x": 9.0}}
    for ties, precision, queries in product(
        ("trec", "id-asc", "given"), ("double", "single"), ("all", "both")
    ):
        rules: Any = {"ties": ties, "precision": precision, "queries": queries}
        value = rs.evaluate(qrels, run, measure, **rules)[measure]
        found = reproduce(qrels, run, measure, f"{value:.9f}")
        assert found, rules
        assert all(one.value == pytest.approx(value, abs=1e-8) for one in found)
