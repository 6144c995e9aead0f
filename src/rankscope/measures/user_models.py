"""Measures made from a model of a user: how far they read, and what they gain on the way.

Gains lie between 0 and 1. Where a model reads on for ever, it is followed for `DEPTH` ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rankscope.measures.definition import (
    INFINITY,
    LEAST,
    MAX_REL,
    MIN_REL,
    REL,
    Factors,
    choice,
    flag,
    gain_parameter,
    number,
)
from rankscope.measures.judged import once, place_in
from rankscope.measures.parts import (
    decay,
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
    from rankscope.measures.parts import Gain

DEPTH = 1000
"""How many ranks INST and INSQ follow a user down, as the tool cwl_eval does."""

PERSISTENCE = number(
    "p", 0.8, "chance to read on after each document", highest=1.0, open_ended=True
)
WANTED = "gain the user wants, in documents of the highest grade"
TARGET = number("T", 1.0, WANTED, lowest=0.5)  # below, the chance to read on would pass 1


@once
def _highest_gain(run: JudgedRun, gain: Gain, scale: str) -> FloatArray:
    """By query: the gain that counts as 1; where there is none, no document gains anything."""
    if scale == "query":
        best = ideal(run, gain)
        highest_gain, first = run.zeros(), best.rank == 1
        highest_gain[best.query[first]] = best.gain[first]
        return highest_gain
    highest = float(gains_of(np.array([run.max_grade]), gain)[0])
    if not isinstance(gain, str):
        highest = max(highest, *(value for _, value in gain))
    return np.full(len(run), highest)


def _persistence_factors(
    run: JudgedRun, *, p: float, gain: Gain, scale: str, rel: float, **_: object
) -> Factors:
    """Return the gain of a grade and (1 − p)·p^(rank − 1), for a run of one query."""
    highest = 1.0 if gain == "binary" else float(_highest_gain(run, gain, scale)[0]) or 1.0
    return Factors(
        lambda grade: float(gains_of(np.array([grade]), gain, rel)[0]) / highest,
        lambda rank: (1.0 - p) * p ** (rank - 1),
    )


@define(
    "RBP",
    PERSISTENCE,
    gain_parameter("binary", "linear", "exp"),
    choice("scale", ("qrels", "query"), "whose highest gain counts as 1, unless gain is binary"),
    REL,
    example="RBP(p=0.95)",
    factors=_persistence_factors,
)
def rank_biased_precision(
    run: JudgedRun, *, cutoff: int | None, p: float, gain: Gain, scale: str, rel: float
) -> FloatArray:
    """Gain by document for a user who reads on with chance p after each.

    Formula: (1 − p) Σ down to k of g · p^(rank − 1); g is 1 for a relevant document, or its gain
    divided by the highest in the judgments (scale=query: of the query)
    Reference: Moffat & Zobel 2008
    """
    documents = gained(run, gain, rel)
    gains = documents.gain
    if gain != "binary":
        gains = gains / _highest_gain(run, gain, scale)[documents.query]
    weights = gains * decay(p, documents.rank)
    return (1.0 - p) * total_within(run, documents.query, documents.rank, weights, cutoff)


@define(
    "RBG",
    PERSISTENCE,
    gain_parameter("linear", "exp"),
    LEAST,
    range=(0.0, INFINITY),
    example="RBG(p=0.95)",
)
def rank_biased_gain(
    run: JudgedRun, *, cutoff: int | None, p: float, gain: Gain, least: float | None
) -> FloatArray:
    """Rank-biased precision with gains as they are, so that it can exceed 1: ranx's rbp.

    Formula: (1 − p) Σ down to k of gain · p^(rank − 1)
    Reference: Moffat & Zobel 2008; Bassani 2022 (ranx)
    """
    documents = gained(run, gain, 1.0, least)
    weights = documents.gain * decay(p, documents.rank)
    return (1.0 - p) * total_within(run, documents.query, documents.rank, weights, cutoff)


@define(
    "RBP_residual",
    PERSISTENCE,
    choice(
        "tail",
        ("always", "unjudged"),
        "count ranks past the run's end always, or only if a retrieved document is unjudged",
    ),
    by_grade=False,
    higher_is_better=False,
    example="RBP_residual(p=0.95)",
    sees_unjudged=True,
)
def rank_biased_residual(run: JudgedRun, *, p: float, tail: str) -> FloatArray:
    """How much RBP could still rise if everything unjudged were of the highest grade.

    Formula: p^retrieved + (1 − p) Σ over unjudged retrieved of p^(rank − 1)
    No relevant document: as usual
    Short run: all ranks past its end are unknown; an empty one leaves 1
    Reference: Moffat & Zobel 2008
    """
    judged = run.relevant(0.0)
    known = (1.0 - p) * run.total(judged.query, decay(p, judged.rank))
    residual = np.clip(1.0 - known, 0.0, 1.0)
    if tail == "unjudged":
        residual = np.where(run.retrieved > run.found(0.0), residual, 0.0)
    return residual


@define("INST", TARGET, MIN_REL, MAX_REL, example="INST(T=2)")
def inst(run: JudgedRun, *, T: float, min_rel: float, max_rel: float | None) -> FloatArray:  # noqa: N803
    """Gain by document for a user who wants T in all and grows more hopeful as it comes in.

    Formula: Σ W(i)·g(i), W(i) ∝ Π over j < i of C(j), C(j) = ((j + T + t − 1) / (j + T + t))², t =
    T − gains down to j; followed for 1000 ranks
    Reference: Bailey, Moffat, Scholer & Thomas 2015
    """
    documents = scaled_gains(run, min_rel, max_rel)
    order = np.argsort(documents.rank, kind="stable")
    query, gains = documents.query[order], documents.gain[order]
    bounds = np.searchsorted(documents.rank[order], np.arange(1, DEPTH + 2))
    reached, total, value, got = np.ones(len(run)), run.zeros(), run.zeros(), run.zeros()
    for rank in range(1, DEPTH + 1):
        total += reached
        here = slice(bounds[rank - 1], bounds[rank])
        at = query[here]
        value[at] += reached[at] * gains[here]
        got[at] += gains[here]
        wanted = rank + 2.0 * T - got
        reached *= ((wanted - 1.0) / wanted) ** 2
    return value / total


@define("INSQ", TARGET, MIN_REL, MAX_REL, example="INSQ(T=2)")
def insq(run: JudgedRun, *, T: float, min_rel: float, max_rel: float | None) -> FloatArray:  # noqa: N803
    """Gain by document for a user who wants T in all, whatever has come in.

    Formula: Σ W(i)·g(i), W(i) ∝ 1 / (i + 2T − 1)²; followed for 1000 ranks
    Reference: Moffat, Scholer & Thomas 2012
    """
    documents = scaled_gains(run, min_rel, max_rel)
    weights = 1.0 / (np.arange(1, DEPTH + 1) + 2.0 * T - 1.0) ** 2
    weights /= weights.sum()
    keep = documents.rank <= DEPTH
    return run.total(
        documents.query[keep], documents.gain[keep] * weights[documents.rank[keep] - 1]
    )


@define(
    "BPM",
    number("T", 1.0, WANTED, open_ended=True),
    MIN_REL,
    MAX_REL,
    example="BPM(T=2)@10",
    tie_bounds=False,
)
def bejewelled_player(
    run: JudgedRun,
    *,
    cutoff: int,
    T: float,  # noqa: N803
    min_rel: float,
    max_rel: float | None,
) -> FloatArray:
    """Gain by document for a user who stops when T is gained or k documents are read.

    Formula: (gains down to s) / s, s = the first rank where they reach T, at most k
    Reference: Zhang, Liu, Li, Zhang, Xu & Ma 2017
    """
    documents = scaled_gains(run, min_rel, max_rel)
    keep = documents.rank <= cutoff
    query, rank, gains = documents.query[keep], documents.rank[keep], documents.gain[keep]
    sums = running(place_in(query), gains)
    done = sums >= T - 1e-12  # three times a third is enough
    stop = np.full(len(run), cutoff, dtype=np.int64)
    np.minimum.at(stop, query[done], rank[done])
    inside = rank <= stop[query]
    return run.total(query[inside], gains[inside]) / stop


@define(
    "Compat",
    number("p", 0.95, "chance to compare one rank more", highest=1.0, open_ended=True),
    flag("normalize", "divide by the best a run of this length can reach", default=True),
    example="Compat(p=0.9)",
)
def compatibility(run: JudgedRun, *, p: float, normalize: bool) -> FloatArray:
    """Rank-biased overlap with the ideal ranking, among equals the one most like the run.

    Formula: Σ down to D of p^(d − 1)·(shared by both in the first d)/d, D = length of the longer;
    divided by that of the ideal with itself, or by Σ p^(d − 1)
    Reference: Clarke, Vtyurina & Smucker 2021
    """
    best = ideal(run, "linear")
    length = run.count(best.query)
    depth = np.maximum(run.retrieved, length)
    ranks = np.arange(1.0, depth.max(initial=0) + 1.0)
    weights = p ** (ranks - 1.0)
    flat = np.concatenate(([0.0], np.cumsum(weights)))
    shared = np.concatenate(([0.0], np.cumsum(weights / ranks)))
    mine = gained(run, "linear")
    met = np.maximum(mine.rank, _ideal_place(run))
    score = run.total(mine.query, shared[depth[mine.query]] - shared[met - 1])
    if not normalize:
        return ratio(score, flat[depth])
    return ratio(score, flat[length] + length * (shared[depth] - shared[length]))


def _ideal_place(run: JudgedRun) -> IntArray:
    """By hit with a gain: its place in the ideal ranking; among equal grades, hits come first."""
    best, mine = ideal(run, "linear"), gained(run, "linear")
    levels, code = np.unique(-best.gain, return_inverse=True)
    width = len(levels) + 1
    all_keys = best.query * width + code
    keys = mine.query * width + np.searchsorted(levels, -mine.gain)
    higher = np.searchsorted(all_keys, keys) - np.searchsorted(best.query, mine.query)
    order = np.argsort(keys, kind="stable")
    among = np.empty(len(keys), dtype=np.int64)
    among[order] = place_in(keys[order])
    return cast("IntArray", higher + among)
