"""Which measures are taken where none is named: those that lists of this length can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankscope.measures.language import DEFAULT_MEASURES
from rankscope.runs.run_files import LazyRun

LONG = 50
"""Lists of more documents get `DEFAULT_MEASURES`."""


def usual_measures(runs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is measured of these runs when nothing is asked for."""
    return usual_to(map(longest, runs.values()))


def usual_to(lengths: Iterable[int | None]) -> tuple[str, ...]:
    """Return what is measured of runs whose longest lists have these lengths; None: not known.

    Three documents for each question say nothing about the first hundred: cutoffs go no deeper than
    the longest list. Where nobody knows how long lists are, they are taken as long.
    """
    depth = 0
    for length in lengths:  # of files: one is read after the other, until one is long
        if length is None or length > LONG:
            return DEFAULT_MEASURES
        depth = max(depth, length)
    if not depth:
        return DEFAULT_MEASURES
    if depth < 10:
        first = ("Success@1",) if depth > 1 else ()
        return (f"nDCG@{depth}", "RR", *first, f"Success@{depth}")
    deepest = next(cutoff for cutoff in (50, 20, 10) if cutoff <= depth)
    return ("nDCG@10", "RR@10", f"R@{deepest}", "Success@1", "Success@10")


def longest(run: Any) -> int | None:
    """Return how many documents the longest list of a run has; None if that is not known."""
    if isinstance(run, LazyRun):
        return run.depth
    lists = run if isinstance(run, Mapping) else getattr(run, "pieces", None)
    if lists is not None:
        return max(map(len, lists.values()), default=0)
    return int(run.sizes.max(initial=0))
