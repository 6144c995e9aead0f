"""Strata: pairs of systems compared within groups of queries, and whether the groups agree.

`by_group` is also what the segments of a benchmark are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.arrays import row_means
from rankscope.statistics.intervals import Interval
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.sentences import number
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.settings import Settings

MOST = 200
"""No more strata than this: a field with a value of its own for every query groups nothing."""

UNLABELLED = "(none)"
"""The stratum of queries nothing is known about."""

STRATA_DISAGREE = declare(
    "RS601",
    "strata-disagree",
    "warning",
    unit="stratum",
    advice="decide by the strata that matter to you, or weigh them as your users ask",
    meaning="""The overall difference has one sign and most strata of the queries have the other
    (Simpson's paradox). In a benchmark it is a note where neither the whole nor a stratum against
    it differs by more than chance.""",
)


@dataclass(frozen=True, slots=True)
class Group:
    """What a group of queries says: a row for each measure and system, and measure and pair."""

    label: str
    n: int
    means: list[float]
    """Of row ``measure * systems + system``."""
    intervals: list[Interval]
    """Of the means."""
    differences: list[float]
    """Of row ``measure * pairs + pair``."""
    difference_intervals: list[Interval]
    """Of the differences; they agree with the corrected p-values."""
    p: list[float]
    """Of the differences."""
    p_corrected: list[float]
    """Over the groups."""


def by_group(
    matrix: Matrix,
    members: Mapping[str, Sequence[int]],
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
) -> list[Group]:
    """Compare pairs (base, system) within each group of queries.

    ``members`` are the columns of each group's queries. For each measure and pair, p-values are
    corrected over the groups.
    """
    parts = {label: matrix.only_queries(columns) for label, columns in members.items()}
    tested = {
        label: Differences.of(part, pairs, settings, family=len(members))
        for label, part in parts.items()
    }
    adjusted = np.array([rows.p for rows in tested.values()])  # [groups, rows]
    if adjusted.size:
        adjusted = np.apply_along_axis(corrected, 0, adjusted, settings.correction)
    return [
        Group(
            label=label,
            n=part.shape[2],
            means=part.means().ravel().tolist(),
            intervals=part.mean_intervals(settings),
            differences=tested[label].mean.tolist(),
            difference_intervals=tested[label].intervals(p_corrected, settings.alpha),
            p=tested[label].p.tolist(),
            p_corrected=p_corrected.tolist(),
        )
        for (label, part), p_corrected in zip(parts.items(), adjusted, strict=True)
    ]


class Stratum(Part):
    """One group of queries: means of both systems, their difference, and how sure it is."""

    label: str
    """What its queries share."""
    n: int
    """How many queries."""
    base_mean: float
    """Mean of the base."""
    base_interval: Interval
    """Of that mean."""
    system_mean: float
    """Mean of the system."""
    system_interval: Interval
    """Of that mean."""
    difference: float
    """Mean of system minus base."""
    interval: Interval
    """Of the difference; it agrees with the corrected p-value."""
    p: float
    """Of the test, before correction."""
    p_corrected: float
    """Corrected over the strata."""


class StratifiedPair(Part):
    """One pair and measure, stratum by stratum."""

    measure: str
    """The measure."""
    base: str
    """The system compared with."""
    system: str
    """The system compared."""
    difference: float
    """Over all queries."""
    correction: str
    """How p-values are corrected over the strata."""
    strata: tuple[Stratum, ...]
    """The largest first."""
    finding: Finding | None
    """Where the strata contradict the whole; null if they do not."""


def stratify(
    matrix: Matrix,
    labels: Sequence[object],
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
) -> list[StratifiedPair]:
    """Compare pairs (base, system) within each group of queries that share a label.

    ``labels`` has one for each query, None where nothing is known. Strata come largest first, then
    by label. A finding says when the overall difference has one sign and more than half of the
    strata (those with a difference at all) the other: the whole is then carried by few groups, and
    which system is better depends on how often each kind of query is asked (Simpson's paradox).

    Edges: a stratum of one query has p = 1 and an interval as wide as the bounds allow.

    Reference: Simpson, JRSS B 1951.
    """
    if all(label is None for label in labels):
        raise InputError("strata: no label is known for any of the compared queries")
    named = [UNLABELLED if label is None else str(label) for label in labels]
    sizes = Counter(named)
    if len(sizes) > MOST:
        raise InputError(f"{len(sizes):,} strata; group the queries by a field with at most {MOST}")
    members: dict[str, list[int]] = {
        label: [] for label in sorted(sizes, key=lambda label: (-sizes[label], label))
    }
    for column, label in enumerate(named):
        members[label].append(column)
    groups = by_group(matrix, members, pairs, settings)
    overall = row_means(matrix.differences(pairs)).tolist()
    stratified = []
    for measure, scale in enumerate(matrix.scales):
        for place, (base, system) in enumerate(pairs):
            row = measure * len(pairs) + place
            means = measure * len(matrix.systems)
            strata = tuple(
                Stratum(
                    label=group.label,
                    n=group.n,
                    base_mean=group.means[means + base],
                    base_interval=group.intervals[means + base],
                    system_mean=group.means[means + system],
                    system_interval=group.intervals[means + system],
                    difference=group.differences[row],
                    interval=group.difference_intervals[row],
                    p=group.p[row],
                    p_corrected=group.p_corrected[row],
                )
                for group in groups
            )
            differences = {stratum.label: stratum.difference for stratum in strata}
            stratified.append(
                StratifiedPair(
                    measure=scale.name,
                    base=matrix.systems[base],
                    system=matrix.systems[system],
                    difference=overall[row],
                    correction=settings.correction,
                    strata=strata,
                    finding=disagreement(overall[row], differences),
                )
            )
    return stratified


def disagreement(overall: float, differences: Mapping[str, float]) -> Finding | None:
    """Return a finding if most groups differ in the other direction than the whole."""
    moved = {label: change for label, change in differences.items() if change}
    against = [label for label, change in moved.items() if change * overall < 0]
    if not overall or 2 * len(against) <= len(moved):
        return None
    names = ", ".join(against[:3])
    more = f" and {len(against) - 3} more" if len(against) > 3 else ""
    return STRATA_DISAGREE.finding(
        f"the overall difference is {number(overall, sign=True)}, and {len(against)} of "
        f"{len(moved)} strata differ the other way ({names}{more})",
        count=len(against),
        evidence=moved,
    )
