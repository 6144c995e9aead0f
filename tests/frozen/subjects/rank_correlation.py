"""Frozen: how alike two orders are: Kendall's τ and τ_b, τ_AP, rank-biased overlap.

Of lists of scores with ties, opposite and equal orders, and of the two bundled runs, query by query
and over their documents. No public name gives these numbers by themselves; they are asked of
`rankscope.statistics.rank_correlation` and, for many queries at once, `list_agreement`.

Oracle: SciPy's kendalltau (τ_b, and τ where nothing is tied) in `tests/frozen/test_oracles.py`,
with τ_AP and RBO written from their definitions; ties over all ways to break them, in
`tests/statistics/test_rank_correlation.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frozen.paired_worlds import bundled
from rankscope.statistics.list_agreement import rbo_by_query, taus_by_query
from rankscope.statistics.rank_correlation import kendall, rbo, tau_ap, untied

SCORES: dict[str, tuple[list[float], list[float]]] = {
    "equal": ([4, 3, 2, 1], [8, 6, 4, 2]),
    "opposite": ([4, 3, 2, 1], [1, 2, 3, 4]),
    "top swapped": ([6, 5, 4, 3, 2, 1], [5, 6, 4, 3, 2, 1]),
    "bottom swapped": ([6, 5, 4, 3, 2, 1], [6, 5, 4, 3, 1, 2]),
    "one tied": ([5, 4, 4, 2, 1, 0], [5, 3, 4, 2, 0, 1]),
    "both tied": ([3, 3, 2, 2, 1, 1, 0], [3, 2, 2, 2, 1, 0, 0]),
    "all tied": ([1, 1, 1], [3, 2, 1]),
    "two": ([1, 2], [2, 1]),
    "eleven": ([7, 2, 9, 4, 11, 1, 3, 10, 5, 8, 6], [6, 3, 10, 2, 9, 1, 5, 11, 4, 7, 8]),
}
LISTS: dict[str, tuple[list[list[str]], list[list[str]]]] = {
    "equal": ([["a"], ["b"], ["c"]], [["a"], ["b"], ["c"]]),
    "opposite": ([["a"], ["b"], ["c"], ["d"]], [["d"], ["c"], ["b"], ["a"]]),
    "disjoint": ([["a"], ["b"]], [["c"], ["d"]]),
    "unequal lengths": ([["a"], ["b"], ["c"], ["d"], ["e"]], [["b"], ["f"]]),
    "ties": ([["a"], ["b", "c", "d"], ["e"]], [["b"], ["a", "e"], ["c"], ["d"]]),
    "one tie of all": ([["a", "b", "c"]], [["c"], ["b"], ["a"]]),
    "empty": ([], [["a"]]),
}
PATIENCE = [0.5, 0.9, 0.98]
QUERIES = 12


def numbers() -> Any:
    """Ask for each correlation of each pair of orders."""
    return {
        "scores": {
            name: {
                "tau": kendall(first, second, variant="a"),
                "tau b": kendall(first, second, variant="b"),
                "tau ap": tau_ap(first, second),
                "tau ap, symmetric": tau_ap(first, second, symmetric=True),
            }
            for name, (first, second) in SCORES.items()
        },
        "rbo": {
            name: {p: rbo(first, second, p=p) for p in PATIENCE}
            for name, (first, second) in LISTS.items()
        },
        "bundled": _bundled(),
    }


def rankings() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the documents of the bundled runs, best first, equal ones by id from high to low."""
    _, runs = bundled()
    first, second = (
        {
            query_id: sorted(docs, key=lambda doc_id: (docs[doc_id], doc_id), reverse=True)
            for query_id, docs in sorted(runs[name].items())
        }
        for name in ("lexical", "hybrid")
    )
    return first, second


def _bundled() -> dict[str, Any]:
    first, second = rankings()
    query, ranks = [], []
    for number, (query_id, docs) in enumerate(first.items()):
        place = {doc_id: at for at, doc_id in enumerate(second[query_id], start=1)}
        for at, doc_id in enumerate(docs, start=1):
            if doc_id in place:
                query.append(number)
                ranks.append((at, place[doc_id]))
    common, (one, other) = np.array(query), np.array(ranks).T
    sizes, others = (np.array([len(docs) for docs in run.values()]) for run in (first, second))
    tau, ap = taus_by_query(common, one, other, len(first))
    by_patience = {p: rbo_by_query(common, one, other, sizes, others, p) for p in PATIENCE}
    return {
        "tau": {"mean": np.nanmean(tau), "queries": tau[:QUERIES]},
        "tau ap, symmetric": {"mean": np.nanmean(ap), "queries": ap[:QUERIES]},
        "rbo": {
            p: {"mean": values.mean(), "queries": values[:QUERIES]}
            for p, values in by_patience.items()
        },
        "rbo, one by one": {
            p: [
                rbo(untied(first[query_id]), untied(second[query_id]), p=p)
                for query_id in list(first)[:QUERIES]
            ]
            for p in PATIENCE
        },
    }
