"""Placement: where in a pipeline to rerank, and how many documents.

What the first N documents of a system hold is the ceiling of whoever reranks them: their recall,
and the value of their best order. Of a reranker that there is, its own order says more: its run
also shows what it would have given if it had looked at fewer documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.measures.judged import place_in
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.matrix import Scale, differences

if TYPE_CHECKING:
    from rankscope.diagnosis.stage_roles import Step
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure


class PlacementRow(Part):
    """What reranking the first documents of a system could keep and give."""

    depth: int
    """How many documents are reranked."""
    recall: float
    """The mean share of a query's relevant documents that is among them."""
    ceiling: float | None
    """The measure if they were in the best order; null for measures without one."""
    value: float | None = None
    """The measure if the reranker looked at these only, and left the others as they were; null
    without a reranker, and beyond its depth."""
    loss: float | None = None
    """How much less that is than with its own depth; positive: looking at fewer is worse."""
    loss_interval: Interval | None = None
    """Of the loss."""
    gain_kept: float | None = None
    """The part of the reranker's gain that is left; null unless it is shown to gain."""


class Placement(Part):
    """What reranking a system would give, by depth."""

    of: str
    """The system whose documents are reranked."""
    reranker: str | None
    """The reranker that there is; null: none is on top of this system."""
    measure: str
    """The main measure."""
    value: float
    """That of the system, without a reranker."""
    rows: tuple[PlacementRow, ...]
    """By depth, the lowest first."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A measure, and the queries that it is averaged over."""

    measure: Measure
    counted: BoolArray
    """By query of the judgments."""

    def values(self, judged: JudgedRun) -> FloatArray:
        """Return the values of the queries that count."""
        whole = compute(self.measure, judged)
        return np.asarray(whole[self.counted], dtype=np.float64)

    def mean(self, values: FloatArray) -> float:
        """Return their mean, as `evaluate` has it."""
        return aggregate(self.measure, values)

    @property
    def looks_at(self) -> int | None:
        """Down to which rank hits count; None: all of them may."""
        return None if self.measure.options.get("judged_only") else self.measure.cutoff


def depths_up_to(most: int, wanted: Sequence[int], more: int | None) -> list[int]:
    """Return the depths to look at: those wanted, a reranker's own, and that of the run."""
    known = {depth for depth in wanted if depth < most}
    known |= {most} if more is None else {most, min(more, most)}
    return sorted(known)


def recalls(judged: JudgedRun, depths: Sequence[int], counted: BoolArray) -> list[float]:
    """Return the mean recall at each depth; 0 for a query without relevant documents, as for R."""
    there = np.maximum(judged.graded(RELEVANT), 1)
    return [float((judged.found(RELEVANT, depth) / there)[counted].mean()) for depth in depths]


def ceilings(judged: JudgedRun, depths: Sequence[int], trial: Trial) -> list[float]:
    """Return the means if the first documents were ordered by grade, for each depth.

    As `best_order` for each depth, with the grades sorted once for all of them.
    """
    query, rank, grade = judged.hit_query, judged.hit_rank, judged.hit_grade
    by_grade = np.lexsort((-grade, query))
    by_grade = by_grade[grade[by_grade] > 0]
    first = np.searchsorted(query, query)  # the first hit of each hit's query
    means = []
    for depth in depths:
        moved = by_grade[rank[by_grade] <= depth]
        new = rank.copy()
        new[moved] = place_in(query[moved])
        jumps = np.zeros(len(rank), np.int64)
        jumps[moved] = 1
        above = np.cumsum(jumps) - jumps
        above -= above[first]
        passed = (rank <= depth) & (jumps == 0)
        new[passed] += judged.count(query[moved])[query[passed]] - above[passed]
        means.append(trial.mean(trial.values(_reordered(judged, query, new, grade, trial))))
    return means


def _reordered(
    judged: JudgedRun, query: IntArray, rank: IntArray, grade: FloatArray, trial: Trial
) -> JudgedRun:
    """Return a run whose hits have other ranks; those that the measure does not see are left out.

    Only what measures without subtopics and lengths look at is kept up to date.
    """
    if trial.looks_at is not None:
        seen = rank <= trial.looks_at
        query, rank, grade = query[seen], rank[seen], grade[seen]
    order = np.lexsort((rank, query))
    return replace(
        judged,
        hit_query=query[order],
        hit_rank=rank[order],
        hit_grade=grade[order],
        subtopics=None,
        lengths=None,
    )


def reranked_at(step: Step, judged: JudgedRun, depth: int, trial: Trial) -> FloatArray:
    """Return the values if a reranker had looked at the first ``depth`` documents only.

    These come in its order (those it did not return behind the others, as they were), and the
    documents below them as they were: exactly what it would have given, if its score of a document
    does not depend on which others it sees. ``judged`` is the run below.
    """
    below, above = step.below, step.above
    taken = np.flatnonzero(step.rank_below <= depth)  # rows of the reranker, by query and rank
    place = place_in(above.query[taken])
    is_judged = ~np.isnan(above.grade[taken])
    parts = [(above.query[taken][is_judged], place[is_judged], above.grade[taken][is_judged])]
    rest = ~np.isnan(below.grade) & (below.rank > depth)
    parts.append((below.query[rest], below.rank[rest], below.grade[rest]))
    count = np.bincount(above.query[taken], minlength=len(below.sizes))
    if (count < np.minimum(below.sizes, depth)).any():
        given = np.flatnonzero(below.rank <= depth)
        dropped = given[~np.isin(below.key[given], above.key[taken])]
        place = place_in(below.query[dropped]) + count[below.query[dropped]]
        is_judged = ~np.isnan(below.grade[dropped])
        dropped = dropped[is_judged]
        parts.append((below.query[dropped], place[is_judged], below.grade[dropped]))
    query, rank, grade = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return trial.values(_reordered(judged, query, rank, grade, trial))


def placement(
    of: str,
    judged: JudgedRun,
    depths: Sequence[int],
    trial: Trial,
    *,
    with_ceiling: bool,
    reranker: tuple[str, Step, int] | None = None,
    is_gain: bool = False,
    level: float = 0.95,
) -> Placement:
    """Say what reranking a system would keep and give at each depth.

    ``reranker`` is the name, the step and the depth of the one that there is; ``is_gain`` tells
    whether it is shown to be better than what it reranks.
    """
    measure = str(trial.measure)
    known = recalls(judged, depths, trial.counted)
    best: Sequence[float | None] = [None] * len(depths)
    if with_ceiling:
        best = ceilings(judged, depths, trial)
    plain = trial.mean(trial.values(judged))
    rows = [
        PlacementRow(depth=depth, recall=recall, ceiling=ceiling)
        for depth, recall, ceiling in zip(depths, known, best, strict=True)
    ]
    if reranker is not None:
        _, step, own_depth = reranker
        scale = Scale.of(measure)
        full = reranked_at(step, judged, own_depth, trial)
        gain = trial.mean(full) - plain
        for place, row in enumerate(rows):
            if row.depth > own_depth:
                continue
            values = full
            if row.depth < own_depth:
                values = reranked_at(step, judged, row.depth, trial)
            value = trial.mean(values)
            losses = differences(values, full)
            losses = losses if scale.higher_is_better else -losses
            [interval] = mean_intervals(losses, method="t", level=level, bounds=scale.change)
            rows[place] = row.model_copy(
                update={
                    "value": value,
                    "loss": float(losses.mean()) if row.depth < own_depth else 0.0,
                    "loss_interval": interval if row.depth < own_depth else None,
                    "gain_kept": (value - plain) / gain if is_gain and gain else None,
                }
            )
    return Placement(
        of=of,
        reranker=None if reranker is None else reranker[0],
        measure=measure,
        value=plain,
        rows=tuple(rows),
    )
