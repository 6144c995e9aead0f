"""What the user's code prints, by whatever way, spoils no answer and shows no secret."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

SECRET = "Hunter22/Zq9+xW7"

ENGINE = """
import base64, ctypes, logging, os, subprocess, sys, threading, warnings
from urllib.parse import quote

from rankscope.retrieval.protocol import Query

SECRET = os.environ.get("TOKEN", "nothing secret")
FORMS = {
    "plain": SECRET,
    "upper": SECRET.upper(),
    "base64": base64.b64encode(f"me:{SECRET}".encode()).decode(),
    "url": quote(SECRET, safe=""),
    "hex": SECRET.encode().hex(),
}

def tell(form):
    print("printed", form)
    print("to stderr", form, file=sys.stderr)
    os.write(1, f"by the system {form}\\n".encode())
    subprocess.run([sys.executable, "-c", f"print({'by a process ' + form!r})"])
    sys.__stdout__.write(f"by the first stream {form}\\n")
    sys.__stdout__.flush()

for form in FORMS.values():
    tell(form)
if sys.platform != "win32":  # more than a pipe holds, by code that keeps the interpreter's lock
    lines = ("many lines " + SECRET + "\\n").encode() * 8000
    ctypes.PyDLL(None).write(1, lines, len(lines))
warnings.warn(f"a warning {SECRET}")
logging.getLogger("mine").error("a log %s", SECRET)
print("broken over", SECRET[:7])
print("   " + SECRET[7:])


class RefusedError(Exception):
    pass


def answer(query: Query, depth: int):
    number = int(query.query_id[1:])
    if number < len(FORMS):
        form = list(FORMS.values())[number]
        try:
            raise KeyError(form)
        except KeyError as error:
            raise RefusedError(f"no access with {form}") from error
    if number == 7:
        thread = threading.Thread(target=tell, args=(SECRET,))
        thread.start()
        thread.join()
    return {"d1": 2.0, "d2": 1.0}
"""

CONFIG = """\
name: telling
collection:
  corpus: corpus.jsonl
  queries: queries.jsonl
  qrels: qrels.tsv
systems:
  mine: {python: {function: "telling:answer", version: "${TOKEN}"}}
depth: 5
measures: [RR@10]
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    queries = [{"_id": f"q{number}", "text": f"leek {number}"} for number in range(10)]
    corpus = [{"_id": "d1", "text": "leek soup"}, {"_id": "d2", "text": "apple pie"}]
    for name, rows in {"queries.jsonl": queries, "corpus.jsonl": corpus}.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{number}\td1\t1" for number in range(10))]
    (tmp_path / "qrels.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "telling.py").write_text(ENGINE)
    (tmp_path / "bench.yaml").write_text(CONFIG)
    return tmp_path


def run(folder: Path, *arguments: str, secret: str = SECRET) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankscope", *arguments],
        cwd=folder,
        env={**os.environ, "TOKEN": secret},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def leaks(content: str) -> list[str]:
    """Return the forms of the secret that a text holds, of lines that are put together, too."""
    core = base64.b64encode(f"me:{SECRET}".encode()).decode()[4:-2]
    forms = [SECRET, SECRET.upper(), core, quote(SECRET, safe=""), SECRET.encode().hex()]
    together = "".join(content.split())
    return [form for form in forms if form in content or form in together]


def contents(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the name and the content of every file, tables as text."""
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            yield path, str(path) + content.decode("latin-1")
            if path.suffix == ".gz":
                yield path, gzip.decompress(content).decode()
            if path.suffix == ".parquet":
                yield path, json.dumps(pl.read_parquet(io.BytesIO(content)).to_dicts())


@pytest.mark.parametrize("command", [("benchmark", "run"), ("runs", "fetch")], ids=" ".join)
def test_no_secret_is_printed_or_written(world: Path, command: tuple[str, ...]) -> None:
    done = run(world, "--debug", *command, "bench.yaml", "--format", "json", "--output", "out")
    assert done.returncode == 1, done.stderr  # some queries failed
    answer = json.loads(done.stdout)
    assert "no access with ${TOKEN}" in json.dumps(answer)
    for lead in ("printed", "to stderr", "by the system", "by a process", "by the first stream"):
        assert f"{lead} ${{TOKEN}}" in done.stderr
    assert "a warning ${TOKEN}" in done.stderr
    assert "a log ${TOKEN}" in done.stderr
    assert "KeyError: '${TOKEN}'" in done.stderr  # the traceback of what led to it
    assert leaks(done.stdout) == []
    assert leaks(done.stderr) == []
    for path, content in contents(world / "out"):
        assert leaks(content) == [], path


def test_a_module_that_fails_tells_nothing(world: Path) -> None:
    source = 'import os\nraise RuntimeError("refused: " + os.environ["TOKEN"])\n'
    (world / "telling.py").write_text(source)
    done = run(world, "--debug", "benchmark", "run", "bench.yaml")
    assert done.returncode == 2
    assert done.stderr.count("refused: ${TOKEN}") > 1  # in the traceback, too
    assert leaks(done.stdout + done.stderr) == []


def test_a_fault_of_ours_tells_nothing(world: Path) -> None:
    script = (
        "import rankscope.benchmark.run as run, os\n"
        "from rankscope.cli import main\n"
        "def fail(*a, **b): raise RuntimeError('lost ' + os.environ['TOKEN'])\n"
        "run.make_workflow = fail\n"
        "main(['--debug', 'benchmark', 'run', 'bench.yaml'])\n"
    )
    (world / "telling.py").write_text("def answer(text): return []\n")
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=world,
        env={**os.environ, "TOKEN": SECRET},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 70
    assert "RuntimeError: lost ${TOKEN}" in done.stderr
    assert leaks(done.stdout + done.stderr) == []


def test_without_secrets_nothing_spoils_the_answer(world: Path) -> None:
    config = CONFIG.replace("${TOKEN}", "1")
    (world / "bench.yaml").write_text(config)
    for command, format in {("benchmark", "run"): "json", ("runs", "fetch"): "table"}.items():
        done = run(world, *command, "bench.yaml", "--format", format)
        assert done.returncode == 1, done.stderr
        if format == "json":
            json.loads(done.stdout)
        else:
            assert done.stdout.startswith("runs/mine.run.gz: 5 queries")
        for lead in ("printed", "by the system", "by a process", "by the first stream"):
            assert lead not in done.stdout
            assert lead in done.stderr


def test_a_process_that_stays_does_not_hold_the_command_up(world: Path) -> None:
    (world / "telling.py").write_text(
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(90)'])\n"
        "def answer(text): return ['d1']\n"
    )
    command = [sys.executable, "-m", "rankscope", "benchmark", "run", "bench.yaml"]
    with (world / "answer").open("w") as stdout, (world / "said").open("w") as stderr:
        done = subprocess.run(
            [*command, "--format", "json"],
            cwd=world,
            env={**os.environ, "TOKEN": SECRET},
            stdout=stdout,
            stderr=stderr,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0
    json.loads((world / "answer").read_text())
