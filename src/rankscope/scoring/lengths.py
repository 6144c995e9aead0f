"""The lengths of retrieved documents by rank, for measures that need them (TBG)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.runs.order import ranked
from rankscope.scoring.inputs import documents_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.measures.judged import FloatArray
    from rankscope.runs.order import Precision, Ties


def lengths_by_rank(
    query_ids: tuple[str, ...],
    run: Any,
    lengths: Mapping[str, float],
    *,
    ties: Ties,
    precision: Precision,
) -> FloatArray:
    """Return the lengths of all documents of some queries, one query after the other, by rank."""
    by_rank: list[float] = []
    for query_id in query_ids:
        documents = documents_of(run, query_id)
        for doc_id, _ in ranked(documents.items(), ties=ties, precision=precision):
            length = lengths.get(doc_id)
            if length is None or not 0 <= float(length) < float("inf"):
                raise InputError(
                    f"the length of document {shown(doc_id)} is "
                    f"{'missing' if length is None else shown(length)}; "
                    "give the number of words of every retrieved document"
                )
            by_rank.append(float(length))
    return np.array(by_rank, np.float64)
