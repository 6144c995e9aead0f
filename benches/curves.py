"""How time and memory of searching grow with the collection: 10,000, 100,000 and 1,000,000 texts.

``python benches/curves.py [--large] [--queries 1000]``: every row is a process of its own that
reads a JSONL corpus, makes an index and answers the queries, as a benchmark does. ``--large`` adds
the million, which takes minutes.

- bm25 by hand: bm25s' own functions on a list of texts
- bm25: the system, with its index kept in a cache; bm25, kept: the same, once more
- vector: wordllama's vectors, kept in a cache; vector, kept: the same, once more

Seconds are of the processor, all cores together, which a busy machine disturbs least. Memory is
the most that was resident at any time, beyond what the imports take: it includes the corpus. The
last column is the slope of the logarithms from the size before to this one: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (10_000, 100_000, 1_000_000)
DEPTH = 100
_TOGETHER = 20_000
JOBS = ("bm25 by hand", "bm25", "bm25, kept", "vector", "vector, kept")


def write_corpus(path: Path, count: int, words: int = 60) -> None:
    """Write texts whose words are as unevenly spread as those of a language."""
    random = np.random.default_rng(7)
    with path.open("w") as sink:
        for low in range(0, count, _TOGETHER):
            size = (min(_TOGETHER, count - low), words)
            ranks = np.minimum(random.zipf(1.15, size), 200_000).tolist()
            for at, row in enumerate(ranks, start=low):
                text = " ".join(f"w{rank}" for rank in row)
                sink.write(f'{{"_id": "d{at}", "text": "{text}"}}\n')


def write_queries(path: Path, count: int) -> None:
    rows = np.random.default_rng(8).integers(5, 20_000, (count, 6)).tolist()
    lines = (
        f'{{"_id": "q{n}", "text": "{" ".join(f"w{rank}" for rank in row)}"}}\n'
        for n, row in enumerate(rows)
    )
    path.write_text("".join(lines))


# --- one process ---------------------------------------------------------------------------------


class Meter:
    """Measures the steps of a job."""

    def __init__(self) -> None:
        self.result: dict[str, float] = {}
        self._before = self._resident("VmRSS")

    @staticmethod
    def _resident(which: str) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(which)) / 1024

    def step(self, name: str, work: Callable[[], Any]) -> None:
        """Do one step, and note what it takes."""
        began = time.process_time()
        work()
        self.result[name] = time.process_time() - began
        self.result["memory"] = self._resident("VmHWM") - self._before


def by_hand(corpus: Path, queries: Path) -> dict[str, float]:
    import bm25s  # type: ignore[import-untyped]
    import Stemmer  # type: ignore[import-not-found,import-untyped,unused-ignore]

    meter = Meter()
    options: Any = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english")}
    scorer = bm25s.BM25(method="lucene", k1=1.5, b=0.75)

    def texts(path: Path) -> list[str]:
        with path.open() as lines:
            return [json.loads(line)["text"] for line in lines]

    def index() -> None:
        tokens = bm25s.tokenize(texts(corpus), show_progress=False, **options)
        scorer.index(tokens, show_progress=False)

    def search() -> None:
        tokens = bm25s.tokenize(texts(queries), show_progress=False, **options)
        scorer.retrieve(tokens, k=DEPTH, show_progress=False, sorted=True)

    meter.step("index", index)
    meter.step("search", search)
    return meter.result


def by_system(kind: str, corpus: Path, queries: Path, cache: Path) -> dict[str, float]:
    from rankscope.collection.corpus import Corpus, read_corpus
    from rankscope.collection.queries import read_queries
    from rankscope.retrieval.fetch import fetch
    from rankscope.retrieval.registry import build_system

    first = build_system(kind)
    first.index(Corpus({"d1": "leek soup"}))
    fetch(first, {"q1": "soup"})  # imports and models are not measured
    meter, system = Meter(), build_system(kind, cache=cache)

    def index() -> None:
        system.index(read_corpus(corpus))
        system.prepare()

    meter.step("index", index)
    meter.step("search", lambda: fetch(system, read_queries(queries), depth=DEPTH))
    return meter.result


# --- all of them ---------------------------------------------------------------------------------


def measured(job: str, count: int, folder: Path, queries: Path) -> dict[str, float]:
    arguments = ["--job", job, "--folder", str(folder / str(count)), "--asked", str(queries)]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def slope(now: float, before: float, sizes: tuple[int, int]) -> float:
    return math.log(max(now, 1e-9) / max(before, 1e-9)) / math.log(sizes[0] / sizes[1])


def table(sizes: tuple[int, ...], queries: int, folder: Path) -> None:
    asked = folder / "queries.jsonl"
    write_queries(asked, queries)
    for count in sizes:
        (folder / str(count)).mkdir()
        write_corpus(folder / str(count) / "corpus.jsonl", count)
    print(
        f"{queries:,} queries, depth {DEPTH}; texts of 60 words; slope of index / search / memory"
    )
    print(f"{'':<14}{'documents':>10} {'index':>9} {'a query':>9} {'memory':>9}  slope")
    for job in JOBS:
        before: tuple[int, dict[str, float]] | None = None
        for count in sizes:
            result = measured(job, count, folder, asked)
            line = (
                f"{job:<14}{count:>10,} {result['index']:>7.1f} s "
                f"{1000 * result['search'] / queries:>6.1f} ms {result['memory']:>6,.0f} MB"
            )
            if before is not None:
                names = ("index", "search", "memory")
                values = [
                    slope(result[name], before[1][name], (count, before[0])) for name in names
                ]
                line += "  " + " / ".join(f"{value:.2f}" for value in values)
            print(line, flush=True)
            before = count, result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="a million documents, too")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--asked", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        corpus, cache = options.folder / "corpus.jsonl", options.folder / "cache"
        kind = options.job.partition(",")[0]
        if kind == "bm25 by hand":
            print(json.dumps(by_hand(corpus, options.asked)))
        else:
            print(json.dumps(by_system(kind, corpus, options.asked, cache)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        table(SIZES if options.large else SIZES[:-1], options.queries, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
