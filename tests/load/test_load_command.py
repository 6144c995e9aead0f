"""``rankscope load``: the record of an experiment, its pages, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import CONFIG, World, cli, command, made, only_experiment, write_world
from rankscope.benchmark import recorded_load
from rankscope.benchmark.folders import MANIFEST, REPORT, file_ref
from rankscope.benchmark.load_test import load_test
from rankscope.benchmark.recorded_load import write_load
from rankscope.benchmark.verify import verify
from rankscope.errors import InputError
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.runs.load_record import LoadRecord

pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
pytest.importorskip("bm25s", reason="bm25s is not installed")

BRIEF: dict[str, Any] = {"rate": 40, "seconds": 0.5, "warm_up": 0.1}
SHORT = ("--rate", "40", "--seconds", "0.5", "--warm-up", "0.1")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """Return a config and the folder of its experiment, which is not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    world = write_world(folder / "world")
    made(world, folder / "out")
    return world, folder / "out"


@pytest.fixture
def output(finished: tuple[World, Path], tmp_path: Path) -> Path:
    shutil.copytree(finished[1], tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def world(finished: tuple[World, Path]) -> World:
    return finished[0]


def report_of(folder: Path) -> BenchmarkReport:
    return BenchmarkReport.read(folder / REPORT)


def rehashed(folder: Path) -> None:
    """Write a manifest that agrees with files that were changed."""
    manifest = ExperimentManifest.read(folder / MANIFEST)
    refs = [file_ref(folder / artifact.path, folder) for artifact in manifest.artifacts]
    changed = manifest.model_copy(update={"artifacts": refs})
    (folder / MANIFEST).write_text(changed.to_json(), encoding="utf-8")


# --- the record ----------------------------------------------------------------------------------


def test_the_result_is_added_to_the_experiment(world: World, output: Path) -> None:
    folder = only_experiment(output)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    tested = load_test(world.config, "words", output=output, **BRIEF)
    assert tested.written == folder
    assert tested.record.answered == 20
    systems = {system.name: system.load for system in report_of(folder).systems}
    assert systems == {"words": tested.record, "code": None, "both": None}
    assert '"load"' not in (folder / "EvaluationReport.words.json").read_text("utf-8")
    markdown = (folder / "BenchmarkComparison.md").read_text("utf-8")
    assert "### Under load" in markdown
    assert "Under load" in (folder / "BenchmarkReport.html").read_text("utf-8")
    changed = {
        path.relative_to(folder).as_posix()
        for path, content in before.items()
        if path.read_bytes() != content
    }
    chart = "charts/time-ndcg-5-against-latency.svg"
    assert changed == {
        REPORT, MANIFEST, "BenchmarkComparison.md", "BenchmarkReport.html", chart,
    }  # fmt: skip
    assert "40/s words" in (folder / chart).read_text("utf-8")
    checked = verify(folder)
    assert checked.ok, [check for check in checked.checks if check.problem]
    assert "load test of words" in {check.what for check in checked.checks}
    assert only_experiment(output) == folder, "nothing is left beside it"


def test_a_later_test_replaces_an_earlier_one_and_others_stay(world: World, output: Path) -> None:
    folder = only_experiment(output)
    load_test(world.config, "words", output=output, **BRIEF)
    other = load_test(world.config, "code", output=output, **BRIEF).record
    again = load_test(world.config, "words", output=output, **{**BRIEF, "rate": 60}).record
    loads = {system.name: system.load for system in report_of(folder).systems}
    assert loads == {"words": again, "code": other, "both": None}
    assert again.settings.rate == 60
    assert verify(folder).ok


def test_a_benchmark_that_is_run_again_keeps_it(world: World, output: Path) -> None:
    load_test(world.config, "words", output=output, **BRIEF)
    folder = made(world, output)
    assert report_of(folder).systems[0].load is not None


def test_a_system_that_asks_others_asks_them_for_real(world: World, output: Path) -> None:
    _ = world.calls
    record = load_test(world.config, "both", output=output, **BRIEF).record
    assert record.answered == 20
    assert len(world.calls) == 24, "no answer is taken from the memory or the store"


def test_changing_the_result_is_noticed(world: World, output: Path) -> None:
    folder = only_experiment(output)
    load_test(world.config, "words", output=output, **BRIEF)
    path = folder / REPORT
    data = json.loads(path.read_text("utf-8"))
    data["systems"][0]["load"]["response"]["p50"] /= 2
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    problems = {check.what: check.problem for check in verify(folder).checks if check.problem}
    assert problems[REPORT].startswith("was changed")
    rehashed(folder)
    problems = {check.what: check.problem for check in verify(folder).checks if check.problem}
    assert problems["load test of words"] == "response.p50 is not what its histogram says"
    assert any("BenchmarkComparison.md" in what for what in problems), "the pages say otherwise"


def test_taking_the_result_away_is_noticed(world: World, output: Path) -> None:
    folder = only_experiment(output)
    load_test(world.config, "words", output=output, **BRIEF)
    report = report_of(folder)
    first = report.systems[0].model_copy(update={"load": None})
    changed = report.model_copy(update={"systems": [first, *report.systems[1:]]})
    (folder / REPORT).write_text(changed.to_json(), encoding="utf-8")
    rehashed(folder)
    assert not verify(folder).ok


def test_nothing_is_added_to_an_experiment_that_was_changed(world: World, output: Path) -> None:
    folder = only_experiment(output)
    path = folder / "EvaluationReport.code.json"
    path.write_text(path.read_text("utf-8") + " ", encoding="utf-8")
    before = (folder / MANIFEST).read_bytes()
    announced: list[str] = []
    with pytest.raises(InputError, match=r"EvaluationReport\.code\.json' is not the file that"):
        load_test(world.config, "words", output=output, announce=announced.append, **BRIEF)
    assert announced == []  # nothing was sent for a result that would be thrown away
    assert (folder / MANIFEST).read_bytes() == before
    assert not verify(folder).ok


def test_what_was_measured_is_shown_though_it_cannot_be_added(
    world: World, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorded_load, "_fill", failing)
    command = ("load", world.config, "--system", "words", *SHORT, "--output", output)
    status, printed, errors = cli(*command, "--format", "json", "-o", tmp_path / "load.json")
    assert status == 2
    assert "No space left on device" in errors
    assert json.loads((tmp_path / "load.json").read_text("utf-8"))["sent"] == 20
    assert json.loads(printed)["sent"] == 20


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    world: World, tmp_path: Path
) -> None:
    command = ("load", world.config, "--system", "words", *SHORT, "--output", tmp_path / "out")
    status, _, errors = cli(*command, "-o", tmp_path / "nowhere" / "load.json")
    assert status == 2
    assert "its folder is not there; make it first" in errors
    assert "sending" not in errors
    assert cli(*command, "-o", tmp_path)[0] == 2


def test_what_was_added_to_the_folder_stays_and_is_not_vouched_for(
    world: World, output: Path
) -> None:
    folder = only_experiment(output)
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine")
    (folder / "link").symlink_to("nowhere")
    load_test(world.config, "words", output=output, **BRIEF)
    assert (folder / "mine" / "notes.txt").read_text() == "mine"
    assert (folder / "link").is_symlink()
    problems = {check.what: check.problem for check in verify(folder).checks if check.problem}
    assert problems == {"mine/notes.txt": "is not in the manifest: it was added later"}


@pytest.mark.parametrize("moment", ["pages", "file_ref", "_write"])
def test_a_failure_at_any_moment_leaves_the_old_experiment(
    world: World, output: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    folder = only_experiment(output)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    record = load_test(world.config, "words", output=output / "other", **BRIEF).record
    original, calls = getattr(recorded_load, moment), [0]

    def failing(*arguments: Any) -> Any:
        calls[0] += 1
        if moment != "file_ref" or calls[0] > len(before):
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(recorded_load, moment, failing)
    with pytest.raises(KeyboardInterrupt):
        write_load(folder, record)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before
    assert not list(output.glob(".unfinished*"))


def test_an_experiment_without_a_stated_snapshot_is_found(tmp_path: Path) -> None:
    """Code of another process has another id, and so has the experiment."""
    world = write_world(tmp_path / "world")
    folder = made(world, tmp_path / "out")
    other = folder.with_name("small-000000000000")
    folder.rename(other)
    tested = load_test(world.config, "words", output=tmp_path / "out", **BRIEF)
    assert tested.written == other
    third = load_test(world.config, "words", output=tmp_path / "out", settings=["depth=5"], **BRIEF)
    assert third.written is None, "this is another experiment"


# --- the command ---------------------------------------------------------------------------------


def test_without_an_experiment_it_says_how_to_make_one(world: World, tmp_path: Path) -> None:
    target = tmp_path / "load.json"
    status, printed, errors = cli(
        "load", world.config, "--system", "words", *SHORT, "--output", tmp_path / "no",
        "-o", target,
    )  # fmt: skip
    assert status == 0
    assert "there is no experiment of this config in" in printed
    assert "rankscope benchmark run" in printed
    assert f"written to {target}" in printed
    assert errors.startswith(
        "sending 24 queries to words, 4 of them to warm up, 40 a second; this takes 0.6 s, and "
        "10.6 s at most"
    )
    record = LoadRecord.from_data(json.loads(target.read_text("utf-8")), source=str(target))
    assert record.system == "words"
    assert record.answered == 20


@pytest.mark.parametrize("format", ["json", "csv", "markdown", "html", "latex"])
def test_every_format_and_nothing_else_on_standard_output(
    world: World, output: Path, format: str
) -> None:
    status, printed, errors = cli(
        "load", world.config, "--system", "words", *SHORT, "--output", output, "--format", format
    )
    assert status == 0
    assert "written to" not in printed
    assert "written to" in errors
    if format == "json":
        data = json.loads(printed)
        assert data["schema"] == "rankscope/load/1"
        assert data["answered"] == 20
    elif format == "csv":
        assert "words,response,p50," in printed
    else:
        assert "p99.9" in printed


def test_quiet_prints_nothing(world: World, output: Path) -> None:
    done = cli("load", world.config, "--system", "words", *SHORT, "--output", output, "--quiet")
    assert done == (0, "", "")


def test_failures_exit_with_1(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    world.trouble("raise", "q01", "q02")
    status, printed, _ = cli(
        "load", world.config, "--system", "code", "--rate", "48", "--seconds", "0.5", "--warm-up",
        "0", "--output", tmp_path / "out",
    )  # fmt: skip
    assert status == 1
    assert "4 queries of 24 failed, such as: RuntimeError: the engine has no" in printed
    assert "\x1b[31m" not in printed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--system", "wrods", "--rate", "5"], "unknown system 'wrods'; nearest: words"),
        (["--system", "words", "--rate", "0"], "rate must be a number above 0"),
        (["--system", "words", "--rate", "5", "--seconds", "0"], "seconds must be a number above"),
        (["--system", "words", "--rate", "x"], "'x' is not a valid float"),
        (["--system", "words"], "Missing option '--rate'"),
        (["--rate", "5"], "Missing option '--system'"),
        (["--system", "words", "--rate", "900", "--seconds", "3600"], "3,244,500 queries"),
        (["--system", "words", "--rate", "5", "--no-python"], "Python"),
        (["--system", "words", "--rate", "5", "--seed", "-1"], "seed must be"),
        (["--system", "words", "--rate", "5", "--url", "http://x"], "No such option"),
    ],
)
def test_bad_input_is_one_sentence(
    world: World, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    status, printed, errors = cli("load", world.config, *arguments, "--output", tmp_path / "out")
    assert (status, printed) == (2, "")
    assert problem in errors
    assert "Traceback" not in errors


def test_a_config_without_queries(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", asked=[])
    status, printed, errors = cli(
        "load", world.config, "--system", "words", "--rate", "5", "--output", tmp_path / "out"
    )
    assert (status, printed) == (2, "")
    assert "queries.jsonl" in errors


def test_answers_from_a_file_cannot_be_loaded(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", config=CONFIG.replace("bm25", "{{run: a.run}}"))
    (world.folder / "a.run").write_text("q01 Q0 d00 1 1.0 x\n")
    status, _, errors = cli(
        "load", world.config, "--system", "words", "--rate", "5", "--output", tmp_path / "out"
    )
    assert status == 2
    assert "system words: its answers are in a file, so there is nothing to load" in errors


ELSEWHERE = """
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import Capabilities, Identity, Ranking, System


class Place(Options):
    url: str
    key: str = ""


class Far(System):
    capabilities = Capabilities(remote=True, concurrent=True)
    options = Place(url="https://search.example.org/find")

    def index(self, corpus):
        pass

    def search(self, queries, depth):
        return [Ranking(("d00",), (1.0,)) for _ in queries]

    def identity(self):
        return Identity(kind="far", version="1", parameters={})


far = Far()
"""


def test_another_machine_is_loaded_hard_only_on_request(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", config=CONFIG.replace("{module}:answer", "afar:far"))
    (world.folder / "afar.py").write_text(ELSEWHERE)
    call = (
        "load",
        world.config,
        "--system",
        "code",
        "--output",
        tmp_path / "out",
        "--warm-up",
        "0",
    )
    status, _, errors = cli(*call, "--rate", "101", "--seconds", "0.2")
    assert status == 2
    assert "101 queries a second would go to search.example.org, which is not this" in errors
    assert "repeat this with --yes" in errors
    status, _, errors = cli(*call, "--rate", "101", "--seconds", "0.2", "--yes")
    assert status == 0
    assert "to code (search.example.org)" in errors
    assert cli(*call, "--rate", "100", "--seconds", "0.2")[0] == 0


SECRET = "hunter22-secret"


def test_secrets_are_written_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_KEY", SECRET)
    world = write_world(
        tmp_path / "world",
        config=CONFIG.replace("batch: 3", "batch: 3, version: '${{ENGINE_KEY}}'"),
    )
    made(world, tmp_path / "out")
    [engine] = world.folder.glob("engine_*.py")
    world.trouble("raise", "q01")
    source = engine.read_text().replace('"the engine\\nhas no', f'"{SECRET}\\nhas no')
    assert SECRET in source
    engine.write_text(source)
    made(world, tmp_path / "out")
    target = tmp_path / "load.json"
    done = cli(
        "load", world.config, "--system", "code", *SHORT, "--output", tmp_path / "out", "-o", target
    )
    assert done[0] == 1
    assert SECRET not in done[1] + done[2]
    assert "failed, such as" in done[1]
    for path in [*(tmp_path / "out").rglob("*"), target]:
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_ctrl_c_shows_what_was_measured(world: World, output: Path) -> None:
    before = (only_experiment(output) / MANIFEST).read_bytes()
    call = ("load", world.config, "--system", "words", "--rate", "20", "--seconds", "600")
    with subprocess.Popen(
        command(*call, "--warm-up", "0", "--output", output, "--format", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("sending 12,000 queries to words")
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    data = json.loads(printed)
    assert data["interrupted"] is True
    assert 0 < data["answered"] <= data["sent"] < 12_000
    assert "ended early, so this is not added to an experiment" in errors
    assert "Traceback" not in errors
    assert (only_experiment(output) / MANIFEST).read_bytes() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from rankscope.benchmark import recorded_load
from rankscope.cli import main

def dying(*_):
    os.kill(os.getpid(), signal.SIGKILL)

recorded_load.pages = dying
main(sys.argv[1:])
"""


def test_a_kill_leaves_the_old_experiment_whole(world: World, output: Path) -> None:
    folder = only_experiment(output)
    call = ("load", world.config, "--system", "words", *SHORT, "--output", output)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, call)], check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL
    assert verify(folder).ok
    assert report_of(folder).systems[0].load is None
    assert cli(*call)[0] == 0
    assert only_experiment(output) == folder, "what the killed one left is gone"
    assert verify(folder).ok
    assert report_of(folder).systems[0].load is not None


@pytest.mark.skipif(not hasattr(os, "link"), reason="there are no links")
def test_files_are_not_copied_where_links_are_possible(
    world: World, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = only_experiment(output)
    number = (folder / "queries.parquet").stat().st_ino
    load_test(world.config, "words", output=output, **BRIEF)
    status = (folder / "queries.parquet").stat()
    assert (status.st_ino, status.st_nlink) == (number, 1)

    def no_links(*_: object) -> None:
        raise OSError(1, "not permitted")

    monkeypatch.setattr(os, "link", no_links)
    load_test(world.config, "words", output=output, **BRIEF)
    assert verify(folder).ok
