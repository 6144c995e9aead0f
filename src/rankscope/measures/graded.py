"""Measures that look at how relevant a document is, not only whether it is.

A gain is what a document of some grade is worth: its grade (linear), 2^grade − 1 (exp), 1 or 0
(binary), or what a table says. Unjudged documents and negative grades gain nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.definition import (
    GAIN,
    INFINITY,
    LEAST,
    MAX_REL,
    MIN_REL,
    REL,
    Factors,
    number,
)
from rankscope.measures.judged import once_for_judgments, place_in
from rankscope.measures.parts import (
    discounted_total,
    gained,
    gains_of,
    ideal,
    ratio,
    running,
    scaled_gains,
    total_within,
)
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.measures.parts import Gain, Gained


@once_for_judgments
def ideal_total(
    run: JudgedRun, gain: Gain, rel: float, cutoff: int | None, least: float | None = None
) -> FloatArray:
    """By query: the discounted gains of the best possible ranking."""
    return discounted_total(run, ideal(run, gain, rel, least), cutoff)


def _logarithmic_factors(
    run: JudgedRun,  # noqa: ARG001
    *,
    gain: Gain,
    rel: float,
    least: float | None,
    **_: object,
) -> Factors:
    """Return the gain of a grade and 1 / log2(rank + 1)."""
    return Factors(
        lambda grade: float(gains_of(np.array([grade]), gain, rel, least)[0]),
        lambda rank: 1.0 / math.log2(rank + 1),
    )


@define("CG", GAIN, REL, LEAST, range=(0.0, INFINITY))
def cumulative_gain(
    run: JudgedRun, *, cutoff: int | None, gain: Gain, rel: float, least: float | None
) -> FloatArray:
    """Sum of gains, wherever above the cutoff they are.

    Formula: Σ down to k of gain
    Reference: Järvelin & Kekäläinen 2000
    """
    documents = gained(run, gain, rel, least)
    return total_within(run, documents.query, documents.rank, documents.gain, cutoff)


@define("DCG", GAIN, REL, LEAST, range=(0.0, INFINITY), factors=_logarithmic_factors)
def discounted_gain(
    run: JudgedRun, *, cutoff: int | None, gain: Gain, rel: float, least: float | None
) -> FloatArray:
    """Sum of gains, each divided by the logarithm of its rank.

    Formula: Σ down to k of gain / log2(rank + 1)
    Reference: Järvelin & Kekäläinen 2002; Burges et al. 2005 (gain=exp)
    """
    return discounted_total(run, gained(run, gain, rel, least), cutoff)


@define(
    "nDCG",
    GAIN,
    REL,
    LEAST,
    factors=lambda run, **more: replace(_logarithmic_factors(run, **more), share_of="DCG"),
)
def normalised_discounted_gain(
    run: JudgedRun, *, cutoff: int | None, gain: Gain, rel: float, least: float | None
) -> FloatArray:
    """Discounted gain as a share of the best possible.

    Formula: DCG@k / IDCG@k, DCG@k = Σ down to k of gain / log2(rank + 1); IDCG@k is DCG@k of all
    judged documents in the best order
    Reference: Järvelin & Kekäläinen 2002; Burges et al. 2005 (gain=exp)
    """
    dcg = discounted_total(run, gained(run, gain, rel, least), cutoff)
    return ratio(dcg, ideal_total(run, gain, rel, cutoff, least))


def ideal_so_far(run: JudgedRun, gain: Gain, rel: float, documents: Gained) -> FloatArray:
    """By document: the sum of gains of the best possible ranking down to its rank."""
    best = ideal(run, gain, rel)
    sums = running(best.rank, best.gain)
    length = run.count(best.query)
    start = np.cumsum(length) - length
    query = documents.query
    at: IntArray = start[query] + np.minimum(documents.rank, length[query]) - 1
    return sums[at]


@define("Q", GAIN, REL, number("beta", 1.0, "weight of the gains against counting"))
def q_measure(
    run: JudgedRun, *, cutoff: int | None, gain: Gain, rel: float, beta: float
) -> FloatArray:
    """Average precision with gains: the blended ratio at each document that gains something.

    Formula: (1/min(R, k)) Σ down to k of (count + β·gains) / (rank + β·ideal gains), all summed
    down to that rank; R counts documents with a gain above 0
    Reference: Sakai 2004
    """
    documents = gained(run, gain, rel)
    place = place_in(documents.query)
    above = place + beta * running(place, documents.gain)
    below = documents.rank + beta * ideal_so_far(run, gain, rel, documents)
    total = total_within(run, documents.query, documents.rank, above / below, cutoff)
    relevant = run.count(ideal(run, gain, rel).query)
    return ratio(total, relevant if cutoff is None else np.minimum(relevant, cutoff))


def _reciprocal(
    run: JudgedRun,
    documents: tuple[IntArray, IntArray, FloatArray],
    max_rel: float | None,
    cutoff: int | None,
) -> FloatArray:
    query, rank, grade = documents
    keep = grade > 0
    query, rank = query[keep], rank[keep]
    highest = max(run.max_grade, 0.0) if max_rel is None else max_rel
    satisfied = np.exp2(np.clip(grade[keep], 0.0, highest) - highest) - np.exp2(-highest)
    place = place_in(query)
    still = running(place, 1.0 - satisfied, np.multiply)
    reached = np.ones(len(query))
    later = np.flatnonzero(place > 1)
    reached[later] = still[later - 1]
    return total_within(run, query, rank, reached * satisfied / rank, cutoff)


@define("ERR", MAX_REL, example="ERR@20")
def expected_reciprocal_rank(
    run: JudgedRun, *, cutoff: int | None, max_rel: float | None
) -> FloatArray:
    """Expected reciprocal rank of the document that satisfies a user who reads downwards.

    The tool gdeval takes 4 as the highest grade whatever the judgments: that is ERR(max_rel=4).

    Formula: Σ down to k of (1/rank) · s · Π over documents above of (1 − s), s = (2^grade − 1) /
    2^max_rel
    Reference: Chapelle, Metzler, Zhang & Grinspan 2009
    """
    return _reciprocal(run, (run.hit_query, run.hit_rank, run.hit_grade), max_rel, cutoff)


@define("nERR", MAX_REL, example="nERR@20")
def normalised_expected_reciprocal_rank(
    run: JudgedRun, *, cutoff: int | None, max_rel: float | None
) -> FloatArray:
    """Expected reciprocal rank as a share of the best possible.

    Formula: ERR@k / ERR@k of all judged documents in order of grade
    Reference: Chapelle, Metzler, Zhang & Grinspan 2009
    """
    mine = _reciprocal(run, (run.hit_query, run.hit_rank, run.hit_grade), max_rel, cutoff)
    best = ideal(run, "linear")
    return ratio(mine, _reciprocal(run, (best.query, best.rank, best.gain), max_rel, cutoff))


@define("SDCG", MIN_REL, MAX_REL)
def scaled_discounted_gain(
    run: JudgedRun, *, cutoff: int, min_rel: float, max_rel: float | None
) -> FloatArray:
    """Discounted gain as a share of k documents of the highest grade, whether they exist or not.

    Formula: (Σ down to k of g / log2(rank + 1)) / (Σ down to k of 1 / log2(rank + 1)), g = (grade −
    min_rel) / (max_rel − min_rel)
    Reference: Järvelin & Kekäläinen 2002; Azzopardi, Thomas & Moffat 2019
    """
    documents = scaled_gains(run, min_rel, max_rel)
    most = float(np.sum(1.0 / np.log2(np.arange(2.0, cutoff + 2.0))))
    return discounted_total(run, documents, cutoff) / most
