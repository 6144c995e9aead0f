"""Figures beside their targets, as a table: for benchmarks and diagnoses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.figures import FIGURES
from rankscope.document.blocks import Cell, Column, Table, Tone, ends

if TYPE_CHECKING:
    from rankscope.records.report import FigureKpi, Status

STATUS: dict[Status, tuple[str, Tone]] = {
    "pass": (" ✓", "good"),
    "warn": (" !", "warning"),
    "fail": (" ✗", "bad"),
    "unknown": (" ?", "quiet"),
}
"""How each status is marked."""

STATUS_NOTE = "✓ reaches the target; ! misses it by at most a tenth; ✗ by more"


def figure_table(kpis: Sequence[FigureKpi]) -> Table:
    """Show each figure with its interval, target and status; shares are in per cent."""
    several = any(kpi.system is not None for kpi in kpis)
    rows = []
    for kpi in kpis:
        marker, tone = STATUS[kpi.status]
        scale, limits = scale_of(kpi.figure), ends(kpi.interval)
        interval = None if limits is None else (scale * limits[0], scale * limits[1])
        value = Cell("unknown", tone="quiet")
        if kpi.value is not None:
            value = Cell(scale * kpi.value, interval, marker=marker, tone=tone)
        system = [Cell(kpi.system)] if several else []
        rows.append((Cell(title_of(kpi.figure)), *system, Cell(goal_text(kpi)), value))
    reasons: dict[str, list[str]] = {}
    for kpi in kpis:
        if kpi.reason is not None:
            reasons.setdefault(kpi.reason, []).append(FIGURES[kpi.figure].title)
    notes = [
        STATUS_NOTE,
        *(f"unknown: {', '.join(names)}: {reason}" for reason, names in reasons.items()),
    ]
    system_column = [Column("system", "text")] if several else []
    return Table(
        (
            Column("figure", "text"),
            *system_column,
            Column("target", "text"),
            Column("value", digits=1),
        ),
        tuple(rows),
        notes=tuple(notes),
    )


def scale_of(figure: str) -> float:
    """Return what a figure is multiplied by: 100 for shares, which are shown in per cent."""
    return 1.0 if figure.endswith("_ms") else 100.0


def title_of(figure: str) -> str:
    """Return the title of a figure with its unit."""
    return f"{FIGURES[figure].title}, {unit_of(figure)}"


def unit_of(figure: str) -> str:
    """Return the unit in which a figure is shown."""
    return "ms" if scale_of(figure) == 1.0 else "%"


def figure_text(kpi: FigureKpi) -> str:
    """Write a figure that was measured: "gate precision 71.2 % (target > 80 %)"."""
    unit = unit_of(kpi.figure)
    whose = "" if kpi.system is None else f" of {kpi.system}"
    value = scale_of(kpi.figure) * (kpi.value or 0.0)
    return f"{FIGURES[kpi.figure].title}{whose} {value:.1f} {unit} (target {goal_text(kpi)} {unit})"


def goal_text(kpi: FigureKpi) -> str:
    """Write a target: "> 75", "≤ 200"."""
    higher = FIGURES[kpi.figure].higher_is_better
    sign = (">" if kpi.strict else "≥") if higher else ("<" if kpi.strict else "≤")
    scaled = scale_of(kpi.figure) * kpi.target
    return f"{sign} {scaled if math.isinf(scaled) else round(scaled, 9):g}"
