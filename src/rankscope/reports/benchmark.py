"""A benchmark as a document: verdict, results, targets, stages, groups, findings, what was run.

Everything shown is in the `BenchmarkReport`. A terminal shows what decides; a page shows all of it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.failures import failures
from rankscope.document.blocks import (
    Answer,
    Bar,
    Cell,
    Chart,
    Column,
    Document,
    Point,
    Points,
    Section,
    Table,
    Tone,
    Value,
    ends,
    plain_rows,
    text_columns,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import RankscopeError, counted
from rankscope.measures.language import Measure
from rankscope.reports.asked import interval_methods
from rankscope.reports.asked_engines import asked_section
from rankscope.reports.comparison_page import how_tested
from rankscope.reports.decision_table import FIRST, SystemLine, decision_table
from rankscope.reports.definitions import definitions_section
from rankscope.reports.diagnosed import (
    Answers,
    analysis_sections,
    careful_lines,
    findings_section,
    fix_first,
    shortened_lines,
)
from rankscope.reports.figure_targets import STATUS, STATUS_NOTE, figure_table
from rankscope.reports.mean_coverage import coverage_of
from rankscope.reports.pair_tables import pairs_table
from rankscope.reports.reproduction import reproduction_section
from rankscope.reports.shown_systems import not_shown, shown_systems
from rankscope.reports.verdict import cautions, decision_of, missed_targets, reached_targets
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.records.manifest import ExperimentManifest
    from rankscope.records.report import (
        BenchmarkReport,
        Kpi,
        MeasureInfo,
        MeasureValue,
        SystemRecord,
    )
    from rankscope.statistics.system_pairs import Pair

_LONGEST_SPEC = 300
"""A spec longer than this is cut; the JSON has all of it."""


@view
def benchmark_document(
    report: BenchmarkReport,
    *,
    manifest: ExperimentManifest | None = None,
    max_systems: int | None = None,
    with_times: bool = True,
) -> Document:
    """Show a benchmark: the decision, what it rests on, what to fix; behind it everything.

    With its ``manifest``, config, versions and machine are shown, too. ``max_systems``: how many
    systems are shown, the best and the baseline; None: up to 10, and up to 50 behind the answer;
    0: all. ``with_times``: whether it says how long systems took, which differs from run to run.
    """
    ranked = _ranked(report)
    shown = shown_systems(ranked, max_systems, [report.baseline])
    few = shown_systems(ranked, max_systems, [report.baseline], most=FIRST)
    answers = [(each, getattr(report.analyses, each.name)) for each in all_analyses()]
    answered = [(analysis, answer) for analysis, answer in answers if answer is not None]
    sections = (
        Section(
            "Measures",
            (_chart(report, shown), _main_table(report, shown)),
            finding=_best_on(report, ranked),
        ),
        _targets_section(report),
        *analysis_sections(answered),
        Section("Differences", _differences(report, shown), finding=_outcomes(report)),
        *([_time_section(report)] if report.systems and with_times else []),
        findings_section(report.findings),
        _systems_section(report),
        asked_section(report),
        coverage_of(report),
        definitions_section(
            [info.measure for info in report.measures],
            asked={info.measure: info.asked for info in report.measures},
            profile=report.profile,
        ),
        reproduction_section(report, manifest=manifest),
    )
    decision = decision_of(report, with_times=with_times)
    table = _systems_at_first(
        report, few, decision.choice, left=len(ranked) - len(few), with_times=with_times
    )
    return Document(
        f"Benchmark: {report.name}",
        tuple(section for section in sections if section.all_blocks),
        subtitle=f"{counted(len(report.systems), 'system')}, "
        f"{counted(report.collection.queries, 'question')}",
        facts=tuple(_facts(report)),
        answer=Answer(
            decision.headline,
            decision.reason,
            decision.evidence,
            (table, Points(tuple(_points(report, decision.choice, answered)))),
        ),
        names=frozenset(
            [
                *(system.name for system in report.systems),
                *(info.measure for info in report.measures),
            ]
        ),
        data=lambda: _data(report),
    )


def _ranked(report: BenchmarkReport) -> list[str]:
    """Return the systems, the best by the main measure first, those without a value last."""
    info = report.measures[0]
    sign = -1 if info.higher_is_better else 1

    def key(system: SystemRecord) -> float:
        value = _value(system, info.measure)
        return math.inf if value is None else sign * value.value

    return [system.name for system in sorted(report.systems, key=key)]


def _systems_at_first(
    report: BenchmarkReport,
    shown: Sequence[str],
    choice: str | None,
    *,
    left: int,
    with_times: bool,
) -> Table:
    """Show what the decision rests on: the main measure, the change, recall, failures, latency."""
    info, recall = report.measures[0], _deepest_recall(report)
    base = None if report.comparison is None else report.comparison.baseline
    failed = failures.of(report.analyses)
    failing = {} if failed is None else {row.system: row.failing for row in failed.systems}
    columns = [Column(recall)] if recall else []
    columns += [Column("failing", "text")] if failing else []
    columns += [Column("p50", "text")] if with_times else []
    lines = []
    for system in _named(report, shown):
        value, others = _value(system, info.measure), []
        if recall:
            deep = _value(system, recall)
            others.append(Cell(None if deep is None else deep.value))
        if failed is not None and failing:
            count = failing.get(system.name)
            others.append(Cell(None if count is None else f"{count:,}/{failed.queries:,}"))
        if with_times:
            others.append(Cell(_latency(system)))
        lines.append(
            SystemLine(
                system.name,
                None if value is None else value.value,
                None if value is None else value.interval,
                _pair(report, system.name),
                _about(system),
                tuple(others),
            )
        )
    return decision_table(
        info.measure,
        lines,
        columns,
        base=base,
        choice=choice,
        higher_is_better=info.higher_is_better,
        left=left,
    )


def _about(system: SystemRecord) -> str:
    """Say in a few words how a system searches."""
    if system.of:
        return f"{' + '.join(system.of)}, {_DONE.get(system.kind, system.kind)}"
    held = system.spec.get(system.kind) if isinstance(system.spec, dict) else None
    fields = held.get("fields") if isinstance(held, dict) else None
    return f"{system.kind} on {listed(fields, 2)}" if isinstance(fields, list) else system.kind


_DONE = {"fuse": "fused", "rerank": "reranked"}
"""What is done to the systems that one builds on."""


def _pair(report: BenchmarkReport, name: str) -> Pair | None:
    """Return the comparison of a system with the baseline on the main measure."""
    comparison = report.comparison
    if comparison is None or comparison.baseline is None or name == comparison.baseline:
        return None
    main = report.measures[0].measure
    return comparison.pairs.find(measure=main, base=comparison.baseline, system=name)


def _deepest_recall(report: BenchmarkReport) -> str:
    """Return the recall with the largest cutoff, where that is not the main measure; '' if none."""
    cutoffs = {}
    for info in report.measures[1:]:
        try:
            measure = Measure.parse(info.measure)
        except RankscopeError:
            continue
        if measure.name == "R" and measure.cutoff:
            cutoffs[info.measure] = measure.cutoff
    return max(cutoffs, key=cutoffs.__getitem__, default="")


def _latency(system: SystemRecord) -> str:
    """Return the median latency in milliseconds, to two digits: it was measured once."""
    if system.timing.p50 is None:
        return "–"
    milliseconds = 1000 * system.timing.p50
    if milliseconds < 0.1:
        return "<0.1 ms"
    return f"{milliseconds:,.0f} ms" if milliseconds >= 100 else f"{milliseconds:.1f} ms"


def _points(report: BenchmarkReport, choice: str | None, answers: Answers) -> Iterator[Point]:
    """Yield targets, what to fix first, and what to be careful about."""
    missed = missed_targets(report)
    if missed:
        others = "Everything else passes." if reached_targets(report) else ""
        yield Point("Targets", (" ".join([*missed, others]).strip(),))
    yield from fix_first(answers, choice, report.summary)
    careful = [*cautions(report), *careful_lines(report.findings)]
    if careful:
        yield Point("Careful", shortened_lines(careful), "warning")


def _facts(report: BenchmarkReport) -> Iterator[tuple[str, str]]:
    """Yield what was searched and judged, and when."""
    collection = report.collection
    part = collection.split if collection.language is None else collection.language
    sizes = [counted(collection.queries, "question")]
    if collection.no_answer:
        sizes[0] += f" ({len(collection.no_answer):,} of them without an answer)"
    if collection.documents is not None:
        noun = "document" if collection.chunks_sha256 is None else "chunk"
        sizes.insert(0, counted(collection.documents, noun))
    yield (
        "Collection",
        f"{collection.name}{'' if part is None else f' ({part})'}, {', '.join(sizes)}",
    )
    yield "Judged", counted(collection.judgments, "pair")
    if collection.ontology is not None:
        version = collection.ontology.version
        yield "Terms", f"{collection.ontology.source}{f', {version}' if version else ''}"
    yield "Made", f"{report.created.replace('T', ' ')[:16]} UTC"
    yield "Experiment", report.experiment
    yield "Check", "rankscope benchmark verify FOLDER"


# --- results -------------------------------------------------------------------------------------


def _value(system: SystemRecord, measure: str) -> MeasureValue | None:
    return next((value for value in system.measures if value.measure == measure), None)


def _title(info: MeasureInfo) -> str:
    return info.measure if info.higher_is_better else f"{info.measure} ↓"


def _asked(info: MeasureInfo) -> str:
    return "" if info.asked == info.measure else info.asked


def _chart(report: BenchmarkReport, shown: Sequence[str]) -> Chart:
    """Draw the main measure."""
    main = report.measures[0]
    bars = []
    for system in _named(report, shown):
        value = _value(system, main.measure)
        if value is not None:
            tone: Tone = "strong" if system.name in main.best else "plain"
            bars.append(Bar(system.name, value.value, ends(value.interval), tone))
    return Chart(_title(main), tuple(bars))


def _named(report: BenchmarkReport, names: Sequence[str]) -> list[SystemRecord]:
    by_name = {system.name: system for system in report.systems}
    return [by_name[name] for name in names]


def _main_table(report: BenchmarkReport, shown: Sequence[str]) -> Table:
    several = len(report.systems) > 1
    systems = _named(report, shown)
    left = not_shown(
        len(shown),
        len(report.systems),
        report.measures[0].measure,
        tested=report.comparison is not None,
        where="csv and the JSON report hold all",
    )
    columns = [
        Column(
            system.name,
            digits=3,
            note="baseline" if several and system.name == report.baseline else "",
        )
        for system in systems
    ]
    rows = tuple(
        (
            Cell(_title(info), note=_asked(info)),
            *(_main_cell(report, system, info) for system in systems),
        )
        for info in report.measures
    )
    return Table(
        (Column("measure", "text"), *columns),
        rows,
        notes=(*left, *_legend(report)),
        best="best mean",
        columns_are="system",
    ).turned()


def _main_cell(report: BenchmarkReport, system: SystemRecord, info: MeasureInfo) -> Cell:
    value = _value(system, info.measure)
    if value is None:
        return Cell() if system.broken is None else Cell("broken", tone="bad")
    is_count = value.interval is None and value.value == int(value.value)
    return Cell(
        int(value.value) if is_count else value.value,
        ends(value.interval),
        best=len(report.systems) > 1 and system.name in info.best,
        link=queries_link(measure=info.measure, a=system.name, sort="a"),
    )


def _legend(report: BenchmarkReport) -> Iterator[str]:
    """Say what the table shows: intervals, tests, family, questions."""
    comparison = report.comparison
    values = [value for system in report.systems for value in system.measures]
    intervals = [value.interval for value in values if value.interval is not None]
    level = f"{intervals[0].level:.0%} " if intervals else ""
    methods = interval_methods(intervals)
    yield f"in brackets: {level}interval of the mean{f' ({methods})' if methods else ''}"
    if any(not info.higher_is_better for info in report.measures):
        yield "↓ behind a measure: lower is better"
    if any(system.broken is not None for system in report.systems):
        yield "broken: not scored, as its run is empty or has nothing in common with the qrels"
    if comparison is None:
        return
    settings = comparison.settings
    yield (
        f"{how_tested(settings)}; {comparison.family}; "
        f"{counted(comparison.queries, 'query')}, the same for all systems"
    )
    if report.profile != "rankscope":
        yield f"rules of {report.profile}"


def _best_on(report: BenchmarkReport, ranked: Sequence[str]) -> str:
    """Say on how many measures the first system is the best."""
    if len(ranked) < 2 or not ranked:
        return ""
    best = sum(ranked[0] in info.best for info in report.measures)
    return f"{ranked[0]} has the best mean of {best} of {counted(len(report.measures), 'measure')}."


def _outcomes(report: BenchmarkReport) -> str:
    """Say how many differences from the baseline were told."""
    comparison = report.comparison
    if comparison is None:
        return ""
    base = comparison.baseline
    pairs = comparison.pairs.select(base=base) if base is not None else comparison.pairs.select()
    counts = Counter(pair.verdict for pair in pairs)
    outcomes = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())
    against = "" if base is None else f" from {base}"
    return f"{counted(len(pairs), 'difference')}{against}: {outcomes}."


def _differences(report: BenchmarkReport, shown: Sequence[str]) -> tuple[Table, ...]:
    """Show every measure of every system against the baseline; without one, the main measure."""
    comparison = report.comparison
    if comparison is None:
        return ()
    base = comparison.baseline
    if base is not None:
        pairs = comparison.pairs.select(base=base, among=shown)
        return (pairs_table(pairs, f"Against {base}"),)
    main = report.measures[0].measure
    pairs = comparison.pairs.select(measure=main, among=shown)
    return (pairs_table(pairs, f"Differences in {main}"),) if pairs else ()


# --- targets -------------------------------------------------------------------------------------


def _targets_section(report: BenchmarkReport) -> Section:
    """Show what reaches its target and, on pages, the bands that values fall in."""
    kpis = {(kpi.system, kpi.measure): kpi for kpi in report.kpis}
    sets = list(dict.fromkeys(name for kpi in report.kpis for name in kpi.bands))
    targets, bands = [], []
    for info in report.measures:
        row = [kpis.get((system.name, info.measure)) for system in report.systems]
        target = next((kpi.target for kpi in row if kpi and kpi.target is not None), info.target)
        if target is not None:
            sign = "≥" if info.higher_is_better else "≤"
            wanted = Cell(f"{info.measure} {sign} {target:g}", note=_asked(info))
            targets.append((wanted, *map(_target_cell, row)))
        if any(kpi and kpi.bands for kpi in row):
            several = len(sets) > 1
            cells = (_band_cell(kpi, several=several) for kpi in row)
            bands.append((Cell(info.measure, note=_asked(info)), *cells))
    columns = tuple(Column(system.name, digits=3) for system in report.systems)
    reached = Table(
        (Column("target", "text"), *columns),
        tuple(targets),
        notes=(STATUS_NOTE,),
        columns_are="system",
    )
    fallen = Table(
        (Column("measure", "text"), *columns),
        tuple(bands),
        title="Bands",
        notes=(
            (
                f"in parentheses: the band of {', '.join(sets)} that the value falls in; bands are "
                "set for one collection, and say little about values on another"
            ),
        ),
    )
    figures = (figure_table(report.figure_kpis),) if report.figure_kpis else ()
    blocks = (*((reached,) if targets else ()), *figures, *((fallen,) if bands else ()))
    missed = " ".join(missed_targets(report)) or "All targets are reached."
    return Section("Targets", blocks, finding=missed if targets or figures else "")


def _target_cell(kpi: Kpi | None) -> Cell:
    if kpi is None or kpi.target is None:
        return Cell()
    marker, tone = STATUS[kpi.status]
    return Cell(kpi.value, marker=marker, tone=tone)


def _band_cell(kpi: Kpi | None, *, several: bool) -> Cell:
    if kpi is None:
        return Cell()
    bands = [f"{name}: {band}" if several else band for name, band in kpi.bands.items()]
    return Cell(kpi.value, note=", ".join(bands))


# --- time, findings, what was run ----------------------------------------------------------------


def _time_section(report: BenchmarkReport) -> Section:
    timed = [system for system in report.systems if system.timing.p50 is not None]
    ordered = sorted(timed, key=lambda system: system.timing.p50 or 0.0)
    finding = ""
    if len(ordered) > 1:
        fast, slow = ordered[0], ordered[-1]
        finding = (
            f"Half of the questions took {fast.name} at most {_latency(fast)} and {slow.name} "
            f"{_latency(slow)}; measured once."
        )
    return Section("Time", (_time_table(report),), finding=finding)


def _time_table(report: BenchmarkReport) -> Table:
    titles = ("index, s", "p50, ms", "p95, ms", "p99, ms")
    counts = ("asked", "stored", "retried")
    rows: list[Sequence[Value]] = []
    for system in report.systems:
        timing = system.timing
        latencies = map(_milliseconds, (timing.p50, timing.p95, timing.p99))
        numbers = (getattr(timing, name) for name in counts)
        rows.append([system.name, timing.index, *latencies, timing.per_second, *numbers])
    return Table(
        (
            Column("system", "text"),
            *(Column(title, digits=2) for title in titles),
            Column("queries/s", digits=1),
            *(Column(title) for title in counts),
        ),
        plain_rows(rows),
        notes=(
            (
                "index: to make or load it; p50: half of the queries took no longer; queries/s: "
                "one after the other; a system that answers in batches has no p50, and one that "
                "asks others takes as long as all of them together; asked: queries put to the "
                "system; stored: queries whose answers were kept from an earlier call"
            ),
        ),
    )


def _milliseconds(seconds: float | None) -> Value:
    if seconds is None:
        return None
    return 1000 * seconds if seconds >= 0.00001 else "< 0.01"


def _spec(spec: Any) -> str:
    try:
        text = json.dumps(spec, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = str(spec)
    return text if len(text) <= _LONGEST_SPEC else f"{text[:_LONGEST_SPEC]}…"


def _systems_section(report: BenchmarkReport) -> Section:
    asked = (
        f"{counted(len(report.systems), 'system')}, {counted(report.depth, 'document')} a question."
    )
    return Section("What was run", (_systems_table(report),), part="method", finding=asked)


def _systems_table(report: BenchmarkReport) -> Table:
    rows = [
        (
            system.name,
            system.kind,
            ", ".join(system.of) or None,
            _spec(system.spec),
            system.run.run_id[:12],
        )
        for system in report.systems
    ]
    asked = f"each was asked for {counted(report.depth, 'document')} a query"
    return Table(
        text_columns("system", "kind", "builds on", "spec", "run"),
        plain_rows(rows),
        notes=(asked, *_trained_on(report)),
    )


def _trained_on(report: BenchmarkReport) -> Iterator[str]:
    """Say what trained parts learnt from."""
    source = report.collection.training
    if source == "cross-validation":
        yield (
            "what is trained learnt from the same queries, in folds: each was answered by a model "
            "that had not seen it"
        )
    elif source is not None:
        yield f"what is trained learnt from {source}, and not from these queries"


def _data(report: BenchmarkReport) -> Table:
    """Return a row for each system and measure."""
    rows: list[Sequence[Value]] = []
    for system in report.systems:
        for value in system.measures:
            low, high = ends(value.interval) or (None, None)
            rows.append([system.name, value.measure, value.value, low, high, value.n])
    return Table(
        text_columns("system", "measure", "value", "low", "high", "queries"), plain_rows(rows)
    )
