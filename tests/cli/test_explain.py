"""``rankscope explain`` of one query, and ``rankscope why`` of a number that differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankscope as rs
from conftest import Rankscope


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\n")
    lines = ["q1 Q0 b 1 3 bm25", "q1 Q0 a 2 2.5 bm25", "q1 Q0 x 3 1 bm25"]
    (tmp_path / "run").write_text("\n".join(lines) + "\n")
    (tmp_path / "near").write_text("q1 Q0 a 1 20000001 r\nq1 Q0 b 2 20000000 r\n")


def test_json_holds_each_step(rankscope: Rankscope) -> None:
    done = rankscope("explain", "qrels", "run", "--query", "q1", "-m", "RR,AP", "--format", "json")
    first, second = json.loads(done.stdout)
    assert (first["measure"], second["measure"]) == ("RR", "AP")
    assert [step["contribution"] for step in first["steps"]] == [0.0, 0.5, 0.0]
    assert [step["grade"] for step in first["steps"]] == [0.0, 2.0, None]


def test_a_query_the_run_lacks(rankscope: Rankscope) -> None:
    assert rankscope("explain", "qrels", "run", "--query", "q2").returncode == 0


def test_a_number_is_traced_to_the_rule_that_gives_it(rankscope: Rankscope) -> None:
    """In single precision the two scores are equal, and b goes before a."""
    done = rankscope("why", "qrels", "near", "-m", "RR", "--theirs", "0.25", "--format", "json")
    data = json.loads(done.stdout)
    assert data["outcomes"][0]["profile"] == "rankscope"
    stopped = {each["profile"] for each in data["outcomes"] if each["value"] is None}
    assert "trec_eval-10" in stopped
    [change] = data["reproduced"]["0.25"][0]["changes"]
    assert "float32" in change


def test_a_round_number_is_not_met_by_anything_near() -> None:
    qrels, run = {"q1": {"a": 1}}, {"q1": {"x": 3.0, "a": 2.0}}
    for number in ("0", "1", "0.4"):
        for match in rs.why(qrels, run, "RR@10", numbers=[number]).reproduced[number]:
            assert abs(match.value - float(number)) < 0.01
    assert rs.why(qrels, run, "RR@10", numbers=["0.5"]).reproduced["0.5"]
