"""Run a benchmark: from a config file to an experiment folder, or to run files alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.artifacts import Parcel, Store
from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config import LoadedConfig, read_config
from rankscope.benchmark.environment import now
from rankscope.benchmark.experiment import experiment_id, write_experiment
from rankscope.benchmark.folders import MANIFEST, REPORT, file_ref, unfinished
from rankscope.benchmark.plan import Plan, Watcher
from rankscope.benchmark.targets import load_targets
from rankscope.benchmark.verify import inside
from rankscope.benchmark.workflow import Benchmark, make_plan, run_of
from rankscope.errors import InputError, RankscopeError, UnknownNameError
from rankscope.files import PathLike
from rankscope.findings import Finding
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.retrieval.cache import make_folder, sweep
from rankscope.runs.table import Run

__all__ = ["FetchedRun", "Result", "fetch_runs", "plan_benchmark", "run_benchmark"]

CACHE = ".cache"
"""In the output folder: indexes, embeddings, answers and stages."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A finished experiment: where it is, and its report.

    ``reused``: it was there already, whole, for the same config, data and versions.
    """

    folder: Path
    report: BenchmarkReport
    reused: bool


def _loaded(config: PathLike | LoadedConfig, settings: Sequence[str]) -> LoadedConfig:
    if isinstance(config, LoadedConfig):
        return config
    return read_config(config, settings=settings)


@contextmanager
def _no_secrets(loaded: LoadedConfig) -> Iterator[None]:
    """Take secrets out of what an error says."""
    try:
        yield
    except RankscopeError as error:
        hidden = loaded.secrets.hide(str(error))
        if hidden == str(error):
            raise
        raise InputError(hidden) from None


def _prepared(
    loaded: LoadedConfig, output: Path, cache: PathLike | None
) -> tuple[Benchmark, Store]:
    load_targets(loaded.config.targets, loaded.config.bands, loaded.folder)  # refused early
    folder = make_folder(output / CACHE if cache is None else Path(cache))
    sweep(folder)
    benchmark = Benchmark.of(loaded, load_collection(loaded), cache=folder)
    return benchmark, Store(folder)


def plan_benchmark(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
) -> Plan:
    """Plan a benchmark without running it."""
    loaded = _loaded(config, settings)
    with _no_secrets(loaded):
        return make_plan(*_prepared(loaded, Path(output), cache))


def run_benchmark(
    config: PathLike | LoadedConfig,
    *,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> Result:
    """Make, check, score and compare the runs of a config, and write the experiment.

    ``settings`` are changes such as ``"depth=50"``. Finished stages are taken from ``cache`` (a
    folder in ``output``, if none is named); with ``fresh`` nothing is. An experiment that is in
    ``output`` already, whole and with every query answered, is returned as it is.

    Raises:
        InputError: the config, the collection or a system cannot be used.
    """
    _check_jobs(jobs)
    started = now()
    place = Path(output)
    if fresh and cache is None:
        shutil.rmtree(place / CACHE, ignore_errors=True)
    loaded = _loaded(config, settings)
    with _no_secrets(loaded):
        benchmark, store = _prepared(loaded, place, cache)
        name = experiment_id(benchmark)
        there = None if fresh else _finished(place / name)
        if there is not None:
            return Result(place / name, there, reused=True)
        plan = make_plan(benchmark, store, apart=jobs > 1)
        done = plan.execute(watcher, jobs=jobs)
        with unfinished(place, name) as folder:
            report = write_experiment(benchmark, done, folder, started=started)
        return Result(place / name, report, reused=False)


def _check_jobs(jobs: object) -> None:
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise InputError(f"jobs must be a whole number from 1 up, not {jobs!r}")


def _finished(folder: Path) -> BenchmarkReport | None:
    """Return the report of an experiment that is whole and has no failed query."""
    try:
        manifest = ExperimentManifest.read(folder / MANIFEST)
        if any(file_ref(inside(folder, one.path), folder) != one for one in manifest.artifacts):
            return None
        report = BenchmarkReport.read(folder / REPORT)
    except (InputError, OSError):
        return None
    return None if any(one.run.failures for one in report.systems) else report


@dataclass(frozen=True, slots=True, eq=False)
class FetchedRun:
    """A run that was made: the file, what the checks say, and what failed."""

    system: str
    path: Path
    run: Run
    findings: tuple[Finding, ...]
    failures: Mapping[str, str]
    timings: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Whether every query was answered and no check found an error."""
        return not self.failures and all(one.severity != "error" for one in self.findings)


def fetch_runs(
    config: PathLike | LoadedConfig,
    *,
    systems: Sequence[str] = (),
    output: PathLike = "runs",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    jobs: int = 1,
    watcher: Watcher | None = None,
    written: Callable[[FetchedRun], None] | None = None,
) -> list[FetchedRun]:
    """Make the run files of a config's systems, checked, one as soon as it is done.

    ``systems`` names some of them (all, if none is named); ``written`` is told of each file.
    """
    _check_jobs(jobs)
    loaded = _loaded(config, settings)
    with _no_secrets(loaded):
        benchmark, store = _prepared(loaded, make_folder(Path(output)), cache)
        fetching = _Fetching(benchmark, store, Path(output), jobs, watcher, written)
        return fetching.fetch(list(dict.fromkeys(systems)) or list(benchmark.specs))


@dataclass(frozen=True, slots=True, eq=False)
class _Fetching:
    """Makes run files, one after the other, or all at once where several jobs are allowed."""

    benchmark: Benchmark
    store: Store
    place: Path
    jobs: int
    watcher: Watcher | None
    written: Callable[[FetchedRun], None] | None

    def fetch(self, names: list[str]) -> list[FetchedRun]:
        for name in names:
            if name not in self.benchmark.specs:
                raise UnknownNameError("system", name, self.benchmark.specs)
        groups = [names] if self.jobs > 1 else [[name] for name in names]
        return [one for group in groups for one in self._group(group)]

    def _group(self, names: list[str]) -> list[FetchedRun]:
        plan = make_plan(self.benchmark, self.store, only=names, apart=self.jobs > 1)
        parcels = plan.execute(self.watcher, jobs=self.jobs).parcels
        return [self._write(name, parcels) for name in names]

    def _write(self, name: str, parcels: Mapping[str, Parcel]) -> FetchedRun:
        fetched, checked = parcels[f"fetch {name}"], parcels[f"check {name}"]
        run, path = run_of(fetched), self.place / f"{name}.run.gz"
        if not len(run):
            raise InputError(_nothing(name, fetched.data["failures"]))
        run.write(path, format="trec")
        made = FetchedRun(
            system=name,
            path=path,
            run=run,
            findings=tuple(map(Finding.model_validate, checked.data["findings"])),
            failures=self.benchmark.loaded.secrets.hide(fetched.data["failures"]),
            timings=fetched.data["timings"],
        )
        if self.written is not None:
            self.written(made)
        return made


def _nothing(name: str, failures: Mapping[str, str]) -> str:
    if failures:
        first = next(iter(failures.values()))
        return f"system {name} could not answer any query: {first}"
    return f"system {name} found no document for any query; nothing was written"
