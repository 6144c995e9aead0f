"""``rankscope benchmark run`` as a user meets it: options, exit codes, streams, a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmark.world import (
    STEPS,
    World,
    cli,
    command,
    only_experiment,
    write_world,
)
from rankscope.benchmark import collection


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def done(world: World) -> Path:
    """Return the output folder of a benchmark that was run."""
    output = world.folder / "done"
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet") == (0, "", "")
    return output


def test_an_edit_beside_the_config_is_a_new_answer(tmp_path: Path) -> None:
    world, output = write_world(tmp_path / "world"), tmp_path / "out"
    engine, helper = engine_of(world), world.folder / f"helper_{tmp_path.name}.py"
    helper.write_text("BEST = 'd00'\n")
    engine.write_text(f"import {helper.stem}\n{engine.read_text()}")
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    assert len(world.calls) == 24
    helper.write_text("BEST = 'd0' + str(1)\n")
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    assert len(world.calls) == 24


def test_a_benchmark_of_which_everything_is_there_does_not_read_the_corpus(
    world: World, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[object] = []
    monkeypatch.setattr(collection, "read_corpus", reads.append)
    code, out, err = cli("benchmark", "run", world.config, "--output", done, "--format", "json")
    assert (code, err, reads) == (0, "", [])
    assert json.loads(out) == json.loads(
        (only_experiment(done) / "BenchmarkReport.json").read_text()
    )


# -------------------------------------------------------------------------- code of the user


def engine_of(world: World) -> Path:
    (engine,) = world.folder.glob("engine_*.py")
    return engine


def test_no_python_refuses_before_anything_is_imported(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    engine = engine_of(world)
    leaves_a_mark = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    engine.write_text(leaves_a_mark + engine.read_text())
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out", "--format", "json")
    fetch = ("runs", "fetch", world.config, "-o", tmp_path / "runs")
    for arguments in (run, fetch):
        code, out, err = cli(*arguments, "--no-python")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "system code" in err
    assert not (tmp_path / "ran").exists()
    assert cli(*fetch, "--system", "words", "--quiet")[0] == 0
    assert cli(*run)[0] == 0
    assert (tmp_path / "ran").exists()


def test_what_code_prints_does_not_disturb_the_answer(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    engine = engine_of(world)
    source = engine.read_text().replace("    global ASKED", "    global ASKED; print('asked')")
    engine.write_text(f"print('imported')\n{source}")
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out", "--format", "json")
    code, out, err = cli(*run)
    assert (code, json.loads(out)["name"]) == (0, "small")
    assert {"imported", "asked"} <= set(err.split())


def test_code_that_ends_the_process_is_a_failure(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    engine = engine_of(world)
    source = engine.read_text()
    exits = "    if query.query_id == 'q03': raise SystemExit(0)\n    global ASKED"
    engine.write_text(source.replace("    global ASKED", exits))
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out", "--quiet")
    assert cli(*run)[0] == 1
    engine.write_text(f"raise SystemExit(0)\n{source}")
    code, out, err = cli(*run)
    assert (code, out, err.count("\n")) == (2, "", 1)


# ------------------------------------------------------------------------------------ fresh


def entries(cache: Path) -> dict[str, bytes]:
    """Return all files of a cache."""
    paths = (path for path in sorted(cache.rglob("*")) if path.is_file())
    return {str(path.relative_to(cache)): path.read_bytes() for path in paths}


def test_fresh_makes_everything_anew_and_deletes_nothing(
    world: World, done: Path, tmp_path: Path
) -> None:
    output, cache = tmp_path / "out", tmp_path / "cache"
    shutil.copytree(done / ".cache", cache)
    before = entries(cache)
    run = ("--output", output, "--cache", cache, "--fresh")
    for config in ("typo.yaml", tmp_path):
        assert cli("benchmark", "run", config, *run)[0] == 2
    assert entries(cache) == before
    world.calls  # noqa: B018 (forget them)
    code, out, _ = cli("benchmark", "run", world.config, *run, "--format", "json")
    assert code == 0
    assert len(world.calls) == 24
    report = json.loads((only_experiment(done) / "BenchmarkReport.json").read_text())
    assert json.loads(out) == report
    other = ("--set", "depth=4", "--set", "systems.words.bm25.k1=0.6", "--format", "json")
    code, out, _ = cli("benchmark", "run", world.config, *run[:-1], *other)
    data = json.loads(out)
    assert (code, data["depth"], data["systems"][0]["spec"]) == (0, 4, {"bm25": {"k1": 0.6}})
    assert entries(cache).keys() > before.keys()


# ---------------------------------------------------------------------------------- options


def test_limits(world: World, done: Path) -> None:
    run = ("benchmark", "run", world.config, "--output", done, "--quiet")
    for limits, code, word in (
        (["words:nDCG@5=0.1", "R@10=0.01"], 0, ""),
        (["nDCG@5=0.1"], 1, "both has nDCG@5"),
        (["both:nDCG@5=0.2", "nDCG@5=0.05"], 1, "both has nDCG@5"),
        (["nDCG@7=0.1"], 2, "nearest: nDCG@5"),
        (["coda:nDCG@5=0.1"], 2, "nearest: code"),
        (["nDCG@5=70"], 2, "0 to 1"),
        (["code:=0.1"], 2, "MEASURE=VALUE"),
    ):
        found = cli(*run, *(part for one in limits for part in ("--fail-under", one)))
        assert found[:2] == (code, "")
        assert word in found[2]
        assert found[2].count("\n") == (1 if word else 0)


def test_an_output_that_is_a_file(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert cli("benchmark", "run", world.config, "--output", tmp_path / "file")[0] == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_in_a_pipe_there_is_no_bar_and_on_a_terminal_there_is(world: World, done: Path) -> None:
    """A terminal for standard error, a file for standard output."""
    output, answer = world.folder / "terminal", world.folder / "answer.json"
    run = ("benchmark", "run", world.config, "--output", output, "--format", "json")
    controller, terminal = pty.openpty()
    with answer.open("wb") as sink:
        process = subprocess.Popen(
            command(*run),
            stdout=sink,
            stderr=terminal,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
        )
    os.close(terminal)
    shown = b""
    while select.select([controller], [], [], 60)[0]:
        try:
            shown += os.read(controller, 65536)
        except OSError:  # how a terminal ends
            break
    assert process.wait(timeout=60) == 0
    os.close(controller)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert not [step for step in STEPS if f"✓ {step} (" not in plain]
    assert "Traceback" not in plain
    report = json.loads((only_experiment(done) / "BenchmarkReport.json").read_text())
    assert json.loads(answer.read_text()) == report
