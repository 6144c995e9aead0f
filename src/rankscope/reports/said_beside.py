"""What is said beside means: names that measures were asked for by, and methods of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rankscope.statistics.intervals import Interval

_INTERVALS = {
    "bca": "BCa bootstrap",
    "percentile": "percentile bootstrap",
    "t": "Student t",
    "wilson": "Wilson",
    "cluster t": "Student t over clusters",
    "t, with noise": "Student t, with noise of runs",
}
"""What the methods that answered are called; values that do not vary have no method."""


def aliases(asked: Mapping[str, str]) -> Iterator[str]:
    """Say which measures were asked for under other names."""
    for measure, name in asked.items():
        if measure != name:
            yield f"{name} is reported as {measure}"


def interval_methods(intervals: Iterable[Interval]) -> str:
    """Return the methods that made some intervals; '' if none varies."""
    methods = dict.fromkeys(interval.method for interval in intervals)
    return " or ".join(_INTERVALS[method] for method in methods if method in _INTERVALS)
