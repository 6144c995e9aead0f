"""A benchmark of systems that return chunks, with questions that have no answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.errors import InputError

WORDS = ["apple", "banana", "cherry", "grape", "lemon", "mango"]


def world(folder: Path, **collection: str) -> Path:
    """Write six documents of three chunks each, seven questions, and a config."""
    chunks = [
        {"_id": f"doc{n}#{part}", "text": f"{word} {WORDS[(n + part) % 6]} text"}
        for n, word in enumerate(WORDS)
        for part in range(3)
    ]
    queries: list[Any] = [{"_id": f"q{n}", "text": word} for n, word in enumerate(WORDS)]
    queries.append({"_id": "none", "text": "apple kiwi", "no_answer": True})
    for name, rows in {"corpus": chunks, "queries": queries}.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 doc{n} 1\n" for n in range(6)))
    files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.txt"}
    config = {
        "name": "chunks",
        "collection": {**files, **collection},
        "depth": 9,
        "systems": {
            "lexical": "bm25",
            "both": {"fuse": {"of": ["lexical", "lexical"]}},
        },
        "measures": ["nDCG@2", "RR@5"],
    }
    path = folder / "bench.yaml"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("rule", ["#", "^(.{4})"])
def test_chunks_become_documents_and_the_records_hold(tmp_path: Path, rule: str) -> None:
    result = run_benchmark(world(tmp_path, doc_id_from=rule), output=tmp_path / "out")
    lexical, both = result.report.systems
    assert lexical.accounting is not None
    assert (lexical.accounting.queries, lexical.accounting.no_answer) == (6, 1)
    assert result.report.collection.no_answer == ("none",)
    collapsed = lexical.accounting.collapsed
    assert collapsed is not None
    assert collapsed == lexical.run.collapsed
    assert (collapsed.rule, collapsed.documents) == (rule, lexical.run.rows)
    assert collapsed.chunks > collapsed.documents
    assert all(value.value == 1.0 for value in both.measures)
    assert verify(result.folder).ok


def test_a_rule_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a regular expression"):
        run_benchmark(world(tmp_path, doc_id_from="(("), output=tmp_path / "out")


def test_the_rule_of_a_config_marks_questions_without_judgments(tmp_path: Path) -> None:
    path = world(tmp_path, doc_id_from="#", no_answer="empty")
    with (tmp_path / "queries.jsonl").open("a") as queries:
        queries.write('\n{"_id": "extra", "text": "grape"}')
    report = run_benchmark(path, output=tmp_path / "out").report
    other = world(tmp_path, doc_id_from="^(.{4})")
    second = run_benchmark(other, output=tmp_path / "out").report
    assert second.systems[0].run.run_id != report.systems[0].run.run_id, "another experiment"
    assert report.collection.no_answer == ("none", "extra")
