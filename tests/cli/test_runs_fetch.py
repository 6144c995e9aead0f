"""``rankscope runs fetch``: run files of a config's systems, checked, and what failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankscope as rs
from benchmark.world import CONFIG, QUERIES, World, cli, made, queries, write_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return write_world(tmp_path / "world")


def test_the_runs_are_those_of_the_benchmark(world: World, tmp_path: Path) -> None:
    code, out, err = cli("runs", "fetch", world.config, "-o", tmp_path / "runs")
    assert (code, err) == (0, "")
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        str(tmp_path / "runs" / f"{name}.run.gz") for name in ("words", "code", "both")
    ]
    folder = made(world, tmp_path / "out")
    for name in ("words", "code", "both"):
        mine = (tmp_path / "runs" / f"{name}.run.gz").read_bytes()
        assert mine == (folder / "runs" / f"{name}.run.gz").read_bytes()
    assert sorted(one.name for one in (tmp_path / "runs").iterdir()) == [
        *(".cache", "both.run.gz", "code.run.gz", "words.run.gz")
    ]


def test_several_at_a_time_are_the_same(world: World, tmp_path: Path) -> None:
    for jobs in ("1", "3"):
        code, out, err = cli(
            "runs", "fetch", world.config, "-o", tmp_path / jobs, "--jobs", jobs, "--format", "json"
        )
        assert (code, err) == (0, "")
        data = json.loads(out)
        assert [(one["system"], one["queries"], one["ok"]) for one in data] == [
            (name, 12, True) for name in ("words", "code", "both")
        ]
    for name in ("words", "code", "both"):
        one, other = ((tmp_path / jobs / f"{name}.run.gz").read_bytes() for jobs in ("1", "3"))
        assert one == other


def test_one_system_with_a_setting(world: World, tmp_path: Path) -> None:
    arguments = ("--system", "words", "--set", "depth=3", "-o", tmp_path / "runs")
    code, out, _ = cli("runs", "fetch", world.config, *arguments)
    assert code == 0
    assert "12 queries, 36 documents" in out
    assert not (tmp_path / "runs" / "code.run.gz").exists()
    assert world.calls == []
    code, out, err = cli("runs", "fetch", world.config, "--system", "word", "-o", tmp_path / "runs")
    assert (code, out) == (2, "")
    assert "unknown system 'word'; nearest: words" in err


def test_quiet(world: World, tmp_path: Path) -> None:
    arguments = ("-o", tmp_path / "runs", "--system", "words", "--quiet")
    assert cli("runs", "fetch", world.config, *arguments) == (0, "", "")
    assert len(rs.read_run(tmp_path / "runs" / "words.run.gz").query_ids) == 12


def test_what_failed_is_asked_again_and_nothing_else(world: World, tmp_path: Path) -> None:
    arguments = ("-o", tmp_path / "runs", "--system", "code")
    world.trouble("raise", "q03")
    code, out, err = cli("runs", "fetch", world.config, *arguments)
    assert code == 1
    assert "11 queries" in out
    assert err.startswith("code: 1 query failed, such as q03 (RuntimeError: the engine has no ")
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert "q03" not in rs.read_run(tmp_path / "runs" / "code.run.gz").query_ids
    assert world.calls.count("q03") == 2
    code, out, _ = cli("runs", "fetch", world.config, *arguments, "--format", "json")
    assert code == 1
    (one,) = json.loads(out)
    assert list(one["failures"]) == ["q03"]
    assert not one["ok"]
    assert world.calls == ["q03", "q03"]
    world.trouble()
    code, out, err = cli("runs", "fetch", world.config, *arguments)
    assert (code, err) == (0, "")
    assert "(11 kept from before)" in out
    assert world.calls == ["q03"]


def test_nothing_at_all(world: World, tmp_path: Path) -> None:
    world.trouble("raise", *QUERIES)
    arguments = ("-o", tmp_path / "runs", "--system", "code")
    code, out, err = cli("runs", "fetch", world.config, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "system code could not answer any query" in err
    other = write_world(
        tmp_path / "other", asked=[{**one, "text": f"zz{at}"} for at, one in enumerate(queries())]
    )
    code, out, err = cli("runs", "fetch", other.config, "-o", tmp_path / "others")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "found no document for any query" in err
    assert not list((tmp_path / "others").glob("*.gz"))


def test_runs_that_break_off_leave_those_before(tmp_path: Path) -> None:
    config = CONFIG.replace("  both:", "  late: {{run: {{path: missing.run}}}}\n  both:")
    world = write_world(tmp_path / "world", config=config)
    code, out, err = cli("runs", "fetch", world.config, "-o", tmp_path / "runs")
    assert (code, err.count("\n")) == (2, 1)
    assert "missing.run" in err
    assert out == "" or "words.run.gz" in out


def test_an_output_that_is_a_file(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    code, out, err = cli("runs", "fetch", world.config, "-o", tmp_path / "file")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (tmp_path / "file").read_text() == "mine"
