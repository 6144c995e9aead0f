"""Normalisation: the scores of different systems brought to one scale, query by query.

A step before fusion. A rule is one function; none depends on the unit of the scores.
docs/reference/fusion.md has the formulas and where they are from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import UnknownNameError
from rankscope.runs.fusion.pooling import Ranking

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Pool
    from rankscope.runs.order import Floats

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


def normalised(pool: Pool, name: str) -> Floats:
    """Return the table of normalised scores; a cell is NaN where nothing was returned."""
    if name == "borda":
        return pool.borda_points / pool.candidates[pool.query][:, None]
    return pool.table(map(NORMALISATIONS[name], pool.rankings))


def _scaled(ranking: Ranking) -> tuple[Floats, Floats, Floats]:
    """Return by row the score, the list's highest and its lowest, in a unit of about the largest.

    The unit is a power of two, so nothing is rounded, and differences of huge scores stay finite.
    """
    score = ranking.score
    high, low = (ranking.spread(score[end]) for end in (ranking.first, ranking.last))
    _, exponent = np.frexp(np.maximum(np.abs(high), np.abs(low)))
    return np.ldexp(score, -exponent), np.ldexp(high, -exponent), np.ldexp(low, -exponent)


def _total(ranking: Ranking, values: Floats) -> Floats:
    """Add up by list what is given by row, and return the total by row."""
    return ranking.spread(np.add.reduceat(values, ranking.first) if values.size else values)


def _divided(above: Floats, below: Floats, equal: Floats | float) -> Floats:
    """Divide; ``equal`` where there is 0 below, as all scores of the list are equal."""
    otherwise = np.broadcast_to(np.float64(equal), above.shape).copy()
    return np.divide(above, below, out=otherwise, where=below > 0)


def minmax(ranking: Ranking) -> Floats:
    """From 0 for the run's worst document to 1 for its best; of equal ones all are the best."""
    score, high, low = _scaled(ranking)
    return _divided(score - low, high - low, equal=1.0)


def zscore(ranking: Ranking) -> Floats:
    """How many standard deviations above the mean of the query's list; 0 if scores are equal."""
    score, high, low = _scaled(ranking)
    above = score - _total(ranking, score) / ranking.size
    deviation = np.sqrt(_total(ranking, above * above) / ranking.size)
    return _divided(above, np.where(high > low, deviation, 0.0), equal=0.0)


def rank(ranking: Ranking) -> Floats:
    """Evenly spaced from 1 for the best document down to 1/n for the worst of n."""
    return 1 - (ranking.rank - 1) / ranking.size


def share(ranking: Ranking) -> Floats:
    """A share of the query's list: shifted to begin at 0, the scores add up to 1."""
    score, _, low = _scaled(ranking)
    return _divided(score - low, _total(ranking, score - low), equal=1 / ranking.size)


def part(ranking: Ranking) -> Floats:
    """A part of the query's best score; zero stays zero, unless scores are below it.

    Then the lowest becomes 0: dividing by a negative best would turn the list round.
    """
    score, high, low = _scaled(ranking)
    zero = np.minimum(low, 0.0)
    return _divided(score - zero, high - zero, equal=1.0)


NORMALISATIONS: dict[str, Callable[[Ranking], Floats]] = {
    "minmax": minmax,
    INVERTED: minmax,
    "zscore": zscore,
    "rank": rank,
    "sum": share,
    "max": part,
    "borda": rank,  # by the candidates of all runs: `normalised`
}
"""All rules by name, in order: from a ranking to a value for each of its rows."""
