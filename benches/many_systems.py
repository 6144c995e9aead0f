"""How long a comparison of many systems takes, and how much memory.

``python benches/many_systems.py [--systems 10 100 1000] [--queries 250]``

The job: runs as lists of documents, nDCG@10, all pairs of systems; BCa intervals
of the means, letters, and verdicts included. Means are between about 0.3 and 0.43, queries are hard
or easy for all systems, every twenty systems resemble each other, and every fiftieth is a copy of
the one before. Each row is a process of its own; its memory is the highest it ever had, with
Python, libraries and runs (`resource.getrusage`). Scoring the runs is in a row of its own, and in
none of the others.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rankscope.document.csv_text import as_csv
from rankscope.document.views import document_of
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.scored_runs import Scores
from rankscope.statistics.comparison import Comparison, compare_scores
from rankscope.statistics.settings import Settings

GRADES = {"a": 3, "b": 2, "c": 2, "d": 1, "e": 1}
RANKINGS = 400
"""How many different rankings there are for systems to give."""

TESTS: dict[str, dict[str, Any]] = {
    "permutation, not corrected": {"test": "permutation", "correction": "none"},
    "permutation, Benjamini-Hochberg": {"test": "permutation", "correction": "bh"},
    "permutation, Holm": {"test": "permutation", "correction": "holm"},
    "bootstrap, not corrected": {"test": "bootstrap", "correction": "none"},
    "t, Holm": {"test": "t"},
    "t, Holm, equivalence": {"test": "t", "margin": 0.02},
    "permutation, Holm, against a baseline": {"test": "permutation", "baseline": "s0005"},
}
FORMS: dict[str, Callable[[Comparison], int]] = {
    "page of a notebook": lambda comparison: len(comparison._repr_html_()),
    "JSON, all pairs": lambda comparison: sum(map(len, comparison.json_pieces())),
    "csv, all pairs": lambda comparison: len(as_csv(document_of(comparison))),
}
SCORING = "scoring alone"


def made(systems: int, queries: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make qrels and runs; systems share the lists of documents that they have in common."""
    random = np.random.default_rng(7)
    documents = np.array([*GRADES, *(f"x{number}" for number in range(15))])
    gains = np.array([2.0 ** GRADES.get(document, 0) - 1 for document in documents])
    discounts = 1 / np.log2(np.arange(2, 12))
    orders = np.array([random.permutation(len(documents))[:10] for _ in range(RANKINGS)])
    by_worth = orders[np.argsort((gains[orders] * discounts).sum(axis=1), kind="stable")]
    rankings = [documents[order].tolist() for order in by_worth]
    level = np.linspace(-0.5, 0.7, systems)[:, np.newaxis]
    alike = random.normal(0, 0.5, (systems // 20 + 1, queries))[np.arange(systems) // 20]
    logits = level + random.normal(0, 0.9, queries) + alike
    logits = logits + random.normal(0, 0.4, (systems, queries))
    places = (RANKINGS / (1 + np.exp(-logits))).astype(np.int64)
    places[1::50] = places[::50][: len(places[1::50])]
    names = [f"q{query:03}" for query in range(queries)]
    runs = {
        f"s{system:04}": {name: rankings[place] for name, place in zip(names, row, strict=True)}
        for system, row in enumerate(places.tolist())
    }
    return dict.fromkeys(names, GRADES), runs


def scored(systems: int, queries: int) -> Scores:
    qrels, runs = made(systems, queries)
    return evaluate(qrels, runs, ["nDCG@10"])


def compared(scores: Scores, options: dict[str, Any]) -> Comparison:
    chosen = {name: value for name, value in options.items() if name != "baseline"}
    settings = Settings.of(**chosen)
    return compare_scores(scores, baseline=options.get("baseline"), settings=settings)


def measured(job: str, systems: int, queries: int) -> dict[str, float]:
    """Do one job in this process."""
    begun, used = time.perf_counter(), time.process_time()
    scores = scored(systems, queries)
    if job != SCORING:
        comparison = None if job in TESTS else compared(scores, TESTS["t, Holm"])
        begun, used = time.perf_counter(), time.process_time()
        if comparison is None:
            compared(scores, TESTS[job])
        else:
            FORMS[job](comparison)
    return {
        "seconds": time.perf_counter() - begun,
        "cpu": time.process_time() - used,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def row(job: str, options: argparse.Namespace) -> list[str]:
    """Measure a job for each number of systems, each in a process of its own."""
    entries = []
    for systems in options.systems:
        done = subprocess.run(
            [sys.executable, __file__, "--job", job, "--systems", str(systems),
             "--queries", str(options.queries)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        answer = json.loads(done.stdout)
        entries.append(
            f"{answer['seconds']:.1f} s ({answer['cpu']:.1f} s), {answer['memory']:.0f} MB"
        )
    return [job, *entries]


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--systems", type=int, nargs="+", default=[10, 100, 1_000])
    reader.add_argument("--queries", type=int, default=250)
    reader.add_argument("--job", help=argparse.SUPPRESS)
    options = reader.parse_args()
    if options.job:
        print(json.dumps(measured(options.job, options.systems[0], options.queries)))
        return
    head = [f"{options.queries} queries", *(f"{count:,} systems" for count in options.systems)]
    rule = "|---|" + "---:|" * len(options.systems)
    rows = [row(job, options) for job in (SCORING, *TESTS, *FORMS)]
    lines = ["| " + " | ".join(entries) + " |" for entries in (head, *rows)]
    print("\n".join([lines[0], rule, *lines[1:]]))


if __name__ == "__main__":
    main()
