"""Slices: queries that meet two conditions at once, and do worse than those that meet either.

Among hundreds of pairs of conditions the worst is bad by chance alone. So the queries are cut into
two halves at random: one is searched for slices, and only the few worst are tested, on the other.
Means are those of all queries; the p-value alone is of the half that was not searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.arrays import random_source
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.subsets import subset_tests

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.settings import Settings
    from rankscope.statistics.subsets import BoolArray

PURPOSE = 13
"""Of what is drawn here, so that no other draw has the same numbers."""

SMALLEST_SHARE = 0.05
"""A slice holds at least this share of the queries, and at least `FEWEST`."""

CANDIDATES = 5
"""So many slices of each system are tested at most."""

NOTICED = -1.645
"""A slice is tested if it is as far below both groups as happens to one in twenty by chance."""

ALIKE = 0.5
"""Two slices that share this part of their queries are one; the worse stays."""


class QuerySlice(Part):
    """Queries that meet two conditions, for one system."""

    system: str
    """The system."""
    fields: tuple[str, str]
    """What the queries are grouped by."""
    labels: tuple[str, str]
    """What they share, in each field."""
    n: int
    """How many they are."""
    tested: int
    """How many of them are in the half that was not searched, which alone tells chance."""
    mean: float
    """Of the main measure, over all `n` of them."""
    parents: tuple[float, float]
    """The means of those that meet only the first, or only the second condition."""
    rest: float
    """The mean of all other queries."""
    p_corrected: float
    """Whether it is below both by chance (the larger p-value of the two tests against the rest of
    each group, in the half that was not searched), corrected by Holm over the slices of the system
    that were tested."""
    cost: float
    """How much the overall mean would gain if the slice did as well as the rest; at least 0."""

    def is_weak(self, alpha: float) -> bool:
        """Tell whether the slice is below both groups by more than chance."""
        return self.cost > 0 and self.p_corrected <= alpha


@dataclass(frozen=True, eq=False)
class Search:
    """The slices of all systems, and how many there were to choose from."""

    slices: tuple[QuerySlice, ...]
    """Those that were tested, the worst first."""
    searched: int
    """How many pairs of conditions have enough queries in both halves."""


def search_slices(
    matrix: Matrix, names: Sequence[tuple[str, str]], table: BoolArray, settings: Settings
) -> Search:
    """Look for pairs of conditions that together are worse than each alone, by the first measure.

    ``table[c, n]`` says which queries meet which of the conditions ``names``. In the half that is
    searched, a slice is compared with the rest of each of its two groups; the slices that are
    farthest below both (in standard errors of a random subset) are tested on the other half.
    """
    sign = 1 if matrix.scales[0].higher_is_better else -1
    values = sign * matrix.values[0]
    queries = values.shape[1]
    random = np.random.Generator(random_source(settings.seed, PURPOSE))
    order = random.permutation(queries)
    halves = np.sort(order[: queries // 2]), np.sort(order[queries // 2 :])
    fields = np.array([field for field, _ in names], dtype=object)
    possible = np.triu(fields[:, None] != fields[None, :]) if len(names) else np.zeros((0, 0), bool)
    for half in halves:
        possible &= _large_enough(table[:, half])
    slices: list[QuerySlice] = []
    if possible.any():
        worst = _worst(values[:, halves[0]], table[:, halves[0]], possible)
        for system, places in enumerate(worst):
            pairs = _unlike(places, table)
            slices += _tested(matrix, system, pairs, names=names, table=table, half=halves[1])
    return Search(tuple(slices), int(possible.sum()))


def _large_enough(table: BoolArray) -> BoolArray:
    """Tell which pairs of conditions are met by enough of one half, and each alone by as many."""
    least = max(FEWEST / 2, SMALLEST_SHARE * table.shape[1])
    numbers = table.astype(np.float64)
    both = numbers @ numbers.T
    sizes = np.diag(both)
    enough: BoolArray = (
        (both >= least) & (sizes[:, None] - both >= least) & (sizes[None, :] - both >= least)
    )
    return enough


def _worst(values: FloatArray, table: BoolArray, possible: BoolArray) -> list[IntArray]:
    """Return for each system the pairs that are far below both groups, the worst first."""
    numbers = table.astype(np.float64)
    both = numbers @ numbers.T
    sizes = np.maximum(np.diag(both), 1.0)  # a condition may be met by no query of a half
    first, second = np.nonzero(possible)
    drawn = both[first, second]
    worst = []
    for row in values:
        centred = row - row.mean()
        weighted = numbers * centred
        sums = weighted @ numbers.T
        means = np.diag(sums) / sizes
        spreads = np.maximum((numbers @ centred**2) / sizes - means**2, 0.0)
        distances = []
        for parent in (first, second):
            total = sizes[parent]
            error = np.sqrt(spreads[parent] / drawn * (total - drawn) / (total - 1))
            away = sums[first, second] / drawn - means[parent]
            distances.append(np.divide(away, error, out=np.zeros_like(away), where=error > 1e-12))
        farthest = np.maximum(*distances)
        noticed = np.flatnonzero(farthest <= NOTICED)
        noticed = noticed[np.argsort(farthest[noticed], kind="stable")]
        worst.append(np.stack([first[noticed], second[noticed]], axis=1))
    return worst


def _unlike(pairs: IntArray, table: BoolArray) -> list[tuple[int, int]]:
    """Return the first pairs, without those that are about much the same queries as an earlier."""
    kept: list[tuple[int, int]] = []
    chosen: list[BoolArray] = []
    for first, second in pairs.tolist():
        queries = table[first] & table[second]
        if all((queries & other).sum() < ALIKE * (queries | other).sum() for other in chosen):
            kept.append((first, second))
            chosen.append(queries)
        if len(kept) == CANDIDATES:
            break
    return kept


def _tested(
    matrix: Matrix,
    system: int,
    pairs: Sequence[tuple[int, int]],
    *,
    names: Sequence[tuple[str, str]],
    table: BoolArray,
    half: IntArray,
) -> list[QuerySlice]:
    """Test slices of one system on the half that was not searched; means are of all queries."""
    if not pairs:
        return []
    sign = 1 if matrix.scales[0].higher_is_better else -1
    values = matrix.values[0, system]
    oriented = sign * values[half]
    p_values = []
    for first, second in pairs:
        parents = table[first, half], table[second, half]
        queries = parents[0] & parents[1]
        p_values.append(max(_below(oriented[parent], queries[parent]) for parent in parents))
    slices = []
    for (first, second), p in zip(pairs, corrected(p_values, "holm").tolist(), strict=True):
        queries = table[first] & table[second]
        mean, rest = float(values[queries].mean()), float(values[~queries].mean())
        slices.append(
            QuerySlice(
                system=matrix.systems[system],
                fields=(names[first][0], names[second][0]),
                labels=(names[first][1], names[second][1]),
                n=int(queries.sum()),
                tested=int(queries[half].sum()),
                mean=mean,
                parents=(
                    float(values[table[first] & ~queries].mean()),
                    float(values[table[second] & ~queries].mean()),
                ),
                rest=rest,
                p_corrected=p,
                cost=max(sign * (rest - mean) * float(queries.mean()), 0.0),
            )
        )
    return sorted(slices, key=lambda entry: entry.p_corrected)


def _below(values: FloatArray, inside: BoolArray) -> float:
    """Return the p-value of a part that is below the rest of its group; 1 if it is not.

    One-sided: the search has said in which direction.
    """
    if values[inside].mean() >= values[~inside].mean():
        return 1.0
    return float(subset_tests(values, inside[None])[0, 0]) / 2
