"""Sentences about groups of queries: findings, and what would gain most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Advice
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.sentences import listed, p_text

if TYPE_CHECKING:
    from rankscope.diagnosis.segment_costs import SegmentCost
    from rankscope.diagnosis.segment_fields import Conditions
    from rankscope.statistics.arrays import BoolArray

WEAK_GROUPS = declare(
    "RS604",
    "weak-groups",
    "note",
    unit="group",
    advice="look at what these queries have in common, the costliest group first",
    meaning="""Groups of queries on which the best system does worse than on the rest, by more than
    chance (a permutation of labels, corrected over all groups of all fields).""",
)
MOST_ADVICE = 3
"""So many sentences at most."""

ALIKE = 0.5
"""Two groups that share this part of their queries are one; the costlier is named."""


def weak_groups(weak: Sequence[SegmentCost], queries: int) -> list[Finding]:
    """Say which groups are below the rest, in one finding; none if there is no such group."""
    if not weak:
        return []
    names = [
        f"{cost.field} = {cost.label} ({cost.n:,} of {queries:,} queries: {cost.mean:.3f} against "
        f"{cost.rest:.3f}, {p_text(cost.p_corrected)} corrected)"
        for cost in weak
    ]
    does = "scores" if len(weak) == 1 else "score"
    return [
        WEAK_GROUPS.finding(
            f"{weak[0].system}: {counted(len(weak), 'group')} of queries {does} below the rest: "
            f"{listed(names, 3)}",
            count=len(weak),
            evidence={"groups": [cost.to_dict() for cost in weak]},
        )
    ]


def segment_advice(
    weak: Sequence[SegmentCost], conditions: Conditions, measure: str, *, several: bool
) -> tuple[Advice, ...]:
    """Say which groups would gain most, one of those about the same queries.

    Number of words and complexity often tell the same story: of two groups that share at least half
    of the queries that either holds, the costlier is named.
    """
    row_of = {name: row for row, name in enumerate(conditions.names)}
    named: list[BoolArray] = []
    best = []
    for cost in sorted(weak, key=lambda cost: -cost.cost):
        queries = conditions.table[row_of[cost.field, cost.label]]
        if any((queries & other).sum() >= ALIKE * (queries | other).sum() for other in named):
            continue
        named.append(queries)
        system = f" with {cost.system}" if several else ""
        text = (
            f"Queries with {cost.field} = {cost.label} ({cost.n:,} of {conditions.queries:,}): "
            f"{measure} is {cost.mean:.3f}{system}, against {cost.rest:.3f} for the rest "
            f"({p_text(cost.p_corrected)} corrected); at the level of the rest the mean would gain "
            f"{cost.cost:.3f}"
        )
        best.append(Advice(text=text, gain=cost.cost))
    return tuple(best[:MOST_ADVICE])
