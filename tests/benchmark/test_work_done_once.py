"""A run is read, checked, sorted, hashed and aligned once, whatever many stages need it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.benchmark.run import run_benchmark
from rankscope.runs.checks import RunUnderTest
from rankscope.runs.table import Run
from rankscope.scoring import align
from rankscope.scoring.judgments import Judgments

CONFIG = """\
name: counted
collection: {path: ., split: test}
systems:
  a: {run: a.run}
  b: {run: b.run}
  both: {fuse: {of: [a, b]}}
baseline: a
segments: [words]
statistics: {resamples: 200}
"""

QUERIES = [f"q{number}" for number in range(12)]


def write_world(folder: Path) -> Path:
    """Write two runs with ties in no order, and what they are measured by."""
    (folder / "qrels").mkdir()
    rs.Qrels({query: {"d1": 2, "d4": 1} for query in QUERIES}).write(folder / "qrels" / "test.tsv")
    lines = "".join(f'{{"_id": "{query}", "text": "about {query}"}}\n' for query in QUERIES)
    (folder / "queries.jsonl").write_text(lines)
    lines = "".join(f'{{"_id": "d{number}", "text": "of {number}"}}\n' for number in range(9))
    (folder / "corpus.jsonl").write_text(lines)
    for name, step in (("a", 1), ("b", 2)):
        answer = {f"d{number * step % 9}": float(9 - number // 2) for number in range(8)}
        lines = "".join(
            f"{query} Q0 {doc_id} 1 {score} {name}\n"
            for query in QUERIES
            for doc_id, score in answer.items()
        )
        (folder / f"{name}.run").write_text(lines)
    (folder / "bench.yaml").write_text(CONFIG)
    return folder / "bench.yaml"


def count(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], owner: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    def counted(*args: Any, **options: Any) -> Any:
        counts[name] += 1
        return original(*args, **options)

    monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize("jobs", [1, 2])
def test_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    config = write_world(tmp_path)
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")  # whose reader validates without `_take`
    work: Counter[str] = Counter()
    for owner, name in (
        (Run, "_take"),  # validates
        (Run, "_sort"),
        (Run, "_hash"),
        (align, "_aligned"),
    ):
        count(monkeypatch, work, owner, name)
    checked: Counter[str] = Counter()
    count(monkeypatch, checked, RunUnderTest, "__init__")
    prepared: Counter[str] = Counter()
    count(monkeypatch, prepared, Judgments, "__init__")
    opened: Counter[str] = Counter()
    original = io.open

    def counted_open(file: Any, *args: Any, **options: Any) -> Any:
        opened[Path(str(file)).name] += 1
        return original(file, *args, **options)

    monkeypatch.setattr("builtins.open", counted_open)
    run_benchmark(config, output=tmp_path / "out", jobs=jobs)
    assert work == {
        "_take": 2,  # the two files
        "_sort": 2 + 2,  # the two files, and what the fusion was given
        "_hash": 3,
        "_aligned": 5,  # and two fusions that are tried
    }
    assert checked == {"__init__": 3}
    assert prepared == {"__init__": 1}
    assert (opened["queries.jsonl"], opened["corpus.jsonl"]) == (1, 1)
    for name in ("a.run", "b.run"):
        assert opened[name] <= 4, "recognised, its head looked at, and read: once, not by stage"


def test_nothing_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that are in the cache are taken as they are."""
    config = write_world(tmp_path)
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")
    run_benchmark(config, output=tmp_path / "first", cache=tmp_path / "cache")
    work: Counter[str] = Counter()
    for owner, name in ((Run, "_take"), (Run, "_sort"), (Run, "_hash"), (align, "_aligned")):
        count(monkeypatch, work, owner, name)
    run_benchmark(config, output=tmp_path / "second", cache=tmp_path / "cache")
    again = {"_take": 2, "_sort": 2, "_hash": 2}  # the files themselves, to know them
    assert work == {**again, "_aligned": 3}, "and once for what each document on top adds"
