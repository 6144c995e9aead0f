"""Means and figures beside their targets: as tables, and what is missed in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.diagnosis.figures import FIGURES
from rankscope.document.blocks import Cell, Column, Section, Table, Tone, ends, text_columns
from rankscope.document.text import number
from rankscope.errors import counted
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.records.report import BenchmarkReport, FigureKpi, Kpi, Status

MOST = 3
"""How many names or values a sentence lists before it counts the rest."""

_STATUS: dict[Status, tuple[str, Tone]] = {
    "pass": (" ✓", "good"),
    "warn": (" !", "warning"),
    "fail": (" ✗", "bad"),
    "unknown": (" ?", "quiet"),
}
_STATUS_NOTE = "✓ reaches the target; ! misses it by at most a tenth; ✗ by more"


def targets_section(report: BenchmarkReport, systems: Sequence[str]) -> Section:
    """Show which means and figures reach their targets, and the bands that means fall in."""
    means = _means_table(report, systems)
    figures = (figure_table(report.figure_kpis),) if report.figure_kpis else ()
    finding = " ".join(missed_targets(report)) or "All targets are reached."
    return Section("Targets", (*((means,) if means.rows else ()), *figures), finding=finding)


def _means_table(report: BenchmarkReport, systems: Sequence[str]) -> Table:
    kpis = {(kpi.system, kpi.measure): kpi for kpi in report.kpis}
    sets = list(dict.fromkeys(name for kpi in report.kpis for name in kpi.bands))
    rows = []
    for info in report.measures:
        row = [kpis.get((name, info.measure)) for name in systems]
        targets = [kpi.target for kpi in row if kpi and kpi.target is not None]
        if targets or any(kpi and kpi.bands for kpi in row):
            sign = "≥" if info.higher_is_better else "≤"
            goal = f"{info.measure} {sign} {targets[0]:g}" if targets else info.measure
            rows.append((Cell(goal), *(_kpi_cell(kpi, several=len(sets) > 1) for kpi in row)))
    bands = [f"in parentheses: the band of {', '.join(sets)}, set for one collection"]
    return Table(
        (Column("target", "text"), *map(Column, systems)),
        tuple(rows),
        notes=(_STATUS_NOTE, *(bands if sets else ())),
        columns_are="system",
    )


def _kpi_cell(kpi: Kpi | None, *, several: bool) -> Cell:
    if kpi is None:
        return Cell()
    bands = [f"{name}: {band}" if several else band for name, band in kpi.bands.items()]
    shown = Cell(kpi.value, note=", ".join(bands))
    if kpi.target is None:
        return shown
    marker, tone = _STATUS[kpi.status]
    return replace(shown, marker=marker, tone=tone)


def figure_table(kpis: Sequence[FigureKpi]) -> Table:
    """Show each figure with its interval, target and status, in per cent."""
    several = any(kpi.system is not None for kpi in kpis)
    rows, reasons = [], dict[str, list[str]]()
    for kpi in kpis:
        title, (marker, tone) = FIGURES[kpi.figure].title, _STATUS[kpi.status]
        value = Cell("unknown", tone="quiet")
        if kpi.value is not None:
            low, high = ends(kpi.interval) or (math.nan, math.nan)
            interval = None if kpi.interval is None else (100 * low, 100 * high)
            value = Cell(100 * kpi.value, interval, marker=marker, tone=tone)
        if kpi.reason is not None:
            reasons.setdefault(kpi.reason, []).append(title)
        system = (Cell(kpi.system),) if several else ()
        rows.append((Cell(f"{title}, %"), *system, Cell(_goal(kpi)), value))
    unknown = [f"unknown: {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    titles = ("figure", "system", "target") if several else ("figure", "target")
    columns = (*text_columns(*titles), Column("value", digits=1))
    return Table(columns, tuple(rows), notes=(_STATUS_NOTE, *unknown))


def _goal(kpi: FigureKpi) -> str:
    """Write a target in per cent: "> 75", "≤ 10"."""
    higher = FIGURES[kpi.figure].higher_is_better
    sign = (">" if kpi.strict else "≥") if higher else ("<" if kpi.strict else "≤")
    return f"{sign} {round(100 * kpi.target, 9):g}"


def missed_targets(report: BenchmarkReport) -> list[str]:
    """Say which targets are missed, by system, and which figures miss theirs."""
    signs = {info.measure: "≥" if info.higher_is_better else "≤" for info in report.measures}
    by_system: dict[str, list[str]] = {}
    for kpi in report.kpis:
        if kpi.target is not None and kpi.status in ("warn", "fail"):
            goal = f"{kpi.measure} {signs.get(kpi.measure, '≥')} {kpi.target:g}"
            by_system.setdefault(kpi.system, []).append(f"{goal} ({number(kpi.value)})")
    named = list(by_system.items())[:MOST]
    sentences = [f"{name} misses {listed(goals, MOST)}." for name, goals in named]
    if left := len(by_system) - len(named):
        verb = "misses" if left == 1 else "miss"
        sentences.append(f"{counted(left, 'more system')} {verb} some.")
    figures = [kpi for kpi in report.figure_kpis if kpi.value is not None]
    low = [_figure_text(kpi) for kpi in figures if kpi.status in ("warn", "fail")]
    if low:
        those = f"{len(low)} of {counted(len(figures), 'figure')} miss their targets"
        sentences.append(f"{those}: {listed(low, MOST)}.")
    return sentences


def _figure_text(kpi: FigureKpi) -> str:
    """Write a figure that was measured: "gate precision 71.2 % (target > 80 %)"."""
    whose = "" if kpi.system is None else f" of {kpi.system}"
    value = 100 * (kpi.value or 0.0)
    return f"{FIGURES[kpi.figure].title}{whose} {value:.1f} % (target {_goal(kpi)} %)"


def reached_targets(report: BenchmarkReport) -> bool:
    """Tell whether there are targets of measures, some of which are reached."""
    return any(kpi.target is not None and kpi.status == "pass" for kpi in report.kpis)
