"""A load test of a system of a config: asked for real, measured, and written into the record."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankscope.benchmark.cache_folder import cache_folder
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.plan import Silent, Watcher
from rankscope.benchmark.preparing import loaded_config, prepared, refuse_languages
from rankscope.benchmark.recorded_load import check_unchanged, experiment_of, write_load
from rankscope.benchmark.systems import naming
from rankscope.errors import InputError, UnknownNameError, counted
from rankscope.files import PathLike, folder_to_write
from rankscope.findings import Finding
from rankscope.retrieval.load.addresses import elsewhere
from rankscope.retrieval.load.arrivals import check_settings, counts
from rankscope.retrieval.load.histograms import check_histograms
from rankscope.retrieval.load.load_system import load_system
from rankscope.retrieval.protocol import System
from rankscope.runs.load_record import Arrivals, LoadFailure, LoadRecord, LoadSettings
from rankscope.runs.origin import Identity

CAREFUL_RATE = 100.0
"""Queries a second that are sent to another machine without asking whether that is meant."""


@dataclass(frozen=True, slots=True)
class LoadTested:
    """A load test: what was measured, and where it was written (None: there was no experiment).

    ``problem`` says why it could not be written into its experiment; what was measured is not lost.
    """

    record: LoadRecord
    written: Path | None
    problem: str = ""


def load_test(
    config: PathLike | LoadedConfig,
    system: str,
    *,
    rate: float,
    seconds: float = 30.0,
    warm_up: float = 5.0,
    arrivals: Arrivals = "constant",
    seed: int = 0,
    most_in_flight: int = 256,
    grace: float = 10.0,
    yes: bool = False,
    output: PathLike = "benchmarks",
    cache: PathLike | None = None,
    settings: Sequence[str] = (),
    python: bool = True,
    watcher: Watcher | None = None,
    announce: Callable[[str], None] | None = None,
) -> LoadTested:
    """Ask a system of a config at a given rate, and write what was measured into its experiment.

    The queries are those of the collection, in a random order. ``rate`` queries arrive in a second,
    whether or not earlier ones are answered, for ``warm_up`` seconds that do not count and then for
    ``seconds`` that do. Only what the config names is asked; a system on another machine is sent
    more than 100 queries a second only with ``yes``. ``announce`` is given a sentence about what
    will be sent, just before. The other options are those of `run_benchmark`.

    Raises:
        InputError: something cannot be used, or is out of bounds.
    """
    watcher = Silent() if watcher is None else watcher
    loaded = loaded_config(config, settings)
    refuse_languages(loaded, "take them together (collection.languages=together)")
    if system not in loaded.config.systems:
        raise UnknownNameError("system", system, loaded.config.systems)
    wanted = LoadSettings(
        rate=rate,
        seconds=seconds,
        warm_up=warm_up,
        arrivals=arrivals,
        seed=seed,
        most_in_flight=most_in_flight,
        grace=grace,
        depth=loaded.config.depth,
    )
    check_settings(wanted)
    check_histograms()
    place = folder_to_write(output, "output")
    stage = f"load {system}"
    with (
        loaded.secrets.hidden_in_errors(),
        cache_folder(place, cache) as folder,
        prepared(loaded, folder, "run" if python else "refused") as (benchmark, systems),
    ):
        with naming(system):
            asked = systems[system]
            _check_target(asked, wanted, is_meant=yes)
            systems.indexed(system)
        experiment = experiment_of(benchmark, place)
        if experiment is not None:
            check_unchanged(experiment)
        if announce is not None:
            announce(_budget(system, asked, wanted))
        watcher.begun(stage)
        began = time.perf_counter()
        with naming(system):
            record = load_system(
                asked,
                benchmark.collection.queries,
                wanted,
                name=system,
                timeout=loaded.config.fetch.timeout,
                progress=lambda done, total: watcher.step(stage, done, total),
                indexing=lambda done, total: watcher.step(stage, done, total, "indexing"),
            )
        watcher.ended(stage, time.perf_counter() - began, was_there=False)
        record = _without_secrets(record, benchmark.loaded)
        experiment = experiment_of(benchmark, place)
        if experiment is None or record.interrupted:
            return LoadTested(record, None)
        try:
            write_load(experiment, record)
        except (InputError, OSError) as error:
            return LoadTested(record, None, str(error))
        return LoadTested(record, experiment)


def _check_target(system: System, settings: LoadSettings, *, is_meant: bool) -> None:
    """Refuse what cannot be loaded, and what may be somebody else's."""
    if system.identity().kind == "run":
        raise InputError(
            "its answers are in a file, so there is nothing to load; name a system that searches"
        )
    places = elsewhere(system)
    if places and settings.rate > CAREFUL_RATE and not is_meant:
        raise InputError(
            f"{settings.rate:g} queries a second would go to {', '.join(places)}, which is not "
            f"this machine; repeat this with --yes if you may load it so, or stay at "
            f"{CAREFUL_RATE:g} a second"
        )


def _budget(name: str, system: System, settings: LoadSettings) -> str:
    """Say what will be sent."""
    warm_up, measured = counts(settings)
    places = elsewhere(system)
    where = f" ({', '.join(places)})" if places else ""
    first = f"{warm_up:,} of them to warm up, " if warm_up else ""
    longest = settings.warm_up + settings.seconds + settings.grace
    return (
        f"sending {counted(warm_up + measured, 'query')} to {name}{where}, {first}"
        f"{settings.rate:g} a second; this takes {settings.warm_up + settings.seconds:g} s, and "
        f"{longest:g} s at most"
    )


def _without_secrets(record: LoadRecord, loaded: LoadedConfig) -> LoadRecord:
    """Take the config's secrets out of what the system says of itself and of its failures."""
    hide = loaded.secrets.hide
    return record.model_copy(
        update={
            "identity": Identity.model_validate(hide(record.identity.to_dict())),
            "failures": tuple(
                LoadFailure.model_validate(hide(failure.to_dict())) for failure in record.failures
            ),
            "findings": tuple(
                Finding.model_validate(hide(finding.to_dict())) for finding in record.findings
            ),
        }
    )


def experiment_files(folder: Path) -> list[Path]:
    """Return the pages of an experiment that show its load tests."""
    names = ("BenchmarkReport.html", "BenchmarkComparison.md", "BenchmarkReport.json")
    return [folder / name for name in names if (folder / name).is_file()]
