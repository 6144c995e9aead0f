"""Targets: what measures, and figures of a router, gate or reranker, should reach."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rankscope.diagnosis.figures import FIGURES, figures_of, why_missing
from rankscope.errors import UnknownNameError
from rankscope.part import Part, left_out
from rankscope.statistics.intervals import Interval

Status = Literal["pass", "warn", "fail", "unknown"]

WARN = 0.1
"""A value that misses its target by at most this share of it is a warning, otherwise a failure."""


def status_of(
    value: float, target: float | None, *, higher_is_better: bool = True, strict: bool = False
) -> Status:
    """Say whether a value reaches its target: pass, warn (within a tenth of it), fail, or unknown.

    ``strict``: the target itself is not enough.

    >>> status_of(0.38, 0.40), status_of(0.35, 0.40), status_of(0.35, None)
    ('warn', 'fail', 'unknown')
    """
    if target is None or not math.isfinite(value):
        return "unknown"
    is_met = value >= target if higher_is_better else value <= target
    if is_met and not (strict and value == target):
        return "pass"
    is_near = value >= (1 - WARN) * target if higher_is_better else value <= (1 + WARN) * target
    return "warn" if is_near else "fail"


class FigureKpi(Part):
    """One figure of an analysis beside its target."""

    figure: str
    """Which one, such as routing_accuracy."""
    system: str | None = left_out()
    """The system it is about, if it is about one."""
    value: float | None
    """Its value; shares are from 0 to 1. Null: it was not measured."""
    interval: Interval | None = None
    """Where it lies with some confidence; null where that is not known."""
    target: float
    """What it should reach; where less is better, the most that is allowed."""
    strict: bool
    """Whether the target itself is not enough."""
    status: Status
    """pass: the target is reached; warn: missed by at most a tenth; fail; unknown: not measured."""
    reason: str | None = left_out()
    """Why it was not measured."""


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
