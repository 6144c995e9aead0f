"""Normalisation: the scores of different systems brought to one scale, query by query.

A step before fusion. A rule is one function with a decorator: of a ranking, and then of each run's
by itself, or of a whole pool. None depends on the unit of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import UnknownNameError
from rankscope.runs.table import Run

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Pool, Ranking
    from rankscope.runs.order import Floats

Rule = Callable[["Pool"], "Floats"]
"""From a pool to the table of normalised scores; a cell is NaN where nothing was returned."""

NORMALISATIONS: dict[str, Rule] = {}
"""All rules by name, in order."""

INVERTED = "minmaxinverted"
"""The rule for distances: runs are turned round (`negated`) before they are ranked."""

_OTHER_NAMES = {"zmuv": "zscore"}


def normalisation_named(name: str) -> str:
    """Return the name of a rule, which may be ranx's; an unknown one is an error.

    >>> normalisation_named("min-max"), normalisation_named("ZMUV")
    ('minmax', 'zscore')
    """
    plain = str(name).casefold().replace("-", "").replace("_", "")
    known = _OTHER_NAMES.get(plain, plain)
    if known not in NORMALISATIONS:
        raise UnknownNameError("normalisation", str(name), NORMALISATIONS)
    return known


def negated(run: Run) -> Run:
    """Return a run of distances, the lowest first, as one of scores."""
    scores = -run.scores.to_numpy()
    return Run.trusted(run.query_ids, run.sizes, run.doc_ids, scores, name=run.name)


ListRule = Callable[["Ranking"], "Floats"]


def _by_list(name: str) -> Callable[[ListRule], ListRule]:
    """Register a function of one ranking, which returns a value for each of its rows."""

    def register(rule: ListRule) -> ListRule:
        NORMALISATIONS[name] = lambda pool: pool.table(map(rule, pool.rankings))
        return rule

    return register


def _scaled(ranking: Ranking) -> tuple[Floats, Floats, Floats]:
    """Return the scores with their highest and lowest by query, in a unit of about the largest.

    The unit is a power of two, so nothing is rounded, and differences of huge scores stay finite.
    """
    score = ranking.score
    high, low = score[ranking.first], score[ranking.last]
    _, exponent = np.frexp(np.maximum(np.abs(high), np.abs(low)))
    by_row = np.repeat(exponent, ranking.size)
    return np.ldexp(score, -by_row), np.ldexp(high, -exponent), np.ldexp(low, -exponent)


def _divided(ranking: Ranking, above: Floats, by: Floats, equal: Floats | float) -> Floats:
    """Return row values over query values; ``equal`` where these are 0, as all scores are equal."""
    by_row = np.repeat(by, ranking.size)
    constant = np.repeat(np.broadcast_to(equal, by.shape), ranking.size)
    return np.divide(above, by_row, out=constant.astype(np.float64), where=by_row > 0)


@_by_list("minmax")
def minmax(ranking: Ranking) -> Floats:
    """From 0 for the run's worst document to 1 for its best.

    Formula: (s − min) / (max − min)
    Equal scores: all are the best, 1 (so is a single document)
    Reference: Lee, Analyses of multiple evidence combination, SIGIR 1997
    """
    score, high, low = _scaled(ranking)
    return _divided(ranking, score - np.repeat(low, ranking.size), high - low, 1.0)


NORMALISATIONS[INVERTED] = NORMALISATIONS["minmax"]


@_by_list("zscore")
def zscore(ranking: Ranking) -> Floats:
    """How many standard deviations above the mean of the query's list.

    Formula: (s − mean) / σ, with σ² = Σ (s − mean)² / n
    Equal scores: 0
    Reference: Montague and Aslam, Relevance score normalization for metasearch, CIKM 2001 (ZMUV)
    """
    score, high, low = _scaled(ranking)
    mean = ranking.total(score) / ranking.size
    above = score - np.repeat(mean, ranking.size)
    deviation = np.where(high > low, np.sqrt(ranking.total(above * above) / ranking.size), 0.0)
    return _divided(ranking, above, deviation, 0.0)


@_by_list("rank")
def rank(ranking: Ranking) -> Floats:
    """Evenly spaced from 1 for the best document down to 1/n for the worst of n.

    Formula: 1 − (rank − 1) / n
    Equal scores: ranked by id, as everywhere
    Reference: Renda and Straccia, Web metasearch: rank vs. score based rank aggregation, SAC 2003
    """
    return 1 - (ranking.rank - 1) / ranking.row_size


@_by_list("sum")
def share(ranking: Ranking) -> Floats:
    """A share of the query's list: shifted to begin at 0, the scores add up to 1.

    Formula: (s − min) / Σ (s − min)
    Equal scores: 1/n each
    Reference: Montague and Aslam, Relevance score normalization for metasearch, CIKM 2001 (Sum)
    """
    score, _, low = _scaled(ranking)
    above = score - np.repeat(low, ranking.size)
    return _divided(ranking, above, ranking.total(above), 1 / ranking.size)


@_by_list("max")
def part(ranking: Ranking) -> Floats:
    """A part of the query's best score; zero stays zero.

    Formula: (s − z) / (max − z), with z = min(0, lowest score)
    Negative scores: the lowest becomes 0 (z), since dividing by a negative best would turn the
        list round; without negative scores it is s / max
    Equal scores: all are the best, 1
    Reference: Lee, Combining multiple evidence from different properties of weighting schemes,
        SIGIR 1995
    """
    score, high, low = _scaled(ranking)
    zero = np.minimum(low, 0.0)
    return _divided(ranking, score - np.repeat(zero, ranking.size), high - zero, 1.0)


def _borda(pool: Pool) -> Floats:
    """Return Borda's points over the number C of candidates, which all runs together decide.

    Formula: 1 − (rank − 1) / C
    Not returned: each run has all candidates then, those it lacked with (C − n + 1) / 2C
    Reference: Renda and Straccia, as for rank
    """
    return pool.borda_points / pool.candidates[pool.query][:, None]


NORMALISATIONS["borda"] = _borda
