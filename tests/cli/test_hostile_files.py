"""Small files that ask for much: each is answered at once, in little memory, with one sentence.

Every command runs in a process of its own, which is ended after a minute: what these tests guard
against took hours, or all memory.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import zstandard

import rankscope
from rankscope.benchmark.run import fetch_runs, plan_benchmark
from rankscope.cli.app import app
from rankscope.files import max_size
from rankscope.records import BenchmarkReport
from rankscope.scoring.score_files import read_scores

MEMORY = 4 << 30
LINE = b"q1 Q0 d1 1 1.0 tag\n"


def ran(*arguments: str | Path, **environment: str) -> tuple[int, str, str]:
    """Run a command in little memory and return its exit code and what it printed."""
    child = subprocess.run(
        [sys.executable, "-m", "rankscope", *map(str, arguments)],
        env={
            "PYTHONPATH": str(Path(rankscope.__file__).parents[1]),
            "POLARS_MAX_THREADS": "2",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    return child.returncode, child.stdout, child.stderr


def refusal(*arguments: str | Path, **environment: str) -> str:
    """Return the one sentence with which a command refuses a file."""
    status, stdout, stderr = ran(*arguments, **environment)
    assert (status, stdout, stderr.count("\n")) == (2, "", 1), stderr
    return stderr


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize("levels", [101, 400, 100_000])
def test_deeply_nested_json(suffix: str, levels: int, tmp_path: Path) -> None:
    file = tmp_path / f"run.{suffix}"
    record = f'{{"query_id": "q", "doc_id": "d", "score": {"[" * levels}{"]" * levels}}}'
    file.write_text(f"[{record}]" if suffix == "json" else record)
    assert "nested" in refusal("runs", "validate", file)


def test_brackets_in_strings_do_not_hide_the_depth(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    nested = '["]", ' * 400 + "1" + ', "["]' * 400
    file.write_text(f'{{"query_id": "q", "doc_id": "d", "score": {nested}}}')
    assert "nested more than 100 levels" in refusal("runs", "validate", file)


def test_many_brackets_that_are_not_deep(tmp_path: Path) -> None:
    """Brackets in strings, which do not nest, and 100 levels, which are allowed."""
    inside = "[" * 99 + '"' + "[{" * 5_000 + '"' + "]" * 99
    (tmp_path / "queries.jsonl").write_text(f'{{"_id": "q", "text": "[[[", "x": {inside}}}\n')
    status, _, stderr = ran("convert", tmp_path / "queries.jsonl", tmp_path / "queries.json")
    assert status == 0, stderr


@pytest.mark.parametrize(
    ("before", "within"), [("", "a" * 1_000_000), ("<!--\n-->" * 400_000, "a='b'")]
)
def test_topics_take_time_in_proportion_to_their_size(
    before: str, within: str, tmp_path: Path
) -> None:
    topics = tmp_path / "topics.xml"
    topic = f"<topic number='1' {within}><query>x</query></topic>"
    topics.write_text(f"<topics>{before}{topic}</topics>")
    status, _, stderr = ran("convert", "--kind", "queries", topics, tmp_path / "queries.tsv")
    assert status == 0, stderr


def test_zstandard_takes_time_in_proportion_to_its_size(tmp_path: Path) -> None:
    packed = tmp_path / "a.run.zst"
    packed.write_bytes(zstandard.compress(LINE * 4_000_000))
    status, stdout, _ = ran("runs", "validate", packed)
    assert (status, "4,000,000 lines" in stdout) == (1, True)


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 9)


@pytest.mark.parametrize("pack", [_gzipped, bz2.compress, lzma.compress, zstandard.compress])
def test_a_bomb_is_refused(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """All of these formats allow several streams one after the other: 300 times 1 MB."""
    bomb = tmp_path / "a.run"
    bomb.write_bytes(pack(b"a" * (1 << 20)) * 300)
    problem = "more than 268,435,456 bytes; if that is meant, give the size it may have: --max-size"
    assert problem in refusal("runs", "validate", bomb)


def test_the_limit_can_be_set(tmp_path: Path) -> None:
    packed = tmp_path / "a.run.gz"
    packed.write_bytes(gzip.compress(LINE))
    validate = ("runs", "validate", packed)
    assert ran(*validate, RANKSCOPE_MAX_BYTES=str(len(LINE)))[0] == 0
    assert "to more than 18 bytes" in refusal(*validate, RANKSCOPE_MAX_BYTES="18")
    assert "expected a size such as" in refusal(*validate, RANKSCOPE_MAX_BYTES="much")
    assert ran(*validate, "--max-size", "1 kB", RANKSCOPE_MAX_BYTES="18")[0] == 0
    assert "to more than 18 bytes" in refusal(*validate, "--max-size", "18B")
    assert "--max-size is '1 XB'" in refusal(*validate, "--max-size", "1 XB")


READS_FILES = (
    *("evaluate", "compare", "gate", "diagnose", "explain", "why", "power", "trec-eval", "convert"),
    *("runs validate", "runs fuse", "runs fetch"),
    *("benchmark run", "benchmark verify", "benchmark compare", "benchmark list"),
)


@pytest.mark.parametrize("command", READS_FILES)
def test_commands_that_read_files_take_the_limit(command: str) -> None:
    group: click.Command = app
    for name in command.split():
        assert isinstance(group, click.Group)
        found = group.get_command(click.Context(group), name)
        assert found is not None
        group = found
    assert "--max-size" in [option for param in group.params for option in param.opts]


def test_the_limit_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "a.run.gz"
    packed.write_bytes(gzip.compress(LINE))
    for before in ("", "1GB"):
        monkeypatch.setenv("RANKSCOPE_MAX_BYTES", before)
        with max_size("18"), pytest.raises(rankscope.FormatError, match="more than 18 bytes"):
            rankscope.read_run(packed)
        assert os.environ["RANKSCOPE_MAX_BYTES"] == before
        assert len(rankscope.read_run(packed)) == 1


LONG = "a" * 10_000_000
SYSTEMS = """
name: long
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}
systems: {words: bm25, vectors: vector, both: {fuse: {of: [words, vectors]}}}
depth: 10
measures: [nDCG@5]
statistics: {resamples: 100}
"""


@pytest.mark.parametrize("text", [LONG, "word " * 2_000_000])
@pytest.mark.parametrize("where", ["corpus", "queries"])
def test_a_text_of_10_mb_costs_a_small_multiple(where: str, text: str, tmp_path: Path) -> None:
    """As one word, and as many: by words and by vectors, from the files to the report."""
    (tmp_path / "config.yaml").write_text(SYSTEMS)
    for name in ("corpus", "queries"):
        rows = [{"_id": str(number), "text": f"apple {number}"} for number in range(5)]
        rows += [{"_id": "long", "text": text}] if name == where else []
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\t1\t1\n")
    out = tmp_path / "out"
    # about 250 of it are what is loaded; how much threads hold at once is chance
    assert cost("benchmark", "run", tmp_path / "config.yaml", "--output", out) < 800


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("format", ["table", "markdown", "html", "latex"])
def test_an_id_or_tag_of_10_mb_costs_a_small_multiple(
    place: int, format: str, tmp_path: Path
) -> None:
    fields = ["q1", "d2", "tag"]
    fields[place] = LONG
    query_id, doc_id, tag = fields
    run, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    run.write_text(f"q1 Q0 d1 1 2 {tag}\n{query_id} Q0 {doc_id} 2 1 {tag}\n")
    qrels.write_text(f"q1 0 d1 1\n{query_id} 0 {doc_id} 1\n")
    assert cost("evaluate", qrels, run, "--per-query", "--format", format) < 400
    assert cost("explain", qrels, run, "--query", "q1", "--format", format) < 400
    if format == "table":
        assert cost("runs", "validate", run, "--qrels", qrels) < 400


def cost(*arguments: str | Path) -> int:
    """Return the MB of memory that a command takes at most, in two minutes at most.

    Not by getrusage: its maximum is that of the process it was forked from, if that is larger.
    """
    measured = (
        "import re, sys; from rankscope.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally:\n"
        "    most = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())\n"
        "    print(int(most[1]) >> 10, file=sys.stderr)"
    )
    child = subprocess.run(
        [sys.executable, "-c", measured, *map(str, arguments)],
        env={"PYTHONPATH": str(Path(rankscope.__file__).parents[1]), "POLARS_MAX_THREADS": "2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == 0, child.stderr[:1000]
    return int(child.stderr.splitlines()[-1])


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text(SYSTEMS)
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    config = tmp_path / "config.yaml"
    for call in (
        lambda: rankscope.run_benchmark(config, output=name),
        lambda: rankscope.run_benchmark(config, output="out", cache=name),
        lambda: plan_benchmark(config, output=name),
        lambda: fetch_runs(config, output=name),
        lambda: rankscope.read_run(name),
        lambda: rankscope.read_corpus(name),
        lambda: rankscope.Run({"q": {"d": 1}}).write(name, format="trec"),
        lambda: rankscope.convert(name, "b.run"),
    ):
        with pytest.raises(rankscope.InputError, match=r"name .*is empty"):
            call()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_no_file(device: str) -> None:
    assert f"{device}: is a device; name a file" in refusal("runs", "validate", device)


def test_a_pipe_that_nobody_fills(tmp_path: Path) -> None:
    pipe = tmp_path / "a.run"
    os.mkfifo(pipe)
    problem = f"rankscope: {pipe}: is a pipe, and nothing was written to it"
    assert refusal("runs", "validate", pipe).startswith(problem)


def test_many_columns(tmp_path: Path) -> None:
    names = ",".join(f"c{number}" for number in range(200_000))
    (tmp_path / "run.csv").write_text(f"query_id,doc_id,score,{names}\n")
    (tmp_path / "queries.csv").write_text(f"_id,text,{names}\n")
    problem = ":1: has 200,00{} columns, and at most 10,000 are read"
    assert problem.format(3) in refusal("runs", "validate", tmp_path / "run.csv")
    arguments = ("--kind", "queries", tmp_path / "queries.csv", tmp_path / "queries.jsonl")
    assert problem.format(2) in refusal("convert", *arguments)


def test_many_fields_do_not_become_columns(tmp_path: Path) -> None:
    """Each query with a field of its own: 20,000 lines would be 400 million cells."""
    queries = tmp_path / "queries.jsonl"
    queries.write_text(
        "".join(f'{{"_id": "{n}", "text": "x", "c{n}": 1}}\n' for n in range(20_000))
    )
    assert "20,001 fields" in refusal("convert", queries, tmp_path / "queries.csv")
    assert ran("convert", queries, tmp_path / "again.jsonl")[0] == 0


@pytest.mark.parametrize("read", [rankscope.read_run, rankscope.read_qrels, rankscope.read_queries])
def test_a_lack_of_memory_is_an_error_of_ours(
    read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr("rankscope.tables.reading.read_json", fails)
    with pytest.raises(rankscope.InputError, match=r"a\.json: not enough memory"):
        read(tmp_path / "a.json")


def test_records_that_do_not_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def decode(self, _: str) -> None:
            raise MemoryError

    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr("rankscope.tables.jsontext._DECODER", Full())
    monkeypatch.setattr("rankscope.tables.jsontext._STRICT", Full())
    for read in (rankscope.read_queries, read_scores, BenchmarkReport.read):
        with pytest.raises(rankscope.InputError, match=r"a\.json: not enough memory"):
            read(tmp_path / "a.json")
