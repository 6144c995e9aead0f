"""Runs alone: a config's systems are asked, and their run files written, without any scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankscope.benchmark.by_language import refuse_languages
from rankscope.benchmark.cache_folder import cache_folder
from rankscope.benchmark.check import check_all, reference_of
from rankscope.benchmark.config.loading import LoadedConfig, loaded_config
from rankscope.benchmark.fetching import Asking, fetch_all
from rankscope.benchmark.prepare import prepared
from rankscope.benchmark.run import check_jobs
from rankscope.benchmark.steps import Steps, Watcher
from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PathLike, folder_to_write
from rankscope.findings import Finding
from rankscope.records.origin import Timings
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.table import Run
from rankscope.tables.writing import write_trec_or_jsonl


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

    ``systems`` names some of them (all, if none is named); ``written`` is told of each file. The
    other options are those of `run_benchmark`; with several ``jobs``, all are written at the end.
    """
    check_jobs(jobs)
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "take them together (collection.languages=together)")
    place, steps = make_folder(folder_to_write(output, "output")), Steps(watcher)
    made: list[FetchedRun] = []
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache, keep=loaded.config.fetch.cache) as folder,
        prepared(loaded, folder, "run" if python else "refused") as (benchmark, attempts),
    ):
        names = list(dict.fromkeys(systems)) or list(benchmark.systems)
        for name in names:
            if name not in benchmark.systems:
                raise UnknownNameError("system", name, benchmark.systems)
        reference = reference_of(benchmark)
        for group in [names] if jobs > 1 else [[name] for name in names]:
            asking = Asking(benchmark, attempts[:1], folder, group)
            fetched = {name: each[0] for name, each in fetch_all(asking, steps, jobs=jobs).items()}
            checks = check_all(reference, {name: each.run for name, each in fetched.items()}, steps)
            for name in group:
                made.append(_write(name, place, fetched[name], checks[name].findings))
                if written is not None:
                    written(made[-1])
    return made


def _write(name: str, place: Path, fetched: Fetched, findings: tuple[Finding, ...]) -> FetchedRun:
    path, failures = place / f"{name}.run.gz", fetched.failures
    if failures and not len(fetched.run):
        first = next(iter(failures.values()))
        raise InputError(f"system {name} could not answer any query: {first}")
    if not len(fetched.run):
        raise InputError(f"system {name} found no document for any query; nothing was written")
    write_trec_or_jsonl(fetched.run, path)
    return FetchedRun(name, path, fetched.run, findings, failures, fetched.timings)
