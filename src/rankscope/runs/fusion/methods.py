"""Fusion methods: one short pure function each, from a pool of candidates to their scores.

A step after pooling and normalisation. A method is registered by its decorator and by nothing else.
Throughout, ranks count from 1 by trec_eval's rule (score from high to low, then id from high to low
by bytes), s is a score as given or normalised, N the number of runs that returned a document, and w
a run's weight (1 if none is given). A run that lacks a query returned nothing for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import UnknownNameError
from rankscope.runs.fusion import learning
from rankscope.runs.fusion.normalisation import NORMALISATIONS

if TYPE_CHECKING:
    from rankscope.runs.fusion.learning import Lists, Training
    from rankscope.runs.fusion.pooling import Pool
    from rankscope.runs.order import Floats, Ints

Function = Callable[..., "Floats"]

_CELLS = 1 << 18
_DRAW = 1e-12  # shares of the vote this near to each other are equal but for rounding


@dataclass(frozen=True, slots=True)
class Method:
    """How runs are fused."""

    name: str
    function: Function
    summary: str
    options: dict[str, Any]
    """What may be set, and what it is otherwise."""
    observe: Callable[..., Callable[[Lists], Ints]] | None = None
    """Of a trained method: from the options to what it learns from judged lists."""

    @property
    def is_weighted(self) -> bool:
        """Whether runs can have weights."""
        return "weights" in self.options


METHODS: dict[str, Method] = {}
"""All methods by name."""

_OTHER_NAMES: dict[str, str] = {}


def method(
    name: str,
    *other_names: str,
    observe: Callable[..., Callable[[Lists], Ints]] | None = None,
) -> Callable[[Function], Function]:
    """Register a function of a pool and of its options as a method; other names are ranx's."""

    def register(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        options = {p.name: None if p.default is p.empty else p.default for p in parameters}
        if observe is not None:
            options = {"qrels": None, **{n: v for n, v in options.items() if n != "training"}}
        summary = (function.__doc__ or name).splitlines()[0]
        METHODS[name] = Method(name, function, summary, options, observe)
        _OTHER_NAMES.update(dict.fromkeys(other_names, name))
        return function

    return register


def method_named(name: str) -> Method:
    """Return a method; an unknown one is an error that names the nearest.

    >>> method_named("CombMNZ").name, method_named("w_bordafuse").name
    ('combmnz', 'borda')
    """
    plain = str(name).casefold().replace("-", "").replace("_", "")
    known = METHODS.get(_OTHER_NAMES.get(plain, plain))
    if known is None:
        raise UnknownNameError("fusion method", str(name), METHODS)
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


def _scores(pool: Pool, normalise: str | None) -> Floats:
    return pool.score if normalise is None else NORMALISATIONS[normalise](pool)


def _returned(table: Floats) -> Ints:
    """Return by candidate how many runs returned it: N."""
    returned: Ints = np.count_nonzero(~np.isnan(table), axis=1)
    return returned


# --- by rank ---------------------------------------------------------------------------------


@method("rrf")
def rrf(pool: Pool, *, k: float = 60, weights: Floats) -> Floats:
    """Reciprocal rank fusion: the ranks alone, high ones counting most.

    Formula: Σ over the runs that returned it of w / (k + rank); k = 60
    Reference: Cormack, Clarke and Büttcher, Reciprocal rank fusion outperforms Condorcet and
        individual rank learning methods, SIGIR 2009

    >>> from rankscope.runs.fusion.fuse import fuse
    >>> fuse([{"q": ["a", "b"]}, {"q": ["b"]}], k=1)["q"]  # b: 1/(1+2) + 1/(1+1)
    {'b': 0.8333333333333333, 'a': 0.5}
    """
    return _sum(1 / (k + pool.rank), weights)


@method("isr")
def isr(pool: Pool, *, weights: Floats) -> Floats:
    """Inverse square rank: the top of the lists, times the number of runs that returned it.

    Formula: N · Σ w / rank²
    Reference: Mourão, Martins and Magalhães, Multimodal medical information retrieval with
        unsupervised rank fusion, Computerized Medical Imaging and Graphics 39, 2015
    """
    return _returned(pool.rank) * _sum(1 / np.square(pool.rank), weights)


@method("logisr")
def logisr(pool: Pool, *, weights: Floats) -> Floats:
    """Inverse square rank with a logarithm of the number of runs.

    Formula: ln(N) · Σ w / rank²; all documents that one run alone returned score 0 and tie
    Reference: as for isr
    """
    return lognisr(pool, sigma=0.0, weights=weights)


@method("lognisr")
def lognisr(pool: Pool, *, sigma: float = 0.01, weights: Floats) -> Floats:
    """Inverse square rank with a logarithm that is above 0 for a single run.

    Formula: ln(N + σ) · Σ w / rank²; σ = 0.01 keeps the order of what one run alone returned
    Reference: as for isr
    """
    logarithm: Floats = np.log(_returned(pool.rank) + sigma)
    return logarithm * _sum(1 / np.square(pool.rank), weights)


@method("rbc")
def rbc(pool: Pool, *, p: float = 0.9, weights: Floats) -> Floats:
    """Rank-biased centroids: the chance that a reader of one list after the other gets to it.

    Formula: Σ w · (1 − p) · p^(rank − 1); p = 0.9
    Reference: Bailey, Moffat, Scholer and Thomas, Retrieval consistency in the presence of query
        variations, SIGIR 2017
    """
    return _sum((1 - p) * p ** (pool.rank - 1), weights)


@method("borda", "bordafuse", "wbordafuse")
def borda(pool: Pool, *, weights: Floats) -> Floats:
    """Borda count: each run gives its best candidate as many points as there are candidates.

    Formula: Σ w · (C − rank + 1), C = number of candidates of the query over all runs
    Not returned: the points left over, shared: w · (C − n + 1) / 2, n = documents the run returned
    Reference: Aslam and Montague, Models for metasearch, SIGIR 2001
    """
    return _sum(pool.borda_points, weights)


@method("condorcet", "wcondorcet")
def condorcet(pool: Pool, *, weights: Floats) -> Floats:
    """Pairwise majority: candidates beaten less those it is beaten by.

    Formula: #{y: most runs rank x above y} − #{y: most runs rank y above x}, runs counted by weight
    Not returned: below all that the run returned; of two not returned the run prefers neither
    Cycles and draws: Condorcet-fuse sorts by pairwise majority and leaves their order to the sort;
        counting (Copeland) gives the same order where majorities form one, puts every member of a
        cycle above all they all beat, and makes no difference of equals
    Reference: Montague and Aslam, Condorcet fusion for improved retrieval, CIKM 2002
    """
    is_equal = bool((weights == weights[0]).all()) and len(weights) < np.iinfo(np.int8).max
    votes = np.ones(len(weights), np.int8) if is_equal else weights / weights.sum()
    last = int(pool.candidates.max(initial=0)) + 1
    rank = np.where(np.isnan(pool.rank), last, pool.rank)[pool.by_query]
    columns = rank.T.astype(np.int16 if last < np.iinfo(np.int16).max else np.int32)
    wins_less_losses = np.empty(len(rank))
    ends = np.cumsum(pool.candidates)
    for begin, end in zip((ends - pool.candidates).tolist(), ends.tolist(), strict=True):
        step = max(_CELLS // max(end - begin, 1), 1)  # rows of duels at a time, to bound memory
        for low in range(begin, end, step):
            high = min(low + step, end)
            lead = np.zeros((high - low, end - begin), votes.dtype)
            for column, vote in zip(columns, votes, strict=True):
                duels = np.sign(column[begin:end] - column[low:high, None])
                lead += duels.astype(np.int8) * vote
            won, lost = lead > _DRAW, lead < -_DRAW
            wins_less_losses[pool.by_query[low:high]] = won.sum(axis=1) - lost.sum(axis=1)
    return wins_less_losses


# --- by score --------------------------------------------------------------------------------


@method("minmax")
def minmax(pool: Pool, *, weights: Floats) -> Floats:
    """Linear mix of scores from 0 for each list's worst document to 1 for its best.

    Formula: Σ w · (s − min) / (max − min)
    Not returned: adds 0, as the worst one that was
    """
    return _sum(_scores(pool, "minmax"), weights)


@method("zscore")
def zscore(pool: Pool, *, weights: Floats) -> Floats:
    """Linear mix of standard deviations above the mean of each list.

    Formula: Σ w · (s − mean) / σ, with σ² = Σ (s − mean)² / n
    Not returned: the lowest of the list, since 0 would be better than half of it; −1 where all
        scores are equal; nothing from a run that lacks the query
    """
    table = _scores(pool, "zscore")
    for which, ranking in enumerate(pool.rankings):
        lowest = table[pool.candidate[which][ranking.last], which]
        absent = np.zeros(pool.queries)
        absent[ranking.query] = np.where(lowest < 0, lowest, -1.0)
        column = table[:, which]
        np.copyto(column, absent[pool.query], where=np.isnan(column))
    return _sum(table, weights)


@method("combsum", "sum", "wsum")
def combsum(pool: Pool, *, normalise: str | None = None, weights: Floats) -> Floats:
    """Sum of the scores of the runs that returned it.

    Formula: Σ w · s
    Not returned: adds 0, which is more than a negative score
    Reference: Fox and Shaw, Combination of multiple searches, TREC-2, 1993
    """
    return _sum(_scores(pool, normalise), weights)


@method("combmnz", "mnz")
def combmnz(pool: Pool, *, normalise: str | None = None, weights: Floats) -> Floats:
    """CombSUM times the number of runs that returned it.

    Formula: N · Σ w · s
    Not returned: adds 0 and is not counted in N; a run counts whatever its score and weight
    Reference: as for combsum
    """
    return gmnz(pool, gamma=1.0, normalise=normalise, weights=weights)


@method("gmnz", "combgmnz")
def gmnz(
    pool: Pool, *, gamma: float = 1.0, normalise: str | None = None, weights: Floats
) -> Floats:
    """CombSUM times a power of the number of runs that returned it.

    Formula: N^γ · Σ w · s; γ = 1, which is CombMNZ; 0 is CombSUM
    Reference: Lee, Analyses of multiple evidence combination, SIGIR 1997
    """
    scores = _scores(pool, normalise)
    return _returned(scores) ** gamma * _sum(scores, weights)


@method("mixed")
def mixed(pool: Pool, *, normalise: str | None = None, weights: Floats) -> Floats:
    """CombSUM times the square root of the number of runs that returned it.

    Formula: √N · Σ w · s
    Reference: Wu and Crestani, Data fusion with estimated weights, CIKM 2002
    """
    return gmnz(pool, gamma=0.5, normalise=normalise, weights=weights)


@method("wmnz")
def wmnz(pool: Pool, *, normalise: str | None = None, weights: Floats) -> Floats:
    """Sum of the scores times the sum of the weights of the runs that returned it.

    Formula: Σ w · Σ s
    Reference: as for mixed
    """
    scores = _scores(pool, normalise)
    return _sum(np.where(np.isnan(scores), 0.0, weights)) * _sum(scores)


@method("combanz", "anz")
def combanz(pool: Pool, *, normalise: str | None = None) -> Floats:
    """Mean of the scores of the runs that returned it.

    Formula: Σ s / N
    Reference: as for combsum
    """
    scores = _scores(pool, normalise)
    return _sum(scores) / _returned(scores)


@method("combmax", "max")
def combmax(pool: Pool, *, normalise: str | None = None) -> Floats:
    """Highest of the scores of the runs that returned it.

    Formula: max s
    Reference: as for combsum
    """
    highest: Floats = np.fmax.reduce(_scores(pool, normalise), axis=1)
    return highest


@method("combmin", "min")
def combmin(pool: Pool, *, normalise: str | None = None) -> Floats:
    """Lowest of the scores of the runs that returned it.

    Formula: min s
    Not returned: left out, not 0
    Reference: as for combsum
    """
    lowest: Floats = np.fmin.reduce(_scores(pool, normalise), axis=1)
    return lowest


@method("combmed", "med")
def combmed(pool: Pool, *, normalise: str | None = None) -> Floats:
    """Median of the scores of the runs that returned it.

    Formula: median s; of an even number the mean of the middle two
    Reference: as for combsum
    """
    scores = _scores(pool, normalise)
    ordered = np.sort(scores, axis=1)  # empty cells go last
    row, returned = np.arange(len(ordered)), _returned(scores)
    below, above = ordered[row, (returned - 1) // 2], ordered[row, returned // 2]
    return below / 2 + above / 2  # halved first: the sum of two large scores may be infinite


# --- trained: P is learnt, by run, from the judged queries other than the one that is fused ---


@method("bayesfuse", observe=lambda: learning.parts(learning.BAYES_EDGES))
def bayesfuse(pool: Pool, *, training: Training) -> Floats:
    """Sum of the log odds that documents at about this rank were relevant.

    Formula: Σ over all runs of ln(P / (1 − P)), P = mean over judged queries of the relevant
        documents at ranks 1–5, –10, –15, –20, –30, –100, –200, –500, –1000 over the number of such
        ranks; 0.001 in the place of a part that is 0
    Not returned, or at a rank beyond 1000: ln(0.001 / 0.999)
    Reference: Aslam and Montague, Models for metasearch, SIGIR 2001
    """
    edges, width = learning.BAYES_EDGES, learning.widths(learning.BAYES_EDGES)
    columns = []
    for which, ranking in enumerate(pool.rankings):
        odds = learning.log_odds(training.of_others(which, pool).mean(width))
        columns.append(odds[ranking.row_query, learning.part_of(ranking, edges)])
    return _sum(pool.table(columns, absent=float(learning.log_odds(np.zeros(1))[0])))


@method("mapfuse", observe=lambda: learning.average_precision)
def mapfuse(pool: Pool, *, training: Training) -> Floats:
    """Sum of reciprocal ranks, each run weighted by its mean average precision.

    Formula: Σ MAP / rank
    Reference: Lillis et al., Estimating probabilities for effective data fusion, SIGIR 2010
    """
    columns = [
        training.of_others(which, pool).mean(learning.UNIT)[ranking.row_query, 0] / ranking.rank
        for which, ranking in enumerate(pool.rankings)
    ]
    return _sum(pool.table(columns))


@method("posfuse", observe=lambda: learning.positions)
def posfuse(pool: Pool, *, training: Training) -> Floats:
    """Sum of the probabilities that the document at this rank is relevant.

    Formula: Σ P(rank), the share of relevant documents among those at this rank; 0 where no judged
        list is so long
    Reference: as for mapfuse
    """
    columns = [
        learning.at_rank(training.of_others(which, pool))[ranking.row_query, ranking.rank - 1]
        for which, ranking in enumerate(pool.rankings)
    ]
    return _sum(pool.table(columns))


@method("slidefuse", observe=lambda **_: learning.positions)
def slidefuse(pool: Pool, *, window: int = 5, training: Training) -> Floats:
    """Sum of the probabilities that documents around this rank are relevant.

    Formula: Σ mean of P(r) over the ranks r of the list up to ``window`` = 5 away; P as in posfuse
    Reference: Lillis, Toolan, Collier and Dunnion, Extending probabilistic data fusion using
        sliding windows, ECIR 2008
    """
    columns = []
    for which, ranking in enumerate(pool.rankings):
        probability = learning.at_rank(training.of_others(which, pool))
        up_to = np.cumsum(np.pad(probability, ((0, 0), (1, 0))), axis=1)
        low = np.maximum(ranking.rank - 1 - window, 0)
        high = np.minimum(ranking.rank + window, ranking.row_size)
        within = up_to[ranking.row_query, high] - up_to[ranking.row_query, low]
        columns.append(within / (high - low))
    return _sum(pool.table(columns))


@method("segfuse", observe=lambda **_: learning.parts(learning.SEGMENT_EDGES))
def segfuse(pool: Pool, *, normalise: str | None = None, training: Training) -> Floats:
    """Sum of scores plus 1, weighted by how often this part of the run's lists was relevant.

    Formula: Σ P(part) · (s + 1), the parts being ranks 1–5, –15, –35, –75, …, –5115: each twice as
        long as the one before; P = mean over judged queries of relevant documents over ranks
    Reference: Shokouhi, Segmentation of search engine results for effective data-fusion, ECIR 2007
    """
    edges, width = learning.SEGMENT_EDGES, learning.widths(learning.SEGMENT_EDGES)
    columns = [
        training.of_others(which, pool).mean(width)[
            ranking.row_query, learning.part_of(ranking, edges)
        ]
        for which, ranking in enumerate(pool.rankings)
    ]
    return _sum(pool.table(columns) * (_scores(pool, normalise) + 1))


@method("probfuse", observe=learning.segment_shares)
def probfuse(pool: Pool, *, segments: int = 25, training: Training) -> Floats:
    """Probabilistic fusion: how often each segment of each run's lists was relevant.

    Formula: Σ P(segment) / segment, segments counted from 1; a list of n is cut into pieces of
        ⌈n / x⌉, x = 25. P = mean over judged queries of the share of the segment that is relevant
    Reference: Lillis, Toolan, Collier and Dunnion, ProbFuse: a probabilistic approach to data
        fusion, SIGIR 2006 (probFuseAll)
    """
    columns = []
    for which, ranking in enumerate(pool.rankings):
        segment = learning.segment_of(ranking, segments)
        probability = training.of_others(which, pool).mean(learning.UNIT)
        columns.append(probability[ranking.row_query, segment] / (segment + 1))
    return _sum(pool.table(columns))
