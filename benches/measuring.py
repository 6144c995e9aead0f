"""How long measuring takes, as a ratio to pytrec_eval (and trec_eval, if it is on the PATH).

``python benches/measuring.py [--small] [--rounds 5] [--only NAME]`` runs ours and the peer in turn,
again and again, and prints medians and the median of the ratios. Jobs on files run in processes of
their own, imports included; times are of the wall, and `cpu` counts all cores.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from files import Files, make

SIX = ["nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "Success@10"]
SIX_TREC = ["ndcg_cut.10", "map_cut.100", "recip_rank", "recall.50,100", "success.10"]
SIXTY = [f"{name}@{k}" for name in ("nDCG", "AP", "RR", "R", "P", "Success")
         for k in (1, 3, 5, 10, 20, 30, 50, 100, 500, 1000)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    job: str
    ours: str
    peer: str
    ratio: str
    target: str


# --- whole processes -----------------------------------------------------------------------------

OURS = "import sys, rankscope as rs; print(rs.evaluate(sys.argv[1], sys.argv[2]).means)"
OURS_SEVERAL = "import sys, rankscope as rs; rs.evaluate(sys.argv[1], sys.argv[2:])"
PEER = f"""
import sys, pytrec_eval
with open(sys.argv[1]) as qrels:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {set(SIX_TREC)!r})
for path in sys.argv[2:]:
    with open(path) as run:
        found = list(evaluator.evaluate(pytrec_eval.parse_run(run)).values())
    print({{name: sum(values[name] for values in found) / len(found) for name in found[0]}})
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process took."""

    seconds: float
    cpu: float
    peak: float  # MB


def spent(command: list[str], **variables: str) -> Spent:
    """Run a command in a process of its own; its peak is that of this one child."""
    begin = time.perf_counter()
    # modules are compiled once, as pip does when it installs the peers
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **variables}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(child.pid, 0)
    took = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return Spent(took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


def middle(values: Iterator[float] | list[float]) -> float:
    return statistics.median(list(values))


def from_file(files: Files, rounds: int) -> Iterator[Line]:
    size = files.clean.stat().st_size / 2**20
    command = python(OURS, files.qrels, files.clean)
    peers = {"pytrec_eval": python(PEER, files.qrels, files.clean)}
    if (trec_eval := shutil.which("trec_eval")) is not None:
        asked = [part for name in SIX_TREC for part in ("-m", name)]
        peers["trec_eval"] = [trec_eval, *asked, str(files.qrels), str(files.clean)]
    ways = {"": "1", ", without the native scan": "0"}
    mine: dict[str, list[Spent]] = {way: [] for way in ways}
    theirs: dict[str, list[Spent]] = {name: [] for name in peers}
    for _ in range(rounds):
        for way, switch in ways.items():
            mine[way].append(spent(command, RANKSCOPE_NATIVE=switch))
        for name, other in peers.items():
            theirs[name].append(spent(other))
    goals = {"pytrec_eval": "≥ 15 ×", "trec_eval": "≥ 12 ×"}
    for name, taken in theirs.items():
        for way, switch in ways.items():
            pairs = list(zip(mine[way], taken, strict=True))
            for what in ("seconds", "cpu"):
                goal = goals[name] if switch == "1" else "≥ 4 ×"
                yield Line(
                    f"file, whole process, {what}, against {name}{way}",
                    f"{middle(getattr(ours, what) for ours in mine[way]):.2f} s",
                    f"{middle(getattr(peer, what) for peer in taken):.2f} s",
                    f"{middle(getattr(b, what) / getattr(a, what) for a, b in pairs):.1f} × faster",
                    goal if what == "seconds" else "",
                )
    peak, other_peak = (
        middle(each.peak for each in taken) for taken in (mine[""], theirs["pytrec_eval"])
    )
    yield Line(
        f"file of {size:.0f} MB, peak memory",
        f"{peak:.0f} MB",
        f"{other_peak:.0f} MB",
        f"{peak / size:.2f} × the file",
        "< 150 MB",
    )


def with_judgments(files: Files, rounds: int) -> Iterator[Line]:
    """Few judgments of a large file, and deep judgments of many runs; also on the command line."""
    runs = files.pool_runs
    jobs = {
        "7 judgments a query": ("≥ 15 ×", OURS, files.few, [files.clean]),
        f"{len(runs)} runs, half of it judged": ("≥ 6 ×", OURS_SEVERAL, files.pool / "qrels", runs),
    }
    for job, (goal, code, qrels, paths) in jobs.items():
        asked = [sys.executable, "-m", "rankscope", "evaluate", str(qrels), *map(str, paths)]
        ways = {
            "": python(code, qrels, *paths),
            ", as JSON by the command": [*asked, "--format", "json"],
        }
        mine: dict[str, list[Spent]] = {way: [] for way in ways}
        theirs = []
        for _ in range(rounds):
            for way, command in ways.items():
                mine[way].append(spent(command))
            theirs.append(spent(python(PEER, qrels, *paths)))
        for way, taken in mine.items():
            pairs = list(zip(taken, theirs, strict=True))
            yield Line(
                f"{job}, whole process{way}",
                f"{middle(a.seconds for a in taken):.2f} s",
                f"{middle(b.seconds for b in theirs):.2f} s",
                f"{middle(b.seconds / a.seconds for a, b in pairs):.1f} × faster",
                goal,
            )
            yield Line(
                f"{job}, peak memory{way}",
                f"{middle(a.peak for a in taken):.0f} MB",
                f"{middle(b.peak for b in theirs):.0f} MB",
                f"{middle(a.peak / b.peak for a, b in pairs):.2f} × as much",
                "< 100 MB" if len(paths) == 1 else "",
            )


def from_gzip(files: Files, rounds: int) -> Iterator[Line]:
    command = python(OURS, files.qrels, files.gzipped)
    pairs = [(spent(command), spent(["gzip", "-dc", str(files.gzipped)])) for _ in range(rounds)]
    yield Line(
        "compressed file, whole process, against gzip -dc",
        f"{middle(a.seconds for a, _ in pairs):.2f} s",
        f"{middle(b.seconds for _, b in pairs):.2f} s",
        f"{middle(a.seconds / b.seconds for a, b in pairs):.2f} × as long",
        "≤ 1.2 ×",
    )


def first_evaluation(_: Files, rounds: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels"), Path(folder, "run")
        qrels.write_text("".join(f"q{q} 0 d{d} 1\n" for q in range(20) for d in range(5)))
        run.write_text(
            "".join(f"q{q} Q0 d{d} 1 {100 - d} r\n" for q in range(20) for d in range(50))
        )
        pairs = [
            (spent(python(OURS, qrels, run)), spent(python("import polars")))
            for _ in range(4 * rounds)
        ]
    yield Line(
        "first evaluation of a small file, against import polars",
        f"{middle(a.seconds for a, _ in pairs) * 1000:.0f} ms",
        f"{middle(b.seconds for _, b in pairs) * 1000:.0f} ms",
        f"{middle(a.seconds / b.seconds for a, b in pairs):.2f} × as long",
        "≤ 1.3 ×",
    )


# --- in this process -----------------------------------------------------------------------------


def timed(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def from_dicts(files: Files, rounds: int) -> Iterator[Line]:
    import pytrec_eval

    import rankscope as rs

    with open(files.qrels) as qrels_file, open(files.clean) as run_file:
        qrels, run = pytrec_eval.parse_qrel(qrels_file), pytrec_eval.parse_run(run_file)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(SIX_TREC))
    gc.freeze()  # what is there already is not to be gone through again and again
    pairs = [
        (timed(lambda: rs.evaluate(qrels, run, SIX)), timed(lambda: evaluator.evaluate(run)))
        for _ in range(rounds)
    ]
    yield Line(
        f"dicts of {sum(map(len, run.values())):,} scores",
        f"{middle(a for a, _ in pairs):.2f} s",
        f"{middle(b for _, b in pairs):.2f} s",
        f"{middle(b / a for a, b in pairs):.1f} × faster",
        "≥ 8 ×",
    )


def training_loop(_: Files, rounds: int) -> Iterator[Line]:
    import numpy as np
    import pytrec_eval

    import rankscope as rs

    random = np.random.default_rng(3)
    run = {
        f"q{q}": {f"d{d}": float(score) for d, score in enumerate(random.random(100))}
        for q in range(50)
    }
    for judged in (2, 20, 100):
        qrels = {
            q: {f"d{d}": int(d % 3) for d in random.choice(150, judged, replace=False)} for q in run
        }
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(SIX_TREC))

        prepared = rs.Judgments(qrels)  # what a reused evaluator is to pytrec_eval

        def ours(qrels: Any = qrels) -> None:
            for _ in range(200):
                rs.evaluate(qrels, run, SIX)

        def ours_prepared(judgments: Any = prepared) -> None:
            for _ in range(200):
                rs.evaluate(judgments, run, SIX)

        def reused(evaluator: Any = evaluator) -> None:
            for _ in range(200):
                evaluator.evaluate(run)

        def rebuilt(qrels: Any = qrels) -> None:
            for _ in range(200):
                pytrec_eval.RelevanceEvaluator(qrels, set(SIX_TREC)).evaluate(run)

        ours()
        for name, mine, peer in (
            ("reused", ours_prepared, reused),
            ("rebuilt", ours, rebuilt),
        ):
            pairs = [(timed(mine), timed(peer)) for _ in range(rounds)]
            yield Line(
                f"200 calls of 50 × 100, {judged} judged, evaluator {name}",
                f"{middle(a for a, _ in pairs) * 5:.2f} ms a call",
                f"{middle(b for _, b in pairs) * 5:.2f} ms a call",
                f"{middle(b / a for a, b in pairs):.2f} × faster",
                "≥ 1.5 ×" if name == "reused" else "≥ 1 ×",
            )


def many_runs(_: Files, rounds: int) -> Iterator[Line]:
    import numpy as np
    import polars as pl

    import rankscope as rs

    random = np.random.default_rng(4)
    queries, depth, runs = 250, 1000, 100
    query = pl.Series(np.repeat(np.arange(queries), depth)).cast(pl.String)
    frames = [
        pl.DataFrame(
            {
                "query_id": query,
                "doc_id": pl.Series(random.permuted(
                    np.tile(np.arange(depth * 4), (queries, 1)), axis=1)[:, :depth].ravel()
                ).cast(pl.String),
                "score": np.tile(np.arange(depth, 0, -1.0), queries),
            }
        )
        for _ in range(4)
    ]  # fmt: skip
    tables = [rs.Run(frame) for frame in frames]
    qrels = {str(q): {str(d): int(d % 3) for d in random.choice(4000, 50, replace=False)}
             for q in range(queries)}  # fmt: skip
    every = {f"run{n}": tables[n % len(tables)] for n in range(runs)}
    some = {name: every[name] for name in list(every)[: runs // 4]}
    rs.evaluate(qrels, some, SIX)
    found = [
        (
            timed(lambda: rs.evaluate(qrels, some, SIX)),
            timed(lambda: rs.evaluate(qrels, every, SIX)),
            timed(lambda: rs.evaluate(qrels, every, SIXTY)),
        )
        for _ in range(rounds)
    ]
    yield Line(
        "100 runs of 250 × 1,000 against 25",
        f"{middle(b for _, b, _ in found):.2f} s",
        f"{middle(a for a, _, _ in found):.2f} s",
        f"{middle(b / a for a, b, _ in found):.1f} × as long",
        "≈ 4 ×",
    )
    yield Line(
        "100 runs, 60 measures against 6",
        f"{middle(c for _, _, c in found):.2f} s",
        f"{middle(b for _, b, _ in found):.2f} s",
        f"{middle(c / b for _, b, c in found):.2f} × as long",
        "< 2 ×",
    )


JOBS: dict[str, Callable[[Files, int], Iterator[Line]]] = {
    "first": first_evaluation,
    "file": from_file,  # before this process grows: a child's peak counts what its parent had
    "judgments": with_judgments,
    "gzip": from_gzip,
    "loop": training_loop,
    "runs": many_runs,
    "dicts": from_dicts,
}


def measured(files: Files, rounds: int, only: str | None = None) -> list[Line]:
    """Run all jobs, or one."""
    return [
        line for name, job in JOBS.items() if only in (None, name) for line in job(files, rounds)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="70,000 lines instead of 7 million")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=JOBS)
    options = parser.parse_args()
    lines = measured(make(small=options.small), options.rounds, options.only)
    rows = [("job", "ours", "peer", "ratio", "target")]
    rows += [(line.job, line.ours, line.peer, line.ratio, line.target) for line in lines]
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
