"""What reports on a terminal and on a page say alike: one cell, its signs, and what these mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.errors import counted
from rankscope.reports.words import DAGGER, DOUBLE_DAGGER, INTERVALS, TESTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.records import BenchmarkReport, MeasureValue, Status, SystemRecord
    from rankscope.statistics.compare import Comparison, SystemMean
    from rankscope.statistics.intervals import Interval

__all__ = [
    "MARKS",
    "NOTHING",
    "count_or_mean",
    "ends",
    "legend",
    "marker",
    "marker_of_p",
    "mean_of",
    "not_apart",
    "pair_with_baseline",
    "signed",
    "value_of",
]

MARKS: dict[Status, str] = {"pass": "✓ pass", "warn": "! warn", "fail": "✗ fail", "unknown": "–"}
"""How a status is written."""

NOTHING = "–"


def mean_of(comparison: Comparison | None, system: str, measure: str) -> SystemMean | None:
    """Return a system's mean in the comparison, if it is in it."""
    every = () if comparison is None else comparison.means
    return next((one for one in every if (one.run, one.measure) == (system, measure)), None)


def value_of(system: SystemRecord, measure: str) -> MeasureValue | None:
    """Return a system's value of a measure, if it has one."""
    return next((one for one in system.measures if one.measure == measure), None)


def marker_of_p(p: float | None, comparison: Comparison | None) -> str:
    """Return † for a p-value of at most alpha, ‡ for at most a fifth of it, else nothing."""
    if p is None or comparison is None:
        return ""
    alpha = comparison.settings.alpha
    return DOUBLE_DAGGER if p <= alpha / 5 else DAGGER if p <= alpha else ""


def pair_with_baseline(
    comparison: Comparison | None, system: str, measure: str
) -> tuple[str, float] | None:
    """Return verdict and corrected p-value of a system against the baseline."""
    if comparison is None or comparison.baseline is None:
        return None
    for pair in comparison.pairs:
        if (pair.system, pair.base, pair.measure) == (system, comparison.baseline, measure):
            return pair.verdict, pair.p_corrected
    return None


def marker(comparison: Comparison | None, system: str, measure: str) -> str:
    """Return † where a system differs from the baseline at alpha, ‡ at a fifth of it."""
    found = pair_with_baseline(comparison, system, measure)
    if found is None or found[0] not in ("better", "worse"):
        return ""
    return marker_of_p(found[1], comparison)


def not_apart(comparison: Comparison, best: Sequence[str], measure: str) -> list[str]:
    """Return the systems that share a letter with one of the best, without the best."""
    letters = {one.run: set(one.letters) for one in comparison.means if one.measure == measure}
    shared = set().union(*(letters.get(name, set()) for name in best))
    return [name for name, own in letters.items() if name not in best and own & shared]


def count_or_mean(value: float, *, counted: bool = False) -> str:
    """Return three decimals; a count (a sum over queries) as a whole number."""
    if counted and value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}"


def signed(value: float) -> str:
    """Return three decimals with their sign; what rounds to 0 has none."""
    text = f"{value:+.3f}"
    return text[1:] if not text.strip("+-0.") else text


def ends(interval: Interval | None, *, sign: bool = False) -> str:
    """Return ``[low, high]``; an end that does not exist is infinite."""
    if interval is None:
        return ""
    low, high = (
        infinite if end is None else signed(end) if sign else f"{end:.3f}"
        for end, infinite in ((interval.low, "-∞"), (interval.high, "∞"))
    )
    return f"[{low}, {high}]"


def legend(
    report: BenchmarkReport, *, best: str, interval: str, letters: bool = False
) -> list[str]:
    """Say what the signs of the main table mean: intervals, markers, tests, family, queries.

    ``best`` and ``interval`` say how these are marked, such as ``bold:`` and ``in brackets:``.
    """
    comparison = report.comparison
    held = next(
        (one.interval for system in report.systems for one in system.measures if one.interval), None
    )
    level = "" if held is None else f"{held.level:.0%} "
    several = len(report.systems) > 1
    said = [f"{f'{best} best mean; ' if several else ''}{interval} {level}interval of the mean"]
    if any(not info.higher_is_better for info in report.measures):
        said.append("↓ lower is better")
    if comparison is None:
        return said
    settings = comparison.settings
    said[0] += f" ({INTERVALS[settings.interval]})"
    if comparison.baseline is not None:
        alpha = settings.alpha
        said.append(
            f"{DAGGER} differs from {comparison.baseline}, the baseline, at p ≤ {alpha:g}, "
            f"{DOUBLE_DAGGER} at p ≤ {alpha / 5:g}, after correction"
        )
    if letters:
        said.append("systems that share a letter cannot be told apart (all pairs)")
    said.append(
        f"{TESTS[settings.test]}, two-sided, {settings.resamples:,} resamples, "
        f"seed {settings.seed}; {comparison.family}; "
        f"{counted(comparison.queries, 'query')}, the same for all systems"
    )
    if report.profile != "rankscope":
        said.append(f"rules of {report.profile}")
    return said
