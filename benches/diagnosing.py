"""How long a diagnosis takes, as a ratio to evaluations of the same runs in the same process.

``python benches/diagnosing.py [--queries 7000] [--documents 100000] [--each]`` makes five systems
that rank 100 documents for each query, judged in part, and prints how many evaluations all analyses
together are worth: with the queries, and with the corpus too. ``--each`` adds a line an analysis.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import rankscope as rs
from rankscope.diagnosis.registry import all_analyses

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
        "queries": {
            str(query_id): {"text": " ".join(row), "kind": str(random.choice(KINDS))}
            for query_id, row in zip(query_ids, asked, strict=True)
        },
        "corpus": rs.Corpus(
            {doc_id: " ".join(row) for doc_id, row in zip(ids, texts, strict=True)}
        ),
    }


def timed(job: Callable[[], Any]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def main() -> None:
    """Print a line for each job."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=7_000)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--each", action="store_true")
    options = parser.parse_args()
    made = world(options.queries, options.documents)
    qrels, runs, queries = made["qrels"], made["runs"], rs.Queries(made["queries"])
    evaluation = min(timed(lambda: rs.evaluate(qrels, runs, MEASURES)) for _ in range(3))
    print(f"{options.queries:,} queries × {DEPTH} documents × {SYSTEMS} systems")
    print(f"one evaluation, {len(MEASURES)} measures: {evaluation:.2f} s")

    def line(name: str, **given: Any) -> None:
        took = timed(lambda: rs.diagnose(qrels, runs, MEASURES, baseline="system0", **given))
        print(f"{name:<34}{took:6.2f} s {took / evaluation:6.1f} evaluations", flush=True)

    line("all analyses, with queries", queries=queries)
    line("all analyses, with corpus too", queries=queries, corpus=made["corpus"])
    print(f"goal: at most {LIMIT} evaluations")
    for analysis in all_analyses() if options.each else ():
        line(analysis.name, queries=queries, corpus=made["corpus"], only=analysis.name)


if __name__ == "__main__":
    main()
