"""``rankscope runs fetch``: run files of a config's systems, checked, and what failed."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from benchmark.world import CONFIG, QUERIES, World, cli, queries, write_world

NAMES = ("words", "code", "both")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return write_world(tmp_path / "world")


def test_one_system_with_a_setting(world: World, tmp_path: Path) -> None:
    arguments = ("--system", "words", "--set", "depth=3", "-o", tmp_path / "runs", "--quiet")
    assert cli("runs", "fetch", world.config, *arguments) == (0, "", "")
    run = rs.read_run(tmp_path / "runs" / "words.run.gz")
    assert (len(run.query_ids), len(run)) == (12, 36)
    assert not (tmp_path / "runs" / "code.run.gz").exists()
    assert world.calls == []


def test_what_failed_is_asked_again_and_nothing_else(world: World, tmp_path: Path) -> None:
    arguments = ("-o", tmp_path / "runs", "--system", "code")
    world.trouble("raise", "q03")
    code, _, err = cli("runs", "fetch", world.config, *arguments)
    assert (code, err.count("\n")) == (1, 1)
    assert "q03" in err
    assert "\x1b" not in err
    assert "q03" not in rs.read_run(tmp_path / "runs" / "code.run.gz").query_ids
    assert world.calls.count("q03") == 2
    assert cli("runs", "fetch", world.config, *arguments)[0] == 1
    assert world.calls == ["q03", "q03"]
    world.trouble()
    code, _, err = cli("runs", "fetch", world.config, *arguments)
    assert (code, err) == (0, "")
    assert world.calls == ["q03"]


def test_nothing_at_all_is_an_error(world: World, tmp_path: Path) -> None:
    world.trouble("raise", *QUERIES)
    code, out, err = cli("runs", "fetch", world.config, "-o", tmp_path / "a", "--system", "code")
    assert (code, out, err.count("\n")) == (2, "", 1)
    other = write_world(
        tmp_path / "other", asked=[{**each, "text": f"zz{at}"} for at, each in enumerate(queries())]
    )
    code, out, err = cli("runs", "fetch", other.config, "-o", tmp_path / "b")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not list((tmp_path / "b").glob("*.gz"))


def test_what_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    late = CONFIG.replace("  both:", "  late: {{run: {{path: missing.run}}}}\n  both:")
    missing = write_world(tmp_path / "late", config=late)
    for config, options, word in (
        (world.config, ("--system", "word", "-o", tmp_path / "runs"), "words"),
        (world.config, ("-o", tmp_path / "file"), "file"),
        (missing.config, ("-o", tmp_path / "runs"), "missing.run"),
    ):
        code, _, err = cli("runs", "fetch", config, *options)
        assert (code, err.count("\n")) == (2, 1)
        assert word in err
    assert (tmp_path / "file").read_text() == "mine"
