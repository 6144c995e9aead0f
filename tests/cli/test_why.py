"""``rankscope why``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs

Rankscope = Callable[..., Any]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "run").write_text("q1 Q0 a 1 20000001 r\nq1 Q0 b 2 20000000 r\n")


def test_the_table_names_the_rule(rankscope: Rankscope) -> None:
    done = rankscope("why", "qrels", "run", "-m", "RR", "--profiles", "rankscope,trec_eval-9,ranx")
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert "rankscope RR 0.5000 trec_eval-9 RR 0.5000" in text
    assert "score precision: single (float32) (-0.2500)" in text  # b goes before a
    assert "missing queries: left out (+0.5000)" in text  # one query instead of two
    assert "these together (-0.2500)" in text
    assert "ranx RR stops 1 judged query is missing from the run, and it stops" in text


def test_numbers_are_traced_to_rules(rankscope: Rankscope) -> None:
    done = rankscope("why", "qrels", "run", "-m", "RR", "--mine", "0.5", "--theirs", "0.25")
    text = " ".join(done.stdout.split())
    assert "0.5: RR is 0.500000 under our own rules" in text
    assert "0.25: RR is 0.250000 under score precision: single (float32)" in text
    assert "0.9: no set of rules tried gives this number" in " ".join(
        rankscope("why", "qrels", "run", "-m", "RR", "--mine", "0.9").stdout.split()
    )


def test_json(rankscope: Rankscope) -> None:
    done = rankscope("why", "qrels", "run", "-m", "RR", "--theirs", "0.25", "--format", "json")
    data = json.loads(done.stdout)
    assert data["outcomes"][0]["profile"] == "rankscope"
    stopped = {one["profile"] for one in data["outcomes"] if one["value"] is None}
    assert "trec_eval-10" in stopped
    assert data["reproduced"]["0.25"][0]["changes"] == ["score precision: single (float32)"]


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("unknown profile 'rank'; nearest: ranx", ["--profiles", "rank"]),
        ("expected a number such as 0.4123, not 'high'", ["--mine", "high"]),
        ("unknown measure", ["-m", "nothing"]),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(
    rankscope: Rankscope, said: str, arguments: list[str]
) -> None:
    done = rankscope("why", "qrels", "run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_round_number_is_not_met_by_anything_near() -> None:
    qrels, run = {"q1": {"a": 1}}, {"q1": {"x": 3.0, "a": 2.0}}
    for number in ("0", "1", "0.4"):
        answer = rs.why(qrels, run, "RR@10", numbers=[number])
        for match in answer.reproduced[number]:
            assert abs(match.value - float(number)) < 0.01
    assert rs.why(qrels, run, "RR@10", numbers=["0.5"]).reproduced["0.5"]
