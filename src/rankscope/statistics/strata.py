"""Strata: the same comparison within each group of queries, and whether the groups agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError
from rankscope.findings import Finding
from rankscope.statistics.arrays import as_rows
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rankscope.statistics.correction import Correction
    from rankscope.statistics.intervals import Method
    from rankscope.statistics.paired import Test

__all__ = ["Strata", "StratifiedPair", "Stratum", "stratify"]

MOST = 200
"""No more strata than this: a field with a value of its own for every query groups nothing."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One group of queries: means of both systems, their difference, and how sure it is."""

    label: str
    n: int
    base_mean: float
    base_interval: Interval
    system_mean: float
    system_interval: Interval
    difference: float
    interval: Interval
    p: float
    p_corrected: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "label": self.label,
            "n": self.n,
            "base_mean": self.base_mean,
            "base_interval": self.base_interval.to_dict(),
            "system_mean": self.system_mean,
            "system_interval": self.system_interval.to_dict(),
            "difference": self.difference,
            "interval": self.interval.to_dict(),
            "p": self.p,
            "p_corrected": self.p_corrected,
        }


@dataclass(frozen=True, slots=True)
class Strata:
    """All strata, by size, and a finding where they contradict the whole."""

    difference: float
    strata: tuple[Stratum, ...]
    correction: str
    finding: Finding | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "difference": self.difference,
            "correction": self.correction,
            "strata": [stratum.to_dict() for stratum in self.strata],
            "finding": None if self.finding is None else self.finding.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class StratifiedPair:
    """One pair and measure, stratum by stratum."""

    measure: str
    base: str
    system: str
    result: Strata

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        named = {"measure": self.measure, "base": self.base, "system": self.system}
        return {**named, **self.result.to_dict()}


def stratify(
    base: npt.ArrayLike,
    system: npt.ArrayLike,
    labels: Sequence[str],
    *,
    test: Test = "permutation",
    correction: Correction = "holm",
    interval: Method = "bca",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    bounds: tuple[float, float] | None = None,
) -> Strata:
    """Compare two systems within each group of queries that share a label.

    ``base`` and ``system`` hold one value for each query, ``labels`` its group. p-values are
    corrected over the strata. Strata come largest first, then by label.

    A finding says when the overall difference has one sign and more than half of the strata (those
    with a difference at all) the other: the whole is then carried by few groups, and which system
    is better depends on how often each kind of query is asked (Simpson's paradox).

    Edges: a stratum of one query has p = 1 and an interval as wide as the bounds allow.

    Reference: Simpson, JRSS B 1951.

    >>> found = stratify([0, 0, 1, 1], [1, 1, 1, 1], ["hard", "hard", "easy", "easy"])
    >>> [(stratum.label, stratum.difference) for stratum in found.strata]
    [('easy', 0.0), ('hard', 1.0)]
    """
    values = as_rows([np.asarray(base, dtype=float), np.asarray(system, dtype=float)])
    if len(labels) != values.shape[1]:
        raise InputError(f"{values.shape[1]} queries need as many labels, not {len(labels)}")
    sizes = Counter(labels)
    if len(sizes) > MOST:
        raise InputError(f"{len(sizes):,} strata; group the queries by a field with at most {MOST}")
    named = sorted(sizes, key=lambda label: (-sizes[label], label))
    options: Any = {"method": interval, "level": level, "resamples": resamples, "seed": seed}
    spread = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    found = []
    at = np.array(labels, dtype=object)
    for label in named:
        part = values[:, at == label]
        change = part[1] - part[0]
        [result] = paired_tests(change, test=test, resamples=resamples, seed=seed)
        both = mean_intervals(part, bounds=bounds, **options)
        [own] = mean_intervals(change, bounds=spread, **options)
        found.append((label, part.mean(axis=1).tolist(), both, float(change.mean()), own, result.p))
    adjusted = corrected([row[-1] for row in found], correction)
    strata = tuple(
        Stratum(label, sizes[label], *_pairs(means, both), change, own, p, float(p_corrected))
        for (label, means, both, change, own, p), p_corrected in zip(found, adjusted, strict=True)
    )
    overall = float((values[1] - values[0]).mean())
    return Strata(overall, strata, correction, _disagreement(overall, strata))


def _pairs(
    means: list[float], intervals: list[Interval]
) -> tuple[float, Interval, float, Interval]:
    return means[0], intervals[0], means[1], intervals[1]


def _disagreement(overall: float, strata: tuple[Stratum, ...]) -> Finding | None:
    """Return a finding if most strata differ in the other direction than the whole."""
    moved = [stratum for stratum in strata if stratum.difference]
    against = [stratum for stratum in moved if stratum.difference * overall < 0]
    if not overall or 2 * len(against) <= len(moved):
        return None
    names = ", ".join(stratum.label for stratum in against[:3])
    more = f" and {len(against) - 3} more" if len(against) > 3 else ""
    return Finding(
        code="RS601",
        name="strata-disagree",
        severity="warning",
        message=(
            f"the overall difference is {overall:+.4f}, and {len(against)} of {len(moved)} strata "
            f"differ the other way ({names}{more})"
        ),
        advice="decide by the strata that matter to you, or weigh them as your users ask",
        count=len(against),
        unit="stratum",
        evidence={stratum.label: stratum.difference for stratum in moved},
    )
