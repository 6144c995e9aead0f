"""Verify: is an experiment what its manifest says, and do its scores follow from its runs?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rankscope.benchmark.config.loading import config_hash
from rankscope.benchmark.folders import MANIFEST, REPORT, file_ref
from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import InputError, RankscopeError, shown
from rankscope.records import (
    BenchmarkReport,
    EvaluationReport,
    ExperimentManifest,
    FileRef,
    SystemRecord,
)
from rankscope.runs.table import Run, read_run
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.inputs import as_judgments

__all__ = ["Checked", "Verification", "inside", "open_experiment", "verify"]

EXACT = 1e-12
"""Values that differ by more are not the same."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One thing that was looked at, and what is wrong with it ('' if nothing)."""

    what: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """All that was looked at."""

    experiment: str
    folder: str
    checks: tuple[Checked, ...]

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return not any(one.problem for one in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "experiment": self.experiment,
            "folder": self.folder,
            "ok": self.ok,
            "checks": [asdict(one) for one in self.checks],
        }


def open_experiment(folder: Path) -> tuple[ExperimentManifest, BenchmarkReport]:
    """Read an experiment's manifest and report."""
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: is no experiment, as it holds no {MANIFEST}; name a folder that "
            "'rankscope benchmark run' wrote"
        )
    return ExperimentManifest.read(folder / MANIFEST), BenchmarkReport.read(folder / REPORT)


def inside(folder: Path, name: str) -> Path:
    """Return where a file of an experiment is; one that leads out of the folder is refused."""
    path = folder / name
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (ValueError, RuntimeError):  # a NUL, or links in a circle
        is_inside = False
    if not is_inside:
        raise InputError(f"{folder}: the file {shown(name)} lies outside the experiment")
    return path


def verify(folder: Path) -> Verification:
    """Compute every hash and score of an experiment again."""
    manifest, report = open_experiment(folder)
    checks = [*_files(folder, manifest), *_contents(folder, manifest, report)]
    return Verification(manifest.experiment, str(folder), tuple(checks))


def _files(folder: Path, manifest: ExperimentManifest) -> Iterator[Checked]:
    for one in manifest.artifacts:
        yield Checked(one.path, _file_problem(folder, one))
    listed = {one.path for one in manifest.artifacts} | {MANIFEST}
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in sorted(set(found) - listed):
        yield Checked(name, "is not in the manifest: it was added later")
    yield Checked("config", _config_problem(manifest))


def _config_problem(manifest: ExperimentManifest) -> str:
    try:
        same = config_hash(manifest.config) == manifest.config_sha256
    except ValueError:  # infinite numbers and broken text, which are never written
        same = False
    return "" if same else "its hash differs from the one recorded: the manifest was changed"


def _file_problem(folder: Path, recorded: FileRef) -> str:
    try:
        path = inside(folder, recorded.path)
        found = file_ref(path, folder)
    except FileNotFoundError:
        return "is missing"
    except (OSError, RankscopeError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return "" if found == recorded else "was changed: its hash differs from the one recorded"


def _contents(
    folder: Path, manifest: ExperimentManifest, report: BenchmarkReport
) -> Iterator[Checked]:
    """Score the runs against the judgments again."""
    if report.experiment != manifest.experiment:
        yield Checked(REPORT, f"belongs to the experiment {shown(report.experiment)}")
    yield Checked(MANIFEST, _manifest_problem(manifest, report))
    try:
        qrels = read_qrels(inside(folder, "qrels.parquet"))
        asked = set(pl.read_parquet(inside(folder, report.queries.path))["query_id"].to_list())
    except (RankscopeError, OSError, pl.exceptions.PolarsError) as error:
        yield Checked("qrels.parquet", f"cannot be read ({error}); no score can be computed")
        return
    same = as_judgments(qrels).fingerprint == manifest.collection.qrels_sha256
    yield Checked("judgments", "" if same else "are not those that the manifest names")
    for system in report.systems:
        try:
            problem = _run_problem(folder, report, system, qrels, asked)
        except (RankscopeError, OSError, pl.exceptions.PolarsError, KeyError) as error:
            problem = f"cannot be computed again ({error})"
        yield Checked(f"scores of {system.name}", problem)


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
            [(one.system, one.run_id, one.path) for one in manifest.runs],
            [(one.name, one.run.run_id, one.run.file.path) for one in report.systems],
        ),
        "snapshots": (
            manifest.snapshots,
            {one.name: one.run.identity.get("snapshot") for one in report.systems},
        ),
    }
    apart = [name for name, (one, other) in pairs.items() if one != other]
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
    whole: dict[str, dict[str, float]] = {**run.to_dict(), **{one: {} for one in empty}}
    measures = [one.asked for one in report.measures]
    scores = evaluate(qrels, {system.name: Run(whole)}, measures, profile=report.profile)
    own = EvaluationReport.read(inside(folder, system.report))
    if own.measures != system.measures:
        return f"{system.report} and {REPORT} give different values"
    if own.run != system.run or own.accounting != system.accounting:
        return f"{system.report} and {REPORT} describe different runs"
    for recorded in system.measures:
        value = scores.run(system.name).means[recorded.measure]
        if not abs(value - recorded.value) <= EXACT * max(1.0, abs(value)):
            return f"{recorded.measure} is {value!r}, and {recorded.value!r} is recorded"
    repeated = _repeated_problem(report, system)
    if repeated:
        return repeated
    kept = pl.read_parquet(inside(folder, system.per_query.path))
    made = scores.per_query.drop("run")
    joined = made.join(kept, on=["query_id", "measure"], how="full", suffix="_kept")
    apart = (pl.col("value") - pl.col("value_kept")).abs() > EXACT
    differing = joined.filter(apart | pl.col("value").is_null() | pl.col("value_kept").is_null())
    if len(differing):
        return f"{len(differing):,} values by query differ from those recorded"
    return _results_problem(folder, report, system, run, qrels)


def _repeated_problem(report: BenchmarkReport, system: SystemRecord) -> str:
    """Say where the report repeats a mean of a system, and does so wrongly."""
    means = {one.measure: one.value for one in system.measures}
    for kpi in report.kpis:
        if kpi.system == system.name and kpi.value != means.get(kpi.measure):
            return f"{REPORT} has another {kpi.measure} among its targets"
    compared = report.comparison
    if compared is None or compared.queries != system.accounting.queries:
        return ""  # where runs lack queries, it is over those that all have
    for one in compared.means:
        value = means.get(one.measure)
        if one.run == system.name and not (
            value is not None and abs(value - one.mean) <= EXACT * max(1.0, abs(value))
        ):
            return f"{REPORT} has another {one.measure} in its comparison"
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
    made = top.join(grades, on=["query_id", "doc_id"], how="left").select(columns)
    kept = pl.read_parquet(inside(folder, system.results.path)).select(columns)
    order = ["query_id", "rank"]
    same = kept.schema == made.schema and kept.sort(order).equals(made.sort(order))
    return "" if same else f"{system.results.path} is not the top of the run"
