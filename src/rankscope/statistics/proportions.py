"""Proportions: how many of how many, how sure that is, and how evenly a load is spread."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankscope.errors import InputError
from rankscope.part import Part
from rankscope.statistics.arrays import check_level
from rankscope.statistics.intervals import Interval, wilson


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
