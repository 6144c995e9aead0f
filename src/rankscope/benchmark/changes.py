"""What changed between two experiments: each system they share, query by query.

They are comparable under the gate's rules: the same judgments, queries, profile and rules. p-values
are corrected (Holm) over all systems and measures together. How far a system moves by itself, where
an experiment asked it more than once, is no change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankscope.benchmark.folder import REPORT, file_ref, inside
from rankscope.benchmark.verify import open_experiment
from rankscope.diagnosis.repeats import repeats
from rankscope.document.views import Shown
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError, shown
from rankscope.measures.language import Measure, parse_measures
from rankscope.measures.registry import aggregate
from rankscope.part import Part
from rankscope.records.manifest import ExperimentManifest
from rankscope.records.report import BenchmarkReport, SystemRecord
from rankscope.scoring.score_files import recorded_scores
from rankscope.scoring.scored_runs import RunScores
from rankscope.statistics.intervals import Interval
from rankscope.statistics.noise import RunNoise
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.settings import Settings
from rankscope.statistics.sides import paired
from rankscope.statistics.system_pairs import Verdict
from rankscope.statistics.tests import corrected
from rankscope.tables.frames import recorded_frame

if TYPE_CHECKING:
    from rankscope.scoring.scored_runs import Scores
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.noise import Noises

SAME_MEAN = 1e-9
"""Means that differ by more, or by more than this share, are not the same."""


class SystemChange(Part):
    """One system's measure, before and after."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    before: float
    """Its mean in the first experiment."""
    after: float
    """Its mean in the second."""
    difference: float
    """Mean of after minus before, query by query."""
    interval: Interval
    """Of the difference."""
    p: float
    """Of the test, before correction."""
    p_corrected: float
    """Corrected over all systems and measures."""
    higher_is_better: bool
    """Whether more is better."""
    verdict: Verdict
    """better, worse, or can't tell."""


class ExperimentComparison(Part, Shown):
    """What changed from one experiment to another."""

    before: str
    """The first experiment's id."""
    after: str
    """The second experiment's id."""
    queries: int
    """Queries compared; the most, where systems differ in that."""
    correction: Literal["holm"] = "holm"
    """How p-values are corrected over all systems and measures."""
    differs: tuple[str, ...]
    """What is different about the experiments themselves: config, corpus, versions."""
    only_before: tuple[str, ...]
    """Systems of the first experiment only."""
    only_after: tuple[str, ...]
    """Systems of the second experiment only."""
    changes: tuple[SystemChange, ...]
    """By system and measure."""


def compare_experiments(
    before: Path,
    after: Path,
    *,
    systems: Sequence[str] = (),
    measures: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 0,
) -> ExperimentComparison:
    """Compare the systems that two experiments share, or those that are named.

    Raises:
        InputError: "not comparable", and why.
    """
    (old_manifest, old), (new_manifest, new) = _opened(before), _opened(after)
    names = [
        [system.name for system in report.systems if system.broken is None] for report in (old, new)
    ]
    shared = [name for name in names[0] if name in names[1]]
    for name in systems:
        if name not in shared:
            raise UnknownNameError("system of both experiments", name, shared)
    if not shared:
        raise InputError(
            f"not comparable: {before} scored {', '.join(names[0]) or 'no system'}, {after} scored "
            f"{', '.join(names[1]) or 'no system'}, and none in common"
        )
    settings = Settings.of(family="all", resamples=resamples, seed=seed)
    sides = _recorded(before, old), _recorded(after, new)
    asked = parse_measures(list(measures) or _shared_measures(old, new))
    chosen = list(systems) or shared
    matrices = {name: paired(sides, asked, (name, name)) for name in chosen}
    size = sum(len(matrix.scales) for matrix in matrices.values())
    tested = {
        name: Differences.of(
            matrix, [(0, 1)], settings, family=size, noises=_noises(name, matrix, (old, new))
        )
        for name, matrix in matrices.items()
    }
    p_values = [p for rows in tested.values() for p in rows.p.tolist()]
    adjusted = corrected(p_values, settings.correction).tolist()
    left, changes = iter(adjusted), []
    for name, matrix in matrices.items():
        rows = tested[name]
        p_of_rows = [next(left) for _ in matrix.scales]
        intervals = rows.intervals(p_of_rows, settings.alpha)
        for row, (scale, p_corrected) in enumerate(zip(matrix.scales, p_of_rows, strict=True)):
            difference = float(rows.mean[row])
            changes.append(
                SystemChange(
                    system=name,
                    measure=scale.name,
                    before=matrix.mean(row, 0),
                    after=matrix.mean(row, 1),
                    difference=difference,
                    interval=intervals[row],
                    p=float(rows.p[row]),
                    p_corrected=p_corrected,
                    higher_is_better=scale.higher_is_better,
                    verdict=scale.verdict(difference, p_corrected, settings.alpha),
                )
            )
    return ExperimentComparison(
        before=old.experiment,
        after=new.experiment,
        queries=max(len(matrix.query_ids) for matrix in matrices.values()),
        differs=(*_what_differs(old_manifest, new_manifest), *_broken(old, new)),
        only_before=tuple(name for name in names[0] if name not in names[1]),
        only_after=tuple(name for name in names[1] if name not in names[0]),
        changes=tuple(changes),
    )


def _noises(name: str, matrix: Matrix, reports: Sequence[BenchmarkReport]) -> Noises:
    """Return how far a system moves by itself, where an experiment asked it more than once."""
    noises: dict[tuple[int, int], list[tuple[RunNoise, float]]] = {}
    for report in reports:
        again = repeats.of(report.analyses)
        rows = () if again is None else again.systems
        measures = [measure for row in rows if row.system == name for measure in row.measures]
        for place, scale in enumerate(matrix.scales):
            for measure in measures:
                if measure.measure == scale.name and measure.deviation > 0:
                    noise = RunNoise(run_means=measure.means, deviation=measure.deviation)
                    noises.setdefault((place, 0), []).append((noise, 1.0))
    return noises


def _opened(folder: Path) -> tuple[ExperimentManifest, BenchmarkReport]:
    """Read an experiment whose report is the one that its manifest lists, byte for byte."""
    manifest, report = open_experiment(folder)
    if file_ref(folder / REPORT, folder) not in manifest.artifacts:
        raise InputError(
            f"{folder}: {REPORT} was changed after it was recorded: its SHA-256 differs from the "
            "manifest's; run the benchmark again"
        )
    return manifest, report


def _shared_measures(old: BenchmarkReport, new: BenchmarkReport) -> list[str]:
    """Return the measures of both that are means."""
    known = {info.measure for info in new.measures}
    shared = [info.measure for info in old.measures if info.measure in known]
    averaged = [name for name in shared if Measure.parse(name).definition.aggregate == "mean"]
    if not averaged:
        raise InputError("not comparable: the experiments have no averaged measure in common")
    return averaged


def _recorded(folder: Path, report: BenchmarkReport) -> Scores:
    """Return the values by query of all systems."""
    return recorded_scores(
        [read_values(system, folder) for system in report.systems if system.accounting is not None],
        {info.measure: info.asked for info in report.measures},
        report.profile,
        report.rules,
        fingerprint=report.collection.qrels_sha256,
        source=str(folder),
    )


def read_values(system: SystemRecord, folder: Path) -> RunScores:
    """Read a system's values by query from a Parquet file: query_id, measure, value.

    The file must be the one that the report lists, byte for byte, and give the means in it.
    """
    name = shown(Path(system.per_query.path).name)
    means = {value.measure: value.value for value in system.measures}
    try:
        path = inside(folder, system.per_query.path)
        frame = recorded_frame(path, system.per_query.sha256, source=str(folder))
        long = frame.select("query_id", "measure", "value")
        wide = long.pivot(on="measure", index="query_id", values="value", maintain_order=True)
        query_ids = tuple(wide["query_id"].cast(pl.String))
        rows = [wide[mean].cast(pl.Float64).fill_null(math.nan).to_numpy() for mean in means]
    except (RankscopeError, OSError, pl.exceptions.PolarsError) as error:
        text = error.strerror if isinstance(error, OSError) else getattr(error, "problem", "")
        reason = (text or str(error)).partition("\n")[0]
        problem = f"its values by query cannot be read from {name} ({reason})"
        raise FormatError(problem, source=str(folder)) from None
    for (measure, mean), row in zip(means.items(), rows, strict=True):
        averaged = aggregate(Measure.parse(measure), row[~np.isnan(row)])
        if not math.isclose(mean, averaged, rel_tol=SAME_MEAN, abs_tol=SAME_MEAN):
            raise FormatError(
                f"{name}: the recorded mean of {measure} is {mean:.6g}, but its values "
                f"by query give {averaged:.6g}: the file was changed; run the benchmark again",
                source=str(folder),
            )
    assert system.accounting is not None
    counts = system.accounting.model_dump()
    return RunScores(system.name, query_ids, np.array(rows), means, counts)


def _broken(old: BenchmarkReport, new: BenchmarkReport) -> list[str]:
    """Name systems that could be scored in one experiment only."""
    changes = []
    for scored, broken, when in ((old, new, "after"), (new, old, "before")):
        names = {system.name for system in scored.systems if system.broken is None}
        changes += [
            f"{system.name} (broken {when}: {system.broken})"
            for system in broken.systems
            if system.broken is not None and system.name in names
        ]
    return changes


def _what_differs(old: ExperimentManifest, new: ExperimentManifest) -> list[str]:
    """Say what is different about two experiments themselves."""
    before, after = old.config, new.config
    changed = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
    packages = dict.fromkeys([*old.versions, *new.versions])
    versions = [(name, old.versions.get(name), new.versions.get(name)) for name in packages]
    differs = {
        "the corpus": old.collection.corpus_sha256 != new.collection.corpus_sha256,
        "the queries' texts or metadata": old.collection.queries_sha256
        != new.collection.queries_sha256,
        f"{', '.join(changed)} in the config": bool(changed),
        **{f"{name} ({then}, then {now})": then != now for name, then, now in versions},
    }
    return [what for what, is_different in differs.items() if is_different]
