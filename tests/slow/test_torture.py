"""The short form of ``make torture``: a few commands, few faults and kills, a fixed seed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankscope

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="calls are made to fail as Linux allows"
)


def tortured(*arguments: str) -> str:
    source = str(Path(rankscope.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "reliability.torture", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="no C compiler")
def test_every_call_fails_once() -> None:
    calls = "write ENOSPC,fsync,rename,kill"
    out = tortured("faults", "--commands", "runs fuse", "--faults", calls)
    assert "| any kill |" in out
    assert " 0 failures" in out
    out = tortured("faults", "--commands", "runs fetch", "--faults", calls, "--stride", "90")
    assert "| fsync EIO |" in out


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="no C compiler")
def test_a_failure_is_reported(tmp_path: Path) -> None:
    """A command that writes its file in place is caught."""
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import contextlib, rankscope.files\n"
        "@contextlib.contextmanager\n"
        "def replacing(path):\n"
        "    with open(path, 'wb') as sink:\n"
        "        yield sink\n"
        "rankscope.files.replacing = replacing\n"
    )
    source = str(Path(rankscope.__file__).parents[1])
    words = ["faults", "--commands", "runs fuse", "--faults", "write ENOSPC"]
    done = subprocess.run(
        [sys.executable, "-m", "reliability.torture", *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{source}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "half a file: out.run" in done.stdout


def test_processes_are_killed() -> None:
    out = tortured("kills", "--count", "6", "--seed", "1")
    assert " 0 failures" in out
