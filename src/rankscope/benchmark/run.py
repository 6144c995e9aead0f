"""Run a benchmark: from a config file to an experiment folder, or to run files alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankscope.benchmark.approximating import exactness_stages
from rankscope.benchmark.artifacts import Store
from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.cache_folder import cache_folder, cache_place
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.environment import now
from rankscope.benchmark.experiment import Experiment, write_experiment
from rankscope.benchmark.fetching import fetch_stages
from rankscope.benchmark.folders import MANIFEST, REPORT, file_ref, inside, unfinished
from rankscope.benchmark.in_languages import (
    LanguageResults,
    in_language,
    languages_to_run,
    run_each,
)
from rankscope.benchmark.plan import Results, StageState, Watcher
from rankscope.benchmark.preparing import loaded_config, prepared, refuse_languages
from rankscope.benchmark.repeating import Attempts, repeat_stages
from rankscope.benchmark.systems import Systems
from rankscope.benchmark.workflow import Workflow, make_workflow
from rankscope.document.terminal import as_text
from rankscope.document.views import Shown, document_of
from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PathLike, folder_to_write
from rankscope.findings import Finding
from rankscope.records.manifest import ExperimentManifest
from rankscope.records.origin import Timings
from rankscope.records.report import BenchmarkReport, ExperimentTimings
from rankscope.records.table_names import TIMINGS
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.protocol import models_of
from rankscope.retrieval.registry import PythonUse
from rankscope.retrieval.stages.stage import Memory
from rankscope.runs.table import Run
from rankscope.tables.writing import write_trec_or_jsonl

__all__ = ["run_benchmark", "run_languages"]

UNKNOWN = "unknown until the corpus is read"
"""The state of a stage that may or may not be there."""


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


def plan_benchmark(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    fresh: bool = False,
    python: bool = True,
) -> list[StageState]:
    """Return the stages of a benchmark: whether there is a result already, and what each needs.

    Nothing is run, imported or written, and the corpus is not read. If it is not known from an
    earlier run, neither is what of it can be reused.
    """
    loaded = loaded_config(config, settings)
    codes = languages_to_run(loaded)
    if codes:
        return [
            replace(state, stage=f"{code}: {state.stage}")
            for code in codes
            for state in plan_benchmark(
                in_language(loaded, code), output=output, cache=cache, fresh=fresh, python=python
            )
        ]
    folder = cache_place(folder_to_write(output, "output"), cache)
    with loaded.secrets.hidden_in_errors():
        store = Store(folder)
        use: PythonUse = "named" if python else "refused"
        with (
            prepared(loaded, folder, use, may_read=False) as (benchmark, systems),
            closing(_attempts(benchmark, systems, folder, use)) as attempts,
        ):
            states = _workflow(benchmark, attempts, folder).plan(store).states()
    if fresh:
        return [replace(state, state="to do") for state in states]
    if benchmark.collection.is_known or store.is_empty():
        return states
    return [replace(state, state=UNKNOWN) for state in states]


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

    ``settings`` are changes such as ``"depth=50"``. Finished stages are read from ``cache`` (a
    folder in ``output``, if none is named); with ``fresh`` nothing is, and what is made replaces
    what is there. An experiment that is in ``output`` already, complete and with every query
    answered, is returned as it is, unless ``fresh``. ``jobs`` stages are done at a time. A config
    is code, as it may name Python functions; without ``python``, one that does is refused before
    anything is imported. Cases in several languages are for `run_languages`.

    Raises:
        InputError: the config, the collection or a system cannot be used.
    """
    _check_jobs(jobs)
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "run_languages makes an experiment of each")
    return _run_one(
        loaded,
        folder_to_write(output, "output"),
        cache=cache,
        jobs=jobs,
        fresh=fresh,
        python=python,
        watcher=watcher,
    )


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
    _check_jobs(jobs)
    place = folder_to_write(output, "output")
    loaded = loaded_config(config, settings)
    codes = languages_to_run(loaded)
    if not codes:
        raise InputError("the config has no cases in several languages; use run_benchmark")
    return run_each(
        loaded,
        codes,
        place,
        lambda part: run_benchmark(part, output=place, jobs=jobs, **options),
    )


def _run_one(
    loaded: LoadedConfig,
    place: Path,
    *,
    cache: PathLike | None,
    jobs: int,
    fresh: bool,
    python: bool,
    watcher: Watcher | None,
) -> Result:
    """Run a config whose questions are all of one experiment."""
    started = now()
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache, fresh=fresh) as folder,
        prepared(loaded, folder, "run" if python else "refused") as (benchmark, systems),
    ):
        name = benchmark.experiment
        finished = None if fresh else _finished(place / name)
        if finished is not None:
            systems.know_what_to_drop(systems)
            return Result(place / name, finished, reused=True)
        use: PythonUse = "run" if python else "refused"
        with closing(_attempts(benchmark, systems, folder, use)) as attempts:
            workflow = _workflow(benchmark, attempts, folder)
            store = Store(folder)
            _check_corpus(systems, workflow, store)
            results = workflow.plan(store).execute(watcher, jobs=jobs)
        made = Experiment(benchmark, workflow, results)
        models = {name: _models(systems, name) for name in systems}
        with unfinished(place, name) as folder_to_fill:
            report = write_experiment(made, folder_to_fill, models=models, started=started)
        systems.know_what_to_drop(systems)
        return Result(place / name, report, reused=False)


def _attempts(benchmark: Benchmark, first: Systems, cache: Path, python: PythonUse) -> Attempts:
    """Return the systems, and what makes them once more for each time they are asked again."""
    loaded = benchmark.loaded

    def make(attempt: int) -> Systems:
        return Systems(
            loaded.systems(),
            benchmark.collection,
            folder=loaded.folder,
            cache=cache,
            memory=Memory(),
            python=python,
            attempt=attempt,
            rebuild=loaded.config.repeat.rebuild,
            hide=loaded.secrets.hide,
        )

    return Attempts(first, make)


def _workflow(benchmark: Benchmark, attempts: Attempts, cache: Path) -> Workflow:
    """Return the stages of a benchmark whose systems can be asked."""
    fetches = fetch_stages(benchmark, attempts[0], cache)
    return make_workflow(
        benchmark,
        fetches,
        again=repeat_stages(benchmark, attempts, cache, fetches),
        exactness=exactness_stages(benchmark, attempts[0], fetches),
    )


def _models(systems: Systems, name: str) -> list[dict[str, Any]]:
    """Describe a system's models, also what they know of the corpus.

    A system whose answers were all kept has not been given the corpus yet.
    """
    if not models_of(systems[name]):
        return []
    return models_of(systems.indexed(name))


def _check_corpus(systems: Systems, workflow: Workflow, store: Store) -> None:
    """Give the corpus to all systems that will be asked, so that they can refuse it at once."""
    for name, stage in workflow.fetches.items():
        if not store.has(stage.key):
            systems.indexed(name)


def _check_jobs(jobs: object) -> None:
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
    jobs: int = 1,
    python: bool = True,
    watcher: Watcher | None = None,
    written: Callable[[FetchedRun], None] | None = None,
) -> list[FetchedRun]:
    """Make the run files of a config's systems, checked, one as soon as it is done.

    ``systems`` names some of them (all, if none is named); ``written`` is told of each file.
    ``cache`` is that of `run_benchmark`. Without ``python``, a config that names Python code is
    refused.
    """
    _check_jobs(jobs)
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "take them together (collection.languages=together)")
    place = make_folder(folder_to_write(output, "output"))
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache) as folder,
        prepared(loaded, folder, "run" if python else "refused") as (benchmark, made),
    ):
        fetching = _Fetching(benchmark, made, folder, place, jobs, watcher, written)
        names = list(dict.fromkeys(systems)) or list(made)
        fetched = fetching.fetch(names)
        made.know_what_to_drop(names)
        return fetched


@dataclass(frozen=True, slots=True, eq=False)
class _Fetching:
    """Makes run files, one after the other, or all at once where several jobs are allowed."""

    benchmark: Benchmark
    systems: Systems
    cache: Path
    place: Path
    jobs: int
    watcher: Watcher | None
    written: Callable[[FetchedRun], None] | None

    def fetch(self, names: list[str]) -> list[FetchedRun]:
        for name in names:
            if name not in self.systems:
                raise UnknownNameError("system", name, self.systems)
        groups = [names] if self.jobs > 1 else [[name] for name in names]
        return [fetched for group in groups for fetched in self._group(group)]

    def _group(self, names: list[str]) -> list[FetchedRun]:
        fetches = fetch_stages(self.benchmark, self.systems, self.cache, only=names)
        workflow, store = make_workflow(self.benchmark, fetches, only_runs=True), Store(self.cache)
        _check_corpus(self.systems, workflow, store)
        results = workflow.plan(store).execute(self.watcher, jobs=self.jobs)
        return [self._write(name, workflow, results) for name in names]

    def _write(self, name: str, workflow: Workflow, results: Results) -> FetchedRun:
        fetched, path = results[workflow.fetches[name]], self.place / f"{name}.run.gz"
        if not len(fetched.run):
            raise InputError(_nothing(name, fetched.failures))
        write_trec_or_jsonl(fetched.run, path)
        fetched_run = FetchedRun(
            system=name,
            path=path,
            run=fetched.run,
            findings=results[workflow.checks[name]].findings,
            failures=fetched.failures,
            timings=fetched.timings,
        )
        if self.written is not None:
            self.written(fetched_run)
        return fetched_run


def _nothing(name: str, failures: Mapping[str, str]) -> str:
    if failures:
        first = next(iter(failures.values()))
        return f"system {name} could not answer any query: {first}"
    return f"system {name} found no document for any query; nothing was written"
