"""Decisions: how often they are right, and what the confidence or the score behind them is worth.

A router sends a question somewhere, a gate decides whether to search, a threshold refuses to
answer: shares with intervals, calibration of confidences, separation by a score, balance of load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import check_level, random_source, sizes, special
from rankscope.statistics.intervals import Interval, wilson

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rankscope.statistics.arrays import FloatArray


class Proportion(Part):
    """How many of how many."""

    count: int
    """How many."""
    total: int
    """Of how many."""
    share: float | None
    """count / total; null of none."""
    interval: Interval | None
    """Of the share, by Wilson; null of none."""


def proportion(count: int, total: int, *, level: float = 0.95) -> Proportion:
    """Return a share with Wilson's score interval, which holds for few and for extreme cases too.

    Reference: Wilson, JASA 1927.

    >>> share = proportion(8, 10)
    >>> share.share, round(share.interval.low, 3), round(share.interval.high, 3)
    (0.8, 0.49, 0.943)
    """
    if not 0 <= count <= total:
        raise InputError(f"{count} of {total} is no proportion")
    if not total:
        return Proportion(count=0, total=0, share=None, interval=None)
    check_level(level)
    interval = wilson(count, total, level)
    return Proportion(count=count, total=total, share=count / total, interval=interval)


def f1_interval(hits: int, misses: int, *, level: float = 0.95) -> Interval | None:
    """Return the interval of F1 = 2·hits / (2·hits + misses); misses are of both kinds.

    F1 rises with J = hits / (hits + misses), a proportion: F1 = 2J / (1 + J) at both ends of
    Wilson's interval of J. None where there is neither a hit nor a miss.
    """
    interval = proportion(hits, hits + misses, level=level).interval
    if interval is None:
        return None
    low, high = (2 * end / (1 + end) for end in (interval.low, interval.high))
    return Interval(low=low, high=high, level=level, method="wilson")


class LoadBalance(Part):
    """How evenly a load is spread over several places."""

    places: int
    """How many there are, those that got nothing included."""
    used: int
    """How many got anything."""
    entropy: float | None
    """−Σ p·log p / log(places): 1 is even, 0 is all in one place; null for fewer than two."""
    busiest: float
    """The largest load over the mean load: 1 is even."""
    gini: float
    """Gini's coefficient of the loads: 0 is even, 1 − 1/places is all in one place."""


def load_balance(loads: Sequence[int]) -> LoadBalance:
    """Describe how evenly loads are spread; at least one must be above 0.

    >>> load_balance([6, 2, 0]).busiest
    2.25
    """
    counts = np.sort(np.asarray(loads, np.float64))
    total, places = counts.sum(), len(counts)
    if not total > 0 or (counts < 0).any():
        raise InputError("loads must be counts, at least one of them above 0")
    used = counts[counts > 0] / total
    entropy = None
    if places > 1:
        entropy = min(1.0, max(0.0, -float((used * np.log(used)).sum()) / math.log(places)))
    ranks = np.arange(1, places + 1)
    gini = float(((2 * ranks - places - 1) * counts).sum() / (places * total))
    return LoadBalance(
        places=places,
        used=len(used),
        entropy=entropy,
        busiest=float(counts[-1] * places / total),
        gini=max(0.0, gini),
    )


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


class Separation(Part):
    """How well scores tell two kinds of questions apart."""

    auc: float
    """The chance that a question with an answer scores above one without; ties count half: 1 is
    perfect, 0.5 is no better than chance."""
    interval: Interval
    """Of the AUC, by Newcombe's method."""


def separation(
    answerable: npt.ArrayLike, unanswerable: npt.ArrayLike, *, level: float = 0.95
) -> Separation:
    """Return the area under the ROC curve, exactly, with its interval.

    AUC = (pairs won + pairs tied / 2) / all pairs, as for Mann and Whitney. The interval is
    Newcombe's fifth: all A with |AUC − A| ≤ z·√(A(1−A)/(mn) · (1 + N(1−A)/(2−A) + N·A/(1+A))),
    N = (m+n)/2 − 1. It stays within 0 and 1, and has a width where the separation is perfect. In
    simulations with 5 to 50 questions on one side it covers 93 to 98 % at 95 %; DeLong's covers
    as few as 71 %.

    A score may be −∞: nothing was returned.

    Reference: Newcombe, Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, Part 2, Statist. Med. 2006.

    >>> separation([3, 2, 2], [1, 2]).auc
    0.8333333333333334
    """
    high, low = np.asarray(answerable, np.float64), np.sort(np.asarray(unanswerable, np.float64))
    if not len(high) or not len(low):
        raise InputError("a separation needs at least one score of each kind")
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    pairs = len(high) * len(low)
    auc = int(below.sum()) / (2 * pairs)
    return Separation(auc=auc, interval=_newcombe(auc, len(high), len(low), level))


def _newcombe(auc: float, first: int, second: int, level: float) -> Interval:
    square = float(special().ndtri((1 + level) / 2)) ** 2
    half = (first + second) / 2 - 1

    def is_inside(area: float) -> bool:
        spread = 1 + half * (1 - area) / (2 - area) + half * area / (1 + area)
        return (auc - area) ** 2 <= square * area * (1 - area) / (first * second) * spread

    return Interval(
        low=_end(is_inside, auc, 0.0),
        high=_end(is_inside, auc, 1.0),
        level=level,
        method="newcombe",
    )


def _end(is_inside: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return by bisection where the values end that are not refuted."""
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside


class Thresholds:
    """What refusing below each threshold does: as many refused as there are scores below it.

    ``threshold[0]`` refuses only what has no score (−∞); the last refuses everything.
    """

    def __init__(self, answerable: npt.ArrayLike, unanswerable: npt.ArrayLike) -> None:
        high = np.sort(np.asarray(answerable, np.float64))
        low = np.sort(np.asarray(unanswerable, np.float64))
        scores = np.unique(np.concatenate([high, low]))
        scores = scores[np.isfinite(scores)]
        # between two scores: neither side is preferred on questions that are not seen yet
        between = scores[:-1] / 2 + scores[1:] / 2
        between = np.where(between > scores[:-1], between, scores[1:])
        ends = (scores[:1], np.nextafter(scores[-1:], math.inf))
        self.threshold: FloatArray = np.concatenate([ends[0], between, ends[1]])
        self.wrongly: FloatArray = np.searchsorted(high, self.threshold, "left") / len(high)
        """The share of questions with an answer that is refused."""
        self.rightly: FloatArray = np.searchsorted(low, self.threshold, "left") / len(low)
        """The share of questions without an answer that is refused."""

    @property
    def balanced(self) -> FloatArray:
        """The balanced accuracy: the mean of the two shares that are treated rightly."""
        return (self.rightly + 1 - self.wrongly) / 2

    def best(self) -> int:
        """Return the place of the best balanced accuracy; of equal ones that refuses least."""
        return int(np.argmax(self.balanced >= self.balanced.max() - 1e-12))

    def __len__(self) -> int:
        return len(self.threshold)


def held_out_accuracy(
    answerable: npt.ArrayLike, unanswerable: npt.ArrayLike, *, splits: int = 20, seed: int = 0
) -> float | None:
    """Return the balanced accuracy of a threshold on questions that it was not chosen by.

    Both kinds are halved at random; the threshold that is best on one half is measured on the
    other, both ways; the mean of all splits. None with fewer than two questions of a kind, or
    where a half has no score.
    """
    high, low = np.asarray(answerable, np.float64), np.asarray(unanswerable, np.float64)
    if min(len(high), len(low)) < 2:
        return None
    random = np.random.Generator(random_source(seed, 1))
    accuracies = []
    for _ in range(splits):
        halves = [np.array_split(random.permutation(scores), 2) for scores in (high, low)]
        for train, test in ((0, 1), (1, 0)):
            known = np.concatenate([halves[0][train], halves[1][train]])
            if not np.isfinite(known).any():
                return None
            choice = Thresholds(halves[0][train], halves[1][train])
            threshold = choice.threshold[choice.best()]
            kept = float((halves[0][test] >= threshold).mean())
            refused = float((halves[1][test] < threshold).mean())
            accuracies.append((kept + refused) / 2)
    return math.fsum(accuracies) / len(accuracies)
