"""The commands that write files: what each starts from, and what it must leave behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reliability.processes import ROOT

# The tests' own small benchmark; reliability.processes has said where tests are.
from benchmark.world import CONFIG, contents, write_world  # isort: skip

LEFTOVERS = (".rankscope-*.part", ".unfinished-*", ".fresh-*")
"""Names of what is temporary."""

WIDE = CONFIG.replace(
    "words: bm25",
    "words: bm25\n  mean: vector\n  learnt: {{rerank: {{of: words, ltr: {{}}, depth: 10}}}}",
)
"""A benchmark that has an entry of every kind in its cache."""

OLD = b"the former content\n"


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, run in ``work``; all it writes is below."""

    name: str
    line: str
    """Its words, with ``{inputs}`` for the folder that has what is read."""
    prepare: Callable[[Path, Path], None]
    """Fills ``inputs`` and ``work``."""
    refused: tuple[str, ...] = ()
    """Files that tell of an error, too, and have other content then."""


def _collection(inputs: Path, _: Path) -> None:
    write_world(inputs)


def _wide(inputs: Path, _: Path) -> None:
    write_world(inputs, config=WIDE)


def _runs(inputs: Path, work: Path) -> None:
    """Two runs, judgments, score files, and former files in the place of what is written."""
    inputs.mkdir(parents=True)
    small = ROOT / "tests" / "data" / "small"
    for source in small.iterdir():
        if source.is_file():
            shutil.copy(source, inputs)
    query_ids = [f"q{number:02}" for number in range(12)]
    qrels = {query_id: {"a": 2, "b": 1} for query_id in query_ids}
    better = {query_id: {"a": 3.0, "b": 2.0, "c": 1.0} for query_id in query_ids}
    worse = {
        query_id: {"b": 3.0, "a": 2.0 - place % 3, "c": 0.5}
        for place, query_id in enumerate(query_ids)
    }
    for name, data in (("qrels", qrels), ("better", better), ("worse", worse)):
        (inputs / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    for name in ("out.json", "out.html", "out.run", "out.csv.gz", "out.parquet", "out.jsonl.zst"):
        (work / name).write_bytes(OLD)


def _gate(inputs: Path, work: Path) -> None:
    """Two runs, and a report of an earlier commit."""
    _runs(inputs, work)
    (work / "junit.xml").write_bytes(OLD)


def _fresh(inputs: Path, work: Path) -> None:
    """A finished experiment, which is made again."""
    from rankscope.benchmark.run import run_benchmark

    _collection(inputs, work)
    run_benchmark(inputs / "config.yaml", output=work / "out")


BENCHMARK = "benchmark run {inputs}/config.yaml --output out"
QRELS, BETTER, WORSE = (f"{{inputs}}/{name}.json" for name in ("qrels", "better", "worse"))

COMMANDS = (
    Command("benchmark run", BENCHMARK, _collection),
    Command("benchmark run, all kinds of cache entries", BENCHMARK, _wide),
    Command("benchmark run --fresh", f"{BENCHMARK} --fresh", _fresh),
    Command("runs fetch", "runs fetch {inputs}/config.yaml --output out", _collection),
    Command("demo", "demo --output out", lambda *_: None),
    Command("evaluate", f"evaluate {QRELS} {BETTER} --per-query --format json -o out.json", _runs),
    Command("compare", f"compare {QRELS} {BETTER} {WORSE} --format html -o out.html", _runs),
    Command("runs fuse", f"runs fuse {BETTER} {WORSE} -o out.run", _runs),
    Command("convert to .csv.gz", f"convert --kind run {BETTER} out.csv.gz", _runs),
    Command("convert to .parquet", f"convert --kind run {BETTER} out.parquet", _runs),
    Command("convert to .jsonl.zst", f"convert --kind run {BETTER} out.jsonl.zst", _runs),
    Command(
        "runs validate",
        f"runs validate {BETTER} --qrels {QRELS} --depth 3 --format json -o out.json",
        _runs,
    ),
    Command(
        "gate with reports",
        f"gate {BETTER} {WORSE} --qrels {QRELS} "
        "--junit junit.xml --markdown comment.md --format json -o out.json",
        _gate,
        refused=("junit.xml", "comment.md"),
    ),
)


def state(work: Path) -> dict[str, Any]:
    """Return what is in a folder, by name: files, and experiments as a whole, without times.

    The cache is left out: nothing but speed may depend on it, as what is made from it shows.
    """
    found: dict[str, Any] = {}
    places = [work / "out", work] if (work / "out").is_dir() else [work]
    for place in places:
        for path in sorted(place.iterdir()):
            if path.name.startswith(".") or (place == work and path.is_dir()):
                continue
            found[path.relative_to(work).as_posix()] = _content(path)
    return found


def _content(path: Path) -> Any:
    if path.is_dir():
        return contents(path)
    if path.suffix == ".json":
        try:
            return json.loads(path.read_bytes())
        except ValueError:
            pass
    return path.read_bytes()


def leftovers(work: Path) -> list[str]:
    """Return what is temporary in a folder."""
    return sorted(
        path.relative_to(work).as_posix() for pattern in LEFTOVERS for path in work.rglob(pattern)
    )
