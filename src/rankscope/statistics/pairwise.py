"""Pairs of systems: every number about a difference, corrected over its family, and a verdict.

The one engine behind `compare`, `gate`, strata, analyses and the comparison of experiments. This is
where intervals, tests, correction, effect sizes, power and equivalence come together. A `Matrix`
holds ``values[m, s, n]``: measures × systems × queries.

A verdict and the interval beside it never contradict each other: the interval shown is the one that
holds for all pairs of the family at once, and it holds 0 if and only if the test does not separate
the pair (`agreeing`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import model_validator

from rankscope.errors import InputError
from rankscope.part import Part, Unbounded, left_out
from rankscope.scoring.bounds import DifferenceBounds
from rankscope.statistics import sentences
from rankscope.statistics.arrays import row_means, special
from rankscope.statistics.bayes import Posterior, posteriors
from rankscope.statistics.clusters import cluster_tests
from rankscope.statistics.detectable import POWER
from rankscope.statistics.effects import Effect, paired_effects
from rankscope.statistics.equivalence import Equivalence, equivalence_tests
from rankscope.statistics.family import FamilyTests, family_tests, over_family
from rankscope.statistics.groups import as_good_as_best, letters
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.noise import RunNoise, noisy_difference
from rankscope.statistics.paired import TestResult, paired_tests
from rankscope.statistics.reach import detectable_rows

if TYPE_CHECKING:
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.matrix import Matrix, Scale
    from rankscope.statistics.settings import Settings

Verdict = Literal["better", "worse", "no difference shown", "equivalent"]

LETTERED = 15
"""Up to so many systems letters are read; more systems are listed as near the best or not."""

SMALL = 1e-3
"""The part of a difference by which an interval that does not hold 0 stays away from it."""

Noises = Mapping[tuple[int, int], Sequence[tuple[RunNoise, float]]]
"""Noise of systems themselves, by measure and pair, with how often it is in the difference."""


class Pair(Part):
    """One system against another on one measure; differences are system − base."""

    measure: str
    """The measure."""
    base: str
    """The system compared with."""
    system: str
    """The system compared."""
    queries: int
    """Queries compared."""
    base_mean: float
    """Mean of the base."""
    system_mean: float
    """Mean of the system."""
    difference: float
    """Mean of system minus base."""
    interval: Interval
    """Of the difference, for this pair alone."""
    simultaneous: Interval | None = None
    """Of the difference, for all pairs of the family at once: it holds 0 if and only if the
    difference is not shown. Null in records of older versions."""
    relative: float | None
    """The difference as a part of the base's mean; null where that is 0."""
    wins: int
    """Queries on which the system is better."""
    ties: int
    """Queries on which both are the same."""
    losses: int
    """Queries on which the base is better."""
    effect: Effect
    """How large the difference is; docs/explanation/statistics.md says what the numbers mean."""
    p: float
    """Of the test, before correction; a test of all pairs at once needs none."""
    p_corrected: float
    """Corrected over the family of tests."""
    family: int | None = None
    """How many tests are in that family; null in records of older versions."""
    method: str
    """The test, and how its p-value was found."""
    verdict: Verdict
    """What the test shows."""
    drawn: int | None = None
    """How many units of chance there are: queries, or clusters of them; null in older records."""
    differing: int | None = None
    """How many of those differ; null in older records."""
    decidable: bool = True
    """Whether any outcome on the queries that differ could have been significant."""
    detectable: Unbounded
    """About the smallest true difference that queries like these show with power 0.8, at the
    hardest step of the correction; null if there is none within the measure's range."""
    equivalence: Equivalence | None = None
    """Whether they are the same within the margin; null where none was given."""
    posterior: Posterior | None = None
    """How probable better, within the margin and worse are; null where no margin was given."""
    holes: DifferenceBounds | None = left_out()
    """How far unjudged documents could move the difference; left out unless that is asked for."""

    @model_validator(mode="before")
    @classmethod
    def _infinite_effects_have_a_sign(cls, data: Any) -> Any:
        """Read an infinite effect, which is null in JSON, with the sign of the difference."""
        effect = data.get("effect") if isinstance(data, dict) else None
        if isinstance(effect, dict) and effect.get("d", 0.0) is None:
            infinite = float("-inf") if data["difference"] < 0 else float("inf")
            return {**data, "effect": {**effect, "d": infinite, "hedges": infinite}}
        return data

    @property
    def shown(self) -> Interval:
        """The interval that agrees with the verdict."""
        return self.interval if self.simultaneous is None else self.simultaneous

    @property
    def is_same(self) -> bool:
        """Whether both have the same value on every query."""
        return self.ties == self.queries

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers behind it."""
        return f"{self.measure}: {sentences.pair_sentence(self)}"


# --- intervals -----------------------------------------------------------------------------------


def mean_rows(
    matrix: Matrix, settings: Settings, *, proportions: Collection[str] | None = None
) -> list[Interval]:
    """Return the interval of the mean of each measure and system, ``m * s`` of them.

    ``proportions`` are the measures whose values are all 0 and 1: Wilson's interval, if it is asked
    for, is for these only, other values get BCa.
    """
    rows = matrix.values.reshape(-1, matrix.shape[2])
    scales = matrix.row_scales()
    bounds = [scale.bounds for scale in scales]
    if matrix.sample is not None:
        return matrix.sample.intervals(rows, level=settings.level, bounds=bounds)
    options: Any = {"level": settings.level, **settings.resampling}
    if settings.interval != "wilson":
        return mean_intervals(rows, method=settings.interval, bounds=bounds, **options)
    intervals = mean_intervals(rows, method="bca", bounds=bounds, **options)
    shares = matrix.proportions if proportions is None else proportions
    for row, scale in enumerate(scales):
        if scale.name in shares:
            [intervals[row]] = mean_intervals(rows[row], method="wilson", **options)
    return intervals


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
    if matrix.sample is not None:
        intervals = matrix.sample.intervals(rows, level=level, bounds=bounds)
    else:
        intervals = mean_intervals(rows, method="t", level=level, bounds=bounds)
    for (measure, pair), noise in (noises or {}).items():
        place = measure * len(pairs) + pair
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
    matrix: Matrix, pairs: Sequence[tuple[int, int]], settings: Settings, *, family: int = 1
) -> list[Difference]:
    """Describe and test the differences of pairs, measure by measure; p is not corrected.

    ``family``: how many tests will be corrected together; the intervals hold for all of them.
    """
    rows = matrix.differences(pairs)
    intervals = difference_intervals(matrix, pairs, family_level(settings.level, family, settings))
    tests = paired_tests(rows, test=settings.single_test, **settings.resampling)
    return list(map(Difference, row_means(rows).tolist(), intervals, tests))


def family_level(level: float, family: int, settings: Settings) -> float:
    """Return the confidence of one interval, so that those of a family hold at once."""
    return level if settings.correction in ("none", "bh") else 1 - (1 - level) / family


# --- the comparison ------------------------------------------------------------------------------


def compare_pairs(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    tests: FamilyTests | None = None,
    noises: Noises | None = None,
    power: float = POWER,
) -> list[Pair]:
    """Compare pairs (base, system), measure by measure.

    A verdict of better or worse needs a corrected p-value of at most alpha, and a mean difference
    in that direction (for the Wilcoxon and sign tests also more wins than losses). With a margin,
    a pair whose two one-sided t tests, corrected likewise, rule out a difference as large as the
    margin is equivalent, be the difference significant or not.

    ``tests`` are those of the pairs, if they were made already; ``noises`` what is known of how
    far systems move by themselves; ``power`` is the one with which the smallest detectable
    difference is seen.
    """
    tests = tests or family_tests(matrix, pairs, settings)
    rows = matrix.query_differences(pairs)
    units = matrix.units(rows)
    scales = [scale for scale in matrix.scales for _ in pairs]
    p_values, adjusted = _with_noise(tests, matrix, rows, noises or {}, settings)
    means = matrix.means()  # [m, s]
    changes = row_means(units).tolist()
    alone = difference_intervals(matrix, pairs, settings.level, noises)
    at_once = alone
    level = family_level(1 - settings.alpha, tests.size, settings)
    if level != settings.level:
        at_once = difference_intervals(matrix, pairs, level, noises)
    effects = paired_effects(units, level=settings.level)
    detectable = _detectable(units, scales, tests, power)
    equivalence = _equivalence(units, scales, settings)
    probable = _probable(units, scales, settings)
    above_alpha = math.nextafter(settings.alpha, 1.0)
    weighted = matrix.sample is not None and matrix.sample.weights is not None
    noisy = noises or {}  # no number of queries shows what runs of one system hide
    compared = []
    for row, scale in enumerate(scales):
        measure, place = divmod(row, len(pairs))
        base, system = pairs[place]
        base_mean = float(means[measure, base])
        gains = rows[row] if scale.higher_is_better else -rows[row]
        wins, losses = int(np.count_nonzero(gains > 0)), int(np.count_nonzero(gains < 0))
        p_corrected = float(adjusted.flat[row])
        verdict: Verdict = _verdict(changes[row], p_corrected, wins - losses, scale, settings)
        shown_p = p_corrected if verdict in ("better", "worse") else max(p_corrected, above_alpha)
        shown = agreeing(at_once[row], changes[row], shown_p, settings.alpha)
        shown = shown.model_copy(update={"level": 1 - settings.alpha})
        if (same := equivalence[row]) is not None and same.equivalent:
            verdict = "equivalent"
        compared.append(
            Pair(
                measure=scale.name,
                base=matrix.systems[base],
                system=matrix.systems[system],
                queries=len(gains),
                base_mean=base_mean,
                system_mean=float(means[measure, system]),
                difference=changes[row],
                interval=shown if tests.size == 1 and level == settings.level else alone[row],
                simultaneous=shown,
                relative=changes[row] / base_mean if base_mean else None,
                wins=wins,
                ties=len(gains) - wins - losses,
                losses=losses,
                effect=effects[row],
                p=float(p_values.flat[row]),
                p_corrected=p_corrected,
                family=1 if settings.correction == "none" else tests.size,
                method=tests.methods[row],
                verdict=verdict,
                drawn=units.shape[1],
                differing=int(np.count_nonzero(units[row])),
                decidable=bool(tests.floor.flat[row] <= settings.alpha),
                detectable=math.inf if weighted or (measure, place) in noisy else detectable[row],
                equivalence=equivalence[row],
                posterior=probable[row],
            )
        )
    return compared


MOST_TOGETHER = 50
"""Of more systems than this only the pairs that are asked about are compared."""


def compare_with_all(
    matrix: Matrix, pairs: Sequence[tuple[int, int]], settings: Settings
) -> list[Pair]:
    """Compare pairs (base, system) by the first measure, as one family with all other pairs.

    So what an analysis says of two systems never contradicts a comparison of all of them.
    """
    known = {frozenset(pair) for pair in pairs}
    count = len(matrix.systems)
    others = [pair for pair in combinations(range(count), 2) if frozenset(pair) not in known]
    family = [*pairs, *(others if count <= MOST_TOGETHER else [])]
    return compare_pairs(matrix.only_measures(1), family, settings)[: len(pairs)]


def system_groups(
    matrix: Matrix, pairs: Sequence[tuple[int, int]], compared: Sequence[Pair]
) -> list[tuple[list[str], set[int]]]:
    """Return letters of each system, and who is not separated from the best, by measure.

    The pairs must be all pairs, and their own tests decide: two systems share a letter if and only
    if no difference between them is shown. Of more than `LETTERED` systems there are no letters.
    """
    systems = len(matrix.systems)
    groups = []
    for measure, scale in enumerate(matrix.scales):
        apart = np.zeros((systems, systems), dtype=bool)
        for place, (base, system) in enumerate(pairs):
            pair = compared[measure * len(pairs) + place]
            apart[base, system] = apart[system, base] = pair.verdict in ("better", "worse")
        means = matrix.means()[measure]
        order = np.argsort(-means if scale.higher_is_better else means, kind="stable").tolist()
        labels = letters(apart, order) if systems <= LETTERED else [""] * systems
        groups.append((labels, set(as_good_as_best(apart, order))))
    return groups


def _with_noise(
    tests: FamilyTests, matrix: Matrix, rows: FloatArray, noises: Noises, settings: Settings
) -> tuple[FloatArray, FloatArray]:
    """Return p-values before and after correction, no smaller than noise and weights allow.

    Where few queries have most of the weight, flips of their signs promise more than the t test of
    the weighted mean, which knows how many queries that is worth.
    """
    sample = matrix.sample
    if not noises and (sample is None or sample.weights is None):
        return tests.p, tests.corrected
    p_values = tests.p.copy()
    by_t = np.zeros(p_values.shape)
    if sample is not None and sample.weights is not None:
        tested = cluster_tests(rows, clusters=sample.clusters, weights=sample.weights, test="t")
        by_t = np.array(tested).reshape(p_values.shape)
        p_values = np.maximum(p_values, by_t)
    units = matrix.units(rows)
    for (measure, pair), noise in noises.items():
        row = measure * p_values.shape[1] + pair
        p = noisy_difference(units[row], noise, level=settings.level).p
        by_t[measure, pair] = max(by_t[measure, pair], p)
        p_values[measure, pair] = max(p_values[measure, pair], by_t[measure, pair])
    return p_values, np.maximum(tests.corrected, over_family(by_t, settings))


def _verdict(
    difference: float, p_corrected: float, more_wins: int, scale: Scale, settings: Settings
) -> Verdict:
    by_rank = settings.test in ("wilcoxon", "sign")  # these do not test the mean
    gain = difference if scale.higher_is_better else -difference
    if by_rank and gain * more_wins <= 0:
        return "no difference shown"
    return decided(difference, p_corrected, scale, settings.alpha)


def decided(difference: float, p_corrected: float, scale: Scale, alpha: float) -> Verdict:
    """Return what a test of a mean difference shows."""
    if p_corrected > alpha or not difference:
        return "no difference shown"
    return "better" if scale.is_better(difference) else "worse"


def _detectable(
    units: FloatArray, scales: Sequence[Scale], tests: FamilyTests, power: float
) -> list[float]:
    """Return the smallest difference each row would show, at the hardest step of the correction."""
    pairs = tests.p.shape[1]
    answers = []
    for measure, alpha in enumerate(tests.step.tolist()):
        rows = slice(measure * pairs, (measure + 1) * pairs)
        largest = scales[rows.start].change[1]
        answers += detectable_rows(units[rows], alpha=alpha, power=power, largest=largest).tolist()
    return answers


def _equivalence(
    units: FloatArray, scales: Sequence[Scale], settings: Settings
) -> Sequence[Equivalence | None]:
    """Test equivalence within the margin, corrected over the same family as the differences."""
    if settings.margin is None:
        return [None] * len(units)
    for scale in scales:
        if settings.margin >= scale.change[1]:
            raise InputError(
                f"margin is {settings.margin:g}, and {scale.name} cannot differ by more than "
                f"{scale.change[1]:g}; name one below that, such as 0.02"
            )
    tests = equivalence_tests(
        units,
        margin=settings.margin,
        alpha=settings.alpha,
        bounds=[scale.change for scale in scales],
    )
    p_values = np.array([1.0 if test.p is None else test.p for test in tests])
    measures = len(dict.fromkeys(scale.name for scale in scales))
    adjusted = over_family(p_values.reshape(measures, -1), settings).ravel().tolist()
    return [
        test.model_copy(update={"p": p, "equivalent": p <= settings.alpha})
        for test, p in zip(tests, adjusted, strict=True)
    ]


def _probable(
    units: FloatArray, scales: Sequence[Scale], settings: Settings
) -> Sequence[Posterior | None]:
    """Return how probable better, within the margin and worse are; of losses where less is more."""
    if settings.margin is None:
        return [None] * len(units)
    answers: list[Posterior | None] = []
    for row, scale in zip(units, scales, strict=True):
        gains = row if scale.higher_is_better else -row
        low, high = scale.change
        reach = max(high, -low, float(np.abs(row).max()))
        answers += posteriors(gains, margin=settings.margin, bounds=(-reach, reach))
    return answers
