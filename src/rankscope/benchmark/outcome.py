"""Verdict: what all steps made, as the records that an experiment keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankscope.benchmark.diagnose import Answer
from rankscope.benchmark.folder import report_file, results_file, run_file, values_file
from rankscope.benchmark.prepare import Benchmark
from rankscope.benchmark.score import intervals
from rankscope.benchmark.targets import Targets
from rankscope.collection.qrels_checks import GRADES_TOO_LOW
from rankscope.diagnosis.analysis import Analysed, all_analyses
from rankscope.diagnosis.summary import summarise
from rankscope.errors import counted
from rankscope.findings import Finding, declare, worst_first
from rankscope.measures.language import Measure
from rankscope.part import FileRef
from rankscope.records.experiment_files import QUERIES
from rankscope.records.kpis import figure_kpis, status_of
from rankscope.records.origin import EngineFacts, ModelUsage
from rankscope.records.report import (
    Analyses,
    BenchmarkReport,
    Diagnostics,
    EvaluationReport,
    ExperimentManifest,
    Machine,
    MeasureInfo,
    MeasureValue,
    RunInfo,
    ScoredSystem,
    SystemRecord,
)
from rankscope.reports.verdict import silence, verdict
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.checks import gold_outside_corpus
from rankscope.scoring.scored_runs import Scores
from rankscope.statistics.comparison import Comparison

TOP = 20
"""So many results of each answer are kept with titles and grades."""

_OF_COLLECTION = frozenset({gold_outside_corpus.code, GRADES_TOO_LOW.code})
"""Findings that each run repeats and that are about the collection and the measures."""

QUERIES_FAILED = declare(
    "RS704",
    "queries-failed",
    "error",
    unit="query",
    advice="run the benchmark again, and only they are asked; until then they are not in the run "
    "and count as 0, unless the profile leaves them out",
    meaning="A system could not answer a query; it is not in the run and counts as 0.",
)

SYSTEM_NOTE = declare(
    "RS706",
    "system-note",
    "warning",
    unit="case",
    advice="see whether this is meant before you act on the system's numbers",
    meaning="""A system has something to say about its answers: documents that it cannot find,
    scores that rise down the lists as distances do, documents that an answer holds twice.""",
)

FELL_BACK = declare(
    "RS707",
    "model-fell-back",
    "warning",
    unit="question",
    advice="look at the answers and the prompt, or take another model; --fresh asks again",
    meaning="""A language model gave no usable answer to some questions, and something else was
    taken: the incoming order, or the plain query. There, the system is the one below it.""",
)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the steps of a benchmark made."""

    benchmark: Benchmark
    fetched: Mapping[str, Sequence[Fetched]]
    """By system: what it answered, each time it was asked."""
    broken: Mapping[str, str]
    """By system: why it could not be scored, for those of which that is so."""
    findings: Mapping[str, list[Finding]]
    """By system: what is to be said of its run."""
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
    config, info = benchmark.loaded.config, benchmark.collection.info
    common: dict[str, Any] = {
        "experiment": benchmark.experiment,
        "collection": info,
        "profile": scores.profile.name,
        "rules": scores.rules,
    }
    scored = _scored_systems(outcome, file)
    evaluations = {
        name: EvaluationReport(
            **common,
            **dict(system),
            diagnostics=Diagnostics(
                versions=dict(benchmark.versions),
                findings=outcome.findings[name],
                notes=list(outcome.fetched[name][0].notes),
            ),
        )
        for name, system in scored.items()
    }
    analyses = Analyses(**outcome.answers)
    report = BenchmarkReport(
        **common,
        name=config.name,
        created=created,
        depth=config.depth,
        baseline=config.baseline,
        measures=_measure_infos(scores, benchmark.targets),
        systems=[_record(outcome, name, system, file) for name, system in scored.items()],
        comparison=outcome.comparison,
        figure_kpis=figure_kpis(analyses, benchmark.targets.figure_goals),
        analyses=analyses,
        summary=summarise(
            (analysis, outcome.answers.get(analysis.name)) for analysis in all_analyses()
        ),
        findings=_findings(outcome),
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
        keys=dict(benchmark.keys),
        targets=asdict(benchmark.targets),
        versions=dict(benchmark.versions),
        models=loaded.secrets.hide({name: list(each) for name, each in models.items() if each}),
        seed=loaded.config.statistics.seed,
        machine=machine,
        artifacts=artifacts,
    )


# --- systems and measures ------------------------------------------------------------------------


def _scored_systems(outcome: Outcome, file: Callable[[str], FileRef]) -> dict[str, ScoredSystem]:
    """Return what each system answered, and its means with interval, target and bands."""
    benchmark, scores, targets = outcome.benchmark, outcome.scores, outcome.benchmark.targets
    ends = intervals(benchmark, scores, outcome.comparison)
    systems = {}
    for name in benchmark.systems:
        run = scores.run(name) if name in scores.runs else None
        values = []
        for measure, asked in scores.asked.items() if run is not None else ():
            assert run is not None
            value, target = run.means[measure], targets.target_of(measure, asked)
            higher = Measure.parse(measure).definition.higher_is_better
            values.append(
                MeasureValue(
                    measure=measure,
                    asked=asked,
                    value=value,
                    interval=ends.get((name, measure)),
                    n=run.accounting.queries,
                    target=target,
                    status=status_of(value, target, higher_is_better=higher),
                    bands=targets.bands_of(measure, value),
                )
            )
        systems[name] = ScoredSystem(
            run=_run_info(benchmark, name, outcome.fetched[name][0], file(run_file(name))),
            measures=values,
            accounting=None if run is None else run.accounting,
            broken=outcome.broken.get(name),
            per_query=file(values_file(name)),
        )
    return systems


def _measure_infos(scores: Scores, targets: Targets) -> list[MeasureInfo]:
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


def _record(
    outcome: Outcome, name: str, system: ScoredSystem, file: Callable[[str], FileRef]
) -> SystemRecord:
    """Return what the report of all systems says of one."""
    benchmark, (first, *again) = outcome.benchmark, outcome.fetched[name]
    described = benchmark.systems[name]
    return SystemRecord(
        **dict(system),
        name=name,
        kind=described.kind,
        spec=benchmark.loaded.config.systems[name],
        of=list(described.of),
        report=report_file(name),
        timing=first.timings,
        again=tuple(
            _run_info(benchmark, name, fetched, file(run_file(name, time)))
            for time, fetched in enumerate(again, start=2)
        ),
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


def findings_of(
    name: str, fetched: Fetched, checked: Sequence[Finding], scores: Scores
) -> list[Finding]:
    """Return what is to be said of one run: what failed first, then what checks and scores say."""
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
    findings += [finding.model_copy(update={"system": name}) for finding in checked]
    seen = {finding.code for finding in checked}
    if name in scores.runs:
        findings += [each for each in scores.run(name).findings if each.code not in seen]
    return [*findings, *(SYSTEM_NOTE.finding(text, system=name) for text in fetched.notes)]


def _findings(outcome: Outcome) -> list[Finding]:
    """Return all findings, the worst first; what is about the collection is said once."""
    findings = list(outcome.benchmark.collection.findings)
    lifted: dict[str, Finding] = {}
    for finding in (finding for each in outcome.findings.values() for finding in each):
        if finding.code in _OF_COLLECTION:
            lifted[finding.code] = finding.model_copy(update={"system": None})
        else:
            findings.append(finding)
    findings += lifted.values()
    for answer in outcome.answers.values():
        findings += answer.findings if isinstance(answer, Analysed) else ()
    return worst_first(findings)
