"""Small files that ask for much: each is answered at once, with one sentence.

What the same costs in memory, in a process of its own: `slow/test_processes.py`.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import zstandard

import rankscope as rs
from benchmark.world import CONFIG, write_world
from conftest import Rankscope
from rankscope.benchmark.run import fetch_runs
from rankscope.records.report import BenchmarkReport
from rankscope.scoring.score_files import read_scores

LINE = b"q1 Q0 d1 1 1.0 tag\n"
NESTED = {
    "101 levels": "[" * 101 + "]" * 101,
    "100,000 levels": "[" * 100_000 + "]" * 100_000,
    "brackets in strings": '["]", ' * 400 + "1" + ', "["]' * 400,
}


@pytest.fixture
def refusal(rankscope: Rankscope) -> Callable[..., str]:
    """Return a function that runs a command and returns the one sentence of its refusal."""

    def run(*arguments: str | Path) -> str:
        done = rankscope(*map(str, arguments))
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        return done.stderr

    return run


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize("name", NESTED)
def test_deeply_nested_json(
    refusal: Callable[..., str], name: str, suffix: str, tmp_path: Path
) -> None:
    record = f'{{"query_id": "q", "doc_id": "d", "score": {NESTED[name]}}}'
    (tmp_path / f"run.{suffix}").write_text(f"[{record}]" if suffix == "json" else record)
    assert "nested" in refusal("runs", "validate", f"run.{suffix}")


@pytest.mark.parametrize(
    ("before", "within"), [("", "a" * 200_000), ("<!--\n-->" * 80_000, "a='b'")]
)
def test_topics_take_time_in_proportion_to_their_size(
    rankscope: Rankscope, before: str, within: str, tmp_path: Path
) -> None:
    """Expressions that look back took hours here."""
    topic = f"<topic number='1' {within}><query>x</query></topic>"
    (tmp_path / "topics.xml").write_text(f"<topics>{before}{topic}</topics>")
    done = rankscope("convert", "--kind", "queries", "topics.xml", "queries.tsv")
    assert done.returncode == 0, done.stderr


# --- what expands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, bz2.compress, lzma.compress, zstandard.compress],
    ids=["gz", "bz2", "xz", "zst"],
)
def test_a_bomb_is_refused(
    refusal: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    pack: Callable[[bytes], bytes],
    tmp_path: Path,
) -> None:
    """All of these formats allow several streams one after the other."""
    monkeypatch.setattr("rankscope.files._HARMLESS", 1 << 20)
    (tmp_path / "a.run").write_bytes(pack(b"a" * (1 << 19)) * 3)
    said = refusal("runs", "validate", "a.run")
    assert "1,048,576" in said
    assert "unpack it" in said


# --- what is no file, or too wide ----------------------------------------------------------------


def test_devices_and_a_pipe_that_nobody_fills(refusal: Callable[..., str], tmp_path: Path) -> None:
    for device in ("/dev/zero", "/dev/urandom", "/dev/full"):
        assert "device" in refusal("runs", "validate", device)
    os.mkfifo(tmp_path / "a.run")
    assert "pipe" in refusal("runs", "validate", "a.run")


def test_many_columns(refusal: Callable[..., str], tmp_path: Path) -> None:
    names = ",".join(f"c{number}" for number in range(200_000))
    (tmp_path / "run.csv").write_text(f"query_id,doc_id,score,{names}\n")
    (tmp_path / "queries.csv").write_text(f"_id,text,{names}\n")
    assert "200,003" in refusal("runs", "validate", "run.csv")
    assert "200,002" in refusal("convert", "--kind", "queries", "queries.csv", "queries.jsonl")


def test_many_fields_do_not_become_columns(
    rankscope: Rankscope, refusal: Callable[..., str], tmp_path: Path
) -> None:
    """Each query with a field of its own: 11,000 lines would be 121 million cells."""
    lines = (f'{{"_id": "{n}", "text": "x", "c{n}": 1}}\n' for n in range(11_000))
    (tmp_path / "queries.jsonl").write_text("".join(lines))
    assert "11,001" in refusal("convert", "queries.jsonl", "queries.csv")
    assert rankscope("convert", "queries.jsonl", "again.jsonl").returncode == 0


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_world(tmp_path / "world", config=CONFIG).config
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for call in (
        lambda: rs.run_benchmark(config, output=name),
        lambda: rs.run_benchmark(config, output="out", cache=name),
        lambda: fetch_runs(config, output=name),
        lambda: rs.read_run(name),
        lambda: rs.read_corpus(name),
        lambda: rs.Run({"q": {"d": 1}}).write(name, format="trec"),
        lambda: rs.convert(name, "b.run"),
    ):
        with pytest.raises(rs.InputError, match="empty"):
            call()
    assert list(folder.iterdir()) == []


# --- memory --------------------------------------------------------------------------------------


def test_a_lack_of_memory_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("{}")
    full = Mock(side_effect=MemoryError)
    for decoder in ("_DECODER", "_STRICT"):
        monkeypatch.setattr(f"rankscope.tables.jsontext.{decoder}", Mock(decode=full))
    readers: list[Callable[[Path], object]] = [rs.read_queries, read_scores, BenchmarkReport.read]
    for read in readers:
        with pytest.raises(rs.InputError, match=r"a\.json: not enough memory"):
            read(tmp_path / "a.json")
    monkeypatch.setattr("rankscope.tables.reading.read_json", full)
    for read in (rs.read_run, rs.read_qrels, rs.read_queries):
        with pytest.raises(rs.InputError, match=r"a\.json: not enough memory"):
            read(tmp_path / "a.json")
