"""Normalisation: the scores of different systems brought to one scale, query by query.

A step before fusion. Every rule here keeps the order of a list, never depends on the unit of the
scores, and says what a document is worth that the run did not return. One decorator registers a
rule; the linear mix of the same name comes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.runs.fusion.pooling import Ranking
    from rankscope.runs.order import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Normalised:
    """A run's scores on the common scale.

    ``absent`` is by query of the ranking: what a linear mix gives a document it did not return.
    """

    values: Floats
    absent: Floats


Rule = Callable[["Ranking"], Normalised]

NORMALISATIONS: dict[str, Rule] = {}
"""All rules by name."""


def rule(name: str) -> Callable[[Rule], Rule]:
    """Register a rule."""

    def register(function: Rule) -> Rule:
        NORMALISATIONS[name] = function
        return function

    return register


def normalisation_named(name: str) -> Rule:
    """Return a rule; an unknown one is an error that names the nearest."""
    known = NORMALISATIONS.get(name.casefold().replace("-", "").replace("_", ""))
    if known is None:
        raise UnknownNameError("normalisation", name, NORMALISATIONS)
    return known


def _scaled(ranking: Ranking) -> tuple[Floats, Floats, Floats]:
    """Return the scores with their highest and lowest by query, in a unit of about the largest.

    The unit is a power of two, so nothing is rounded, and differences of huge scores stay finite.
    """
    score = ranking.score
    high, low = score[ranking.first], score[ranking.last]
    _, exponent = np.frexp(np.maximum(np.abs(high), np.abs(low)))
    by_row = np.repeat(exponent, ranking.size)
    return np.ldexp(score, -by_row), np.ldexp(high, -exponent), np.ldexp(low, -exponent)


def _divided(
    ranking: Ranking, above: Floats, by: Floats, constant: NDArray[np.generic] | float = 1.0
) -> Normalised:
    """Return row values over query values; where these are 0, ``constant``. Absent is 0."""
    safe = np.where(by > 0, by, 1.0)
    otherwise = np.broadcast_to(constant, by.shape)
    values = above / np.repeat(safe, ranking.size)
    values = np.where(np.repeat(by > 0, ranking.size), values, np.repeat(otherwise, ranking.size))
    return Normalised(values, np.zeros(len(by)))


@rule("minmax")
def minmax(ranking: Ranking) -> Normalised:
    """From 0 for the run's worst document to 1 for its best.

    Formula: (s − min) / (max − min)
    Equal scores: all are the best, 1 (so is a single document)
    Not returned: 0, as the worst one that was
    Reference: Lee, Analyses of multiple evidence combination, SIGIR 1997
    """
    score, high, low = _scaled(ranking)
    return _divided(ranking, score - np.repeat(low, ranking.size), high - low)


@rule("zscore")
def zscore(ranking: Ranking) -> Normalised:
    """How many standard deviations above the mean of the query's list.

    Formula: (s − mean) / σ, with σ² = Σ (s − mean)² / n
    Equal scores: 0
    Not returned: the lowest of the list, since 0 would be better than half of it; −1 where all
        scores are equal
    Reference: Montague and Aslam, Relevance score normalization for metasearch, CIKM 2001 (ZMUV)
    """
    score, high, low = _scaled(ranking)
    mean = ranking.total(score) / ranking.size
    above = score - np.repeat(mean, ranking.size)
    deviation = np.where(high > low, np.sqrt(ranking.total(above * above) / ranking.size), 0.0)
    values = _divided(ranking, above, deviation, 0.0).values
    return Normalised(values, np.where(deviation > 0, values[ranking.last], -1.0))


@rule("rank")
def rank(ranking: Ranking) -> Normalised:
    """Evenly spaced from 1 for the best document down to 1/n for the worst of n.

    Formula: 1 − (rank − 1) / n
    Equal scores: ranked by id, as everywhere
    Not returned: 0
    Reference: Renda and Straccia, Web metasearch: rank vs. score based rank aggregation, SAC 2003
    """
    size = np.repeat(ranking.size, ranking.size)
    return Normalised(1 - (ranking.rank - 1) / size, np.zeros(len(ranking.size)))


@rule("sum")
def total(ranking: Ranking) -> Normalised:
    """A share of the query's list: shifted to begin at 0, the scores add up to 1.

    Formula: (s − min) / Σ (s − min)
    Equal scores: 1/n each
    Not returned: 0, as the worst one that was
    Reference: Montague and Aslam, Relevance score normalization for metasearch, CIKM 2001 (Sum)
    """
    score, _, low = _scaled(ranking)
    above = score - np.repeat(low, ranking.size)
    return _divided(ranking, above, ranking.total(above), 1 / ranking.size)


@rule("max")
def highest(ranking: Ranking) -> Normalised:
    """A part of the query's best score; zero stays zero.

    Formula: (s − z) / (max − z), with z = min(0, lowest score)
    Negative scores: the lowest becomes 0 (z), since dividing by a negative best would turn the
        list round; without negative scores it is s / max
    Equal scores: all are the best, 1
    Not returned: 0, never above one that was
    Reference: Lee, Combining multiple evidence from different properties of weighting schemes,
        SIGIR 1995
    """
    score, high, low = _scaled(ranking)
    zero = np.minimum(low, 0.0)
    return _divided(ranking, score - np.repeat(zero, ranking.size), high - zero)
