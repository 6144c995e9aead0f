"""Whatever ends a benchmark, the next call goes on from there, to the same bytes."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.world import (
    CONFIG,
    QUERIES,
    STAGES,
    World,
    cli,
    command,
    contents,
    made,
    only_experiment,
    write_world,
)
from rankscope.benchmark.verify import verify
from rankscope.entries import read_arrays, write_entry


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
from rankscope.benchmark.run import run_benchmark

config, output, *points = sys.argv[1:]
trouble = Path(config).parent / "trouble"

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Watcher:
    def __init__(self, stage):
        self.stage = stage
    def begun(self, stage):
        if stage == self.stage:
            die()
    def step(self, stage, done, total, part=''):
        pass
    def ended(self, stage, seconds, *, was_there):
        pass

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
    run_benchmark(config, output=output, watcher=Watcher(what if kind == "stage" else None))

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
    *(f"stage:{stage}" for stage in STAGES[:2]),
    "query:5",
    *(f"stage:{stage}" for stage in STAGES[2:]),
    *("write:queries.parquet", "write:words.run.gz", "write:BenchmarkReport.json"),
    *("write:ExperimentManifest.json", "put:before"),
]


def test_killed_in_every_stage_it_goes_on_to_the_same_bytes(
    world: World, undisturbed: Path, tmp_path: Path
) -> None:
    arguments = [sys.executable, "-c", DRIVER, str(world.config), str(tmp_path)]
    done = subprocess.run(
        [*arguments, *POINTS, "put:after"], capture_output=True, text=True, timeout=300, check=False
    )
    killed = [f"{point} {-signal.SIGKILL} 0" for point in POINTS]
    assert done.stdout.splitlines() == [*killed, f"put:after {-signal.SIGKILL} 1"], done.stderr
    assert verify(only_experiment_beside_remains(tmp_path)).ok
    shutil.rmtree(only_experiment_beside_remains(tmp_path))
    world.calls  # noqa: B018 (forget them)
    folder = made(world, tmp_path)
    assert world.calls == [], "all was answered"
    assert contents(folder) == contents(undisturbed)
    assert only_experiment(tmp_path) == folder, "what the killed ones left is gone"


def only_experiment_beside_remains(output: Path) -> Path:
    (found,) = (path for path in output.iterdir() if not path.name.startswith("."))
    return found


def test_killed_between_queries_it_asks_only_the_rest(world: World, tmp_path: Path) -> None:
    world.calls  # noqa: B018
    arguments = [sys.executable, "-c", DRIVER, str(world.config), str(tmp_path), "query:8"]
    subprocess.run(arguments, capture_output=True, timeout=120, check=True)
    assert world.calls == QUERIES[:8]
    made(world, tmp_path)
    assert world.calls == [*QUERIES[6:], *QUERIES], "two batches of three were kept; then 'both'"


# -------------------------------------------------------------------------------- signals


def stopped(world: World, *arguments: object) -> tuple[int, str, str]:
    """Run a benchmark whose engine is slow, and press Ctrl-C while it is asked."""
    waiting = world.folder / "waiting"
    waiting.unlink(missing_ok=True)
    process = subprocess.Popen(
        command("benchmark", "run", world.config, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not waiting.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_is_one_line_and_the_next_call_goes_on(
    world: World, undisturbed: Path, tmp_path: Path
) -> None:
    world.trouble("wait", 60)
    code, out, err = stopped(world, "--output", tmp_path)
    assert (code, out, err.lstrip()) == (130, "", "rankscope: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]
    world.trouble()
    assert contents(made(world, tmp_path)) == contents(undisturbed)


def test_ctrl_c_ends_stages_that_go_on_at_a_time(world: World, tmp_path: Path) -> None:
    world.trouble("wait", 0.4)
    assert stopped(world, "--output", tmp_path, "--jobs", "2")[0] == 130


# ----------------------------------------------------------------------------- at the same time


def test_several_at_once_in_one_folder(world: World, undisturbed: Path, tmp_path: Path) -> None:
    cache = ("--cache", tmp_path / "shared")
    calls = [
        ("run", world.config, "--output", tmp_path / "out", *cache),
        ("run", world.config, "--output", tmp_path / "out", *cache),
        ("run", world.config, "--output", tmp_path / "out", *cache, "--set", "depth=5"),
    ]
    processes = [
        subprocess.Popen(
            command("benchmark", *call),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for call in calls
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    assert errors == [""] * 3
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 2
    assert all(verify(folder).ok for folder in folders)
    same = tmp_path / "out" / undisturbed.name
    assert contents(same) == contents(undisturbed)


def test_threads_of_one_process_too(world: World, undisturbed: Path, tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made(world, tmp_path)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert contents(only_experiment(tmp_path)) == contents(undisturbed)


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
            assert out == ""
            assert err.startswith("rankscope: ")
            assert err.count("\n") == 1
            assert "No space left on device" in err
            left = [one.name for one in tmp_path.rglob("*") if one.name.endswith(".part")]
            assert left == []
            assert [one.name for one in tmp_path.iterdir()] == [".cache"]
            if ".unfinished" in err:
                allowed += 3  # the cache is whole: now the folder, which begins anew each time
        else:
            assert (code, err) == (0, "")
    assert contents(only_experiment(tmp_path)) == contents(undisturbed)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can make a small disk")
    arguments = [mount, "-t", "tmpfs", "-o", "size=60k", "none", str(disk)]
    if subprocess.run(arguments, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be made here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_full(world: World, undisturbed: Path, small_disk: Path) -> None:
    code, out, err = cli("benchmark", "run", world.config, "--output", small_disk)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "No space left on device" in err
    assert [one.name for one in small_disk.iterdir()] == [".cache"]
    subprocess.run(["mount", "-o", "remount,size=5m", str(small_disk)], check=True)
    assert cli("benchmark", "run", world.config, "--output", small_disk)[0] == 0
    assert contents(only_experiment(small_disk)) == contents(undisturbed)


# ----------------------------------------------------------------------------- damaged caches

EVERYTHING = CONFIG.replace(
    "words: bm25",
    "words: bm25\n  mean: vector\n  learnt: {{rerank: {{of: words, ltr: {{}}, depth: 10}}}}",
)
KINDS = ("stages", "answers", "corpora", "indexes", "embeddings", "models")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """Return a benchmark with an entry of each kind in its cache, and its experiment."""
    world = write_world(tmp_path_factory.mktemp("whole"), config=EVERYTHING)
    folder = made(world, world.folder / "out")
    assert sorted(one.name for one in (folder.parent / ".cache").iterdir()) == sorted(KINDS)
    return world, folder


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_entries_are_made_again(
    whole: tuple[World, Path], tmp_path: Path, kind: str
) -> None:
    """Entries in turn are empty, cut short, changed by a bit, and rubbish."""
    world, folder = whole
    shutil.copytree(folder.parent / ".cache", tmp_path / ".cache")
    for above in ("stages", "answers"):  # else what is below them is not looked at
        if kind not in ("stages", above):
            shutil.rmtree(tmp_path / ".cache" / above)
    entries = sorted(one for one in (tmp_path / ".cache" / kind).rglob("*") if one.is_file())
    originals = {one: one.read_bytes() for one in entries}
    assert entries
    for number, (path, data) in enumerate(originals.items()):
        flipped = data[:-5] + bytes([data[-5] ^ 4]) + data[-4:]
        path.write_bytes([data[:-7], b"", flipped, b"rubbish" * 50][number % 4])
    again = made(world, tmp_path)
    assert contents(again) == contents(folder)
    if kind in ("answers", "stages"):  # these have times in them
        return
    for path, data in originals.items():
        if path.suffix == ".vectors":  # and so have these
            before = tmp_path / "before" / path.parent.name / path.name
            before.parent.mkdir(parents=True, exist_ok=True)
            before.write_bytes(data)
            assert vectors(path) == vectors(before)
        else:
            assert path.read_bytes() == data


def vectors(path: Path) -> bytes:
    arrays = read_arrays(path)
    assert arrays is not None
    return arrays["vectors"].tobytes()


def test_what_is_known_of_models_does_not_depend_on_the_cache(
    whole: tuple[World, Path], tmp_path: Path
) -> None:
    """All answers are there, so no system is given the corpus before the manifest is written."""
    world, folder = whole
    shutil.copytree(folder.parent / ".cache", tmp_path / ".cache")
    assert contents(made(world, tmp_path)) == contents(folder)


SWAPPED = ["stages", "answers", "indexes", "embeddings", "models"]


def test_entries_under_another_key_are_made_again(tmp_path: Path) -> None:
    text = """
      other: {{bm25: {{fields: [title], k1: 0.5}}}}
      near: {{vector: {{embedder: wordllama}}}}
      far: {{vector: {{embedder: {{wordllama: {{dimensions: 64}}}}}}}}
      learnt: {{rerank: {{of: words, ltr: {{}}}}}}
      learnt2: {{rerank: {{of: words, ltr: {{trees: 20}}}}}}
    """
    config = CONFIG.replace(
        "  both:", "".join(f"  {line.strip()}\n" for line in text.strip().splitlines()) + "  both:"
    )
    world = write_world(tmp_path / "world", config=config)
    folder = made(world, tmp_path / "out")
    cache = folder.parent / ".cache"
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    assert {path.relative_to(cache).parts[0] for path in files} >= {*SWAPPED}
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
        if kind != "stages":  # which would be taken, and nothing below them looked at
            shutil.rmtree(copy / "stages")
        if kind not in ("stages", "answers"):
            shutil.rmtree(copy / "answers")
        assert contents(made(world, tmp_path / kind)) == contents(folder), kind


def test_stages_of_another_form_are_made_again(whole: tuple[World, Path], tmp_path: Path) -> None:
    world, folder = whole
    shutil.copytree(folder.parent / ".cache", tmp_path / ".cache")
    for path in (tmp_path / ".cache" / "stages").iterdir():
        write_entry(path, b"whole, but of another form")
    assert contents(made(world, tmp_path)) == contents(folder)
