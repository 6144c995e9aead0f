"""Figures: single numbers of analyses that targets can be set for, under names that do not change.

An analysis lists what it measured in its result's ``figures``; `figures_of` gathers them from all
that was answered. Measures of rankings are no figures: their targets go by the measure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.show import percent
from rankscope.findings import NotApplicable
from rankscope.part import Part, left_out
from rankscope.statistics.classification import Proportion
from rankscope.statistics.intervals import Interval


@dataclass(frozen=True, slots=True)
class FigureKind:
    """What a figure is."""

    title: str
    """What it is called in tables."""
    analysis: str
    """The analysis that measures it, by name."""
    higher_is_better: bool = True
    """Whether more is better."""
    range: tuple[float, float] = (0.0, 1.0)
    """The smallest and the largest value possible."""


FIGURES: dict[str, FigureKind] = {
    "routing_accuracy": FigureKind("routing accuracy (top-1)", "routing"),
    "gate_precision": FigureKind("gate precision", "gating"),
    "gate_recall": FigureKind("gate recall", "gating"),
    "gate_f1": FigureKind("gate F1", "gating"),
    "gate_false_positive_rate": FigureKind(
        "gate false-positive rate", "gating", higher_is_better=False
    ),
    "gate_efficiency": FigureKind("gate efficiency", "gating"),
    "gate_wrongly_skipped": FigureKind("wrongly skipped", "gating", higher_is_better=False),
    "reranking_improvement": FigureKind(
        "reranking improvement (nDCG)", "stages", range=(-1.0, math.inf)
    ),
}
"""Every figure, by name."""


class Figure(Part):
    """One number of an analysis."""

    name: str
    """Which one: a name of `FIGURES`."""
    value: float
    """Its value; shares are from 0 to 1."""
    interval: Interval | None = None
    """Where it lies with some confidence; null where that is not known."""
    system: str | None = left_out()
    """The system it is about, if it is about one."""


def shares(**proportions: Proportion) -> list[Figure]:
    """Make figures of proportions, without those of nothing."""
    return [
        Figure(name=name, value=share.share, interval=share.interval)
        for name, share in proportions.items()
        if share.share is not None
    ]


def figures_of(analyses: Part) -> list[Figure]:
    """Return every figure in a record's ``analyses``."""
    figures: list[Figure] = []
    for analysis in all_analyses():
        answer = analysis.of(analyses)
        figures += getattr(answer, "figures", ())
    return figures


def why_missing(name: str, analyses: Part) -> str:
    """Say why a figure is not in a record's ``analyses``."""
    kind = FIGURES[name]
    answer = getattr(analyses, kind.analysis, None)
    if answer is None:
        return f"the analysis {kind.analysis} was not asked"
    if isinstance(answer, NotApplicable):
        return answer.reason
    if name == "reranking_improvement":
        return "no stage is a reranker, or no nDCG is measured"
    return f"the analysis {kind.analysis} has no such figure here"


def share_text(share: Proportion) -> str:
    """Write a share with its interval: "81% [73%, 87%]"."""
    if share.share is None or share.interval is None:
        return "–"
    low, high = percent(share.interval.low), percent(share.interval.high)
    return f"{percent(share.share)} [{low}, {high}]"
