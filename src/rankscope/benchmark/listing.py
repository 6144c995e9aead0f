"""What experiments a folder holds, newest first."""

from __future__ import annotations

from pathlib import Path

from rankscope.benchmark.folder import MANIFEST, REPORT, experiment_folders
from rankscope.benchmark.verify import digest_of, open_experiment
from rankscope.errors import InputError
from rankscope.part import Part


class Listed(Part):
    """One experiment in short."""

    folder: str
    """Where it is."""
    experiment: str = ""
    """Its id."""
    digest: str = ""
    """The SHA-256 of its manifest, which holds those of all other files."""
    finished: str = ""
    """When, in UTC (ISO 8601)."""
    collection: str = ""
    """What was searched, and which split."""
    queries: int = 0
    """How many queries were asked."""
    systems: tuple[str, ...] = ()
    """The systems."""
    measure: str = ""
    """The main measure."""
    best: str = ""
    """The systems with the best mean of it."""
    value: float | None = None
    """That mean; null if there is none."""
    verdict: str = ""
    """The first sentence of the verdict."""
    problem: str = ""
    """Why it cannot be read; '' if it can."""


def list_experiments(output: Path) -> list[Listed]:
    """Describe the experiments of a folder, the one finished last first."""
    if not output.is_dir():
        raise InputError(f"{output}: is not a folder; name one that 'benchmark run' wrote to")
    if (output / MANIFEST).is_file():
        return [_listed(output)]
    experiments = [_listed(folder) for folder in experiment_folders(output)]
    return sorted(experiments, key=lambda listed: (listed.finished, listed.folder), reverse=True)


def _listed(folder: Path) -> Listed:
    try:
        return _described(folder)
    except Exception as error:  # one folder, whatever it holds, must not hide the others
        return Listed(folder=str(folder), problem=" ".join(str(error).split()))


def _described(folder: Path) -> Listed:
    _, report = open_experiment(folder)
    if not report.measures:
        return Listed(folder=str(folder), problem=f"{folder / REPORT}: contains no measure")
    main = report.measures[0]
    best = main.best[0] if main.best else ""
    values = (
        value.value for system in report.systems if system.name == best for value in system.measures
    )
    split = f" ({report.collection.split})" if report.collection.split else ""
    return Listed(
        folder=str(folder),
        experiment=report.experiment,
        digest=digest_of(folder),
        finished=report.created,
        collection=f"{report.collection.name}{split}",
        queries=report.collection.queries,
        systems=tuple(system.name for system in report.systems),
        measure=main.measure,
        best=", ".join(main.best),
        value=next(values, None),
        verdict=report.verdict[0] if report.verdict else "",
    )
