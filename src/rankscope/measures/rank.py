"""Measures of a ranking in which a document is relevant or not.

Relevant means grade ``rel`` or more, 1 unless another level is asked for. R is the number of
relevant documents in the judgments, whether retrieved or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.definition import REL, Parameter, choice, number, optional_number
from rankscope.measures.parts import ratio
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun

RULE = number(
    "rule",
    10,
    "where recall r is reached: at relevant document round(r·R) as in trec_eval 10, "
    "or floor(r·R + 0.9) as in 9",
    lowest=9,
    highest=10,
    whole=True,
)


@define(
    "P",
    REL,
    choice("norm", ("k", "retrieved"), "divisor: k, or what was retrieved down to k"),
    example="P@5",
)
def precision(run: JudgedRun, *, cutoff: int, rel: float, norm: str) -> FloatArray:
    """Share of the first k documents that are relevant.

    Formula: (relevant in the first k) / k; norm=retrieved: / min(k, retrieved)
    Short run: ranks past its end count as nonrelevant; k stays the divisor, unless norm=retrieved
    Reference: Cleverdon, Mills & Keen 1966
    """
    below = run.shown(cutoff) if norm == "retrieved" else cutoff
    return ratio(run.found(rel, cutoff), np.broadcast_to(below, len(run)))


@define(
    "R",
    REL,
    choice(
        "mean",
        ("macro", "micro"),
        "mean over queries of each query's recall, or recall of all queries as one (pooled)",
    ),
    example="R@100",
)
def recall(run: JudgedRun, *, cutoff: int, rel: float, mean: str) -> FloatArray:  # noqa: ARG001
    """Share of all relevant documents that are among the first k.

    Formula: (relevant in the first k) / R; mean=micro over queries: Σ (relevant in the first k) /
    Σ R
    Reference: Cleverdon, Mills & Keen 1966
    """
    return ratio(run.found(rel, cutoff), run.graded(rel))


@define("R_cap", REL, example="R_cap@100")
def capped_recall(run: JudgedRun, *, cutoff: int, rel: float) -> FloatArray:
    """Recall at k against what k documents could hold; trec_eval calls it relative_P.

    Formula: (relevant in the first k) / min(R, k)
    Reference: Buckley & Voorhees 2005; Thakur et al. 2021
    """
    return ratio(run.found(rel, cutoff), np.minimum(run.graded(rel), cutoff))


@define("F", REL, number("beta", 1.0, "weight of recall against precision"), example="F@5")
def f_measure(run: JudgedRun, *, cutoff: int, rel: float, beta: float) -> FloatArray:
    """Weighted harmonic mean of precision and recall at k.

    Formula: (1 + β²)·P·R / (β²·P + R), P and R at k
    Reference: van Rijsbergen 1979
    """
    squared = beta * beta
    below = squared * run.graded(rel) + cutoff
    return np.where(run.graded(rel) > 0, (1 + squared) * run.found(rel, cutoff) / below, 0.0)


@define("Success", REL)
def success(run: JudgedRun, *, cutoff: int | None, rel: float) -> FloatArray:
    """Whether any of the first k documents is relevant; also called hit rate.

    Formula: 1 if (relevant in the first k) > 0, else 0
    Reference: Craswell & Hawking 2004
    """
    return (run.found(rel, cutoff) > 0).astype(np.float64)


@define("SuccessAll", REL)
def success_all(run: JudgedRun, *, cutoff: int | None, rel: float) -> FloatArray:
    """Whether all relevant documents are among the first k; also called recall-all.

    Formula: 1 if (relevant in the first k) = R, else 0
    Reference: Wu et al. 2024 (LongMemEval)
    """
    relevant = run.graded(rel)
    return np.where(relevant > 0, run.found(rel, cutoff) == relevant, 0.0)


@define("RR", REL)
def reciprocal_rank(run: JudgedRun, *, cutoff: int | None, rel: float) -> FloatArray:
    """One over the rank of the first relevant document.

    Formula: 1 / rank of the first relevant document; 0 if there is none down to k
    Reference: Kantor & Voorhees 2000
    """
    hits = run.relevant(rel, cutoff)
    first = hits.seen == 1
    values = run.zeros()
    values[hits.query[first]] = 1.0 / hits.rank[first]
    return values


def _precision_sum(run: JudgedRun, rel: float, cutoff: int | None) -> FloatArray:
    hits = run.relevant(rel, cutoff)
    return run.total(hits.query, hits.seen / hits.rank)


@define(
    "AP",
    REL,
    choice(
        "norm",
        ("rel", "min", "retrieved"),
        "divisor: R, the smaller of R and k, or the relevant documents down to k",
    ),
    example="AP@100",
    tie_bounds=lambda measure: measure.cutoff is None or measure.options["norm"] != "retrieved",
)
def average_precision(run: JudgedRun, *, cutoff: int | None, rel: float, norm: str) -> FloatArray:
    """Mean of the precision at each relevant document.

    Formula: (1/R) Σ over relevant documents down to k of (relevant so far) / rank
    Reference: Harman 1992; Buckley & Voorhees 2000
    """
    below: IntArray = run.graded(rel)
    if norm == "min" and cutoff is not None:
        below = np.minimum(below, cutoff)
    elif norm == "retrieved":
        below = run.found(rel, cutoff)
    return ratio(_precision_sum(run, rel, cutoff), below)


@define("AP_R", REL)
def average_precision_at_r(run: JudgedRun, *, rel: float) -> FloatArray:
    """Average precision of the first R documents, R being how many are relevant: MAP@R.

    Formula: (1/R) Σ over relevant documents down to rank R of (relevant so far) / rank
    Reference: Musgrave, Belongie & Lim 2020
    """
    hits = run.relevant(rel)
    relevant = run.graded(rel)
    inside = hits.rank <= relevant[hits.query]
    precisions = (hits.seen / hits.rank)[inside]
    return ratio(run.total(hits.query[inside], precisions), relevant)


@define("GMAP", REL, aggregate="geometric", example="GMAP")
def geometric_average_precision(run: JudgedRun, *, cutoff: int | None, rel: float) -> FloatArray:
    """Average precision, its geometric mean over queries taken: weak queries count more.

    Formula: AP by query; exp(mean over queries of ln max(AP, 0.00001))
    No relevant document: 0, counted as 0.00001 in the mean
    Reference: Robertson 2006
    """
    return ratio(_precision_sum(run, rel, cutoff), run.graded(rel))


@define("Rprec", REL, number("mult", 1.0, "multiple of R to cut at", open_ended=True))
def r_precision(run: JudgedRun, *, rel: float, mult: float) -> FloatArray:
    """Precision at rank R, where a perfect ranking has found everything.

    Formula: (relevant in the first c) / c, c = floor(mult·R + 0.9)
    Reference: Buckley & Voorhees 2005
    """
    cut = (mult * run.graded(rel) + 0.9).astype(np.int64)
    hits = run.relevant(rel)
    return ratio(run.count(hits.query[hits.rank <= cut[hits.query]]), cut)


def _interpolated(run: JudgedRun, rel: float, recall: float, rule: int) -> FloatArray:
    """Return the highest precision at or below the rank where recall is reached."""
    reached = recall * run.graded(rel) + (0.9 if rule == 9 else 0.5)
    target = reached.astype(np.int64)
    hits = run.relevant(rel)
    keep = hits.seen >= target[hits.query]
    query = hits.query[keep]
    values = run.zeros()
    np.maximum.at(values, query, hits.seen[keep] / hits.rank[keep])
    return values


@define(
    "IPrec",
    number("recall", 0.0, "the recall point", highest=1.0),
    REL,
    RULE,
    example="IPrec(recall=0.1)",
)
def interpolated_precision(run: JudgedRun, *, recall: float, rel: float, rule: int) -> FloatArray:
    """Highest precision from the rank on where a recall point is reached.

    Formula: max of precision at all ranks from the c-th relevant document on, c = round(r·R)
    Short run: 0 if it ends before the recall point
    Reference: Buckley & Voorhees 2005
    """
    return _interpolated(run, rel, recall, rule)


@define(
    "11pt",
    Parameter(
        "points",
        "numbers",
        tuple(tenth / 10 for tenth in range(11)),
        "the recall points",
        lowest=0.0,
        highest=1.0,
    ),
    REL,
    RULE,
)
def eleven_points(
    run: JudgedRun, *, points: tuple[float, ...], rel: float, rule: int
) -> FloatArray:
    """Mean of the interpolated precision at eleven recall points, 0 to 1.

    Formula: mean of IPrec over the points
    Reference: Salton & McGill 1983
    """
    total = run.zeros()
    for point in reversed(points):
        total += _interpolated(run, rel, point, rule)
    return total / len(points)


@define(
    "Accuracy",
    REL,
    optional_number("depth", "how many documents are looked at", whole=True),
    example="Accuracy(depth=100)",
    not_monotone="a relevant document that enters above depth may lower the mean over all of them",
    tie_bounds=False,
)
def accuracy(run: JudgedRun, *, rel: float, depth: int | None) -> FloatArray:
    """Chance that a retrieved relevant document is above a retrieved nonrelevant one.

    Looks at retrieved documents only, the unjudged as nonrelevant. What BEIR and others call
    accuracy at k is Success.

    Formula: 1 − Σ over relevant of (nonrelevant above) / (relevant · nonrelevant)
    No relevant document: 0, also if none is retrieved; 1 if only relevant ones are
    Reference: MacAvaney, Macdonald & Ounis 2022 (ir_measures)
    """
    hits = run.relevant(rel, depth)
    relevant = run.found(rel, depth)
    others = run.shown(depth) - relevant
    wrong = run.total(hits.query, (hits.rank - hits.seen).astype(np.float64))
    return np.where(relevant > 0, 1.0 - ratio(wrong, relevant * others), 0.0)


@define(
    "FallOut",
    REL,
    optional_number("collection", "how many documents there are", whole=True),
    higher_is_better=False,
    tie_bounds=lambda measure: measure.cutoff is None,
)
def fall_out(
    run: JudgedRun, *, cutoff: int | None, rel: float, collection: int | None
) -> FloatArray:
    """Share of the nonrelevant documents that are among the first k.

    Without the size of the collection only documents judged nonrelevant are counted; with it, all
    that are not known to be relevant.

    Formula: (nonrelevant in the first k) / (nonrelevant in all)
    No relevant document: as usual; 0 if there is no nonrelevant document
    Reference: Salton & McGill 1983
    """
    if collection is not None:
        above = run.shown(cutoff) - run.found(rel, cutoff)
        return np.minimum(ratio(above, collection - run.graded(rel)), 1.0)
    above = run.found(0.0, cutoff) - run.found(rel, cutoff)
    return ratio(above, run.graded(0.0) - run.graded(rel))
