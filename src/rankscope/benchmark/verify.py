"""Verify: is an experiment what its manifest says, and do its scores follow from its runs?

Every file is hashed. Then the runs in the folder are scored and compared again, and tables, means,
tests, verdict and pages are held against what is recorded. What only the systems know, such as
their answers, cannot be checked: for that, the manifest has a digest to be kept elsewhere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import polars as pl

import rankscope
from rankscope.benchmark.collection import Collection, hash_of_queries
from rankscope.benchmark.config.loading import LoadedConfig, config_hash
from rankscope.benchmark.config.model import Config
from rankscope.benchmark.config.secrets import Secrets
from rankscope.benchmark.config.sections import read_section
from rankscope.benchmark.folder import (
    LANGUAGE_REPORT,
    MANIFEST,
    REPORT,
    file_ref,
    inside,
    read_table,
    report_file,
    run_file,
)
from rankscope.benchmark.outcome import Outcome, reports_of
from rankscope.benchmark.prepare import Benchmark
from rankscope.benchmark.score import compare, score
from rankscope.benchmark.systems import described
from rankscope.benchmark.targets import Targets
from rankscope.benchmark.write import pages, tables
from rankscope.collection.qrels import Qrels
from rankscope.document.views import Shown
from rankscope.errors import InputError, RankscopeError, counted, shown
from rankscope.files import read_bytes
from rankscope.ontology.terms import Ontology, read_ontology
from rankscope.part import FileRef, Part, Record, dotted
from rankscope.records.experiment_files import ANNOTATIONS, ONTOLOGY, QRELS, QUERIES, TIMINGS
from rankscope.records.origin import EngineFacts, ModelUsage
from rankscope.records.report import (
    NO_TIME,
    BenchmarkReport,
    EvaluationReport,
    ExperimentManifest,
    ExperimentTimings,
    RunInfo,
)
from rankscope.reports.explorer.packing import without_compression
from rankscope.retrieval.fetch import Fetched
from rankscope.retrieval.protocol import Query
from rankscope.runs.table import Run, read_run
from rankscope.scoring.judgments import Judgments
from rankscope.tables.jsontext import parse_json

EXACT = 1e-12
"""Values by query that differ by a larger share are not the same."""

CLOSE = 1e-9
"""Likewise means and what follows from them: other machines add in another order."""


class Checked(Part):
    """One thing that was looked at."""

    what: str
    """What it is: a file, or what it should agree with."""
    problem: str = ""
    """What is wrong with it; '' if nothing."""

    @classmethod
    def of(cls, what: str, holds: bool, problem: str) -> Self:
        """Return that something holds, or else what is wrong with it."""
        return cls(what=what, problem="" if holds else problem)


class Verification(Part, Shown):
    """All that was looked at."""

    experiment: str
    """The experiment's id."""
    folder: str
    """Where it is."""
    digest: str
    """The SHA-256 of its manifest, which holds those of all other files."""
    ok: bool
    """Whether everything holds that could be looked at."""
    checks: tuple[Checked, ...]
    """Everything that was looked at."""


def open_experiment(folder: Path) -> tuple[ExperimentManifest, BenchmarkReport]:
    """Read an experiment's manifest and report."""
    if not (folder / MANIFEST).is_file() and (folder / LANGUAGE_REPORT).is_file():
        raise InputError(
            f"{folder}: this is the table of several languages; name the folder of one of them, "
            "which are beside it"
        )
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: not an experiment, {MANIFEST} is missing; name a folder that "
            "'rankscope benchmark run' wrote"
        )
    return ExperimentManifest.read(folder / MANIFEST), BenchmarkReport.read(folder / REPORT)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of an experiment's manifest."""
    return hashlib.sha256(read_bytes(folder / MANIFEST)).hexdigest()


def verify(folder: Path, *, digest: str = "") -> Verification:
    """Compute every hash, every score and the verdict again.

    ``digest`` is the SHA-256 of the manifest, or its beginning.

    Raises:
        InputError: this is no experiment, or another version of rankscope made it.
    """
    manifest, report = open_experiment(folder)
    version = manifest.versions.get("rankscope")
    if version != rankscope.__version__:
        raise InputError(
            f"{folder}: rankscope {shown(version)} made this experiment, and this is "
            f"{rankscope.__version__}, which may compute something differently; verify it with the "
            "version that made it"
        )
    current = digest_of(folder)
    checks = [*_files(folder, manifest)]
    if digest:
        problem = f"has the digest {current}, and {digest} was expected"
        checks.append(Checked.of(MANIFEST, current.startswith(digest.lower()), problem))
    try:
        checks += _scores(folder, manifest, report)
    except Exception as error:  # the folder may hold anything
        sentence = " ".join(str(error).split())
        problem = f"cannot be computed again ({sentence})"
        checks.append(Checked(what="scores and verdict", problem=problem))
    checks += _pages(folder, manifest, report)
    return Verification(
        experiment=manifest.experiment,
        folder=str(folder),
        digest=current,
        ok=not any(check.problem for check in checks),
        checks=tuple(checks),
    )


# --- files ---------------------------------------------------------------------------------------


def _files(folder: Path, manifest: ExperimentManifest) -> Iterator[Checked]:
    artifacts = [*manifest.artifacts]
    if (folder / TIMINGS).is_file():
        artifacts += ExperimentTimings.read(folder / TIMINGS).pages
    else:
        yield Checked(what=TIMINGS, problem="is missing")
    for artifact in artifacts:
        yield Checked(what=artifact.path, problem=_file_problem(folder, artifact))
    listed = {artifact.path for artifact in artifacts} | {MANIFEST, TIMINGS}
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names - listed):
        yield Checked(what=name, problem="is not in the manifest: it was added later")
    try:
        same = config_hash(manifest.config) == manifest.config_sha256
    except ValueError:  # infinite numbers and broken text, which are never written
        same = False
    problem = "its hash differs from the one recorded: the manifest was changed"
    yield Checked.of("config", same, problem)


def _file_problem(folder: Path, recorded: FileRef) -> str:
    try:
        current = file_ref(inside(folder, recorded.path), folder)
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError, RankscopeError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return "" if current == recorded else "was changed: its hash differs from the one recorded"


def _pages(
    folder: Path, manifest: ExperimentManifest, report: BenchmarkReport
) -> Iterator[Checked]:
    """Draw the pages again."""
    try:
        drawn = pages(report, manifest, folder)
    except Exception:  # a record may have the right form and fit together nowhere
        yield Checked(what=f"{REPORT}, its pages", problem="cannot be drawn from what it says")
        return
    for name, text in drawn.items():
        try:
            there = read_bytes(inside(folder, name)).decode("utf-8", "replace")
            same = there == text or without_compression(there) == without_compression(text)
            problem = "" if same else f"does not show what {REPORT} says"
        except (OSError, RankscopeError) as error:
            problem = f"cannot be read ({error})"
        yield Checked(what=f"{name}, its content", problem=problem)


# --- scores --------------------------------------------------------------------------------------


def _scores(
    folder: Path, manifest: ExperimentManifest, report: BenchmarkReport
) -> Iterator[Checked]:
    """Score the recorded runs again, and hold everything that follows against what is recorded.

    What a run's checks and the analyses say is taken as it is: both may rest on the corpus.
    """
    benchmark = _benchmark(folder, manifest, report)
    names = [system.name for system in report.systems]
    evaluations = {name: EvaluationReport.read(inside(folder, report_file(name))) for name in names}
    notes = {name: evaluations[name].diagnostics.notes for name in names}
    fetched = {
        system.name: [
            _fetched(folder, benchmark, info, notes[system.name], time)
            for time, info in enumerate([system.run, *system.again], start=1)
        ]
        for system in report.systems
    }
    for system in report.systems:
        run_ids = [info.run_id for info in (system.run, *system.again)]
        same = [answer.run.fingerprint() for answer in fetched[system.name]] == run_ids
        yield Checked.of(f"run of {system.name}", same, "is not the one that was scored")
    broken = {system.name: system.broken for system in report.systems if system.broken is not None}
    sound = {name: [answer.run for answer in fetched[name]] for name in names if name not in broken}
    scores = score(benchmark, sound)
    findings = {name: evaluations[name].diagnostics.findings for name in names}
    answers = {name: answer for name, answer in report.analyses if answer is not None}
    comparison = compare(benchmark, scores)
    outcome = Outcome(benchmark, fetched, broken, findings, scores, comparison, answers, {})
    for name, table in tables(outcome):
        problem = _table_problem(folder, manifest, name, table)
        yield Checked(what=f"{name}, its content", problem=problem)
    files = {artifact.path: artifact for artifact in manifest.artifacts}
    missing = FileRef(path="", sha256="", bytes=0)
    again, evaluated = reports_of(outcome, lambda name: files.get(name, missing), created="")
    was, now = _plain(report), _plain(again) | {"findings": _plain(report)["findings"]}
    for field in was:
        problem = _difference(was[field], now.get(field), (field,))
        yield Checked(what=f"{REPORT}: {field}", problem=problem)
    for name, evaluation in evaluations.items():
        problem = _difference(_plain(evaluation), _plain(evaluated[name]))
        yield Checked(what=f"{report_file(name)}, its content", problem=problem)
    problem = f"is {manifest.experiment}, and {benchmark.experiment} follows from what is recorded"
    same = manifest.experiment == benchmark.experiment
    yield Checked.of("id of the experiment", same, problem)


def _benchmark(folder: Path, manifest: ExperimentManifest, report: BenchmarkReport) -> Benchmark:
    """Put a benchmark together of the config, the questions and the judgments in the folder."""
    config, info = read_section(Config, manifest.config), report.collection
    rows = read_table(folder, QUERIES, manifest).select("query_id", "text", "metadata").iter_rows()
    queries = [(name, text, _metadata(metadata)) for name, text, metadata in rows]
    qrels = Qrels(read_table(folder, QRELS, manifest))
    mixed = config.collection.languages == "together"
    if mixed:
        spoken = {name: metadata.get("language") for name, _, metadata in queries}
        qrels = qrels.with_languages({name: str(code) for name, code in spoken.items() if code})
    judgments = Judgments(qrels, remember=True, no_answer=info.no_answer)
    judgments.may_mix_languages = mixed
    judgments.ontology = _ontology(folder, report)
    asked = tuple(Query(*query) for query in queries)
    update = {"qrels_sha256": judgments.fingerprint, "queries_sha256": hash_of_queries(asked)}
    collection = Collection(None, asked, judgments, None, info.model_copy(update=update), ())
    return Benchmark(
        LoadedConfig(config, folder, manifest.overrides, Secrets()),
        collection,
        described(config.systems),
        manifest.keys,
        manifest.versions,
        Targets.from_plain(manifest.targets),
    )


def _metadata(text: str) -> dict[str, Any]:
    data = parse_json(text, source=QUERIES)
    if not isinstance(data, dict):
        raise InputError(f"{QUERIES}: expected objects in the column metadata")
    return data


def _ontology(folder: Path, report: BenchmarkReport) -> Ontology | None:
    """Read the ontology again, as far as scores rest on it."""
    info = report.collection.ontology
    if info is None:
        return None
    annotations = inside(folder, ANNOTATIONS) if (folder / ANNOTATIONS).exists() else None
    return replace(
        read_ontology(inside(folder, ONTOLOGY), annotations=annotations),
        **{name: value for name, value in info if name != "terms"},
    )


def _fetched(
    folder: Path, benchmark: Benchmark, info: RunInfo, notes: Sequence[str], time: int
) -> Fetched:
    """Read a run, with the queries that were answered by no document, which a file cannot hold."""
    run = read_run(inside(folder, run_file(info.system, time))) if info.rows else Run()
    asked = [query.query_id for query in benchmark.collection.queries]
    run = run.answers([name for name in asked if name not in info.failures]).named(info.system)
    run = run if info.collapsed is None else run.collapsed_from(info.collapsed)
    facts: tuple[EngineFacts | ModelUsage, ...] = (*info.engines, *info.usage)
    return Fetched(run, dict(info.failures), NO_TIME, info.identity, tuple(notes), facts)


# --- what differs --------------------------------------------------------------------------------

_OUTSIDE = ("title", "text")
"""Columns that say what documents are called and say, which only the corpus knows."""


def _table_problem(
    folder: Path, manifest: ExperimentManifest, name: str, table: pl.DataFrame
) -> str:
    """Say in which columns a table is not what follows from the runs; '' if in none."""
    try:
        recorded = read_table(folder, name, manifest)
    except (RankscopeError, OSError) as error:
        return f"cannot be read ({error})"
    if recorded.columns != table.columns:
        return f"has the columns {', '.join(recorded.columns)}"
    if len(recorded) != len(table):
        return f"has {counted(len(recorded), 'row')}, and {len(table):,} follow from the runs"
    columns = [column for column in table.columns if column not in _OUTSIDE]
    apart = [column for column in columns if not _same_column(recorded[column], table[column])]
    return f"is not what follows from the runs: {', '.join(apart)}" if apart else ""


def _same_column(recorded: pl.Series, again: pl.Series) -> bool:
    """Tell whether two columns hold the same; numbers, up to the order of additions."""
    if recorded.dtype != again.dtype:
        return False
    if not recorded.dtype.is_float():
        return recorded.equals(again, null_equal=True)
    if not (recorded.is_null() == again.is_null()).all():
        return False
    return not ((recorded - again).abs() > EXACT * (1 + again.abs())).any()


def _plain(record: Record) -> Any:
    return parse_json(record.to_json(), source="")


def _difference(recorded: Any, again: Any, keys: tuple[str | int, ...] = ()) -> str:
    """Say where plain data first differs; '' if nowhere."""
    if isinstance(recorded, dict) and isinstance(again, dict) and recorded.keys() == again.keys():
        places: Iterable[str | int] = recorded
    elif isinstance(recorded, list) and isinstance(again, list) and len(recorded) == len(again):
        places = range(len(again))
    elif _same(recorded, again):
        return ""
    else:
        was, now = (shown(str(value), 60) for value in (recorded, again))
        return f"{dotted(keys)} is {was}, and {now} follows from the runs"
    problems = (_difference(recorded[key], again[key], (*keys, key)) for key in places)
    return next(filter(None, problems), "")


def _same(recorded: Any, again: Any) -> bool:
    numbers = {type(recorded), type(again)} <= {int, float}
    if numbers:
        return math.isclose(recorded, again, rel_tol=CLOSE, abs_tol=CLOSE * CLOSE)
    return type(recorded) is type(again) and bool(recorded == again)
