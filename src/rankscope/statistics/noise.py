"""Noise of the systems themselves: repeated runs, training seeds, rebuilt indexes.

The spread of per-query differences says how far a difference moves with other queries. It cannot
say how far it moves when the *same* system is run again: a rebuilt HNSW index or another seed moves
all queries at once. Repeated runs ``values[r, n]`` (a row for each run, a column for each query)
show it, and the two errors add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import as_rows, row_deviations, row_means

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.matrix import Matrix


class RunNoise(Part):
    """How much a system's mean moves from run to run on the same queries."""

    run_means: tuple[float, ...]
    """The mean of each run."""
    deviation: float
    """Standard deviation of the run means: what one sees when the same system is run again."""

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.run_means)


Noises = Mapping[tuple[int, int], Sequence[tuple[RunNoise, float]]]
"""Noise of systems, by measure and pair, with how often it is in the difference: one run of a noisy
system against a fixed one has weight 1, one run each of two systems on the same noisy engine 2, a
mean over r runs 1/r."""


def run_noise(values: npt.ArrayLike) -> RunNoise:
    """Return the noise of repeated runs ``values[r, n]`` of one system, r ≥ 2.

    Queries that move on their own are in it too, and in the spread over queries: on the safe side.

    >>> round(run_noise([[0.2, 0.6, 0.4], [0.3, 0.7, 0.5], [0.2, 0.5, 0.5]]).deviation, 3)
    0.058
    """
    rows = as_rows(values)
    if len(rows) < 2:
        raise InputError("at least two runs of the same system are needed to see its noise")
    means = row_means(rows)
    deviation = float(row_deviations(means[np.newaxis])[0])
    return RunNoise(run_means=tuple(means.tolist()), deviation=deviation)


def add_noise(
    error: float, freedom: float, noises: Sequence[tuple[RunNoise, float]]
) -> tuple[float, float]:
    """Return a standard error for new queries and new runs, and its degrees of freedom.

    Squares add up: that of queries, and weight · deviation² of each noise. The degrees of freedom
    of the sum are joint: (Σ v)² / Σ v²/f over the parts v with f degrees of freedom each.

    Reference: Satterthwaite, An approximate distribution of estimates of variance components,
    Biometrics Bulletin 1946.

    >>> error, freedom = add_noise(0.02, 49.0, [(RunNoise(run_means=(0.1, 0.1, 0.1), deviation=0.01), 1.0)])
    >>> round(error, 4), round(freedom, 1)
    (0.0224, 30.2)
    """  # noqa: E501
    parts = [(error**2, freedom)]
    parts += [(weight * noise.deviation**2, noise.runs - 1.0) for noise, weight in noises]
    total = sum(part for part, _ in parts)
    if not total or not math.isfinite(total):
        return error, freedom
    return math.sqrt(total), total**2 / sum(part**2 / free for part, free in parts)


def pair_noises(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> Noises:
    """Return how far the systems of pairs move by themselves, where they were run several times."""
    if not matrix.repeats:
        return {}
    known = {
        (measure, system): noise
        for measure in range(len(matrix.scales))
        for system, name in enumerate(matrix.systems)
        if (noise := matrix.noise(measure, name)) is not None
    }
    noises = {}
    for place, pair in enumerate(pairs):
        for measure in range(len(matrix.scales)):
            both = [known[measure, system] for system in pair if (measure, system) in known]
            if both:
                noises[measure, place] = both
    return noises
