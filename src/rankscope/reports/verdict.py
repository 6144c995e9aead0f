"""The verdict of a benchmark, written from its report and saying no more than it holds.

First the decision (`rankscope.statistics.decision`), by the main measure and by what systems cost.
Then what a reader must be careful about and no finding says: broken systems, and measures that look
deeper than the runs, from which nothing is concluded; and the targets that are missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.diagnosis.figures import FIGURES
from rankscope.diagnosis.holes import holes
from rankscope.diagnosis.repeats import repeats
from rankscope.document.blocks import Cell, Column, Section, Table, Tone, ends, text_columns
from rankscope.document.text import interval, number
from rankscope.errors import RankscopeError, counted
from rankscope.measures.language import Measure
from rankscope.reports.system_tables import FEW
from rankscope.statistics.decision import Decision, Price, decide, decide_alone, worded
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.records.kpis import FigureKpi, Status
    from rankscope.records.origin import ModelUsage
    from rankscope.records.report import BenchmarkReport, Kpi, MeasureInfo


MORE = 0.05
"""With so much more of its answers unjudged than of the baseline's, a system may be underrated."""


def verdict(report: BenchmarkReport) -> list[str]:
    """Return the result in sentences, as records hold it: nothing in it rests on the clock."""
    decision = decision_of(report, with_times=False)
    return [*worded(decision), *cautions(report), *missed_targets(report)]


def decision_of(report: BenchmarkReport, *, with_times: bool = True) -> Decision:
    """Return the decision by the main measure; ``with_times``: latency is among the costs."""
    scored = [system for system in report.systems if system.broken is None]
    info = _main_measure(report)
    if not scored or info is None:
        return Decision(choice=None, headline="Nothing was measured")
    if report.comparison is not None and len(report.comparison.runs) > 1:
        return decide(report.comparison, info.measure, tuple(_prices(report, with_times)))
    system = scored[0]
    value = next((value for value in system.measures if value.measure == info.measure), None)
    if value is None:
        headline = f"{system.name} has no {info.measure}"
        return Decision(choice=system.name, headline=headline)
    held = value.interval
    ends = "" if held is None else f" {interval((held.low, held.high))}"
    return decide_alone(system.name, info.measure, value.value, ends, value.n)


def _main_measure(report: BenchmarkReport) -> MeasureInfo | None:
    """Return the first measure that does not look deeper than the runs."""
    deep = _deep_measures(report)
    return next((info for info in report.measures if info.measure not in deep), None)


def _prices(report: BenchmarkReport, with_times: bool) -> Iterator[Price]:
    """Yield what systems cost: money spent on models, stages, latency."""
    spent = {
        system.name: sum(usage.cost or 0.0 for usage in system.run.usage)
        for system in report.systems
    }
    yield Price("cost", spent)
    built_on = {system.name: system.of for system in report.systems}

    def stages(name: str) -> int:
        return 1 + sum(stages(below) for below in built_on.get(name, ()))

    counts = {name: stages(name) for name in built_on}
    yield Price("number of stages", counts, counted_in="stage")
    if with_times:
        times = {system.name: system.timing for system in report.systems}
        latencies = {name: time.p50 for name, time in times.items() if time.p50 is not None}
        if len(latencies) < len(times):  # of systems that answer in batches only the mean is known
            rates = {name: time.per_second for name, time in times.items()}
            latencies = {name: 1 / rate for name, rate in rates.items() if rate}
        yield Price("latency", latencies, is_time=True)


# --- what to be careful about --------------------------------------------------------------------


def cautions(report: BenchmarkReport) -> list[str]:
    """Return what makes the result mean less than it seems, the gravest first."""
    sentences = [
        f"{system.name} is broken and was not scored: {system.broken}."
        for system in report.systems
        if system.broken is not None
    ]
    if deep := _deep_measures(report):
        verb = "looks" if len(deep) == 1 else "look"
        fetched = counted(report.depth, "document")
        sentences.append(
            f"Nothing is concluded from {listed(deep, FEW)}, which {verb} deeper than the "
            f"{fetched} that were fetched for each question; raise depth, or cut earlier."
        )
    repeated = repeats.of(report.analyses)
    return [*sentences, repeated.sentence] if repeated and repeated.sentence else sentences


def _deep_measures(report: BenchmarkReport) -> list[str]:
    """Return the measures that look at more documents than were asked for, and than there are."""
    documents = report.collection.documents
    if documents is not None and report.depth >= documents:
        return []
    return [info.measure for info in report.measures if (_cutoff(info.measure) or 0) > report.depth]


def _cutoff(name: str) -> int | None:
    try:
        return Measure.parse(name).cutoff
    except RankscopeError:
        return None


def what_stands(report: BenchmarkReport, choice: str | None) -> str:
    """Say whether unjudged documents could undo the decision; '' where that is not known."""
    unjudged, comparison = holes.of(report.analyses), report.comparison
    if unjudged is None or unjudged.by_design or comparison is None or choice is None:
        return ""
    for each in unjudged.conclusions:
        if {each.better, each.worse} == {choice, comparison.baseline}:
            if each.verdict == "holds":
                return "unjudged documents cannot undo the decision"
            if each.chance is not None:
                return (
                    f"judging {counted(each.unjudged, 'unjudged document')} would undo the "
                    f"decision with a chance of about {each.chance:.0%}"
                )
    return ""


def lesser_cautions(report: BenchmarkReport, decision: Decision) -> list[str]:
    """Say which systems may be better than they look, and what a ratio of latencies is worth."""
    lines, unjudged = [], holes.of(report.analyses)
    base = report.baseline or decision.choice
    if unjudged is not None and not unjudged.by_design and not unjudged.findings:
        shares = {row.system: row.share(unjudged.cutoff) for row in unjudged.systems}
        usual = shares.get(base or "", 0.0)
        high = sorted((n for n in shares if shares[n] >= usual + MORE), key=lambda n: -shares[n])
        if high:
            those = listed((f"{shares[name]:.0%} of {name}'s" for name in high), FEW)
            look = "they look" if len(high) > 1 else "it looks"
            lines.append(
                f"{those} first {counted(unjudged.cutoff, 'document')} are unjudged ({base}: "
                f"{usual:.0%}), so {listed(high, FEW)} may be better than {look}."
            )
    if "latency" in decision.reason:
        documents = report.collection.documents
        on = "" if documents is None else f", on {counted(documents, 'document')}"
        lines.append(f"Latency was measured once{on}: an order of magnitude.")
    return lines


def silence(usage: ModelUsage) -> str:
    """Say to how many questions a language model gave no usable answer."""
    questions = usage.answered + usage.failed
    whole = "any" if usage.failed >= questions else f"{usage.failed:,}"
    return f"the model {usage.model} had no usable answer to {whole} of {questions:,} questions"


# --- targets -------------------------------------------------------------------------------------

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
    named = list(by_system.items())[:FEW]
    sentences = [f"{name} misses {listed(goals, FEW)}." for name, goals in named]
    if left := len(by_system) - len(named):
        verb = "misses" if left == 1 else "miss"
        sentences.append(f"{counted(left, 'more system')} {verb} some.")
    figures = [kpi for kpi in report.figure_kpis if kpi.value is not None]
    low = [_figure_text(kpi) for kpi in figures if kpi.status in ("warn", "fail")]
    if low:
        those = f"{len(low)} of {counted(len(figures), 'figure')} miss their targets"
        sentences.append(f"{those}: {listed(low, FEW)}.")
    return sentences


def _figure_text(kpi: FigureKpi) -> str:
    """Write a figure that was measured: "gate precision 71.2 % (target > 80 %)"."""
    whose = "" if kpi.system is None else f" of {kpi.system}"
    value = 100 * (kpi.value or 0.0)
    return f"{FIGURES[kpi.figure].title}{whose} {value:.1f} % (target {_goal(kpi)} %)"


def reached_targets(report: BenchmarkReport) -> bool:
    """Tell whether there are targets of measures, some of which are reached."""
    return any(kpi.target is not None and kpi.status == "pass" for kpi in report.kpis)
