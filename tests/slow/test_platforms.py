"""What can be known here of other systems: Windows, as far as it can be imitated, and the package.

Imitated are a Python without what only POSIX has, renames that fail while a file is in use, and
folders that cannot be opened. What was only imitated is not claimed in pyproject.toml.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from reliability.lowest import lowest

from benchmark.world import contents, only_experiment, write_world

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

WINDOWS = """
import sys, warnings
warnings.simplefilter("ignore", EncodingWarning)
import bm25s, click, numpy, polars, pydantic, rich.console, scipy.stats, Stemmer, yaml, zstandard
import logging, platform, subprocess, tempfile
import os, shutil, signal

shutil._use_fd_functions = False  # there, folders are emptied by names

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in (
    "preadv pread pwrite umask fork mkfifo getuid geteuid getpgid killpg fchmod fchown chown "
    "O_NONBLOCK O_DIRECTORY O_NOFOLLOW O_CLOEXEC set_blocking posix_spawn sched_getaffinity"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "alarm", "setitimer", "pthread_sigmask"):
    delattr(signal, name)

real_open = os.open
def open_file(path, flags, *rest, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return real_open(path, flags, *rest, **more)
os.open = open_file

real_rename = os.rename
def rename(source, target):
    if os.path.exists(target):
        error = FileExistsError(17, "Cannot create a file when that file already exists", source)
        error.winerror = 183
        raise error
    real_rename(source, target)
os.rename = rename

warnings.filterwarnings("error", category=EncodingWarning, module="rankscope")
from rankscope.cli import main
main(sys.argv[1:])
"""
"""A Python without what only POSIX has, in which text without an encoding is an error."""


def windows(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", WINDOWS, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def posix(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_benchmark_without_posix_has_the_same_files(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    output = tmp_path / "windows"
    for options in ((), ("--fresh",)):  # the second replaces the experiment
        done = windows("benchmark", "run", world.config, "--output", output, *options)
        assert (done.returncode, done.stderr) == (0, "")
    assert posix("benchmark", "run", world.config, "--output", tmp_path / "posix").returncode == 0
    assert contents(only_experiment(output)) == contents(only_experiment(tmp_path / "posix"))
    assert windows("benchmark", "verify", only_experiment(output)).returncode == 0
    fetched = windows("runs", "fetch", world.config, "--output", tmp_path / "runs")
    assert (fetched.returncode, fetched.stderr) == (0, "")


def test_files_without_posix_are_read_and_written_alike(tmp_path: Path) -> None:
    small = ROOT / "tests" / "data" / "small"
    qrels = next(small.glob("qrels*"))
    run = next(path for path in sorted(small.iterdir()) if "run" in path.name)
    for call in (windows, posix):
        place = tmp_path / call.__name__
        place.mkdir()
        calls: list[tuple[object, ...]] = [
            ("evaluate", qrels, run, "--per-query", "--format", "json", "-o", place / "s.json"),
            ("convert", run, place / "run.parquet", "--kind", "run"),
            ("convert", place / "run.parquet", place / "run.jsonl.gz", "--kind", "run"),
            ("gate", run, run, "--qrels", qrels, "--junit", place / "junit.xml"),
        ]
        for arguments in calls:
            done = call(*arguments)
            assert done.returncode == 0, done.stderr
    for path in (tmp_path / "posix").iterdir():
        assert path.read_bytes() == (tmp_path / "windows" / path.name).read_bytes()


# ---------------------------------------------------------------------------------- the package


def test_the_source_distribution_has_all_that_its_tests_need() -> None:
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    made = {"build", "dist", "rankscope-demo", "PKG-INFO", "pyproject.toml"}
    there = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert {name for name in there - made if not name.endswith(".egg-info")} == included - {
        ".pre-commit-hooks.yaml"
    }


def test_only_what_is_tested_is_claimed() -> None:
    claimed = PROJECT["project"]["classifiers"]
    assert [line for line in claimed if line.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]


def test_the_lowest_versions_are_those_of_the_project() -> None:
    constraints = lowest(ROOT / "pyproject.toml")
    assert len(constraints) >= len(PROJECT["project"]["dependencies"])
    for line in constraints:
        requirement, _, marker = line.replace("==", ">=", 1).partition(";")
        assert requirement in json.dumps(PROJECT["project"])
        assert marker in json.dumps(PROJECT["project"])


def test_a_make_target_for_each_figure() -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    for target in ("torture", "test-pythons", "test-minimum"):
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)
