"""A benchmark as a document: decision, results, targets, diagnosis, what was run.

Everything shown is in the `BenchmarkReport`. A terminal shows what decides; a page shows all of it.
One over several languages is a document of its own: what each of them says first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.failures import failures
from rankscope.diagnosis.languages import languages
from rankscope.document.blocks import (
    Answer,
    Cell,
    Column,
    Document,
    Point,
    Points,
    Section,
    Table,
    ends,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import RankscopeError, counted
from rankscope.measures.language import Measure
from rankscope.reports.comparison_page import how_tested
from rankscope.reports.definitions import coverage_section, meanings
from rankscope.reports.diagnosed import (
    analysis_sections,
    careful_point,
    findings_section,
    fix_first,
)
from rankscope.reports.system_tables import (
    Mean,
    SystemLine,
    best_of,
    decision_table,
    interval_methods,
    means_table,
)
from rankscope.reports.verdict import (
    cautions,
    decision_of,
    lesser_cautions,
    missed_targets,
    reached_targets,
    targets_section,
    what_stands,
)
from rankscope.reports.what_ran import repeat_section, systems_section
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.benchmark.by_language import LanguageReport
    from rankscope.records.report import (
        BenchmarkReport,
        ExperimentManifest,
        MeasureInfo,
        MeasureValue,
        SystemRecord,
    )
    from rankscope.statistics.decision import Decision


@view
def benchmark_document(
    report: BenchmarkReport,
    *,
    manifest: ExperimentManifest | None = None,
    with_times: bool = True,
) -> Document:
    """Show a benchmark: the decision, what it rests on, what to fix; behind it everything.

    With its ``manifest``, versions and machine are shown, too. ``with_times``: whether it says how
    long systems took, which differs from run to run.
    """
    ranked = _ranked(report)
    few = best_of(ranked, [report.baseline])
    answers = [(each, getattr(report.analyses, each.name)) for each in all_analyses()]
    answered = [(analysis, answer) for analysis, answer in answers if answer is not None]
    names = [*ranked, *(info.measure for info in report.measures)]
    decision = decision_of(report, with_times=with_times)
    sections = (
        *analysis_sections(answered, names, focus=decision.choice),
        findings_section(report.findings),
        Section("Measures", (_means(report, ranked),), finding=_best_on(report, ranked)),
        targets_section(report, ranked),
        systems_section(report),
        _coverage(report),
        repeat_section(report, manifest=manifest),
    )
    left = len(ranked) - len(few)
    table = _first_table(report, few, decision.choice, left=left, with_times=with_times)
    points = Points(tuple(_points(report, decision)))
    return Document(
        report.name,
        tuple(section for section in sections if section.all_blocks),
        subtitle=f"{counted(len(report.systems), 'system')}, "
        f"{counted(report.collection.queries, 'question')}",
        facts=tuple(_facts(report)),
        answer=Answer(decision.headline, decision.reason, decision.evidence, (table, points)),
        names=frozenset(names),
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


def _value(system: SystemRecord, measure: str) -> MeasureValue | None:
    return next((value for value in system.measures if value.measure == measure), None)


def _mean(report: BenchmarkReport, system: SystemRecord, info: MeasureInfo) -> Mean:
    """Return a mean, with its comparison with the baseline."""
    value, comparison = _value(system, info.measure), report.comparison
    if value is None:
        return Mean("broken" if system.broken else None)
    pair = None
    if comparison is not None:
        base = comparison.baseline
        pair = comparison.pairs.find(measure=info.measure, base=base, system=system.name)
    is_count = value.interval is None and value.value == int(value.value)
    number = int(value.value) if is_count else value.value
    is_best = len(report.systems) > 1 and system.name in info.best
    return Mean(number, value.interval, is_best, pair)


# --- what decides --------------------------------------------------------------------------------


def _first_table(
    report: BenchmarkReport,
    shown: Sequence[str],
    choice: str | None,
    *,
    left: int,
    with_times: bool,
) -> Table:
    """Show what the decision rests on: the main measure, the change, recall, failures, latency."""
    info, recall = report.measures[0], _deepest_recall(report)
    failed = failures.of(report.analyses)
    failing = {} if failed is None else {row.system: row.failing for row in failed.systems}
    columns = [Column(recall)] if recall else []
    if failed is not None:
        columns.append(Column("failing", "text", only="text"))
        columns.append(Column("failing", note=f"of {failed.queries:,}", only="page"))
    if with_times:
        columns += [Column("p50", "text", only="text"), Column("p50, ms", digits=2, only="page")]
    by_name, lines = {system.name: system for system in report.systems}, []
    for system in map(by_name.__getitem__, shown):
        others = []
        if recall:
            deep = _value(system, recall)
            others.append(Cell(None if deep is None else deep.value))
        if failed is not None:
            count = failing.get(system.name)
            others.append(Cell(None if count is None else f"{count:,}/{failed.queries:,}"))
            others.append(Cell(count))
        if with_times:
            p50 = None if system.timing.p50 is None else 1000 * system.timing.p50
            others += [Cell(None if p50 is None else _milliseconds(p50)), Cell(p50)]
        mean = _mean(report, system, info)
        lines.append(SystemLine(system.name, mean, _about(system), tuple(others)))
    return decision_table(
        info.measure,
        lines,
        columns,
        base=None if report.comparison is None else report.comparison.baseline,
        choice=choice,
        higher_is_better=info.higher_is_better,
        left=left,
    )


def _milliseconds(p50: float) -> str:
    """Write a latency, which was measured once, for a terminal: 12.3 ms, 500 ms, <0.1 ms."""
    if p50 < 0.1:
        return "<0.1 ms"
    return f"{p50:,.0f} ms" if p50 >= 100 else f"{p50:.1f} ms"


_DONE = {"fuse": "fused", "rerank": "reranked"}
"""What is done to the systems that one builds on."""


def _about(system: SystemRecord) -> str:
    """Say in a few words how a system searches."""
    if system.of:
        return f"{' + '.join(system.of)}, {_DONE.get(system.kind, system.kind)}"
    options = system.spec.get(system.kind) if isinstance(system.spec, dict) else None
    fields = options.get("fields") if isinstance(options, dict) else None
    return f"{system.kind} on {listed(fields, 2)}" if isinstance(fields, list) else system.kind


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


def _points(report: BenchmarkReport, decision: Decision) -> Iterator[Point]:
    """Yield what to fix first, what to be careful about, and the targets that are missed."""
    yield from fix_first(report.analyses, decision.choice, report.summary)
    yield from careful_point(
        cautions(report),
        report.findings,
        lesser_cautions(report, decision),
        note=what_stands(report, decision.choice),
    )
    missed = missed_targets(report)
    if missed:
        others = "Everything else passes." if reached_targets(report) else ""
        yield Point("Targets", (" ".join([*missed, others]).strip(),))


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
    split = "" if part is None else f" ({part})"
    yield "Collection", f"{collection.name}{split}, {', '.join(sizes)}"
    yield "Judged", counted(collection.judgments, "pair")
    if collection.ontology is not None:
        version = collection.ontology.version
        yield "Terms", f"{collection.ontology.source}{f', {version}' if version else ''}"
    if report.created:
        yield "Made", f"{report.created.replace('T', ' ')[:16]} UTC"
    yield "Experiment", report.experiment


# --- behind the answer ---------------------------------------------------------------------------


def _means(report: BenchmarkReport, ranked: Sequence[str]) -> Table:
    infos = {info.measure: info for info in report.measures}
    by_name = {system.name: system for system in report.systems}
    return means_table(
        ranked,
        [Column(info.measure, note=_note(info)) for info in report.measures],
        lambda name, measure: _mean(report, by_name[name], infos[measure]),
        baseline=report.baseline if len(by_name) > 1 else None,
        notes=_legend(report),
    )


def _note(info: MeasureInfo) -> str:
    asked = "" if info.asked == info.measure else info.asked
    return ", ".join(filter(None, ["" if info.higher_is_better else "lower is better", asked]))


def _legend(report: BenchmarkReport) -> Iterator[str]:
    """Say what the table shows: intervals, tests, family."""
    values = [value for system in report.systems for value in system.measures]
    intervals = [value.interval for value in values if value.interval is not None]
    if intervals:
        methods = interval_methods(intervals)
        made = f" ({methods})" if methods else ""
        yield f"in brackets: {intervals[0].level:.0%} interval of the mean{made}"
    if report.comparison is not None:
        yield f"{how_tested(report.comparison.settings)}; {report.comparison.family}"
    yield from meanings([info.measure for info in report.measures], report.profile)


def _best_on(report: BenchmarkReport, ranked: Sequence[str]) -> str:
    """Say on how many measures the first system is the best, and what the tests tell."""
    if len(ranked) < 2:
        return ""
    best = sum(ranked[0] in info.best for info in report.measures)
    measures = counted(len(report.measures), "measure")
    outcomes_text, comparison = "", report.comparison
    if comparison is not None and comparison.baseline is not None:
        pairs = comparison.pairs.select(base=comparison.baseline)
        counts = Counter(pair.verdict for pair in pairs).most_common()
        outcomes = listed(f"{count:,} {verdict}" for verdict, count in counts)
        outcomes_text = f" Against {comparison.baseline}: {outcomes}."
    return f"{ranked[0]} has the best mean on {best} of {measures}.{outcomes_text}"


def _coverage(report: BenchmarkReport) -> Section:
    """Say what the means of each system are made of."""
    known, more = {}, {}
    for system in report.systems:
        if system.accounting is None:
            more[system.name] = [f"not scored: {system.broken}"] if system.broken else []
            continue
        known[system.name] = system.accounting
        failed = len(system.run.failures)
        more[system.name] = [f"{failed:,} failed, which are missing from the run"] if failed else []
        more[system.name] += [
            f"{counted(value.n, 'question')} in the mean of {value.measure}"
            for value in system.measures
            if value.n != system.accounting.queries
        ]
    return coverage_section(known, more)


def _data(report: BenchmarkReport) -> Table:
    """Return a row for each system and measure."""
    return Table(
        text_columns("system", "measure", "value", "low", "high", "queries"),
        plain_rows(
            (
                *(system.name, value.measure, value.value),
                *(ends(value.interval) or (None, None)),
                value.n,
            )
            for system in report.systems
            for value in system.measures
        ),
    )


# --- several languages ---------------------------------------------------------------------------


@view
def languages_document(report: LanguageReport) -> Document:
    """Show what each language says first, and how much they differ."""
    experiments, rows = report.experiments, report.table.systems
    lines = [f"{each.language}: {each.verdict[0]}" for each in experiments if each.verdict]
    folders = [f"{each.language}: {each.experiment}" for each in experiments]
    sizes = ", ".join(f"{each.language} {each.queries:,}" for each in experiments)
    made = report.created.replace("T", " ")[:16]
    return Document(
        f"Benchmark: {report.name}",
        (
            Section("Verdict by language", (sentences(lines, listed=True),)),
            languages.section(report.table),
            Section("Experiments", details=(sentences(folders, listed=True),)),
        ),
        subtitle=f"{counted(len(experiments), 'language')}, each an experiment of its own: "
        f"{sizes} cases. Made {made} UTC.",
        names=frozenset(name for row in rows for name in (row.system, row.measure)),
    )
