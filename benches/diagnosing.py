"""How long a diagnosis takes, as a ratio to evaluations of the same runs.

``python benches/diagnosing.py [--queries 7000] [--documents 100000] [--each]`` makes five systems
that rank 100 documents for each query, judged in part, and prints how many evaluations all analyses
together are worth: with the queries, and with the corpus too; first as commands from files to their
answers, then in Python with everything in memory. ``--each`` adds a line an analysis.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankscope as rs
from rankscope.diagnosis.analysis import all_analyses

DEPTH = 100
SYSTEMS = 5
MEASURES = ["nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "Success@10"]
LIMIT = 10
"""A diagnosis may take as long as so many evaluations."""
KINDS = ("how to", "comparison", "fact", "troubleshooting", "other")


def world(queries: int, documents: int) -> dict[str, Any]:
    """Make runs that agree in part, judgments of what is on top, questions and texts."""
    random = np.random.default_rng(7)
    words = np.array([f"w{rank}" for rank in range(20_000)])
    candidates = np.stack(
        [random.choice(documents, 2 * DEPTH, replace=False) for _ in range(queries)]
    )
    worth = random.normal(size=candidates.shape)
    ids = np.array([f"d{number}" for number in range(documents)])
    query_ids = np.array([f"q{number}" for number in range(queries)])
    runs, pooled = {}, []
    for system in range(SYSTEMS):
        score = worth + random.normal(scale=0.5 + system / 4, size=worth.shape)
        order = np.argsort(-score, axis=1)[:, :DEPTH]
        doc = np.take_along_axis(candidates, order, axis=1)
        table = pl.DataFrame(
            {
                "query_id": np.repeat(query_ids, DEPTH),
                "doc_id": ids[doc.ravel()],
                "score": np.take_along_axis(score, order, axis=1).ravel(),
            }
        )
        runs[f"system{system}"] = rs.Run(table, name=f"system{system}")
        pooled.append(order[:, :5])
    judged = pl.DataFrame(
        {
            "query_id": np.repeat(query_ids, 5 * SYSTEMS),
            "doc_id": ids[np.take_along_axis(candidates, np.hstack(pooled), axis=1).ravel()],
            "grade": np.clip(
                np.take_along_axis(worth, np.hstack(pooled), axis=1).ravel(), 0, 3
            ).astype(np.int64),
        }
    ).unique(["query_id", "doc_id"], maintain_order=True)
    texts = words[np.minimum(random.zipf(1.15, (documents, 60)), len(words) - 1)]
    asked = words[random.integers(5, len(words), (queries, 6))]
    return {
        "qrels": rs.Qrels(judged),
        "runs": runs,
        "queries": rs.Queries(
            {
                str(query_id): {"text": " ".join(row), "kind": str(random.choice(KINDS))}
                for query_id, row in zip(query_ids, asked, strict=True)
            }
        ),
        "corpus": rs.Corpus(
            {doc_id: " ".join(row) for doc_id, row in zip(ids, texts, strict=True)}
        ),
    }


def timed(job: Callable[[], Any]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def as_commands(made: dict[str, Any]) -> None:
    """Time whole processes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        made["qrels"].write(folder / "qrels.txt")
        made["queries"].write(folder / "queries.jsonl")
        made["corpus"].write(folder / "corpus.jsonl")
        names = [f"{name}.run" for name in made["runs"]]
        for name, run in zip(names, made["runs"].values(), strict=True):
            run.write(folder / name)

        def command(*arguments: str) -> float:
            words = [sys.executable, "-m", "rankscope", *arguments, "-o", "out"]
            measures = [word for measure in MEASURES for word in ("-m", measure)]
            return timed(lambda: subprocess.run([*words, *measures], cwd=folder, check=True))

        evaluation = min(command("evaluate", "qrels.txt", *names) for _ in range(3))
        print(f"rankscope evaluate, from files: {evaluation:.2f} s")
        asked = ("diagnose", "qrels.txt", *names, "--baseline", "system0")
        with_queries = (*asked, "--queries", "queries.jsonl")
        line("diagnose --queries", command(*with_queries), evaluation)
        took = command(*with_queries, "--corpus", "corpus.jsonl")
        line("diagnose --queries --corpus", took, evaluation)


def in_memory(made: dict[str, Any], *, each: bool) -> None:
    """Time functions."""
    qrels, runs, queries, corpus = (made[key] for key in ("qrels", "runs", "queries", "corpus"))
    evaluation = min(timed(lambda: rs.evaluate(qrels, runs, MEASURES)) for _ in range(3))
    print(f"rs.evaluate, in memory: {evaluation:.2f} s")

    def diagnosis(name: str, **given: Any) -> None:
        times = [
            timed(lambda: rs.diagnose(qrels, runs, MEASURES, baseline="system0", **given))
            for _ in range(1 if each else 2)
        ]
        line(name, min(times), evaluation)

    diagnosis("rs.diagnose with queries", queries=queries)
    diagnosis("rs.diagnose with corpus too", queries=queries, corpus=corpus)
    for analysis in all_analyses() if each else ():
        diagnosis(analysis.name, queries=queries, corpus=corpus, only=analysis.name)


def line(name: str, took: float, evaluation: float) -> None:
    print(f"{name:<34}{took:6.2f} s {took / evaluation:6.1f} evaluations", flush=True)


def main() -> None:
    """Print a line for each job."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=7_000)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--each", action="store_true")
    options = parser.parse_args()
    made = world(options.queries, options.documents)
    print(
        f"{options.queries:,} queries × {DEPTH} documents × {SYSTEMS} systems, {len(MEASURES)} "
        f"measures, {options.documents:,} documents to search; goal: at most {LIMIT} evaluations"
    )
    as_commands(made)
    in_memory(made, each=options.each)


if __name__ == "__main__":
    main()
