"""What wrong decisions cost: how well questions are answered that were decided rightly or wrongly.

Questions are compared with other questions, so a difference may also be one of how hard they are:
what a right decision would gain is at most that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rankscope.diagnosis.registry import Inputs
from rankscope.part import Part
from rankscope.statistics.unpaired import GroupDifference, group_difference


class QualityGap(Part):
    """The best system on questions decided rightly (first) and wrongly (second)."""

    system: str
    """The system."""
    measure: str
    """The main measure."""
    groups: GroupDifference
    """Its means over both groups; of the questions that are judged."""
    is_shown: bool
    """Whether they differ by more than chance."""
    gain: float
    """How much its mean over all judged questions would gain at most, if those decided wrongly did
    as well as the others; 0 where no difference is shown."""


def quality_gap(inputs: Inputs, right: Iterable[str], wrong: Iterable[str]) -> QualityGap | None:
    """Compare questions by their ids; None without scores, or with fewer than two on one side."""
    if inputs.scores is None or not inputs.scores.runs:
        return None
    definition = inputs.main.definition
    if definition.aggregate != "mean":
        return None
    measure = inputs.scores.measures[0]
    values = inputs.scores.values(measure, inputs.focus)
    first, second = (
        [
            values[query_id]
            for query_id in query_ids
            if math.isfinite(values.get(query_id, math.nan))
        ]
        for query_ids in (right, wrong)
    )
    if min(len(first), len(second)) < 2:
        return None
    groups = group_difference(first, second, level=inputs.settings.level, bounds=definition.range)
    better = groups.difference if definition.higher_is_better else -groups.difference
    judged = len(values) if inputs.qrels is None else len(inputs.qrels.query_ids)
    is_shown = groups.is_shown(inputs.settings.alpha)
    return QualityGap(
        system=inputs.focus,
        measure=measure,
        groups=groups,
        is_shown=is_shown,
        gain=better * len(second) / judged if is_shown and better > 0 else 0.0,
    )


def gap_sentence(gap: QualityGap, right: str, wrong: str) -> str:
    """Say how both groups do, and whether the difference may be chance."""
    groups = gap.groups
    verdict = "" if gap.is_shown else ", a difference that may be chance"
    return (
        f"{gap.system}: {right} score {groups.first:.3f} {gap.measure} ({groups.first_n:,} "
        f"judged), {wrong} {groups.second:.3f} ({groups.second_n:,}){verdict}"
    )
