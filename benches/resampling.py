"""How long resampling takes, as a ratio to a loop over SciPy in the same session, and its memory.

``python benches/resampling.py [--queries 7000] [--systems 10]``

The job: intervals for each of 6 measures × 10 systems, and permutation tests of each system against
the first, 10,000 resamples. SciPy does one of them in a measured time, which is multiplied by how
many there are (a loop over all would take minutes). Peak memory is what our job allocates beyond
the data, by tracemalloc, in a process of its own. Single tests are timed as SciPy does them: one
pair, in a loop.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.tests import paired_tests

MEASURES, RESAMPLES = 6, 10_000
Floats = npt.NDArray[np.float64]


def made(queries: int, systems: int) -> Floats:
    """Make scores ``[measures, systems, queries]``."""
    random = np.random.default_rng(0)
    base = random.beta(0.6, 1.2, size=(MEASURES, 1, queries))
    return np.clip(base + random.normal(0, 0.2, size=(MEASURES, systems, queries)), 0, 1)


def our_intervals(scores: Floats) -> None:
    mean_intervals(scores.reshape(-1, scores.shape[2]), resamples=RESAMPLES, bounds=(0, 1))


def our_tests(scores: Floats) -> None:
    changes = scores[:, 1:] - scores[:, :1]
    paired_tests(changes.reshape(-1, scores.shape[2]), resamples=RESAMPLES)


JOBS: dict[str, Callable[[Floats], None]] = {
    "intervals": our_intervals,
    "tests": our_tests,
}


def seconds(job: Callable[[], object], rounds: int = 1) -> float:
    """Return the shortest of some times."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        job()
        times.append(time.perf_counter() - begun)
    return min(times)


def peak(job: str, options: argparse.Namespace) -> int:
    """Return the highest memory, in MB, of a process that does one job."""
    sizes = ["--queries", str(options.queries), "--systems", str(options.systems)]
    done = subprocess.run(
        [sys.executable, __file__, "--job", job, *sizes], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def table(head: list[str], rows: list[list[str]]) -> str:
    rule = "|" + "---|" + "---:|" * (len(head) - 1)
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]])


def many(scores: Floats, options: argparse.Namespace) -> str:
    stats: Any = import_module("scipy.stats")
    row = scores[0, 1]
    change = scores[0, 1] - scores[0, 0]
    batch = max(1, 20_000_000 // options.queries)  # SciPy's own memory, bounded too
    scipys = {
        "intervals": seconds(
            lambda: stats.bootstrap(
                (row,), np.mean, n_resamples=RESAMPLES, method="BCa", batch=batch, vectorized=True
            )
        ),
        "tests": seconds(
            lambda: stats.permutation_test(
                (change,),
                np.mean,
                permutation_type="samples",
                n_resamples=RESAMPLES,
                batch=batch,
                vectorized=True,
            )
        ),
    }
    counts = {"intervals": MEASURES * options.systems, "tests": MEASURES * (options.systems - 1)}
    titles = {"intervals": "BCa intervals", "tests": "permutation tests"}
    rows = []
    for job, title in titles.items():
        ours = seconds(lambda job=job: JOBS[job](scores), rounds=2)  # type: ignore[misc]
        theirs = scipys[job] * counts[job]
        rows.append(
            [
                f"{counts[job]} {title}",
                f"{ours:.1f} s",
                f"{scipys[job]:.1f} s × {counts[job]} = {theirs:.0f} s",
                f"{theirs / ours:.0f} ×",
                f"{peak(job, options)} MB",
            ]
        )
    head = ["10,000 resamples", "rankscope", "loop over SciPy", "ratio", "peak memory"]
    return table(head, rows)


def single(queries: int) -> str:
    stats: Any = import_module("scipy.stats")
    change = np.round(np.random.default_rng(1).normal(0.02, 0.2, size=queries), 3)
    zeros = np.zeros(queries)
    random = np.random.default_rng(0)
    cases: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "t": (lambda: paired_tests(change, test="t"), lambda: stats.ttest_rel(change, zeros)),
        "permutation": (
            lambda: paired_tests(change, test="permutation"),
            lambda: stats.permutation_test(
                (change,),
                np.mean,
                permutation_type="samples",
                n_resamples=RESAMPLES,
                vectorized=True,
                rng=random,
            ),
        ),
        "BCa interval": (
            lambda: mean_intervals(change),
            lambda: stats.bootstrap(
                (change,), np.mean, n_resamples=RESAMPLES, vectorized=True, rng=random
            ),
        ),
    }
    rows = []
    for name, (ours, theirs) in cases.items():
        mine, other = seconds(ours, 7), seconds(theirs, 7)
        cells = [f"{mine * 1e3:.2f} ms", f"{other * 1e3:.2f} ms", f"{mine / other:.2f}"]
        rows.append([f"{name}, {queries} queries", *cells])
    return table(["one pair", "rankscope", "SciPy", "rankscope / SciPy"], rows)


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--queries", type=int, default=7_000)
    reader.add_argument("--systems", type=int, default=10)
    reader.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = reader.parse_args()
    scores = made(options.queries, options.systems)
    if options.job:
        import_module("scipy.special")  # what is imported does not count
        tracemalloc.start()
        JOBS[options.job](scores)
        print(tracemalloc.get_traced_memory()[1] // 2**20)
        return
    shape = f"{MEASURES} measures × {options.systems} systems × {options.queries:,} queries"
    print("\n\n".join([f"{shape}:", many(scores, options), single(200)]))


if __name__ == "__main__":
    main()
