"""Chunks, spans and questions without an answer at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Rankscope

FILES = {
    "qrels.txt": "q1 0 guide.md 1\nq1 0 api.md 2\nq2 0 faq.md 1\n",
    "chunks.run": "q1 Q0 api.md#3 1 9.1 dense\nq1 Q0 api.md#1 2 8.0 dense\n"
    "q1 Q0 guide.md#7 3 7.1 dense\nq2 Q0 guide.md#1 1 5.0 dense\nq2 Q0 faq.md#1 2 4.0 dense\n",
    "ids.json": '{"q1": ["api.md"], "q2": []}',
    "found.json": '{"q1": ["api.md"], "q2": ["faq.md"]}',
    "golden.json": json.dumps([
        {"id": "q1", "spans": [{"doc": "a", "start": 100, "end": 200}]},
        {"id": "q2", "spans": [{"doc": "b", "start": 0, "end": 50}]},
        {"id": "q3", "spans": [], "no_answer": True},
    ]),
    "results.json": json.dumps([
        {"id": "q1", "chunks": [{"doc": "a", "start": 0, "end": 150}]},
        {"id": "q2", "chunks": [{"doc": "b", "start": 0, "end": 60}]},
    ]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("qrels.txt chunks.run --doc-id-from # -m RR@2", {"RR@2": 0.75}),
        (
            "golden.json results.json -m SpanRecall@1 -m R@1 --overlap 0.8",
            {"SpanRecall@1": 0.75, "R@1": 0.5},
        ),
        ("ids.json found.json -m RR", {"RR": 0.5}),
        ("ids.json found.json -m RR --no-answer empty", {"RR": 1.0}),
    ],
)
def test_means(rankscope: Rankscope, typed: str, means: dict[str, float]) -> None:
    done = rankscope("evaluate", *typed.split(), "--format", "json")
    (run,) = json.loads(done.stdout)["runs"].values()
    assert run["means"] == means


def test_every_command_that_reads_runs_collapses(rankscope: Rankscope) -> None:
    rule = ("--doc-id-from", "^(.+)#")
    rankscope("convert", "chunks.run", "documents.run", *rule)
    assert Path("documents.run").read_text().startswith("q1 Q0 api.md 1 9.1 dense\n")
    rankscope("runs", "fuse", "a=chunks.run", "b=documents.run", *rule, "-o", "fused.run")
    assert "#" not in Path("fused.run").read_text()
    judged = ("--qrels", "qrels.txt", *rule)
    done = rankscope("runs", "validate", "chunks.run", *judged, "--format", "json")
    assert json.loads(done.stdout)[0]["rows"] == 4
    runs = ("qrels.txt", "a=chunks.run", "b=fused.run")
    assert rankscope("compare", *runs, *rule, "-m", "RR").returncode == 0
    assert rankscope("gate", "chunks.run", "documents.run", *judged).returncode == 0
