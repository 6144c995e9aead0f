"""Strata: pairs of systems compared within groups of queries, for the analysis of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.findings import declare
from rankscope.statistics.intervals import Interval
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.settings import Settings

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
