"""The experiment: what all stages made, written as records, tables and pages to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.codes import CONFIG_NOTE, FELL_BACK, QUERIES_FAILED, SYSTEM_NOTE
from rankscope.benchmark.diagnosing import Answer
from rankscope.benchmark.drawn_pages import pages
from rankscope.benchmark.environment import git_state, machine, now
from rankscope.benchmark.folders import MANIFEST, REPORT, Unfinished, file_ref
from rankscope.benchmark.plan import Results
from rankscope.benchmark.targets import Targets
from rankscope.benchmark.workflow import Workflow, fault_of
from rankscope.collection.qrels_checks import GRADES_TOO_LOW
from rankscope.diagnosis.analysis import Analysed, all_analyses
from rankscope.diagnosis.summary import SummaryLine, summarise
from rankscope.errors import counted
from rankscope.files import replacing
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
    ExperimentTimings,
    MeasureInfo,
    MeasureValue,
    RunInfo,
    SystemRecord,
    status_of,
)
from rankscope.records.table_names import ANNOTATIONS, DOCUMENTS, ONTOLOGY, QRELS, QUERIES, TIMINGS
from rankscope.records.tops import best_judged, tops
from rankscope.reports.verdict import silence, verdict
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.checks import gold_outside_corpus
from rankscope.runs.table import Run
from rankscope.scoring.scores import Scores
from rankscope.statistics.clusters import Sample
from rankscope.statistics.comparison import Comparison
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.tables.frames import parquet_bytes
from rankscope.tables.writing import write_trec_or_jsonl

TOP = 20
"""So many results of each answer are kept with titles and grades."""

LONGEST_TEXT = 1_000
"""So many characters of a document's text are kept."""


def write_experiment(
    experiment: Experiment,
    folder: Unfinished,
    *,
    models: Mapping[str, Sequence[Mapping[str, Any]]],
    started: str,
) -> BenchmarkReport:
    """Write everything into a folder that is being filled.

    What depends on the clock comes behind the manifest, which does not list it.

    ``models`` are those that took part, by system.
    """

    def described(name: str) -> FileRef:
        return file_ref(folder.path(name), folder.folder)

    for name, table in experiment.tables():
        with replacing(folder.path(name)) as sink:
            sink.write(parquet_bytes(table))  # Polars itself has errors of its own for a full disk
    for name, text in experiment.term_tables():
        _write_text(folder, name, text)
    for name, run in experiment.runs().items():
        if len(run):
            write_trec_or_jsonl(run, folder.path(name))
        else:
            _write_text(folder, name, "")
    report, evaluations = experiment.reports(described, created=now())
    for name, evaluation in evaluations.items():
        _write_text(folder, report_file(name), evaluation.to_json())
    _write_text(folder, REPORT, report.to_json())
    manifest = experiment.manifest(
        report,
        models=models,
        git=git_state(experiment.benchmark.loaded.folder),
        machine=machine(),
        artifacts=folder.files(),
    )
    _write_text(folder, MANIFEST, manifest.to_json())
    drawn = pages(report, manifest, folder.folder)
    for name, text in drawn.items():
        _write_text(folder, name, text)
    timings = ExperimentTimings.of(report, started, [described(name) for name in drawn])
    _write_text(folder, TIMINGS, timings.to_json())
    return report


def _write_text(folder: Unfinished, name: str, text: str) -> None:
    with replacing(folder.path(name)) as sink:
        sink.write(text.encode())


def run_file(system: str, time: int = 1) -> str:
    """Return where the run of a system is; ``time``: which, if it was asked more than once."""
    return f"runs/{system}.run.gz" if time == 1 else f"runs/again/{time}/{system}.run.gz"


def report_file(system: str) -> str:
    """Return where the report of a system is in an experiment's folder."""
    return f"EvaluationReport.{system}.json"


def values_file(system: str) -> str:
    """Return where the values by query of a system are."""
    return f"per_query/{system}.parquet"


def results_file(system: str) -> str:
    """Return where the top of the answers of a system is."""
    return f"results/{system}.parquet"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What the stages of a benchmark made, as the records and tables that are kept of it.

    Nothing is written here: a benchmark writes them, and `verify` makes them again of the runs in
    the folder, to see whether what is recorded follows from these.
    """

    benchmark: Benchmark
    workflow: Workflow
    results: Results

    def reports(
        self, file: Callable[[str], FileRef], *, created: str
    ) -> tuple[BenchmarkReport, dict[str, EvaluationReport]]:
        """Return the report of all systems, and that of each; ``file`` describes a file."""
        config = self.benchmark.loaded.config
        scores = self._scores()
        values = self._values(scores)
        systems, evaluations = [], {}
        for name in self.benchmark.systems:
            system, evaluations[name] = self._system(name, scores, values.get(name, []), file)
            systems.append(system)
        analyses = Analyses(**self._answers())
        report = BenchmarkReport(
            experiment=self.benchmark.experiment,
            name=config.name,
            created=created,
            collection=self.benchmark.collection.info,
            depth=config.depth,
            baseline=config.baseline,
            profile=scores.profile.name,
            rules=scores.rules,
            measures=_measure_infos(scores, self.benchmark.targets),
            systems=systems,
            comparison=self._comparison(),
            figure_kpis=figure_kpis(analyses, self.benchmark.targets.figure_goals),
            analyses=analyses,
            summary=self._summary(),
            findings=self._findings(),
            verdict=[],
            queries=file(QUERIES),
            top=TOP,
            seconds=self._seconds(),
        )
        return report.model_copy(update={"verdict": verdict(report)}), evaluations

    def runs(self) -> dict[str, Run]:
        """Return every run, by file."""
        runs = {run_file(name): self._fetched(name).run for name in self.benchmark.systems}
        for name, stages in self.workflow.again.items():
            for time, stage in enumerate(stages, start=2):
                runs[run_file(name, time)] = self.results[stage].run
        return runs

    def _seconds(self) -> dict[str, float]:
        return {name: round(seconds, 6) for name, seconds in self.results.seconds.items()}

    # --- what the stages made --------------------------------------------------------------------

    def _scores(self) -> Scores:
        assert self.workflow.score is not None
        return self.results[self.workflow.score]

    def _comparison(self) -> Comparison | None:
        return None if self.workflow.compare is None else self.results[self.workflow.compare]

    def _answers(self) -> dict[str, Answer]:
        return {name: self.results[stage] for name, stage in (self.workflow.analyses or {}).items()}

    def _summary(self) -> tuple[SummaryLine, ...]:
        answers = self._answers()
        return summarise((analysis, answers.get(analysis.name)) for analysis in all_analyses())

    def _fetched(self, name: str) -> Fetched:
        return self.results[self.workflow.fetches[name]]

    # --- values ----------------------------------------------------------------------------------

    def _values(self, scores: Scores) -> dict[str, list[MeasureValue]]:
        """Return every system's means with interval, target and bands."""
        intervals, targets = self._intervals(scores), self.benchmark.targets
        values: dict[str, list[MeasureValue]] = {}
        for name in scores.runs:
            run = scores.run(name)
            values[name] = []
            for measure, asked in scores.asked.items():
                value = run.means[measure]
                target = _target(targets, measure, asked)
                higher = Measure.parse(measure).definition.higher_is_better
                values[name].append(
                    MeasureValue(
                        measure=measure,
                        asked=asked,
                        value=value,
                        interval=intervals.get((name, measure)),
                        n=run.accounting.queries,
                        target=target,
                        status=status_of(value, target, higher_is_better=higher),
                        bands=targets.bands_of(measure, value),
                    )
                )
        return values

    def _intervals(self, scores: Scores) -> dict[tuple[str, str], Interval]:
        """Return the intervals of all means: those of the comparison, or of a lone system."""
        comparison = self._comparison()
        if comparison is not None:
            return {(mean.run, mean.measure): mean.interval for mean in comparison.means}
        matrix = Matrix.of_scores(scores, only_means=True) if scores.runs else None
        if matrix is None or not matrix.scales:
            return {}
        sample = Sample.of(matrix.query_ids, self.benchmark.clusters, None)
        matrix = replace(matrix, sample=sample)
        owners = [(system, scale.name) for scale in matrix.scales for system in matrix.systems]
        intervals = matrix.mean_intervals(self.benchmark.settings)
        return dict(zip(owners, intervals, strict=True))

    # --- systems ---------------------------------------------------------------------------------

    def _system(
        self,
        name: str,
        scores: Scores,
        values: list[MeasureValue],
        file: Callable[[str], FileRef],
    ) -> tuple[SystemRecord, EvaluationReport]:
        fetched = self._fetched(name)
        run, described = fetched.run, self.benchmark.systems[name]
        info = self._run_info(name, fetched, file(run_file(name)))
        fault = fault_of(self.results[self.workflow.checks[name]])
        broken = None if fault is None else fault.message
        if broken is not None and not run.query_ids and fetched.failures:
            broken = f"no query was answered ({next(iter(fetched.failures.values()))})"
        accounting = scores.run(name).accounting if fault is None else None
        report = EvaluationReport(
            experiment=self.benchmark.experiment,
            run=info,
            collection=self.benchmark.collection.info,
            profile=scores.profile.name,
            rules=scores.rules,
            measures=values,
            accounting=accounting,
            broken=broken,
            diagnostics=Diagnostics(
                versions=dict(self.benchmark.versions),
                findings=self._run_findings(name),
                notes=list(fetched.notes),
            ),
            per_query=file(values_file(name)),
        )
        system = SystemRecord(
            name=name,
            kind=described.kind,
            spec=self.benchmark.loaded.plain()["systems"][name],
            of=list(described.of),
            report=report_file(name),
            run=info,
            measures=values,
            accounting=accounting,
            broken=broken,
            timing=fetched.timings,
            again=tuple(
                self._run_info(name, self.results[stage], file(run_file(name, time)))
                for time, stage in enumerate(self.workflow.again.get(name, ()), start=2)
            ),
            per_query=report.per_query,
            results=file(results_file(name)),
        )
        return system, report

    def _run_info(self, name: str, fetched: Fetched, file: FileRef) -> RunInfo:
        run = fetched.run
        return RunInfo(
            system=name,
            run_id=run.fingerprint(),
            file=file,
            queries=len(run.query_ids),
            rows=len(run),
            depth=self.benchmark.loaded.config.depth,
            failures=fetched.failures,
            identity=fetched.identity,
            collapsed=run.chunks,
            engines=tuple(fact for fact in fetched.facts if isinstance(fact, EngineFacts)),
            usage=tuple(fact for fact in fetched.facts if isinstance(fact, ModelUsage)),
        )

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Return queries, judgments, values by query and the top of each answer, by file."""
        collection = self.benchmark.collection
        queries = pl.DataFrame(
            [
                (
                    query.query_id,
                    query.text,
                    json.dumps(dict(query.metadata), ensure_ascii=False, default=str),
                )
                for query in collection.queries
            ],
            schema=dict.fromkeys(("query_id", "text", "metadata"), pl.String),
            orient="row",
        )
        yield QUERIES, queries
        titles = _Titles(collection.title_of)
        judged = collection.judgments.table.to_polars()
        yield QRELS, judged.with_columns(titles.of(judged["doc_id"]))
        grades = collection.judgments.pairs.select(
            "query_id", "doc_id", pl.col("grade").cast(pl.Float64)
        )
        values = self._scores().per_query
        shown: list[pl.Series] = []
        for name in self.benchmark.systems:
            of_run = values.filter(pl.col("run") == name).drop("run")
            yield values_file(name), of_run
            top = self._top(name)
            shown.append(top["doc_id"])
            top = top.with_columns(titles.of(top["doc_id"]))
            top = top.join(grades, on=["query_id", "doc_id"], how="left", maintain_order="left")
            ordered = top.select("query_id", "rank", "doc_id", "title", "score", "grade", "adds")
            yield results_file(name), ordered
        shown.append(best_judged(grades, TOP)["doc_id"])
        ids = pl.concat(shown).unique(maintain_order=True)
        yield DOCUMENTS, self._documents(ids).with_columns(titles.of(ids))[_DOCUMENT_COLUMNS]

    def _top(self, name: str) -> pl.DataFrame:
        """Return the first documents of each answer, with what each adds to the main measure."""
        scores = self._scores()
        main = Measure.parse(scores.measures[0])
        judgments, run = self.benchmark.collection.judgments, self._fetched(name).run
        if name in scores.runs:
            return tops(judgments, run, main, profile=scores.profile, depth=TOP)
        ranked = run.trec_columns().select("query_id", "rank", "doc_id", "score")
        unknown = pl.lit(None, pl.Float64).alias("adds")
        return ranked.filter(pl.col("rank") <= TOP).with_columns(unknown)

    def _documents(self, doc_ids: pl.Series) -> pl.DataFrame:
        """Return how documents begin; null where that is not known."""
        texts = [self.benchmark.collection.text_of(doc_id) for doc_id in doc_ids]
        cut = [None if text is None else text[:LONGEST_TEXT] for text in texts]
        return pl.DataFrame({"doc_id": doc_ids, "text": pl.Series(cut, dtype=pl.String)})

    def term_tables(self) -> Iterator[tuple[str, str]]:
        """Return the ontology and its annotations as tables, by file; nothing if there is none."""
        ontology = self.benchmark.collection.judgments.ontology
        if ontology is not None:
            yield ONTOLOGY, ontology.table()
            if ontology.annotations:
                yield ANNOTATIONS, ontology.annotation_table()

    # --- findings --------------------------------------------------------------------------------

    def _run_findings(self, name: str) -> list[Finding]:
        checked = self.results[self.workflow.checks[name]]
        findings = [finding.model_copy(update={"system": name}) for finding in checked.findings]
        seen = {finding.code for finding in findings}
        scores = self._scores()
        if name in scores.runs:
            of_run = scores.run(name).findings
            findings += [finding for finding in of_run if finding.code not in seen]
        failures = self._fetched(name).failures
        if failures:
            first, reason = next(iter(failures.items()))
            failed = QUERIES_FAILED.finding(
                f"{counted(len(failures), 'query')} could not be answered: {reason}",
                count=len(failures),
                evidence={"first": first},
                system=name,
            )
            findings.insert(0, failed)
        for usage in self._fetched(name).facts:
            if isinstance(usage, ModelUsage) and usage.fallen_back:
                fell_back = FELL_BACK.finding(
                    f"{usage.part}: {silence(usage)}, and the incoming order or the plain "
                    f"query was taken ({usage.unreadable:,} answers could not be read)",
                    count=usage.fallen_back,
                    evidence={"model": usage.model, "failed": usage.failed},
                    system=name,
                )
                findings.insert(0, fell_back)
        notes = self._fetched(name).notes
        return [*findings, *(SYSTEM_NOTE.finding(text, system=name) for text in notes)]

    def _findings(self) -> list[Finding]:
        findings = list(self.benchmark.collection.findings)
        lifted: dict[str, Finding] = {}  # what is about the collection is said once
        for name in self.benchmark.systems:
            for finding in self._run_findings(name):
                if finding.code in _OF_COLLECTION:
                    lifted[finding.code] = finding.model_copy(update={"system": None})
                else:
                    findings.append(finding)
        findings += lifted.values()
        for answer in self._answers().values():
            findings += answer.findings if isinstance(answer, Analysed) else ()
        findings += [CONFIG_NOTE.finding(text) for text in self.benchmark.loaded.notes]
        return worst_first(findings)

    def manifest(
        self,
        report: BenchmarkReport,
        *,
        models: Mapping[str, Sequence[Mapping[str, Any]]],
        git: GitState | None,
        machine: Machine,
        artifacts: list[FileRef],
    ) -> ExperimentManifest:
        """Return what is needed to repeat it."""
        benchmark, loaded = self.benchmark, self.benchmark.loaded
        hidden = {name: loaded.secrets.hide(list(models.get(name, ()))) for name in models}
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
            models={name: described for name, described in hidden.items() if described},
            snapshots={system.name: system.run.identity.snapshot for system in report.systems},
            git=git,
            seed=loaded.config.statistics.seed,
            machine=machine,
            artifacts=artifacts,
        )


_OF_COLLECTION = frozenset({gold_outside_corpus.code, GRADES_TOO_LOW.code})
"""Findings that each run repeats and that are about the collection and the measures."""

_DOCUMENT_COLUMNS = ["doc_id", "title", "text"]


class _Titles:
    """Titles of documents, each looked up once."""

    def __init__(self, title_of: Callable[[str], str | None]) -> None:
        self._title_of = title_of
        self._known: dict[str, str | None] = {}

    def of(self, doc_ids: pl.Series) -> pl.Series:
        for doc_id in doc_ids.unique().to_list():
            if doc_id not in self._known:
                self._known[doc_id] = self._title_of(doc_id)
        titles = [self._known[doc_id] for doc_id in doc_ids.to_list()]
        return pl.Series("title", titles, dtype=pl.String)


def _target(targets: Targets, measure: str, asked: str) -> float | None:
    """Return the target of a measure, by its own name or as the profile's users call it."""
    target = targets.target_of(measure)
    return targets.target_of(asked) if target is None else target


def _measure_infos(scores: Scores, targets: Targets) -> list[MeasureInfo]:
    infos = []
    for measure, asked in scores.asked.items():
        definition = Measure.parse(measure).definition
        means = {name: scores.run(name).means[measure] for name in scores.runs}
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
                target=_target(targets, measure, asked),
                best=[name for name, mean in means.items() if mean == best],
            )
        )
    return infos
