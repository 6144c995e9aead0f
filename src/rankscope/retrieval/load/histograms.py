"""Latencies as HdrHistograms: percentiles of any number of values, and text that can be added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError
from rankscope.retrieval.registry import check_engine, engine
from rankscope.runs.load_record import Latencies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

LOWEST, HIGHEST, DIGITS = 1, 3_600_000_000, 3
"""From a microsecond to an hour, to three significant digits."""

_PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_LONGEST_TEXT = 500_000
"""Characters of a histogram; one of these bounds has some thousands."""

_WHAT = {"package": "hdrhistogram", "needed_for": "a load test", "extra": "load"}


def check_histograms() -> None:
    """Say how to get what this needs, if it is not installed."""
    check_engine("hdrh", **_WHAT)


def _histogram_class() -> Any:
    return engine("hdrh.histogram", **_WHAT).HdrHistogram


def latencies_of(seconds: NDArray[np.float64]) -> Latencies:
    """Return the percentiles of times, with all of them as a histogram.

    What is shorter than a microsecond counts as one, and what is longer than an hour as an hour.
    """
    histogram = _histogram_class()(LOWEST, HIGHEST, DIGITS)
    micros = np.clip(np.rint(seconds * 1e6), LOWEST, HIGHEST).astype(np.int64)
    for value, count in zip(*np.unique(micros, return_counts=True), strict=True):
        histogram.record_value(int(value), int(count))
    return _latencies(histogram)


def latencies_in(text: str) -> Latencies:
    """Return the percentiles that a histogram has.

    Raises:
        InputError: it is none, or one of other bounds.
    """
    return _latencies(_decoded(text))


def added(texts: Iterable[str]) -> Latencies:
    """Return the percentiles of several histograms together, as of several load tests.

    Raises:
        InputError: one of them is none, or one of other bounds.
    """
    total = _histogram_class()(LOWEST, HIGHEST, DIGITS)
    for text in texts:
        total.add(_decoded(text))
    return _latencies(total)


def _decoded(text: str) -> Any:
    made = None
    if len(text) <= _LONGEST_TEXT:
        try:
            made = _histogram_class().decode(text)
        except ImportError:
            raise
        except Exception:  # the package has no error of its own for all that can be wrong
            made = None
    if made is None:
        raise InputError("a histogram cannot be read; the file was changed or cut short")
    bounds = (made.lowest_trackable_value, made.highest_trackable_value, made.significant_figures)
    if bounds != (LOWEST, HIGHEST, DIGITS):
        raise InputError(
            f"a histogram is of {bounds[0]} to {bounds[1]} with {bounds[2]} digits; expected "
            f"{LOWEST} to {HIGHEST} microseconds with {DIGITS}"
        )
    return made


def _latencies(histogram: Any) -> Latencies:
    total = int(histogram.get_total_count())
    wanted = {
        name: percentile
        for name, percentile in _PERCENTILES.items()
        if total and total * (100 - percentile) >= 100 - 1e-6
    }
    values = histogram.get_percentile_to_value_dict([*wanted.values(), 100.0]) if total else {}
    known = {name: values[percentile] / 1e6 for name, percentile in wanted.items()}
    return Latencies(
        count=total,
        **{name: known.get(name) for name in _PERCENTILES},
        max=values[100.0] / 1e6 if total else None,
        histogram=histogram.encode().decode("ascii"),
    )
