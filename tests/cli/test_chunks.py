"""Chunks, spans and questions without an answer at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Rankscope

QRELS = "q1 0 guide.md 1\nq1 0 api.md 2\nq2 0 faq.md 1\n"
CHUNKS = """q1 Q0 api.md#3 1 9.1 dense
q1 Q0 api.md#1 2 8.0 dense
q1 Q0 guide.md#7 3 7.1 dense
q2 Q0 guide.md#1 1 5.0 dense
q2 Q0 faq.md#1 2 4.0 dense
"""
SPANS = [
    {"id": "q1", "spans": [{"doc": "a", "start": 100, "end": 200}]},
    {"id": "q2", "spans": [{"doc": "b", "start": 0, "end": 50}]},
    {"id": "q3", "spans": [], "no_answer": True},
]
RESULTS = [
    {"id": "q1", "chunks": [{"doc": "a", "start": 0, "end": 150}]},
    {"id": "q2", "chunks": [{"doc": "b", "start": 0, "end": 60}]},
]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "chunks.run").write_text(CHUNKS)
    (tmp_path / "golden.json").write_text(json.dumps(SPANS))
    (tmp_path / "results.json").write_text(json.dumps(RESULTS))


def scored(rankscope: Rankscope, *arguments: str) -> Any:
    """Return what JSON holds of the only run."""
    (run,) = json.loads(rankscope("evaluate", *arguments, "--format", "json").stdout)[
        "runs"
    ].values()
    return run


def test_evaluate_collapses_and_counts(rankscope: Rankscope) -> None:
    run = scored(rankscope, "qrels.txt", "chunks.run", "--doc-id-from", "#", "-m", "RR@2")
    assert run["means"]["RR@2"] == 0.75
    collapsed = run["accounting"]["collapsed"]
    assert (collapsed["chunks"], collapsed["documents"]) == (5, 4)


def test_every_command_that_reads_runs_collapses(rankscope: Rankscope) -> None:
    rule = ("--doc-id-from", "^(.+)#")
    rankscope("convert", "chunks.run", "documents.run", *rule, "--collapse", "sum")
    assert Path("documents.run").read_text().startswith("q1 Q0 api.md 1 17.1 dense\n")
    rankscope("runs", "fuse", "a=chunks.run", "b=documents.run", *rule, "-o", "fused.run")
    assert "#" not in Path("fused.run").read_text()
    judged = ("--qrels", "qrels.txt", *rule)
    done = rankscope("runs", "validate", "chunks.run", *judged, "--format", "json")
    assert json.loads(done.stdout)[0]["rows"] == 4
    runs = ("qrels.txt", "a=chunks.run", "b=fused.run")
    assert rankscope("compare", *runs, *rule, "-m", "RR").returncode == 0
    assert rankscope("gate", "chunks.run", "documents.run", *judged).returncode == 0


def test_spans_are_scored_by_what_is_covered(rankscope: Rankscope) -> None:
    options = ("-m", "SpanRecall@1", "-m", "R@1", "--overlap", "0.8")
    run = scored(rankscope, "golden.json", "results.json", *options)
    assert run["means"] == {"SpanRecall@1": 0.75, "R@1": 0.5}
    done = rankscope("compare", "golden.json", "a=results.json", "b=results.json", *options)
    assert done.returncode == 0


def test_a_rule_marks_questions_without_an_answer(rankscope: Rankscope) -> None:
    Path("ids.json").write_text('{"q1": ["api.md"], "q2": []}')
    Path("run.json").write_text('{"q1": ["api.md"], "q2": ["faq.md"]}')
    plain = scored(rankscope, "ids.json", "run.json", "-m", "RR")
    marked = scored(rankscope, "ids.json", "run.json", "-m", "RR", "--no-answer", "empty")
    assert (plain["means"]["RR"], marked["means"]["RR"]) == (0.5, 1.0)
