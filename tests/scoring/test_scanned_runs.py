"""Files that are scanned and not read: the same answers, and no table until one is asked for."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.scoring.inputs import as_judgments, as_runs
from rankscope.scoring.scans import ScannedRun
from rankscope.tables import native, native_files

pytestmark = pytest.mark.skipif(native.library() is None, reason="the native scan was not built")

QRELS = "".join(f"q{q} 0 d{d} {d // 3 % 3}\n" for q in range(30) for d in range(0, 40, 3))
LINES = [f"q{q} Q0 d{d} {d + 1} {60 - d - d % 2} bm25\n" for q in range(30) for d in range(50)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "qrels").write_text(QRELS, encoding="utf-8")
    (tmp_path / "run").write_text("".join(LINES), encoding="utf-8")
    return str(tmp_path / "qrels"), str(tmp_path / "run")


@pytest.mark.parametrize("seed", range(2))
def test_blocks_and_threads_change_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    qrels, run = tmp_path / "qrels", tmp_path / "run.gz"
    qrels.write_text(QRELS, encoding="utf-8")
    lines = [
        f"q{q} Q0 d{d} 1 {random.integers(0, 9)} t\n"
        for q in random.permutation(30)
        for d in random.permutation(60)[: random.integers(1, 60)]
    ]
    plain = tmp_path / "run"
    plain.write_text("".join(lines), encoding="utf-8")
    run.write_bytes(gzip.compress("".join(lines).encode()))
    whole = rs.evaluate(str(qrels), str(plain), ["nDCG@5", "AP"])
    monkeypatch.setattr(native_files, "LARGEST", 1000)
    monkeypatch.setattr(native_files, "_WINDOW", 100)
    monkeypatch.setattr(native_files, "SMALLEST", 10)
    monkeypatch.setattr(native_files, "workers", lambda: 4)
    for path in (plain, run):
        parts = rs.evaluate(str(qrels), str(path), ["nDCG@5", "AP"])
        assert (parts.run().values == whole.run().values).all()
        assert parts.accounting == whole.accounting
    table = rs.read_run(plain)
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")
    assert rs.read_run(plain) == table
    assert rs.read_run(plain).fingerprint() == table.fingerprint()


def test_rows_are_read_when_they_are_asked_for(files: tuple[str, str]) -> None:
    judgments = as_judgments(files[0])
    (run,) = as_runs(files[1], judgments)[0].values()
    assert isinstance(run, ScannedRun)
    assert len(run) == 1500
    assert "q3" in run
    assert "q99" not in run
    assert list(run)[:2] == run.query_ids[:2] == ["q0", "q1"]
    assert run._loaded is None
    assert run["q0"] == rs.read_run(files[1])["q0"]
    assert run.doc_ids.len() == 1500
    with pytest.raises(AttributeError):
        run.nothing_of_the_kind  # noqa: B018


def test_files_are_scored_without_a_library_of_tables(files: tuple[str, str]) -> None:
    """Loading Polars takes longer than scoring a large file's judged documents."""
    code = (
        "import atexit, runpy, sys\n"
        "atexit.register(lambda: print('polars' in sys.modules, file=sys.stderr))\n"
        "runpy.run_module('rankscope', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", code, "evaluate", *files, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["False"]


def test_a_pipe_is_put_aside_and_named_as_standard_input(
    rankscope: Callable[..., Any], files: tuple[str, str], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    asked = ("evaluate", files[0], "-", "--format", "json")
    whole = json.loads(rankscope(*asked, given="".join(LINES)).stdout)
    assert list(whole["runs"]) == ["bm25"]
    broken = rankscope(*asked, given="q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 high t\n")
    assert broken.returncode == 2
    assert "standard input:2" in broken.stderr
