"""Running commands in this process, in a folder made for them, and keeping what they print."""

from __future__ import annotations

import csv
import difflib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from itertools import chain
from pathlib import Path
from unittest import mock

from rankscope.cli import main
from rankscope.diagnosis.analysis import all_analyses

TEXTS = Path(__file__).parent / "texts"

JUDGED = "demo/qrels.tsv demo/lexical.run demo/hybrid.run"
BOTH = f"{JUDGED} --queries demo/queries.jsonl --corpus demo/corpus.jsonl --baseline lexical"
GIVEN = (
    f"{BOTH} --stages lexical,hybrid --decisions decisions.csv --ratings ratings.csv "
    "--training training.jsonl --costs costs.csv -m nDCG@10"
)

COMMANDS = {
    "help": "--help",
    "help-evaluate": "evaluate --help",
    "evaluate": f"evaluate {JUDGED} --queries demo/queries.jsonl --worst 3",
    "compare": f"compare {JUDGED} --baseline lexical",
    "gate": "gate demo/lexical.run demo/hybrid.run --qrels demo/qrels.tsv -m nDCG@10",
    "explain": "explain demo/qrels.tsv demo/lexical.run --query q001 -m nDCG@10",
    "explain-theirs": "explain demo/qrels.tsv demo/lexical.run -m nDCG@10 --theirs 0.7002",
    "power": f"power {JUDGED} --difference 0.03 -m nDCG@10",
    "measures": "measures",
    "measures-one": "measures nDCG",
    "trec-eval": "trec-eval qrels.trec demo/lexical.run",
    "runs-validate": "runs validate demo/lexical.run --qrels demo/qrels.tsv",
    "runs-fuse": "runs fuse demo/lexical.run demo/hybrid.run -o fused.run",
    "runs-fetch": "runs fetch demo/bench.yaml --system title -o fetched",
    "cases-validate": "cases validate project/golden.json --corpus project/corpus.jsonl",
    "convert": "convert demo/lexical.run lexical.jsonl",
    "judge": "judge pool.jsonl --export judged.qrels",
    "judge-model": "judge demo/qrels.tsv --queries demo/queries.jsonl --corpus demo/corpus.jsonl "
    "--model m --set url=http://localhost:1/v1 --dry-run",
    "init": "init another",
    "demo": "demo --copy copied",
    "benchmark-run": "benchmark run demo/bench.yaml",
    "benchmark-verify": "benchmark verify benchmarks/r*",
    "benchmark-list": "benchmark list benchmarks",
    "benchmark-compare": "benchmark compare benchmarks/r* benchmarks/r*",
    "report": "report benchmarks/r* -o page.html",
    "diagnose": f"diagnose {JUDGED} -m nDCG@10",
}
"""By document: what is typed, in this order, in one folder."""

PREPARED = (
    "demo --copy demo",
    "convert demo/qrels.tsv qrels.trec",
    "init project",
    f"diagnose {JUDGED} --pool pool.jsonl",
)


def prepare() -> None:
    """Fill the current folder with what the commands read."""
    for typed in PREPARED:
        printed(typed)
    config = Path("demo/bench.yaml")  # without what XGBoost learns: its trees differ by version
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(line for line in lines if "reranked" not in line))
    lines = Path("demo/queries.jsonl").read_text().splitlines()
    queries = [json.loads(line)["_id"] for line in lines]
    _write("decisions.csv", "query_id route best retrieved needed k", [
        [query, "ab"[at % 2], "ab"[at % 3 == 0], at % 5 > 0, at % 4 > 0, at % 3 + 3]
        for at, query in enumerate(queries)
    ])  # fmt: skip
    rows = list(csv.reader(Path("demo/qrels.tsv").read_text().splitlines()[1:], delimiter="\t"))
    _write("ratings.csv", "query_id doc_id ann ben", [
        [query, doc, grade, max(0, int(grade) - (at % 3 == 0))]
        for at, (query, doc, grade) in enumerate(rows)
    ])  # fmt: skip
    _write("costs.csv", "system ms euros", [["lexical", 2, 0.1], ["hybrid", 30, 0.5]])
    Path("training.jsonl").write_text("\n".join(lines[::20]) + "\n")


def printed(typed: str) -> str:
    """Run a command and return its exit code and what it printed, without what a clock decided."""
    words = [sorted(map(str, Path().glob(w))) if "*" in w else [w] for w in typed.split()]
    output = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    errors = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {"COLUMNS": "100"}))
        for name in ("FORCE_COLOR", "RANKSCOPE_DEBUG"):
            os.environ.pop(name, None)
        stack.enter_context(mock.patch.object(sys, "argv", ["rankscope"]))
        stack.enter_context(redirect_stdout(output))
        stack.enter_context(redirect_stderr(errors))
        try:
            main(list(chain.from_iterable(words)))
        except SystemExit as stop:
            code = stop.code
    return f"$ rankscope {typed}\n" + _timeless(
        f"{_text(output)}{_text(errors)}[exit {code}]\n",
    )


def documents() -> Iterator[tuple[str, str]]:
    """Yield each document's name and text, made now in the current folder."""
    prepare()
    for name, typed in COMMANDS.items():
        yield name, printed(typed)
    for analysis in all_analyses():
        yield f"analysis-{analysis.name}", printed(f"diagnose {GIVEN} --only {analysis.name}")


def differences() -> Iterator[str]:
    """Yield what differs from the documents that were written, as lines of a diff."""
    for name, text in documents():
        path = TEXTS / f"{name}.txt"
        old = path.read_text().splitlines() if path.exists() else []
        yield from difflib.unified_diff(old, text.splitlines(), name, "now", lineterm="", n=1)


def _write(path: str, header: str, rows: list[list[object]]) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([header.split(), *rows])


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def _timeless(text: str) -> str:
    """Replace what depends on the clock, the machine or the folder."""
    text = text.replace(f"{Path.cwd()}/", "")
    text = re.sub(r" *[<\d][\d.,]* ?(ms|s|seconds|KB|MB)\b", r" N \1", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?\S*", "TIME", text)
    return re.sub(r"\b[0-9a-f]{12,64}\b", "HASH", text)
