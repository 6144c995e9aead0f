"""Many runs in one command: a table as it goes, broken runs left out, nothing kept in memory."""

from __future__ import annotations

import gzip
import json
import os
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import rankscope as rs
from conftest import Rankscope
from scale.runs_on_disk import ordered, qrels, rows, text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(
        "".join(
            f"{query_id} 0 {doc_id} {grade}\n"
            for query_id, documents in qrels(0).items()
            for doc_id, grade in documents.items()
        )
    )
    (tmp_path / "runs").mkdir()
    for seed in range(12):
        made = text(ordered(rows(seed), ("best first", "shuffled")[seed % 2], seed))
        (tmp_path / "runs" / f"r{seed:02}.run").write_bytes(made.replace(b"sys", b"s%02d" % seed))
    return tmp_path


@pytest.fixture
def run(folder: Path, rankscope: Rankscope) -> Rankscope:
    """Evaluate runs by the command, in the folder."""
    assert folder == Path.cwd()
    return partial(rankscope, "evaluate", "qrels")


def test_workers_print_what_one_process_prints(folder: Path, run: Rankscope) -> None:
    files = sorted(str(path.relative_to(folder)) for path in (folder / "runs").iterdir())
    alone = run(*files, "--format", "json", "--per-query")
    shared = run(*files, "--format", "json", "--per-query", "--workers", "2")
    assert (shared.returncode, shared.stderr) == (0, "")
    assert shared.stdout == alone.stdout
    (folder / "broken.run").write_text("q1 Q0 d1 1 0.5 s05\nq1 Q0 d1 2 0.4 s05\n")
    assert run("broken.run", "--workers", "1") == run("broken.run")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--workers", "2", "--cluster", "tcp://127.0.0.1:1"), "exclude each other"),
        (("--cluster", "tcp://127.0.0.1:1"), "no Dask scheduler"),
    ],
)
def test_what_cannot_be_asked_for(run: Rankscope, options: tuple[str, ...], word: str) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    done = run("runs/r01.run", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr


def test_a_broken_run_is_left_out(folder: Path, run: Rankscope) -> None:
    (folder / "runs" / "r05.run").write_text("q1 Q0 d1 1 0.5 s05\nq1 Q0 d1 2 0.4 s05\n")
    (folder / "runs" / "r07.run").write_text("")
    files = [f"runs/r{number:02}.run" for number in range(12)] + ["runs/gone.run"]
    options = ("--workers", "1", "--per-query-output", "scores.parquet", "--format", "json")
    done = run(*files, *options)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert [line.split()[1] for line in lines] == ["s05", "r07", "gone"]
    assert "runs/r05.run:2" in lines[0]
    names = list(json.loads(done.stdout)["runs"])
    assert names == [f"s{number:02}" for number in range(12) if number not in (5, 7)]
    table = pl.read_parquet(folder / "scores.parquet")
    expected = rs.evaluate(
        str(folder / "qrels"),
        [str(folder / file) for file in files[:12] if "05" not in file and "07" not in file],
    ).per_query
    assert table.equals(expected)


def test_a_run_through_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")
    for name, broken in (("r03", False), ("r01", False), ("r02", True)):
        path = folder / "runs" / f"{name}.run"
        content = path.read_bytes() + (b"q1 Q0\n" if broken else b"")
        expected = None if broken else rs.evaluate(qrels(0), path)
        read, write = os.pipe()
        os.write(write, gzip.compress(content))
        os.close(write)
        if broken:
            with pytest.raises(rs.InvalidDataError, match=rf"/dev/fd/{read}:\d+: .*6 columns"):
                rs.evaluate(qrels(0), f"/dev/fd/{read}")
        else:
            scores = rs.evaluate(qrels(0), f"/dev/fd/{read}")
            assert expected is not None
            assert scores.means == expected.means
            assert scores.runs == expected.runs
        os.close(read)


def test_a_pattern_in_quotes_is_one_run(folder: Path, run: Rankscope) -> None:
    parts = folder / "parts"
    parts.mkdir()
    made = rows(3)
    (parts / "1.run").write_bytes(text(made[:20]))
    (parts / "2.run").write_bytes(text(made[20:]))
    (folder / "whole.run").write_bytes(text(made))
    asked = ("-m", "nDCG@10")
    expected = run("x=whole.run", *asked).stdout
    assert run("x=parts/*.run", *asked).stdout == expected
    assert run("x=parts", *asked).stdout == expected
    assert run("x=parts/*.run", *asked, "--workers", "1").stdout == expected
