"""``rankscope benchmark run`` as a user meets it: options, exit codes, streams, a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from small_benchmark import (
    STAGES,
    World,
    cli,
    command,
    only_experiment,
    rankscope,
    without_times,
    write_world,
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def done(world: World) -> tuple[Path, str]:
    """Return the output folder of a benchmark that was run, and what was printed."""
    output = world.folder / "done"
    code, out, err = cli("benchmark", "run", world.config, "--output", output)
    assert (code, err) == (0, "")
    return output, out


def test_the_result_is_printed_with_where_it_is(done: tuple[Path, str]) -> None:
    output, printed = done
    folder = only_experiment(output)
    flat = " ".join(printed.split())
    assert printed.startswith("Benchmark: small\n3 systems on ")
    for word in ("words", "code", "both", "nDCG@5", "Verdict", "12 queries"):
        assert word in printed
    data = json.loads((folder / "BenchmarkReport.json").read_text())
    for sentence in data["verdict"]:
        assert " ".join(sentence.split()) in flat
    assert printed.index("Verdict") < printed.index("Results") < printed.index("written to")
    assert printed.splitlines()[-3:] == [
        f"written to {folder / name}"
        for name in ("BenchmarkReport.html", "BenchmarkComparison.md", "BenchmarkReport.json")
    ]
    page = (folder / "BenchmarkReport.html").read_text("utf-8")
    assert "<title>Benchmark: small</title>" in page


def test_a_second_call_says_that_nothing_has_changed(world: World, done: tuple[Path, str]) -> None:
    code, out, _ = cli("benchmark", "run", world.config, "--output", done[0])
    assert code == 0
    assert out.startswith("nothing has changed")
    assert out.endswith(done[1])


def test_json_and_nothing_else(world: World, done: tuple[Path, str]) -> None:
    code, out, err = cli("benchmark", "run", world.config, "--output", done[0], "--format", "json")
    assert (code, err) == (0, "")
    folder = only_experiment(done[0])
    assert json.loads(out) == json.loads((folder / "BenchmarkReport.json").read_text())


def test_quiet(world: World, done: tuple[Path, str]) -> None:
    assert cli("benchmark", "run", world.config, "--output", done[0], "--quiet") == (0, "", "")
    arguments = ("--output", done[0], "--quiet", "--fail-under", "nDCG@5=0.99")
    code, out, err = cli("benchmark", "run", world.config, *arguments)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1


def test_a_dry_run_shows_the_stages_and_writes_no_experiment(
    world: World, done: tuple[Path, str], tmp_path: Path
) -> None:
    dry = ("benchmark", "run", world.config, "--dry-run", "--output")
    code, out, err = cli(*dry, tmp_path / "new", "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert [one["stage"] for one in data] == STAGES
    assert {one["state"] for one in data} == {"to do"}
    code, out, _ = cli(*dry, done[0])
    assert code == 0
    assert "to do" not in out
    assert all(stage in out for stage in STAGES)
    assert [one.name for one in (tmp_path / "new").iterdir()] == [".cache"]
    assert cli(*dry, tmp_path / "new", "--quiet") == (0, "", "")


def test_fresh_makes_everything_anew(world: World, done: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(done[0], tmp_path / "out")
    world.calls  # noqa: B018
    arguments = ("--output", tmp_path / "out", "--fresh", "--format", "json")
    code, out, _ = cli("benchmark", "run", world.config, *arguments)
    assert code == 0
    assert len(world.calls) == 24
    before = json.loads((only_experiment(done[0]) / "BenchmarkReport.json").read_text())
    assert without_times(json.loads(out)) == without_times(before)


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        (["nDCG@5=0.1"], 0, ""),
        (["words:nDCG@5=0.1", "R@10=0.2"], 0, ""),
        (["nDCG@5=0.9"], 1, "words, the best system, has nDCG@5 = "),
        (["code:RR@10=0.9"], 1, "code has RR@10 = "),
        (["both:nDCG@5=0.2", "nDCG@5=0.1"], 1, "both has nDCG@5 = "),
        (["nDCG@7=0.1"], 2, "unknown measure of this benchmark 'nDCG@7'; nearest: nDCG@5"),
        (["coda:nDCG@5=0.1"], 2, "unknown system 'coda'; nearest: code"),
        (["nDCG@5"], 2, "expected MEASURE=VALUE"),
        (["nDCG@5=much"], 2, "expected MEASURE=VALUE"),
        (["nDCG@5=nan"], 2, "expected MEASURE=VALUE"),
        (["=0.1"], 2, "--fail-under '=0.1': expected MEASURE=VALUE"),
        (["code:=0.1"], 2, "--fail-under 'code:=0.1': expected MEASURE=VALUE"),
    ],
)
def test_limits(
    world: World, done: tuple[Path, str], limits: list[str], code: int, said: str
) -> None:
    options = [part for one in limits for part in ("--fail-under", one)]
    found = cli("benchmark", "run", world.config, "--output", done[0], "--quiet", *options)
    assert found[0] == code
    assert said in found[2]
    assert found[2].count("\n") == (1 if said else 0)


def test_settings_change_the_config_and_are_recorded(world: World, tmp_path: Path) -> None:
    code, out, err = cli(
        *("benchmark", "run", world.config, "--output", tmp_path, "--format", "json"),
        *("--set", "depth=4", "--set", "systems.words.bm25.k1=0.6"),
    )
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["depth"] == 4
    assert data["systems"][0]["spec"] == {"bm25": {"k1": 0.6}}
    manifest = json.loads((only_experiment(tmp_path) / "ExperimentManifest.json").read_text())
    assert manifest["overrides"] == {"depth": 4, "systems.words.bm25.k1": 0.6}
    for setting in ("depth", "depth=many", "deep=4", "systems.nobody.bm25.k1=1"):
        code, out, err = cli("benchmark", "run", world.config, "--set", setting)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "arguments", [["missing.yaml"], ["."], ["--jobs", "0", "x"], ["--format", "xml", "x"], []]
)
def test_what_cannot_be_asked(tmp_path: Path, arguments: list[str]) -> None:
    code, out, err = cli("benchmark", "run", *arguments, "--output", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path / "file")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("kind", ["config", "evaluation", "benchmark", "manifest"])
def test_schemas(kind: str) -> None:
    code, out, err = cli("benchmark", "schema", kind)
    assert (code, err) == (0, "")
    assert json.loads(out)["type"] == "object"


# ------------------------------------------------------------------------ pipes and terminals


def on_a_terminal(*arguments: object) -> tuple[int, str, str]:
    """Run the command with a terminal for standard error, and a pipe for standard output."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=terminal,
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    os.close(terminal)
    assert process.stdout is not None
    streams: dict[int, list[bytes]] = {controller: [], process.stdout.fileno(): []}
    open_ones = set(streams)
    end = time.monotonic() + 90
    while open_ones and time.monotonic() < end:
        for handle in select.select(list(open_ones), [], [], 1)[0]:
            try:
                block = os.read(handle, 65536)
            except OSError:  # how a terminal ends
                block = b""
            streams[handle].append(block)
            if not block:
                open_ones.discard(handle)
    code = process.wait(timeout=30)
    shown, out = (b"".join(streams[one]).decode() for one in (controller, process.stdout.fileno()))
    process.stdout.close()
    os.close(controller)
    return code, out, shown


def test_in_a_pipe_there_is_no_bar_and_on_a_terminal_there_is(
    world: World, done: tuple[Path, str], tmp_path: Path
) -> None:
    piped = rankscope(
        "benchmark", "run", world.config, "--output", tmp_path / "a", "--format", "json"
    )
    assert (piped.returncode, piped.stderr) == (0, "")
    world.trouble("wait", 0.05)
    code, out, shown = on_a_terminal(
        "benchmark", "run", world.config, "--output", tmp_path / "b", "--format", "json"
    )
    world.trouble()
    assert code == 0
    assert without_times(json.loads(out)) == without_times(json.loads(piped.stdout))
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    for stage in STAGES:
        assert f"✓ {stage} (" in plain
    assert re.search(r"\d+/12 ", plain), "so many of twelve queries"
    assert "Traceback" not in plain
    before: dict[str, Any] = json.loads(
        (only_experiment(done[0]) / "BenchmarkReport.json").read_text()
    )
    assert without_times(json.loads(out)) == without_times(before)
