"""Costs: how much a system's mean loses in each group of queries, and whether that is chance.

A group costs its share of the queries times how far its mean is below that of all other queries:
by so much the overall mean would gain if the group did as well as the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.groups import group_changes, subset_tests
from rankscope.statistics.intervals import Interval, agreeing, mean_intervals
from rankscope.statistics.tests import corrected

if TYPE_CHECKING:
    from rankscope.diagnosis.segment_fields import Conditions
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.settings import Settings


class SegmentCost(Part):
    """One system in one group of queries, against all other queries."""

    system: str
    """The system."""
    field: str
    """What the queries are grouped by."""
    label: str
    """What those of this group share."""
    n: int
    """How many they are."""
    mean: float
    """Of the main measure, over the group."""
    interval: Interval
    """Of that mean, by Student's t."""
    rest: float
    """The mean over all other queries."""
    difference: float
    """Mean of the group minus that of the rest."""
    difference_interval: Interval
    """Of the difference, for all groups at once; it agrees with the corrected p-value."""
    p: float
    """Whether a random choice of as many queries would differ so much: a permutation of labels."""
    p_corrected: float
    """Corrected by Holm over all groups of all fields."""
    cost: float
    """How much the overall mean would gain if the group did as well as the rest; at least 0."""

    def is_weak(self, alpha: float) -> bool:
        """Tell whether the group is below the rest by more than chance."""
        return self.cost > 0 and self.p_corrected <= alpha

    def is_strong(self, alpha: float) -> bool:
        """Tell whether the group is above the rest by more than chance."""
        return not self.cost and self.p_corrected <= alpha


def segment_costs(matrix: Matrix, conditions: Conditions, settings: Settings) -> list[SegmentCost]:
    """Compare every group with the rest, for each system, by the first measure.

    Groups come by system and by cost, the costliest first.
    """
    if not conditions.names:
        return []
    scale, values, table = matrix.scales[0], matrix.values[0], conditions.table
    p_values = subset_tests(values, table)
    adjusted = np.stack([corrected(row, "holm") for row in p_values])
    sign = 1 if scale.higher_is_better else -1
    costs = []
    for row, (field, label) in enumerate(conditions.names):
        inside, outside = values[:, table[row]], values[:, ~table[row]]
        intervals = mean_intervals(inside, method="t", level=settings.level, bounds=scale.bounds)
        level = 1 - (1 - settings.level) / len(conditions.names)
        changes = group_changes(inside, outside, level=level, bounds=scale.change)
        share = inside.shape[1] / values.shape[1]
        for system, name in enumerate(matrix.systems):
            difference, interval = changes[system]
            p = float(adjusted[system, row])
            interval = interval.model_copy(update={"level": settings.level})
            costs.append(
                SegmentCost(
                    system=name,
                    field=field,
                    label=label,
                    n=inside.shape[1],
                    mean=float(inside[system].mean()),
                    interval=intervals[system],
                    rest=float(outside[system].mean()),
                    difference=difference,
                    difference_interval=agreeing(interval, difference, p, settings.alpha),
                    p=float(p_values[system, row]),
                    p_corrected=p,
                    cost=max(-sign * difference * share, 0.0),
                )
            )
    order = {name: place for place, name in enumerate(matrix.systems)}
    return sorted(costs, key=lambda cost: (order[cost.system], -cost.cost))
