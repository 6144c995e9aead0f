"""Figures of analyses beside their targets: what a router, gate or reranker should reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankscope.diagnosis.figures import FIGURES, figures_of, why_missing
from rankscope.errors import UnknownNameError
from rankscope.part import Part
from rankscope.records.report import FigureKpi, status_of


@dataclass(frozen=True, slots=True)
class FigureGoal:
    """What a figure should reach."""

    target: float
    """The value; where less is better it is the most that is allowed."""
    strict: bool = False
    """Whether the value itself is not enough: "above", not "at least"."""


def as_goals(targets: Mapping[str, float | FigureGoal]) -> dict[str, FigureGoal]:
    """Take targets of figures by name, as numbers or goals; a name that is not known is refused.

    >>> as_goals({"gate_precision": 0.8})
    {'gate_precision': FigureGoal(target=0.8, strict=False)}
    """
    for name in targets:
        if name not in FIGURES:
            raise UnknownNameError("figure", name, FIGURES)
    return {
        name: target if isinstance(target, FigureGoal) else FigureGoal(float(target))
        for name, target in targets.items()
    }


def figure_kpis(analyses: Part, goals: Mapping[str, FigureGoal]) -> tuple[FigureKpi, ...]:
    """Put the figures in a record's ``analyses`` beside their targets, in the order of these.

    A target of which there is no figure is there too: its status is unknown, with the reason.
    """
    if not goals:
        return ()
    figures = figures_of(analyses)
    rows: list[FigureKpi] = []
    for name, goal in goals.items():
        target: dict[str, Any] = {"figure": name, "target": goal.target, "strict": goal.strict}
        higher = FIGURES[name].higher_is_better
        measured = [
            FigureKpi(
                system=figure.system,
                value=figure.value,
                interval=figure.interval,
                status=status_of(
                    figure.value, goal.target, higher_is_better=higher, strict=goal.strict
                ),
                **target,
            )
            for figure in figures
            if figure.name == name
        ]
        reason = "" if measured else why_missing(name, analyses)
        rows += measured or [FigureKpi(value=None, status="unknown", reason=reason, **target)]
    return tuple(rows)
