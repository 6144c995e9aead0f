"""What experiments a folder holds, newest first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.folders import MANIFEST, REPORT, experiment_folders
from rankscope.benchmark.verify import open_experiment
from rankscope.errors import InputError, RankscopeError


@dataclass(frozen=True, slots=True)
class Listed:
    """One experiment in short; ``problem`` says why it cannot be read, where it cannot."""

    folder: str
    experiment: str = ""
    finished: str = ""
    collection: str = ""
    queries: int = 0
    systems: tuple[str, ...] = ()
    measure: str = ""
    best: str = ""
    value: float | None = None
    verdict: str = ""
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "systems": list(self.systems)}


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
        manifest, report = open_experiment(folder)
    except (RankscopeError, OSError) as error:
        return Listed(str(folder), problem=str(error))
    if not report.measures:
        return Listed(str(folder), problem=f"{folder / REPORT}: holds no measure")
    main = report.measures[0]
    best = main.best[0] if main.best else ""
    value = next(
        (system.measures[0].value for system in report.systems if system.name == best), None
    )
    split = f" ({report.collection.split})" if report.collection.split else ""
    return Listed(
        folder=str(folder),
        experiment=report.experiment,
        finished=manifest.finished,
        collection=f"{report.collection.name}{split}",
        queries=report.collection.queries,
        systems=tuple(system.name for system in report.systems),
        measure=main.measure,
        best=", ".join(main.best),
        value=value,
        verdict=report.verdict[0] if report.verdict else "",
    )
