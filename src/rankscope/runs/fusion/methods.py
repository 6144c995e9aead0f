"""Fusion methods: one short pure function each, from tables of candidates and runs to scores.

A step after pooling and normalisation. A method is registered by its decorator and by nothing else;
docs/how-to/fuse-and-train.md has the formulas, and how they differ from ranx's.

The parameters of a function say what it looks at, and its keyword arguments what may be set:

- ``rank``: ranks from 1 by trec_eval's rule (score from high to low, then id from high to low)
- ``score``: scores as given, or normalised as ``normalise`` says
- ``weights``: one for each run
- ``chance``: how often documents like this one were relevant in the other judged queries. What they
  are likened by is what the method ``learns``; ``chances`` has it by row of the pool
- ``pool``: everything, for what needs more

Tables have a row for each candidate and a column for each run, and NaN where a run did not return
a candidate. A run that lacks a query returned nothing for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import UnknownNameError
from rankscope.runs.fusion import learning, pooling
from rankscope.runs.fusion.pooling import plain_name

if TYPE_CHECKING:
    from rankscope.runs.fusion.learning import Lesson
    from rankscope.runs.fusion.pooling import Pool
    from rankscope.runs.order import Floats, Ints

Function = Callable[..., "Floats"]
Learns = Callable[[dict[str, Any]], "Lesson"]
"""From the options of a trained method to what it learns."""

_CELLS = 1 << 18
_DRAW = 1e-12  # shares of the vote this near to each other are equal but for rounding


@dataclass(frozen=True, slots=True)
class Method:
    """How runs are fused."""

    name: str
    function: Function
    summary: str
    inputs: tuple[str, ...]
    """What it looks at."""
    options: dict[str, Any]
    """What may be set, and what it is otherwise."""
    learns: Learns | None = None

    @property
    def is_weighted(self) -> bool:
        """Whether runs can have weights."""
        return "weights" in self.inputs


METHODS: dict[str, Method] = {}
"""All methods by name."""

_OTHER_NAMES: dict[str, str] = {}


def method(
    name: str, *other_names: str, learns: Learns | None = None
) -> Callable[[Function], Function]:
    """Register a function as a method; other names are ranx's."""

    def register(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        inputs = tuple(p.name for p in parameters if p.default is p.empty)
        options = {"qrels": None} if learns else {}
        options |= {p.name: p.default for p in parameters if p.default is not p.empty}
        options |= {"normalise": None} if "score" in inputs else {}
        options |= {"weights": None} if "weights" in inputs else {}
        summary = (function.__doc__ or name).splitlines()[0]
        METHODS[name] = Method(name, function, summary, inputs, options, learns)
        _OTHER_NAMES.update(dict.fromkeys(other_names, name))
        return function

    return register


def method_named(name: str) -> Method:
    """Return a method; an unknown one is an error that names the nearest.

    >>> method_named("CombMNZ").name, method_named("w_bordafuse").name
    ('combmnz', 'borda')
    """
    known = METHODS.get(_OTHER_NAMES.get(plain_name(name), plain_name(name)))
    if known is None:
        raise UnknownNameError("fusion method", str(name), METHODS)
    return known


def _sum(table: Floats, weights: Floats | float = 1.0) -> Floats:
    """Add up each row; an empty cell counts nothing.

    From three terms on they are added from low to high: the order of the runs makes no difference,
    and documents with the same terms tie exactly.
    """
    terms = np.where(np.isnan(table), 0.0, table * weights)
    if terms.shape[1] > 2:
        terms.sort(axis=1)
    total: Floats = terms.sum(axis=1)
    return total


def _returned(table: Floats) -> Ints:
    """Return by candidate how many runs returned it."""
    returned: Ints = np.count_nonzero(~np.isnan(table), axis=1)
    return returned


# --- by rank ---------------------------------------------------------------------------------


@method("rrf")
def rrf(rank: Floats, weights: Floats, *, k: float = 60) -> Floats:
    """Reciprocal rank fusion: the ranks alone, high ones counting most.

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b"]}, {"q": ["b"]}], k=1)["q"]  # b: 1/(1+2) + 1/(1+1)
    {'b': 0.8333333333333333, 'a': 0.5}
    """
    return _sum(1 / (k + rank), weights)


@method("isr")
def isr(rank: Floats, weights: Floats) -> Floats:
    """Inverse square rank: the top of the lists, times the number of runs that returned it."""
    return _returned(rank) * _sum(1 / np.square(rank), weights)


@method("logisr")
def logisr(rank: Floats, weights: Floats) -> Floats:
    """Inverse square rank with a logarithm of the number of runs."""
    return lognisr(rank, weights, sigma=0.0)


@method("lognisr")
def lognisr(rank: Floats, weights: Floats, *, sigma: float = 0.01) -> Floats:
    """Inverse square rank with a logarithm that is above 0 for a single run."""
    logarithm: Floats = np.log(_returned(rank) + sigma)
    return logarithm * _sum(1 / np.square(rank), weights)


@method("rbc")
def rbc(rank: Floats, weights: Floats, *, p: float = 0.9) -> Floats:
    """Rank-biased centroids: the chance that a reader of one list after the other gets to it."""
    return _sum((1 - p) * p ** (rank - 1), weights)


@method("borda", "bordafuse", "wbordafuse")
def borda(pool: Pool, weights: Floats) -> Floats:
    """Borda count: each run gives its best candidate as many points as there are candidates."""
    return _sum(pool.borda_points(), weights)


@method("condorcet", "wcondorcet")
def condorcet(pool: Pool, weights: Floats) -> Floats:
    """Pairwise majority: candidates beaten less those it is beaten by.

    What a run did not return is below all that it did; of two such it prefers neither. Sorting by
    majority would leave cycles and draws to the sort; counting (Copeland's rule) gives the same
    order where majorities form one, and makes no difference of equals.
    """
    is_equal = bool((weights == weights[0]).all()) and len(weights) < np.iinfo(np.int8).max
    votes = np.ones(len(weights), np.int8) if is_equal else weights / weights.sum()
    last = int(pool.candidates.max(initial=0)) + 1
    rank = np.nan_to_num(pool.table(pool.rank), nan=last)[pool.by_query].T.astype(np.int32)
    wins_less_losses = np.empty(rank.shape[1])
    ends = np.cumsum(pool.candidates)
    for begin, end in zip((ends - pool.candidates).tolist(), ends.tolist(), strict=True):
        step = max(_CELLS // max(end - begin, 1), 1)  # rows of duels at a time, to bound memory
        for low in range(begin, end, step):
            high = min(low + step, end)
            lead = np.zeros((high - low, end - begin), votes.dtype)
            for column, vote in zip(rank, votes, strict=True):
                lead += np.sign(column[begin:end] - column[low:high, None]).astype(np.int8) * vote
            won, lost = lead > _DRAW, lead < -_DRAW
            wins_less_losses[pool.by_query[low:high]] = won.sum(axis=1) - lost.sum(axis=1)
    return wins_less_losses


# --- by score --------------------------------------------------------------------------------


@method("minmax")
def minmax(pool: Pool, weights: Floats) -> Floats:
    """Linear mix of scores from 0 for each list's worst document to 1 for its best."""
    return _sum(pooling.minmax(pool), weights)


@method("zscore")
def zscore(pool: Pool, weights: Floats) -> Floats:
    """Linear mix of standard deviations above the mean of each list.

    What a run did not return has the lowest of its list, since 0 would be better than half of it;
    -1 where all scores are equal; nothing from a run that lacks the query.
    """
    table, last = pooling.zscore(pool), pool.last
    lowest = table[pool.candidate[last], pool.run[last]]
    absent = np.zeros((pool.queries, pool.runs))
    absent[pool.query[last], pool.run[last]] = np.where(lowest < 0, lowest, -1.0)
    return _sum(np.where(np.isnan(table), absent[pool.query_of], table), weights)


@method("combsum", "sum", "wsum")
def combsum(score: Floats, weights: Floats) -> Floats:
    """Sum of the scores of the runs that returned it."""
    return _sum(score, weights)


@method("combmnz", "mnz")
def combmnz(score: Floats, weights: Floats) -> Floats:
    """CombSUM times the number of runs that returned it, whatever their scores and weights."""
    return gmnz(score, weights, gamma=1.0)


@method("gmnz", "combgmnz")
def gmnz(score: Floats, weights: Floats, *, gamma: float = 1.0) -> Floats:
    """CombSUM times a power of the number of runs that returned it."""
    return _returned(score) ** gamma * _sum(score, weights)


@method("mixed")
def mixed(score: Floats, weights: Floats) -> Floats:
    """CombSUM times the square root of the number of runs that returned it."""
    return gmnz(score, weights, gamma=0.5)


@method("wmnz")
def wmnz(score: Floats, weights: Floats) -> Floats:
    """Sum of the scores times the sum of the weights of the runs that returned it."""
    return _sum(np.where(np.isnan(score), 0.0, weights)) * _sum(score)


@method("combanz", "anz")
def combanz(score: Floats) -> Floats:
    """Mean of the scores of the runs that returned it."""
    return _sum(score) / _returned(score)


@method("combmax", "max")
def combmax(score: Floats) -> Floats:
    """Highest of the scores of the runs that returned it."""
    highest: Floats = np.fmax.reduce(score, axis=1)
    return highest


@method("combmin", "min")
def combmin(score: Floats) -> Floats:
    """Lowest of the scores of the runs that returned it."""
    lowest: Floats = np.fmin.reduce(score, axis=1)
    return lowest


@method("combmed", "med")
def combmed(score: Floats) -> Floats:
    """Median of the scores of the runs that returned it."""
    ordered = np.sort(score, axis=1)  # empty cells go last
    row, returned = np.arange(len(ordered)), _returned(score)
    below, above = ordered[row, (returned - 1) // 2], ordered[row, returned // 2]
    return below / 2 + above / 2  # halved first: the sum of two large scores may be infinite


# --- trained ---------------------------------------------------------------------------------

BAYES_EDGES = np.array([0, 5, 10, 15, 20, 30, 100, 200, 500, 1000])
SEGMENT_EDGES = np.array([0, *(10 * 2**k - 5 for k in range(10))])


@method("bayesfuse", learns=lambda _: learning.by_part(BAYES_EDGES))
def bayesfuse(chance: Floats) -> Floats:
    """Sum of the log odds that documents at about this rank were relevant.

    0.001 takes the place of a part that is 0, as for a document that was not returned.
    """
    odds = np.where(chance > 0, chance, 0.001)
    return _sum(np.log(odds / np.where(odds < 1, 1 - odds, 0.001)))


@method("mapfuse", learns=lambda _: learning.AVERAGE_PRECISION)
def mapfuse(rank: Floats, chance: Floats) -> Floats:
    """Sum of reciprocal ranks, each run weighted by its mean average precision."""
    return _sum(chance / rank)


@method("posfuse", learns=lambda _: learning.BY_RANK)
def posfuse(chance: Floats) -> Floats:
    """Sum of the probabilities that the document at this rank is relevant."""
    return _sum(chance)


@method("slidefuse", learns=lambda _: learning.BY_RANK)
def slidefuse(pool: Pool, chances: Floats, *, window: int = 5) -> Floats:
    """Sum of the probabilities that documents around this rank are relevant."""
    around, rows = np.zeros(len(chances)), np.arange(len(chances))
    reach = min(window, int(pool.size.max(initial=1)))
    for step in range(-reach, reach + 1):  # not by running sums: other lists would show through
        at = rows[(pool.rank + step >= 1) & (pool.rank + step <= pool.size)]
        around[at] += chances[at + step]
    high, low = np.minimum(pool.rank + window, pool.size), np.maximum(pool.rank - 1 - window, 0)
    return _sum(pool.table(around / (high - low)))


@method("segfuse", learns=lambda _: learning.by_part(SEGMENT_EDGES))
def segfuse(score: Floats, chance: Floats) -> Floats:
    """Sum of scores plus 1, weighted by how often this part of the run's lists was relevant."""
    return _sum(chance * (score + 1))


@method("probfuse", learns=lambda options: learning.by_segment(options["segments"]))
def probfuse(pool: Pool, chance: Floats, *, segments: int = 25) -> Floats:
    """Probabilistic fusion: how often each segment of each run's lists was relevant."""
    return _sum(chance / (pool.table(learning.segment_of(pool, segments)) + 1))
