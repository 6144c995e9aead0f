"""Improvements: how far means are above those of baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.part import Part
from rankscope.statistics.arrays import SAME
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.pair import Verdict
from rankscope.statistics.pairwise import (
    decided,
    difference_intervals,
    differences_alone,
    repeat_noises,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.judged import FloatArray
    from rankscope.statistics.matrix import Scale
    from rankscope.statistics.settings import Settings

MOST_FLIPPED = 1_000
"""With more queries than this Student's t tests differences: it says the same as sign flips."""


class AboveBaseline(Part):
    """How far a mean is above the one it is compared with."""

    measure: str
    """The measure."""
    system: str
    """A system, or a baseline."""
    against: str
    """The baseline it is compared with."""
    mean: float
    """Its mean."""
    base_mean: float
    """The baseline's mean."""
    difference: float
    """Mean minus baseline: times 100, percentage points."""
    interval: Interval
    """Of the difference; for all comparisons with this baseline at once, where they are tested."""
    p_corrected: float | None
    """Of the paired test, corrected over the systems; null where none was made: baselines among
    each other, and differences to a random ranking."""
    verdict: Verdict | None
    """What the test shows; null where none was made."""
    is_same: bool
    """Whether both have the same value for every query: then an interval says nothing."""

    @property
    def relative(self) -> float | None:
        """The difference as a part of the baseline's mean; None where that is 0."""
        return self.difference / self.base_mean if self.base_mean > 0 else None


@dataclass(frozen=True, eq=False)
class Row:
    """A baseline or a system, by one measure."""

    name: str
    values: FloatArray
    mean: float
    again: FloatArray | None = None
    """All its runs, ``[r, n]``, if it was asked more than once."""


def improvements(
    scale: Scale,
    baselines: Sequence[Row],
    systems: Sequence[Row],
    settings: Settings,
    *,
    tested: bool,
) -> list[AboveBaseline]:
    """Compare each baseline with the one before it, and each system with the last.

    ``tested`` says whether the systems are tested against that one.
    """
    if not baselines:
        return []
    rows = [*baselines, *systems]
    values = np.stack([row.values for row in rows])
    numbers = tuple(map(str, range(values.shape[1])))
    matrix = Matrix(
        *(tuple(row.name for row in rows), (scale,), numbers, values[np.newaxis]),
        repeats={row.name: row.again[np.newaxis] for row in rows if row.again is not None},
    )
    last = len(baselines) - 1
    steps = [(place - 1, place) for place in range(1, len(baselines))]
    pairs = [(last, place) for place in range(len(baselines), len(rows))]
    compare = _tested if tested else _described
    return [*_described(matrix, steps, rows, settings), *compare(matrix, pairs, rows, settings)]


def _described(
    matrix: Matrix, pairs: Sequence[tuple[int, int]], rows: Sequence[Row], settings: Settings
) -> list[AboveBaseline]:
    """Describe differences that are not tested."""
    if not pairs:
        return []
    noises = repeat_noises(matrix, pairs)
    intervals = difference_intervals(matrix, pairs, settings.level, noises)
    return [
        _improvement(matrix, rows[base], rows[system], interval)
        for (base, system), interval in zip(pairs, intervals, strict=True)
    ]


def _tested(
    matrix: Matrix, pairs: Sequence[tuple[int, int]], rows: Sequence[Row], settings: Settings
) -> list[AboveBaseline]:
    """Test systems against one baseline; intervals hold for all of them and agree with the test."""
    if matrix.shape[2] > MOST_FLIPPED:
        settings = settings.model_copy(update={"test": "t"})
    [scale] = matrix.scales
    family = len(pairs)
    changes = differences_alone(matrix, pairs, settings, family=family)
    p_values = corrected([change.test.p for change in changes], settings.added).tolist()
    improvements = []
    for (base, system), change, p in zip(pairs, changes, p_values, strict=True):
        interval = change.in_family(p, settings.alpha).interval
        verdict = decided(change.mean, p, scale, settings.alpha)
        improvements.append(
            _improvement(matrix, rows[base], rows[system], interval, p=p, verdict=verdict)
        )
    return improvements


def _improvement(
    matrix: Matrix,
    base: Row,
    system: Row,
    interval: Interval,
    *,
    p: float | None = None,
    verdict: Verdict | None = None,
) -> AboveBaseline:
    return AboveBaseline(
        measure=matrix.scales[0].name,
        system=system.name,
        against=base.name,
        mean=system.mean,
        base_mean=base.mean,
        difference=system.mean - base.mean,
        interval=interval,
        p_corrected=p,
        verdict=verdict,
        is_same=bool(np.allclose(base.values, system.values, rtol=0, atol=SAME)),
    )
