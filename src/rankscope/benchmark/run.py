"""Run a benchmark: config → collection → systems → fetch → check → score → … → folder.

`run_benchmark` takes all steps; `fetch_runs` ends with the checks and writes run files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankscope.benchmark.check import broken_by, check_all, reference_of
from rankscope.benchmark.collection import refuse_languages
from rankscope.benchmark.config.loading import LoadedConfig, loaded_config
from rankscope.benchmark.diagnose import diagnose
from rankscope.benchmark.environment import now
from rankscope.benchmark.fetching import cache_folder, fetch_all
from rankscope.benchmark.folder import MANIFEST, REPORT, file_ref, inside, unfinished
from rankscope.benchmark.outcome import Outcome, findings_of
from rankscope.benchmark.prepare import prepared
from rankscope.benchmark.score import compare, score
from rankscope.benchmark.steps import Steps, Watcher
from rankscope.benchmark.systems import Systems
from rankscope.benchmark.write import write_experiment
from rankscope.document.terminal import as_text
from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PathLike, folder_to_write
from rankscope.findings import Finding
from rankscope.records.experiment_files import TIMINGS
from rankscope.records.origin import Timings
from rankscope.records.report import BenchmarkReport, ExperimentManifest, ExperimentTimings
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.protocol import models_of
from rankscope.runs.table import Run
from rankscope.tables.writing import write_trec_or_jsonl

__all__ = ["run_benchmark"]


@dataclass(frozen=True, slots=True, eq=False)
class Result(Shown):
    """A finished experiment: where it is, and its report.

    ``reused``: it was there already, whole, for the same config, data and versions.
    """

    folder: Path
    report: BenchmarkReport
    reused: bool

    def __repr__(self) -> str:
        return f"{as_text(document_of(self.report)).rstrip()}\n\nwritten to {self.folder}"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def run_benchmark(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    fresh: bool = False,
    python: bool = True,
    watcher: Watcher | None = None,
) -> Result:
    """Make, check, score and compare the runs of a config, and write the experiment.

    ``settings`` are changes such as ``"depth=50"``. Answers are read from ``cache`` (a folder in
    ``output``, if none is named); with ``fresh`` nothing is, and what is made replaces what is
    there. An experiment that is in ``output`` already, complete and with every query answered, is
    returned as it is, unless ``fresh``. A config is code, as it may name Python functions; without
    ``python``, one that does is refused before anything is imported. Cases in several languages
    are for `run_languages`.

    Raises:
        InputError: the config, the collection or a system cannot be used.
    """
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "run_languages makes an experiment of each")
    place, started = folder_to_write(output, "output"), now()
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache, fresh=fresh, keep=loaded.config.fetch.cache) as folder,
        prepared(loaded, folder, python=python) as (known, attempts),
    ):
        name, systems = known.experiment, attempts[0]
        finished = None if fresh else _finished(place / name)
        if finished is not None:
            return Result(place / name, finished, reused=True)
        steps = Steps(watcher)
        benchmark = replace(known, collection=known.collection.counted())
        fetched = fetch_all(benchmark, attempts, list(systems), folder, steps)
        runs = {name: [answer.run for answer in answers] for name, answers in fetched.items()}
        first = {name: each[0] for name, each in runs.items()}
        checks = check_all(reference_of(benchmark), first, steps)
        broken = broken_by(checks, fetched)
        sound = {name: each for name, each in runs.items() if name not in broken}
        with steps.step("score"):
            scores = score(benchmark, sound)
        with steps.step("compare"):
            comparison = compare(benchmark, scores)
        answers = diagnose(benchmark, systems, fetched, scores, steps)
        findings = {
            name: findings_of(name, each[0], checks[name].findings, scores)
            for name, each in fetched.items()
        }
        outcome = Outcome(
            benchmark, fetched, broken, findings, scores, comparison, answers, steps.seconds
        )
        models = {name: _models(systems, name) for name in systems}
        with unfinished(place, name) as folder_to_fill:
            report = write_experiment(outcome, folder_to_fill, models=models, started=started)
        return Result(place / name, report, reused=False)


def _models(systems: Systems, name: str) -> list[dict[str, Any]]:
    """Describe a system's models, also what they know of the corpus.

    A system whose answers were all cached has not been given the corpus yet.
    """
    return models_of(systems.indexed(name)) if models_of(systems[name]) else []


def _finished(folder: Path) -> BenchmarkReport | None:
    """Return the report of an experiment that is complete and would be the same again."""
    try:
        manifest = ExperimentManifest.read(folder / MANIFEST)
        timings = ExperimentTimings.read(folder / TIMINGS)
        for artifact in (*manifest.artifacts, *timings.pages):
            if file_ref(inside(folder, artifact.path), folder) != artifact:
                return None
        report = BenchmarkReport.read(folder / REPORT)
    except (InputError, OSError):
        return None
    runs = [run for system in report.systems for run in (system.run, *system.again)]
    is_whole = not any(run.failures or any(part.unanswered for part in run.usage) for run in runs)
    return report if is_whole else None


# --- runs alone ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FetchedRun:
    """A run that was made: the file, what the checks say, and what failed."""

    system: str
    path: Path
    run: Run
    findings: tuple[Finding, ...]
    failures: Mapping[str, str]
    timings: Timings

    @property
    def ok(self) -> bool:
        """Whether every query was answered and no check found an error."""
        return not self.failures and all(finding.severity != "error" for finding in self.findings)


def fetch_runs(
    config: PathLike | LoadedConfig,
    *,
    systems: Sequence[str] = (),
    output: PathLike = "runs",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    python: bool = True,
    watcher: Watcher | None = None,
    written: Callable[[FetchedRun], None] | None = None,
) -> list[FetchedRun]:
    """Make the run files of a config's systems, checked, each as soon as it is done.

    ``systems`` names some of them (all, if none is named); ``written`` is told of each file. The
    other options are those of `run_benchmark`.
    """
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "take them together (collection.languages=together)")
    place, steps = make_folder(folder_to_write(output, "output")), Steps(watcher)
    made: list[FetchedRun] = []
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache, keep=loaded.config.fetch.cache) as folder,
        prepared(loaded, folder, python=python) as (benchmark, attempts),
    ):
        for name in systems:
            if name not in benchmark.systems:
                raise UnknownNameError("system", name, benchmark.systems)
        reference = reference_of(benchmark)
        for name in dict.fromkeys(systems or benchmark.systems):
            (fetched,) = fetch_all(benchmark, attempts[:1], [name], folder, steps)[name]
            run, path = fetched.run, place / f"{name}.run.gz"
            if not len(run) and fetched.failures:
                first = next(iter(fetched.failures.values()))
                raise InputError(f"system {name} could not answer any query: {first}")
            if not len(run):
                raise InputError(
                    f"system {name} found no document for any query; nothing was written"
                )
            findings = check_all(reference, {name: run}, steps)[name].findings
            write_trec_or_jsonl(run, path)
            made.append(FetchedRun(name, path, run, findings, fetched.failures, fetched.timings))
            if written is not None:
                written(made[-1])
    return made
