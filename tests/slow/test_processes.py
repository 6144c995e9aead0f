"""The command line as a process: its streams, its memory, and what a kill leaves behind."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

import rankscope as rs
from conftest import Rankscope
from rankscope.benchmark.verify import verify
from rankscope.files import COMPRESSIONS, PARTS, replacing
from rankscope.records.report import BenchmarkReport
from rankscope.reports.judging.judgment_log import JudgmentLog
from rankscope.temporary import sweep

RANKSCOPE = [sys.executable, "-m", "rankscope"]
MEMORY = 4 << 30
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
LINE = b"q1 Q0 d1 1 1.0 tag\n"
LONG = "a" * 10_000_000


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in little memory."""
    return subprocess.run(
        [*RANKSCOPE, *arguments],
        cwd=folder,
        env={**os.environ, **dict.fromkeys(THREADS, "2")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )


def test_the_demo_is_a_whole_benchmark(rankscope: Rankscope, tmp_path: Path) -> None:
    done = rankscope("demo")
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = (path for path in (tmp_path / "rankscope-demo").iterdir() if path.name[0] != ".")
    report = BenchmarkReport.read(folder / "BenchmarkReport.json")
    main = {system.name: system.measures[0].value for system in report.systems}
    assert list(main) == ["title", "lexical", "vector", "hybrid", "reranked"]
    assert main["title"] < main["vector"] < main["lexical"] < main["hybrid"]
    assert verify(folder).ok
    assert rankscope("demo").returncode == 0


# --- streams -------------------------------------------------------------------------------------


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    """A full disk and a closed standard output are one sentence each, and no answer."""
    (tmp_path / "a.run").write_bytes(LINE)
    command = shlex.join([*RANKSCOPE, "convert", "a.run", "-", "--to", "csv"])
    for redirected in (">/dev/full", ">&-"):
        done = subprocess.run(
            f"{command} {redirected}",
            cwd=tmp_path,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "standard output" in done.stderr
    silent = subprocess.run(f"{command} >/dev/full 2>&1", cwd=tmp_path, shell=True, check=False)
    assert silent.returncode == 2


@pytest.mark.parametrize(
    "typed", ["convert many.run - --to jsonl", "runs validate" + " many.run" * 5 + " --format json"]
)
def test_a_reader_that_goes_away(tmp_path: Path, typed: str) -> None:
    """As in ``rankscope … | head -1``: no message, and the exit code of a good run."""
    (tmp_path / "many.run").write_text("".join(f"q{n} Q0 d 1 1 t\n" for n in range(50_000)))
    with subprocess.Popen(
        [*RANKSCOPE, *typed.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode in (0, 1)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """As bash does for ``rankscope … <(command)``: a pipe, and more in it than it holds."""
    many = "".join(f"q{n} Q0 d 1 1 t\n" for n in range(20_000))
    for pack in (bytes, gzip.compress, zstandard.compress):
        done = subprocess.run(
            [*RANKSCOPE, "convert", "/dev/fd/0", "run.csv"],
            input=pack(many.encode()),
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert len(rs.read_run(tmp_path / "run.csv")) == 20_000


# --- memory --------------------------------------------------------------------------------------


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    """300 MB from 300 kB, with the limit that holds if none is given."""
    (tmp_path / "a.run").write_bytes(gzip.compress(b"a" * (1 << 20), 9) * 300)
    done = ran(tmp_path, "runs", "validate", "a.run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "268,435,456" in done.stderr


def test_four_million_packed_lines(tmp_path: Path) -> None:
    (tmp_path / "a.run.zst").write_bytes(zstandard.compress(LINE * 4_000_000))
    done = ran(tmp_path, "runs", "validate", "a.run.zst", "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)[0]["rows"] == 4_000_000


SYSTEMS = """
name: long
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}
systems: {words: bm25, vectors: vector, both: {fuse: {of: [words, vectors]}}}
depth: 10
measures: [nDCG@5]
statistics: {resamples: 100}
"""


@pytest.mark.parametrize("where", ["corpus", "queries"])
@pytest.mark.parametrize("text", [LONG, "word " * 2_000_000], ids=["one word", "many words"])
def test_a_text_of_10_mb_goes_through_a_benchmark(where: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(SYSTEMS)
    for name in ("corpus", "queries"):
        rows = [{"_id": str(number), "text": f"apple {number}"} for number in range(5)]
        rows += [{"_id": "long", "text": text}] if name == where else []
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\t1\t1\n")
    done = ran(tmp_path, "benchmark", "run", "config.yaml")
    assert done.returncode == 0, done.stderr[:1000]


@pytest.mark.parametrize("place", ["query", "document", "tag"])
@pytest.mark.parametrize("format", ["table", "markdown", "html", "latex"])
def test_an_id_or_tag_of_10_mb_is_shown(place: str, format: str, tmp_path: Path) -> None:
    query_id, doc_id, tag = (
        LONG if place == name else short
        for name, short in (("query", "q1"), ("document", "d2"), ("tag", "tag"))
    )
    (tmp_path / "a.run").write_text(f"q1 Q0 d1 1 2 {tag}\n{query_id} Q0 {doc_id} 2 1 {tag}\n")
    (tmp_path / "qrels").write_text(f"q1 0 d1 1\n{query_id} 0 {doc_id} 1\n")
    for typed in ("evaluate qrels a.run --per-query", "explain qrels a.run --query q1"):
        done = ran(tmp_path, *typed.split(), "--format", format)
        assert done.returncode == 0, done.stderr[:1000]


# --- writing -------------------------------------------------------------------------------------

OLD = b"the old content\n"
HALF = """
import sys, time
from rankscope.files import replacing
with replacing(sys.argv[1]) as sink:
    sink.write(b"half")
    sink.flush()
    print("half", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_ended_half_way(tmp_path: Path, end: signal.Signals) -> None:
    """The old file stays, and the next writer removes what a killed one left."""
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with subprocess.Popen(
        [sys.executable, "-c", HALF, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        (temporary,) = tmp_path.glob(PARTS)
        sweep(tmp_path.glob(PARTS))
        assert temporary.exists(), "its writer lives"
        writer.send_signal(end)
    assert path.read_bytes() == OLD
    assert temporary.exists() == (end == signal.SIGKILL)
    with replacing(path) as sink:
        sink.write(b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


DISK_FULL = """
import resource, sys
import rankscope as rs
run = rs.Run({f"q{n}": {f"document-{m * n + m}": m / 7 for m in range(100)} for n in range(300)})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    run.write(sys.argv[1])
except rs.InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "suffix", ["run", "jsonl", "parquet", *(f"csv{packed}" for packed in COMPRESSIONS)]
)
def test_a_full_disk_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    path.write_bytes(OLD)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DISK_FULL, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "File too large" in done.stdout
    assert path.read_bytes() == OLD
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as cat:
        rs.Run({"q": {"d": 1.0}}, name="t").write(pipe, format="trec")
        assert cat.stdout is not None
        assert cat.stdout.read() == b"q Q0 d 1 1.0 t\n"


JUDGE = """
import sys
from rankscope.reports.judging.judgment_log import Judgment, JudgmentLog
log, name = JudgmentLog(sys.argv[1]), sys.argv[2]
for number in range(60):
    log.add(lambda _: Judgment(id=f"{name}-{number}", rater=name, query_id="q", doc_id=str(number),
                               grade=1, reason="r" * 300))
"""


def test_processes_that_judge_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", JUDGE, str(path), name]) for name in ("ann", "bob")
    ]
    assert [writer.wait(timeout=600) for writer in writers] == [0, 0]
    log = JudgmentLog(path)
    assert log.cut_short == 0
    assert [each.seq for each in log.judgments.by_id.values()] == list(range(1, 121))


# --- what is loaded ------------------------------------------------------------------------------

HEAVY = {"numpy", "pandas", "polars", "pyarrow", "rich", "scipy", "zstandard"}
COMMAND = """
from rankscope.cli import main
try:
    main({arguments})
except SystemExit as stop:
    assert stop.code == 0, stop.code
"""


def loaded_after(code: str) -> set[str]:
    """Run code in a fresh Python and return the top-level packages it loaded."""
    script = f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "typed",
    ["", "--version", "runs validate", "convert", "evaluate", "compare", "gate", "benchmark run"],
)
def test_help_loads_nothing_heavy(typed: str) -> None:
    arguments = typed.split() if typed.startswith("--") else [*typed.split(), "--help"]
    assert loaded_after(COMMAND.format(arguments=arguments)) & {*HEAVY, "pydantic"} == set()


def test_a_first_evaluation_of_dicts_loads_little() -> None:
    """Neither what reads files nor what checks records; a test alone must not take a second."""
    code = "import rankscope; rankscope.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, 'nDCG@10')"
    plain = "from rankscope import functions; functions.ndcg_at_k(['a'], ['a'])"
    for first in (code, plain):
        assert loaded_after(first) & {"polars", "pydantic", "scipy"} == set()
    assert "pydantic" in loaded_after(f"{code}.accounting"), "it is loaded when it is needed"
    assert "polars" in loaded_after("import rankscope; rankscope.Run"), "it would be seen"
