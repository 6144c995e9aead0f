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


NEEDS_C = pytest.mark.skipif(
    shutil.which(os.environ.get("CC", "cc")) is None, reason="no C compiler"
)


def tortured(*arguments: str, code: int = 0, path: str = "") -> str:
    """Run the command; return what it printed."""
    source = str(Path(rankscope.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "reliability.torture", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (path, source)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@NEEDS_C
def test_every_call_fails_once() -> None:
    calls = "write ENOSPC,fsync,rename,kill"
    out = tortured("faults", "--commands", "runs fuse", "--faults", calls)
    assert "| any kill |" in out
    assert " 0 failures" in out
    out = tortured("faults", "--commands", "runs fetch", "--faults", calls, "--stride", "90")
    assert "| fsync EIO |" in out


@NEEDS_C
def test_a_failure_is_reported(tmp_path: Path) -> None:
    """A command that writes its file in place is caught."""
    (tmp_path / "sitecustomize.py").write_text(
        "import contextlib, rankscope.files\n"
        "@contextlib.contextmanager\n"
        "def replacing(path):\n"
        "    with open(path, 'wb') as sink:\n"
        "        yield sink\n"
        "rankscope.files.replacing = replacing\n"
    )
    words = ["faults", "--commands", "runs fuse", "--faults", "write ENOSPC"]
    assert "half a file: out.run" in tortured(*words, code=1, path=str(tmp_path))


def test_processes_are_killed() -> None:
    assert " 0 failures" in tortured("kills", "--count", "6", "--seed", "1")
