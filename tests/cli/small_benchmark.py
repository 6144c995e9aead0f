"""The small benchmark of ``tests/benchmark``, where these tests find it when they run alone."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from benchmark.world import (
    CONFIG,
    QUERIES,
    STAGES,
    World,
    cli,
    command,
    made,
    only_experiment,
    queries,
    rankscope,
    settle,
    without_times,
    write_world,
)

__all__ = [
    "CONFIG",
    "QUERIES",
    "STAGES",
    "World",
    "cli",
    "command",
    "made",
    "only_experiment",
    "queries",
    "rankscope",
    "settle",
    "without_times",
    "write_world",
]
