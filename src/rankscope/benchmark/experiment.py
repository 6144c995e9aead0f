"""The experiment: what all stages made, written as records, tables and a page to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from rankscope.benchmark.codes import CONFIG_NOTE, QUERIES_FAILED
from rankscope.benchmark.environment import git_state, machine, now
from rankscope.benchmark.folders import MANIFEST, REPORT, Unfinished, file_ref, slug
from rankscope.benchmark.plan import Done
from rankscope.benchmark.targets import Targets, load_targets
from rankscope.benchmark.verdict import verdict
from rankscope.benchmark.workflow import (
    COMPARE,
    SCORE,
    SEGMENTS,
    STAGES,
    Benchmark,
    run_of,
    scores_of,
    versions,
)
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
    TimingRecord,
    status_of,
)
from rankscope.reports.benchmark import benchmark_as_markdown
from rankscope.retrieval.protocol import fingerprint
from rankscope.scoring.evaluate import Scores
from rankscope.statistics.compare import Comparison
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pairwise import row_intervals

__all__ = ["TOP", "experiment_id", "write_experiment"]

TOP = 10
"""So many results of each answer are kept with titles and grades."""

_ENGINES = ("bm25s", "PyStemmer", "wordllama", "sentence-transformers", "torch", "xgboost-cpu")


def experiment_id(benchmark: Benchmark) -> str:
    """Return the id: the config's name, and a hash of config, data, systems and versions.

    How many queries are asked at a time decides nothing, and may differ between machines.
    """
    identities = {name: benchmark.systems[name].identity().key for name in benchmark.specs}
    data = benchmark.collection.info.model_dump()
    config = {name: said for name, said in benchmark.loaded.plain().items() if name != "fetch"}
    targets = load_targets(config["targets"], config["bands"], benchmark.loaded.folder)
    key = fingerprint(config, data, identities, versions(*_ENGINES), asdict(targets))
    return f"{slug(benchmark.loaded.config.name)}-{key[:12]}"


def write_experiment(
    benchmark: Benchmark, done: Done, folder: Unfinished, *, started: str
) -> BenchmarkReport:
    """Write everything into a folder that is being filled; the manifest comes last."""
    return _Writer(benchmark, done, folder, started).write()


@dataclass(slots=True)
class _Writer:
    """Puts one experiment together."""

    benchmark: Benchmark
    done: Done
    folder: Unfinished
    started: str

    def write(self) -> BenchmarkReport:
        loaded, collection = self.benchmark.loaded, self.benchmark.collection
        experiment = experiment_id(self.benchmark)
        scores = scores_of(self.done.parcels[SCORE], self.benchmark)
        targets = load_targets(loaded.config.targets, loaded.config.bands, loaded.folder)
        values = self._values(scores, targets)
        self._tables(scores)
        systems = []
        for name in self.benchmark.specs:
            record, own = self._system(name, experiment, scores, values[name])
            self._text(record.report, own.to_json())
            systems.append(record)
        comparison = self._comparison()
        report = BenchmarkReport(
            experiment=experiment,
            name=loaded.config.name,
            created=now(),
            collection=collection.info,
            depth=loaded.config.depth,
            baseline=loaded.config.baseline,
            profile=scores.profile.name,
            rules=scores.rules,
            measures=_measure_infos(scores, targets),
            systems=systems,
            comparison=comparison,
            kpis=[
                Kpi(system=name, **one.model_dump(include=_KPI_FIELDS))
                for name, own in values.items()
                for one in own
            ],
            analyses=Analyses.model_validate(
                {
                    name: self.done.parcels[name].data
                    for name in (SEGMENTS, STAGES)
                    if name in self.done.parcels
                }
            ),
            findings=self._findings(),
            verdict=[],
            queries=file_ref(self.folder.path("queries.parquet"), self.folder.folder),
            top=TOP,
            seconds=self._seconds(),
        )
        report = report.model_copy(update={"verdict": verdict(report)})
        self._text(REPORT, report.to_json())
        self._text("BenchmarkComparison.md", benchmark_as_markdown(report))
        self._text(MANIFEST, self._manifest(report).to_json())
        return report

    def _comparison(self) -> Comparison | None:
        compared = self.done.parcels.get(COMPARE)
        return None if compared is None else Comparison.model_validate(compared.data)

    def _text(self, name: str, text: str) -> None:
        with replacing(self.folder.path(name)) as sink:
            sink.write(text.encode())

    def _parquet(self, table: pl.DataFrame, *parts: str) -> None:
        with replacing(self.folder.path(*parts)) as sink:
            table.write_parquet(sink)

    def _seconds(self) -> dict[str, float]:
        return {name: round(seconds, 6) for name, seconds in self.done.seconds.items()}

    # -------------------------------------------------------------------------- values

    def _values(self, scores: Scores, targets: Targets) -> dict[str, list[MeasureValue]]:
        """Return every system's means with interval, target and bands."""
        intervals = self._intervals(scores)
        found: dict[str, list[MeasureValue]] = {}
        for name in scores.runs:
            run = scores.run(name)
            found[name] = []
            for measure, asked in scores.asked.items():
                value = run.means[measure]
                target = _target(targets, measure, asked)
                higher = Measure.parse(measure).definition.higher_is_better
                found[name].append(
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
        return found

    def _intervals(self, scores: Scores) -> dict[tuple[str, str], Interval]:
        """Return the intervals of all means: those of the comparison, or of a lone system."""
        comparison = self._comparison()
        if comparison is not None:
            return {(mean.run, mean.measure): mean.interval for mean in comparison.means}
        matrix = Matrix.of_scores(scores, only_means=True)
        if not matrix.scales:
            return {}
        measures, systems, queries = matrix.shape
        rows = matrix.values.reshape(measures * systems, queries)
        owners = [(system, scale.name) for scale in matrix.scales for system in matrix.systems]
        intervals = row_intervals(
            rows,
            matrix.row_scales(),
            self.benchmark.settings,
            proportions=matrix.proportions,
        )
        return dict(zip(owners, intervals, strict=True))

    # ------------------------------------------------------------------------- systems

    def _system(
        self, name: str, experiment: str, scores: Scores, values: list[MeasureValue]
    ) -> tuple[SystemRecord, EvaluationReport]:
        fetched = self.done.parcels[f"fetch {name}"]
        run = run_of(fetched)
        path = self.folder.path("runs", f"{name}.run.gz")
        if len(run):
            run.write(path, format="trec")
        else:
            self._text(f"runs/{name}.run.gz", "")
        root = self.folder.folder
        info = RunInfo(
            system=name,
            run_id=run.fingerprint(),
            file=file_ref(path, root),
            queries=len(run.query_ids),
            rows=len(run),
            depth=self.benchmark.loaded.config.depth,
            failures=self.benchmark.loaded.secrets.hide(fetched.data["failures"]),
            identity=fetched.data["identity"],
        )
        timing = TimingRecord.model_validate(fetched.data["timings"])
        accounting = scores.run(name).accounting
        own = self._run_findings(name)
        report = EvaluationReport(
            experiment=experiment,
            created=now(),
            run=info,
            collection=self.benchmark.collection.info,
            profile=scores.profile.name,
            rules=scores.rules,
            measures=values,
            accounting=accounting,
            diagnostics=Diagnostics(
                versions=versions(*_ENGINES),
                seconds={
                    stage: seconds
                    for stage, seconds in self._seconds().items()
                    if stage in (f"fetch {name}", f"check {name}")
                },
                timing=timing,
                findings=own,
                notes=self.benchmark.loaded.secrets.hide(fetched.data["notes"]),
            ),
            per_query=file_ref(self.folder.path("per_query", f"{name}.parquet"), root),
        )
        record = SystemRecord(
            name=name,
            kind=self.benchmark.kind(name),
            spec=self.benchmark.loaded.plain()["systems"][name],
            of=list(self.benchmark.parents(name)),
            report=f"EvaluationReport.{name}.json",
            run=info,
            measures=values,
            accounting=accounting,
            timing=timing,
            per_query=report.per_query,
            results=file_ref(self.folder.path("results", f"{name}.parquet"), root),
        )
        return record, report

    def _tables(self, scores: Scores) -> None:
        """Write queries, judgments, values by query and the top of each answer."""
        collection = self.benchmark.collection
        queries = collection.queries
        self._parquet(
            pl.DataFrame(
                {
                    "query_id": [one.query_id for one in queries],
                    "text": [one.text for one in queries],
                    "metadata": [
                        json.dumps(dict(one.metadata), ensure_ascii=False, default=str)
                        for one in queries
                    ],
                },
                schema=dict.fromkeys(("query_id", "text", "metadata"), pl.String),
            ),
            "queries.parquet",
        )
        titles = _Titles(collection.title_of)
        judged = collection.qrels.to_polars()
        self._parquet(judged.with_columns(titles.of(judged["doc_id"])), "qrels.parquet")
        grades = self.benchmark.judgments.pairs.select(
            "query_id", "doc_id", pl.col("grade").cast(pl.Float64)
        )
        values = scores.per_query
        for name in scores.runs:
            own = values.filter(pl.col("run") == name).drop("run")
            self._parquet(own, "per_query", f"{name}.parquet")
            ranked = run_of(self.done.parcels[f"fetch {name}"]).trec_columns()
            top = ranked.select("query_id", "rank", "doc_id", "score").filter(pl.col("rank") <= TOP)
            top = top.with_columns(titles.of(top["doc_id"]))
            top = top.join(grades, on=["query_id", "doc_id"], how="left", maintain_order="left")
            ordered = top.select("query_id", "rank", "doc_id", "title", "score", "grade")
            self._parquet(ordered, "results", f"{name}.parquet")

    # ------------------------------------------------------------------------ findings

    def _run_findings(self, name: str) -> list[Finding]:
        findings = [
            Finding.model_validate({**finding, "system": name})
            for finding in self.done.parcels[f"check {name}"].data["findings"]
        ]
        failures = self.done.parcels[f"fetch {name}"].data["failures"]
        if failures:
            first, why = next(iter(failures.items()))
            failed = QUERIES_FAILED.finding(
                f"{counted(len(failures), 'query')} could not be answered: {why}",
                count=len(failures),
                evidence={"first": first},
                system=name,
            )
            hidden = self.benchmark.loaded.secrets.hide(failed.to_dict())
            findings.insert(0, Finding.model_validate(hidden))
        return findings

    def _findings(self) -> list[Finding]:
        findings = list(self.benchmark.collection.findings)
        for name in self.benchmark.specs:
            findings += self._run_findings(name)
        for stage in (SEGMENTS, STAGES):
            if stage in self.done.parcels:
                found = self.done.parcels[stage].data.get("findings", [])
                findings += [Finding.model_validate(finding) for finding in found]
        findings += [CONFIG_NOTE.finding(text) for text in self.benchmark.loaded.notes]
        return worst_first(findings)

    def _manifest(self, report: BenchmarkReport) -> ExperimentManifest:
        loaded = self.benchmark.loaded
        identities = {one.name: one.run.identity for one in report.systems}
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
                RunRef(system=one.name, run_id=one.run.run_id, path=one.run.file.path)
                for one in report.systems
            ],
            versions=versions(*_ENGINES),
            models={name: found for name, own in identities.items() if (found := _models(own))},
            snapshots={name: own["snapshot"] for name, own in identities.items()},
            git=git_state(loaded.folder),
            seed=loaded.config.statistics.seed,
            machine=machine(),
            seconds=self._seconds(),
            artifacts=self.folder.files(),
        )


_KPI_FIELDS = {"measure", "asked", "value", "target", "status", "bands"}


class _Titles:
    """Titles of documents, each looked up once."""

    def __init__(self, title_of: Any) -> None:
        self._title_of = title_of
        self._known: dict[str, str | None] = {}

    def of(self, doc_ids: pl.Series) -> pl.Series:
        for doc_id in doc_ids.unique().to_list():
            if doc_id not in self._known:
                self._known[doc_id] = self._title_of(doc_id)
        return pl.Series("title", [self._known[one] for one in doc_ids.to_list()], dtype=pl.String)


def _target(targets: Targets, measure: str, asked: str) -> float | None:
    """Return the target of a measure, by its own name or as the profile's users call it."""
    found = targets.target_of(measure)
    return targets.target_of(asked) if found is None else found


def _measure_infos(scores: Scores, targets: Targets) -> list[MeasureInfo]:
    found = []
    for measure, asked in scores.asked.items():
        definition = Measure.parse(measure).definition
        means = {name: scores.run(name).means[measure] for name in scores.runs}
        best = max(means.values()) if definition.higher_is_better else min(means.values())
        low, high = definition.range
        found.append(
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
    return found


def _models(identity: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what an identity says of models: embedders and rerankers."""
    parameters = identity.get("parameters", {})
    parts = (parameters.get(name) for name in ("embedder", "reranker"))
    return [dict(part) for part in parts if isinstance(part, Mapping)]
