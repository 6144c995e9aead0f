"""A measure as another package would offer it."""

from __future__ import annotations

from rankscope.measures.judged import FloatArray, JudgedRun
from rankscope.measures.registry import define


@define("FromElsewhere")
def from_elsewhere(run: JudgedRun) -> FloatArray:
    """Nothing, from elsewhere."""
    return run.zeros()
