"""The memory for a run does not grow with its rows: a process with a limit has enough."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits hold for data as Linux counts it"
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


def evaluated(path: Path, limit: int, way: str) -> str:
    """Return what a process with so much room for data printed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(limit), way],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "POLARS_MAX_THREADS": "2", "MALLOC_ARENA_MAX": "2"},
    )
    return done.stdout.strip()


def test_a_limit_holds_in_parts_and_not_as_a_whole(files: dict[str, Path]) -> None:
    assert evaluated(files["contiguous"], 500 << 20, "parts") == MEANS
    assert evaluated(files["interleaved"], 900 << 20, "parts") == MEANS
    assert evaluated(files["interleaved"], 900 << 20, "whole") == ""
