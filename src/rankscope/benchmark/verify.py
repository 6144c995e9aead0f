"""Verify: is an experiment what its manifest says, and do its scores follow from its runs?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from rankscope.benchmark.config.loading import config_hash
from rankscope.benchmark.folders import MANIFEST, REPORT, file_ref
from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.document.views import Shown
from rankscope.errors import InputError, InvalidDataError, RankscopeError, shown
from rankscope.files import check_regular
from rankscope.part import FileRef, Part
from rankscope.records import BenchmarkReport, EvaluationReport, ExperimentManifest, SystemRecord
from rankscope.runs.table import Run, read_run
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.soundness import KnownCorpus
from rankscope.tables.parquet import parquet_frame

EXACT = 1e-12
"""Values that differ by more are not the same."""


class Checked(Part):
    """One thing that was looked at."""

    what: str
    """What it is: a file, or what it should agree with."""
    problem: str = ""
    """What is wrong with it; '' if nothing."""


class Verification(Part, Shown):
    """All that was looked at."""

    experiment: str
    """The experiment's id."""
    folder: str
    """Where it is."""
    ok: bool
    """Whether everything holds."""
    checks: tuple[Checked, ...]
    """Everything that was looked at."""


def open_experiment(folder: Path) -> tuple[ExperimentManifest, BenchmarkReport]:
    """Read an experiment's manifest and report."""
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: not an experiment, {MANIFEST} is missing; name a folder that "
            "'rankscope benchmark run' wrote"
        )
    return ExperimentManifest.read(folder / MANIFEST), BenchmarkReport.read(folder / REPORT)


def inside(folder: Path, name: str) -> Path:
    """Return where a file of an experiment is.

    One that leads out of the folder is refused, and what is no file, such as a pipe.
    """
    path = folder / name
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (ValueError, OSError, RuntimeError):  # a NUL, a long name, or links in a circle
        is_inside = False
    if not is_inside:
        raise InputError(f"{folder}: the file {shown(name)} is outside the experiment")
    check_regular(path)
    return path


def verify(folder: Path) -> Verification:
    """Compute every hash and score of an experiment again."""
    manifest, report = open_experiment(folder)
    checks = tuple(
        Checked(what=what, problem=problem)
        for what, problem in (*_files(folder, manifest), *_contents(folder, manifest, report))
    )
    return Verification(
        experiment=manifest.experiment,
        folder=str(folder),
        ok=not any(check.problem for check in checks),
        checks=checks,
    )


Look = tuple[str, str]
"""What was looked at, and what is wrong with it ('' if nothing)."""


def _files(folder: Path, manifest: ExperimentManifest) -> Iterator[Look]:
    for artifact in manifest.artifacts:
        yield artifact.path, _file_problem(folder, artifact)
    listed = {artifact.path for artifact in manifest.artifacts} | {MANIFEST}
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names - listed):
        yield name, "is not in the manifest: it was added later"
    yield "config", _config_problem(manifest)


def _config_problem(manifest: ExperimentManifest) -> str:
    try:
        same = config_hash(manifest.config) == manifest.config_sha256
    except ValueError:  # infinite numbers and broken text, which are never written
        same = False
    return "" if same else "its hash differs from the one recorded: the manifest was changed"


def _file_problem(folder: Path, recorded: FileRef) -> str:
    try:
        current = file_ref(inside(folder, recorded.path), folder)
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError, RankscopeError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return "" if current == recorded else "was changed: its hash differs from the one recorded"


def _contents(
    folder: Path, manifest: ExperimentManifest, report: BenchmarkReport
) -> Iterator[Look]:
    """Score the runs against the judgments again."""
    if report.experiment != manifest.experiment:
        yield REPORT, f"belongs to the experiment {shown(report.experiment)}"
    yield MANIFEST, _manifest_problem(manifest, report)
    try:
        qrels = read_qrels(inside(folder, "qrels.parquet"))
        asked = set(_table(inside(folder, report.queries.path))["query_id"].to_list())
    except Exception as error:  # the folder may hold anything, and all of it is to be looked at
        yield "qrels.parquet", f"cannot be read ({error}); no score can be computed"
        return
    same = as_judgments(qrels).fingerprint == manifest.collection.qrels_sha256
    yield "judgments", "" if same else "are not those that the manifest names"
    for system in report.systems:
        try:
            problem = _run_problem(folder, report, system, qrels, asked)
        except Exception as error:  # likewise
            problem = f"cannot be computed again ({error})"
        yield f"scores of {system.name}", problem


def _manifest_problem(manifest: ExperimentManifest, report: BenchmarkReport) -> str:
    """Say what the manifest, which no hash protects, and the report say differently."""
    statistics = manifest.config.get("statistics")
    seed = statistics.get("seed") if isinstance(statistics, dict) else None
    pairs = {
        "name": (manifest.name, report.name),
        "collection": (manifest.collection, report.collection),
        "seconds": (manifest.seconds, report.seconds),
        "seed": (manifest.seed, seed),
        "runs": (
            [(run.system, run.run_id, run.path) for run in manifest.runs],
            [(system.name, system.run.run_id, system.run.file.path) for system in report.systems],
        ),
        "snapshots": (
            manifest.snapshots,
            {system.name: system.run.identity.snapshot for system in report.systems},
        ),
    }
    apart = [name for name, (in_manifest, in_report) in pairs.items() if in_manifest != in_report]
    return f"and {REPORT} differ in {', '.join(apart)}" if apart else ""


def _run_problem(
    folder: Path, report: BenchmarkReport, system: SystemRecord, qrels: Qrels, asked: set[str]
) -> str:
    """Say what differs when one system is scored again; '' if nothing does."""
    path = inside(folder, system.run.file.path)
    run = read_run(path) if system.run.rows else Run(name=system.name)
    if run.fingerprint() != system.run.run_id:
        return "the run is not the one that was scored"
    empty = asked - set(run.query_ids) - set(system.run.failures)
    whole: dict[str, dict[str, float]] = {**run.to_dict(), **{query_id: {} for query_id in empty}}
    evaluation = EvaluationReport.read(inside(folder, system.report))
    if evaluation.measures != system.measures:
        return f"{system.report} and {REPORT} give different values"
    if evaluation.run != system.run or evaluation.accounting != system.accounting:
        return f"{system.report} and {REPORT} describe different runs"
    if system.broken is not None:
        return _broken_problem(folder, report, system, run, qrels)
    measures = [info.asked for info in report.measures]
    known = (
        None if report.collection.documents is None else KnownCorpus(report.collection.documents)
    )
    runs = {system.name: Run(whole)}
    scores = evaluate(qrels, runs, measures, profile=report.profile, corpus=known)
    for recorded in system.measures:
        value = scores.run(system.name).means[recorded.measure]
        if not abs(value - recorded.value) <= EXACT * max(1.0, abs(value)):
            return f"{recorded.measure} is {value!r}, and {recorded.value!r} is recorded"
    repeated = _repeated_problem(report, system)
    if repeated:
        return repeated
    recorded_values = _table(inside(folder, system.per_query.path))
    values = scores.per_query.drop("run")
    joined = values.join(recorded_values, on=["query_id", "measure"], how="full", suffix="_then")
    apart = (pl.col("value") - pl.col("value_then")).abs() > EXACT
    differing = joined.filter(apart | pl.col("value").is_null() | pl.col("value_then").is_null())
    if len(differing):
        return f"{len(differing):,} values by query differ from those recorded"
    return _results_problem(folder, report, system, run, qrels)


def _table(path: Path) -> pl.DataFrame:
    return parquet_frame(str(path), source=path.name)


def _broken_problem(
    folder: Path, report: BenchmarkReport, system: SystemRecord, run: Run, qrels: Qrels
) -> str:
    """Say whether a system that was not scored has values, or a run that could be scored."""
    if system.measures or len(_table(inside(folder, system.per_query.path))):
        return "it is recorded as broken, and has values"
    try:
        evaluate(qrels, {system.name: run}, report.measures[0].asked, queries="all")
    except InvalidDataError:
        return _results_problem(folder, report, system, run, qrels)
    return "it is recorded as broken, and its run can be scored"


def _repeated_problem(report: BenchmarkReport, system: SystemRecord) -> str:
    """Say where the report repeats a mean of a system, and does so wrongly."""
    means = {value.measure: value.value for value in system.measures}
    for kpi in report.kpis:
        if kpi.system == system.name and kpi.value != means.get(kpi.measure):
            return f"{REPORT} has another {kpi.measure} among its targets"
    compared = report.comparison
    accounting = system.accounting
    if compared is None or accounting is None or compared.queries != accounting.queries:
        return ""  # where runs lack queries, it is over those that all have
    for mean in compared.means:
        value = means.get(mean.measure)
        if mean.run == system.name and not (
            value is not None and abs(value - mean.mean) <= EXACT * max(1.0, abs(value))
        ):
            return f"{REPORT} has another {mean.measure} in its comparison"
    return ""


def _results_problem(
    folder: Path, report: BenchmarkReport, system: SystemRecord, run: Run, qrels: Qrels
) -> str:
    """Say whether the table of results is not the top of the run, with its grades."""
    columns = ["query_id", "rank", "doc_id", "score", "grade"]
    grades = as_judgments(qrels).pairs.select(
        "query_id", "doc_id", pl.col("grade").cast(pl.Float64)
    )
    top = run.trec_columns().filter(pl.col("rank") <= report.top)
    expected = top.join(grades, on=["query_id", "doc_id"], how="left").select(columns)
    recorded = _table(inside(folder, system.results.path)).select(columns)
    order = ["query_id", "rank"]
    same = recorded.schema == expected.schema
    same = same and recorded.sort(order).equals(expected.sort(order))
    return "" if same else f"{system.results.path} is not the top of the run"
