"""The files the benches read: a run of the size of MS MARCO's, many of TREC's, and judgments.

``python benches/files.py [--small]`` writes them to ``benches/data``, once. The same bytes come out
every time: nothing is random but a fixed seed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

DATA = Path(__file__).parent / "data"
_PASSAGES = 8_841_823  # as many as MS MARCO has
_JUDGED = 20
_FEW_JUDGED = 7
_QUERIES_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Files:
    """One run in several shapes with its qrels, and a pool: many runs that were judged deeply."""

    clean: Path
    mixed: Path
    gzipped: Path
    qrels: Path
    few: Path
    """The first 7 judgments of each query."""
    pool: Path
    """A folder: ``qrels``, and a file for each run."""

    @property
    def pool_runs(self) -> list[Path]:
        """The runs of the pool."""
        return sorted(self.pool.glob("*.run"))


def make(*, small: bool = False) -> Files:
    """Return the files, written if they are not there: 6,980 queries × 1,000, or 700 × 100."""
    queries, depth, name = (700, 100, "small") if small else (6_980, 1_000, "large")
    files = Files(
        DATA / f"{name}.run",
        DATA / f"{name}-mixed.run",
        DATA / f"{name}.run.gz",
        DATA / f"{name}.qrels",
        DATA / f"{name}-few.qrels",
        DATA / f"{name}-pool",
    )
    DATA.mkdir(exist_ok=True)
    if not (files.clean.exists() and files.qrels.exists()):
        _write_run(files.clean, files.qrels, queries, depth)
    if not files.few.exists():
        lines = files.qrels.read_bytes().splitlines(keepends=True)
        files.few.write_bytes(
            b"".join(lines[i] for i in range(len(lines)) if i % _JUDGED < _FEW_JUDGED)
        )
    if not (files.pool / "qrels").exists():
        _write_pool(files.pool, *((6, 10, 100) if small else (150, 40, 1_000)))
    if not files.mixed.exists():
        _write_mixed(files.clean, files.mixed)
    if not files.gzipped.exists():
        _write_gzipped(files.clean, files.gzipped)
    return files


def _write_run(run: Path, qrels: Path, queries: int, depth: int) -> None:
    random = np.random.default_rng(7)
    ids = np.sort(random.choice(1_200_000, queries, replace=False))
    judged = []
    with open(run, "wb") as sink:
        for first in range(0, queries, _QUERIES_AT_ONCE):
            some = ids[first : first + _QUERIES_AT_ONCE]
            docs = np.stack([random.choice(_PASSAGES, depth, replace=False) for _ in some])
            scores = np.sort(random.gamma(9.0, 2.0, docs.shape), axis=1)[:, ::-1]
            frame = pl.DataFrame(
                {
                    "query_id": np.repeat(some, depth),
                    "q0": pl.repeat("Q0", docs.size, eager=True),
                    "doc_id": docs.ravel(),
                    "rank": np.tile(np.arange(1, depth + 1), len(some)),
                    "score": scores.ravel().round(6),
                    "tag": pl.repeat("bm25", docs.size, eager=True),
                }
            )
            sink.write(frame.write_csv(include_header=False, separator=" ").encode())
            judged.append(frame.filter(pl.col("rank") % (depth // _JUDGED) == 1))
    grades = pl.concat(judged).select(
        "query_id", pl.lit("0"), "doc_id", (pl.col("doc_id") % 4).alias("grade")
    )
    qrels.write_bytes(grades.write_csv(include_header=False, separator=" ").encode())


def _write_pool(folder: Path, runs: int, queries: int, depth: int) -> None:
    """Write runs half of whose documents are judged, most of them with some equal scores."""
    random = np.random.default_rng(5)
    folder.mkdir(exist_ok=True)
    judged, others = depth // 2, 4 * depth
    names = [f"FT{911 + n % 34}-{n:05}" for n in random.permutation(judged + others)]
    for number in range(runs):
        with open(folder / f"{number:03}.run", "w") as sink:
            for query in range(301, 301 + queries):
                known = random.choice(judged, judged - judged // 25, replace=False)
                unknown = judged + random.choice(others, depth - len(known), replace=False)
                docs = random.permuted(np.concatenate([known, unknown])).tolist()
                scores = np.sort(random.gamma(9.0, 2.0, depth))[::-1].round(3 if number % 6 else 9)
                sink.writelines(
                    f"{query} Q0 {names[(doc + query) % len(names)]} {rank} {score} run{number}\n"
                    for rank, (doc, score) in enumerate(zip(docs, scores.tolist(), strict=True))
                )
    with open(folder / "qrels", "w") as sink:
        sink.writelines(
            f"{query} 0 {names[(doc + query) % len(names)]} {int(random.random() < 0.15)}\n"
            for query in range(301, 301 + queries)
            for doc in range(judged)
        )


def _write_mixed(clean: Path, mixed: Path) -> None:
    """Copy a run with tabs, repeated blanks and CRLF here and there, on every tenth line."""
    with open(clean, "rb") as source, open(mixed, "wb") as sink:
        for number, line in enumerate(source):
            if number % 10 == 3:
                line = line.replace(b" ", b" \t", 2).replace(b"\n", b"\r\n")  # noqa: PLW2901
            sink.write(line)


def _write_gzipped(clean: Path, gzipped: Path) -> None:
    import gzip
    import shutil

    with open(clean, "rb") as source, gzip.open(gzipped, "wb", compresslevel=1) as sink:
        shutil.copyfileobj(source, sink, 1 << 20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="70,000 lines instead of 7 million")
    made = make(small=parser.parse_args().small)
    for path in (made.clean, made.mixed, made.gzipped, made.qrels, made.few):
        print(f"{path.name:20} {path.stat().st_size / 1e6:8.1f} MB")
