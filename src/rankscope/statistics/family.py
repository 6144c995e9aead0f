"""A family of tests: the p-values of pairs of systems, each valid for all that are read together.

One place decides what is tested how: all pairs at once (max-T), or each by itself with a
correction. `rankscope.statistics.pairwise` makes verdicts of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankscope.errors import counted
from rankscope.statistics.arrays import row_blocks
from rankscope.statistics.choices import CORRECTIONS
from rankscope.statistics.correction import corrected
from rankscope.statistics.max_t import max_t
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.reach import must_differ, smallest_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.choices import Correction
    from rankscope.statistics.matrix import IntArray, Matrix
    from rankscope.statistics.settings import Settings

PairOfSystems = tuple[int, int]
"""The base and the system."""

DIGITS = 12
"""Values are compared to so many decimals: what differs by less differs by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTests:
    """The tests of pairs; every array is ``[measures, pairs]``."""

    p: FloatArray
    """Before correction; those of tests of all pairs at once hold for the family as they are."""
    corrected: FloatArray
    """Valid for the whole family."""
    floor: FloatArray
    """The smallest corrected p-value that any outcome on the queries that differ could have."""
    methods: list[str]
    """How each p-value was found, measure by measure."""
    size: int
    """How many tests are in a family."""
    identical: npt.NDArray[np.bool_]
    """Whether the two are the same on every query."""
    step: FloatArray
    """The alpha at which each pair by itself is tested in the hardest step, ``[measures]``."""

    def note(self, settings: Settings) -> str:
        """Say what the tests could not show, whatever the outcome; '' if they could."""
        unable = (self.floor > settings.alpha) & ~self.identical
        if not unable.any():
            return ""
        count, total = int(np.count_nonzero(unable)), int(np.count_nonzero(~self.identical))
        if self.size > 1 and settings.test != "max-t":
            resamples = settings.resamples_for(self.size)
            least = must_differ(
                alpha=settings.alpha,
                test=settings.single_test,
                resamples=resamples,
                family=_multiplied(settings.added, self.size),
            )
            if least is None:
                return (
                    f"{resamples:,} resamples cannot show any difference at {settings.alpha:g} "
                    f"over {self.size:,} tests; use max-t, or t with Holm"
                )
        floor = f"the smallest possible p-value is {self.floor[~self.identical].min():.3g}"
        if count == total:
            return f"too few queries differ to show anything: {floor}, above {settings.alpha:g}"
        return (
            f"{counted(count, 'pair')} of {total:,} differ on too few queries for any outcome to "
            f"be significant at {settings.alpha:g}"
        )


def family_tests(matrix: Matrix, pairs: Sequence[PairOfSystems], settings: Settings) -> FamilyTests:
    """Test pairs (base, system) of each measure; which one is the base makes no difference.

    ``pairs`` are all pairs, or those of one base with others.
    """
    size = len(pairs) * (len(matrix.scales) if settings.family == "all" else 1)
    if settings.test == "max-t":
        return _max_t(matrix, pairs, settings, size)
    p_values, methods, differing = _one_by_one(matrix, pairs, settings, size)
    floor = _floors(differing, settings, size)
    adjusted = over_family(p_values, settings)
    share = 1 if settings.correction in ("none", "bh") else size
    step = np.full(len(matrix.scales), settings.alpha / share)
    same = _identical(matrix, pairs)
    return FamilyTests(p_values, adjusted, floor, methods, size, same, step)


def _one_by_one(
    matrix: Matrix, pairs: Sequence[PairOfSystems], settings: Settings, size: int
) -> tuple[FloatArray, list[str], IntArray]:
    """Test each pair by itself: p-values, methods, and how many units of chance differ."""
    listed = np.array(pairs, dtype=np.int64)
    shape = (len(matrix.scales), len(pairs))
    p_values, differing = np.empty(math.prod(shape)), np.empty(math.prod(shape), dtype=np.int64)
    methods: list[str] = []
    options: Any = {"resamples": settings.resamples_for(size), "seed": settings.seed}
    for block in row_blocks(len(p_values), matrix.shape[2]):
        rows = matrix.units(matrix.pair_rows(np.arange(block.start, block.stop), listed))
        results = paired_tests(rows, test=settings.single_test, **options)
        p_values[block] = [result.p for result in results]
        methods += [result.method for result in results]
        differing[block] = np.count_nonzero(rows, axis=1)
    return p_values.reshape(shape), methods, differing.reshape(shape)


def over_family(p_values: FloatArray, settings: Settings) -> FloatArray:
    """Correct ``[m, pairs]`` p-values over each measure's pairs, or over all of them."""
    if settings.family == "all":
        return corrected(p_values.ravel(), settings.added).reshape(p_values.shape)
    return np.array([corrected(row, settings.added) for row in p_values])


def family_words(pairs: int, measures: int, settings: Settings) -> str:
    """Say which tests were corrected together, and how."""
    each = "the one pair" if pairs == 1 else f"the {pairs:,} pairs"
    if settings.family == "all" and measures > 1:
        each = f"all {pairs * measures:,} pairs of {measures} measures together"
    elif measures > 1:
        each += " of each measure"
    if pairs == 1 and (settings.family == "measure" or measures == 1):
        return f"family: {each}"
    if settings.is_simultaneous:
        return f"family: {each}, tested at once"
    return f"family: {each}; {CORRECTIONS[settings.added]}"


def _max_t(
    matrix: Matrix, pairs: Sequence[PairOfSystems], settings: Settings, size: int
) -> FamilyTests:
    systems = sorted({system for pair in pairs for system in pair})
    values = np.round(matrix.units(matrix.values[:, systems]), DIGITS)
    bases = {base for base, _ in pairs}
    everything = len(pairs) == math.comb(len(systems), 2)
    baseline = None if everything else systems.index(bases.pop())
    if baseline is None:
        listed = np.stack(np.triu_indices(len(systems), 1), axis=1)
    else:
        others = np.delete(np.arange(len(systems)), baseline)
        listed = np.stack([np.full(len(others), baseline), others], axis=1)
    places = np.zeros((len(systems), len(systems)), dtype=np.int64)  # of each pair, both ways
    places[listed[:, 0], listed[:, 1]] = places[listed[:, 1], listed[:, 0]] = range(len(listed))
    first, second = np.searchsorted(systems, np.array(pairs, dtype=np.int64)).T
    order = places[first, second]
    tables = [values] if settings.family == "all" else [table[np.newaxis] for table in values]
    p_values, floors, step = [], [], []
    flips = ""
    for table in tables:
        tested = max_t(
            table,
            baseline=baseline,
            alpha=settings.alpha,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        flips = "all sign flips" if tested.exact else f"{tested.flips:,} sign flips"
        p_values.append(tested.p.reshape(-1, len(listed))[:, order])
        floors.append(tested.floor.reshape(-1, len(listed))[:, order])
        step += [tested.step] * len(table)
    p = np.concatenate(p_values)
    name = "permutation" if size == 1 else "max-T"
    methods = [f"{name}, {flips}"] * p.size
    same = _identical(matrix, pairs)
    return FamilyTests(p, p, np.concatenate(floors), methods, size, same, np.array(step))


def _identical(matrix: Matrix, pairs: Sequence[PairOfSystems]) -> npt.NDArray[np.bool_]:
    """Tell which pairs are the same on every query, ``[measures, pairs]``."""
    listed = np.array(pairs, dtype=np.int64)
    same = np.empty(len(matrix.scales) * len(pairs), dtype=bool)
    for block in row_blocks(len(same), matrix.shape[2]):
        same[block] = ~matrix.pair_rows(np.arange(block.start, block.stop), listed).any(axis=1)
    return same.reshape(-1, len(pairs))


def _floors(differing: IntArray, settings: Settings, size: int) -> FloatArray:
    """Return the smallest corrected p-value that outcomes on so many units could have."""
    resamples, family = settings.resamples_for(size), _multiplied(settings.added, size)
    counts, places = np.unique(differing, return_inverse=True)
    test = settings.single_test
    known = [
        smallest_p(count, test=test, resamples=resamples, family=family)
        for count in counts.tolist()
    ]
    return np.array(known)[places].reshape(differing.shape)


def _multiplied(correction: Correction, size: int) -> int:
    """Return by how much a correction multiplies the smallest p-value at the least."""
    return size if correction in ("holm", "bonferroni") else 1
