"""Code of the user, run by a command: what it prints spoils no answer, its secrets are not kept."""

from __future__ import annotations

import gzip
import json
from itertools import count
from pathlib import Path

import pytest

from conftest import Rankscope

SECRET = "Hunter22/Zq9+xW7"
NUMBERS = count()

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
  mine: {python: {function: "MODULE:answer", version: "${TOKEN}"}}
depth: 5
measures: [RR@10]
diagnosis: [ties]
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a benchmark, and return the file of its engine."""
    queries = [{"_id": f"q{number}", "text": f"leek {number}"} for number in range(6)]
    corpus = [{"_id": "d1", "text": "leek soup"}, {"_id": "d2", "text": "apple pie"}]
    for name, rows in {"queries.jsonl": queries, "corpus.jsonl": corpus}.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{number}\td1\t1" for number in range(6))]
    (tmp_path / "qrels.tsv").write_text("\n".join(lines) + "\n")
    module = f"telling_{next(NUMBERS)}"
    (tmp_path / "bench.yaml").write_text(CONFIG.replace("MODULE", module))
    monkeypatch.setenv("TOKEN", SECRET)
    path = tmp_path / f"{module}.py"
    path.write_text(ENGINE)
    return path


@pytest.mark.usefixtures("engine")
def test_json_is_all_of_the_answer(rankscope: Rankscope, tmp_path: Path) -> None:
    typed = ("benchmark", "run", "bench.yaml", "--format", "json", "--output", "out")
    done = rankscope("--debug", *typed)
    assert done.returncode == 1, done.stderr  # a query failed
    assert "no access with ${TOKEN}" in json.dumps(json.loads(done.stdout))
    assert "imported\n" in done.stderr
    assert "asked q1\n" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    for path in (path for path in (tmp_path / "out").rglob("*") if path.is_file()):
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        assert SECRET.encode() not in content, path


def test_a_module_that_fails_tells_no_secret(rankscope: Rankscope, engine: Path) -> None:
    engine.write_text('import os\nraise RuntimeError("refused: " + os.environ["TOKEN"])\n')
    done = rankscope("--debug", "benchmark", "run", "bench.yaml")
    assert done.returncode == 2
    assert done.stderr.count("refused: ${TOKEN}") > 1  # in the traceback, too
    assert SECRET not in done.stdout + done.stderr
