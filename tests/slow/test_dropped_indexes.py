"""Indexes that a benchmark makes for a while: which are dropped, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.world import World, cli, write_world
from rankscope.benchmark.run import fetch_runs, run_benchmark
from rankscope.errors import LeftoverWarning
from rankscope.retrieval.engines.sqlite import Sqlite

CONFIG = """\
name: dropped
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  words: {{bm25: {{language: none}}}}
  lite: {{sqlite: {{}}}}
  both: {{fuse: {{of: [words, {{sqlite: {{create: {{tokenize: trigram}}}}}}]}}}}
depth: 5
measures: [nDCG@5]
statistics: {{resamples: 100}}
"""
DROPPING = CONFIG.replace("{{sqlite: {{}}}}", "{{sqlite: {{drop: true}}}}").replace(
    "tokenize: trigram}}", "tokenize: trigram}}, drop: true"
)


def indexes(folder: Path) -> int:
    """Count the files of indexes, of which each has its own."""
    return sum(path.is_file() for path in folder.rglob("*.sqlite"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A benchmark that has been run, and left two indexes."""
    world = write_world(tmp_path, config=CONFIG)
    run_benchmark(world.config, output=tmp_path / "out")
    assert indexes(tmp_path) == 2
    return world


def test_indexes_are_dropped_though_all_answers_were_kept(world: World, tmp_path: Path) -> None:
    world.config.write_text(DROPPING.format())
    result = run_benchmark(world.config, output=tmp_path / "out")
    assert not result.reused
    assert {system.timing.stored for system in result.report.systems} == {12}
    assert indexes(tmp_path) == 0


def test_only_what_is_fetched_is_dropped(world: World, tmp_path: Path) -> None:
    world.config.write_text(DROPPING.format())
    runs, cache = tmp_path / "runs", tmp_path / "out" / ".cache"
    fetch_runs(world.config, systems=["lite"], output=runs, cache=cache)
    assert indexes(tmp_path) == 1
    fetch_runs(world.config, output=runs, cache=cache)
    assert indexes(tmp_path) == 0


@pytest.mark.filterwarnings("always::rankscope.errors.LeftoverWarning")
def test_what_could_not_be_dropped_is_a_warning(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Sqlite) -> bool:
        raise ConnectionError("no answer from hunter22")

    monkeypatch.setattr(Sqlite, "exists", gone)
    monkeypatch.setenv("PLACE", "hunter22")
    secret = "path: '${{PLACE}}', drop: true"
    world.config.write_text(DROPPING.replace("{{drop: true}}", f"{{{{{secret}}}}}").format())
    with pytest.warns(LeftoverWarning) as caught:
        run_benchmark(world.config, output=tmp_path / "out")
    texts = [str(warning.message) for warning in caught]
    assert [text.partition(":")[0] for text in texts] == ["system lite", "system both"]
    assert "${PLACE}" in texts[0]
    code, _, err = cli("benchmark", "run", world.config, "--output", tmp_path / "out", "--fresh")
    assert (code, err.splitlines()[0]) == (0, f"rankscope: warning: {texts[0]}")
    assert "hunter22" not in err + " ".join(texts)


def test_copies_are_dropped_and_the_first_is_kept(tmp_path: Path) -> None:
    swept = "{{sqlite: {{sweep: {{create.tokenize: [unicode61, porter]}}}}}}"
    names = "[lite tokenize=unicode61, lite tokenize=porter]"
    config = CONFIG.replace("{{sqlite: {{}}}}", swept)
    config += f"repeat: {{{{times: 3, rebuild: true, systems: {names}}}}}\n"
    world = write_world(tmp_path, config=config)
    result = run_benchmark(world.config, output=tmp_path / "out")
    assert [len(system.again) for system in result.report.systems] == [0, 2, 2, 0]
    loaded = [
        run.engines[0].loaded
        for system in result.report.systems
        if system.name.startswith("lite")
        for run in (system.run, *system.again)
    ]
    assert loaded == [24] * 6
    assert indexes(tmp_path) == 3
