"""Run a benchmark: from a config file to an experiment folder, or to run files alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config import LoadedConfig, read_config
from rankscope.benchmark.experiment import experiment_id, write_experiment
from rankscope.benchmark.folders import MANIFEST, REPORT, file_ref, unfinished
from rankscope.benchmark.parcels import Store
from rankscope.benchmark.plan import Plan, Watcher
from rankscope.benchmark.stages import Benchmark, make_plan, run_of
from rankscope.benchmark.surroundings import now
from rankscope.benchmark.targets import load_targets
from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PathLike
from rankscope.findings import Finding, Place
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.retrieval.keeping import make_folder
from rankscope.runs.run import Run

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


def _prepared(
    config: PathLike | LoadedConfig,
    output: Path,
    cache: PathLike | None,
    settings: Sequence[str],
) -> tuple[Benchmark, Store]:
    loaded = config if isinstance(config, LoadedConfig) else read_config(config, settings=settings)
    load_targets(loaded.config.targets, loaded.config.bands, loaded.folder)  # refused early
    folder = make_folder(output / CACHE if cache is None else Path(cache))
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
    return make_plan(*_prepared(config, Path(output), cache, settings))


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
    benchmark, store = _prepared(config, place, cache, settings)
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
        if any(file_ref(folder / one.path, folder) != one for one in manifest.artifacts):
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
    place = Path(output)
    make_folder(place)
    benchmark, store = _prepared(config, place, cache, settings)
    names = list(dict.fromkeys(systems)) or list(benchmark.specs)
    for name in names:
        if name not in benchmark.specs:
            raise UnknownNameError("system", name, benchmark.specs)
    found = []
    for group in [names] if jobs > 1 else [[name] for name in names]:
        done = make_plan(benchmark, store, only=group, apart=jobs > 1).execute(watcher, jobs=jobs)
        for name in group:
            fetched, checked = done.parcels[f"fetch {name}"], done.parcels[f"check {name}"]
            run, path = run_of(fetched), place / f"{name}.run.gz"
            if not len(run):
                raise InputError(_nothing(name, fetched.data["failures"]))
            run.write(path, format="trec")
            one = FetchedRun(
                system=name,
                path=path,
                run=run,
                findings=tuple(_finding(one) for one in checked.data["findings"]),
                failures=benchmark.loaded.secrets.hide(fetched.data["failures"]),
                timings=fetched.data["timings"],
            )
            found.append(one)
            if written is not None:
                written(one)
    return found


def _nothing(name: str, failures: Mapping[str, str]) -> str:
    if failures:
        first = next(iter(failures.values()))
        return f"system {name} could not answer any query: {first}"
    return f"system {name} found no document for any query; nothing was written"


def _finding(data: Mapping[str, Any]) -> Finding:
    places = tuple(Place(**place) for place in data["places"])
    return Finding(**{**data, "places": places})
