"""``rankscope measures``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rankscope.measures.registry import all_definitions

Rankscope = Callable[..., Any]


def test_every_measure_is_listed(rankscope: Rankscope) -> None:
    done = rankscope("measures")
    assert (done.returncode, done.stderr) == (0, "")
    first = [line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()]
    for definition in all_definitions():
        assert definition.name in first
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_json_lists_every_measure(rankscope: Rankscope) -> None:
    data = json.loads(rankscope("measures", "--format", "json").stdout)
    assert [one["name"] for one in data] == [definition.name for definition in all_definitions()]
    assert all(one["formula"] and one["reference"] for one in data if one["family"] != "own")


@pytest.mark.parametrize("definition", all_definitions(), ids=lambda definition: definition.name)
def test_each_measure_is_told_by_its_own_name(rankscope: Rankscope, definition: Any) -> None:
    told = json.loads(rankscope("measures", definition.name, "--format", "json").stdout)
    assert told["name"] == definition.name
    shown = rankscope("measures", definition.name)
    assert shown.returncode == 0
    assert definition.formula in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("asked", "name"),
    [("ndcg_cut_10", "nDCG"), ("MRR@10", "RR"), ("ndcg", "nDCG"), ("map", "AP"), ("P", "P"),
     ("hit_rate@10", "Success"), ("precision@5", "P"), ("alpha-nDCG", "alpha_nDCG")],
)  # fmt: skip
def test_a_measure_is_told_by_another_tools_name(
    rankscope: Rankscope, asked: str, name: str
) -> None:
    assert json.loads(rankscope("measures", asked, "--format", "json").stdout)["name"] == name


def test_a_foreign_name_shows_both(rankscope: Rankscope) -> None:
    shown = " ".join(rankscope("measures", "map_cut_100").stdout.split())
    assert "asked: AP@100, asked for as map_cut_100" in shown


def test_an_unknown_name_gets_the_nearest(rankscope: Rankscope) -> None:
    done = rankscope("measures", "nDGC")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown measure 'nDGC'; nearest: " in done.stderr
