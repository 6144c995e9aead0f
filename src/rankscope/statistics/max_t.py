"""Many differences at once: the step-down max-T permutation test.

``values[s, n]`` holds a row for each system and a column for each query; ``values[m, s, n]`` joins
the pairs of ``m`` measures into one family. It takes the place of a test for each pair that is
corrected afterwards: every pair is compared with the largest statistic of its family under the same
sign flips, so one set of 10,000 flips serves 499,500 pairs, and no p-value is multiplied by how
many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError
from rankscope.statistics.arrays import (
    SAME,
    check_alpha,
    check_resamples,
    constant_rows,
    random_source,
    row_means,
    special,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.statistics.arrays import FloatArray

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ENUMERATED = 15
"""Up to so many queries on which any system differs, all sign flips (2^14 pairs) are tried."""

HELD = 8_000_000
"""How many sums (systems × flips) are in memory at once (64 MB of float64)."""

PURPOSE = 10
"""What the random bits are for; see `rankscope.statistics.arrays.random_source`."""


@dataclass(frozen=True, slots=True)
class MaxT:
    """A family of paired differences, tested together; every array has a number for each pair.

    The difference of a pair is ``second`` minus ``first``.
    """

    first: IntArray
    """The row of the system that is subtracted."""
    second: IntArray
    """The row of the system it is subtracted from."""
    measure: IntArray
    """Which measure; 0 unless several are joined."""
    differences: FloatArray
    """The mean difference."""
    p: FloatArray
    """The p-value, valid for the whole family: no correction is to be added."""
    floor: FloatArray
    """The smallest p-value the pair could have had, from how many of its queries differ."""
    critical: float
    """The |t| that separates a pair in the first step; infinite if alpha cannot be reached."""
    alpha: float
    flips: int
    """How many sign flips were tried; of two opposite ones, one if all are."""
    exact: bool
    """Whether all flips were tried."""
    systems: int
    queries: int

    @property
    def separated(self) -> BoolArray:
        """Tell which pairs differ: p ≤ alpha."""
        return np.asarray(self.p <= self.alpha)

    @property
    def step(self) -> float:
        """The alpha of Student's t test that is as strict as the first step; 0 if none is."""
        if not self.queries > 1 or not math.isfinite(self.critical):
            return self.alpha / len(self.p)
        return float(2 * special().stdtr(self.queries - 1, -self.critical))

    def table(self, measure: int = 0) -> BoolArray:
        """Return ``[s, s]``: which systems are separated from which, for letters and groups."""
        different = np.zeros((self.systems, self.systems), dtype=bool)
        chosen = self.separated & (self.measure == measure)
        different[self.first[chosen], self.second[chosen]] = True
        return different | different.T


def max_t(
    values: npt.ArrayLike,
    *,
    baseline: int | None = None,
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
) -> MaxT:
    """Test all pairs of systems, or all against ``baseline``, as one family.

    If two systems do not differ, the difference on a query could as well have the other sign. A
    sign is drawn for each query and given to the differences of *all* pairs on it, so that pairs
    move together as they do in the data. With d the differences of a pair, t = √(n−1)·r/√(1−r²)
    where r = |Σd| / √(n·Σd²): flips leave Σd² alone, so r, which is cheap, stands for t.

    p of the pair with the largest t = share of flips whose largest t of all pairs reaches it,
    (count + 1) / (B + 1); then that pair is set aside and the next is compared with the largest of
    those left, and so on; no p-value is smaller than that of a pair before it. This bounds the
    chance of *any* false alarm by alpha, whichever pairs are really different: exactly if the
    differences of the pairs that are equal are symmetric together, and for many queries if only
    their means are 0.

    The number of flips does not depend on the number of pairs: 10,000, or 100/alpha if that is
    more; all of them if at most 15 queries differ. p ≥ 2^(1−m) for a pair that differs on m
    queries: where that is above alpha no outcome could separate it (``floor``).

    Edges: a pair that is equal on every query has p = 1; systems with NaN are refused. No order of
    queries changes a p-value by a bit; no order of systems either, unless two systems have the
    same values in another order.

    Reference: Westfall and Young, Resampling-Based Multiple Testing, 1993; Romano and Wolf, Exact
    and approximate stepdown methods for multiple hypothesis testing, JASA 2005.

    >>> result = max_t([[0.1] * 6, [0.2, 0.3, 0.2, 0.4, 0.3, 0.2], [0.2, 0.0, 0.1, 0.1, 0.1, 0.1]])
    >>> result.p.tolist(), result.exact
    ([0.03125, 1.0, 0.0625], True)
    """
    check_alpha(alpha)
    resamples = max(10_000, math.ceil(100 / alpha)) if resamples is None else resamples
    check_resamples(resamples)
    cube = _cube(values)
    _, systems, queries = cube.shape
    pairs = _pairs(cube, baseline)
    rows = (cube - cube.mean(axis=1, keepdims=True)).reshape(-1, queries)
    rows = _canonical(rows, baseline)
    exact = rows.shape[1] <= ENUMERATED
    flips = 2 ** max(rows.shape[1] - 1, 0) if exact else resamples
    counts, largest = _exceedances(rows, pairs, flips, seed, exact=exact)
    spare = 0 if exact else 1  # sampled flips count the data as one more
    floors = np.maximum(2.0 ** (1.0 - np.maximum(pairs.differing, 1)), 1 / (flips + spare))
    p_values = np.maximum((counts + spare) / (flips + spare), floors)  # no luck of the draw below
    p_values[pairs.squares == 0] = 1.0
    ranked = np.argsort(pairs.ratios, kind="stable")[::-1]
    p_values[ranked] = np.maximum.accumulate(p_values[ranked])
    allowed = math.floor(alpha * (flips + spare) + SAME) - spare
    critical = _critical(largest, allowed, queries) if allowed >= exact else math.inf
    return MaxT(
        first=pairs.first,
        second=pairs.second,
        measure=pairs.measure,
        differences=pairs.differences,
        p=p_values,
        floor=floors,
        critical=critical,
        alpha=alpha,
        flips=flips,
        exact=exact,
        systems=systems,
        queries=queries,
    )


def _cube(values: npt.ArrayLike) -> FloatArray:
    """Return finite numbers as ``[measures, systems, queries]``."""
    cube = np.asarray(values, dtype=np.float64)
    cube = cube[np.newaxis] if cube.ndim == 2 else cube
    if cube.ndim != 3 or 0 in cube.shape:
        raise InputError(
            "values must be numbers of the shape [systems, queries] or [measures, systems, "
            f"queries], got {np.shape(values)}"
        )
    if cube.shape[1] < 2:
        raise InputError("at least two systems are needed, one row for each")
    if not np.isfinite(cube).all():
        raise InputError("values hold a NaN or an infinite number; leave the query out or score it")
    return cube


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The differences of a family and what sign flips leave alone; one number for each pair."""

    first: IntArray
    second: IntArray
    measure: IntArray
    lower: IntArray
    """Row of the first system among the rows of all measures."""
    upper: IntArray
    queries: int
    differences: FloatArray
    squares: FloatArray
    """Σd²."""
    spread: FloatArray
    """Standard deviation of d; 0 if all are equal but for rounding."""
    differing: IntArray
    """How many queries differ."""
    scale: FloatArray
    """1/√(n·Σd²), which makes r of |Σd|; 0 if all differences are 0."""
    ratios: FloatArray
    """r of the data, between 0 and 1."""
    thresholds: FloatArray
    """What r must reach under a flip to be as large as in the data, rounding allowed for."""


def _pairs(cube: FloatArray, baseline: int | None) -> _Pairs:
    """Pair the systems of each measure.

    Σd² is taken from the differences themselves: the squares of two close systems, subtracted from
    each other, would leave nothing but rounding.
    """
    measures, systems, queries = cube.shape
    if baseline is None:
        first, second = np.triu_indices(systems, 1)
    elif 0 <= baseline < systems:
        second = np.delete(np.arange(systems), baseline)
        first = np.full(len(second), baseline)
    else:
        raise InputError(f"baseline must be a row from 0 to {systems - 1}, got {baseline}")
    measure = np.repeat(np.arange(measures), len(first))
    first, second = np.tile(first, measures), np.tile(second, measures)
    lower, upper = measure * systems + first, measure * systems + second
    rows = cube.reshape(-1, queries)
    squares, spread = np.empty(len(lower)), np.zeros(len(lower))
    differing = np.empty(len(lower), dtype=np.int64)
    starts = np.flatnonzero(np.diff(lower, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(lower)], strict=True):
        changes = rows[upper[start:stop]] - rows[lower[start]]  # [pairs of one system, n]
        squares[start:stop] = np.einsum("pq,pq->p", changes, changes)
        differing[start:stop] = np.count_nonzero(changes, axis=1)
        if queries > 1:
            moving = ~constant_rows(changes)
            spread[start:stop] = np.where(moving, changes.std(axis=1, ddof=1), 0.0)
    means = row_means(rows)
    differences = np.where(squares > 0, means[upper] - means[lower], 0.0)
    scale = np.zeros(len(squares))
    np.divide(1.0, np.sqrt(queries * squares), out=scale, where=squares > 0)
    ratios = np.minimum(np.abs(differences) * queries * scale, 1.0)
    ratios[(spread == 0) & (squares > 0)] = 1.0
    size = float(np.abs(cube - cube.mean(axis=1, keepdims=True)).max(axis=(0, 1)).sum())
    return _Pairs(
        first=first,
        second=second,
        measure=measure,
        lower=lower,
        upper=upper,
        queries=queries,
        differences=differences,
        squares=squares,
        spread=spread,
        differing=differing,
        scale=scale,
        ratios=ratios,
        thresholds=ratios - SAME * (1 + scale * size),
    )


def _canonical(rows: FloatArray, baseline: int | None) -> FloatArray:
    """Return the rows with queries in an order that depends on the values alone.

    Queries on which all rows are equal are left out: flipping them changes nothing. To compare two
    queries, systems are read in the order of their sorted values (a baseline first), so that the
    systems' order does not decide either.
    """
    moving = rows[:, (rows != rows[0]).any(axis=0)]
    if not moving.size:
        return moving
    systems = np.lexsort(np.sort(moving, axis=1).T)
    if baseline is not None:
        systems = np.concatenate([systems[systems != baseline], [baseline]])
    return np.asarray(moving[:, np.lexsort(moving[systems])])


def _sign_blocks(
    queries: int, flips: int, width: int, seed: int, *, exact: bool
) -> Iterator[FloatArray]:
    """Yield sign flips as bits ``[queries, block]``, in blocks whose sums fit in memory."""
    source = random_source(seed, PURPOSE)
    words = -(-queries // 64)
    size = max(256, HELD // max(width, queries, 1))
    for start in range(0, flips, size):
        block = min(size, flips - start)
        if exact:  # the last sign is always +: opposite flips have the same |sum|
            numbers = np.arange(start, start + block) + (1 << queries >> 1)
            yield ((numbers >> np.arange(queries)[:, np.newaxis]) & 1).astype(np.float64)
        else:
            raw = source.random_raw(block * words).astype("<u8").view(np.uint8)
            bits = np.unpackbits(raw.reshape(block, -1), axis=1, count=queries)
            yield bits.T.astype(np.float64)


def _exceedances(
    rows: FloatArray, pairs: _Pairs, flips: int, seed: int, *, exact: bool
) -> tuple[IntArray, FloatArray]:
    """Count, for each pair, the flips whose largest r of this and all lesser pairs reaches its own.

    Also return the largest r of all pairs for each flip. Pairs are taken from the least to the
    greatest, so that one running maximum for each flip is all there is to keep.
    """
    counts = np.zeros(len(pairs.ratios), dtype=np.int64)
    largest = []
    totals = rows.sum(axis=1, keepdims=True)
    order = np.argsort(pairs.ratios, kind="stable")
    order = order[pairs.squares[order] > 0]
    lower, upper = pairs.lower[order].tolist(), pairs.upper[order].tolist()
    scale, thresholds = pairs.scale[order].tolist(), pairs.thresholds[order].tolist()
    for bits in _sign_blocks(rows.shape[1], flips, len(rows), seed, exact=exact):
        sums = rows @ bits  # [rows, block]; a bit b is the sign 2b − 1
        sums *= 2
        sums -= totals
        running, ratio = np.zeros(bits.shape[1]), np.empty(bits.shape[1])
        part = []
        for left, right, factor, threshold in zip(lower, upper, scale, thresholds, strict=True):
            np.subtract(sums[right], sums[left], out=ratio)
            np.abs(ratio, out=ratio)
            ratio *= factor
            np.maximum(running, ratio, out=running)
            part.append(np.count_nonzero(running >= threshold))
        counts[order] += np.array(part, dtype=np.int64)
        largest.append(running)
    return counts, np.concatenate(largest)


def _as_t(ratios: FloatArray, queries: int) -> FloatArray:
    """Return the t of each r; infinite for 1."""
    left = 1 - ratios**2
    t_values = np.full(len(ratios), math.inf)
    np.divide(math.sqrt(queries - 1) * ratios, np.sqrt(left), out=t_values, where=left > SAME)
    return t_values


def _critical(largest: FloatArray, allowed: int, queries: int) -> float:
    """Return the t that the largest of at most ``allowed`` flips exceeds."""
    ranked = np.sort(largest)[::-1]
    return float(_as_t(np.minimum(ranked[allowed : allowed + 1], 1.0), queries)[0])
