"""A short form of `python -m reliability.differential`, and a proof that it would notice."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from reliability import differential
from reliability.differential import Input, Tally, compare, differences, random_input

from rankscope.scoring.plans import plan_of
from rankscope.scoring.rules import PROFILES


def test_other_tools_and_twins_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ranx, which compiles itself for minutes; `test_peer_rules` asks it."""
    monkeypatch.setattr(differential, "against_ranx", lambda *_: iter(()))
    found, tally = compare(60, seed=7)
    assert found == []
    assert set(tally.compared) == {"pytrec_eval", "ir_measures", "twins, dicts", "twins, tables"}
    assert min(tally.compared.values()) > 1000


@pytest.mark.parametrize(
    ("profile", "change"),
    [
        ("trec_eval-9", {"precision": "double"}),
        ("trec_eval-9", {"ties": "id-asc"}),
        ("trec_eval-9", {"queries": "all"}),
        ("ir_measures", {"ties": "given"}),
    ],
)
def test_a_rule_that_is_not_the_tools_is_noticed(
    monkeypatch: pytest.MonkeyPatch, profile: str, change: dict[str, str]
) -> None:
    monkeypatch.setattr(differential, "against_ranx", lambda *_: iter(()))
    monkeypatch.setattr(differential, "against_twins", lambda *_: iter(()))
    monkeypatch.setitem(PROFILES, profile, replace(PROFILES[profile], **change))  # type: ignore[arg-type]
    plan_of.cache_clear()  # which knows profiles by their names
    found, _ = compare(60, seed=7, stop=1)
    plan_of.cache_clear()
    [difference] = found
    assert difference.tool == {"trec_eval-9": "pytrec_eval"}.get(profile, profile)
    where = difference.where
    assert where is not None
    assert sum(map(len, where.qrels.values())) + sum(map(len, where.run.values())) <= 6


def test_what_is_refused_is_refused_by_rankscope() -> None:
    tally = Tally()
    for given, why in [
        (Input({"q": {"a": 0}}, {"q": {"a": 1.0}}), "no grade is above 0"),
        (Input({"q": {"a": 1}}, {"p": {"a": 1.0}}), "no query in common"),
        (
            Input({q: {"a": 1} for q in "0123456789"}, {q: {"b": 1.0} for q in "0123456789"}),
            "no document in common",
        ),
    ]:
        assert given.refused() == why
        assert list(differences(given, tally, 0)) == []
    assert sum(tally.left_out.values()) == 3


def test_inputs_hold_what_they_are_meant_to() -> None:
    inputs = [random_input(random.Random(number)) for number in range(300)]
    answers = [docs for given in inputs for docs in given.run.values()]
    scores = [score for docs in answers for score in docs.values()]
    assert {} in answers
    assert 5e-324 in scores
    assert any(str(score) == "-0.0" for score in scores)
    assert sum(len(set(docs.values())) < len(docs) for docs in answers) > len(answers) / 2
    assert any(set(given.qrels) - set(given.run) for given in inputs)
    assert any(set(given.run) - set(given.qrels) for given in inputs)
