"""Code of the user, run by a command: what it prints spoils no answer, its secrets are not kept."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SECRET = "Hunter22/Zq9+xW7"

ENGINE = """
import os

from rankscope.retrieval.protocol import Query

print("imported")

def answer(query: Query, depth: int):
    print("asked", query.query_id)
    if query.query_id == "q0":
        try:
            raise KeyError(os.environ["TOKEN"])
        except KeyError as error:
            raise ValueError("no access with " + os.environ["TOKEN"]) from error
    return {"d1": 2.0, "d2": 1.0}
"""

CONFIG = """\
name: telling
collection:
  corpus: corpus.jsonl
  queries: queries.jsonl
  qrels: qrels.tsv
systems:
  mine: {python: {function: "telling:answer", version: "${TOKEN}"}}
depth: 5
measures: [RR@10]
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    queries = [{"_id": f"q{number}", "text": f"leek {number}"} for number in range(6)]
    corpus = [{"_id": "d1", "text": "leek soup"}, {"_id": "d2", "text": "apple pie"}]
    for name, rows in {"queries.jsonl": queries, "corpus.jsonl": corpus}.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{number}\td1\t1" for number in range(6))]
    (tmp_path / "qrels.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "telling.py").write_text(ENGINE)
    (tmp_path / "bench.yaml").write_text(CONFIG)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankscope", "--debug", *arguments],
        cwd=folder,
        env={**os.environ, "TOKEN": SECRET},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("command", [("benchmark", "run"), ("runs", "fetch")], ids=" ".join)
def test_json_is_all_of_the_answer(world: Path, command: tuple[str, ...]) -> None:
    done = run(world, *command, "bench.yaml", "--format", "json", "--output", "out")
    assert done.returncode == 1, done.stderr  # a query failed
    assert "no access with ${TOKEN}" in json.dumps(json.loads(done.stdout))
    assert "imported\n" in done.stderr
    assert "asked q1\n" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    for path in (path for path in (world / "out").rglob("*") if path.is_file()):
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        assert SECRET.encode() not in content, path


def test_a_line_for_each_run_is_all_of_the_answer(world: Path) -> None:
    done = run(world, "runs", "fetch", "bench.yaml")
    assert done.stdout.startswith("runs/mine.run.gz: 5 queries")
    assert done.stdout.count("\n") == 1


def test_a_module_that_fails_tells_no_secret(world: Path) -> None:
    source = 'import os\nraise RuntimeError("refused: " + os.environ["TOKEN"])\n'
    (world / "telling.py").write_text(source)
    done = run(world, "benchmark", "run", "bench.yaml")
    assert done.returncode == 2
    assert done.stderr.count("refused: ${TOKEN}") > 1  # in the traceback, too
    assert SECRET not in done.stdout + done.stderr
