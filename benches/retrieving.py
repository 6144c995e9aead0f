"""How long fetching takes, as a ratio to the engine called by hand in the same process.

``python benches/retrieving.py [--documents 100000] [--queries 1000] [--rounds 3]`` makes a corpus
of words with natural frequencies, runs every job in turn, again and again, and prints medians:

- bm25: tokenise, index and search through `fetch`, against bm25s' own functions
- vector: search alone, against one NumPy product and argpartition for each block
- second fetch of vectors: with what the first one kept, against the first
- the same with its embeddings alone, searching again (for information: the search itself stays)

The last line is the most memory a process with all documents, both systems and all queries needed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LIMITS = {
    "bm25": 1.3,
    "vector search": 1.3,
    "second fetch of vectors": 0.1,
    "embeddings kept, no answers": None,
}
DEPTH = 100
STOPS = "en"


def documents(count: int, words: int = 60) -> dict[str, str]:
    """Make texts whose words are as unevenly spread as those of a language."""
    random = np.random.default_rng(7)
    ranks = np.minimum(random.zipf(1.15, (count, words)), 200_000)
    return {f"d{n}": " ".join(f"w{rank}" for rank in row) for n, row in enumerate(ranks.tolist())}


def questions(count: int) -> dict[str, str]:
    random = np.random.default_rng(8)
    ranks = random.integers(5, 20_000, (count, 6))
    return {f"q{n}": " ".join(f"w{rank}" for rank in row) for n, row in enumerate(ranks.tolist())}


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = job()
    return time.perf_counter() - began, result


def bm25_by_hand(texts: dict[str, str], asked: dict[str, str]) -> Any:
    import bm25s  # type: ignore[import-untyped]
    import Stemmer  # type: ignore[import-not-found,import-untyped,unused-ignore]

    options: Any = {"stopwords": STOPS, "stemmer": Stemmer.Stemmer("english")}
    scorer = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    tokens = bm25s.tokenize(list(texts.values()), show_progress=False, **options)
    scorer.index(tokens, show_progress=False)
    tokens = bm25s.tokenize(list(asked.values()), show_progress=False, **options)
    return scorer.retrieve(tokens, k=DEPTH, show_progress=False, sorted=True)


def fetched(
    spec: Any,
    corpus: Any,
    asked: dict[str, str],
    cache: Path | None = None,
    store: Path | None = None,
) -> Any:
    from rankscope.retrieval.fetch import fetch
    from rankscope.retrieval.registry import build_system

    system = build_system(spec, cache=cache)
    system.index(corpus)
    return fetch(system, asked, depth=DEPTH, store=store)


def vectors_by_hand(matrix: Any, queries: Any) -> list[Any]:
    best = []
    for low in range(0, len(queries), 256):
        block = queries[low : low + 256] @ matrix.T
        best.append(np.argpartition(block, -DEPTH, axis=1)[:, -DEPTH:])
    return best


def vectors_here(matrix: Any, queries: Any) -> Any:
    from rankscope.retrieval.vector.similarity import Vectors

    return Vectors(matrix, np.arange(len(matrix))).best(queries, DEPTH)


def unit_vectors(count: int, seed: int) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(count, 256)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def report(name: str, ours: list[float], theirs: list[float]) -> bool:
    ratio = statistics.median(ours) / statistics.median(theirs)
    limit = LIMITS[name]
    fine = limit is None or ratio <= limit
    verdict = "" if limit is None else f"(at most {limit:g})  {'ok' if fine else 'TOO SLOW'}"
    print(
        f"{name:<28}{statistics.median(ours):>8.2f} s {statistics.median(theirs):>8.2f} s "
        f"{ratio:>7.2f}  {verdict}",
        flush=True,
    )
    return fine


def memory(count: int, asked: int) -> None:
    """Fetch with both systems, and print the most memory that took."""
    from rankscope import Corpus

    corpus = Corpus(documents(count))
    for spec in ("bm25", "vector"):
        fetched(spec, corpus, questions(asked))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory(options.documents, options.queries)
        return 0
    from rankscope import Corpus

    texts, asked = documents(options.documents), questions(options.queries)
    corpus = Corpus(texts)
    bm25_by_hand({str(n): "some words" for n in range(DEPTH)}, {"q": "words"})  # imports it
    print(f"{len(texts):,} documents, {len(asked):,} queries, medians of {options.rounds} rounds")
    print(f"{'':<28}{'here':>10} {'by hand':>10} {'ratio':>7}", flush=True)
    rounds: dict[str, list[list[float]]] = {name: [[], []] for name in LIMITS}
    matrix, queries = unit_vectors(len(texts), 1), unit_vectors(len(asked), 2)
    for _ in range(options.rounds):
        rounds["bm25"][1].append(timed(lambda: bm25_by_hand(texts, asked))[0])
        rounds["bm25"][0].append(timed(lambda: fetched("bm25", corpus, asked))[0])
        rounds["vector search"][1].append(timed(lambda: vectors_by_hand(matrix, queries))[0])
        rounds["vector search"][0].append(timed(lambda: vectors_here(matrix, queries))[0])
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder)
            first, run = timed(lambda: fetched("vector", corpus, asked, cache, cache))  # noqa: B023
            second, again = timed(lambda: fetched("vector", corpus, asked, cache))  # noqa: B023
            third, stored = timed(lambda: fetched("vector", corpus, asked, cache, cache))  # noqa: B023
        assert run.run == again.run == stored.run
        for name, seconds in zip(list(LIMITS)[2:], (third, second), strict=True):
            rounds[name][0].append(seconds)
            rounds[name][1].append(first)
    fine = [report(name, *both) for name, both in rounds.items()]
    arguments = ["--memory", f"--documents={options.documents}", f"--queries={options.queries}"]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], capture_output=True, text=True, check=True
    )
    print(f"most memory, both systems    {int(done.stdout):,} MB (at most 2,048)")
    return 0 if all(fine) and int(done.stdout) <= 2048 else 1


if __name__ == "__main__":
    sys.exit(main())
