"""A small benchmark to run, disturb and look at: 24 documents, 12 queries, three systems.

``engine.py`` beside the config is one of the systems. It writes down every query it is asked, and
does what the file ``trouble`` beside it says: ``kill 5`` ends the process at the fifth question of
its life, ``wait 60`` takes so many seconds for each, ``raise q03`` fails for that query, ``empty
q03`` finds nothing for it.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from rankscope.benchmark.run import run_benchmark
from rankscope.cli import main
from rankscope.diagnosis.analysis import all_analyses

WORDS = [
    *("apple", "bread", "cheese", "dill", "egg", "fennel", "garlic", "honey", "ice"),
    *("jam", "kale", "leek", "mint", "nut", "oil", "pea", "quince", "rice"),
]

ENGINE = """
import json
import os
import signal
import time
from pathlib import Path

from rankscope.retrieval.protocol import Query

HOME = Path(__file__).parent
DOCUMENTS = [json.loads(line) for line in (HOME / "corpus.jsonl").read_text().splitlines()]
ASKED = 0


def answer(query: Query, depth: int) -> dict[str, float]:
    global ASKED
    ASKED += 1
    with (HOME / "calls").open("a") as sink:
        sink.write(query.query_id + "\\n")
    trouble = HOME / "trouble"
    todo = trouble.read_text().split() if trouble.exists() else []
    if todo[:1] == ["kill"] and ASKED == int(todo[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    if todo[:1] == ["wait"]:
        (HOME / "waiting").touch()
        time.sleep(float(todo[1]))
    if todo[:1] == ["raise"] and query.query_id in todo[1:]:
        raise RuntimeError("the engine\\nhas no \\x1b[31moil")
    if todo[:1] == ["empty"] and query.query_id in todo[1:]:
        return {}
    words = set(query.text.split())
    found = {}
    for place, one in enumerate(DOCUMENTS):
        shared = len(words & set((one["title"] + " " + one["text"]).split()))
        if shared:
            found[one["_id"]] = shared + place / 1000
    best = sorted(found, key=found.__getitem__, reverse=True)[:depth]
    return {doc_id: found[doc_id] for doc_id in best}
"""

ANALYSES = [analysis.name for analysis in all_analyses() if analysis.name != "pareto"]
"""All but the one that looks at times, so that two experiments are the same."""

CONFIG = """\
name: small
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  words: bm25
  code: {{python: {{function: "{module}:answer", batch: 3}}}}
  both: {{fuse: {{of: [words, code]}}}}
depth: 10
baseline: words
measures: [nDCG@5, RR@10, R@10]
targets: {{nDCG@5: 0.4}}
segments: [group]
languages: {{field: group}}
diagnosis: [{analyses}]
statistics: {{resamples: 200, seed: 3}}
fetch: {{retries: 1}}
"""

QUERIES = [f"q{number:02}" for number in range(1, 13)]
STEPS = [
    *(f"fetch {name}" for name in ("words", "code", "both")),
    *(f"check {name}" for name in ("words", "code", "both")),
    *("score", "compare"),
    *ANALYSES,
]

_NUMBERS = count(1)


@dataclass(frozen=True)
class World:
    """A folder with a config and all it needs."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "config.yaml"

    @property
    def calls(self) -> list[str]:
        """The queries that the engine was asked since they were last taken."""
        path = self.folder / "calls"
        asked = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return asked

    def trouble(self, *words: object) -> None:
        """Say what goes wrong from now on; nothing, if nothing is said."""
        path = self.folder / "trouble"
        if words:
            path.write_text(" ".join(map(str, words)))
        else:
            path.unlink(missing_ok=True)


def documents() -> list[dict[str, str]]:
    found = []
    for number in range(24):
        chosen = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 5, 7)]
        title, *rest = [chosen[0] + " pie", *chosen]
        found.append({"_id": f"d{number:02}", "title": title, "text": " ".join(rest)})
    return found


def queries() -> list[dict[str, str]]:
    return [
        {
            "_id": one,
            "text": f"{WORDS[at]} {WORDS[(at * 5 + 5) % len(WORDS)]}",
            "group": "odd" if at % 2 else "even",
        }
        for at, one in enumerate(QUERIES)
    ]


def judgments() -> list[tuple[str, str, float]]:
    rows: list[tuple[str, str, float]] = []
    for at, one in enumerate(QUERIES):
        rows += [(one, f"d{at:02}", 2), (one, f"d{(at + 6) % 24:02}", 1), (one, f"d{23 - at}", 0)]
    return rows


def write_world(
    folder: Path,
    *,
    config: str = CONFIG,
    corpus: Sequence[Mapping[str, Any]] | None = None,
    asked: Sequence[Mapping[str, Any]] | None = None,
    qrels: Sequence[tuple[str, str, float]] | None = None,
) -> World:
    """Write the files of a benchmark; what is not given is the small one's."""
    folder.mkdir(parents=True, exist_ok=True)
    module = f"engine_{os.getpid()}_{next(_NUMBERS)}"
    _lines(folder / "corpus.jsonl", documents() if corpus is None else corpus)
    settle(folder / "corpus.jsonl")
    _lines(folder / "queries.jsonl", queries() if asked is None else asked)
    write_qrels(folder / "qrels.tsv", judgments() if qrels is None else qrels)
    (folder / f"{module}.py").write_text(ENGINE)
    (folder / "config.yaml").write_text(
        config.format(module=module, analyses=", ".join(ANALYSES)), encoding="utf-8"
    )
    return World(folder)


def settle(path: Path) -> None:
    """Let a file be one that was not changed just now."""
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))


def write_qrels(path: Path, rows: Sequence[tuple[str, str, float]]) -> None:
    text = "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in rows)
    path.write_text("query-id\tcorpus-id\tscore\n" + text, encoding="utf-8")


def _lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def command(*arguments: object) -> list[str]:
    """Return the command line as a process of its own; Ctrl-C works in the background, too."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from rankscope.cli import main; main(sys.argv[1:])"
    )
    return [sys.executable, "-c", code, *map(str, arguments)]


# ----------------------------------------------------------------------------- comparing folders


def contents(folder: Path) -> dict[str, Any]:
    """Return all files of an experiment, by name, without times."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".md", ".html"):
            found[name] = _undated(path.read_text(encoding="utf-8"))
        elif path.is_file() and name not in ("Timings.json", "LanguageReport.json"):
            found[name] = path.read_bytes()
    return found


def _undated(text: str) -> str:
    text = re.sub(r'(data-label="p50, ms"><span class="value">)[^<]*', r"\1#", text)
    text = re.sub(r"(&lt;|<)?\d[\d.,]* ms", "# ms", text)
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:[\d.]+)?( UTC|Z|\+00:00)", "#", text)


def only_experiment(output: Path) -> Path:
    """Return the one experiment of a folder, in which there is nothing else but the cache."""
    found = sorted(path.name for path in output.iterdir() if path.name != ".cache")
    assert len(found) == 1, found
    return output / found[0]


def made(world: World, output: Path, **options: Any) -> Path:
    """Run a benchmark in this process, and return the folder of its experiment."""
    return run_benchmark(world.config, output=output, **options).folder


def cli(*arguments: object) -> tuple[int, str, str]:
    """Run the command line in this process: exit code, standard output and error."""
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in written)
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(one) for one in arguments])
        except SystemExit as stop:
            code = stop.code
    assert isinstance(code, int)
    return code, written[0].getvalue().decode(), written[1].getvalue().decode()
