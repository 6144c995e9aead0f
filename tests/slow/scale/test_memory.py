"""The memory for a run does not grow with its rows; measured in a process of its own."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux's account of memory"
)

ROWS = 6_000_000
QUERIES = 1_500

SCRIPT = """
import resource, sys
path, limit = sys.argv[1], int(sys.argv[2])
import rankscope as rs
from rankscope.scale.run_parts import RunParts
rs.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}})  # what is loaded once
import rankscope.scale.evaluating
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
qrels = {f"q{number}": {f"d{number}x7": 1} for number in range(QUERIES)}
run = RunParts(path) if sys.argv[3] == "parts" else rs.read_run(path)
print(rs.evaluate(qrels, run, ["RR", "nDCG@10"]).means)
with open("/proc/self/status") as status:  # what getrusage says counts the parent's memory too
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
""".replace("QUERIES", str(QUERIES))


MEANS = str({"RR": 1 / 8, "nDCG@10": 1 / math.log2(9)})
"""Of a run in which the one relevant document of each query is at rank 8."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("large")
    depth = ROWS // QUERIES
    ends = [f"x{place} {place + 1} {depth - place}.5 sys\n" for place in range(depth)]
    with open(folder / "contiguous.run", "w") as file:
        for number in range(QUERIES):
            file.writelines(f"q{number} Q0 d{number}{end}" for end in ends)
    with open(folder / "interleaved.run", "w") as file:
        for end in ends:
            file.writelines(f"q{number} Q0 d{number}{end}" for number in range(QUERIES))
    return {path.stem: path for path in folder.iterdir()}


def evaluated(path: Path, limit: int, way: str) -> tuple[str, int]:
    """Return what a process with so much room for data printed, and the most memory it had."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(limit), way],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "POLARS_MAX_THREADS": "2", "MALLOC_ARENA_MAX": "2"},
    )
    means, _, kilobytes = done.stdout.strip().rpartition("\n")
    return means, int(kilobytes or 0) * 1024


def test_queries_one_after_the_other(files: dict[str, Path]) -> None:
    means, most = evaluated(files["contiguous"], 500 << 20, "parts")
    assert means == MEANS
    assert most < 300 << 20


def test_interleaved_queries(files: dict[str, Path]) -> None:
    """A hard limit holds in parts that reading the run whole does not keep."""
    means, most = evaluated(files["interleaved"], 900 << 20, "parts")
    assert means == MEANS
    assert most < 600 << 20
    assert evaluated(files["interleaved"], 900 << 20, "whole") == ("", 0)
