"""``rankscope demo``: the whole way, offline, in one command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankscope.benchmark.verify import verify
from rankscope.records import BenchmarkReport

Rankscope = Callable[..., Any]


def test_the_demo_makes_scores_compares_and_writes(rankscope: Rankscope, tmp_path: Path) -> None:
    done = rankscope("demo")
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = (path for path in (tmp_path / "rankscope-demo").iterdir() if path.name[0] != ".")
    report = BenchmarkReport.read(folder / "BenchmarkReport.json")
    assert [one.name for one in report.systems] == [
        *("title", "lexical", "vector", "hybrid", "reranked")
    ]
    main = {one.name: one.measures[0].value for one in report.systems}
    assert main["title"] < main["vector"] < main["lexical"] < main["hybrid"]
    for value in main.values():
        assert f"{value:.3f}" in done.stdout
    plain = " ".join(done.stdout.split())
    for sentence in report.verdict:
        assert sentence in plain
    assert report.collection.training == "train"
    assert report.collection.queries == 120
    page = (folder / "BenchmarkComparison.md").read_text("utf-8")
    assert page.startswith("# Benchmark: recipes")
    assert verify(folder).ok
    again = rankscope("demo")
    assert again.returncode == 0
    assert "nothing has changed" in again.stdout


def test_a_place_that_cannot_be_written_is_one_sentence(
    rankscope: Rankscope, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = rankscope("demo", "--output", "file")
    assert done.returncode == 2
    assert "cannot create this folder" in done.stderr
    assert len(done.stderr.splitlines()) == 1
