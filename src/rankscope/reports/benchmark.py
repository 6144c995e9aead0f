"""A benchmark as Markdown for people: verdict, tables, what was run, and how to repeat it.

Everything shown stands in the `BenchmarkReport`; nothing is computed here. The JSON beside it holds
what a page has no room for. Names, labels and messages come from anywhere and are escaped.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rankscope.errors import counted
from rankscope.reports.cells import (
    MARKS,
    NOTHING,
    count_or_mean,
    ends,
    legend,
    marker,
    marker_of_p,
    mean_of,
    not_apart,
    signed,
    value_of,
)
from rankscope.reports.markdown import code, md, table
from rankscope.reports.words import DAGGER, DOUBLE_DAGGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.diagnosis.segments import Segment, SegmentMean
    from rankscope.diagnosis.stages import StageRow
    from rankscope.records import BenchmarkReport, Kpi, MeasureInfo, SystemRecord

__all__ = ["benchmark_as_markdown"]

_LONGEST_SPEC = 300
"""A spec longer than this is cut; the JSON has all of it."""


def _section(title: str, *parts: Sequence[str]) -> list[str]:
    """Return a section, its parts apart; nothing if they are empty."""
    filled = [part for part in parts if part]
    if not filled:
        return []
    return [f"## {title}", "", *(line for part in filled for line in (*part, ""))]


def _notes(notes: Iterable[str]) -> list[str]:
    return [f"- {md(note)}" for note in notes]


def benchmark_as_markdown(report: BenchmarkReport) -> str:
    """Return the report for people, from the verdict down to how to repeat it."""
    lines = [f"# Benchmark: {md(report.name)}", "", _opening(report), ""]
    lines += _section("Verdict", _notes(report.verdict))
    lines += _section(
        "Results",
        _main_table(report),
        _notes(legend(report, best="bold:", interval="in brackets:")),
    )
    lines += _section("Targets and bands" if _has_bands(report) else "Targets", *_kpis(report))
    lines += _section("Stages", *_stages(report))
    lines += _section("Groups of queries", *_segments(report))
    lines += _section("Time", *_timing(report))
    lines += _section("Findings", *_findings(report))
    lines += _section("What was run", *_systems(report))
    lines += _section("How to repeat it", _repeat())
    return "\n".join(lines)


def _opening(report: BenchmarkReport) -> str:
    held = report.collection
    documents = [] if held.documents is None else [counted(held.documents, "document")]
    split = "" if held.split is None else f" ({md(held.split)})"
    sizes = ", ".join(
        [*documents, counted(held.queries, "query"), counted(held.judgments, "judgment")]
    )
    made = report.created.replace("T", " ")[:16]
    return (
        f"{counted(len(report.systems), 'system')} on {md(held.name)}{split}: {sizes}. "
        f"Made {md(made)} UTC, experiment {code(report.experiment)}."
    )


def _measure(info: MeasureInfo) -> str:
    """Return a measure's name, with the one it was asked for, and ↓ where lower is better."""
    also = "" if info.asked == info.measure else f" ({md(info.asked)})"
    return f"{md(info.measure)}{also}{'' if info.higher_is_better else ' ↓'}"


def _main_cell(report: BenchmarkReport, system: SystemRecord, info: MeasureInfo) -> str:
    value = value_of(system, info.measure)
    if value is None:
        return NOTHING
    number = count_or_mean(value.value, counted=value.interval is None)
    several = len(report.systems) > 1
    strong = f"**{number}**" if several and system.name in info.best else number
    sign = marker(report.comparison, system.name, info.measure)
    return f"{strong}{sign} {ends(value.interval)}".strip()


def _best_cell(report: BenchmarkReport, info: MeasureInfo) -> str:
    """Return who has the best mean, and who is not shown to differ from that."""
    if not info.best:
        return NOTHING
    names = ", ".join(map(md, info.best))
    comparison = report.comparison
    if comparison is None or mean_of(comparison, info.best[0], info.measure) is None:
        return f"{names} (not tested)"
    near = not_apart(comparison, info.best, info.measure)
    return f"{names} (not shown to differ from {', '.join(map(md, near))})" if near else names


def _main_table(report: BenchmarkReport) -> list[str]:
    several = len(report.systems) > 1
    head = ["metric"]
    for system in report.systems:
        base = several and system.name == report.baseline
        head.append(f"{md(system.name)}{' (baseline)' if base else ''}")
    rows = []
    for info in report.measures:
        cells = [_main_cell(report, system, info) for system in report.systems]
        rows.append([_measure(info), *cells, *([_best_cell(report, info)] if several else [])])
    if several:
        head.append("best mode")
    return table(head, rows, left=(0, len(head) - 1) if several else (0,))


# --- targets -------------------------------------------------------------------------------------


def _has_bands(report: BenchmarkReport) -> bool:
    return any(one.bands for one in report.kpis)


def _kpi_cell(kpi: Kpi | None, *, sets: int) -> str:
    if kpi is None:
        return NOTHING
    parts = [f"{kpi.value:.3f}"]
    if kpi.target is not None:
        parts.append(MARKS[kpi.status] if kpi.status != "unknown" else "unknown")
    bands = [
        md(band) if sets == 1 else f"{md(name)}: {md(band)}" for name, band in kpi.bands.items()
    ]
    return " ".join([*parts, *([f"({', '.join(bands)})"] if bands else [])])


def _kpis(report: BenchmarkReport) -> list[list[str]]:
    held = {(one.system, one.measure): one for one in report.kpis}
    named = list(dict.fromkeys(name for one in report.kpis for name in one.bands))
    rows = []
    for info in report.measures:
        own = [held.get((system.name, info.measure)) for system in report.systems]
        target = next((one.target for one in own if one and one.target is not None), info.target)
        if target is None and not any(one and one.bands for one in own):
            continue
        wanted = (
            NOTHING if target is None else f"{'≥' if info.higher_is_better else '≤'} {target:g}"
        )
        rows.append([_measure(info), wanted, *(_kpi_cell(one, sets=len(named)) for one in own)])
    if not rows:
        return []
    head = ["metric", "target", *(md(system.name) for system in report.systems)]
    said = []
    if any(one.target is not None for one in report.kpis):
        said = ["✓ pass: reaches the target; ! warn: misses it by at most a tenth; ✗ fail: by more"]
    if named:
        said.append(f"in parentheses: the band the value falls in, of {', '.join(named)}")
    return [table(head, rows), _notes(said)]


# --- stages --------------------------------------------------------------------------------------


def _stages(report: BenchmarkReport) -> list[list[str]]:
    """Return what each stage has, what it changed, and how far a reranker is from its ceiling."""
    if not any(stage.of for stage in report.stages):
        return []
    measures = [info for info in report.measures if _in_stages(report, info)]
    head = ["stage", *map(_measure, measures)]
    rows = [
        [_stage_name(stage), *(_optional(stage.measures.get(info.measure)) for info in measures)]
        for stage in report.stages
    ]
    return [
        table(head, rows),
        *_titled("What each stage changed", _changes(report)),
        *_titled("What rerankers made of their input", _rerankers(report)),
        *_titled(f"The first {report.stages[0].cutoff} of each answer", _tops(report)),
    ]


def _titled(title: str, parts: list[list[str]]) -> list[list[str]]:
    return [[f"### {title}"], *parts] if parts else []


def _tops(report: BenchmarkReport) -> list[list[str]]:
    """Return what entered and left the top, and how often each grade stands there."""
    labels = sorted({label for stage in report.stages for label in stage.labels}, key=_label_order)
    rows = [
        [
            md(stage.system),
            f"{stage.promoted:,}" if stage.of else NOTHING,
            f"{stage.lost:,}" if stage.of else NOTHING,
            *(f"{stage.labels.get(label, 0):,}" for label in labels),
        ]
        for stage in report.stages
    ]
    head = [
        "stage",
        "promoted",
        "lost",
        *(md(label) if label == "unjudged" else f"grade {md(label)}" for label in labels),
    ]
    said = (
        "promoted, lost: relevant documents that only this stage, and only the one it builds on "
        "(of several the best), has there; grades: how often each stands there, over all queries"
    )
    return [table(head, rows), _notes([said])]


def _in_stages(report: BenchmarkReport, info: MeasureInfo) -> bool:
    return any(info.measure in stage.measures for stage in report.stages)


def _label_order(label: str) -> tuple[int, float, str]:
    """Sort grades from high to low, then words."""
    try:
        return 0, -float(label), label
    except ValueError:
        return 1, 0.0, label


def _optional(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _stage_name(stage: StageRow) -> str:
    of = f" of {' + '.join(map(md, stage.of))}" if stage.of else ""
    return f"{md(stage.system)} ({md(stage.kind)}{of})"


def _p_cell(p: float) -> str:
    return f"{p:.3g}" if p >= 0.0001 else "< 0.0001"


def _changes(report: BenchmarkReport) -> list[list[str]]:
    main = report.measures[0]
    rows = []
    for stage in report.stages:
        for below in stage.of:
            own = {one.measure: one for one in stage.changes if one.of == below}
            first = own.pop(main.measure, None)
            change, p = NOTHING, NOTHING
            if first is not None:
                change = f"{signed(first.difference)} {ends(first.interval, sign=True)}"
                p = _p_cell(first.p)
            rest = [
                f"{md(info.measure)} {signed(own[info.measure].difference)}"
                for info in report.measures
                if info.measure in own
            ]
            rows.append([md(stage.system), md(below), change, p, ", ".join(rest) or NOTHING])
    head = ["stage", "against", f"change in {_measure(main)}", "p", "change in other measures"]
    said = ["p of a paired test, not corrected; intervals of the other changes stand in the JSON"]
    return [table(head, rows, left=(0, 1, 4)), _notes(said)] if rows else []


def _rerankers(report: BenchmarkReport) -> list[list[str]]:
    main = report.measures[0]
    rows = []
    for stage in report.stages:
        if not stage.ceiling and stage.input_recall is None:
            continue
        value, ceiling = stage.measures.get(main.measure), stage.ceiling.get(main.measure)
        room = None if value is None or ceiling is None else ceiling - value
        rows.append(
            [
                md(stage.system),
                NOTHING if stage.depth is None else f"{stage.depth:,}",
                *map(_optional, (stage.input_recall, stage.output_recall, value, ceiling, room)),
            ]
        )
    head = ["reranker", "looks at", "recall before", "recall after"]
    head += [_measure(main), "ceiling", "headroom"]
    said = (
        f"ceiling: {main.measure} if the documents it looks at stood in the best order; headroom: "
        "how far that is; recall: within these documents, which reranking cannot change"
    )
    return [table(head, rows), _notes([said])] if rows else []


# --- groups of queries ---------------------------------------------------------------------------


def _segments(report: BenchmarkReport) -> list[list[str]]:
    parts: list[list[str]] = []
    for segment in report.segments:
        if segment.groups:
            title = "number of words" if segment.field == "words" else segment.field
            parts += [[f"### By {md(title)}"], _segment_table(report, segment)]
            if segment.unlabelled:
                parts.append(_notes([f"of {counted(segment.unlabelled, 'query')} it is not known"]))
    if not parts:
        return []
    said = [f"{report.measures[0].measure} with its interval; other measures stand in the JSON"]
    if report.baseline is not None and report.comparison is not None:
        said.append(
            f"in parentheses: the difference to {report.baseline}, {DAGGER} and {DOUBLE_DAGGER} as "
            "above, corrected over the groups"
        )
    return [*parts, _notes(said)]


def _segment_cell(report: BenchmarkReport, mean: SegmentMean | None) -> str:
    if mean is None:
        return NOTHING
    text = f"{mean.mean:.3f} {ends(mean.interval)}"
    if mean.difference is None:
        return text
    return f"{text} ({signed(mean.difference)}{marker_of_p(mean.p_corrected, report.comparison)})"


def _segment_table(report: BenchmarkReport, segment: Segment) -> list[str]:
    main = report.measures[0].measure
    names = [system.name for system in report.systems]
    rows = []
    for group in segment.groups:
        own = {one.system: one for one in group.means if one.measure == main}
        cells = [_segment_cell(report, own.get(name)) for name in names]
        rows.append([md(group.label), f"{group.n:,}", *cells])
    return table(["group", "n", *map(md, names)], rows)


# --- time, findings, what was run ----------------------------------------------------------------


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    spent = seconds * 1000
    return f"{spent:,.1f}" if spent >= 10 else f"{spent:.2f}" if spent >= 0.01 else "< 0.01"


def _timing(report: BenchmarkReport) -> list[list[str]]:
    head = ["system", "index, s", "p50, ms", "p95, ms", "p99, ms", "asked", "stored", "retried"]
    rows = []
    for system in report.systems:
        time = system.timing
        rows.append(
            [
                md(system.name),
                f"{time.index:,.2f}",
                *map(_milliseconds, (time.p50, time.p95, time.p99)),
                f"{time.asked:,}",
                f"{time.stored:,}",
                f"{time.retried:,}",
            ]
        )
    said = (
        "index: to make or load it; p50: half of the queries took no longer; asked: queries put to "
        "the system; stored: queries whose answers were kept from an earlier call"
    )
    return [table(head, rows), _notes([said])] if rows else []


def _findings(report: BenchmarkReport) -> list[list[str]]:
    rows = [
        [
            one.severity,
            md(one.code),
            NOTHING if one.system is None else md(one.system),
            md(one.message),
            md(one.advice),
        ]
        for one in report.findings
    ]
    if not rows:
        return [["Nothing to remark."]]
    head = ["severity", "code", "system", "what was seen", "what to do"]
    return [table(head, rows, left=range(5))]


def _spec(spec: Any) -> str:
    try:
        text = json.dumps(spec, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = str(spec)
    return text if len(text) <= _LONGEST_SPEC else f"{text[:_LONGEST_SPEC]}…"


def _systems(report: BenchmarkReport) -> list[list[str]]:
    rows = [
        [
            md(system.name),
            md(system.kind),
            ", ".join(map(md, system.of)) or NOTHING,
            code(_spec(system.spec)),
            code(system.run.run_id[:12]),
        ]
        for system in report.systems
    ]
    said = f"Each was asked for {counted(report.depth, 'document')} a query.{_learnt(report)}"
    head = ["system", "kind", "builds on", "spec", "run"]
    return [table(head, rows, left=range(5)), [said]]


def _learnt(report: BenchmarkReport) -> str:
    """Say what trained parts learnt from; nothing if there are none."""
    source = report.collection.training
    if source is None:
        return ""
    if source == "cross-validation":
        return (
            " What is trained learnt from the same queries, in folds: each was answered by a "
            "model that had not seen it."
        )
    return f" What is trained learnt from {md(source)}, and not from these queries."


def _repeat() -> list[str]:
    said = (
        "DIR is the folder of this page. The command checks that it is what its manifest says, and "
        "that the scores follow from the runs. `ExperimentManifest.json` holds the config, hashes "
        "and versions to repeat all of it; `BenchmarkReport.json` holds every number of this page."
    )
    return ["```sh", "rankscope benchmark verify DIR", "```", "", said]
