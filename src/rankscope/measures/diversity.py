"""Measures of diversity: a query has subtopics, and a document may serve several of them.

A subtopic counts if at least one document is relevant to it; S is their number. A document
relevant to subtopics that j documents above it served already gains (1 − α)^j for each.
Collection-independent normalisation (alpha_DCG, ERR_IA, NRBP) is by a list of documents that serve
every subtopic; the other (alpha_nDCG, nERR_IA, nNRBP) by a greedy ideal order of the judged ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankscope.measures.definition import REL, number
from rankscope.measures.judged import once, place_in
from rankscope.measures.parts import decay, ratio, total_within
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun, Subtopics

ALPHA = number("alpha", 0.5, "how little a document gains by repeating a subtopic", highest=1.0)
BETA = number("beta", 0.5, "chance to read on after each document", highest=1.0, open_ended=True)


HIGHEST = 1.0 / (1.0 - math.exp(-1.0))
"""A greedy ideal order reaches at least 1 − 1/e of the best, so a run may reach this."""


class _Served(NamedTuple):
    """One entry for each subtopic a document serves; sorted by query, rank."""

    query: IntArray
    rank: IntArray
    subtopic: IntArray
    repeats: IntArray
    """How many documents above serve the subtopic already."""


@once
def _relevant(run: JudgedRun, rel: float) -> tuple[Subtopics, IntArray]:
    """Return the relevant judgments, subtopics numbered through all queries, and S by query."""
    topics = run.subtopics
    assert topics is not None  # `compute` asks for what a measure needs
    keep = topics.grade >= rel
    query = topics.query[keep]
    width = int(topics.subtopic.max(initial=0)) + 1
    _, subtopic = np.unique(query * width + topics.subtopic[keep], return_inverse=True)
    size = int(subtopic.max(initial=-1)) + 1
    owner = np.zeros(size, dtype=np.int64)
    owner[subtopic] = query
    kept = type(topics)(query, topics.doc[keep], subtopic, topics.grade[keep], topics.rank[keep])
    return kept, run.count(owner)


def _served(query: IntArray, rank: IntArray, subtopic: IntArray) -> _Served:
    by_subtopic = np.lexsort((rank, subtopic))
    repeats = np.empty(len(query), dtype=np.int64)
    repeats[by_subtopic] = place_in(subtopic[by_subtopic]) - 1
    order = np.lexsort((subtopic, rank, query))
    return _Served(query[order], rank[order], subtopic[order], repeats[order])


@once
def _hits(run: JudgedRun, rel: float) -> _Served:
    topics, _ = _relevant(run, rel)
    keep = topics.rank > 0
    return _served(topics.query[keep], topics.rank[keep], topics.subtopic[keep])


@once
def _ideal(run: JudgedRun, rel: float, alpha: float) -> _Served:
    """Take, rank by rank, the document that gains most; among equals the one with the highest id.

    All queries take their next document at once, so this is a loop over ranks.
    """
    topics, _ = _relevant(run, rel)
    width = int(topics.doc.max(initial=0)) + 1
    keys, doc = np.unique(topics.query * width + topics.doc, return_inverse=True)
    owner = keys // width
    places = np.zeros(len(keys), dtype=np.int64)
    worth = np.ones(int(topics.subtopic.max(initial=-1)) + 1)
    by_doc = np.argsort(doc, kind="stable")
    starts = np.flatnonzero(place_in(owner) == 1) if len(owner) else np.zeros(0, dtype=np.int64)
    number_of = np.arange(len(keys))
    for rank in range(1, int(run.count(owner).max(initial=0)) + 1):
        gains = np.bincount(doc[by_doc], worth[topics.subtopic[by_doc]], minlength=len(keys))
        gains[places > 0] = -1.0
        best = np.repeat(np.maximum.reduceat(gains, starts), np.diff(starts, append=len(keys)))
        wins = np.maximum.reduceat(np.where(gains == best, number_of, -1), starts)
        wins = wins[gains[wins] >= 0]
        places[wins] = rank
        chosen = places[doc] == rank
        worth[topics.subtopic[chosen]] *= 1.0 - alpha
    return _served(topics.query, places[doc], topics.subtopic)


def _gain_total(
    run: JudgedRun, served: _Served, alpha: float, weights: FloatArray, cutoff: int | None
) -> FloatArray:
    gains = (1.0 - alpha) ** served.repeats * weights
    return total_within(run, served.query, served.rank, gains, cutoff)


def _discount(rank: IntArray) -> FloatArray:
    discount: FloatArray = 1.0 / np.log2(rank + 1.0)
    return discount


def _inverse(rank: IntArray) -> FloatArray:
    return 1.0 / rank


def _perfect(cutoff: int, alpha: float, weights: FloatArray) -> float:
    """Return what k documents that serve one subtopic each time would gain."""
    return float(np.sum((1.0 - alpha) ** np.arange(cutoff) * weights))


@define("alpha_DCG", ALPHA, REL, needs="subtopics")
def alpha_discounted_gain(run: JudgedRun, *, cutoff: int, alpha: float, rel: float) -> FloatArray:
    """Discounted gain that rewards new subtopics, as a share of a list that serves all of them.

    Formula: (Σ down to k of gain / log2(rank + 1)) / (S Σ down to k of (1 − α)^(rank − 1) /
    log2(rank + 1))
    Reference: Clarke et al. 2008; ndeval
    """
    hits, (_, count) = _hits(run, rel), _relevant(run, rel)
    perfect = _perfect(cutoff, alpha, _discount(np.arange(1, cutoff + 1)))
    return ratio(_gain_total(run, hits, alpha, _discount(hits.rank), cutoff), count * perfect)


@define("alpha_nDCG", ALPHA, REL, range=(0.0, HIGHEST), needs="subtopics")
def alpha_normalised_gain(run: JudgedRun, *, cutoff: int, alpha: float, rel: float) -> FloatArray:
    """Discounted gain that rewards new subtopics, as a share of the greedy ideal order's.

    The greedy order is not always the best there is, so a value above 1 can occur.

    Formula: alpha_DCG / alpha_DCG of the ideal order
    Reference: Clarke et al. 2008; ndeval
    """
    hits, best = _hits(run, rel), _ideal(run, rel, alpha)
    mine = _gain_total(run, hits, alpha, _discount(hits.rank), cutoff)
    return ratio(mine, _gain_total(run, best, alpha, _discount(best.rank), cutoff))


@define("ERR_IA", ALPHA, REL, needs="subtopics")
def intent_aware_reciprocal(run: JudgedRun, *, cutoff: int, alpha: float, rel: float) -> FloatArray:
    """Expected reciprocal rank over subtopics, as a share of a list that serves all of them.

    Formula: (Σ down to k of gain / rank) / (S Σ down to k of (1 − α)^(rank − 1) / rank)
    Reference: Chapelle et al. 2009; ndeval
    """
    hits, (_, count) = _hits(run, rel), _relevant(run, rel)
    perfect = _perfect(cutoff, alpha, _inverse(np.arange(1, cutoff + 1)))
    return ratio(_gain_total(run, hits, alpha, _inverse(hits.rank), cutoff), count * perfect)


@define("nERR_IA", ALPHA, REL, range=(0.0, HIGHEST), needs="subtopics")
def intent_aware_normalised_reciprocal(
    run: JudgedRun, *, cutoff: int, alpha: float, rel: float
) -> FloatArray:
    """Expected reciprocal rank over subtopics, as a share of the greedy ideal order's.

    The greedy order is not always the best there is, so a value above 1 can occur.

    Formula: ERR_IA / ERR_IA of the ideal order
    Reference: Chapelle et al. 2009; ndeval
    """
    hits, best = _hits(run, rel), _ideal(run, rel, alpha)
    mine = _gain_total(run, hits, alpha, _inverse(hits.rank), cutoff)
    return ratio(mine, _gain_total(run, best, alpha, _inverse(best.rank), cutoff))


@define("P_IA", REL, needs="subtopics")
def intent_aware_precision(run: JudgedRun, *, cutoff: int, rel: float) -> FloatArray:
    """Precision at k, averaged over subtopics.

    Formula: (1/S) Σ over subtopics of (relevant to it in the first k) / k
    Reference: Agrawal et al. 2009; ndeval
    """
    hits, (_, count) = _hits(run, rel), _relevant(run, rel)
    return ratio(run.count(hits.query[hits.rank <= cutoff]), count * cutoff)


@define("AP_IA", REL, needs="subtopics")
def intent_aware_average_precision(run: JudgedRun, *, rel: float) -> FloatArray:
    """Average precision, averaged over subtopics.

    Formula: (1/S) Σ over subtopics of AP, only documents relevant to it counting
    Reference: Agrawal et al. 2009; ndeval
    """
    hits, (topics, count) = _hits(run, rel), _relevant(run, rel)
    wanted = np.bincount(topics.subtopic)
    worth = (hits.repeats + 1) / (hits.rank * wanted[hits.subtopic])
    return ratio(run.total(hits.query, worth), count)


def _novelty(run: JudgedRun, served: _Served, rel: float, alpha: float, beta: float) -> FloatArray:
    _, count = _relevant(run, rel)
    gains = _gain_total(run, served, alpha, decay(beta, served.rank), None)
    return ratio((1.0 - (1.0 - alpha) * beta) * gains, count)


@define("NRBP", ALPHA, BETA, REL, needs="subtopics")
def novelty_rank_biased(run: JudgedRun, *, alpha: float, beta: float, rel: float) -> FloatArray:
    """Rank-biased precision that rewards new subtopics.

    Formula: ((1 − (1 − α)·β) / S) Σ gain · β^(rank − 1)
    Reference: Clarke, Kolla & Vechtomova 2009; ndeval
    """
    return _novelty(run, _hits(run, rel), rel, alpha, beta)


@define("nNRBP", ALPHA, BETA, REL, range=(0.0, HIGHEST), needs="subtopics")
def normalised_novelty_rank_biased(
    run: JudgedRun, *, alpha: float, beta: float, rel: float
) -> FloatArray:
    """Rank-biased precision that rewards new subtopics, as a share of the greedy ideal order's.

    The greedy order is not always the best there is, so a value above 1 can occur.

    Formula: NRBP / NRBP of the ideal order
    Reference: Clarke, Kolla & Vechtomova 2009; ndeval
    """
    mine = _novelty(run, _hits(run, rel), rel, alpha, beta)
    return ratio(mine, _novelty(run, _ideal(run, rel, alpha), rel, alpha, beta))


@define("StRecall", REL, needs="subtopics")
def subtopic_recall(run: JudgedRun, *, cutoff: int, rel: float) -> FloatArray:
    """Share of the subtopics that the first k documents serve.

    Formula: (subtopics served in the first k) / S
    Reference: Zhai, Cohen & Lafferty 2003; ndeval
    """
    hits, (_, count) = _hits(run, rel), _relevant(run, rel)
    new = (hits.repeats == 0) & (hits.rank <= cutoff)
    return ratio(run.count(hits.query[new]), count)
