"""Curves: rows against seconds and memory, of one run file, each size in a process of its own.

``python benches/scaling.py [--large]`` evaluates runs of 70 thousand to 7 million rows, with
``--large`` also of 70 million (2.6 GB; some minutes, and as much room on disk for each kind), in
four kinds: a TREC file, the same with queries interleaved, compressed, and as Parquet. The slope is
that of the line through the logarithms: 1 is twice the time for twice the rows.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from files import DATA
from measuring import Spent, python, spent

QUERIES = 70
"""Queries of the smallest size, 1,000 rows each."""
JUDGED = 20
DEPTH = 1_000
KINDS = ("trec", "interleaved", "gzip", "parquet")
CODE = "import sys, rankscope as rs; print(rs.evaluate(sys.argv[1], sys.argv[2]).means)"
NOTHING = "import rankscope.scoring.evaluate"


def made(rows: int, kind: str) -> tuple[Path, Path]:
    """Return qrels and a run of so many rows, written if they are not there."""
    suffix = {"trec": "run", "interleaved": "mixed.run", "gzip": "run.gz", "parquet": "parquet"}
    name = f"rows-{rows}"
    qrels, run = DATA / f"{name}.qrels", DATA / f"{name}.{suffix[kind]}"
    plain = DATA / f"{name}.run"
    DATA.mkdir(exist_ok=True)
    if not qrels.exists() or not plain.exists():
        _write_trec(plain, qrels, rows // DEPTH, together=True)
    if run.exists():
        return qrels, run
    if kind == "interleaved":
        _write_trec(run, None, rows // DEPTH, together=False)
    elif kind == "gzip":
        with open(plain, "rb") as source, gzip.open(run, "wb", compresslevel=1) as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
    elif kind == "parquet":
        columns: dict[str, Any] = {"query_id": pl.String, "_0": pl.String, "doc_id": pl.String}
        columns |= {"rank": pl.Int64, "score": pl.Float64, "tag": pl.String}
        table = pl.scan_csv(plain, has_header=False, separator=" ", schema=columns)
        table.select("query_id", "doc_id", "score").sink_parquet(run, row_group_size=1 << 18)
    return qrels, run


def _write_trec(run: Path, qrels: Path | None, queries: int, *, together: bool) -> None:
    """Write a run; its queries are together, or those of a batch in turn, rank by rank."""
    judged = []
    with open(run, "wb") as sink:
        for first in range(0, queries, 1_000):
            some = np.arange(first, min(first + 1_000, queries))
            random = np.random.default_rng([11, first])
            # documents of a query differ: a stride that has no divisor in common with the corpus
            stride = random.integers(1, 1 << 20, len(some)) * 2 + 1
            docs = (stride[:, None] * np.arange(DEPTH) + random.integers(0, 1 << 23)) % (1 << 23)
            scores = np.sort(random.gamma(9.0, 2.0, docs.shape), axis=1)[:, ::-1].round(6)
            query = np.repeat(some, DEPTH)
            rank = np.tile(np.arange(1, DEPTH + 1), len(some))
            order = np.arange(docs.size)
            if not together:
                order = order.reshape(docs.shape).T.ravel()
            frame = pl.DataFrame(
                {
                    "query_id": query[order],
                    "q0": pl.repeat("Q0", docs.size, eager=True),
                    "doc_id": docs.ravel()[order],
                    "rank": rank[order],
                    "score": scores.ravel()[order],
                    "tag": pl.repeat("bm25", docs.size, eager=True),
                }
            )
            sink.write(frame.write_csv(include_header=False, separator=" ").encode())
            judged.append(frame.filter(pl.col("rank") % (DEPTH // JUDGED) == 1))
    if qrels is not None:
        grades = pl.concat(judged).select(
            "query_id", pl.lit("0"), "doc_id", (pl.col("doc_id") % 4).alias("grade")
        )
        qrels.write_bytes(grades.write_csv(include_header=False, separator=" ").encode())


def slope(rows: list[int], values: list[float]) -> float:
    """Return the slope of the line through the logarithms."""
    return statistics.linear_regression([math.log(r) for r in rows], [math.log(v) for v in values])[
        0
    ]


def measured(sizes: list[int], rounds: int) -> Iterator[tuple[str, list[Spent]]]:
    """Yield for each kind what each size took, at best: other work on the machine only adds."""
    for kind in KINDS:
        curve = []
        for rows in sizes:
            qrels, run = made(rows, kind)
            tries = [spent(python(CODE, qrels, run)) for _ in range(rounds)]
            curve.append(min(tries, key=lambda one: one.seconds))
        yield kind, curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 70 million rows")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = [70_000, 700_000, 7_000_000] + [70_000_000] * options.large
    start = min(spent(python(NOTHING)).seconds for _ in range(options.rounds))
    print(f"{os.cpu_count()} cores; best of {options.rounds}; starting Python and rankscope takes")
    print(f"{start:.2f} s, which slopes of seconds leave out\n")
    print(f"{'':12} {'rows':>12} {'size':>9} {'seconds':>8} {'rows/s':>12} {'peak memory':>12}")
    for kind, curve in measured(sizes, options.rounds):
        for rows, took in zip(sizes, curve, strict=True):
            size = made(rows, kind)[1].stat().st_size / 2**20
            pace = rows / max(took.seconds - start, 1e-3)
            print(
                f"{kind:12} {rows:12,} {size:6.0f} MB {took.seconds:8.2f} {pace:12,.0f} "
                f"{took.peak:9.0f} MB"
            )
        steep = slope(sizes, [max(took.seconds - start, 1e-3) for took in curve])
        memory = slope(sizes, [took.peak for took in curve])
        print(f"{'':12} slope of seconds {steep:.2f}, of memory {memory:.2f}\n")


if __name__ == "__main__":
    main()
