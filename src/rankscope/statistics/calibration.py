"""Calibration: whether decisions made with a confidence of 0.8 are right in 80 of 100 cases.

The expected calibration error (ECE) of a perfect forecaster is above 0 too, as bins hold few
decisions. So it is put beside what a perfect one with the same confidences would have, and tested
against it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import random_source, sizes
from rankscope.statistics.proportions import Proportion, proportion

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray

BUDGET = 20_000_000
"""How many outcomes are drawn at most; of more decisions fewer repetitions are drawn."""

FEWEST = 200
"""So many repetitions are drawn at least."""


class CalibrationBin(Part):
    """The decisions of similar confidence."""

    low: float
    """The lowest confidence of the bin, which is part of it."""
    high: float
    """The highest, which is part of the last bin only."""
    confidence: float | None
    """The mean confidence of its decisions; null where there is none."""
    right: Proportion
    """How many of them are right."""


class Calibration(Part):
    """How well confidences say how often decisions are right."""

    n: int
    """How many decisions have a confidence."""
    confidence: float
    """The mean confidence."""
    right: Proportion
    """How many decisions are right."""
    ece: float
    """The expected calibration error: the mean of |share right − mean confidence| over the bins,
    each weighed by its decisions."""
    expected: float
    """What the ECE would be on average if every confidence were exactly right."""
    p: float
    """How often it would be as large as here then."""
    bins: tuple[CalibrationBin, ...]
    """The reliability table: bins of equal width over [0, 1]."""


def calibration(
    confidence: npt.ArrayLike,
    right: npt.ArrayLike,
    *,
    bins: int = 10,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Calibration:
    """Compare confidences (0 to 1) with whether the decisions were right.

    ECE = Σ_b (n_b / n) · |right_b / n_b − mean confidence_b| over ``bins`` of equal width; a
    confidence on a border belongs to the bin above it. ``expected`` and ``p`` are by consistency
    resampling: outcomes are drawn as the confidences say, with a seed.

    Reference: Naeini, Cooper and Hauskrecht, AAAI 2015 (ECE); Bröcker and Smith, Weather and
    Forecasting 2007 (consistency resampling).

    >>> calibration([0.8] * 5, [1, 1, 1, 1, 0]).ece
    0.0
    """
    stated = np.asarray(confidence, np.float64)
    outcome = np.asarray(right, np.float64)
    if stated.ndim != 1 or stated.shape != outcome.shape or not len(stated):
        raise InputError("calibration needs as many outcomes as confidences, and at least one")
    if not ((stated >= 0) & (stated <= 1)).all() or not np.isin(outcome, (0, 1)).all():
        raise InputError("confidences must be from 0 to 1, and outcomes 0 or 1")
    if bins < 1:
        raise InputError(f"bins must be at least 1, not {bins}")
    edges = np.arange(1, bins) / bins
    number = np.searchsorted(edges, stated, side="right")
    promised = np.array([math.fsum(stated[number == place]) for place in range(bins)])
    size = np.bincount(number, minlength=bins)
    kept = np.bincount(number, outcome, minlength=bins)
    ece = float(np.abs(kept - promised).sum() / len(stated))
    drawn = _drawn_errors(stated, number, promised, resamples, seed)
    reliability = tuple(
        CalibrationBin(
            low=place / bins,
            high=(place + 1) / bins,
            confidence=float(promised[place] / size[place]) if size[place] else None,
            right=proportion(int(kept[place]), int(size[place]), level=level),
        )
        for place in range(bins)
    )
    return Calibration(
        n=len(stated),
        confidence=math.fsum(stated) / len(stated),
        right=proportion(int(outcome.sum()), len(outcome), level=level),
        ece=ece,
        expected=float(drawn.mean()),
        p=float((1 + np.count_nonzero(drawn >= ece - 1e-12)) / (1 + len(drawn))),
        bins=reliability,
    )


def _drawn_errors(
    stated: FloatArray,
    number: npt.NDArray[np.int64],
    promised: FloatArray,
    resamples: int,
    seed: int,
) -> FloatArray:
    """Return the errors of perfect forecasters: outcomes drawn as the confidences say."""
    count, bins = len(stated), len(promised)
    repetitions = min(resamples, max(FEWEST, BUDGET // count))
    random = np.random.Generator(random_source(seed, 0))
    errors = []
    for size in sizes(repetitions, count):
        outcome = random.random((size, count)) < stated
        place = (
            number + bins * np.arange(size)[:, np.newaxis]
        )  # each repetition has bins of its own
        kept = np.bincount(place[outcome], minlength=size * bins).reshape(size, bins)
        errors.append(np.abs(kept - promised).sum(axis=1) / count)
    return np.concatenate(errors)
