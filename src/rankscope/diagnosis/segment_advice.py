"""Sentences about groups and slices of queries: findings, and what would gain most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.query_traits import OVERLAPS, phrase
from rankscope.diagnosis.registry import Advice
from rankscope.diagnosis.slices import ALIKE, QuerySlice
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.sentences import listed, p_text

if TYPE_CHECKING:
    from rankscope.diagnosis.segment_costs import SegmentCost
    from rankscope.diagnosis.segment_fields import Conditions
    from rankscope.statistics.subsets import BoolArray

WEAK_GROUPS = declare(
    "RS604",
    "weak-groups",
    "note",
    unit="group",
    advice="look at what these queries have in common, the costliest group first",
    meaning="""Groups of queries on which the best system does worse than on the rest, by more than
    chance (a permutation of labels, corrected over all groups of all fields).""",
)
WEAK_SLICES = declare(
    "RS605",
    "weak-slices",
    "note",
    unit="slice",
    advice="look at these queries: neither condition alone explains them",
    meaning="""Queries that meet two conditions at once and on which the best system does worse than
    where only one is met, by more than chance (found in one half of the queries, tested on the
    other; means are of all queries).""",
)


MOST_ADVICE = 3
"""So many sentences at most."""


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


def weak_slices(slices: Sequence[QuerySlice], queries: int) -> list[Finding]:
    """Say which slices are below both of their groups, likewise."""
    if not slices:
        return []
    names = [
        f"{_both(part)} ({part.n:,} of {queries:,} queries: {part.mean:.3f}, and "
        f"{part.parents[0]:.3f} and {part.parents[1]:.3f} where only one is met, "
        f"{p_text(part.p_corrected)} corrected, on the half not searched)"
        for part in slices
    ]
    does = "scores" if len(slices) == 1 else "score"
    return [
        WEAK_SLICES.finding(
            f"{slices[0].system}: {counted(len(slices), 'slice')} of queries {does} below both "
            f"groups: {listed(names, 3)}",
            count=len(slices),
            evidence={"slices": [part.to_dict() for part in slices]},
        )
    ]


def _both(part: QuerySlice) -> str:
    return " and ".join(
        f"{field} = {label}" for field, label in zip(part.fields, part.labels, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _Entry:
    """A sentence, and the queries that it is about."""

    advice: Advice
    queries: BoolArray
    conditions: frozenset[tuple[str, str]]

    def repeats(self, other: _Entry) -> bool:
        """Tell whether another sentence says it already.

        It does if both share at least half of the queries that either is about: number of words
        and complexity often tell the same story. A slice also speaks for a group it is part of if
        most of what the group costs is the slice's.
        """
        shared = (self.queries & other.queries).sum() / (self.queries | other.queries).sum()
        is_part = self.conditions < other.conditions
        return bool(shared >= ALIKE or (is_part and 2 * other.advice.gain >= self.advice.gain))


def segment_advice(
    weak: Sequence[SegmentCost],
    slices: Sequence[QuerySlice],
    conditions: Conditions,
    measure: str,
    *,
    several: bool,
) -> tuple[Advice, ...]:
    """Say which slices and groups would gain most, one of those about the same queries."""
    row_of = {name: row for row, name in enumerate(conditions.names)}
    entries = []
    for part in sorted(slices, key=lambda part: -part.cost):
        both = list(zip(part.fields, part.labels, strict=True))
        queries = np.logical_and(*conditions.table[[row_of[name] for name in both]])
        text = (
            f"{_queries(both)} ({part.n:,} of "
            f"{conditions.queries:,}): {measure} is {part.mean:.3f}"
            f"{_with(part.system, several)}, against {part.parents[0]:.3f} and "
            f"{part.parents[1]:.3f} where only one holds ({p_text(part.p_corrected)} corrected, "
            "on the half not searched); "
            f"at the level of all others the mean would gain {part.cost:.3f}"
        )
        entries.append(_Entry(Advice(text=text, gain=part.cost), queries, frozenset(both)))
    for cost in sorted(weak, key=lambda cost: -cost.cost):
        name = (cost.field, cost.label)
        text = (
            f"{_queries([name])} ({cost.n:,} of {conditions.queries:,}): {measure} is "
            f"{cost.mean:.3f}{_with(cost.system, several)}, against {cost.rest:.3f} for the rest "
            f"({p_text(cost.p_corrected)} corrected); at the level of the rest the mean would gain "
            f"{cost.cost:.3f}"
        )
        advice = Advice(text=text, gain=cost.cost)
        entries.append(_Entry(advice, conditions.table[row_of[name]], frozenset({name})))
    kept: list[_Entry] = []
    for entry in entries:
        if not any(entry.repeats(other) for other in kept):
            kept.append(entry)
    best = sorted((entry.advice for entry in kept), key=lambda advice: -advice.gain)
    return tuple(best[:MOST_ADVICE])


def _queries(names: Sequence[tuple[str, str]]) -> str:
    """Begin a sentence; what is shared with the best document is named as what it is about."""
    meeting = " and ".join(phrase(*name) for name in names)
    is_overlap = any(field == "overlap" and label in OVERLAPS for field, label in names)
    return f"Vocabulary: queries {meeting}" if is_overlap else f"Queries {meeting}"


def _with(system: str, several: bool) -> str:
    return f" with {system}" if several else ""
