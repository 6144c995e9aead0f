"""How alike two rankings are, for many queries at once: RBO, Kendall's τ and τ_AP.

The same numbers as `rankscope.statistics.rank_correlation` gives for one pair of rankings without
ties. What two systems have in common comes as columns: for each document that both retrieved, the
number of its query and its rank in either system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray


def rbo_by_query(  # noqa: PLR0917
    query: IntArray,
    first: IntArray,
    second: IntArray,
    first_sizes: IntArray,
    second_sizes: IntArray,
    p: float,
) -> FloatArray:
    """Return by query the rank-biased overlap of two rankings, extrapolated.

    ``first`` and ``second`` are the ranks, from 1, of the documents that both have; the sizes are
    how many documents each has of each query. With X_d the overlap at depth d, s and l the shorter
    and the longer size:
    RBO = (1−p)/p · (Σ_{d≤l} X_d·p^d/d + Σ_{s<d≤l} X_s·(d−s)/(s·d)·p^d)
    + ((X_l − X_s)/l + X_s/s)·p^l (Webber, Moffat and Zobel, TOIS 2010, equation 32).

    A document adds to X_d from the deeper of its two ranks on, so the first sum is one over
    documents. Two empty rankings are the same, 1; one empty ranking, 0.

    >>> one, size = np.zeros(3, int), np.array([3])  # "abc" and "acb"
    >>> rbo_by_query(one, np.array([1, 2, 3]), np.array([1, 3, 2]), size, size, 0.9).round(4)
    array([0.955])
    """
    short, long = np.minimum(first_sizes, second_sizes), np.maximum(first_sizes, second_sizes)
    depths = np.arange(1, int(long.max(initial=0)) + 1)
    weights = np.concatenate([[0.0], np.cumsum(p**depths)])  # Σ p^d down to each depth
    shares = np.concatenate([[0.0], np.cumsum(p**depths / depths)])  # Σ p^d/d
    deeper = np.maximum(first, second)
    queries = len(short)
    inside = deeper <= long[query]
    seen = _total(query[inside], (shares[long[query]] - shares[deeper - 1])[inside], queries)
    at_long = np.bincount(query[inside], minlength=queries)
    at_short = np.bincount(query[deeper <= short[query]], minlength=queries)
    divisor = np.maximum(short, 1)
    unseen = at_short / divisor * (weights[long] - weights[short])
    unseen -= at_short * (shares[long] - shares[short])
    rest = ((at_long - at_short) / np.maximum(long, 1) + at_short / divisor) * p**long
    values = (seen + unseen) * (1 - p) / p + rest
    return np.asarray(np.where(long == 0, 1.0, np.where(short == 0, 0.0, values)))


def _total(query: IntArray, weights: FloatArray, queries: int) -> FloatArray:
    if not len(query):
        return np.zeros(queries)
    return np.asarray(np.bincount(query, weights, minlength=queries))


def taus_by_query(
    query: IntArray, first: IntArray, second: IntArray, queries: int
) -> tuple[FloatArray, FloatArray]:
    """Return by query Kendall's τ and the symmetric τ_AP over the documents that both have.

    NaN with fewer than two documents. No rank occurs twice in a query. τ = (C − D) / (C + D) with C
    pairs in the same order and D in opposite ones. τ_AP = 2·mean(c_i / (i − 1)) − 1 over the
    documents from the second on, in the order of one ranking, where c_i is how many of the i − 1
    documents above are also above in the other ranking; symmetric: the mean of both ways.

    >>> tau, tau_ap = taus_by_query(np.zeros(3, int), np.array([1, 2, 3]), np.array([1, 3, 2]), 1)
    >>> tau.round(4), tau_ap.round(4)
    (array([0.3333]), array([0.5]))
    """
    common = np.bincount(query, minlength=queries)
    tau, tau_ap = np.full(queries, np.nan), np.full(queries, np.nan)
    used = common >= 2
    if not used.any():
        return tau, tau_ap
    order = np.lexsort((first, query))
    order = order[used[query[order]]]
    line = (np.cumsum(used) - 1)[query[order]]
    sizes = common[used]
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[line]
    # ranks in the second, by place in the first: [queries, documents]; past the end there is none
    ranks = np.full((len(sizes), int(sizes.max())), np.iinfo(np.int64).max)
    ranks[line, place] = second[order]
    exists = np.arange(ranks.shape[1]) < sizes[:, np.newaxis]
    above_in_both = np.zeros(ranks.shape, np.int64)
    overtaken = np.zeros(ranks.shape, np.int64)  # by documents that are below in the first
    for step in range(1, ranks.shape[1]):
        upper, lower, real = ranks[:, :-step], ranks[:, step:], exists[:, step:]
        above_in_both[:, step:] += (upper < lower) & real
        overtaken[:, :-step] += (upper > lower) & real
    pairs = sizes * (sizes - 1) / 2
    tau[used] = (above_in_both.sum(axis=1) - overtaken.sum(axis=1)) / pairs
    sums = np.zeros(len(sizes))
    for above in (np.arange(ranks.shape[1]), above_in_both + overtaken):
        sums += np.where(exists & (above > 0), above_in_both / np.maximum(above, 1), 0.0).sum(
            axis=1
        )
    tau_ap[used] = sums / (sizes - 1) - 1
    return tau, tau_ap
