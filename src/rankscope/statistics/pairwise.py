"""Pairs of systems: every number about a difference, corrected over its family, and a verdict.

This is where intervals, tests, correction, effect sizes, power and equivalence come together;
``values[m, s, n]`` holds measures × systems × queries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rankscope.errors import InputError
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
from rankscope.statistics.effects import Effect, paired_effects
from rankscope.statistics.equivalence import Equivalence, check_margin, equivalence_tests
from rankscope.statistics.intervals import METHODS, Interval, Method, mean_intervals
from rankscope.statistics.many import letters, range_tests
from rankscope.statistics.paired import TESTS, Test, paired_tests
from rankscope.statistics.power import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "FAMILIES",
    "PAIR_TESTS",
    "POWER",
    "Family",
    "Pair",
    "PairTest",
    "PairTests",
    "Scale",
    "Settings",
    "Verdict",
    "compare_pairs",
    "group_letters",
    "pair_tests",
]

PairTest = Test | Literal["tukey"]
PAIR_TESTS: tuple[PairTest, ...] = (*TESTS, "tukey")
Family = Literal["measure", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
Verdict = Literal["better", "worse", "no difference shown", "equivalent"]

POWER = 0.8
"""With this power the smallest detectable difference is named."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How systems are compared; the defaults are the ones documented in docs/statistics.md."""

    test: PairTest = "permutation"
    correction: Correction = "holm"
    family: Family = "measure"
    """What p-values are corrected over: the pairs of one measure, or all pairs of all measures."""
    alpha: float = 0.05
    interval: Method = "bca"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    margin: float | None = None
    """With a margin, differences within it can be shown to be equivalent."""

    @property
    def resampling(self) -> dict[str, Any]:
        """The options of functions that resample."""
        return {"resamples": self.resamples, "seed": self.seed}

    def check(self) -> None:
        """Refuse what cannot be computed, before anything is."""
        check_name("test", self.test, PAIR_TESTS)
        check_name("correction", self.correction, CORRECTIONS)
        check_name("family", self.family, FAMILIES)
        check_name("interval method", self.interval, METHODS)
        check_alpha(self.alpha)
        check_level(self.level)
        check_resamples(self.resamples)
        if not 0 <= self.seed < 2**128:
            raise InputError(f"seed must be a whole number from 0 up, not {self.seed}")
        if self.margin is not None:
            check_margin(self.margin)


@dataclass(frozen=True, slots=True)
class Scale:
    """A measure's name, its lowest and highest value, and whether higher is better."""

    name: str
    bounds: tuple[float, float]
    higher_is_better: bool = True

    @property
    def change(self) -> tuple[float, float]:
        """The lowest and highest difference."""
        return self.bounds[0] - self.bounds[1], self.bounds[1] - self.bounds[0]


@dataclass(frozen=True, slots=True)
class Pair:
    """One system against another on one measure; differences are system − base."""

    measure: str
    base: str
    system: str
    queries: int
    base_mean: float
    system_mean: float
    difference: float
    interval: Interval
    relative: float | None
    """The difference as a part of the base's mean; None where that is 0."""
    wins: int
    """Queries on which the system is better."""
    ties: int
    losses: int
    effect: Effect
    p: float
    p_corrected: float
    method: str
    """The test, and how its p-value was found."""
    verdict: Verdict
    detectable: float
    """The smallest true difference these queries show with power 0.8 after the correction."""
    equivalence: Equivalence | None = None

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers behind it."""
        names = f"{self.system} and {self.base}"
        word = "p" if self.p == self.p_corrected else "corrected p"
        numbers = (
            f"{self.difference:+.4f} ({self.interval.level:.0%} interval {self.interval.low:+.4f} "
            f"to {self.interval.high:+.4f}, {word} = {self.p_corrected:.3g})"
        )
        if self.verdict in ("better", "worse"):
            return f"{self.measure}: {self.system} is {self.verdict} than {self.base}: {numbers}"
        if self.verdict == "equivalent" and self.equivalence is not None:
            margin = f"±{self.equivalence.margin:g}"
            return f"{self.measure}: {names} are equivalent within {margin}: {numbers}"
        told = f"{self.measure}: cannot tell {self.system} from {self.base}: {numbers}"
        if self.ties == self.queries:
            return f"{told}; they are the same on every query"
        if not math.isfinite(self.detectable):
            return told
        return (
            f"{told}; {self.queries:,} queries like these would show a difference of "
            f"{self.detectable:.4f} with power {POWER:.0%}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "base": self.base,
            "system": self.system,
            "queries": self.queries,
            "base_mean": self.base_mean,
            "system_mean": self.system_mean,
            "difference": self.difference,
            "interval": self.interval.to_dict(),
            "relative": self.relative,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "effect": self.effect.to_dict(),
            "p": self.p,
            "p_corrected": self.p_corrected,
            "method": self.method,
            "verdict": self.verdict,
            "detectable": self.detectable if math.isfinite(self.detectable) else None,
            "equivalence": None if self.equivalence is None else self.equivalence.to_dict(),
        }


def _cleaned(base: FloatArray, system: FloatArray) -> FloatArray:
    """Return differences; what is rounding only is 0."""
    difference = system - base
    rounding = SAME * np.maximum(np.abs(system), np.abs(base))
    return np.where(np.abs(difference) <= rounding, 0.0, difference)


@dataclass(frozen=True, slots=True, eq=False)
class PairTests:
    """The test of every pair: p-values as ``[m, s, s]``, and how each was found."""

    p: FloatArray
    methods: dict[tuple[int, int, int], str]


def pair_tests(values: FloatArray, settings: Settings) -> PairTests:
    """Test all pairs of the systems in ``values[m, s, n]``; which one is the base is all the same.

    >>> pair_tests(np.array([[[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]]]), Settings()).p[0, 0, 1].item()
    0.25
    """
    settings.check()
    count = values.shape[1]
    found = np.ones((len(values), count, count))
    pairs = [(row, *pair) for row in range(len(values)) for pair in combinations(range(count), 2)]
    if settings.test == "tukey":
        found = np.array([range_tests(one, **settings.resampling) for one in values])
        methods = [f"randomised Tukey, {settings.resamples:,} resamples"] * len(pairs)
    else:
        rows = np.array([_cleaned(values[m, one], values[m, other]) for m, one, other in pairs])
        results = paired_tests(rows, test=settings.test, **settings.resampling)
        methods = [result.method for result in results]
        for (row, one, other), result in zip(pairs, results, strict=True):
            found[row, one, other] = found[row, other, one] = result.p
    return PairTests(found, dict(zip(pairs, methods, strict=True)))


def _over_family(p_values: FloatArray, settings: Settings, *, strict: bool = False) -> FloatArray:
    """Correct ``[m, pairs]`` over the family; ``strict`` asks for a family-wise correction."""
    if settings.test == "tukey" and settings.family == "measure":
        return p_values  # already holds for all pairs of a measure
    method = settings.correction
    if strict and method in ("none", "bh"):
        method = "holm"
    if settings.family == "all":
        return corrected(p_values.ravel(), method).reshape(p_values.shape)
    return np.array([corrected(row, method) for row in p_values])


def group_letters(
    values: FloatArray, scales: Sequence[Scale], settings: Settings, tests: PairTests
) -> list[list[str]]:
    """Return letters for each measure and system, from the family-wise test of all pairs.

    Two systems share a letter if and only if that test does not separate them. Corrections that do
    not bound the chance of any false alarm (none, bh) are replaced by Holm's here.
    """
    count = values.shape[1]
    pairs = list(combinations(range(count), 2))
    raw = np.array([[table[pair] for pair in pairs] for table in tests.p])
    adjusted = _over_family(raw, settings, strict=True)
    found = []
    for one, scale, p_values in zip(values, scales, adjusted, strict=True):
        apart = np.zeros((count, count), dtype=bool)
        for (first, second), p in zip(pairs, p_values, strict=True):
            apart[first, second] = apart[second, first] = p <= settings.alpha
        means = row_means(one)
        best_first = np.argsort(-means if scale.higher_is_better else means, kind="stable")
        found.append(letters(apart, best_first.tolist()))
    return found


def _verdict(pair: Pair, scale: Scale, settings: Settings) -> Verdict:
    if pair.equivalence is not None and pair.equivalence.equivalent:
        return "equivalent"
    gain = pair.difference if scale.higher_is_better else -pair.difference
    by_rank = settings.test in ("wilcoxon", "sign")  # these do not test the mean
    agrees = not by_rank or gain * (pair.wins - pair.losses) > 0
    if pair.p_corrected > settings.alpha or not gain or not agrees:
        return "no difference shown"
    return "better" if gain > 0 else "worse"


def compare_pairs(
    values: FloatArray,
    names: Sequence[str],
    scales: Sequence[Scale],
    pairs: Sequence[tuple[int, int]],
    *,
    settings: Settings,
    tests: PairTests,
) -> list[Pair]:
    """Compare pairs (base, system) of the systems in ``values[m, s, n]``, measure by measure.

    A verdict of better or worse needs a corrected p-value of at most alpha, and a mean difference
    in that direction (for the Wilcoxon and sign tests also more wins than losses). With a margin,
    a pair whose two one-sided t tests, corrected likewise, rule out a difference as large as the
    margin is equivalent, be the difference significant or not.
    """
    p_values = np.array([[table[pair] for pair in pairs] for table in tests.p])
    adjusted = _over_family(p_values, settings)
    family = len(pairs) * (len(values) if settings.family == "all" else 1)
    strict = settings.correction in ("holm", "bonferroni") or settings.test == "tukey"
    alpha = settings.alpha / family if strict else settings.alpha
    places = [(row, *pair) for row in range(len(values)) for pair in pairs]
    changes = np.array([_cleaned(values[m, one], values[m, other]) for m, one, other in places])
    numbers = _described(changes, [scales[m] for m, _, _ in places], settings, alpha)
    found = []
    for row, (one, scale) in enumerate(zip(values, scales, strict=True)):
        means = row_means(one)
        for column, (base, system) in enumerate(pairs):
            change = changes[row * len(pairs) + column]
            mean, interval, effect, detectable, equivalence = numbers[row * len(pairs) + column]
            better = change > 0 if scale.higher_is_better else change < 0
            ties = int(np.count_nonzero(change == 0))
            wins = int(np.count_nonzero(better))
            pair = Pair(
                measure=scale.name,
                base=names[base],
                system=names[system],
                queries=len(change),
                base_mean=float(means[base]),
                system_mean=float(means[system]),
                difference=mean,
                interval=interval,
                relative=mean / float(means[base]) if means[base] else None,
                wins=wins,
                ties=ties,
                losses=len(change) - wins - ties,
                effect=effect,
                p=float(p_values[row, column]),
                p_corrected=float(adjusted[row, column]),
                method=tests.methods[row, min(base, system), max(base, system)],
                verdict="no difference shown",
                detectable=detectable,
                equivalence=equivalence,
            )
            found.append(replace(pair, verdict=_verdict(pair, scale, settings)))
    if settings.margin is None:
        return found
    return _corrected_equivalence(found, scales, settings)


def _described(
    changes: FloatArray, scales: Sequence[Scale], settings: Settings, alpha: float
) -> list[tuple[float, Interval, Effect, float, Equivalence | None]]:
    """Return mean, interval, effect, detectable difference and equivalence of each row."""
    method: Method = "bca" if settings.interval == "wilson" else settings.interval
    bounds = [scale.change for scale in scales]
    intervals = mean_intervals(
        changes, method=method, level=settings.level, bounds=bounds, **settings.resampling
    )
    effects = paired_effects(changes, level=settings.level)
    still = constant_rows(changes)
    spread = np.zeros(len(changes))
    if not still.all():
        spread[~still] = row_deviations(changes[~still])
    detectable = [
        detectable_difference(n=changes.shape[1], sd=sd, alpha=alpha, power=POWER)
        for sd in spread.tolist()
    ]
    equivalence: Sequence[Equivalence | None] = [None] * len(changes)
    if settings.margin is not None:
        options: Any = {"margin": settings.margin, "alpha": settings.alpha}
        equivalence = [
            equivalence_tests(change, bounds=own, **options)[0]
            for change, own in zip(changes, bounds, strict=True)
        ]
    means = row_means(changes).tolist()
    return list(zip(means, intervals, effects, detectable, equivalence, strict=True))


def _corrected_equivalence(
    pairs: list[Pair], scales: Sequence[Scale], settings: Settings
) -> list[Pair]:
    """Correct the equivalence tests over the same family, and decide again."""
    by_t = replace(settings, test="t")
    tests = [pair.equivalence for pair in pairs]
    raw = np.array([1.0 if test is None or test.p is None else test.p for test in tests])
    adjusted = _over_family(raw.reshape(len(scales), -1), by_t).ravel().tolist()
    known = {scale.name: scale for scale in scales}
    found = []
    for pair, test, p in zip(pairs, tests, adjusted, strict=True):
        if test is None:  # pragma: no cover - with a margin every pair has one
            continue
        held = replace(test, p=p, equivalent=p <= settings.alpha)
        pair = replace(pair, equivalence=held)  # noqa: PLW2901
        found.append(replace(pair, verdict=_verdict(pair, known[pair.measure], settings)))
    return found
