"""Differences of pairs of systems: what tests and intervals need of them, a number for each row.

A row is a pair on one measure: differences query by query, or, where queries belong together,
cluster by cluster (*units*, what chance draws). Rows are made in blocks and dropped again; what is
kept is a few numbers for each, so 499,500 pairs take no more memory than that.

Student's paired t decides, with three exceptions:

- no p-value is smaller than sign flips could make it, 2 / 2^d where d units differ;
- none is smaller than the skewness of the differences allows (`skew_p`);
- where all differences have one size, as those of values 0 and 1 have, the sign test counts the
  flips exactly (McNemar's exact test), and the interval is the score interval of paired shares.

An interval always agrees with the test: it holds 0 if and only if no difference is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.statistics.arrays import (
    SAME,
    SMALLEST,
    blocks,
    row_means,
    special,
)
from rankscope.statistics.clusters import unit_errors
from rankscope.statistics.intervals import Interval
from rankscope.statistics.noise import RunNoise, add_noise, pair_noises
from rankscope.statistics.tests import paired_tests, sign_p, skew_p

if TYPE_CHECKING:
    from rankscope.statistics.arrays import BoolArray, FloatArray, IntArray
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.noise import Noises
    from rankscope.statistics.settings import Settings

LEAST = 5
"""From fewer queries than this nothing is concluded."""

FARTHEST = 1e-100
"""No interval leaves less than this outside: quantiles further out are not to be trusted."""

CACHED = 0.05
"""The part of a block that stays in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Rows of differences (system − base); each array has a number for each row."""

    mean: FloatArray
    error: FloatArray
    """Standard error of the mean for new queries, and for new runs where noise is known."""
    freedom: FloatArray
    """Its degrees of freedom."""
    deviation: FloatArray
    """Standard deviation over units."""
    above: IntArray
    """Units on which the system has more."""
    below: IntArray
    """Units on which it has less."""
    wins: IntArray
    """Queries on which it has more."""
    losses: IntArray
    """Queries on which it has less."""
    spread: FloatArray
    """Variance of the differences that are not 0, around their own mean."""
    size: FloatArray
    """The one size of all differences that are not 0; NaN where they have several, or noise."""
    p: FloatArray
    """Of the test, not corrected."""
    p_interval: FloatArray
    """What the interval leaves outside when it just reaches 0."""
    low: FloatArray
    """The lowest difference there can be."""
    high: FloatArray
    """The highest."""
    noisy: BoolArray
    """Whether the systems are known to move by themselves."""
    units: int
    """How many units of chance there are."""

    @classmethod
    def of(
        cls,
        matrix: Matrix,
        pairs: Sequence[tuple[int, int]],
        settings: Settings,
        *,
        noises: Noises | None = None,
        family: int | None = None,
        together: int = 1,
    ) -> Differences:
        """Test pairs (base, system) of a matrix; rows are measure by measure.

        ``noises`` is what is known of how far systems move by themselves, beside the repeated runs
        of the matrix; ``family`` is how many tests will be corrected together, ``together`` how
        many pairs of systems are looked at (`skew_p`).
        """
        listed = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        count = len(matrix.scales) * len(listed)
        known = {**pair_noises(matrix, pairs), **(noises or {})}
        by_row = {measure * len(listed) + pair: noise for (measure, pair), noise in known.items()}
        resamples = settings.resamples_for(count if family is None else family)
        scale = CACHED if settings.test == "t" else 1  # resamples are shared within a block
        parts = []
        for block in list(blocks(count, matrix.shape[2], scale)) or [slice(0, 0)]:
            chosen = np.arange(block.start, block.stop)
            by_query = matrix.pair_rows(chosen, listed)
            measures = chosen // max(len(listed), 1)
            changes = np.array([scale.change for scale in matrix.scales])[measures]
            noisy = {at: by_row[row] for at, row in enumerate(chosen.tolist()) if row in by_row}
            parts.append(_tested(matrix, by_query, changes, noisy, settings, resamples, together))
        if len(parts) == 1:
            return parts[0]
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if field.name != "units"
        }
        return cls(**columns, units=parts[0].units)

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def differing(self) -> IntArray:
        """How many units differ, by row."""
        return np.asarray(self.above + self.below)

    @property
    def floor(self) -> FloatArray:
        """The smallest p-value that any outcome on the units that differ could have."""
        return _floor(self.differing, self.units)

    def shown(self, corrected: npt.ArrayLike, alpha: float) -> BoolArray:
        """Tell which rows differ by more than chance, by their corrected p-values."""
        return np.asarray((np.asarray(corrected) <= alpha) & (self.mean != 0))

    def intervals(
        self, corrected: npt.ArrayLike, alpha: float, rows: IntArray | None = None
    ) -> list[Interval]:
        """Return the interval of each row (or of some ``rows``) that agrees with its test.

        It leaves α·p/p_corrected outside, the α that the correction leaves this row. Where that and
        the interval's own p-value disagree with the verdict (the floor holds, or another test
        decides), what is left outside moves until they agree.
        """
        rows = np.arange(len(self)) if rows is None else rows
        p_corrected = np.asarray(corrected, dtype=np.float64)[rows]
        shown, to_zero = (p_corrected <= alpha) & (self.mean[rows] != 0), self.p_interval[rows]
        outside = alpha * self.p[rows] / p_corrected
        moved = alpha * to_zero / p_corrected
        outside = np.where(~shown & (to_zero <= outside), np.minimum(outside, moved), outside)
        outside = np.where(
            shown & (to_zero > outside), np.minimum(moved, (1 + to_zero) / 2), outside
        )
        low, high = self._ends(np.clip(outside, FARTHEST, 1 - SAME), rows)
        low = np.where(shown, low, np.minimum(low, 0.0))  # whatever rounding does
        high = np.where(shown, high, np.maximum(high, 0.0))
        return self._made(low, high, 1 - outside, rows)

    def _ends(self, outside: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals that leave so much outside."""
        mean, error, size = self.mean[rows], self.error[rows], self.size[rows]
        functions = special()
        reach = np.full(len(rows), math.inf)
        student, single = np.isnan(size) & np.isfinite(error), ~np.isnan(size)
        quantile = functions.stdtrit(self.freedom[rows][student], outside[student] / 2)
        reach[student] = -quantile * error[student]
        low, high = mean - reach, mean + reach
        if single.any():
            z = -functions.ndtri(outside[single] / 2)
            counts = self.above[rows][single], self.below[rows][single]
            ends = score_interval(*counts, self.units, z)
            low[single], high[single] = size[single] * ends[0], size[single] * ends[1]
        return np.maximum(low, self.low[rows]), np.minimum(high, self.high[rows])

    def _made(
        self, low: FloatArray, high: FloatArray, level: FloatArray, rows: IntArray
    ) -> list[Interval]:
        methods = np.where(np.isnan(self.size[rows]), "t", "score")
        methods = np.where(self.noisy[rows], "t, with noise", methods).tolist()
        columns = zip(low.tolist(), high.tolist(), level.tolist(), methods, strict=True)
        return [
            Interval(low=start, high=end, level=confidence, method=method)
            for start, end, confidence, method in columns
        ]

    def equivalence_p(self, margin: float) -> FloatArray:
        """Return p-values of equivalence: is the mean difference shown to be within ±margin?

        Two one-sided t tests: p = max(P(T ≥ (x̄+m)/se), P(T ≤ (x̄−m)/se)). Where nothing varies (the
        same on every query) t has no answer; p is then the α at which what may not have been seen
        just fits: identical runs on n queries are equivalent within 3/n or so of the range.

        Reference: Schuirmann, J. Pharmacokinet. Biopharm. 1987.
        """
        functions = special()
        still = self.error == 0
        error = np.where(still, 1.0, self.error)
        above = functions.stdtr(self.freedom, (self.mean - margin) / error)
        below = functions.stdtr(self.freedom, -(self.mean + margin) / error)
        room = np.maximum(margin - np.abs(self.mean), 0.0)
        reach = np.maximum(self.high - self.mean, self.mean - self.low)
        unseen = np.maximum(1 - room / reach, 0.0) ** self.units
        return np.where(still, unseen, np.maximum(above, below))


def _tested(  # noqa: PLR0917
    matrix: Matrix,
    by_query: FloatArray,
    changes: FloatArray,
    noises: Mapping[int, Sequence[tuple[RunNoise, float]]],
    settings: Settings,
    resamples: int,
    together: int,
) -> Differences:
    """Describe and test differences ``[k, n]``; ``changes[k, 2]`` are the lowest and highest."""
    rows, shares = matrix.units(by_query), matrix.shares()
    mean, functions = row_means(rows), special()
    error, free = unit_errors(rows, mean, shares)
    freedom = np.full(len(rows), free)
    deviation = np.where(np.isfinite(error), error * math.sqrt(rows.shape[1]), 0.0)
    above, below = np.count_nonzero(rows > 0, axis=1), np.count_nonzero(rows < 0, axis=1)
    differing = above + below
    size = np.where((error == 0) & (mean != 0), np.abs(mean), _one_size(rows, changes[:, 1]))
    for row, noise in noises.items():
        error[row], freedom[row] = add_noise(error[row], free, noise)
        size[row] = math.nan
    noisy = np.isin(np.arange(len(rows)), list(noises))
    ratio = np.abs(mean) / np.where(error > 0, error, 1.0)
    z = np.abs(above - below) / np.sqrt(np.maximum(differing, 1))
    is_single = ~np.isnan(size)
    to_zero = 2 * np.where(is_single, functions.ndtr(-z), functions.stdtr(freedom, -ratio))
    to_zero = np.clip(to_zero, SMALLEST, 1.0)
    signs = sign_p(above, below)
    student = to_zero
    if rows.shape[1] >= LEAST:
        student = np.maximum(to_zero, skew_p(rows, ratio, freedom, together=together))
    p = np.where(is_single, signs, student)
    if settings.test != "t":
        p, _ = paired_tests(rows, test=settings.test, resamples=resamples, seed=settings.seed)
        if settings.test == "permutation":
            p = np.where(is_single, signs, p)  # all flips, counted
        p = np.where(
            noisy | (np.ptp(shares) > SAME), np.maximum(p, to_zero), p
        )  # only t knows noise and weights
    around = (mean * rows.shape[1] / np.maximum(differing, 1))[:, np.newaxis]
    squares = np.where(rows != 0, rows - around, 0.0) ** 2
    squares[squares <= (SAME * np.abs(around)) ** 2] = 0.0
    return Differences(
        mean=mean,
        error=error,
        freedom=freedom,
        deviation=deviation,
        above=above,
        below=below,
        wins=np.count_nonzero(by_query > 0, axis=1),
        losses=np.count_nonzero(by_query < 0, axis=1),
        spread=squares.sum(axis=1) / np.maximum(differing - 1, 1),
        size=size,
        p=np.maximum(p, _floor(differing, rows.shape[1])),
        p_interval=to_zero,
        low=changes[:, 0],
        high=changes[:, 1],
        noisy=noisy,
        units=rows.shape[1],
    )


def _one_size(rows: FloatArray, reach: FloatArray) -> FloatArray:
    """Return the size of all differences that are not 0 (``reach`` where none is), or NaN."""
    sizes = np.abs(rows)
    largest = sizes.max(axis=1)
    smallest = np.where(sizes > 0, sizes, math.inf).min(axis=1)
    alike = smallest >= largest * (1 - SAME)
    return np.where(largest == 0, reach, np.where(alike, largest, math.nan))


def _floor(differing: IntArray, units: int) -> FloatArray:
    """Return 2 / 2^d: of all sign flips of d differences, two are as extreme as can be."""
    if units < LEAST:
        return np.ones(len(differing))
    return np.clip(2.0 ** (1.0 - differing), SMALLEST, 1.0)


def score_interval(
    above: IntArray, below: IntArray, count: int, z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Tango's score interval of the difference of two paired shares, for each row.

    Of ``count`` units one system alone has the hit on ``above``, the other alone on ``below``. The
    interval holds every δ with |above − below − nδ| ≤ z·√(n(2q + δ(1−δ))), where q is the likeliest
    share of the second kind if the difference is δ. It has a width where no unit differs, and holds
    0 if and only if |above − below| ≤ z·√(above + below), as McNemar's test has it.

    Reference: Tango, Equivalence test and confidence interval for the difference in proportions for
    the paired-sample design, Statist. Med. 1998.

    >>> low, high = score_interval(np.array([8]), np.array([2]), 50, np.array([1.96]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (-0.005, 0.255)
    """
    won, count_both = above - below, above + below
    difference = won / count

    def is_inside(delta: FloatArray) -> BoolArray:
        linear = (2 * count - won) * delta - count_both
        root = np.sqrt(np.maximum(linear**2 + 8 * count * below * delta * (1 - delta), 0.0))
        second = np.maximum((root - linear) / (4 * count), 0.0)
        spread = np.maximum(count * (2 * second + delta * (1 - delta)), 0.0)
        return np.asarray(np.abs(won - count * delta) <= z * np.sqrt(spread))

    ends = []
    for farthest in (-1.0, 1.0):
        inside, outside = difference.astype(np.float64), np.full(len(difference), farthest)
        for _ in range(60):
            middle = (inside + outside) / 2
            holds = is_inside(middle)
            inside, outside = np.where(holds, middle, inside), np.where(holds, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]
