"""``rankscope explain``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rankscope = Callable[..., Any]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\n")
    lines = ["q1 Q0 b 1 3 bm25", "q1 Q0 a 2 2.5 bm25", "q1 Q0 x 3 1 bm25"]
    (tmp_path / "run").write_text("\n".join(lines) + "\n")


def test_the_table_goes_rank_by_rank(rankscope: Rankscope) -> None:
    done = rankscope("explain", "qrels", "run", "--query", "q1", "-m", "nDCG@2")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    discount = 1 / math.log2(3)
    ndcg = 2 * discount / (2 + discount)
    assert lines[0] == (
        f"nDCG@2 = {ndcg:.4f} for query q1 of bm25: 3 retrieved, 2 relevant in the judgments"
    )
    table = [line.split() for line in lines if line.split()[:1] in (["rank"], ["1"], ["2"])]
    assert table == [
        *(
            [
                "rank",
                "document",
                "score",
                "grade",
                "gain",
                "discount",
                "adds",
                "so",
                "far",
                "ideal",
                "grade",
            ],
        ),
        ["1", "b", "3", "0", "0", "1.0000", "0", "0.0000", "a", "2"],
        ["2", "a", "2.5", "2", "2", "0.6309", f"+{ndcg:.4f}", f"{ndcg:.4f}", "c", "1"],
    ]
    assert lines[2] == (
        f"DCG@2 = 2×0.6309 = {2 * discount:.4f}; ideal DCG@2 = {2 + discount:.4f}; "
        f"nDCG@2 = {2 * discount:.4f} / {2 + discount:.4f} = {ndcg:.4f}"
    )


def test_several_measures_and_an_unjudged_document(rankscope: Rankscope) -> None:
    done = rankscope("explain", "qrels", "run", "--query", "q1", "-m", "AP", "-m", "Bpref")
    assert done.stdout.count("unjudged") == 2
    assert "AP = 0.2500" in done.stdout
    assert "Bpref = 0.0000" in done.stdout


def test_json(rankscope: Rankscope) -> None:
    done = rankscope("explain", "qrels", "run", "--query", "q1", "-m", "RR,AP", "--format", "json")
    told = json.loads(done.stdout)
    assert [one["measure"] for one in told] == ["RR", "AP"]
    assert [step["contribution"] for step in told[0]["steps"]] == [0.0, 0.5, 0.0]
    assert [step["grade"] for step in told[0]["steps"]] == [0.0, 2.0, None]


def test_a_query_the_run_lacks(rankscope: Rankscope) -> None:
    done = rankscope("explain", "qrels", "run", "--query", "q2")
    assert done.returncode == 0
    assert "0 retrieved, 1 relevant" in done.stdout


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("unknown judged query 'q3'", ["qrels", "run", "--query", "q3"]),
        ("unknown measure", ["qrels", "run", "--query", "q1", "-m", "nothing"]),
        ("Missing option '--query'", ["qrels", "run"]),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(
    rankscope: Rankscope, said: str, arguments: list[str]
) -> None:
    done = rankscope("explain", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
