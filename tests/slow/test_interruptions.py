"""Whatever ends a benchmark, the next call goes on from there, to the same bytes."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.world import (
    CONFIG,
    QUERIES,
    STEPS,
    World,
    cli,
    command,
    contents,
    made,
    only_experiment,
    write_world,
)
from rankscope.benchmark.verify import verify
from rankscope.retrieval.cache_entries import write_entry


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def undisturbed(world: World) -> Path:
    return made(world, world.folder / "undisturbed")


@pytest.fixture(autouse=True)
def no_trouble(world: World) -> Iterator[None]:
    yield
    world.trouble()


DRIVER = """
import os, signal, sys, traceback
from pathlib import Path
from rankscope.benchmark.steps import Watcher as Silent
from rankscope.benchmark.run import run_benchmark

config, output, *points = sys.argv[1:]
trouble = Path(config).parent / "trouble"

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Watcher(Silent):
    def begun(self, step):
        if step == WHERE:
            die()

def run(kind, what):
    if kind == "query":
        trouble.write_text("kill " + what)
    if kind == "write":
        replace = os.replace
        os.replace = lambda a, b: die() if b.endswith(what) else replace(a, b)
    if kind == "put":
        rename = os.rename
        def put(a, b):
            if what == "before":
                die()
            rename(a, b)
            die()
        os.rename = put
    global WHERE
    WHERE = what if kind == "step" else None
    run_benchmark(config, output=output, watcher=Watcher())

for point in points:
    child = os.fork()
    if not child:
        try:
            run(*point.split(":"))
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    trouble.unlink(missing_ok=True)
    there = [one for one in os.listdir(output) if not one.startswith(".")]
    print(point, os.waitstatus_to_exitcode(status), len(there), flush=True)
"""
"""Runs a benchmark again and again, each time killed at another point, going on from the last."""

POINTS = [
    *(f"step:{step}" for step in STEPS[:2]),
    "query:5",
    *(f"step:{step}" for step in STEPS[2:]),
    *("write:queries.parquet", "write:words.run.gz", "write:BenchmarkReport.json"),
    *("write:ExperimentManifest.json", "put:before"),
]


def test_killed_in_every_step_it_goes_on_to_the_same_bytes(
    world: World, undisturbed: Path, tmp_path: Path
) -> None:
    arguments = [sys.executable, "-c", DRIVER, str(world.config), str(tmp_path)]
    done = subprocess.run(
        [*arguments, *POINTS, "put:after"], capture_output=True, text=True, timeout=300, check=False
    )
    killed = [f"{point} {-signal.SIGKILL} 0" for point in POINTS]
    assert done.stdout.splitlines() == [*killed, f"put:after {-signal.SIGKILL} 1"], done.stderr
    (folder,) = (path for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert verify(folder).ok
    shutil.rmtree(folder)
    world.calls  # noqa: B018 (forget them)
    folder = made(world, tmp_path)
    assert world.calls == [], "all was answered"
    assert contents(folder) == contents(undisturbed)
    assert only_experiment(tmp_path) == folder, "what the killed ones left is gone"


def test_killed_between_queries_it_asks_only_the_rest(world: World, tmp_path: Path) -> None:
    world.calls  # noqa: B018
    arguments = [sys.executable, "-c", DRIVER, str(world.config), str(tmp_path), "query:8"]
    subprocess.run(arguments, capture_output=True, timeout=120, check=True)
    assert world.calls == QUERIES[:8]
    made(world, tmp_path)
    assert world.calls == [*QUERIES[6:], *QUERIES], "two batches of three were kept; then 'both'"


# -------------------------------------------------------------------------------- signals


def test_ctrl_c_ends_all_steps_and_the_next_call_goes_on(
    world: World, undisturbed: Path, tmp_path: Path
) -> None:
    world.trouble("wait", 3)
    process = subprocess.Popen(
        command("benchmark", "run", world.config, "--output", tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (world.folder / "waiting").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err.lstrip()) == (130, "", "rankscope: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]
    world.trouble()
    assert contents(made(world, tmp_path)) == contents(undisturbed)


# ----------------------------------------------------------------------------- at the same time


def test_several_at_once_in_one_folder(world: World, undisturbed: Path, tmp_path: Path) -> None:
    one = ("run", world.config, "--output", tmp_path / "out", "--cache", tmp_path / "shared")
    calls = [one, one, (*one, "--set", "depth=5")]
    processes = [
        subprocess.Popen(command("benchmark", *call, "--quiet"), stderr=subprocess.PIPE, text=True)
        for call in calls
    ]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    assert errors == [""] * 3
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 2
    assert all(verify(folder).ok for folder in folders)
    same = tmp_path / "out" / undisturbed.name
    assert contents(same) == contents(undisturbed)


# ------------------------------------------------------------------------------- full disk


def test_whichever_write_finds_the_disk_full_it_is_one_sentence(
    world: World, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call gets one write further than the last, until there is space for all."""
    flush = os.fsync
    writes = 0

    def full(handle: int) -> None:
        nonlocal writes
        writes += 1
        if writes > allowed:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(handle)

    monkeypatch.setattr(os, "fsync", full)
    written, allowed = 0, 1
    code, out, err = 2, "", ""
    while code == 2 and written < 100:
        writes = 0
        code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path)
        written += 1
        if code == 2:
            assert (out, err.count("\n")) == ("", 1)
            assert "No space left on device" in err
            assert not [one.name for one in tmp_path.rglob("*.part")]
            is_there = "does not confirm" in err  # whole and in its place, and perhaps not for long
            assert is_there or [one.name for one in tmp_path.iterdir()] == [".cache"]
            if ".unfinished" in err:
                allowed += 3  # the cache is whole: now the folder, which begins anew each time
    assert (code, err) == (0, "")
    assert contents(only_experiment(tmp_path)) == contents(undisturbed)


# ----------------------------------------------------------------------------- damaged caches

EVERYTHING = CONFIG.replace(
    "words: bm25",
    "words: bm25\n  mean: vector\n  learnt: {{rerank: {{of: words, ltr: {{}}, depth: 10}}}}",
)
KINDS = ("answers", "indexes", "embeddings", "models")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """Return a benchmark with an entry of each kind in its cache, and its experiment."""
    world = write_world(tmp_path_factory.mktemp("whole"), config=EVERYTHING)
    folder = made(world, world.folder / "out")
    there = sorted(one.name for one in (folder.parent / ".cache").iterdir())
    assert there == sorted(KINDS)
    return world, folder


def without_what_is_above(cache: Path, kind: str) -> None:
    """Take away the answers, without which what is below them is not looked at."""
    if kind != "answers":
        shutil.rmtree(cache / "answers")


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_entries_are_made_again(
    whole: tuple[World, Path], tmp_path: Path, kind: str
) -> None:
    """Entries in turn are empty, cut short, changed by a bit, and rubbish."""
    world, folder = whole
    shutil.copytree(folder.parent / ".cache", tmp_path / ".cache")
    without_what_is_above(tmp_path / ".cache", kind)
    entries = sorted(one for one in (tmp_path / ".cache" / kind).rglob("*") if one.is_file())
    originals = {one: one.read_bytes() for one in entries}
    assert entries
    for number, (path, data) in enumerate(originals.items()):
        flipped = data[:-5] + bytes([data[-5] ^ 4]) + data[-4:]
        path.write_bytes([data[:-7], b"", flipped, b"rubbish" * 50][number % 4])
    assert contents(made(world, tmp_path)) == contents(folder)
    if kind in ("indexes", "models"):  # the others have times in them
        assert {one: one.read_bytes() for one in entries} == originals


SWAPPED = ["answers", "indexes", "embeddings", "models"]
TWICE = """\
  other: {{bm25: {{fields: [title], k1: 0.5}}}}
  near: {{vector: {{embedder: wordllama}}}}
  far: {{vector: {{embedder: {{wordllama: {{dimensions: 64}}}}}}}}
  learnt: {{rerank: {{of: words, ltr: {{}}}}}}
  learnt2: {{rerank: {{of: words, ltr: {{trees: 20}}}}}}
  both:"""


def test_entries_under_another_key_are_made_again(tmp_path: Path) -> None:
    config = CONFIG.replace("  both:", TWICE)
    world = write_world(tmp_path / "world", config=config)
    folder = made(world, tmp_path / "out")
    cache = folder.parent / ".cache"
    for kind in SWAPPED:
        copy = tmp_path / kind / ".cache"
        shutil.copytree(cache, copy)
        entries = sorted(path for path in (copy / kind).rglob("*") if path.is_file())
        by_suffix: dict[str, list[Path]] = {}
        for path in entries:
            by_suffix.setdefault(path.suffix, []).append(path)
        for same in by_suffix.values():
            data = [path.read_bytes() for path in same]
            for path, other in zip(same, [*data[1:], data[0]], strict=True):
                path.write_bytes(other)
        without_what_is_above(copy, kind)
        assert contents(made(world, tmp_path / kind)) == contents(folder), kind
    for path in (tmp_path / "answers" / ".cache" / "answers").rglob("*.answers"):
        write_entry(path, b"whole, but of another form")
    shutil.rmtree(tmp_path / "answers" / folder.name)
    assert contents(made(world, tmp_path / "answers")) == contents(folder)
