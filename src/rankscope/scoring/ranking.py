"""One query's whole ranking, where a rank by itself is not enough: explanations and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.measures.judged import FloatArray
    from rankscope.scoring.policies import Precision, Ties

__all__ = ["lengths_by_rank", "ranked"]


def ranked(documents: Mapping[str, Any], ties: Ties, precision: Precision) -> list[str]:
    """Return a query's documents in rank order."""
    names = list(documents)
    if ties != "given":
        names.sort(reverse=ties == "trec")
    scores = np.array([float(documents[doc_id]) for doc_id in names])
    if precision == "single":
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32)
    return [names[place] for place in np.argsort(-scores, kind="stable")]


def lengths_by_rank(
    query_ids: tuple[str, ...],
    run: Any,
    lengths: Mapping[str, float],
    ties: Ties,
    precision: Precision,
) -> FloatArray:
    """Return the lengths of all documents of some queries, one query after the other, by rank."""
    found: list[float] = []
    for query_id in query_ids:
        if query_id not in run:
            continue
        for doc_id in ranked(run[query_id], ties, precision):
            length = lengths.get(doc_id)
            if length is None or not 0 <= float(length) < float("inf"):
                raise InputError(
                    f"the length of document {shown(doc_id)} is "
                    f"{'missing' if length is None else shown(length)}; "
                    "give the number of words of every retrieved document"
                )
            found.append(float(length))
    return np.array(found, np.float64)
