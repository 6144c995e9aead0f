"""Verdict: what all steps made, as the records that an experiment keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankscope.benchmark.check import fault_of
from rankscope.benchmark.codes import FELL_BACK, QUERIES_FAILED, SYSTEM_NOTE
from rankscope.benchmark.diagnose import Answer
from rankscope.benchmark.folder import report_file, results_file, run_file, values_file
from rankscope.benchmark.prepare import Benchmark
from rankscope.benchmark.score import intervals
from rankscope.benchmark.targets import Targets
from rankscope.collection.qrels_checks import GRADES_TOO_LOW
from rankscope.diagnosis.analysis import Analysed, all_analyses
from rankscope.diagnosis.summary import summarise
from rankscope.errors import counted
from rankscope.findings import Finding, worst_first
from rankscope.measures.language import Measure
from rankscope.part import FileRef
from rankscope.records.figure_kpis import figure_kpis
from rankscope.records.manifest import ExperimentManifest, GitState, Machine, RunRef
from rankscope.records.origin import EngineFacts, ModelUsage
from rankscope.records.report import (
    Analyses,
    BenchmarkReport,
    Diagnostics,
    EvaluationReport,
    MeasureInfo,
    MeasureValue,
    RunInfo,
    SystemRecord,
    status_of,
)
from rankscope.records.table_names import QUERIES
from rankscope.reports.verdict import silence, verdict
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.checks import gold_outside_corpus
from rankscope.runs.validation import Validation
from rankscope.scoring.scored_runs import Scores
from rankscope.statistics.comparison import Comparison

TOP = 20
"""So many results of each answer are kept with titles and grades."""

_OF_COLLECTION = frozenset({gold_outside_corpus.code, GRADES_TOO_LOW.code})
"""Findings that each run repeats and that are about the collection and the measures."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the steps of a benchmark made."""

    benchmark: Benchmark
    fetched: Mapping[str, Sequence[Fetched]]
    """By system: what it answered, each time it was asked."""
    checks: Mapping[str, Validation]
    scores: Scores
    comparison: Comparison | None
    answers: Mapping[str, Answer]
    """By analysis: what it says."""
    seconds: Mapping[str, float]
    """By step: how long it took."""


def reports_of(
    outcome: Outcome, file: Callable[[str], FileRef], *, created: str
) -> tuple[BenchmarkReport, dict[str, EvaluationReport]]:
    """Return the report of all systems, and that of each; ``file`` describes a file."""
    benchmark, scores = outcome.benchmark, outcome.scores
    config = benchmark.loaded.config
    values = measure_values(benchmark, scores, outcome.comparison)
    findings = {name: _run_findings(outcome, name) for name in benchmark.systems}
    evaluations = {
        name: _evaluation(outcome, name, values.get(name, []), findings[name], file)
        for name in benchmark.systems
    }
    analyses = Analyses(**outcome.answers)
    report = BenchmarkReport(
        experiment=benchmark.experiment,
        name=config.name,
        created=created,
        collection=benchmark.collection.info,
        depth=config.depth,
        baseline=config.baseline,
        profile=scores.profile.name,
        rules=scores.rules,
        measures=measure_infos(scores, benchmark.targets),
        systems=[_system(outcome, name, evaluations[name], file) for name in benchmark.systems],
        comparison=outcome.comparison,
        figure_kpis=figure_kpis(analyses, benchmark.targets.figure_goals),
        analyses=analyses,
        summary=summarise(
            (analysis, outcome.answers.get(analysis.name)) for analysis in all_analyses()
        ),
        findings=_findings(outcome, findings),
        verdict=[],
        queries=file(QUERIES),
        top=TOP,
        seconds={name: round(seconds, 6) for name, seconds in outcome.seconds.items()},
    )
    return report.model_copy(update={"verdict": verdict(report)}), evaluations


def manifest_of(
    outcome: Outcome,
    report: BenchmarkReport,
    *,
    models: Mapping[str, Sequence[Mapping[str, Any]]],
    git: GitState | None,
    machine: Machine,
    artifacts: list[FileRef],
) -> ExperimentManifest:
    """Return what is needed to repeat it; ``models`` are those that took part, by system."""
    benchmark, loaded = outcome.benchmark, outcome.benchmark.loaded
    return ExperimentManifest(
        experiment=report.experiment,
        name=report.name,
        config=loaded.plain(),
        config_sha256=loaded.sha256,
        overrides=loaded.secrets.hide(loaded.overrides),
        collection=report.collection,
        runs=[
            RunRef(system=system.name, run_id=system.run.run_id, path=system.run.file.path)
            for system in report.systems
        ],
        keys=dict(benchmark.keys),
        targets=asdict(benchmark.targets),
        versions=dict(benchmark.versions),
        models=loaded.secrets.hide({name: list(each) for name, each in models.items() if each}),
        snapshots={system.name: system.run.identity.snapshot for system in report.systems},
        git=git,
        seed=loaded.config.statistics.seed,
        machine=machine,
        artifacts=artifacts,
    )


# --- values --------------------------------------------------------------------------------------


def measure_values(
    benchmark: Benchmark, scores: Scores, comparison: Comparison | None
) -> dict[str, list[MeasureValue]]:
    """Return every system's means with interval, target and bands."""
    targets, ends = benchmark.targets, intervals(benchmark, scores, comparison)
    values: dict[str, list[MeasureValue]] = {}
    for run in scores.scored:
        values[run.name] = []
        for measure, asked in scores.asked.items():
            value, target = run.means[measure], targets.target_of(measure, asked)
            higher = Measure.parse(measure).definition.higher_is_better
            values[run.name].append(
                MeasureValue(
                    measure=measure,
                    asked=asked,
                    value=value,
                    interval=ends.get((run.name, measure)),
                    n=run.accounting.queries,
                    target=target,
                    status=status_of(value, target, higher_is_better=higher),
                    bands=targets.bands_of(measure, value),
                )
            )
    return values


def measure_infos(scores: Scores, targets: Targets) -> list[MeasureInfo]:
    """Describe the measures, and say who is best by each."""
    infos = []
    for measure, asked in scores.asked.items():
        definition = Measure.parse(measure).definition
        means = {run.name: run.means[measure] for run in scores.scored}
        best = (max if definition.higher_is_better else min)(means.values(), default=None)
        low, high = definition.range
        infos.append(
            MeasureInfo(
                measure=measure,
                asked=asked,
                title=definition.summary,
                higher_is_better=definition.higher_is_better,
                low=low,
                high=high,
                target=targets.target_of(measure, asked),
                best=[name for name, mean in means.items() if mean == best],
            )
        )
    return infos


# --- systems -------------------------------------------------------------------------------------


def _evaluation(
    outcome: Outcome,
    name: str,
    values: list[MeasureValue],
    findings: list[Finding],
    file: Callable[[str], FileRef],
) -> EvaluationReport:
    """Return the report of one system."""
    benchmark, scores, first = outcome.benchmark, outcome.scores, outcome.fetched[name][0]
    fault = fault_of(outcome.checks[name])
    broken = None if fault is None else fault.message
    if broken is not None and not first.run.query_ids and first.failures:
        broken = f"no query was answered ({next(iter(first.failures.values()))})"
    return EvaluationReport(
        experiment=benchmark.experiment,
        run=_run_info(benchmark, name, first, file(run_file(name))),
        collection=benchmark.collection.info,
        profile=scores.profile.name,
        rules=scores.rules,
        measures=values,
        accounting=scores.run(name).accounting if fault is None else None,
        broken=broken,
        diagnostics=Diagnostics(
            versions=dict(benchmark.versions), findings=findings, notes=list(first.notes)
        ),
        per_query=file(values_file(name)),
    )


def _system(
    outcome: Outcome, name: str, evaluation: EvaluationReport, file: Callable[[str], FileRef]
) -> SystemRecord:
    """Return what the report of all systems says of one."""
    benchmark, (first, *again) = outcome.benchmark, outcome.fetched[name]
    described = benchmark.systems[name]
    return SystemRecord(
        name=name,
        kind=described.kind,
        spec=benchmark.loaded.plain()["systems"][name],
        of=list(described.of),
        report=report_file(name),
        run=evaluation.run,
        measures=evaluation.measures,
        accounting=evaluation.accounting,
        broken=evaluation.broken,
        timing=first.timings,
        again=tuple(
            _run_info(benchmark, name, fetched, file(run_file(name, time)))
            for time, fetched in enumerate(again, start=2)
        ),
        per_query=evaluation.per_query,
        results=file(results_file(name)),
    )


def _run_info(benchmark: Benchmark, name: str, fetched: Fetched, file: FileRef) -> RunInfo:
    run = fetched.run
    return RunInfo(
        system=name,
        run_id=run.fingerprint(),
        file=file,
        queries=len(run.query_ids),
        rows=len(run),
        depth=benchmark.loaded.config.depth,
        failures=fetched.failures,
        identity=fetched.identity,
        collapsed=run.chunks,
        engines=tuple(fact for fact in fetched.facts if isinstance(fact, EngineFacts)),
        usage=tuple(fact for fact in fetched.facts if isinstance(fact, ModelUsage)),
    )


# --- findings ------------------------------------------------------------------------------------


def _run_findings(outcome: Outcome, name: str) -> list[Finding]:
    """Return what is to be said of one run: what failed first, then what checks and scores say."""
    fetched, scores = outcome.fetched[name][0], outcome.scores
    findings = []
    for usage in fetched.facts:
        if isinstance(usage, ModelUsage) and usage.fallen_back:
            sentence = (
                f"{usage.part}: {silence(usage)}, and the incoming order or the plain query was "
                f"taken ({usage.unreadable:,} answers could not be read)"
            )
            evidence = {"model": usage.model, "failed": usage.failed}
            findings.append(
                FELL_BACK.finding(sentence, count=usage.fallen_back, evidence=evidence, system=name)
            )
    if fetched.failures:
        first, reason = next(iter(fetched.failures.items()))
        sentence = f"{counted(len(fetched.failures), 'query')} could not be answered: {reason}"
        findings.append(
            QUERIES_FAILED.finding(
                sentence, count=len(fetched.failures), evidence={"first": first}, system=name
            )
        )
    checked = outcome.checks[name].findings
    findings += [finding.model_copy(update={"system": name}) for finding in checked]
    seen = {finding.code for finding in checked}
    if name in scores.runs:
        findings += [each for each in scores.run(name).findings if each.code not in seen]
    return [*findings, *(SYSTEM_NOTE.finding(text, system=name) for text in fetched.notes)]


def _findings(outcome: Outcome, by_system: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """Return all findings, the worst first; what is about the collection is said once."""
    findings = list(outcome.benchmark.collection.findings)
    lifted: dict[str, Finding] = {}
    for finding in (finding for each in by_system.values() for finding in each):
        if finding.code in _OF_COLLECTION:
            lifted[finding.code] = finding.model_copy(update={"system": None})
        else:
            findings.append(finding)
    findings += lifted.values()
    for answer in outcome.answers.values():
        findings += answer.findings if isinstance(answer, Analysed) else ()
    return worst_first(findings)
