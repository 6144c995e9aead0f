"""``rankscope benchmark run`` as a user meets it: options, exit codes, streams, a terminal."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import (
    CONFIG,
    STAGES,
    World,
    cli,
    command,
    only_experiment,
    rankscope,
    settle,
    without_times,
    write_world,
)
from rankscope.benchmark import collection
from rankscope.benchmark.run import UNKNOWN, run_benchmark
from rankscope.errors import InputError


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
    manifest = (folder / "ExperimentManifest.json").read_bytes()
    assert printed.splitlines()[-4:] == [
        *(
            f"written to {folder / name}"
            for name in ("BenchmarkReport.html", "BenchmarkComparison.md", "BenchmarkReport.json")
        ),
        f"digest {hashlib.sha256(manifest).hexdigest()}",
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
    assert [line.split()[0] for line in err.splitlines()] == ["words", "code", "both"]


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
    assert "unknown" not in out
    assert all(stage in out for stage in STAGES)
    assert cli(*dry, tmp_path / "new", "--quiet") == (0, "", "")
    assert not (tmp_path / "new").exists()


def states(world: World, output: Path, *options: object) -> set[str]:
    """Return the states of all stages that a dry run shows."""
    arguments = ("--dry-run", "--output", output, "--format", "json", *options)
    code, out, err = cli("benchmark", "run", world.config, *arguments)
    assert (code, err) == (0, "")
    return {row["state"] for row in json.loads(out)}


WATCHED = """
import sys
from rankscope.cli import main
opened, engines = [], {"bm25s", "wordllama", "xgboost"}
def watch(event, details):
    if event == "open" and details[1] is not None:  # open(), and not the opener that it calls
        opened.append(str(details[0]))
sys.addaudithook(watch)
try:
    main(sys.argv[1:])
finally:
    count = sum(path.endswith("corpus.jsonl") for path in opened)
    print(count, *sorted(engines & set(sys.modules)), file=sys.stderr)
"""


def test_a_dry_run_neither_opens_the_corpus_nor_loads_an_engine(tmp_path: Path) -> None:
    config = CONFIG.replace('{{python: {{function: "{module}:answer", batch: 3}}}}', "vector")
    world = write_world(tmp_path / "world", config=config)

    def watched(*options: str) -> str:
        arguments = ["benchmark", "run", str(world.config), "--output", str(tmp_path / "out")]
        command = [sys.executable, "-c", WATCHED, *arguments, *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr

    assert watched("--dry-run") == "0\n"
    assert watched() == "1 bm25s wordllama\n"
    (world.folder / "corpus.jsonl").touch()  # as if it were another
    assert watched("--dry-run") == "0\n"


def engine_of(world: World) -> Path:
    (engine,) = world.folder.glob("engine_*.py")
    return engine


def test_a_dry_run_imports_nothing_and_no_python_refuses(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    engine = engine_of(world)
    leaves_a_mark = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    engine.write_text(leaves_a_mark + engine.read_text())
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out", "--format", "json")
    code, out, err = cli(*run, "--dry-run")
    assert (code, err) == (0, "")
    rows = {row["stage"]: row for row in json.loads(out)}
    assert rows["fetch code"]["needs"] == f"python ({engine.name})"
    fetch = ("runs", "fetch", world.config, "-o", tmp_path / "runs")
    for arguments in (
        (*run, "--no-python"),
        (*run, "--no-python", "--dry-run"),
        (*fetch, "--no-python"),
    ):
        code, out, err = cli(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("rankscope: system code: a python system is Python code (")
        assert err.count("\n") == 1
    assert not (tmp_path / "ran").exists()
    words = ("--system", "words", "--quiet")
    assert cli("runs", "fetch", world.config, "-o", tmp_path / "runs", *words)[0] == 0
    assert cli(*run)[0] == 0
    assert (tmp_path / "ran").exists()


def test_what_code_prints_does_not_disturb_the_answer(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    engine = engine_of(world)
    source = engine.read_text().replace("    global ASKED", "    global ASKED; print('asked')")
    engine.write_text(f"print('imported')\n{source}")
    code, out, err = cli(
        *("benchmark", "run", world.config, "--output", tmp_path / "out", "--format", "json")
    )
    assert code == 0
    assert json.loads(out)["name"] == "small"
    assert {"imported", "asked"} <= set(err.split())
    code, out, err = cli("runs", "fetch", world.config, "-o", tmp_path / "runs")
    assert [line.split(":")[0].rpartition("/")[2] for line in out.splitlines()] == [
        f"{name}.run.gz" for name in ("words", "code", "both")
    ]
    assert "asked" in err


def test_code_that_ends_the_process_is_a_failure(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    engine = engine_of(world)
    source = engine.read_text()
    exits = "    if query.query_id == 'q03': raise SystemExit(0)\n    global ASKED"
    engine.write_text(source.replace("    global ASKED", exits))
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out")
    code, out, _ = cli(*run)
    assert code == 1
    assert "SystemExit: 0" in out
    engine.write_text(f"raise SystemExit(0)\n{source}")
    code, out, err = cli(*run)
    assert (code, out) == (2, "")
    assert "cannot be imported" in err
    assert err.count("\n") == 1


def test_an_edit_beside_the_config_is_a_new_answer(tmp_path: Path) -> None:
    world, output = write_world(tmp_path / "world"), tmp_path / "out"
    engine, helper = engine_of(world), world.folder / f"helper_{tmp_path.name}.py"
    helper.write_text("BEST = 'd00'\n")
    source = engine.read_text().replace(
        "    return {doc_id:", "    return {help_.BEST: 1} or {doc_id:"
    )
    engine.write_text(f"import {helper.stem} as help_\n{source}")
    run = ("benchmark", "run", world.config, "--output", output)
    assert cli(*run, "--quiet")[0] in (0, 1)
    assert "nothing has changed" in cli(*run)[1]
    helper.write_text("BEST = 'd0' + str(1)\n")
    assert states(world, output) == {"there", "to do"}
    assert "nothing has changed" not in cli(*run)[1]
    assert len(list(output.glob("small-*"))) == 2


def test_what_a_dry_run_knows_of_a_corpus(tmp_path: Path) -> None:
    world, output = write_world(tmp_path / "world"), tmp_path / "out"
    corpus = world.folder / "corpus.jsonl"
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    assert states(world, output) == {"there"}
    assert states(world, output, "--fresh") == {"to do"}
    assert states(world, output, "--cache", tmp_path / "other") == {"to do"}
    text = corpus.read_text()
    corpus.write_text(text.replace("pie", "pea"))  # of the same size
    assert states(world, output) == {UNKNOWN}
    corpus.write_text(text)
    settle(corpus)
    assert states(world, output) == {UNKNOWN}
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    assert states(world, output) == {"there"}


def test_a_corpus_that_has_just_been_written_is_not_remembered(tmp_path: Path) -> None:
    world, output = write_world(tmp_path / "world"), tmp_path / "out"
    (world.folder / "corpus.jsonl").touch()
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    assert states(world, output) == {UNKNOWN}


def test_a_benchmark_of_which_everything_is_there_does_not_read_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, output = write_world(tmp_path / "world"), tmp_path / "out"
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    reads: list[object] = []
    monkeypatch.setattr(collection, "read_corpus", reads.append)
    assert cli("benchmark", "run", world.config, "--output", output, "--quiet")[0] == 0
    assert reads == []


def test_fresh_makes_everything_anew(world: World, done: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(done[0], tmp_path / "out")
    world.calls  # noqa: B018
    arguments = ("--output", tmp_path / "out", "--fresh", "--format", "json")
    code, out, _ = cli("benchmark", "run", world.config, *arguments)
    assert code == 0
    assert len(world.calls) == 24
    before = json.loads((only_experiment(done[0]) / "BenchmarkReport.json").read_text())
    assert without_times(json.loads(out)) == without_times(before)


def test_fresh_reads_nothing_from_a_cache_that_is_named(world: World, tmp_path: Path) -> None:
    arguments = ("benchmark", "run", world.config, "--output", tmp_path / "out", "--quiet")
    cache = ("--cache", tmp_path / "kept")
    assert cli(*arguments, *cache)[0] == 0
    world.calls  # noqa: B018
    shutil.rmtree(tmp_path / "out")
    assert cli(*arguments, *cache)[0] == 0
    assert world.calls == []
    assert cli(*arguments, *cache, "--fresh")[0] == 0
    assert len(world.calls) == 24
    shutil.rmtree(tmp_path / "out")
    assert cli(*arguments, *cache)[0] == 0
    assert world.calls == []


def entries(cache: Path) -> dict[str, bytes]:
    """Return all files of a cache."""
    paths = (path for path in sorted(cache.rglob("*")) if path.is_file())
    return {str(path.relative_to(cache)): path.read_bytes() for path in paths}


def test_fresh_deletes_nothing(world: World, done: tuple[Path, str], tmp_path: Path) -> None:
    output = tmp_path / "out"
    shutil.copytree(done[0], output)
    before = entries(output / ".cache")
    arguments = ("--output", output, "--fresh", "--quiet")
    for config in ("typo.yaml", tmp_path):
        assert cli("benchmark", "run", config, *arguments)[0] == 2
        with pytest.raises(InputError):
            run_benchmark(config, output=output, fresh=True)
    assert entries(output / ".cache") == before
    assert cli("benchmark", "run", world.config, *arguments, "--set", "depth=4")[0] == 0
    after = entries(output / ".cache")
    assert {name: after.get(name) for name in before} == before
    assert len(after) > len(before)
    assert not [name for name in after if name.startswith(".")]


def test_a_fresh_run_that_was_stopped_goes_on_without_fresh(tmp_path: Path) -> None:
    world, output = write_world(tmp_path / "world"), tmp_path / "out"
    world.trouble("raise", "q03")
    arguments = ("benchmark", "run", world.config, "--output", output, "--quiet")
    assert cli(*arguments, "--fresh")[0] == 1
    world.calls  # noqa: B018
    world.trouble()
    assert cli(*arguments)[0] == 0
    assert set(world.calls) == {"q03"}


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        (["nDCG@5=0.01"], 0, ""),
        (["words:nDCG@5=0.1", "R@10=0.01"], 0, ""),
        (["nDCG@5=0.1"], 1, "both has nDCG@5 = "),
        (["code:RR@10=0.9"], 1, "code has RR@10 = "),
        (["both:nDCG@5=0.2", "nDCG@5=0.05"], 1, "both has nDCG@5 = "),
        (["nDCG@7=0.1"], 2, "unknown measure of this benchmark 'nDCG@7'; nearest: nDCG@5"),
        (["coda:nDCG@5=0.1"], 2, "unknown system 'coda'; nearest: code"),
        (["nDCG@5"], 2, "expected MEASURE=VALUE"),
        (["nDCG@5=much"], 2, "expected MEASURE=VALUE"),
        (["nDCG@5=nan"], 2, "expected MEASURE=VALUE"),
        (["nDCG@5=70"], 2, "the limit of nDCG@5 must be from 0 to 1"),
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
