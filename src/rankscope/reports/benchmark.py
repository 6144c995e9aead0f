"""A benchmark as a document: verdict, results, targets, stages, groups, findings, what was run.

Everything shown is in the `BenchmarkReport`. A terminal shows what decides; a page shows all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.pareto import WIDE
from rankscope.diagnosis.summary import TITLE, summary_section
from rankscope.document.blocks import (
    Bar,
    Cell,
    Chart,
    Column,
    Curve,
    Document,
    Findings,
    Plot,
    Section,
    Table,
    Tone,
    Value,
    ends,
    marked,
    marker_note,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.links import queries_link
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.reports.asked import interval_methods
from rankscope.reports.asked_engines import asked_section
from rankscope.reports.comparison_page import how_tested, shows_letters
from rankscope.reports.definitions import definitions_section
from rankscope.reports.figure_targets import STATUS, STATUS_NOTE, figure_table
from rankscope.reports.mean_coverage import coverage_of
from rankscope.reports.pair_tables import pairs_table
from rankscope.reports.reproduction import reproduction_section
from rankscope.reports.shown_systems import best_shown, not_shown
from rankscope.statistics.letters import each_letter

if TYPE_CHECKING:
    from rankscope.records import (
        BenchmarkReport,
        ExperimentManifest,
        Kpi,
        MeasureInfo,
        MeasureValue,
        SystemRecord,
    )

_LONGEST_SPEC = 300
"""A spec longer than this is cut; the JSON has all of it."""


@view
def benchmark_document(
    report: BenchmarkReport,
    *,
    manifest: ExperimentManifest | None = None,
    max_systems: int | None = None,
) -> Document:
    """Show a benchmark, from the verdict down to how to repeat it.

    With its ``manifest``, config, versions and machine are shown, too. ``max_systems``: how many
    systems the main table shows, the best and the baseline; None: up to 50; 0: all.
    """
    values = {system.name: _value(system, report.measures[0].measure) for system in report.systems}
    shown = best_shown(
        {name: None if value is None else value.value for name, value in values.items()},
        max_systems,
        higher_is_better=report.measures[0].higher_is_better,
        always=[report.baseline],
    )
    sections = (
        Section("Verdict", (sentences(report.verdict, listed=True),) if report.verdict else ()),
        Section("Results", (_chart(report, shown), _main_table(report, shown))),
        _targets_section(report),
        _summary(report),
        Section("Differences", details=(*_best_table(report), *_differences(report, shown))),
        *_analyses(report),
        Section(
            "Time",
            details=(*_time_plot(report), _time_table(report)) if report.systems else (),
        ),
        _findings_section(report),
        Section("What was run", details=(_systems_table(report),), part="method"),
        asked_section(report),
        coverage_of(report),
        definitions_section(
            [info.measure for info in report.measures],
            asked={info.measure: info.asked for info in report.measures},
            profile=report.profile,
        ),
        reproduction_section(report, manifest=manifest),
    )
    return Document(
        f"Benchmark: {report.name}",
        tuple(section for section in sections if section.all_blocks),
        subtitle=_opening(report),
        names=frozenset(
            [
                *(system.name for system in report.systems),
                *(info.measure for info in report.measures),
            ]
        ),
        data=lambda: _data(report),
    )


def _summary(report: BenchmarkReport) -> Section:
    """Show what would gain most, where analyses were asked at all."""
    names = [analysis.name for analysis in all_analyses()]
    if all(getattr(report.analyses, name) is None for name in names):
        return Section(TITLE)
    return summary_section(report.summary, "rankscope diagnose DIR")


def _analyses(report: BenchmarkReport) -> Iterator[Section]:
    """Show what each analysis says, and in one section at the end which could not look, and why."""
    reasons = []
    for analysis in all_analyses():
        answer = getattr(report.analyses, analysis.name)
        if isinstance(answer, NotApplicable):
            reasons.append(f"{analysis.title}: {answer.reason}")
        elif answer is not None:
            section = replace(analysis.section(answer), part="diagnosis")
            if not analysis.brief:
                section = replace(section, blocks=(), details=section.all_blocks)
            yield section
    listed = (sentences(reasons, listed=True),) if reasons else ()
    yield Section("Not applicable", details=listed, part="diagnosis")


def _opening(report: BenchmarkReport) -> str:
    collection = report.collection
    sizes = [counted(collection.queries, "query"), counted(collection.judgments, "judgment")]
    if collection.no_answer:
        sizes[0] += f" ({len(collection.no_answer):,} of them without an answer)"
    if collection.documents is not None:
        noun = "document" if collection.chunks_sha256 is None else "chunk"
        sizes.insert(0, counted(collection.documents, noun))
    part = collection.split if collection.language is None else collection.language
    split = "" if part is None else f" ({part})"
    ontology = ""
    if collection.ontology is not None:
        version = collection.ontology.version
        ontology = f" Terms of {collection.ontology.source}{f', {version}' if version else ''}."
    created = report.created.replace("T", " ")[:16]
    return (
        f"{counted(len(report.systems), 'system')} on {collection.name}{split}: "
        f"{', '.join(sizes)}.{ontology} Made {created} UTC, experiment {report.experiment}."
    )


# --- results -------------------------------------------------------------------------------------


def _alpha(report: BenchmarkReport) -> float:
    return 0.05 if report.comparison is None else report.comparison.settings.alpha


def _value(system: SystemRecord, measure: str) -> MeasureValue | None:
    return next((value for value in system.measures if value.measure == measure), None)


def _title(info: MeasureInfo) -> str:
    return info.measure if info.higher_is_better else f"{info.measure} ↓"


def _asked(info: MeasureInfo) -> str:
    return "" if info.asked == info.measure else info.asked


def _shows_letters(report: BenchmarkReport) -> bool:
    """Tell whether there are letters, and whether they say more than markers do."""
    return report.comparison is not None and shows_letters(report.comparison)


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
    )


def _main_cell(report: BenchmarkReport, system: SystemRecord, info: MeasureInfo) -> Cell:
    value = _value(system, info.measure)
    if value is None:
        return Cell() if system.broken is None else Cell("broken", tone="bad")
    is_count = value.interval is None and value.value == int(value.value)
    comparison = report.comparison
    letters = ""
    if comparison is not None and _shows_letters(report):
        keys = (system.name, info.measure)
        letters = next(
            (mean.letters for mean in comparison.means if (mean.run, mean.measure) == keys), ""
        )
    cell = Cell(
        int(value.value) if is_count else value.value,
        ends(value.interval),
        letters=letters,
        best=len(report.systems) > 1 and system.name in info.best,
        link=queries_link(measure=info.measure, a=system.name, sort="a"),
    )
    if comparison is None or comparison.baseline is None:
        return cell
    pair = comparison.pairs.find(measure=info.measure, base=report.baseline, system=system.name)
    if pair is None or pair.verdict not in ("better", "worse"):
        return cell
    is_better = pair.verdict == "better"
    return marked(cell, pair.p_corrected, alpha=_alpha(report), is_better=is_better)


def _legend(report: BenchmarkReport) -> Iterator[str]:
    """Say what the signs of the main table mean: intervals, markers, tests, family, queries."""
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
    if comparison.baseline is not None:
        yield f"{marker_note(comparison.baseline, alpha=_alpha(report))}, after correction"
    if _shows_letters(report):
        yield "same letter: can't tell apart"
    settings = comparison.settings
    yield (
        f"{how_tested(settings)}; {comparison.family}; "
        f"{counted(comparison.queries, 'query')}, the same for all systems"
    )
    if report.profile != "rankscope":
        yield f"rules of {report.profile}"


def _best_table(report: BenchmarkReport) -> tuple[Table, ...]:
    """Return who has the best mean, and who is not shown to differ from it."""
    if len(report.systems) < 2:
        return ()
    rows = []
    for info in report.measures:
        near = _not_apart(report, info)
        apart = "not tested" if near is None else ", ".join(near) or None
        rows.append((_title(info), ", ".join(info.best) or None, apart))
    columns = text_columns("measure", "best system", "not shown to differ from it")
    return (Table(columns, plain_rows(rows), title="Best system"),)


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


def _not_apart(report: BenchmarkReport, info: MeasureInfo) -> list[str] | None:
    """Return the systems not shown to be worse than the best; None if it is not tested."""
    means = [] if report.comparison is None else report.comparison.means
    near = {mean.run: mean.near_best for mean in means if mean.measure == info.measure}
    if info.best and near.get(info.best[0]) is not None:
        return [name for name, is_near in near.items() if is_near and name not in info.best]
    tested = [mean for mean in means if mean.measure == info.measure]
    letters = {mean.run: each_letter(mean.letters) for mean in tested}
    if not info.best or info.best[0] not in letters:
        return None
    shared = set().union(*(letters.get(name, set()) for name in info.best))
    return [name for name, held in letters.items() if name not in info.best and held & shared]


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
    blocks = (*((reached,) if targets else ()), *figures)
    return Section("Targets", blocks, (fallen,) if bands else ())


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


def _time_plot(report: BenchmarkReport) -> tuple[Plot, ...]:
    """Draw the main measure against the latency, where two systems at least have both."""
    main = report.measures[0].measure
    points, names, intervals = [], [], []
    for system in report.systems:
        value, seconds = _value(system, main), system.timing.p50
        if value is not None and seconds is not None and seconds > 0:
            points.append((1000 * seconds, value.value))
            names.append(system.name)
            intervals.append(ends(value.interval))
    if len(points) < 2:
        return ()
    times = [time for time, _ in points]
    curve = Curve("", tuple(points), tuple(names), joined=False, intervals=tuple(intervals))
    return (
        Plot(
            f"{main} against latency",
            "p50, ms",
            main,
            (curve,),
            log_x=max(times) > WIDE * min(times),
        ),
    )


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
                "one after the other; a query answered in a batch has its share of the time, and a "
                "system that asks others that of all of them together; asked: queries put to the "
                "system; stored: queries whose answers were kept from an earlier call"
            ),
        ),
    )


def _milliseconds(seconds: float | None) -> Value:
    if seconds is None:
        return None
    return 1000 * seconds if seconds >= 0.00001 else "< 0.01"


def _findings_section(report: BenchmarkReport) -> Section:
    block = Findings(tuple(report.findings), short=True)
    blocks = (block,) if report.findings else ()
    return Section("Findings", blocks, () if blocks else (block,))


def _spec(spec: Any) -> str:
    try:
        text = json.dumps(spec, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = str(spec)
    return text if len(text) <= _LONGEST_SPEC else f"{text[:_LONGEST_SPEC]}…"


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
