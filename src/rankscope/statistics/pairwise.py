"""Pairs of systems: every number about a difference, corrected over its family, and a verdict.

The one engine behind `compare`, `gate`, strata, analyses and the comparison of experiments. This is
where intervals, tests, correction, effect sizes, power and equivalence come together. A `Matrix`
holds ``values[m, s, n]``: measures × systems × queries.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from pydantic import model_validator

from rankscope.errors import InputError
from rankscope.part import Part, Unbounded
from rankscope.statistics import sentences
from rankscope.statistics.arrays import (
    SAME,
    FloatArray,
    check_alpha,
    check_level,
    check_name,
    check_resamples,
    constant_rows,
    row_deviations,
    row_means,
)
from rankscope.statistics.correction import CORRECTIONS, Correction, corrected
from rankscope.statistics.detectable import POWER, detectable_difference
from rankscope.statistics.effects import Effect, paired_effects
from rankscope.statistics.equivalence import Equivalence, check_margin, equivalence_tests
from rankscope.statistics.groups import letters
from rankscope.statistics.intervals import METHODS, Interval, Method, mean_intervals
from rankscope.statistics.many import range_tests
from rankscope.statistics.paired import TESTS, Test, TestResult, paired_tests

if TYPE_CHECKING:
    from rankscope.statistics.matrix import Matrix, Scale

PairTest = Test | Literal["tukey"]
PAIR_TESTS: tuple[PairTest, ...] = (*TESTS, "tukey")
Family = Literal["measure", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Verdict = Literal["better", "worse", "no difference shown", "equivalent"]


class Settings(Part):
    """How systems are compared; docs/statistics.md says why these are the defaults."""

    test: PairTest = "permutation"
    """The paired test; tukey tests all pairs at once."""
    correction: Correction = "holm"
    """How p-values are corrected for how many there are."""
    family: Family = "measure"
    """What they are corrected over: the pairs of one measure, or all pairs of all measures."""
    alpha: float = 0.05
    """A corrected p-value up to this counts as a difference."""
    interval: Method = "bca"
    """The method of intervals."""
    level: float = 0.95
    """The confidence of intervals."""
    resamples: int = 10_000
    """How many resamples tests and intervals draw."""
    seed: int = 0
    """Of all that is drawn."""
    margin: float | None = None
    """Differences within it do not matter: systems can be shown to be equivalent; null: none."""

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Make settings of what a user gave; a name that is not known is refused with the nearest.

        Anything else that cannot be computed is an `InputError`.
        """
        for option, what, known in (
            ("test", "test", PAIR_TESTS),
            ("correction", "correction", CORRECTIONS),
            ("family", "family", FAMILIES),
            ("interval", "interval method", METHODS),
        ):
            if option in options:
                check_name(what, options[option], known)
        settings = cls(**options)
        check_alpha(settings.alpha)
        check_level(settings.level)
        check_resamples(settings.resamples)
        if not 0 <= settings.seed < 2**128:
            raise InputError(f"seed must be a whole number from 0 up, not {settings.seed}")
        if settings.margin is not None:
            check_margin(settings.margin)
        return settings

    @property
    def resampling(self) -> dict[str, Any]:
        """The options of functions that resample."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def single_test(self) -> Test:
        """The test of a single pair: permutation where all pairs are tested at once."""
        return "permutation" if self.test == "tukey" else self.test

    @property
    def is_simultaneous(self) -> bool:
        """Whether the test itself holds for the whole family, so that no correction is added."""
        return self.test == "tukey" and self.family == "measure"


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
    """Of the difference."""
    relative: float | None
    """The difference as a part of the base's mean; null where that is 0."""
    wins: int
    """Queries on which the system is better."""
    ties: int
    """Queries on which both are the same."""
    losses: int
    """Queries on which the base is better."""
    effect: Effect
    """How large the difference is; docs/statistics.md says what the numbers mean."""
    p: float
    """Of the test, before correction."""
    p_corrected: float
    """Corrected over the family of tests."""
    method: str
    """The test, and how its p-value was found."""
    verdict: Verdict
    """What the test shows."""
    detectable: Unbounded
    """The smallest true difference these queries show with power 0.8 after the correction; null if
    there is none."""
    equivalence: Equivalence | None = None
    """Whether they are the same within the margin; null where none was given."""

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
    def is_same(self) -> bool:
        """Whether both have the same value on every query."""
        return self.ties == self.queries

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers behind it."""
        return f"{self.measure}: {sentences.pair_sentence(self)}"


def differences(base: FloatArray, system: FloatArray) -> FloatArray:
    """Return system − base; what differs by rounding only is 0."""
    change = system - base
    rounding = SAME * np.maximum(np.abs(system), np.abs(base))
    return np.where(np.abs(change) <= rounding, 0.0, change)


def pair_differences(matrix: Matrix, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Return the differences of pairs (base, system) as ``[m * pairs, n]``, measure by measure."""
    bases, systems = ([pair[side] for pair in pairs] for side in (0, 1))
    changes = differences(matrix.values[:, bases], matrix.values[:, systems])
    return changes.reshape(-1, matrix.shape[2])


def row_intervals(
    rows: FloatArray,
    scales: Sequence[Scale],
    settings: Settings,
    *,
    proportions: Collection[str] = (),
    of_differences: bool = False,
) -> list[Interval]:
    """Return the interval of each row's mean.

    ``proportions`` are the measures whose values are all 0 and 1 (`Matrix.proportions`): Wilson's
    interval, if it is asked for, is for these only; other values and differences get BCa.
    """
    options: Any = {"level": settings.level, **settings.resampling}
    bounds = [scale.change if of_differences else scale.bounds for scale in scales]
    if settings.interval != "wilson":
        return mean_intervals(rows, method=settings.interval, bounds=bounds, **options)
    intervals = mean_intervals(rows, method="bca", bounds=bounds, **options)
    for row, scale in enumerate(scales):
        if scale.name in proportions:
            [intervals[row]] = mean_intervals(rows[row], method="wilson", **options)
    return intervals


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of differences: its mean, where that lies, and whether it is more than chance."""

    mean: float
    interval: Interval
    test: TestResult


def tested(rows: FloatArray, scales: Sequence[Scale], settings: Settings) -> list[Difference]:
    """Describe and test each row of differences by itself; p-values are not corrected."""
    means = row_means(rows).tolist()
    intervals = row_intervals(rows, scales, settings, of_differences=True)
    tests = paired_tests(rows, test=settings.single_test, **settings.resampling)
    return list(map(Difference, means, intervals, tests))


@dataclass(frozen=True, slots=True, eq=False)
class PairTests:
    """The test of every pair: p-values as ``[m, s, s]``, and how each was found."""

    p: FloatArray
    methods: dict[tuple[int, int, int], str]


def pair_tests(matrix: Matrix, settings: Settings) -> PairTests:
    """Test all pairs of systems; which one is the base makes no difference."""
    measures, systems, _ = matrix.shape
    pairs = list(combinations(range(systems), 2))
    places = [(measure, *pair) for measure in range(measures) for pair in pairs]
    if settings.test == "tukey":
        p_values = np.array([range_tests(table, **settings.resampling) for table in matrix.values])
        methods = [f"randomised Tukey, {settings.resamples:,} resamples"] * len(places)
        return PairTests(p_values, dict(zip(places, methods, strict=True)))
    rows = pair_differences(matrix, pairs)
    results = paired_tests(rows, test=settings.test, **settings.resampling)
    p_values = np.ones((measures, systems, systems))
    for (measure, first, second), result in zip(places, results, strict=True):
        p_values[measure, first, second] = p_values[measure, second, first] = result.p
    methods = [result.method for result in results]
    return PairTests(p_values, dict(zip(places, methods, strict=True)))


def _over_family(p_values: FloatArray, family: Family, correction: Correction) -> FloatArray:
    """Correct ``[m, pairs]`` p-values over each measure's pairs, or over all of them."""
    if family == "all":
        return corrected(p_values.ravel(), correction).reshape(p_values.shape)
    return np.array([corrected(row, correction) for row in p_values])


def group_letters(matrix: Matrix, settings: Settings, tests: PairTests) -> list[list[str]]:
    """Return letters for each measure and system, from the family-wise test of all pairs.

    Two systems share a letter if and only if that test does not separate them. Corrections that do
    not bound the chance of any false alarm (none, bh) are replaced by Holm's here.
    """
    systems = len(matrix.systems)
    pairs = list(combinations(range(systems), 2))
    p_values = np.array([[table[pair] for pair in pairs] for table in tests.p])
    if not settings.is_simultaneous:
        strict = settings.correction in ("holm", "bonferroni")
        correction: Correction = settings.correction if strict else "holm"
        p_values = _over_family(p_values, settings.family, correction)
    by_measure = []
    for table, scale, row in zip(matrix.values, matrix.scales, p_values, strict=True):
        apart = np.zeros((systems, systems), dtype=bool)
        for (first, second), p in zip(pairs, row, strict=True):
            apart[first, second] = apart[second, first] = p <= settings.alpha
        means = row_means(table)
        best_first = np.argsort(-means if scale.higher_is_better else means, kind="stable")
        by_measure.append(letters(apart, best_first.tolist()))
    return by_measure


def compare_pairs(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
    *,
    tests: PairTests | None = None,
    power: float = POWER,
) -> list[Pair]:
    """Compare pairs (base, system), measure by measure.

    A verdict of better or worse needs a corrected p-value of at most alpha, and a mean difference
    in that direction (for the Wilcoxon and sign tests also more wins than losses). With a margin,
    a pair whose two one-sided t tests, corrected likewise, rule out a difference as large as the
    margin is equivalent, be the difference significant or not.

    ``tests`` are those of all pairs, if they were made already; ``power`` is the one with which
    the smallest detectable difference is seen.
    """
    tests = tests or pair_tests(matrix, settings)
    rows = pair_differences(matrix, pairs)
    scales = [scale for scale in matrix.scales for _ in pairs]
    places = [(measure, *pair) for measure in range(len(matrix.scales)) for pair in pairs]
    p_values = np.array([[table[pair] for pair in pairs] for table in tests.p])
    adjusted = p_values
    if not settings.is_simultaneous:
        adjusted = _over_family(p_values, settings.family, settings.correction)
    means = np.stack([row_means(table) for table in matrix.values])  # [m, s]
    changes = row_means(rows).tolist()
    intervals = row_intervals(rows, scales, settings, of_differences=True)
    effects = paired_effects(rows, level=settings.level)
    detectable = _detectable(rows, len(pairs), settings, power)
    equivalence = _equivalence(rows, scales, settings)
    compared = []
    for row, (measure, base, system) in enumerate(places):
        scale, base_mean = scales[row], float(means[measure, base])
        gains = rows[row] if scale.higher_is_better else -rows[row]
        wins, losses = int(np.count_nonzero(gains > 0)), int(np.count_nonzero(gains < 0))
        p_corrected = float(adjusted.flat[row])
        verdict: Verdict = _verdict(changes[row], p_corrected, wins - losses, scale, settings)
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
                interval=intervals[row],
                relative=changes[row] / base_mean if base_mean else None,
                wins=wins,
                ties=len(gains) - wins - losses,
                losses=losses,
                effect=effects[row],
                p=float(p_values.flat[row]),
                p_corrected=p_corrected,
                method=tests.methods[measure, min(base, system), max(base, system)],
                verdict=verdict,
                detectable=detectable[row],
                equivalence=equivalence[row],
            )
        )
    return compared


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


def _detectable(rows: FloatArray, pairs: int, settings: Settings, power: float) -> list[float]:
    """Return the smallest difference each row would show, at the hardest step of the correction."""
    family = len(rows) if settings.family == "all" else pairs
    strict = settings.correction in ("holm", "bonferroni") or settings.test == "tukey"
    alpha = settings.alpha / family if strict else settings.alpha
    varying = ~constant_rows(rows)
    spreads = np.zeros(len(rows))
    if varying.any():
        spreads[varying] = row_deviations(rows[varying])
    return [
        detectable_difference(n=rows.shape[1], sd=sd, alpha=alpha, power=power)
        for sd in spreads.tolist()
    ]


def _equivalence(
    rows: FloatArray, scales: Sequence[Scale], settings: Settings
) -> Sequence[Equivalence | None]:
    """Test equivalence within the margin, corrected over the same family as the differences."""
    if settings.margin is None:
        return [None] * len(rows)
    tests = equivalence_tests(
        rows,
        margin=settings.margin,
        alpha=settings.alpha,
        bounds=[scale.change for scale in scales],
    )
    p_values = np.array([1.0 if test.p is None else test.p for test in tests])
    measures = len(dict.fromkeys(scale.name for scale in scales))
    table = p_values.reshape(measures, -1)
    adjusted = _over_family(table, settings.family, settings.correction).ravel().tolist()
    return [
        test.model_copy(update={"p": p, "equivalent": p <= settings.alpha})
        for test, p in zip(tests, adjusted, strict=True)
    ]
