"""Improvements: what a stage adds, in per cent of what was there.

Reranking improvement = (nDCG reranked − nDCG before) / nDCG before × 100, of means over the same
queries, and the same of the main measure where that is no nDCG.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.statistics.matrix import Matrix

if TYPE_CHECKING:
    from rankscope.diagnosis.pipeline import Pipeline
    from rankscope.diagnosis.stages import StageRow
    from rankscope.measures.judged import FloatArray


class Improvement(Part):
    """How many per cent a stage improves one measure, against one system it builds on."""

    measure: str
    """The main measure, or nDCG@10 where that is no nDCG."""
    of: str
    """The system below."""
    base_mean: float
    """The mean of the system below, over the queries that all systems have."""
    mean: float
    """The mean of the stage, over the same queries."""

    @property
    def percent(self) -> float | None:
        """(mean − base mean) / base mean × 100; None where the base mean is not above 0."""
        if self.base_mean <= 0:
            return None
        return 100 * (self.mean - self.base_mean) / self.base_mean


def ndcg_at_10() -> Measure:
    """Return what an improvement is told in where the main measure is no nDCG."""
    return Measure.of("nDCG", cutoff=10)


def improvements(pipeline: Pipeline, row: StageRow) -> Iterator[Improvement]:
    """Tell the changes of the main measure, and of nDCG, in per cent of what was there."""
    main = Measure.parse(pipeline.scores.measures[0])
    measures = [main] if main.name == "nDCG" else [main, ndcg_at_10()]
    for measure in measures:
        definition = measure.definition
        if definition.aggregate != "mean" or not definition.higher_is_better:
            continue
        for below in row.of:
            base, system = _paired_values(pipeline, measure, below, row.system)
            yield Improvement(
                measure=str(measure),
                of=below,
                base_mean=aggregate(measure, base),
                mean=aggregate(measure, system),
            )


def _paired_values(pipeline: Pipeline, measure: Measure, *systems: str) -> tuple[FloatArray, ...]:
    """Return the values of some systems on the queries that all systems of the scores have."""
    scores = pipeline.scores
    if str(measure) in scores.measures:
        matrix = Matrix.of_scores(scores.only([str(measure)]))
        return tuple(matrix.values[0, matrix.systems.index(name)] for name in systems)
    counted = np.logical_and.reduce([pipeline.counted(name) for name in scores.runs])
    judged = [pipeline.ranked[name].judged for name in systems]
    return tuple(np.asarray(compute(measure, run)[counted], np.float64) for run in judged)
