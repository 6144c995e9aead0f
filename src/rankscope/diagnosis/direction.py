"""Direction: would a system be better read from its end?

A run that holds distances, or ranks in place of scores, has its best documents last. Reading each
answer from the end tells: where that is significantly better, the order is upside down.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.ranked_run import judged_as_scored
from rankscope.diagnosis.registry import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.document.blocks import Cell, Column, Section, Table
from rankscope.errors import counted
from rankscope.findings import NotApplicable, declare
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.statistics.arrays import row_means
from rankscope.statistics.correction import corrected
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from rankscope.measures.judged import JudgedRun

UPSIDE_DOWN = declare(
    "RS722",
    "upside-down",
    "warning",
    unit="system",
    advice="check whether its scores are distances, or ranks: there the smallest is the best",
    meaning="""A system is significantly better when its answers are read from the end, corrected
    over the systems.""",
)


class SystemDirection(Part):
    """One system, read from either end."""

    system: str
    """The system."""
    mean: float
    """The main measure as it is."""
    reversed_mean: float
    """The same with every answer read from its end."""
    p_corrected: float
    """Of the difference, by Student's paired t, corrected by Holm over the systems."""
    is_upside_down: bool
    """Whether it is shown to be better from the end."""


class Direction(Analysed):
    """Whether systems are read from the right end."""

    measure: str
    """The main measure."""
    systems: tuple[SystemDirection, ...]
    """By system."""


class DirectionConfig(AnalysisConfig):
    """Nothing can be configured."""


def reversed_run(judged: JudgedRun) -> JudgedRun:
    """Return a run with the documents of every query in the opposite order."""
    rank = judged.retrieved[judged.hit_query] + 1 - judged.hit_rank
    order = np.lexsort((rank, judged.hit_query))
    return replace(
        judged,
        hit_rank=rank[order],
        hit_grade=judged.hit_grade[order],
        subtopics=None,
        lengths=None,
    )


def _look(_: DirectionConfig, inputs: Inputs) -> Direction | NotApplicable:
    assert inputs.scores is not None
    measure = inputs.main
    definition = measure.definition
    if definition.aggregate != "mean" or measure.needs:
        return DIRECTION.not_applicable(
            f"{measure} is no mean over queries of what ranks and grades say"
        )
    values, from_end = [], []
    for name in inputs.scores.runs:
        judged, as_scored = judged_as_scored(inputs, name, measure)
        values.append(as_scored)
        from_end.append(compute(measure, reversed_run(judged)))
    if not len(values[0]):
        return DIRECTION.not_applicable("no query counts")
    changes = [after - before for before, after in zip(values, from_end, strict=True)]
    p_values = corrected([paired_tests(row, test="t")[0].p for row in changes], "holm").tolist()
    sign = 1 if definition.higher_is_better else -1
    systems = tuple(
        SystemDirection(
            system=name,
            mean=aggregate(measure, before),
            reversed_mean=aggregate(measure, after),
            p_corrected=p,
            is_upside_down=p <= inputs.settings.alpha and sign * row_means(change[None])[0] > 0,
        )
        for name, before, after, change, p in zip(
            inputs.scores.runs, values, from_end, changes, p_values, strict=True
        )
    )
    turned = [system for system in systems if system.is_upside_down]
    return Direction(
        measure=str(measure),
        systems=systems,
        findings=tuple(
            UPSIDE_DOWN.finding(
                f"{system.system} has {measure} of {system.mean:.4f}, and {_sentence_end(system)}",
                evidence=system.to_dict(),
            )
            for system in turned
        ),
        advice=tuple(
            Advice(
                text=f"Order: {system.system} has {measure} of {system.mean:.3f}, and "
                f"{_sentence_end(system)}: check whether its scores are distances",
                gain=abs(system.reversed_mean - system.mean),
            )
            for system in turned
        ),
    )


def _sentence_end(system: SystemDirection) -> str:
    return f"{system.reversed_mean:.3f} with its answers read from the end"


def _section(result: Direction) -> Section:
    rows = [
        (
            Cell(system.system),
            Cell(system.mean),
            Cell(
                system.reversed_mean,
                marker="!" if system.is_upside_down else "",
                tone="warning" if system.is_upside_down else "plain",
            ),
        )
        for system in result.systems
    ]
    table = Table(
        (Column("system", "text"), Column("as it is"), Column("from the end")),
        tuple(rows),
        notes=(
            (
                f"mean {result.measure} of {counted(len(result.systems), 'system')}; ! better from "
                "the end by more than chance"
            ),
        ),
    )
    return Section(DIRECTION.title, details=(table,))


DIRECTION = register(
    Analysis(
        name="direction",
        title="Direction",
        summary="Whether answers are read from the right end: scores may be distances.",
        config=DirectionConfig,
        written="",
        result=Direction,
        needs=("scores", "runs", "qrels"),
        look=_look,
        section=_section,
        codes=(UPSIDE_DOWN,),
        place=85,
    )
)
