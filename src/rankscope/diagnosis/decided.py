"""Decisions beside what is judged: which count, and what wrong ones cost.

Where there are qrels, decisions for other queries do not count: they may be of another set.

Questions are compared with other questions, so a difference may also be one of how hard they are:
what a right decision would gain is at most that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rankscope.collection.decisions import Decisions
from rankscope.diagnosis.analysis import Inputs
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.unpaired import GroupDifference, group_difference

OTHER_QUERIES = declare(
    "RS720",
    "decisions-for-other-queries",
    "note",
    unit="decision",
    advice="check that decisions and qrels use the same query ids, and are of the same questions",
    meaning="""Some decisions are for queries that the qrels do not have, neither with judgments nor
    as questions without an answer. They are left out of all figures.""",
)


def judged_decisions(inputs: Inputs) -> Decisions | str:
    """Return the decisions for judged queries, all without qrels; or why there is none."""
    assert inputs.decisions is not None
    decisions, qrels = inputs.decisions, inputs.qrels
    if qrels is None or qrels.is_numbered:
        return decisions
    part = decisions.only({*qrels.query_ids, *qrels.no_answer})
    if len(part):
        return part
    none = (
        f"none of the {len(decisions):,} decisions is for a judged query"
        if len(decisions) > 1
        else "the only decision is not for a judged query"
    )
    return f"{none}; check that both use the same query ids"


def other_queries(count: int) -> list[Finding]:
    """Say that decisions for other queries do not count, if there are any."""
    if not count:
        return []
    return [OTHER_QUERIES.finding(left_out_in_words(count), count=count)]


def left_out_in_words(count: int) -> str:
    """Say how many decisions do not count."""
    is_left, are = ("is", "a query") if count == 1 else ("are", "queries")
    return f"{counted(count, 'decision')} for {are} that the qrels do not have {is_left} left out"


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
