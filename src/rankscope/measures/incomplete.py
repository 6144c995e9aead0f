"""Measures for judgments that are known to be incomplete.

A document with a negative grade was pooled but not judged: Bpref and infAP skip it, and it does
not count as judged here. Condensed lists are no measure of their own: ``judged_only=True`` works
with every measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.definition import REL, flag
from rankscope.measures.judged import place_in
from rankscope.measures.parts import nonrelevant_above, ratio
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, JudgedRun

POOLED = flag("pooled", "count documents with a negative grade as judged")
EPSILON = 1e-5
"""What infAP adds to its counts so that none is 0."""


LOWEST = {False: 0.0, True: float("-inf")}
"""The grade from which on a document counts as judged; by ``pooled``."""


def _preference(run: JudgedRun, rel: float, *, pooled: bool = False) -> FloatArray:
    hits = run.relevant(rel)
    lowest = LOWEST[pooled]
    above = nonrelevant_above(run, rel, lowest=lowest)
    relevant = run.graded(rel)
    least = np.minimum(run.graded(lowest) - relevant, relevant)
    wrong = ratio(np.minimum(above, relevant[hits.query]), least[hits.query])
    return ratio(run.total(hits.query, 1.0 - wrong), relevant)


@define("Bpref", REL, POOLED, sees_unjudged=True)
def binary_preference(run: JudgedRun, *, rel: float, pooled: bool) -> FloatArray:
    """How seldom documents judged nonrelevant are above relevant ones; unjudged are skipped.

    Formula: (1/R) Σ over relevant retrieved of 1 − min(n, R) / min(N, R), n = judged nonrelevant
    above, N = judged nonrelevant in all
    Reference: Buckley & Voorhees 2004
    """
    return _preference(run, rel, pooled=pooled)


@define("GMBpref", REL, aggregate="geometric", sees_unjudged=True)
def geometric_binary_preference(run: JudgedRun, *, rel: float) -> FloatArray:
    """Binary preference, its geometric mean over queries taken.

    Formula: Bpref by query; exp(mean over queries of ln max(Bpref, 0.00001))
    No relevant document: 0, counted as 0.00001 in the mean
    Reference: Buckley & Voorhees 2004; Robertson 2006
    """
    return _preference(run, rel)


@define(
    "infAP",
    REL,
    not_monotone="a pooled but unjudged document above is expected to be as relevant as the judged",
    tie_bounds=False,
    sees_unjudged=True,
)
def inferred_average_precision(run: JudgedRun, *, rel: float) -> FloatArray:
    """Average precision estimated from judgments of a random sample of the pool.

    Formula: (1/R) Σ over relevant retrieved of 1/i + ((i − 1)/i) · (a/(i − 1)) · (r + ε)/(r + n +
    2ε); above rank i are a pooled documents, r of them judged relevant and n nonrelevant; ε =
    0.00001
    Reference: Yilmaz & Aslam 2006
    """
    hits = run.relevant(rel)
    pooled = place_in(run.hit_query)[run.hit_grade >= rel] - 1
    above = hits.seen - 1
    nonrelevant = nonrelevant_above(run, rel)
    share = (above + EPSILON) / (above + nonrelevant + 2 * EPSILON)
    expected = 1.0 / hits.rank + (pooled / hits.rank) * share
    return ratio(run.total(hits.query, expected), run.graded(rel))


@define(
    "Judged",
    POOLED,
    by_grade=False,
    not_monotone="it does not look at relevance",
    sees_unjudged=True,
)
def judged(run: JudgedRun, *, cutoff: int | None, pooled: bool) -> FloatArray:
    """Share of the first k documents that are judged.

    Formula: (judged in the first k) / min(k, retrieved)
    No relevant document: as usual
    Short run: divided by what it has; 0 if it is empty
    Reference: Buckley & Voorhees 2004
    """
    return ratio(run.found(LOWEST[pooled], cutoff), run.shown(cutoff))


@define(
    "Unjudged",
    by_grade=False,
    higher_is_better=False,
    not_monotone="it does not look at relevance",
    sees_unjudged=True,
)
def unjudged(run: JudgedRun, *, cutoff: int | None) -> FloatArray:
    """Share of the first k ranks that hold a document nobody judged for this query.

    BEIR's hole is another measure: it counts documents judged for no query at all.

    Formula: (unjudged in the first k) / k; without a cutoff divided by retrieved
    No relevant document: as usual
    Short run: ranks past its end hold none, so Judged@k + Unjudged@k is below 1
    Reference: Buckley & Voorhees 2004
    """
    missing = run.shown(cutoff) - run.found(0.0, cutoff)
    return ratio(missing, run.retrieved) if cutoff is None else missing / cutoff
