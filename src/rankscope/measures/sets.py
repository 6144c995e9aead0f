"""Measures of the retrieved documents as a set, and counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.definition import INFINITY, REL, Parameter, flag, number, optional_number
from rankscope.measures.parts import ratio
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, JudgedRun


@define("SetP", REL, flag("relative", "divide by the best possible for this many documents"))
def set_precision(run: JudgedRun, *, rel: float, relative: bool) -> FloatArray:
    """Share of the retrieved documents that are relevant.

    Formula: relevant retrieved / retrieved; relative: / min(retrieved, R)
    Short run: 0 if it is empty
    Reference: Cleverdon, Mills & Keen 1966
    """
    below = np.minimum(run.retrieved, run.graded(rel)) if relative else run.retrieved
    return ratio(run.found(rel), below)


@define("SetR", REL)
def set_recall(run: JudgedRun, *, rel: float) -> FloatArray:
    """Share of the relevant documents that are retrieved.

    Formula: relevant retrieved / R
    Short run: 0 if it is empty
    Reference: Cleverdon, Mills & Keen 1966
    """
    return ratio(run.found(rel), run.graded(rel))


def squared(beta: float) -> float:
    """Return β²; where β is the root of a short decimal (trec_eval's set_F.2), exactly that."""
    weight = beta * beta
    short = float(f"{weight:.12g}")
    return short if math.sqrt(short) == beta else weight


@define("SetF", REL, number("beta", 1.0, "weight of recall against precision"))
def set_f(run: JudgedRun, *, rel: float, beta: float) -> FloatArray:
    """Weighted harmonic mean of set precision and set recall.

    Formula: (1 + β²)·P·R / (β²·P + R)
    Short run: 0 if it is empty
    Reference: van Rijsbergen 1979
    """
    hits, weight = run.found(rel), squared(beta)
    precision, recall = ratio(hits, run.retrieved), ratio(hits, run.graded(rel))
    return ratio((weight + 1.0) * precision * recall, weight * precision + recall)


@define("SetAP", REL)
def set_average_precision(run: JudgedRun, *, rel: float) -> FloatArray:
    """Set precision times set recall.

    Formula: (relevant retrieved)² / (retrieved · R)
    Short run: 0 if it is empty
    Reference: Buckley & Voorhees 2005
    """
    hits = run.found(rel)
    return ratio(hits * hits, run.retrieved * run.graded(rel))


@define("NumQ", by_grade=False, range=(0.0, INFINITY), aggregate="sum")
def count_queries(run: JudgedRun) -> FloatArray:
    """Number of queries that are measured.

    Formula: 1 for each query, summed
    No relevant document: as usual
    Short run: as usual
    Reference: trec_eval (num_q)
    """
    return np.ones(len(run))


@define("NumRet", by_grade=False, range=(0.0, INFINITY), aggregate="sum")
def count_retrieved(run: JudgedRun) -> FloatArray:
    """Number of documents retrieved, summed over queries.

    Formula: retrieved
    No relevant document: as usual
    Short run: 0 if it is empty
    Reference: trec_eval (num_ret)
    """
    return run.retrieved.astype(np.float64)


@define("NumRel", REL, range=(0.0, INFINITY), aggregate="sum")
def count_relevant(run: JudgedRun, *, rel: float) -> FloatArray:
    """Number of relevant documents in the judgments, summed over queries.

    Formula: R
    Short run: as usual
    Reference: trec_eval (num_rel)
    """
    return run.graded(rel).astype(np.float64)


@define("NumRelRet", REL, range=(0.0, INFINITY), aggregate="sum", example="NumRelRet")
def count_found(run: JudgedRun, *, cutoff: int | None, rel: float) -> FloatArray:
    """Number of relevant documents retrieved (down to k), summed over queries.

    Formula: relevant in the first k
    Short run: 0 if it is empty
    Reference: trec_eval (num_rel_ret)
    """
    return run.found(rel, cutoff).astype(np.float64)


@define("NumNonrelJudgedRet", REL, range=(0.0, INFINITY), higher_is_better=False, aggregate="sum")
def count_judged_nonrelevant(run: JudgedRun, *, rel: float) -> FloatArray:
    """Number of documents retrieved that were judged nonrelevant, summed over queries.

    Formula: retrieved with a grade from 0 up to, but not including, rel
    No relevant document: as usual
    Short run: 0 if it is empty
    Reference: trec_eval (num_nonrel_judged_ret)
    """
    return (run.found(0.0) - run.found(rel)).astype(np.float64)


@define(
    "Utility",
    Parameter(
        "weights",
        "numbers",
        (1.0, -1.0, 0.0, 0.0),
        "worth of a document that is relevant and retrieved, nonrelevant and retrieved, "
        "relevant and missed, nonrelevant and not retrieved",
        choices=("relevant retrieved", "nonrelevant retrieved", "relevant missed", "the rest"),
    ),
    REL,
    optional_number("collection", "how many documents there are, for the rest", whole=True),
    range=(-INFINITY, INFINITY),
)
def utility(
    run: JudgedRun, *, weights: tuple[float, ...], rel: float, collection: int | None
) -> FloatArray:
    """Worth of the retrieved set, each kind of document having its price.

    Formula: w1·(relevant retrieved) + w2·(nonrelevant retrieved) + w3·(relevant missed) + w4·(all
    others)
    No relevant document: as usual
    Short run: what it lacks is not retrieved
    Reference: Lewis 1995; Hull 1998
    """
    hits, relevant = run.found(rel), run.graded(rel)
    others = (collection or 0) + hits - run.retrieved - relevant
    w1, w2, w3, w4 = weights
    worth: FloatArray = w1 * hits + w2 * (run.retrieved - hits)
    worth += w3 * (relevant - hits) + w4 * others
    return worth
