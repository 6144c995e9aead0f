"""Chunks, spans and questions without an answer at the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rankscope = Callable[..., Any]

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
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("chunks.run").write_text(CHUNKS)
    Path("golden.json").write_text(json.dumps(SPANS))
    Path("results.json").write_text(json.dumps(RESULTS))


def test_evaluate_says_what_was_collapsed(rankscope: Rankscope) -> None:
    refused = rankscope("evaluate", "qrels.txt", "chunks.run")
    assert "as that of a chunk (--doc-id-from)" in refused.stderr
    options = ("--doc-id-from", "#", "-m", "RR@2", "--format", "json")
    data = json.loads(rankscope("evaluate", "qrels.txt", "chunks.run", *options).stdout)
    run = data["runs"]["dense"]
    assert run["means"]["RR@2"] == 0.75
    assert (
        run["accounting"]["collapsed"]["chunks"],
        run["accounting"]["collapsed"]["documents"],
    ) == (*(5, 4),)
    text = rankscope("evaluate", "qrels.txt", "chunks.run", *options[:4]).stdout
    assert "5 chunks collapsed to 4 documents by '#' (best)" in text


def test_every_command_that_reads_runs_collapses(rankscope: Rankscope) -> None:
    rule = ("--doc-id-from", "^(.+)#")
    rankscope("convert", "chunks.run", "documents.run", *rule, "--collapse", "sum")
    assert Path("documents.run").read_text().startswith("q1 Q0 api.md 1 17.1 dense\n")
    rankscope("runs", "fuse", "a=chunks.run", "b=documents.run", *rule, "-o", "fused.run")
    assert "#" not in Path("fused.run").read_text()
    done = rankscope("runs", "validate", "chunks.run", "--qrels", "qrels.txt", *rule)
    assert "2 queries, 4 lines" in done.stdout
    comparison = rankscope("compare", "qrels.txt", "a=chunks.run", "b=fused.run", *rule, "-m", "RR")
    assert "a: 5 chunks collapsed to 4 documents" in " ".join(comparison.stdout.split())
    done = rankscope("gate", "chunks.run", "documents.run", "--qrels", "qrels.txt", *rule)
    assert done.returncode == 0


def test_collapse_needs_a_rule(rankscope: Rankscope) -> None:
    refused = rankscope("evaluate", "qrels.txt", "chunks.run", "--collapse", "sum")
    assert "--collapse needs --doc-id-from" in refused.stderr


def test_spans_are_noticed(rankscope: Rankscope) -> None:
    options = ("-m", "SpanRecall@1", "-m", "R@1", "--overlap", "0.8")
    text = rankscope("evaluate", "golden.json", "results.json", *options).stdout
    flat = " ".join(text.split())
    assert "1 question has no answer, left out" in flat
    assert "2 gold spans, found where 80% of the characters are retrieved" in flat
    data = rankscope("evaluate", "golden.json", "results.json", *options, "--format", "json").stdout
    assert json.loads(data)["runs"]["results"]["means"] == {"SpanRecall@1": 0.75, "R@1": 0.5}
    compared = rankscope("compare", "golden.json", "a=results.json", "b=results.json", *options)
    assert "1 question has no answer, left out" in " ".join(compared.stdout.split())


def test_ids_and_spans_do_not_mix(rankscope: Rankscope) -> None:
    refused = rankscope("evaluate", "golden.json", "chunks.run")
    assert "a trec file holds ids, and the golden set spans or texts" in refused.stderr
    refused = rankscope("convert", "golden.json", "out.qrels", "--kind", "qrels")
    assert "evaluate, compare and gate take these" in refused.stderr
    refused = rankscope("evaluate", "golden.json", "results.json", "--bounds")
    assert "evaluate, compare and gate take these" in refused.stderr


def test_a_rule_marks_questions_without_an_answer(rankscope: Rankscope) -> None:
    Path("ids.json").write_text('{"q1": ["api.md"], "q2": []}')
    Path("run.json").write_text('{"q1": ["api.md"], "q2": ["faq.md"]}')
    plain = rankscope("evaluate", "ids.json", "run.json", "-m", "RR").stdout
    assert "1 query without a relevant document, scored 0" in plain
    marked = rankscope(
        "evaluate", "ids.json", "run.json", "-m", "RR", "--no-answer", "empty"
    ).stdout
    assert "1 question has no answer, left out" in marked
