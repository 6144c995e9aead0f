"""The matrix: values of several systems side by side, made in one place from whatever holds them.

Between what holds scores (`rankscope.scoring`) and what compares them: `compare`, `gate`, `power`,
analyses and experiments all work on a `Matrix`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.statistics.arrays import SAME, row_means
from rankscope.statistics.clusters import t_interval, unit_errors
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.noise import add_noise, run_noise

if TYPE_CHECKING:
    from rankscope.scoring.scored_runs import RunScores, Scores
    from rankscope.statistics.arrays import FloatArray, IntArray
    from rankscope.statistics.clusters import Sample
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.noise import RunNoise
    from rankscope.statistics.settings import Settings


def differences(base: FloatArray, system: FloatArray) -> FloatArray:
    """Return system − base; what differs by rounding only is 0."""
    change = system - base
    rounding = SAME * np.maximum(np.abs(system), np.abs(base))
    return np.where(np.abs(change) <= rounding, 0.0, change)


@dataclass(frozen=True, slots=True)
class Scale:
    """A measure's name, its lowest and highest value, and whether higher is better."""

    name: str
    bounds: tuple[float, float]
    higher_is_better: bool = True

    @classmethod
    def of(cls, measure: str) -> Scale:
        """Return the scale of a measure, which is given by its canonical name."""
        definition = Measure.parse(measure).definition
        return cls(measure, definition.range, definition.higher_is_better)

    @property
    def change(self) -> tuple[float, float]:
        """The lowest and highest difference."""
        return self.bounds[0] - self.bounds[1], self.bounds[1] - self.bounds[0]

    def is_better(self, difference: float) -> bool:
        """Tell whether a difference is a gain."""
        return difference > 0 if self.higher_is_better else difference < 0

    def verdict(
        self, difference: float, p_corrected: float, alpha: float
    ) -> Literal["better", "worse", "can't tell"]:
        """Return what a test of a mean difference shows."""
        if p_corrected > alpha or not difference:
            return "can't tell"
        return "better" if self.is_better(difference) else "worse"


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Values of several systems: ``values[m, s, n]``, measures × systems × queries.

    All systems have the same queries, ordered by id; so no order of queries changes a result.
    """

    systems: tuple[str, ...]
    scales: tuple[Scale, ...]
    query_ids: tuple[str, ...]
    values: FloatArray
    sample: Sample | None = None
    """Which queries belong together and what each weighs; None: each by itself, all the same."""
    repeats: Mapping[str, FloatArray] = field(default_factory=dict)
    """Of systems that were asked more than once, or trained with several seeds: all their runs,
    ``[m, r, n]``. How far these are apart is noise, which every difference counts."""
    averaged: frozenset[str] = frozenset()
    """Which of these have the mean of their runs as values; the others have those of the first."""

    @classmethod
    def of(cls, runs: Iterable[tuple[str, RunScores]], measures: Sequence[str]) -> Matrix:
        """Put runs side by side, over the queries that all of them have."""
        named = list(runs)
        columns = [
            {query_id: column for column, query_id in enumerate(run.query_ids)} for _, run in named
        ]
        common = sorted(set(columns[0]).intersection(*columns[1:]))
        if not common:
            raise InputError("not comparable: the runs have no judged query in common")
        parts = [
            run.values[:, [column[query_id] for query_id in common]]
            for (_, run), column in zip(named, columns, strict=True)
        ]
        return cls(
            systems=tuple(name for name, _ in named),
            scales=tuple(map(Scale.of, measures)),
            query_ids=tuple(common),
            values=np.stack(parts, axis=1),
        )

    @classmethod
    def of_scores(cls, scores: Scores, *, only_means: bool = False) -> Matrix:
        """Put the runs of scores side by side.

        ``only_means`` leaves out measures that are summed or averaged geometrically over queries.
        """
        rows = [
            row
            for row, measure in enumerate(scores.measures)
            if not only_means or Measure.parse(measure).definition.aggregate == "mean"
        ]
        runs = {name: scores.run(name).complete() for name in scores.runs}
        matrix = cls.of(
            [(name, replace(run, values=run.values[rows])) for name, run in runs.items()],
            [scores.measures[row] for row in rows],
        )
        repeats = {}
        for name, run in runs.items():
            if run.repeats:
                column = {query_id: place for place, query_id in enumerate(run.query_ids)}
                places = [column[query_id] for query_id in matrix.query_ids]
                values = np.stack([run.values, *run.repeats], axis=1)
                repeats[name] = values[rows][:, :, places]
        return replace(matrix, repeats=repeats)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many measures, systems and queries there are."""
        measures, systems, queries = self.values.shape
        return measures, systems, queries

    def averaged_over(self, seeds: Mapping[str, Sequence[str]]) -> Matrix:
        """Put one system in place of the runs that are named together: their mean, by query."""
        place = {name: number for number, name in enumerate(self.systems)}
        groups: dict[str, list[int]] = {}
        taken: set[str] = set()
        for name, members in seeds.items():
            for run in members:
                if run not in place:
                    raise UnknownNameError("run", run, self.systems)
                if run in taken:
                    raise InputError(f"run {shown(run)} belongs to two systems; name it once")
                taken.add(run)
            if not members or (name in place and name not in members):
                raise InputError(f"system {shown(name)} needs runs, and a name of its own")
            groups[name] = [place[run] for run in members]
        groups |= {name: [number] for name, number in place.items() if name not in taken}
        several = {name for name, members in groups.items() if len(members) > 1}
        repeats = {name: runs for name, runs in self.repeats.items() if name not in taken}
        return replace(
            self,
            systems=tuple(groups),
            values=np.stack(
                [
                    self.values[:, members].mean(axis=1)
                    if name in several
                    else self.values[:, members[0]]
                    for name, members in groups.items()
                ],
                axis=1,
            ),
            repeats=repeats | {name: self.values[:, groups[name]] for name in several},
            averaged=frozenset(several),
        )

    def only_queries(self, columns: Sequence[int]) -> Matrix:
        """Return the part of some queries; one may be named twice."""
        return replace(
            self,
            query_ids=tuple(self.query_ids[column] for column in columns),
            values=self.values[:, :, list(columns)],
            sample=None if self.sample is None else self.sample.only(columns),
            repeats={name: runs[:, :, list(columns)] for name, runs in self.repeats.items()},
        )

    def only_measures(self, count: int) -> Matrix:
        """Return the part of the first measures."""
        return self._measures(slice(count))

    def only_measure(self, row: int) -> Matrix:
        """Return the part of one measure."""
        return self._measures(slice(row, row + 1))

    def _measures(self, part: slice) -> Matrix:
        return replace(
            self,
            scales=self.scales[part],
            values=self.values[part],
            repeats={name: runs[part] for name, runs in self.repeats.items()},
        )

    def units(self, values: FloatArray) -> FloatArray:
        """Return ``values[..., n]`` as what is drawn: a column for each cluster, same means."""
        if self.sample is None:
            return values
        rows = self.sample.units(values.reshape(-1, values.shape[-1]))
        return rows.reshape(*values.shape[:-1], rows.shape[1])

    def shares(self) -> FloatArray:
        """Return the part of all weight that each unit has."""
        if self.sample is None:
            return np.full(self.shape[2], 1 / self.shape[2])
        return self.sample.shares(self.shape[2])

    def query_differences(self, pairs: Sequence[tuple[int, int]]) -> FloatArray:
        """Return the differences of pairs (base, system) as ``[m * pairs, n]``, by measure."""
        bases, systems = ([pair[side] for pair in pairs] for side in (0, 1))
        changes = differences(self.values[:, bases], self.values[:, systems])
        return changes.reshape(-1, self.shape[2])

    def pair_rows(self, rows: IntArray, pairs: IntArray) -> FloatArray:
        """Return chosen rows of `query_differences`; ``pairs[k, 2]`` holds base and system."""
        measure, place = np.divmod(rows, len(pairs))
        base, system = pairs[place].T
        return differences(self.values[measure, base], self.values[measure, system])

    def differences(self, pairs: Sequence[tuple[int, int]]) -> FloatArray:
        """Return them as what is drawn, a column for each cluster: ``[m * pairs, units]``."""
        return self.units(self.query_differences(pairs))

    def means(self) -> FloatArray:
        """Return the mean of each measure and system, ``[m, s]``; weighted, if queries weigh."""
        units = self.units(self.values)
        return np.stack([row_means(table) for table in units])

    def noise(self, measure: int, system: str) -> tuple[RunNoise, float] | None:
        """Return how far a system moves by itself, and how often that is in a difference.

        None where it was run once, or its runs are all the same.
        """
        runs = self.repeats.get(system)
        if runs is None:
            return None
        noise = run_noise(self.units(runs[measure]))
        weight = 1 / noise.runs if system in self.averaged else 1.0
        return (noise, weight) if noise.deviation > 0 else None

    def mean_intervals(self, settings: Settings) -> list[Interval]:
        """Return the interval of the mean of each measure and system, ``m * s`` of them.

        That of a system that is the mean of several runs is for new queries and new runs.
        """
        rows = self.values.reshape(-1, self.shape[2])
        scales = [scale for scale in self.scales for _ in self.systems]
        bounds = [scale.bounds for scale in scales]
        if self.sample is None:
            intervals = mean_intervals(
                rows,
                method=settings.interval,
                bounds=bounds,
                level=settings.level,
                **settings.resampling,
            )
        else:
            intervals = self.sample.intervals(rows, level=settings.level, bounds=bounds)
        for system in sorted(self.averaged):
            for measure in range(len(self.scales)):
                row = measure * len(self.systems) + self.systems.index(system)
                noise = self.noise(measure, system)
                units = self.units(rows[[row]])
                means = row_means(units)
                errors, freedom = unit_errors(units, means, self.shares())
                error, freedom = add_noise(
                    float(errors[0]), freedom, [] if noise is None else [noise]
                )
                intervals[row] = t_interval(
                    float(means[0]),
                    error,
                    freedom,
                    level=settings.level,
                    bounds=bounds[row],
                    method="t, with noise",
                )
        return intervals

    def mean(self, measure: int, system: int) -> float:
        """Return a mean as `evaluate` has it: values added one after the other."""
        if self.sample is not None:
            return float(self.means()[measure, system])
        row = self.values[measure, system]
        return aggregate(Measure.parse(self.scales[measure].name), row)
