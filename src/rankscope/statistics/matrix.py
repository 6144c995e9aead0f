"""The matrix: values of several systems side by side, made in one place from whatever holds them.

Between what holds scores (`rankscope.scoring`) and what compares them: `compare`, `gate`, `power`,
analyses and experiments all work on a `Matrix`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.statistics.arrays import SAME, row_means

if TYPE_CHECKING:
    from rankscope.scoring.scores import Scores
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.clusters import Sample

IntArray = npt.NDArray[np.int64]


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


class RunValues(Protocol):
    """One run's values: ``values[m, n]``, a column for each of ``query_ids``."""

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries."""

    @property
    def values(self) -> FloatArray:
        """A row for each measure."""


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
    """Of systems that were asked more than once: all their runs, the first included, ``[m, r, n]``.
    How far these are apart is noise, which every difference counts."""

    @classmethod
    def of(cls, runs: Iterable[tuple[str, RunValues]], measures: Sequence[str]) -> Matrix:
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
            if run.again:
                column = {query_id: place for place, query_id in enumerate(run.query_ids)}
                places = [column[query_id] for query_id in matrix.query_ids]
                values = np.stack([run.values, *run.again], axis=1)
                repeats[name] = values[rows][:, :, places]
        return replace(matrix, repeats=repeats)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many measures, systems and queries there are."""
        measures, systems, queries = self.values.shape
        return measures, systems, queries

    def row_scales(self) -> list[Scale]:
        """Return the scale of each row of ``values.reshape(m * s, n)``."""
        return [scale for scale in self.scales for _ in self.systems]

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

    def mean(self, measure: int, system: int) -> float:
        """Return a mean as `evaluate` has it: values added one after the other."""
        if self.sample is not None:
            return float(self.means()[measure, system])
        row = self.values[measure, system]
        return aggregate(Measure.parse(self.scales[measure].name), row)
