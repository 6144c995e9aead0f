"""Normalisation: the scores of different systems brought to one scale, query by query.

A step before fusion. A rule is one function with a decorator; none depends on the unit of the
scores. docs/reference/fusion.md has the formulas and where they are from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import UnknownNameError

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Pool, Ranking
    from rankscope.runs.order import Floats

Rule = Callable[["Pool"], "Floats"]
"""From a pool to the table of normalised scores; a cell is NaN where nothing was returned."""

NORMALISATIONS: dict[str, Rule] = {}
"""All rules by name, in order."""

INVERTED = "minmaxinverted"
"""The rule for distances: minmax of runs that are turned round before they are ranked."""

_OTHER_NAMES = {"zmuv": "zscore"}


def plain_name(name: object) -> str:
    """Return a name as it is looked up: min-max, Min_Max and minmax are the same."""
    return str(name).casefold().replace("-", "").replace("_", "")


def normalisation_named(name: str) -> str:
    """Return the name of a rule, which may be ranx's; an unknown one is an error.

    >>> normalisation_named("min-max"), normalisation_named("ZMUV")
    ('minmax', 'zscore')
    """
    known = _OTHER_NAMES.get(plain_name(name), plain_name(name))
    if known not in NORMALISATIONS:
        raise UnknownNameError("normalisation", str(name), NORMALISATIONS)
    return known


ListRule = Callable[["Ranking"], "Floats"]


def _by_list(*names: str) -> Callable[[ListRule], ListRule]:
    """Register a function of one ranking, which returns a value for each of its rows."""

    def register(rule: ListRule) -> ListRule:
        for name in names:
            NORMALISATIONS[name] = lambda pool: pool.table(map(rule, pool.rankings))
        return rule

    return register


def _scaled(ranking: Ranking) -> tuple[Floats, Floats, Floats]:
    """Return by row the score, the list's highest and its lowest, in a unit of about the largest.

    The unit is a power of two, so nothing is rounded, and differences of huge scores stay finite.
    """
    score = ranking.score
    high = np.repeat(score[ranking.first], ranking.size)
    low = np.repeat(score[ranking.last], ranking.size)
    _, exponent = np.frexp(np.maximum(np.abs(high), np.abs(low)))
    return np.ldexp(score, -exponent), np.ldexp(high, -exponent), np.ldexp(low, -exponent)


def _total(ranking: Ranking, values: Floats) -> Floats:
    """Add up by list what is given by row, and return the total by row."""
    if not ranking.first.size:
        return np.empty(0)
    return np.repeat(np.add.reduceat(values, ranking.first), ranking.size)


def _divided(above: Floats, below: Floats, equal: Floats | float) -> Floats:
    """Divide; ``equal`` where there is 0 below, as all scores of the list are equal."""
    otherwise = np.broadcast_to(np.float64(equal), above.shape).copy()
    return np.divide(above, below, out=otherwise, where=below > 0)


@_by_list("minmax", INVERTED)
def minmax(ranking: Ranking) -> Floats:
    """From 0 for the run's worst document to 1 for its best; of equal ones all are the best."""
    score, high, low = _scaled(ranking)
    return _divided(score - low, high - low, equal=1.0)


@_by_list("zscore")
def zscore(ranking: Ranking) -> Floats:
    """How many standard deviations above the mean of the query's list; 0 if scores are equal."""
    score, high, low = _scaled(ranking)
    above = score - _total(ranking, score) / ranking.row_size
    deviation = np.sqrt(_total(ranking, above * above) / ranking.row_size)
    return _divided(above, np.where(high > low, deviation, 0.0), equal=0.0)


@_by_list("rank")
def rank(ranking: Ranking) -> Floats:
    """Evenly spaced from 1 for the best document down to 1/n for the worst of n."""
    return 1 - (ranking.rank - 1) / ranking.row_size


@_by_list("sum")
def share(ranking: Ranking) -> Floats:
    """A share of the query's list: shifted to begin at 0, the scores add up to 1."""
    score, _, low = _scaled(ranking)
    return _divided(score - low, _total(ranking, score - low), equal=1 / ranking.row_size)


@_by_list("max")
def part(ranking: Ranking) -> Floats:
    """A part of the query's best score; zero stays zero, unless scores are below it.

    Then the lowest becomes 0: dividing by a negative best would turn the list round.
    """
    score, high, low = _scaled(ranking)
    zero = np.minimum(low, 0.0)
    return _divided(score - zero, high - zero, equal=1.0)


NORMALISATIONS["borda"] = lambda pool: pool.borda_points / pool.candidates[pool.query][:, None]
