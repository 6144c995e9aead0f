"""The experiment: what all stages made, written as records, tables and pages to read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from rankscope.benchmark.codes import CONFIG_NOTE, QUERIES_FAILED
from rankscope.benchmark.environment import git_state, machine, now
from rankscope.benchmark.folders import MANIFEST, REPORT, Unfinished, file_ref, slug
from rankscope.benchmark.plan import Results
from rankscope.benchmark.targets import Targets, load_targets
from rankscope.benchmark.verdict import verdict
from rankscope.benchmark.workflow import Answer, Benchmark, Workflow, fault_of, versions
from rankscope.collection.qrels_codes import GRADES_TOO_LOW
from rankscope.diagnosis.registry import Analysed
from rankscope.document.html import page
from rankscope.document.markdown import as_markdown
from rankscope.errors import counted
from rankscope.files import replacing
from rankscope.findings import Finding, worst_first
from rankscope.measures.language import Measure
from rankscope.records import (
    Analyses,
    BenchmarkReport,
    Diagnostics,
    EvaluationReport,
    ExperimentManifest,
    Kpi,
    MeasureInfo,
    MeasureValue,
    RunInfo,
    RunRef,
    SystemRecord,
    status_of,
)
from rankscope.reports.benchmark import benchmark_document
from rankscope.retrieval.fetch import Fetched
from rankscope.retrieval.protocol import fingerprint, models_of
from rankscope.runs.run_codes import GOLD_OUTSIDE, TRIVIAL_CUTOFF
from rankscope.scoring.evaluate import Scores
from rankscope.statistics.compare import Comparison, sample_of
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pairwise import mean_rows
from rankscope.tables.parquet import parquet_bytes

TOP = 10
"""So many results of each answer are kept with titles and grades."""


def experiment_id(benchmark: Benchmark) -> str:
    """Return the id: the config's name, and a hash of config, data, systems and versions.

    How many queries are asked at a time decides nothing, and may differ between machines.
    """
    data = benchmark.collection.info.model_dump()
    config = {key: value for key, value in benchmark.loaded.plain().items() if key != "fetch"}
    targets = load_targets(config["targets"], config["bands"], benchmark.loaded.folder)
    packages = versions(*benchmark.packages())
    key = fingerprint(config, data, dict(benchmark.keys), packages, asdict(targets))
    return f"{slug(benchmark.loaded.config.name)}-{key[:12]}"


def write_experiment(
    benchmark: Benchmark,
    workflow: Workflow,
    results: Results,
    folder: Unfinished,
    *,
    started: str,
) -> BenchmarkReport:
    """Write everything into a folder that is being filled; the manifest comes last."""
    return _Writer(benchmark, workflow, results, folder, started).write()


@dataclass(slots=True)
class _Writer:
    """Puts one experiment together."""

    benchmark: Benchmark
    workflow: Workflow
    results: Results
    folder: Unfinished
    started: str

    def write(self) -> BenchmarkReport:
        loaded = self.benchmark.loaded
        scores = self._scores()
        targets = load_targets(loaded.config.targets, loaded.config.bands, loaded.folder)
        values = self._values(scores, targets)
        self._tables(scores)
        systems = []
        for name in self.benchmark.specs:
            system, report = self._system(name, scores, values.get(name, []))
            self._text(system.report, report.to_json())
            systems.append(system)
        benchmark_report = BenchmarkReport(
            experiment=experiment_id(self.benchmark),
            name=loaded.config.name,
            created=now(),
            collection=self.benchmark.collection.info,
            depth=loaded.config.depth,
            baseline=loaded.config.baseline,
            profile=scores.profile.name,
            rules=scores.rules,
            measures=_measure_infos(scores, targets),
            systems=systems,
            comparison=self._comparison(),
            kpis=[
                Kpi(system=name, **value.model_dump(include=_KPI_FIELDS))
                for name, own_values in values.items()
                for value in own_values
            ],
            analyses=Analyses(**self._answers()),
            findings=self._findings(),
            verdict=[],
            queries=file_ref(self.folder.path("queries.parquet"), self.folder.folder),
            top=TOP,
            seconds=self._seconds(),
        )
        verdicts = {"verdict": verdict(benchmark_report)}
        benchmark_report = benchmark_report.model_copy(update=verdicts)
        self._text(REPORT, benchmark_report.to_json())
        document = benchmark_document(benchmark_report)
        self._text("BenchmarkComparison.md", as_markdown(document))
        self._text("BenchmarkReport.html", page(document))
        self._text(MANIFEST, self._manifest(benchmark_report).to_json())
        return benchmark_report

    def _text(self, name: str, text: str) -> None:
        with replacing(self.folder.path(name)) as sink:
            sink.write(text.encode())

    def _parquet(self, table: pl.DataFrame, *parts: str) -> None:
        with replacing(self.folder.path(*parts)) as sink:
            sink.write(parquet_bytes(table))  # Polars itself has errors of its own for a full disk

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

    def _fetched(self, name: str) -> Fetched:
        return self.results[self.workflow.fetches[name]]

    # --- values ----------------------------------------------------------------------------------

    def _values(self, scores: Scores, targets: Targets) -> dict[str, list[MeasureValue]]:
        """Return every system's means with interval, target and bands."""
        intervals = self._intervals(scores)
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
        sample = sample_of(matrix.query_ids, self.benchmark.clusters, None)
        matrix = replace(matrix, sample=sample)
        owners = [(system, scale.name) for scale in matrix.scales for system in matrix.systems]
        intervals = mean_rows(matrix, self.benchmark.settings)
        return dict(zip(owners, intervals, strict=True))

    # --- systems ---------------------------------------------------------------------------------

    def _system(
        self, name: str, scores: Scores, values: list[MeasureValue]
    ) -> tuple[SystemRecord, EvaluationReport]:
        fetched = self._fetched(name)
        run, root = fetched.run, self.folder.folder
        path = self.folder.path("runs", f"{name}.run.gz")
        if len(run):
            run.write(path, format="trec")
        else:
            self._text(f"runs/{name}.run.gz", "")
        info = RunInfo(
            system=name,
            run_id=run.fingerprint(),
            file=file_ref(path, root),
            queries=len(run.query_ids),
            rows=len(run),
            depth=self.benchmark.loaded.config.depth,
            failures=fetched.failures,
            identity=fetched.identity,
        )
        fault = fault_of(self.results[self.workflow.checks[name]])
        broken = None if fault is None else fault.message
        if broken is not None and not run.query_ids and fetched.failures:
            broken = f"no query was answered ({next(iter(fetched.failures.values()))})"
        accounting = scores.run(name).accounting if fault is None else None
        stages = (self.workflow.fetches[name].name, self.workflow.checks[name].name)
        report = EvaluationReport(
            experiment=experiment_id(self.benchmark),
            created=now(),
            run=info,
            collection=self.benchmark.collection.info,
            profile=scores.profile.name,
            rules=scores.rules,
            measures=values,
            accounting=accounting,
            broken=broken,
            diagnostics=Diagnostics(
                versions=versions(*self.benchmark.packages()),
                seconds={stage: self._seconds()[stage] for stage in stages},
                timing=fetched.timings,
                findings=self._run_findings(name),
                notes=list(fetched.notes),
            ),
            per_query=file_ref(self.folder.path("per_query", f"{name}.parquet"), root),
        )
        system = SystemRecord(
            name=name,
            kind=self.benchmark.kind(name),
            spec=self.benchmark.loaded.plain()["systems"][name],
            of=list(self.benchmark.parents(name)),
            report=f"EvaluationReport.{name}.json",
            run=info,
            measures=values,
            accounting=accounting,
            broken=broken,
            timing=fetched.timings,
            per_query=report.per_query,
            results=file_ref(self.folder.path("results", f"{name}.parquet"), root),
        )
        return system, report

    def _tables(self, scores: Scores) -> None:
        """Write queries, judgments, values by query and the top of each answer."""
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
        self._parquet(queries, "queries.parquet")
        titles = _Titles(collection.title_of)
        judged = collection.judgments.table.to_polars()
        self._parquet(judged.with_columns(titles.of(judged["doc_id"])), "qrels.parquet")
        grades = collection.judgments.pairs.select(
            "query_id", "doc_id", pl.col("grade").cast(pl.Float64)
        )
        values = scores.per_query
        for name in self.benchmark.specs:
            of_run = values.filter(pl.col("run") == name).drop("run")
            self._parquet(of_run, "per_query", f"{name}.parquet")
            ranked = self._fetched(name).run.trec_columns()
            top = ranked.select("query_id", "rank", "doc_id", "score").filter(pl.col("rank") <= TOP)
            top = top.with_columns(titles.of(top["doc_id"]))
            top = top.join(grades, on=["query_id", "doc_id"], how="left", maintain_order="left")
            ordered = top.select("query_id", "rank", "doc_id", "title", "score", "grade")
            self._parquet(ordered, "results", f"{name}.parquet")

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
        return findings

    def _findings(self) -> list[Finding]:
        findings = list(self.benchmark.collection.findings)
        lifted: dict[str, Finding] = {}  # what is about the collection is said once
        for name in self.benchmark.specs:
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

    def _models(self, name: str) -> list[dict[str, Any]]:
        """Describe a system's models, also what they know of the corpus.

        A system whose answers were all kept has not been given the corpus yet.
        """
        if not models_of(self.benchmark.systems[name]):
            return []
        return models_of(self.benchmark.systems.indexed(name))

    def _manifest(self, report: BenchmarkReport) -> ExperimentManifest:
        loaded = self.benchmark.loaded
        models = {name: loaded.secrets.hide(self._models(name)) for name in self.benchmark.specs}
        return ExperimentManifest(
            experiment=report.experiment,
            name=report.name,
            started=self.started,
            finished=now(),
            config=loaded.plain(),
            config_sha256=loaded.sha256,
            overrides=loaded.secrets.hide(loaded.overrides),
            collection=report.collection,
            runs=[
                RunRef(system=system.name, run_id=system.run.run_id, path=system.run.file.path)
                for system in report.systems
            ],
            versions=versions(*self.benchmark.packages()),
            models={name: described for name, described in models.items() if described},
            snapshots={system.name: system.run.identity.snapshot for system in report.systems},
            git=git_state(loaded.folder),
            seed=loaded.config.statistics.seed,
            machine=machine(),
            seconds=self._seconds(),
            artifacts=self.folder.files(),
        )


_OF_COLLECTION = frozenset({GOLD_OUTSIDE.code, GRADES_TOO_LOW.code, TRIVIAL_CUTOFF.code})
"""Findings that each run repeats and that are about the collection and the measures."""

_KPI_FIELDS = {"measure", "asked", "value", "target", "status", "bands"}


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
