"""Frozen: intervals of means that no draw decides: Student's t and Wilson's.

Asked through `compare` with the name of the interval, at three levels. Student's t is cut at the
ends of the measure's range. Where all values are equal both t and the bootstraps answer with what
may not have been seen, which for values of 0 and 1 is Clopper and Pearson's interval. Bootstrap
intervals are in `statistics_resampled`. Not frozen: the interval of a single query.

Oracle: SciPy (t.interval, binomtest.proportion_ci by wilson and exact), in
`tests/frozen/test_oracles.py`.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, MEASURE, bundled, judged
from frozen.subjects import subject

MEASURES = ["nDCG@10", "RR@10", "AP"]
LEVELS = [0.9, 0.95, 0.99]
EQUAL = {
    "all 1": [100] * 12,
    "all 0": [0] * 7,
    "all 0.4": [40] * 9,
    "two queries": [30, 80],
    "half": [0, 100] * 5,
    "one of twelve": [*[0] * 11, 100],
}
"""Values of one system alone."""


@subject
def statistics_intervals() -> Any:
    """Ask for the intervals of means at each level."""
    qrels, runs = bundled()
    figures: dict[str, Any] = {
        "t": {"bundled": _intervals(qrels, runs, MEASURES, "t"), "cases": {}},
        "wilson": {"bundled": _intervals(qrels, runs, ["Success@1", "Success@5"], "wilson")},
    }
    for case, values in CASES.items():
        if len(values["base"]) > 1:
            figures["t"]["cases"][case] = _intervals(*judged(values), [MEASURE], "t")[MEASURE]
    for method in ("t", "wilson"):
        figures[method]["one system"] = {
            name: _alone(row, method)
            for name, row in EQUAL.items()
            if method == "t" or {*row} <= {0, 100}
        }
    return figures


def _alone(row: list[int], method: str) -> Any:
    """Return the intervals of one system, which is compared with its own values reversed."""
    values = {"system": row, "reversed": row[::-1]}
    return _intervals(*judged(values), [MEASURE], method)[MEASURE]["system"]


def _intervals(qrels: Any, runs: Any, measures: list[str], method: Any) -> dict[str, Any]:
    """Return, by measure and run, the mean and the interval at each level."""
    found: dict[str, Any] = {measure: {run: {} for run in runs} for measure in measures}
    for level in LEVELS:
        compared = rs.compare(qrels, runs, measures, test="t", interval=method, level=level)
        for measure in measures:
            for run in runs:
                mean = compared.mean(run, measure)
                found[measure][run]["mean"] = mean.mean
                found[measure][run][level] = [mean.interval.low, mean.interval.high]
    return found
