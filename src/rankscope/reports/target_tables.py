"""Means and figures beside their targets, as tables: for benchmarks and diagnoses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.figures import FIGURES
from rankscope.document.blocks import Cell, Column, Table, Tone, ends

if TYPE_CHECKING:
    from rankscope.records.kpis import FigureKpi, Status
    from rankscope.records.report import BenchmarkReport, Kpi

STATUS: dict[Status, tuple[str, Tone]] = {
    "pass": (" ✓", "good"),
    "warn": (" !", "warning"),
    "fail": (" ✗", "bad"),
    "unknown": (" ?", "quiet"),
}
"""How each status is marked."""

STATUS_NOTE = "✓ reaches the target; ! misses it by at most a tenth; ✗ by more"


def target_table(report: BenchmarkReport, systems: Sequence[str]) -> Table | None:
    """Show which means reach their targets, and the bands that they fall in."""
    kpis = {(kpi.system, kpi.measure): kpi for kpi in report.kpis}
    sets = list(dict.fromkeys(name for kpi in report.kpis for name in kpi.bands))
    rows = []
    for info in report.measures:
        held = [kpis.get((name, info.measure)) for name in systems]
        target = next((kpi.target for kpi in held if kpi and kpi.target is not None), info.target)
        if target is None and not any(kpi and kpi.bands for kpi in held):
            continue
        sign = "≥" if info.higher_is_better else "≤"
        goal = info.measure if target is None else f"{info.measure} {sign} {target:g}"
        cells = (_kpi_cell(kpi, several=len(sets) > 1) for kpi in held)
        rows.append((Cell(goal), *cells))
    notes = [STATUS_NOTE]
    if sets:
        notes.append(f"in parentheses: the band of {', '.join(sets)}, set for one collection")
    columns = (Column("target", "text"), *map(Column, systems))
    table = Table(columns, tuple(rows), notes=tuple(notes), columns_are="system")
    return table if rows else None


def _kpi_cell(kpi: Kpi | None, *, several: bool) -> Cell:
    if kpi is None:
        return Cell()
    bands = [f"{name}: {band}" if several else band for name, band in kpi.bands.items()]
    marker, tone = ("", "plain") if kpi.target is None else STATUS[kpi.status]
    return Cell(kpi.value, marker=marker, tone=tone, note=", ".join(bands))  # type: ignore[arg-type]


def figure_table(kpis: Sequence[FigureKpi]) -> Table:
    """Show each figure with its interval, target and status, in per cent."""
    several = any(kpi.system is not None for kpi in kpis)
    rows = []
    for kpi in kpis:
        marker, tone = STATUS[kpi.status]
        limits = ends(kpi.interval)
        interval = None if limits is None else (100 * limits[0], 100 * limits[1])
        value = Cell("unknown", tone="quiet")
        if kpi.value is not None:
            value = Cell(100 * kpi.value, interval, marker=marker, tone=tone)
        system = [Cell(kpi.system)] if several else []
        title = f"{FIGURES[kpi.figure].title}, %"
        rows.append((Cell(title), *system, Cell(goal_text(kpi)), value))
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


def figure_text(kpi: FigureKpi) -> str:
    """Write a figure that was measured: "gate precision 71.2 % (target > 80 %)"."""
    whose = "" if kpi.system is None else f" of {kpi.system}"
    value = 100 * (kpi.value or 0.0)
    return f"{FIGURES[kpi.figure].title}{whose} {value:.1f} % (target {goal_text(kpi)} %)"


def goal_text(kpi: FigureKpi) -> str:
    """Write a target in per cent: "> 75", "≤ 10"."""
    higher = FIGURES[kpi.figure].higher_is_better
    sign = (">" if kpi.strict else "≥") if higher else ("<" if kpi.strict else "≤")
    scaled = 100 * kpi.target
    return f"{sign} {scaled if math.isinf(scaled) else round(scaled, 9):g}"
