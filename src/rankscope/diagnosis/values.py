"""Values by query of several runs, side by side; what the modules of this package share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.statistics.arrays import SAME
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.pairwise import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.judged import FloatArray
    from rankscope.scoring.evaluate import Scores
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.paired import Test
    from rankscope.statistics.pairwise import Settings

__all__ = ["Table", "changes_between", "intervals_of", "pair_test"]


class Table:
    """``values[m, s, n]`` of measures that are means, over the queries all runs have, by id.

    Sums and geometric means over queries are left out: no test and no interval is about them.
    """

    def __init__(self, scores: Scores) -> None:
        self.systems = scores.runs
        definitions = [Measure.parse(name).definition for name in scores.measures]
        rows = [row for row, one in enumerate(definitions) if one.aggregate == "mean"]
        self.scales = [
            Scale(scores.measures[row], definitions[row].range, definitions[row].higher_is_better)
            for row in rows
        ]
        runs = [scores.run(name).complete() for name in self.systems]
        places = [{query_id: place for place, query_id in enumerate(run.query_ids)} for run in runs]
        self.query_ids = sorted(set(places[0]).intersection(*places[1:]))
        if not self.query_ids:
            raise InputError("not comparable: the runs have no judged query in common")
        self.values: FloatArray = np.stack(
            [
                run.values[rows][:, [place[one] for one in self.query_ids]]
                for run, place in zip(runs, places, strict=True)
            ],
            axis=1,
        )


def changes_between(base: FloatArray, system: FloatArray) -> FloatArray:
    """Return system − base; what differs by rounding only is 0."""
    change = system - base
    rounding = SAME * np.maximum(np.abs(system), np.abs(base))
    return np.where(np.abs(change) <= rounding, 0.0, change)


def pair_test(settings: Settings) -> Test:
    """Return the test of single pairs; where all pairs are tested at once, permutation."""
    return "permutation" if settings.test == "tukey" else settings.test


def intervals_of(
    rows: FloatArray, bounds: Sequence[tuple[float, float]], settings: Settings
) -> list[Interval]:
    """Return the interval of each row's mean; Wilson's where it is asked for and can be."""
    options: Any = {"level": settings.level, **settings.resampling}
    if settings.interval != "wilson":
        return mean_intervals(rows, method=settings.interval, bounds=bounds, **options)
    binary = np.isin(rows, (0.0, 1.0)).all(axis=1) & (np.asarray(bounds)[:, 0] == 0)
    found: dict[int, Interval] = {}
    for method, chosen in (("wilson", binary), ("bca", ~binary)):
        at = np.flatnonzero(chosen).tolist()
        own = [bounds[place] for place in at]
        if at:
            options["method"] = method
            found.update(zip(at, mean_intervals(rows[at], bounds=own, **options), strict=True))
    return [found[place] for place in range(len(rows))]
