"""Run a benchmark: from a config file to an experiment folder, or to run files alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankscope.benchmark.artifacts import Store
from rankscope.benchmark.basis import Benchmark, versions
from rankscope.benchmark.collection import Collection, load_collection
from rankscope.benchmark.config.loading import LoadedConfig, read_config
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
from rankscope.benchmark.systems import Systems, described
from rankscope.benchmark.targets import load_targets
from rankscope.benchmark.workflow import Workflow, make_workflow
from rankscope.diagnosis.registry import all_analyses
from rankscope.document.terminal import as_text
from rankscope.document.views import Tracked, document_of
from rankscope.entries import make_folder
from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PARTS, PathLike, folder_to_write, size_in_bytes
from rankscope.findings import Finding
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.retrieval.kept_entries import CACHE, prune
from rankscope.retrieval.protocol import models_of
from rankscope.retrieval.registry import PythonUse
from rankscope.retrieval.stages.stage import Memory
from rankscope.runs.origin import Timings
from rankscope.runs.table import Run
from rankscope.tables.metadata import read_metadata
from rankscope.tables.writing import write_trec
from rankscope.temporary import below, move, new_folder, remove, sweep, unlock

__all__ = ["run_benchmark", "run_languages"]

CACHE_LIMIT = "RANKSCOPE_CACHE_LIMIT"
"""The variable that holds the most that a cache may keep, such as 5GB."""

UNKNOWN = "unknown until the corpus is read"
"""The state of a stage that may or may not be there."""

_FRESH = ".fresh-"


@dataclass(frozen=True, slots=True, eq=False)
class Result(Tracked):
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


def _loaded(config: PathLike | LoadedConfig, settings: Sequence[str]) -> LoadedConfig:
    if isinstance(config, LoadedConfig):
        return config
    return read_config(config, settings=settings)


def _cache_place(output: Path, cache: PathLike | None) -> Path:
    return output / CACHE if cache is None else folder_to_write(cache, "cache")


@contextmanager
def _cache_folder(
    output: Path, cache: PathLike | None, limit: str | None, *, fresh: bool = False
) -> Iterator[Path]:
    """Yield the folder in which indexes, answers and stages are kept.

    If ``fresh``, it is an empty one: nothing is found there, and what was made in it goes to the
    real one afterwards, also when the benchmark was stopped. If there is a ``limit``, what was not
    used for the longest time is then removed.
    """
    setting, size = ("cache_limit", limit) if limit else (CACHE_LIMIT, os.environ.get(CACHE_LIMIT))
    most = size_in_bytes(size, setting) if size else None
    folder = make_folder(_cache_place(output, cache))
    sweep([*below(folder, PARTS), *below(folder, f"{_FRESH}*")])
    try:
        if fresh:
            with _emptied(folder) as empty:
                yield empty
        else:
            yield folder
    finally:
        if most is not None:
            prune(folder, max_bytes=most)


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """Yield an empty folder whose files go to another one afterwards."""
    empty, handle = new_folder(folder, _FRESH)
    try:
        try:
            yield empty
        finally:
            _move_files(empty, folder)
    finally:
        remove(empty)
        unlock(handle)


def _move_files(source: Path, target: Path) -> None:
    """Move files in the order in which they were written; each replaces its predecessor."""
    files = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".part"]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        place = target / path.relative_to(source)
        make_folder(place.parent)
        move(os.replace, path, place)


@contextmanager
def _prepared(
    loaded: LoadedConfig, cache: Path, python: PythonUse, *, may_read: bool = True
) -> Iterator[tuple[Benchmark, Systems]]:
    """Yield a benchmark and its systems, which are closed afterwards."""
    config = loaded.config
    targets = load_targets(config.targets, config.bands, loaded.folder, measured=config.measured)
    collection = load_collection(loaded, cache, may_read=may_read)
    grades = (grades.values() for grades in collection.judgments.by_query.values())
    if all(grade <= 0 or grade == 1 for group in grades for grade in group):
        loaded = replace(loaded, config=config.for_binary_grades())
    loaded = replace(loaded, config=loaded.config.for_cases(_grouping(collection)))
    config = loaded.config
    queries = [(query.query_id, query.text, query.metadata) for query in collection.queries]
    for analysis in all_analyses():
        if analysis.check is not None and analysis.name in config.analyses:
            analysis.check(config.analyses[analysis.name], queries)
    systems = Systems(
        loaded.systems(),
        collection,
        folder=loaded.folder,
        cache=cache,
        memory=Memory(),
        python=python,
    )
    with closing(systems):
        if not any(systems[name].trained for name in systems):
            info = collection.info.model_copy(update={"training": None})
            collection = replace(collection, info=info)
        benchmark = Benchmark(
            loaded,
            collection,
            described(loaded.systems()),
            systems.identities(),
            versions(*systems.packages()),
            targets,
        )
        yield benchmark, systems


def _grouping(collection: Collection) -> set[str]:
    """Return the fields of the questions that have more than one value."""
    values: dict[str, set[str]] = {}
    for query in collection.queries:
        for name, value in query.metadata.items():
            values.setdefault(name, set()).add(str(value))
    return {name for name, known in values.items() if len(known) > 1}


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
    loaded = _loaded(config, settings)
    codes = languages_to_run(loaded)
    if codes:
        return [
            replace(state, stage=f"{code}: {state.stage}")
            for code in codes
            for state in plan_benchmark(
                in_language(loaded, code), output=output, cache=cache, fresh=fresh, python=python
            )
        ]
    folder = _cache_place(folder_to_write(output, "output"), cache)
    with loaded.secrets.hidden_in_errors():
        store = Store(folder)
        use: PythonUse = "named" if python else "refused"
        with _prepared(loaded, folder, use, may_read=False) as (benchmark, systems):
            fetches = fetch_stages(benchmark, systems, folder)
            states = make_workflow(benchmark, fetches).plan(store).states()
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
    cache_limit: str | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    fresh: bool = False,
    python: bool = True,
    watcher: Watcher | None = None,
) -> Result:
    """Make, check, score and compare the runs of a config, and write the experiment.

    ``settings`` are changes such as ``"depth=50"``. Finished stages are read from ``cache`` (a
    folder in ``output``, if none is named); with ``fresh`` nothing is, and what is made replaces
    what is there. ``cache_limit``, such as "5GB", is the most that it may keep afterwards (also
    ``RANKSCOPE_CACHE_LIMIT``). An experiment that is in ``output`` already, complete and with every
    query answered, is returned as it is, unless ``fresh``. A config is code, as it may name Python
    functions; without ``python``, one that does is refused before anything is imported. Cases in
    several languages are for `run_languages`.

    Raises:
        InputError: the config, the collection or a system cannot be used.
    """
    _check_jobs(jobs)
    loaded = _loaded(config, settings)
    _refuse_languages(loaded, "run_languages makes an experiment of each")
    return _run_one(
        loaded,
        folder_to_write(output, "output"),
        cache=cache,
        cache_limit=cache_limit,
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
    loaded = _loaded(config, settings)
    codes = languages_to_run(loaded)
    if not codes:
        raise InputError("the config has no cases in several languages; use run_benchmark")
    return run_each(
        loaded,
        codes,
        place,
        lambda part: run_benchmark(part, output=place, jobs=jobs, **options),
    )


def _refuse_languages(loaded: LoadedConfig, remedy: str) -> None:
    """Refuse cases in several languages, of which one run or mean would be made."""
    codes = languages_to_run(loaded)
    if codes:
        raise InputError(
            f"the cases are in {len(codes)} languages ({', '.join(codes)}); name one of them "
            f"(collection.language={codes[0]}), or {remedy}"
        )


def _run_one(
    loaded: LoadedConfig,
    place: Path,
    *,
    cache: PathLike | None,
    cache_limit: str | None,
    jobs: int,
    fresh: bool,
    python: bool,
    watcher: Watcher | None,
) -> Result:
    """Run a config whose questions are all of one experiment."""
    started = now()
    with (
        loaded.secrets.hidden_in_errors(),
        _cache_folder(place, cache, cache_limit, fresh=fresh) as folder,
        _prepared(loaded, folder, "run" if python else "refused") as (benchmark, systems),
    ):
        name = benchmark.experiment
        finished = None if fresh else _finished(place / name)
        if finished is not None:
            return Result(place / name, finished, reused=True)
        workflow = make_workflow(benchmark, fetch_stages(benchmark, systems, folder))
        store = Store(folder)
        _check_corpus(systems, workflow, store)
        results = workflow.plan(store).execute(watcher, jobs=jobs)
        made = Experiment(benchmark, workflow, results)
        models = {name: _models(systems, name) for name in systems}
        with unfinished(place, name) as folder_to_fill:
            report = write_experiment(made, folder_to_fill, models=models, started=started)
        return Result(place / name, report, reused=False)


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
    """Return the report of an experiment that is complete and has no failed query."""
    try:
        manifest = ExperimentManifest.read(folder / MANIFEST)
        for artifact in manifest.artifacts:
            if file_ref(inside(folder, artifact.path), folder) != artifact:
                return None
        report = BenchmarkReport.read(folder / REPORT)
    except (InputError, OSError):
        return None
    return None if any(system.run.failures for system in report.systems) else report


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
    cache_limit: str | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    python: bool = True,
    watcher: Watcher | None = None,
    written: Callable[[FetchedRun], None] | None = None,
    metadata: PathLike | None = None,
) -> list[FetchedRun]:
    """Make the run files of a config's systems, checked, one as soon as it is done.

    ``systems`` names some of them (all, if none is named); ``written`` is told of each file.
    ``cache`` and ``cache_limit`` are those of `run_benchmark`; ``metadata`` is a file of
    ir_metadata, written at the top of each run.
    Without ``python``, a config that names Python code is refused.
    """
    _check_jobs(jobs)
    loaded = _loaded(config, settings)
    _refuse_languages(loaded, "take them together (collection.languages=together)")
    yaml = "" if metadata is None else read_metadata(metadata)
    place = make_folder(folder_to_write(output, "output"))
    with (
        loaded.secrets.hidden_in_errors(),
        _cache_folder(place, cache, cache_limit) as folder,
        _prepared(loaded, folder, "run" if python else "refused") as (benchmark, made),
    ):
        fetching = _Fetching(benchmark, made, folder, place, jobs, watcher, written, yaml)
        return fetching.fetch(list(dict.fromkeys(systems)) or list(made))


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
    metadata: str

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
        run = fetched.run.with_metadata(self.metadata) if self.metadata else fetched.run
        write_trec(run, path)
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
