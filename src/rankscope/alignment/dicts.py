"""Alignment of plain dicts, as they are: nothing is copied but one query's scores at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.alignment.rules import Hits
from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.alignment.judgments import Judgments
    from rankscope.alignment.rules import Precision, Ties
    from rankscope.judged import FloatArray, IntArray

    Documents = Mapping[str, float]

__all__ = ["hits_in_dicts"]


def hits_in_dicts(
    judgments: Judgments,
    run: Mapping[str, Documents],
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits:
    """Find the judged documents of a run and their ranks."""
    by_query = judgments.by_query
    retrieved = np.zeros(len(judgments.query_ids), np.int64)
    tied_at = dict.fromkeys(cutoffs, 0)
    queries: list[int] = []
    names: list[str] = []
    grades: list[float] = []
    ranks: list[IntArray] = [np.empty(0, np.int64)]
    for number, query_id in enumerate(judgments.query_ids):
        documents = run.get(query_id)
        if not documents:
            continue
        rising = np.sort(_scores(documents, query_id, precision))
        size = retrieved[number] = len(rising)
        for cutoff in cutoffs:
            if size > cutoff and rising[-cutoff] == rising[-cutoff - 1]:
                tied_at[cutoff] += 1
        judged = by_query[query_id]
        few, many = (judged, documents) if len(judged) <= size else (documents, judged)
        both = [doc_id for doc_id in few if doc_id in many]
        if both:
            queries += [number] * len(both)
            names += both
            grades += [judged[doc_id] for doc_id in both]
            ranks.append(_ranks(documents, both, rising, ties))
    query, rank = np.array(queries, np.int64), np.concatenate(ranks)
    order = np.lexsort((rank, query))
    return Hits(
        query=query[order],
        rank=rank[order],
        grade=np.array(grades, np.float64)[order],
        doc_ids=[names[place] for place in order.tolist()],
        retrieved=retrieved,
        tied_at=tied_at,
    )


def _scores(documents: Documents, query_id: str, precision: Precision) -> FloatArray:
    """Return a query's scores, all finite."""
    try:
        scores = np.fromiter(documents.values(), np.float64, len(documents))
    except (TypeError, ValueError):
        raise _bad_score(documents, query_id) from None
    if not math.isfinite(scores.sum()) and not np.isfinite(scores).all():
        raise _bad_score(documents, query_id)
    return scores if precision == "double" else _single(scores)


def _single(scores: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.asarray(scores, np.float64).astype(np.float32)


def _bad_score(documents: Documents, query_id: str) -> InputError:
    for doc_id, score in documents.items():
        try:
            if math.isfinite(score):
                continue
        except TypeError:
            pass
        return InputError(
            f"query {shown(query_id)}, document {shown(doc_id)}: the score is {shown(score)}; "
            "expected a finite number"
        )
    return InputError(f"query {shown(query_id)}: the scores are not numbers")


def _ranks(documents: Documents, names: list[str], rising: FloatArray, ties: Ties) -> IntArray:
    """Return the ranks of some documents: 1 + higher scores + tied ones that go first."""
    own = np.array([documents[doc_id] for doc_id in names], np.float64)
    if rising.dtype == np.float32:
        own = _single(own)
    upper = np.searchsorted(rising, own, side="right")
    ranks = len(rising) - upper + 1
    tied = upper - np.searchsorted(rising, own) > 1
    if tied.any():
        ranks[tied] += _ahead(documents, names, own, tied, ties)
    return ranks


def _ahead(
    documents: Documents, names: list[str], own: FloatArray, tied: Any, ties: Ties
) -> list[int]:
    """Count for each tied document the ones of equal score that the rule puts before it."""
    groups: dict[float, list[str]] = {score: [] for score in own[tied].tolist()}
    single = own.dtype == np.float32
    for doc_id, score in documents.items():
        group = groups.get(float(np.float32(score)) if single else score)
        if group is not None:
            group.append(doc_id)
    places = {}
    for score, group in groups.items():
        if ties != "given":
            group.sort(reverse=ties == "trec")
        places[score] = {doc_id: place for place, doc_id in enumerate(group)}
    numbers = np.flatnonzero(tied).tolist()
    return [places[own[number].item()][names[number]] for number in numbers]
