"""Many systems at once: analysis of variance, randomised Tukey HSD, letters for groups.

``values[s, n]`` holds a row for each system and a column for each query.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part, Unbounded
from rankscope.statistics.arrays import (
    SAME,
    SMALLEST,
    as_rows,
    check_resamples,
    random_source,
    row_means,
    special,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

LISTED = 8
"""Up to so many systems all orders of their labels are listed and drawn from."""


class SumOfSquares(Part):
    """The variation of all values, by where it comes from."""

    systems: float
    """Between systems."""
    queries: float
    """Between queries."""
    rest: float
    """What neither explains."""


class Anova(Part):
    """Two-way analysis of variance: systems × queries, one value in each cell."""

    f: Unbounded
    """The F statistic; null if infinite (nothing is left to compare with)."""
    p: float
    """How likely so large an F is if no system differs."""
    freedom: tuple[int, int]
    """Degrees of freedom of systems and rest."""
    sum_of_squares: SumOfSquares
    """Where the variation comes from."""


def _systems(values: npt.ArrayLike) -> FloatArray:
    rows = as_rows(values)
    if len(rows) < 2:
        raise InputError("at least two systems are needed, one row for each")
    return rows


def anova(values: npt.ArrayLike) -> Anova:
    """Ask whether any of the systems differs from the others in its mean.

    F = (SS_systems / (s−1)) / (SS_rest / ((s−1)(n−1))), SS_rest = Σ (x − x̄_system − x̄_query + x̄)².
    With two systems F is the square of Student's paired t.

    Edges: no difference between systems gives F = 0 and p = 1; one query, or systems that differ by
    the same on every query, leave no rest to compare with: F is infinite, and p the
    share of shuffles that keep it so, (s!)^(1−n), which is 1 for one query.

    Reference: Fisher, Statistical Methods for Research Workers, 1925; Tague-Sutcliffe and Blustein,
    A statistical analysis of the TREC-3 data, 1994.

    >>> round(anova([[0.2, 0.5, 0.4], [0.4, 0.6, 0.8]]).p, 3)
    0.118
    """
    rows = _systems(values)
    count, queries = rows.shape
    whole = float(row_means(rows.reshape(1, -1))[0])
    by_system = row_means(rows) - whole
    by_query = row_means(rows.T) - whole
    rest = rows - whole - by_system[:, np.newaxis] - by_query
    sums = SumOfSquares(
        systems=queries * float((by_system**2).sum()),
        queries=count * float((by_query**2).sum()),
        rest=float((rest**2).sum()),
    )
    freedom = (count - 1, (count - 1) * (queries - 1))
    tiny = (SAME * float(np.abs(rows).max())) ** 2 * rows.size
    if sums.systems <= tiny:
        f, p = 0.0, 1.0
    elif sums.rest <= tiny:
        f, p = math.inf, math.exp((1 - queries) * math.lgamma(count + 1))
    else:
        f = (sums.systems / freedom[0]) / (sums.rest / freedom[1])
        p = float(special().fdtrc(*freedom, f))
    return Anova(f=f, p=max(p, SMALLEST), freedom=freedom, sum_of_squares=sums)


def range_tests(values: npt.ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> FloatArray:
    """Return the p-value of every pair of systems by randomised Tukey HSD, as ``[s, s]``.

    If no system differs, the values of a query could be under any system's name. Names are shuffled
    within each query, B times; p of a pair = (number of shuffles in which the largest mean exceeds
    the smallest by at least the pair's difference + 1) / (B + 1). Comparing with the largest of all
    differences makes the p-values hold for the whole family of pairs; no correction is to be added.

    Edges: equal means have p = 1; the diagonal is 1.

    Reference: Carterette, Multiple testing in statistical analysis of systems-based information
    retrieval experiments, ACM TOIS 2012.

    >>> range_tests([[0.1, 0.2, 0.1], [0.1, 0.2, 0.1]]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    rows = _systems(values)
    check_resamples(resamples)
    sums = row_means(rows) * rows.shape[1]
    distances = np.abs(sums[:, np.newaxis] - sums)
    tolerance = SAME * float(np.abs(rows).sum(axis=1).max())
    ranges = np.sort(_shuffled_ranges(rows, resamples, seed))
    below = np.searchsorted(ranges, distances - tolerance, side="left")
    p_values = (resamples - below + 1) / (resamples + 1)
    p_values[distances <= tolerance] = 1.0
    return np.asarray(p_values)


def _shuffled_ranges(rows: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Return largest minus smallest sum for each shuffle.

    Queries on which all systems are equal change nothing and are left out; the others are put in
    one order, so that neither the order of queries nor that of systems matters.
    """
    count = len(rows)
    columns = np.sort(rows, axis=0)
    columns = columns[:, columns[0] < columns[-1]]
    columns = columns[:, np.lexsort(columns)]
    random = np.random.Generator(random_source(seed, 2))
    listed = _orders(count) if count <= LISTED else None
    sums = np.zeros((resamples, count))
    for column in columns.T:
        if listed is None:
            sums += random.permuted(np.tile(column, (resamples, 1)), axis=1)
        else:
            sums += column[listed[random.integers(0, len(listed), size=resamples)]]
    return np.asarray(sums.max(axis=1) - sums.min(axis=1))


@lru_cache(maxsize=LISTED)
def _orders(count: int) -> npt.NDArray[np.int64]:
    return np.array(list(permutations(range(count))), dtype=np.int64)
