"""A run is read, checked, sorted, hashed and aligned once, whatever many steps need it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import QUERIES, write_world
from rankscope.benchmark.run import run_benchmark
from rankscope.runs.table import Run
from rankscope.runs.validation import RunUnderTest
from rankscope.scoring import align
from rankscope.scoring.judgments import Judgments

CONFIG = """\
name: counted
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  a: {{run: a.run}}
  b: {{run: b.run}}
  both: {{fuse: {{of: [a, b]}}}}
baseline: a
segments: [length]
statistics: {{resamples: 200}}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a benchmark of two runs with ties in no order."""
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")  # whose reader validates without `_take`
    for name, step in (("a", 1), ("b", 2)):
        answer = {f"d{number * step % 9:02}": 9 - number // 2 for number in range(8)}
        rows = [(query, *found) for query in QUERIES for found in answer.items()]
        lines = "".join(f"{query} Q0 {doc} 1 {score} {name}\n" for query, doc, score in rows)
        (tmp_path / f"{name}.run").write_text(lines)
    return write_world(tmp_path, config=CONFIG).config


def count(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], owner: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    def counted(*args: Any, **options: Any) -> Any:
        counts[f"{owner.__name__.rpartition('.')[2]}.{name}"] += 1
        return original(*args, **options)

    monkeypatch.setattr(owner, name, counted)


WORK = [(Run, "_take"), (Run, "_sort"), (Run, "_hash"), (align, "_hits")]


def test_once(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work: Counter[str] = Counter()
    for owner, name in (*WORK, (RunUnderTest, "__init__"), (Judgments, "__init__")):
        count(monkeypatch, work, owner, name)
    opened: Counter[str] = Counter()
    original = io.open

    def counted_open(file: Any, *args: Any, **options: Any) -> Any:
        opened[Path(str(file)).name] += 1
        return original(file, *args, **options)

    monkeypatch.setattr("builtins.open", counted_open)
    run_benchmark(config, output=tmp_path / "out")
    assert work == {
        "Run._take": 2,  # the two files: validated
        "Run._sort": 2 + 4,  # the two files, and what the fusion was given, once nothing
        "Run._hash": 3,
        "align._hits": 3 + 2,  # and two fusions that are tried
        "RunUnderTest.__init__": 3,
        "Judgments.__init__": 1,
    }
    assert (opened["queries.jsonl"], opened["corpus.jsonl"]) == (1, 1)
    for name in ("a.run", "b.run"):
        assert opened[name] <= 4, "recognised, its head looked at, and read: once, not by step"
