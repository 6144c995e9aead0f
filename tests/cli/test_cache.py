"""``rankscope cache``: what is kept, whether it is whole, and less of it."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from benchmark.world import cli, made, write_world
from rankscope.benchmark.verify import verify
from rankscope.entries import read_entry
from rankscope.reports.caches import size


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = write_world(tmp_path_factory.mktemp("world"))
    made(world, world.folder / "out")
    return world.folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """Return a copy of the world to be changed; its experiments are in ``out``."""
    return Path(shutil.copytree(original, tmp_path / "world"))


def listed(folder: Path) -> Any:
    code, out, _ = cli("cache", "list", folder, "--format", "json")
    assert code == 0
    return json.loads(out)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_list(folder: Path) -> None:
    contents = listed(folder / "out")
    cache = folder / "out" / ".cache"
    assert contents["entries"] == len(files(cache))
    assert contents["bytes"] == sum(path.stat().st_size for path in files(cache))
    kinds = {row["kind"]: row for row in contents["kinds"]}
    assert {"stages", "answers", "indexes"} <= {kind for kind in kinds if kinds[kind]["entries"]}
    assert listed(cache) == contents, "the cache itself may be named, too"
    assert f"{contents['entries']} entries" in cli("cache", "list", folder / "out")[1]
    for bad in (folder, folder / "none", folder / "config.yaml"):
        code, out, err = cli("cache", "list", bad)
        assert (code, out) == (2, "")
        assert "holds no cache" in err


def test_verify(folder: Path) -> None:
    cache = folder / "out" / ".cache"
    assert cli("cache", "verify", folder / "out")[0] == 0
    first, second, *_ = sorted((cache / "stages").iterdir())
    first.write_bytes(first.read_bytes()[:-1])
    content = second.read_bytes()
    third = second.with_name(f"{'0' * 64}{second.suffix}")
    third.write_bytes(content)
    code, out, _ = cli("cache", "verify", folder / "out", "--format", "json")
    assert code == 1
    assert json.loads(out)["damaged"] == sorted(f"stages/{path.name}" for path in (first, third))
    code, out, _ = cli("cache", "verify", folder / "out", "--remove")
    assert code == 1
    assert out.count("removed") == 2
    assert not first.exists()
    assert not third.exists()
    assert second.read_bytes() == content
    assert cli("cache", "verify", folder / "out")[0] == 0


def test_prune_by_size_takes_what_was_not_used_longest(folder: Path) -> None:
    cache = folder / "out" / ".cache"
    entries = sorted(files(cache))
    for age, path in enumerate(entries):
        os.utime(path, (time.time() - age - 1000,) * 2)
    assert read_entry(entries[-1]) is not None, "reading is using"
    sizes = {path: path.stat().st_size for path in entries}
    most = sizes[entries[-1]] + sizes[entries[0]] + sizes[entries[1]]
    arguments = ("cache", "prune", folder / "out", "--max-size", most)
    code, out, _ = cli(*arguments, "--dry-run", "--format", "json")
    assert code == 0
    assert json.loads(out)["removed"] == len(entries) - 3
    assert files(cache) == set(entries)
    assert cli(*arguments)[0] == 0
    assert files(cache) == {entries[0], entries[1], entries[-1]}


def test_prune_by_age_and_everything(folder: Path) -> None:
    cache = folder / "out" / ".cache"
    old, *rest = sorted(files(cache))
    os.utime(old, (time.time() - 10 * 86_400,) * 2)
    foreign = cache / "stages" / "thesis.txt"
    foreign.write_text("not ours")
    assert cli("cache", "prune", folder / "out", "--unused", 9)[0] == 0
    assert files(cache) == {*rest, foreign}
    experiments = files(folder / "out") - files(cache)
    code, out, _ = cli("cache", "prune", folder / "out", "--all")
    assert (code, "0 entries (0 bytes) remain" in out) == (0, True)
    assert files(cache) == {foreign}
    assert files(folder / "out") - files(cache) == experiments
    code, _, err = cli("cache", "prune", folder / "out")
    assert code == 2
    assert "say what to remove" in err
    code, _, err = cli("cache", "prune", folder / "out", "--max-size", "many")
    assert (code, err.count("\n")) == (2, 1)


def test_a_limit(folder: Path) -> None:
    config, output = folder / "config.yaml", folder / "limited"
    arguments = ("benchmark", "run", config, "--output", output, "--quiet")
    assert cli(*arguments, "--cache-limit", "20kB")[0] == 0
    assert 0 < sum(path.stat().st_size for path in files(output / ".cache")) <= 20_000
    (experiment,) = (path for path in output.iterdir() if path.name != ".cache")
    assert verify(experiment).ok
    assert cli(*arguments, "--fresh")[0] == 0
    assert sum(path.stat().st_size for path in files(output / ".cache")) > 20_000
    code, _, err = cli(*arguments, "--cache-limit", "a lot")
    assert code == 2
    assert "expected a size such as" in err


def test_sizes_in_words() -> None:
    assert [size(count) for count in (0, 1, 999, 1000, 9_949, 9_951, 999_400, 999_600)] == [
        "0 bytes",
        "1 byte",
        "999 bytes",
        "1.0 kB",
        "9.9 kB",
        "10 kB",
        "999 kB",
        "1.0 MB",
    ]
    assert size(5 * 10**15) == "5000 TB"
