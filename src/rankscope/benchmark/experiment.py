"""The experiment: what all stages made, written as records, tables and a page to read."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

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
from rankscope.findings import Finding
from rankscope.measures.language import Measure
from rankscope.records import (
    AccountingRecord,
    BenchmarkReport,
    ComparisonRecord,
    Diagnostics,
    EvaluationReport,
    ExperimentManifest,
    FindingRecord,
    IntervalRecord,
    Kpi,
    MeasureInfo,
    MeasureValue,
    RunInfo,
    RunRef,
    Segment,
    StageRow,
    SystemRecord,
    TimingRecord,
    status_of,
)
from rankscope.reports.benchmark import benchmark_as_markdown
from rankscope.retrieval.protocol import fingerprint, models_of
from rankscope.scoring.evaluate import Scores
from rankscope.statistics.intervals import mean_intervals

__all__ = ["TOP", "experiment_id", "write_experiment"]

TOP = 10
"""So many results of each answer are kept with titles and grades."""

_SEVERITIES = {"error": 0, "warning": 1, "note": 2}


def experiment_id(benchmark: Benchmark) -> str:
    """Return the id: the config's name, and a hash of config, data, systems and versions.

    How many queries are asked at a time decides nothing, and may differ between machines.
    """
    identities = {name: benchmark.systems[name].identity().key for name in benchmark.specs}
    data = benchmark.collection.info.model_dump()
    config = {name: said for name, said in benchmark.loaded.plain().items() if name != "fetch"}
    targets = load_targets(config["targets"], config["bands"], benchmark.loaded.folder)
    key = fingerprint(config, data, identities, versions(*benchmark.packages()), asdict(targets))
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
        compared = self.done.parcels.get(COMPARE)
        segments = self.done.parcels.get(SEGMENTS)
        stages = self.done.parcels.get(STAGES)
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
            comparison=None if compared is None else ComparisonRecord.model_validate(compared.data),
            kpis=[
                Kpi(system=name, **one.model_dump(include=_KPI_FIELDS))
                for name, own in values.items()
                for one in own
            ],
            segments=[
                Segment.model_validate(one)
                for one in (segments.data["segments"] if segments else [])
            ],
            stages=[
                StageRow.model_validate(one) for one in (stages.data["stages"] if stages else [])
            ],
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

    def _intervals(self, scores: Scores) -> dict[tuple[str, str], IntervalRecord]:
        """Return the intervals of all means: those of the comparison, or of a lone system."""
        compared = self.done.parcels.get(COMPARE)
        if compared is not None:
            return {
                (one["run"], one["measure"]): IntervalRecord.model_validate(one["interval"])
                for one in compared.data["means"]
            }
        settings = self.benchmark.settings
        rows, bounds, names = [], [], []
        for name in scores.runs:
            for measure, row in zip(
                scores.measures, scores.run(name).complete().values, strict=True
            ):
                definition = Measure.parse(measure).definition
                if definition.aggregate == "mean":
                    rows.append(row)
                    bounds.append(definition.range)
                    names.append((name, measure))
        if not rows:
            return {}
        method = "bca" if settings.interval == "wilson" else settings.interval
        found = mean_intervals(
            np.array(rows),
            method=method,
            level=settings.level,
            bounds=bounds,
            **settings.resampling,
        )
        return {
            owner: IntervalRecord.model_validate(one.to_dict())
            for owner, one in zip(names, found, strict=True)
        }

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
        accounting = AccountingRecord.model_validate(scores.run(name).accounting.to_dict())
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
                versions=versions(*self.benchmark.packages()),
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

    def _run_findings(self, name: str) -> list[FindingRecord]:
        found = [
            FindingRecord.model_validate({**one, "system": name})
            for one in self.done.parcels[f"check {name}"].data["findings"]
        ]
        failures = self.done.parcels[f"fetch {name}"].data["failures"]
        if failures:
            first, why = next(iter(failures.items()))
            finding = Finding(
                code="RS704",
                name="queries-failed",
                severity="error",
                message=f"{counted(len(failures), 'query')} could not be answered: {why}",
                advice="they are not in the run, and count as the profile says of queries a run "
                "lacks (0, if it says nothing); run the benchmark again, and only they are asked",
                count=len(failures),
                unit="query",
                evidence={"first": first},
            )
            hidden = self.benchmark.loaded.secrets.hide(finding.to_dict())
            found.insert(0, FindingRecord.model_validate({**hidden, "system": name}))
        return found

    def _findings(self) -> list[FindingRecord]:
        found = [
            FindingRecord.model_validate(one.to_dict())
            for one in self.benchmark.collection.findings
        ]
        for name in self.benchmark.specs:
            found += self._run_findings(name)
        for stage in (COMPARE, SEGMENTS, STAGES):
            parcel = self.done.parcels.get(stage)
            if parcel is not None:
                found += [
                    FindingRecord.model_validate(one) for one in parcel.data.get("findings", [])
                ]
        found += [_note(text) for text in self.benchmark.loaded.notes]
        return sorted(found, key=lambda one: (_SEVERITIES[one.severity], one.code))

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
            versions=versions(*self.benchmark.packages()),
            models={
                name: models
                for name in self.benchmark.specs
                if (models := loaded.secrets.hide(models_of(self.benchmark.systems[name])))
            },
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
                low=low if math.isfinite(low) else None,
                high=high if math.isfinite(high) else None,
                target=_target(targets, measure, asked),
                best=[name for name, mean in means.items() if mean == best],
            )
        )
    return found


def _note(text: str) -> FindingRecord:
    return FindingRecord(
        code="RS705",
        name="config-note",
        severity="note",
        message=text,
        advice="nothing has to be done",
        unit="case",
    )
