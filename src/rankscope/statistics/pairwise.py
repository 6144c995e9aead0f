"""Differences between systems: their intervals, and tests of each by itself.

What `rankscope.statistics.compared` (all pairs of a family), strata, analyses and the comparison of
experiments share. A `Matrix` holds ``values[m, s, n]``: measures × systems × queries.

A verdict and the interval beside it never contradict each other: the interval shown is the one that
holds for all pairs of the family at once, and it holds 0 if and only if the test does not separate
the pair (`agreeing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rankscope.statistics.arrays import row_means, special
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.noise import RunNoise, noisy_difference, run_noise
from rankscope.statistics.paired import TestResult, paired_tests

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.matrix import Matrix, Scale
    from rankscope.statistics.pair import Verdict
    from rankscope.statistics.settings import Settings

SMALL = 1e-3
"""The part of a difference by which an interval that does not hold 0 stays away from it."""

Noises = Mapping[tuple[int, int], Sequence[tuple[RunNoise, float]]]
"""Noise of systems themselves, by measure and pair, with how often it is in the difference."""


# --- intervals -----------------------------------------------------------------------------------


def mean_rows(matrix: Matrix, settings: Settings) -> list[Interval]:
    """Return the interval of the mean of each measure and system, ``m * s`` of them."""
    rows = matrix.values.reshape(-1, matrix.shape[2])
    bounds = [scale.bounds for scale in matrix.row_scales()]
    if matrix.sample is not None:
        return matrix.sample.intervals(rows, level=settings.level, bounds=bounds)
    return mean_intervals(
        rows, method=settings.interval, bounds=bounds, level=settings.level, **settings.resampling
    )


def difference_intervals(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    level: float,
    noises: Noises | None = None,
) -> list[Interval]:
    """Return Student's interval of each difference, measure by measure, one by itself.

    It is for new clusters where queries belong together, and for new runs too where noise is known.
    """
    rows = matrix.query_differences(pairs)
    bounds = [scale.change for scale in matrix.scales for _ in pairs]
    by_row = {
        measure * len(pairs) + pair: noise for (measure, pair), noise in (noises or {}).items()
    }
    return row_intervals(matrix, rows, bounds, level, by_row)


def row_intervals(
    matrix: Matrix,
    rows: FloatArray,
    bounds: Sequence[tuple[float, float]],
    level: float,
    noises: Mapping[int, Sequence[tuple[RunNoise, float]]],
) -> list[Interval]:
    """Return the interval of each row of differences; ``noises`` are those of some rows."""
    if matrix.sample is not None:
        intervals = matrix.sample.intervals(rows, level=level, bounds=bounds)
    else:
        intervals = mean_intervals(rows, method="t", level=level, bounds=bounds)
    for place, noise in noises.items():
        row = matrix.units(rows[place : place + 1])
        wider = noisy_difference(row, noise, level=level, bounds=bounds[place])
        intervals[place] = Interval(
            low=min(wider.low, intervals[place].low),
            high=max(wider.high, intervals[place].high),
            level=level,
            method="t, with noise",
            note=wider.note,
        )
    return intervals


def agreeing(interval: Interval, difference: float, p: float, alpha: float) -> Interval:
    """Return an interval that holds 0 if and only if the p-value is above alpha.

    Student's interval and a test that flips signs (or counts ranks, or is corrected step by step)
    differ a little, and near alpha they may contradict each other. There the end next to 0 goes
    where the p-value puts it: the distance from the difference to 0 is z(p) standard errors by the
    test's own account, so the end is z(alpha) of these away.

    >>> interval = Interval(low=-0.01, high=0.2, level=0.95, method="t")
    >>> round(agreeing(interval, 0.1, 0.04, 0.05).low, 4)
    0.0046
    """
    low, high = interval.low, interval.high
    separated = p <= alpha and difference != 0
    if separated != (low <= 0 <= high):
        return interval
    size = abs(difference)
    errors = -float(special().ndtri(p / 2)) if 0 < p < 1 else 0.0
    reach = 2 * size if not errors else -float(special().ndtri(alpha / 2)) / errors * size
    reach = min(reach, 2 * size)
    if separated:  # never at 0 itself, not even where p is alpha
        reach = min(reach, (1 - SMALL) * size)
        note = "the end next to 0 is where the test puts it"
    else:
        reach = max(reach, size)
        note = "reaches to 0 because the test does"
    end = {"low": difference - reach} if difference > 0 else {"high": difference + reach}
    if not separated and difference == 0:
        end = {"low": min(low, 0.0), "high": max(high, 0.0)}
    notes = "; ".join(filter(None, (interval.note, note)))
    return interval.model_copy(update={**end, "note": notes})


# --- groups of queries, stages, experiments: differences tested one by one -----------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference: where it lies, and whether it is more than chance."""

    mean: float
    interval: Interval
    test: TestResult

    def in_family(self, p: float, alpha: float) -> Difference:
        """Return it with an interval that agrees with its corrected p-value."""
        return replace(self, interval=agreeing(self.interval, self.mean, p, alpha))


def differences_alone(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    family: int = 1,
    noises: Noises | None = None,
) -> list[Difference]:
    """Describe and test the differences of pairs, measure by measure; p is not corrected.

    ``family``: how many tests will be corrected together; the intervals hold for all of them.
    ``noises``: how far systems move by themselves, beside what the matrix knows.
    """
    rows = matrix.differences(pairs)
    noises = {**repeat_noises(matrix, pairs), **(noises or {})}
    level = family_level(settings.level, family, settings)
    intervals = difference_intervals(matrix, pairs, level, noises)
    tests = paired_tests(rows, test=settings.single_test, **settings.resampling)
    for (measure, pair), noise in noises.items():
        row = measure * len(pairs) + pair
        p = noisy_difference(rows[row], noise, level=settings.level).p
        tests[row] = replace(tests[row], p=max(tests[row].p, p))
    return list(map(Difference, row_means(rows).tolist(), intervals, tests))


def repeat_noises(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> Noises:
    """Return how far systems that were asked more than once move by themselves, by pair.

    A difference holds one run of each system. Systems whose runs are all the same have no noise.
    """
    if not matrix.repeats:
        return {}
    known = {
        (name, measure): run_noise(matrix.units(table))
        for name, runs in matrix.repeats.items()
        for measure, table in enumerate(runs)
    }
    noises = {}
    for place, pair in enumerate(pairs):
        names = [matrix.systems[system] for system in pair]
        for measure in range(len(matrix.scales)):
            noise = [known[name, measure] for name in names if (name, measure) in known]
            moving = [(each, 1.0) for each in noise if each.deviation > 0]
            if moving:
                noises[measure, place] = moving
    return noises


def family_level(level: float, family: int, settings: Settings) -> float:
    """Return the confidence of one interval, so that those of a family hold at once."""
    return level if settings.correction in ("none", "bh") else 1 - (1 - level) / family


def decided(difference: float, p_corrected: float, scale: Scale, alpha: float) -> Verdict:
    """Return what a test of a mean difference shows."""
    if p_corrected > alpha or not difference:
        return "no difference shown"
    return "better" if scale.is_better(difference) else "worse"
