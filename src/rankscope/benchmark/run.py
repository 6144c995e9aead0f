"""Run a benchmark: config → collection → systems → fetch → check → score → … → folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankscope.benchmark.by_language import (
    LanguageResults,
    compare_languages,
    in_language,
    languages_to_run,
    refuse_languages,
)
from rankscope.benchmark.cache_folder import cache_folder, cache_place
from rankscope.benchmark.check import check_all, fault_of, reference_of
from rankscope.benchmark.config.loading import LoadedConfig, loaded_config
from rankscope.benchmark.diagnose import diagnose
from rankscope.benchmark.environment import now
from rankscope.benchmark.fetching import Asking, fetch_all
from rankscope.benchmark.folder import MANIFEST, REPORT, file_ref, inside, unfinished
from rankscope.benchmark.outcome import Outcome
from rankscope.benchmark.prepare import prepared
from rankscope.benchmark.score import compare, score
from rankscope.benchmark.steps import Steps, Watcher
from rankscope.benchmark.systems import Systems
from rankscope.benchmark.write import write_experiment
from rankscope.document.terminal import as_text
from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError
from rankscope.files import PathLike, folder_to_write
from rankscope.records.experiment_files import TIMINGS
from rankscope.records.manifest import ExperimentManifest
from rankscope.records.report import BenchmarkReport, ExperimentTimings
from rankscope.retrieval.protocol import models_of

__all__ = ["run_benchmark", "run_languages"]


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


@dataclass(frozen=True, slots=True)
class Planned:
    """A system that a benchmark asks: whether its answers are cached already."""

    step: str
    state: str
    """there, or to do"""
    about: str
    """What kind of system it is, and the files of code it names."""


def plan_benchmark(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    fresh: bool = False,
    python: bool = True,
) -> list[Planned]:
    """Return which systems a benchmark would ask, and whose answers are cached already.

    Nothing is run, imported or written, and of the corpus only the hash is looked at.
    """
    loaded = loaded_config(config, settings)
    codes = languages_to_run(loaded)
    if codes:
        return [
            replace(planned, step=f"{code}: {planned.step}")
            for code in codes
            for planned in plan_benchmark(
                in_language(loaded, code), output=output, cache=cache, fresh=fresh, python=python
            )
        ]
    folder = cache_place(folder_to_write(output, "output"), cache)
    with (
        loaded.secrets.hidden_in_errors(),
        prepared(loaded, folder, "named" if python else "refused", may_read=False) as made,
    ):
        asking = Asking(*made, folder, list(made[0].systems))
        return [
            Planned(f"fetch {name}", "to do" if fresh else asking.state(name), asking.about(name))
            for name in asking.names
        ]


def run_benchmark(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    fresh: bool = False,
    python: bool = True,
    watcher: Watcher | None = None,
) -> Result:
    """Make, check, score and compare the runs of a config, and write the experiment.

    ``settings`` are changes such as ``"depth=50"``. Answers are read from ``cache`` (a folder in
    ``output``, if none is named); with ``fresh`` nothing is, and what is made replaces what is
    there. An experiment that is in ``output`` already, complete and with every query answered, is
    returned as it is, unless ``fresh``. ``jobs`` systems are asked at a time. A config is code, as
    it may name Python functions; without ``python``, one that does is refused before anything is
    imported. Cases in several languages are for `run_languages`.

    Raises:
        InputError: the config, the collection or a system cannot be used.
    """
    check_jobs(jobs)
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "run_languages makes an experiment of each")
    place, started = folder_to_write(output, "output"), now()
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache, fresh=fresh, keep=loaded.config.fetch.cache) as folder,
        prepared(loaded, folder, "run" if python else "refused") as (known, attempts),
    ):
        name, systems = known.experiment, attempts[0]
        finished = None if fresh else _finished(place / name)
        if finished is not None:
            return Result(place / name, finished, reused=True)
        steps = Steps(watcher)
        benchmark = replace(known, collection=known.collection.counted())
        asking = Asking(benchmark, attempts, folder, list(systems))
        fetched = fetch_all(asking, steps, jobs=jobs)
        runs = {name: [answer.run for answer in answers] for name, answers in fetched.items()}
        checks = check_all(
            reference_of(benchmark), {name: each[0] for name, each in runs.items()}, steps
        )
        sound = {name: each for name, each in runs.items() if fault_of(checks[name]) is None}
        with steps.step("score"):
            scores = score(benchmark, sound)
        with steps.step("compare"):
            comparison = compare(benchmark, scores)
        answers = diagnose(benchmark, systems, fetched, scores, steps)
        outcome = Outcome(benchmark, fetched, checks, scores, comparison, answers, steps.seconds)
        models = {name: _models(systems, name) for name in systems}
        with unfinished(place, name) as folder_to_fill:
            report = write_experiment(outcome, folder_to_fill, models=models, started=started)
        return Result(place / name, report, reused=False)


def run_languages(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    settings: Sequence[str] = (),
    jobs: int = 1,
    **options: Any,
) -> LanguageResults:
    """Run a config whose cases are in several languages: an experiment each, and a table of all.

    ``options`` are those of `run_benchmark`.

    Raises:
        InputError: the cases are in one language, or something cannot be used.
    """
    check_jobs(jobs)
    place = folder_to_write(output, "output")
    loaded = loaded_config(config, settings)
    codes = languages_to_run(loaded)
    if not codes:
        raise InputError("the config has no cases in several languages; use run_benchmark")
    results = {
        code: run_benchmark(in_language(loaded, code), output=place, jobs=jobs, **options)
        for code in codes
    }
    folder, report = compare_languages(loaded, place, results)
    return LanguageResults(folder, report, results)


def _models(systems: Systems, name: str) -> list[dict[str, Any]]:
    """Describe a system's models, also what they know of the corpus.

    A system whose answers were all cached has not been given the corpus yet.
    """
    return models_of(systems.indexed(name)) if models_of(systems[name]) else []


def check_jobs(jobs: object) -> None:
    """Refuse what is no number of jobs."""
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise InputError(f"jobs: expected a whole number from 1 up, got {jobs!r}")


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
