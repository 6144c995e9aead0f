"""`benchmark list` and `benchmark verify` on folders that anybody may have made."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import cli, made, write_world

MANIFEST, REPORT = "ExperimentManifest.json", "BenchmarkReport.json"
DIGITS = "9" * 5000


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = write_world(tmp_path_factory.mktemp("world"))
    return made(world, world.folder / "out")


@pytest.fixture
def bad(experiment: Path, tmp_path: Path) -> Path:
    """Return an experiment to be damaged, beside which there is a good one."""
    shutil.copytree(experiment, tmp_path / "good")
    return Path(shutil.copytree(experiment, tmp_path / "bad"))


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """Fail instead of waiting for a pipe for ever."""

    def late(*_: object) -> None:
        pytest.fail("this takes too long")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(bad: Path) -> None:
    """Look at a folder of two experiments, one of which is damaged."""
    code, out, err = cli("benchmark", "list", bad.parent, "--format", "json")
    assert (code, err) == (0, "")
    listed = {Path(row["folder"]).name: row for row in json.loads(out)}
    assert listed["good"]["problem"] == ""
    code, out, err = cli("benchmark", "verify", bad)
    assert code in (1, 2)
    assert err.count("\n") == (1 if code == 2 else 0)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.symlink_to(path)


def rubbish(path: Path) -> None:
    path.write_bytes(b"\x00\xff rubbish")


@pytest.mark.parametrize("put", [os.mkfifo, device, circle, rubbish, Path.mkdir])
@pytest.mark.parametrize("name", [MANIFEST, REPORT, "per_query/code.parquet"])
def test_what_is_no_file(bad: Path, name: str, put: Callable[[Path], object]) -> None:
    (bad / name).unlink()
    put(bad / name)
    check(bad)


DAMAGE: dict[str, tuple[str, tuple[str | int, ...], object]] = {
    "schema 0": (MANIFEST, ("schema",), "rankscope/manifest/0"),
    "schema of 5,000 digits": (REPORT, ("schema",), f"rankscope/benchmark/{DIGITS}"),
    "5,000 digits": (REPORT, ("depth",), "@" + DIGITS),
    "NaN": (REPORT, ("systems", 0, "measures", 0, "value"), "@NaN"),
    "too large": (REPORT, ("seconds", "score"), "@1e400"),
    "no number": (REPORT, ("systems", 0, "measures", 0, "value"), "x"),
    "identity of a number": (REPORT, ("systems", 0, "run", "identity"), 3),
    "half a character": (REPORT, ("systems", 0, "name"), "\ud800"),
    "NUL in a path": (MANIFEST, ("artifacts", 0, "path"), "a\0b"),
    "a path of 100,000 characters": (REPORT, ("systems", 0, "per_query", "path"), "x" * 100_000),
    "a path that leads out": (REPORT, ("queries", "path"), "../../../dev/zero"),
    "a device": (MANIFEST, ("artifacts", 0, "path"), "/dev/zero"),
    "nested lists": (REPORT, ("verdict",), "@" + "[" * 50_000 + "]" * 50_000),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_no_record(bad: Path, name: str) -> None:
    file, (*above, last), value = DAMAGE[name]
    data = json.loads((bad / file).read_text())
    inner: Any = data
    for key in above:
        inner = inner[key]
    inner[last] = value
    text = json.dumps(data)
    if isinstance(value, str) and value.startswith("@"):
        text = text.replace(json.dumps(value), value[1:])
    (bad / file).write_text(text)
    check(bad)
