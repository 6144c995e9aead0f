"""A benchmark of systems that return chunks, with questions that have no answer."""

from __future__ import annotations

import json
from pathlib import Path

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
    queries = [{"_id": f"q{n}", "text": word} for n, word in enumerate(WORDS)]
    queries.append({"_id": "none", "text": "apple kiwi", "no_answer": True})  # type: ignore[dict-item]
    for name, rows in {"corpus": chunks, "queries": queries}.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 doc{n} 1\n" for n in range(6)))
    (folder / "table.csv").write_text(
        "chunk_id,doc_id\n" + "".join(f"{c['_id']},{c['_id'][:4]}\n" for c in chunks)
    )
    config = {
        "name": "chunks",
        "collection": {
            "corpus": "corpus.jsonl",
            "queries": "queries.jsonl",
            "qrels": "qrels.txt",
            **collection,
        },
        "depth": 9,
        "systems": {
            "lexical": "bm25",
            "documents": {"collapse": {"of": "lexical", "doc_id_from": "#", "collapse": "sum"}},
        },
        "measures": ["nDCG@2", "RR@5"],
    }
    path = folder / "bench.yaml"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("rule", ["#", "table.csv"])
def test_chunks_become_documents_and_the_records_hold(tmp_path: Path, rule: str) -> None:
    path = world(tmp_path, doc_id_from=rule)
    result = run_benchmark(path, output=tmp_path / "out")
    report = result.report
    lexical, documents = report.systems
    assert lexical.accounting is not None
    assert lexical.accounting.queries == 6
    assert lexical.accounting.no_answer == 1
    assert report.collection.no_answer == ("none",)
    collapsed = lexical.accounting.collapsed
    assert collapsed is not None
    assert collapsed == lexical.run.collapsed
    assert (collapsed.rule, collapsed.documents) == (rule, lexical.run.rows)
    assert collapsed.chunks > collapsed.documents
    assert all(value.value == 1.0 for value in documents.measures)
    verified = verify(result.folder)
    assert verified.ok, verified
    again = run_benchmark(path, output=tmp_path / "out")
    assert again.report.systems[0].accounting == lexical.accounting


def test_another_rule_is_another_experiment(tmp_path: Path) -> None:
    first = run_benchmark(world(tmp_path, doc_id_from="#"), output=tmp_path / "out")
    path = world(tmp_path, doc_id_from="#", collapse="sum")
    second = run_benchmark(path, output=tmp_path / "out")
    assert first.report.systems[0].run.run_id != second.report.systems[0].run.run_id


def test_a_rule_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a regular expression"):
        run_benchmark(world(tmp_path, doc_id_from="(("), output=tmp_path / "out")
    with pytest.raises(InputError, match="needs doc_id_from"):
        run_benchmark(world(tmp_path, collapse="sum"), output=tmp_path / "out")


def test_the_rule_of_a_config_marks_questions_without_judgments(tmp_path: Path) -> None:
    path = world(tmp_path, doc_id_from="#", no_answer="empty")
    with (tmp_path / "queries.jsonl").open("a") as queries:
        queries.write('\n{"_id": "extra", "text": "grape"}')
    report = run_benchmark(path, output=tmp_path / "out").report
    assert report.collection.no_answer == ("none", "extra")
