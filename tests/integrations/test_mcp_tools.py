"""The server for assistants: what it answers, and what it refuses."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from integrations.served import EVALUATE, MIXED, QRELS, fill
from rankscope.errors import RankscopeError
from rankscope.integrations import mcp_server
from rankscope.integrations.mcp_server import Workspace, answer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = fill(tmp_path / "served")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def workspace(folder: Path) -> Workspace:
    return Workspace(folder.resolve(), 1_000_000)


def call(workspace: Workspace, tool: str, **arguments: Any) -> tuple[bool, str]:
    try:
        return False, answer(workspace, tool, arguments)[0]
    except RankscopeError as error:
        return True, str(error)


# --- what it answers -----------------------------------------------------------------------------


def test_scores_are_those_of_evaluate(workspace: Workspace) -> None:
    text, metrics = answer(workspace, "evaluate", {**EVALUATE, "worst": 2})
    scores = rs.evaluate(QRELS, MIXED, "nDCG@10")
    assert metrics["nDCG@10"] == scores["nDCG@10"]
    assert f"{scores['nDCG@10']:.3f}" in text


def test_every_tool_answers(workspace: Workspace) -> None:
    both = {"qrels": "qrels.tsv", "runs": ["runs/good.run", "runs/mixed.run"]}
    failed, text = call(workspace, "compare", **both, baseline="good")
    assert not failed
    assert "`mixed`" in text
    failed, text = call(
        workspace, "explain", qrels="qrels.tsv", runs=["runs/mixed.run"], query_id="q1"
    )
    assert not failed
    assert "0.8597" in text
    failed, text = call(workspace, "diagnose", **both)
    assert not failed
    assert text.startswith("# Diagnosis")
    assert call(workspace, "list_files")[1].splitlines() == [
        f"- 'qrels.tsv': {os.path.getsize('qrels.tsv')} bytes",
        f"- 'runs/good.run': {os.path.getsize('runs/good.run')} bytes",
        f"- 'runs/mixed.run': {os.path.getsize('runs/mixed.run')} bytes",
    ]


def test_columns_are_named_as_everywhere(workspace: Workspace) -> None:
    gold, run = "ask,wanted,worth\nq1,a,2\nq2,b,1\n", "ask,got,points\nq1,x,2\nq1,a,1\nq2,b,1\n"
    Path("gold.csv").write_text(gold)
    Path("run.csv").write_text(run)
    Path("other.csv").write_text(run)
    columns = {"query": "ask", "relevant": "wanted", "retrieved": "got"}
    columns |= {"score": "points", "grade": "worth"}
    asked: dict[str, dict[str, Any]] = {
        "evaluate": {"runs": ["run.csv"], "measures": ["RR"]},
        "compare": {"runs": ["run.csv", "other.csv"], "measures": ["RR"]},
        "explain": {"runs": ["run.csv"], "query_id": "q1", "measures": ["RR"]},
        "diagnose": {"runs": ["run.csv"], "measures": ["RR"]},
    }
    for tool, arguments in asked.items():
        failed, text = call(workspace, tool, qrels="gold.csv", columns=columns, **arguments)
        assert not failed, text
        assert "0.5" in text or "0.75" in text, tool
        assert call(workspace, tool, qrels="gold.csv", **arguments)[0], "no such names"


# --- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../outside.run",
        "runs/../../outside.run",
        "link.run",
        "out/outside.run",
        "out/served/../outside.run",
        "/etc/passwd",
        "-",
        " ",
        "runs",
        "nothing.run",
        "a\0b",
        "x" * 999,
    ],
)
def test_nothing_outside_is_read(workspace: Workspace, name: str) -> None:
    failed, text = call(workspace, "evaluate", qrels="qrels.tsv", runs=[name])
    assert failed
    assert "\n" not in text
    assert "file" in text
    assert str(workspace.root) not in text


def test_whether_something_outside_exists_is_not_said(workspace: Workspace) -> None:
    for missing, there in (("../none.run", "../outside.run"), ("out/none.run", "out/outside.run")):
        first, second = (
            call(workspace, "evaluate", qrels="qrels.tsv", runs=[name])[1].replace(name, "…")
            for name in (missing, there)
        )
        assert first == second


def test_a_link_within_the_folder_is_followed(workspace: Workspace) -> None:
    assert not call(workspace, "evaluate", qrels="qrels.tsv", runs=["inner.run"])[0]


def test_large_files_are_refused(folder: Path) -> None:
    small = Workspace(folder.resolve(), 300)
    failed, text = call(small, "evaluate", **EVALUATE)
    assert failed
    assert "300" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"qrels": "qrels.tsv"}, "runs"),
        ({**EVALUATE, "runs": []}, "runs"),
        ({**EVALUATE, "runs": ["runs/good.run"] * 21}, "20"),
        ({**EVALUATE, "output": "x"}, "output"),
        ({**EVALUATE, "measures": ["nGCD@10"]}, "nDCG"),
        ({**EVALUATE, "qrels": "runs/good.run"}, "runs/good.run:1"),
        ({**EVALUATE, "qrels": "qrels.tvs"}, "list_files"),
        ({**EVALUATE, "columns": {"corpus": "x"}}, "columns"),
    ],
)
def test_an_error_is_one_sentence(
    workspace: Workspace, arguments: dict[str, Any], word: str
) -> None:
    failed, text = call(workspace, "evaluate", **arguments)
    assert failed
    assert word in text
    assert "\n" not in text


def test_answers_have_an_end(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "LONGEST_ANSWER", 100)
    monkeypatch.setattr(mcp_server, "MOST_FILES", 2)
    assert "(cut: this is the first part of" in call(workspace, "evaluate", **EVALUATE)[1]
    assert call(workspace, "list_files")[1].endswith("there are more than 2")


def content_of(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_nothing_is_written(workspace: Workspace) -> None:
    before = content_of(workspace.root)
    test_every_tool_answers(workspace)
    assert content_of(workspace.root) == before
