"""What changed between two experiments: each system they share, query by query.

They are comparable under the gate's rules: the same judgments, queries, profile and rules. p-values
are corrected (Holm) over all systems and measures together. How far a system moves by itself, where
an experiment asked it more than once, is no change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
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
from rankscope.records.report import BenchmarkReport, ExperimentManifest, SystemRecord
from rankscope.scoring.score_files import recorded_scores
from rankscope.scoring.scored_runs import RunScores
from rankscope.statistics.comparison import family_tests
from rankscope.statistics.noise import RunNoise
from rankscope.statistics.pairing import paired
from rankscope.statistics.settings import Settings
from rankscope.statistics.system_pairs import Pair
from rankscope.tables.frames import recorded_frame

if TYPE_CHECKING:
    from rankscope.scoring.scored_runs import Scores
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.noise import Noises

SAME_MEAN = 1e-9
"""Means that differ by more, or by more than this share, are not the same."""


class ExperimentComparison(Part, Shown):
    """What changed from one experiment to another."""

    before: str
    """The first experiment's id."""
    after: str
    """The second experiment's id."""
    queries: int
    """Queries compared."""
    correction: Literal["holm"] = "holm"
    """How p-values are corrected over all systems and measures."""
    differs: tuple[str, ...]
    """What is different about the experiments themselves: config, corpus, versions."""
    only_before: tuple[str, ...]
    """Systems of the first experiment only."""
    only_after: tuple[str, ...]
    """Systems of the second experiment only."""
    changes: tuple[Pair, ...]
    """By system and measure: the second experiment's system beside the first's (base)."""


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
    matrix = _side_by_side([paired(sides, asked, (name, name)) for name in chosen], chosen)
    tested = family_tests(
        matrix,
        [(2 * place, 2 * place + 1) for place in range(len(chosen))],
        settings,
        noises=_noises(chosen, matrix, (old, new)),
    )
    of_one = [np.arange(place, len(tested.rows), len(chosen)) for place in range(len(chosen))]
    return ExperimentComparison(
        before=old.experiment,
        after=new.experiment,
        queries=len(matrix.query_ids),
        differs=(*_what_differs(old_manifest, new_manifest), *_broken(old, new)),
        only_before=tuple(name for name in names[0] if name not in names[1]),
        only_after=tuple(name for name in names[1] if name not in names[0]),
        changes=tuple(pair for rows in of_one for pair in tested.make(rows)),
    )


def _side_by_side(matrices: Sequence[Matrix], names: Sequence[str]) -> Matrix:
    """Put the matrices of all systems, before and after, into one, which is tested as a family."""
    first = matrices[0]
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.query_ids != first.query_ids:
            raise InputError(
                f"not comparable together: {names[0]} and {name} have values for different "
                "queries; name one of them with --system"
            )
    values = np.concatenate([matrix.values for matrix in matrices], axis=1)
    return replace(first, systems=tuple(name for name in names for _ in range(2)), values=values)


def _noises(names: Sequence[str], matrix: Matrix, reports: Sequence[BenchmarkReport]) -> Noises:
    """Return how far systems move by themselves, where an experiment asked them more than once."""
    places = {scale.name: place for place, scale in enumerate(matrix.scales)}
    noises: dict[tuple[int, int], list[tuple[RunNoise, float]]] = {}
    for report in reports:
        again = repeats.of(report.analyses)
        for row in () if again is None else again.systems:
            for measure in row.measures if row.system in names else ():
                if measure.measure in places and measure.deviation > 0:
                    noise = RunNoise(run_means=measure.means, deviation=measure.deviation)
                    pair = places[measure.measure], names.index(row.system)
                    noises.setdefault(pair, []).append((noise, 1.0))
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
    """Read a system's values by query, which must be those that the report lists and averages."""
    file, means = system.per_query, {value.measure: value.value for value in system.measures}
    name, source = shown(Path(file.path).name), str(folder)
    try:
        frame = recorded_frame(inside(folder, file.path), file.sha256, source=source)
        long = frame.select("query_id", "measure", "value")
        wide = long.pivot(on="measure", index="query_id", values="value", maintain_order=True)
        query_ids = tuple(wide["query_id"].cast(pl.String))
        rows = [wide[mean].cast(pl.Float64).fill_null(math.nan).to_numpy() for mean in means]
    except (RankscopeError, OSError, pl.exceptions.PolarsError) as error:
        text = error.strerror if isinstance(error, OSError) else getattr(error, "problem", "")
        reason = (text or str(error)).partition("\n")[0]
        problem = f"its values by query cannot be read from {name} ({reason})"
        raise FormatError(problem, source=source) from None
    for (measure, mean), row in zip(means.items(), rows, strict=True):
        averaged = aggregate(Measure.parse(measure), row[~np.isnan(row)])
        if not math.isclose(mean, averaged, rel_tol=SAME_MEAN, abs_tol=SAME_MEAN):
            raise FormatError(
                f"{name}: the recorded mean of {measure} is {mean:.6g}, but its values "
                f"by query give {averaged:.6g}: the file was changed; run the benchmark again",
                source=source,
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
