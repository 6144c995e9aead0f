"""Fusion methods: one short pure function each, from a pool of candidates to their scores.

A step after pooling and normalisation. A method is registered by its decorator and by nothing else.
Throughout, ranks count from 1 by trec_eval's rule (score from high to low, then id from high to low
by bytes), N is the number of runs that returned a document, w a run's weight (1 if none is given),
and a query that a run lacks is one for which it returned nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import UnknownNameError
from rankscope.runs.fusion.normalisation import NORMALISATIONS, normalisation_named
from rankscope.runs.fusion.probfuse import learnt, segment_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.runs.fusion.normalisation import Rule
    from rankscope.runs.fusion.pooling import Pool, SideBySide
    from rankscope.runs.order import Bools, Floats

_CELLS = 1 << 18
_SMALL = np.iinfo(np.int16).max
_DRAW = 1e-12  # shares of the vote this near to each other are equal but for rounding


@dataclass(frozen=True, slots=True)
class Method:
    """How runs are fused.

    ``options`` names what may be set; ``prepare`` turns options that need a look at all queries
    into what the function takes.
    """

    name: str
    function: Callable[..., Floats]
    summary: str
    options: tuple[str, ...]
    prepare: Callable[[SideBySide, dict[str, Any]], dict[str, Any]] | None = None

    @property
    def is_weighted(self) -> bool:
        """Whether runs can have weights."""
        return "weights" in self.options


METHODS: dict[str, Method] = {}
"""All methods by name."""


def method(
    name: str,
    *options: str,
    prepare: Callable[[SideBySide, dict[str, Any]], dict[str, Any]] | None = None,
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register a function of a pool, and of the options named, as a method."""

    def register(function: Callable[..., Floats]) -> Callable[..., Floats]:
        summary = (function.__doc__ or name).splitlines()[0]
        METHODS[name] = Method(name, function, summary, options, prepare)
        return function

    return register


def method_named(name: str) -> Method:
    """Return a method; an unknown one is an error that names the nearest.

    >>> method_named("CombMNZ").name
    'combmnz'
    """
    known = METHODS.get(name.casefold().replace("-", "").replace("_", ""))
    if known is None:
        raise UnknownNameError("fusion method", name, METHODS)
    return known


def _sum(table: Floats, weights: Floats | None = None) -> Floats:
    """Add up each row; an empty cell counts nothing.

    From three terms on they are added from low to high: the order of the runs makes no difference,
    and documents with the same terms tie exactly.
    """
    terms = np.where(np.isnan(table), 0.0, table)
    if weights is not None:
        terms *= weights
    if terms.shape[1] > 2:
        terms.sort(axis=1)
    total: Floats = terms.sum(axis=1)
    return total


@method("rrf", "k", "weights")
def rrf(pool: Pool, *, k: float, weights: Floats) -> Floats:
    """Reciprocal rank fusion: the ranks alone, high ones counting most.

    Formula: Σ over the runs that returned it of w / (k + rank); k = 60
    Not returned: adds 0
    Reference: Cormack, Clarke and Büttcher, Reciprocal rank fusion outperforms Condorcet and
        individual rank learning methods, SIGIR 2009

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b"]}, {"q": ["b"]}], k=1)["q"]  # b: 1/(1+2) + 1/(1+1)
    {'b': 0.8333333333333333, 'a': 0.5}
    """
    return _sum(1 / (k + pool.rank), weights)


def _linear(name: str, rule: Rule) -> None:
    """Register the linear mix of scores normalised by a rule.

    Formula: Σ over all runs of w · normalised score
    Not returned: what the rule says; nothing from a run that lacks the query
    """

    def mix(pool: Pool, *, weights: Floats) -> Floats:
        columns, absent = [], []
        for ranking in pool.rankings:
            normalised = rule(ranking)
            missing = np.zeros(pool.queries)
            missing[ranking.query] = normalised.absent
            columns.append(normalised.values)
            absent.append(missing)
        return _sum(pool.table(columns, absent), weights)

    first = (rule.__doc__ or "").splitlines()[0]
    mix.__doc__ = f"Linear mix of normalised scores: {first[0].lower()}{first[1:]}"
    method(name, "weights")(mix)


for _name, _rule in NORMALISATIONS.items():
    _linear(_name, _rule)


def _scores(pool: Pool, normalise: str | None) -> Floats:
    """Return the table of scores, as given or normalised; empty where nothing was returned."""
    if normalise is None:
        return pool.table([ranking.score for ranking in pool.rankings])
    rule = normalisation_named(normalise)
    return pool.table([rule(ranking).values for ranking in pool.rankings])


@method("combsum", "normalise", "weights")
def combsum(pool: Pool, *, normalise: str | None, weights: Floats) -> Floats:
    """Sum of the scores of the runs that returned it.

    Formula: Σ w · s
    Not returned: adds 0, which is more than a negative score
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": {"a": 3, "b": 1}}, {"q": {"b": 4}}], method="combsum")["q"]
    {'b': 5.0, 'a': 3.0}
    """
    return _sum(_scores(pool, normalise), weights)


@method("combmnz", "normalise", "weights")
def combmnz(pool: Pool, *, normalise: str | None, weights: Floats) -> Floats:
    """CombSUM times the number of runs that returned it.

    Formula: N · Σ w · s
    Not returned: adds 0 and is not counted in N; a run counts whatever its score and weight
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": {"a": 7, "b": 1}}, {"q": {"b": 3}}], method="combmnz")["q"]
    {'b': 8.0, 'a': 7.0}
    """
    return pool.returned * _sum(_scores(pool, normalise), weights)


@method("combanz", "normalise")
def combanz(pool: Pool, *, normalise: str | None) -> Floats:
    """Mean of the scores of the runs that returned it.

    Formula: Σ s / N
    Not returned: left out of the mean
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": {"a": 7, "b": 1}}, {"q": {"b": 3}}], method="combanz")["q"]
    {'a': 7.0, 'b': 2.0}
    """
    return _sum(_scores(pool, normalise)) / pool.returned


@method("combmax", "normalise")
def combmax(pool: Pool, *, normalise: str | None) -> Floats:
    """Highest of the scores of the runs that returned it.

    Formula: max s
    Not returned: left out
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": {"a": 2, "b": 1}}, {"q": {"b": 3}}], method="combmax")["q"]
    {'b': 3.0, 'a': 2.0}
    """
    highest: Floats = np.fmax.reduce(_scores(pool, normalise), axis=1)
    return highest


@method("combmin", "normalise")
def combmin(pool: Pool, *, normalise: str | None) -> Floats:
    """Lowest of the scores of the runs that returned it.

    Formula: min s
    Not returned: left out, not 0
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": {"a": 2, "b": 1}}, {"q": {"b": 3}}], method="combmin")["q"]
    {'a': 2.0, 'b': 1.0}
    """
    lowest: Floats = np.fmin.reduce(_scores(pool, normalise), axis=1)
    return lowest


@method("combmed", "normalise")
def combmed(pool: Pool, *, normalise: str | None) -> Floats:
    """Median of the scores of the runs that returned it.

    Formula: median s; of an even number the mean of the middle two
    Not returned: left out
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> runs = [{"q": {"a": 1}}, {"q": {"a": 2}}, {"q": {"a": 9}}]
    >>> fuse(runs, method="combmed")["q"]
    {'a': 2.0}
    """
    ordered = np.sort(_scores(pool, normalise), axis=1)  # empty cells go last
    row = np.arange(len(ordered))
    below, above = ordered[row, (pool.returned - 1) // 2], ordered[row, pool.returned // 2]
    return below / 2 + above / 2  # halved first: the sum of two large scores may be infinite


@method("isr", "weights")
def isr(pool: Pool, *, weights: Floats) -> Floats:
    """Inverse square rank: the top of the lists, times the number of runs that returned it.

    Formula: N · Σ w / rank²
    Not returned: adds 0 and is not counted in N
    Reference: Mourão, Martins and Magalhães, Multimodal medical information retrieval with
        unsupervised rank fusion, Computerized Medical Imaging and Graphics 39, 2015

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b"]}, {"q": ["b"]}], method="isr")["q"]
    {'b': 2.5, 'a': 1.0}
    """
    return pool.returned * _sum(1 / np.square(pool.rank), weights)


@method("logisr", "sigma", "weights")
def logisr(pool: Pool, *, sigma: float, weights: Floats) -> Floats:
    """Inverse square rank with a logarithm of the number of runs.

    Formula: ln(N + σ) · Σ w / rank²; σ = 0
    Not returned: adds 0 and is not counted in N; with σ = 0 all documents that one run alone
        returned score 0 and tie, with σ = 0.01 they keep their order
    Reference: as for isr

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b"]}, {"q": ["b"]}], method="logisr")["q"]  # ln(2) · (1/4 + 1)
    {'b': 0.8664339756999316, 'a': 0.0}
    """
    score: Floats = np.log(pool.returned + sigma) * _sum(1 / np.square(pool.rank), weights)
    return score


@method("rbc", "p", "weights")
def rbc(pool: Pool, *, p: float, weights: Floats) -> Floats:
    """Rank-biased centroids: the chance that a reader of one list after the other gets to it.

    Formula: Σ w · (1 − p) · p^(rank − 1); p = 0.9
    Not returned: adds 0
    Reference: Bailey, Moffat, Scholer and Thomas, Retrieval consistency in the presence of query
        variations, SIGIR 2017

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b"]}, {"q": ["b"]}], method="rbc", p=0.5)["q"]
    {'b': 0.75, 'a': 0.5}
    """
    return _sum((1 - p) * p ** (pool.rank - 1), weights)


@method("borda", "weights")
def borda(pool: Pool, *, weights: Floats) -> Floats:
    """Borda count: each run gives its best candidate as many points as there are candidates.

    Formula: Σ w · (C − rank + 1), C = number of candidates of the query over all runs
    Not returned: the points left over, shared: w · (C − n + 1) / 2, n = documents the run returned
    Reference: Aslam and Montague, Models for metasearch, SIGIR 2001

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b", "c"]}, {"q": ["b"]}], method="borda")["q"]  # a: 3 + 1.5
    {'b': 5.0, 'a': 4.5, 'c': 2.5}
    """
    candidates = pool.candidates
    points = [
        np.repeat(candidates[ranking.query], ranking.size) - ranking.rank + 1.0
        for ranking in pool.rankings
    ]
    absent = [(candidates - pool.size(which) + 1) / 2 for which in range(len(pool.rankings))]
    return _sum(pool.table(points, absent), weights)


@method("condorcet", "weights")
def condorcet(pool: Pool, *, weights: Floats) -> Floats:
    """Pairwise majority: candidates beaten less those it is beaten by.

    Formula: #{y: most runs rank x above y} − #{y: most runs rank y above x}, runs counted by weight
    Not returned: below all that the run returned; of two not returned the run prefers neither
    Cycles and draws: Condorcet-fuse sorts by pairwise majority and leaves their order to the sort;
        counting (Copeland) gives the same order where majorities form one, puts every member of a
        cycle above all they all beat, and makes no difference of equals
    Reference: Montague and Aslam, Condorcet fusion for improved retrieval, CIKM 2002

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> runs = [{"q": ["a", "b", "c"]}, {"q": ["b", "a", "c"]}, {"q": ["a", "c"]}]
    >>> fuse(runs, method="condorcet")["q"]
    {'a': 2.0, 'b': 0.0, 'c': -2.0}
    """
    rank = np.where(np.isnan(pool.rank), len(pool.query) + 1, pool.rank).astype(np.int32)
    ends = np.cumsum(pool.candidates)
    lead = np.empty(len(rank))
    for begin, end in zip((ends - pool.candidates).tolist(), ends.tolist(), strict=True):
        candidates = pool.by_query[begin:end]
        lead[candidates] = _majorities(rank[candidates], weights)
    return lead


def _majorities(rank: NDArray[np.int32], weights: Floats) -> Floats:
    """Return wins less losses of one query's candidates, from their ranks by run.

    ``rank`` has the shape (candidates, runs). The table of duels, (candidates, candidates), is made
    some rows at a time, so that it never has more than about `_CELLS` cells.
    """
    size = len(rank)
    narrow = np.int16 if size < _SMALL else np.int32  # quicker to compare
    columns = np.ascontiguousarray(np.minimum(rank, size + 1).T.astype(narrow))
    equal = bool((weights == weights[0]).all()) and len(weights) < np.iinfo(np.int8).max
    votes = [1] * len(weights) if equal else (weights / weights.sum()).tolist()
    draw = 0 if equal else _DRAW
    step = max(_CELLS // max(size, 1), 1)
    wins_less_losses = np.empty(size)
    for low in range(0, size, step):
        shape = (min(step, size - low), size)
        lead = np.zeros(shape, np.int8 if equal else np.float64)
        duel = np.empty(shape, np.bool_)
        for column, vote in zip(columns, votes, strict=True):
            mine = column[low : low + step, None]
            lead += _votes(np.less(mine, column, out=duel), vote)
            lead -= _votes(np.greater(mine, column, out=duel), vote)
        won = np.count_nonzero(lead > draw, axis=1)
        wins_less_losses[low : low + step] = won - np.count_nonzero(lead < -draw, axis=1)
    return wins_less_losses


def _votes(duel: Bools, vote: float) -> NDArray[np.generic]:
    """Return who gets a run's vote; without copying where it is 1."""
    return duel.view(np.int8) if vote == 1 else duel * vote


@method("probfuse", "qrels", "segments", prepare=learnt)
def probfuse(pool: Pool, *, probabilities: list[Floats]) -> Floats:
    """Probabilistic fusion: how often each part of each run's lists was relevant before.

    Formula: Σ P(segment | run) / segment, segments counted from 1; a list of n is cut into pieces
        of ⌈n / x⌉, x = 25. P is the mean over training queries of the part of the segment's
        documents with a grade of 1 or more; unjudged ones are not relevant
    Training: the judged queries, except, for each query fused, itself: its own judgments never
        have a say in its own list
    Not returned: adds 0; a segment no training query has documents in has P = 0
    Reference: Lillis, Toolan, Collier and Dunnion, ProbFuse: a probabilistic approach to data
        fusion, SIGIR 2006 (probFuseAll)

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> first = {"q1": ["a", "b"], "q2": ["a", "b"], "new": ["c", "d"]}
    >>> other = {"q1": ["b", "a"], "q2": ["c", "b"], "new": ["d", "e"]}
    >>> qrels = {"q1": {"a": 1}, "q2": {"c": 1}}
    >>> fuse([first, other], method="probfuse", qrels=qrels, segments=2)["new"]
    {'d': 0.5, 'c': 0.5, 'e': 0.25}
    """
    columns = []
    for ranking, table in zip(pool.rankings, probabilities, strict=True):
        segment = segment_of(ranking, table.shape[1])
        columns.append(table[ranking.row_query + pool.low, segment] / (segment + 1))
    return _sum(pool.table(columns))
