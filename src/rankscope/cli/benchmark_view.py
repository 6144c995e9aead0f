"""A benchmark on a terminal: one table, what its signs mean, warnings, verdict, where files are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.cli.console import visible
from rankscope.cli.tables import Column, blocks_needed, print_columns
from rankscope.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from rankscope.diagnosis.stages import StageChange
    from rankscope.findings import Finding
    from rankscope.records import BenchmarkReport, Kpi, MeasureInfo, SystemRecord

__all__ = ["show_benchmark", "show_plan"]

_COLOURS = {"pass": "green", "warn": "yellow", "fail": "red", "unknown": "dim"}
_REPORTS = ("BenchmarkComparison.md", "BenchmarkReport.json")
_MOST_FINDINGS = 8
"""How many findings are printed; the reports hold all."""

Cell = tuple[str, str]


def show_benchmark(
    report: BenchmarkReport, console: Console, *, folder: Path | None = None
) -> None:
    """Print systems × measures, stages, targets, warnings and the verdict."""
    from rankscope.reports.cells import legend

    held = report.collection
    on = f"{report.name}: {held.name}{'' if held.split is None else f' ({held.split})'}"
    _say(console, f"{on}, {held.queries:,} queries", "bold")
    console.print()
    _main_table(report, console)
    console.print()
    best = "*" if _is_plain(console) else "bold:"
    letters = _shows_letters(report)
    for line in legend(report, best=best, interval="±: half of the", letters=letters):
        _say(console, line, "dim")
    _stages(report, console)
    _targets(report, console)
    _findings(report, console)
    _verdict(report, console)
    if folder is not None:
        console.print()
        _where(folder, console)


def show_plan(rows: Sequence[tuple[str, str, str]], console: Console) -> None:
    """Print what a run would do: each stage, whether its result is there, and what it needs."""
    if not rows:
        _say(console, "nothing to do", "dim")
        return
    styles = {"there": "green", "to do": "yellow"}
    stage = Column("stage", [(name, "bold") for name, _, _ in rows], right=False)
    state = Column("state", [(word, styles.get(word, "")) for _, word, _ in rows], right=False)
    needs = Column("needs", [(text or "–", "") for _, _, text in rows], right=False)
    print_columns(console, stage, [state, needs])


def _say(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(visible(text), style=style), overflow="fold")


def _verdict(report: BenchmarkReport, console: Console) -> None:
    """Print the sentences, each as a point of a list."""
    from rich.table import Table
    from rich.text import Text

    if not report.verdict:
        return
    points = Table.grid(padding=(0, 1, 0, 0))
    points.add_column(no_wrap=True)
    points.add_column(overflow="fold")
    for sentence in report.verdict:
        points.add_row(Text("-"), Text(visible(sentence)))
    console.print()
    console.print(Text("verdict", style="bold"))
    console.print(points)


# --- the main table ------------------------------------------------------------------------------


def _is_plain(console: Console) -> bool:
    """Tell whether bold would not be seen."""
    return console.color_system is None


def _value(
    report: BenchmarkReport, system: SystemRecord, info: MeasureInfo, *, plain: bool
) -> list[str]:
    """Return a mean with its signs, half its interval, and its letters."""
    from rankscope.reports.cells import count_or_mean, marker, mean_of, value_of

    value = value_of(system, info.measure)
    if value is None:
        return ["–  ", "", ""]
    number = count_or_mean(value.value, counted=value.interval is None)
    sign = marker(report.comparison, system.name, info.measure) or " "
    sign += "*" if plain and _is_best(report, system, info) else " "
    where = value.interval
    half = ""
    if where is not None and where.low is not None and where.high is not None:
        half = f"±{(where.high - where.low) / 2:.3f}".replace("±0.", "±.")
    mean = mean_of(report.comparison, system.name, info.measure)
    letters = mean.letters if mean is not None and _shows_letters(report) else ""
    return [number + sign, half, letters]


def _is_best(report: BenchmarkReport, system: SystemRecord, info: MeasureInfo) -> bool:
    return len(report.systems) > 1 and system.name in info.best


def _shows_letters(report: BenchmarkReport) -> bool:
    """Tell whether letters say more than markers do."""
    return len(report.systems) > 2 or (len(report.systems) == 2 and report.baseline is None)


def _style(report: BenchmarkReport, system: SystemRecord, info: MeasureInfo) -> str:
    """Return bold for the best; green and red for what is better or worse than the baseline."""
    from rankscope.reports.cells import pair_with_baseline

    best = _is_best(report, system, info)
    found = pair_with_baseline(report.comparison, system.name, info.measure)
    colour = {"better": "green", "worse": "red"}.get(found[0], "") if found else ""
    return " ".join(filter(None, ["bold" if best else "", colour]))


def _lined_up(title: str, cells: list[list[str]], styles: list[str]) -> Column:
    """Return a column whose numbers, intervals and letters stand below each other."""
    widths = [max(len(cell[place]) for cell in cells) for place in range(3)]
    texts = []
    for number, half, letters in cells:
        text = number.rjust(widths[0]) + half.rjust(widths[1])
        texts.append(f"{text} {letters.ljust(widths[2])}" if widths[2] else text)
    return Column(title, list(zip(texts, styles, strict=True)), right=False)


def _main_table(report: BenchmarkReport, console: Console) -> None:
    """Print measures as rows, or systems as rows where that needs fewer tables."""
    plain = _is_plain(console)
    measures = [
        (info.measure if info.higher_is_better else f"{info.measure} ↓", info)
        for info in report.measures
    ]
    systems = [(system.name, system) for system in report.systems]
    across = Column("measure", [(name, "bold") for name, _ in measures], right=False)
    by_system = [
        _lined_up(
            name,
            [_value(report, system, info, plain=plain) for info in report.measures],
            [_style(report, system, info) for info in report.measures],
        )
        for name, system in systems
    ]
    down = Column("system", [(name, "bold") for name, _ in systems], right=False)
    by_measure = [
        _lined_up(
            name,
            [_value(report, system, info, plain=plain) for system in report.systems],
            [_style(report, system, info) for system in report.systems],
        )
        for name, info in measures
    ]
    width = console.width
    if blocks_needed(down, by_measure, width) < blocks_needed(across, by_system, width):
        print_columns(console, down, by_measure)
    else:
        print_columns(console, across, by_system)


# --- stages, targets, findings -------------------------------------------------------------------


def _stages(report: BenchmarkReport, console: Console) -> None:
    """Print what each stage changed in the main measure, and the ceiling of rerankers."""
    main = report.measures[0].measure
    rows = [
        (stage, change)
        for stage in report.stages
        for change in stage.changes
        if change.measure == main and change.of in stage.of
    ]
    if not rows:
        return
    cutoff = rows[0][0].cutoff
    firsts = [
        number == 0 or rows[number - 1][0] is not stage for number, (stage, _) in enumerate(rows)
    ]
    own = list(zip(rows, firsts, strict=True))
    names = [
        (f"{stage.system} ({stage.kind})" if first else "", "bold") for (stage, _), first in own
    ]
    ceilings = [
        f"{stage.ceiling[main]:.3f}" if first and main in stage.ceiling else ""
        for (stage, _), first in own
    ]
    moved = [f"+{stage.promoted:,} -{stage.lost:,}" if first else "" for (stage, _), first in own]
    columns = [
        Column("against", [(change.of, "") for _, change in rows], right=False),
        Column(f"change in {main}", [_change_cell(report, change) for _, change in rows]),
        Column("ceiling", [(text, "") for text in ceilings]),
        Column(f"in/out top {cutoff}", [(text, "") for text in moved]),
    ]
    if not any(ceilings):
        del columns[2]
    console.print()
    print_columns(console, Column("stage", names, right=False), columns)
    said = f"in/out top {cutoff}: relevant documents that enter and leave it"
    if any(ceilings):
        said = f"ceiling: {main} if what it looks at stood in the best order; {said}"
    _say(console, said, "dim")


def _change_cell(report: BenchmarkReport, change: StageChange) -> Cell:
    """Return a change, coloured where its test says that it is more than chance."""
    from rankscope.reports.cells import ends, signed

    alpha = 0.05 if report.comparison is None else report.comparison.settings.alpha
    gain = change.difference if report.measures[0].higher_is_better else -change.difference
    sure = change.p <= alpha
    colour = ("green" if gain > 0 else "red") if sure and gain else ""
    return f"{signed(change.difference)} {ends(change.interval, sign=True)}", colour


def _targets(report: BenchmarkReport, console: Console) -> None:
    """Print the status of every measure that has a target."""
    held = {(one.system, one.measure): one for one in report.kpis if one.target is not None}
    infos = [
        info
        for info in report.measures
        if any((system.name, info.measure) in held for system in report.systems)
    ]
    if not infos:
        return
    console.print()
    first = Column("target", [(_wanted(info, held), "bold") for info in infos], right=False)
    columns = [
        Column(
            system.name,
            [_kpi_cell(held.get((system.name, info.measure))) for info in infos],
        )
        for system in report.systems
    ]
    print_columns(console, first, columns)


def _wanted(info: MeasureInfo, held: dict[tuple[str, str], Kpi]) -> str:
    target = next(one.target for (_, name), one in held.items() if name == info.measure)
    return f"{info.measure} {'≥' if info.higher_is_better else '≤'} {target:g}"


def _kpi_cell(kpi: Kpi | None) -> Cell:
    from rankscope.reports.cells import MARKS

    if kpi is None:
        return "–", "dim"
    return f"{kpi.value:.3f} {MARKS[kpi.status]}", _COLOURS[kpi.status]


def _findings(report: BenchmarkReport, console: Console) -> None:
    """Print errors in full, and warnings of a kind in one line; notes are counted."""
    said: list[Cell] = []
    for one in report.findings:
        if one.severity == "error":
            who = "" if one.system is None else f"{one.system}: "
            said.append((f"error: {who}{one.message} [{one.code}]; {one.advice}", "bold red"))
    said = said[:_MOST_FINDINGS]
    warnings: dict[str, list[Finding]] = {}
    for one in report.findings:
        if one.severity == "warning":
            warnings.setdefault(one.code, []).append(one)
    for code, kind in warnings.items():
        systems = ", ".join(dict.fromkeys(one.system for one in kind if one.system is not None))
        who = f"{systems}: " if systems else ""
        words = kind[0].name.replace("-", " ") if len(kind) > 1 else kind[0].message
        said.append((f"warning: {who}{words} [{code}]", "yellow"))
    notes = sum(one.severity == "note" for one in report.findings)
    if said or notes:
        console.print()
    for text, style in said:
        _say(console, text, style)
    if said or notes:
        parts = ["what to do about it"] if said else []
        parts += [counted(notes, "note")] if notes else []
        _say(console, f"{' and '.join(parts)}: in the reports", "dim")


def _where(folder: Path, console: Console) -> None:
    """Print the paths on lines of their own, never broken."""
    from rich.text import Text

    there = [folder / name for name in _REPORTS if (folder / name).exists()]
    for path in there or [folder]:
        console.print(Text(visible(f"written to {path}")), soft_wrap=True)
