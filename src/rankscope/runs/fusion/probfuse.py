"""What probabilistic fusion learns: how often each part of a run's lists was relevant.

Between pooling and the fusion methods. A query's own judgments are left out of what is learnt for
it, so that a fused run can be scored by the judgments it was trained on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.collection.qrels import as_qrels
from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from rankscope.runs.fusion.pooling import Ranking, SideBySide
    from rankscope.runs.order import Bools, Floats, Ints

RELEVANT = 1.0
"""The lowest grade that counts as relevant."""


def segment_of(ranking: Ranking, segments: int) -> Ints:
    """Return the segment of each row, from 0: a list of n is cut into pieces of ⌈n / segments⌉."""
    return (ranking.rank - 1) // np.repeat(-(-ranking.size // segments), ranking.size)


def learnt(side: SideBySide, options: dict[str, Any]) -> dict[str, Any]:
    """Return by run the probability of each segment, a row for each query that is fused."""
    segments, qrels = options["segments"], options["qrels"]
    if qrels is None:
        raise InputError("probfuse learns from judgments; give qrels of queries in the runs")
    relevant, judged = _judged(side, qrels)
    if not judged.any():
        raise InputError("probfuse has nothing to learn from: no judged query is in the runs")
    if np.count_nonzero(judged) == 1:
        only = side.query_ids[int(np.argmax(judged))]
        raise InputError(
            f"probfuse never fuses a query by its own judgments, and {shown(only)} is the only "
            "judged query in the runs; give judgments of at least two"
        )
    return {
        "probabilities": [
            _probabilities(side, which, relevant, judged, segments)
            for which in range(len(side.runs))
        ]
    }


def _judged(side: SideBySide, qrels: Any) -> tuple[pl.DataFrame, Bools]:
    """Return the relevant documents by number of the query, and which queries are judged."""
    table = as_qrels(qrels)
    numbers = pl.DataFrame(
        {
            "query_id": pl.Series(side.query_ids, dtype=pl.String),
            "query": np.arange(len(side.query_ids)),
        }
    )
    known = set(table.query_ids)
    judged = np.array([query_id in known for query_id in side.query_ids], np.bool_)
    relevant = (
        table.to_polars()
        .filter(pl.col("grade") >= RELEVANT)
        .join(numbers, on="query_id")
        .select("query", "doc_id")
        .unique()
    )
    return relevant, judged


def _probabilities(
    side: SideBySide, which: int, relevant: pl.DataFrame, judged: Bools, segments: int
) -> Floats:
    """Return P(segment) of one run for each query, learnt from the other judged queries.

    The shape is (queries, segments); a cell is one segment of one query's list.
    """
    share = np.zeros((len(side.query_ids), segments))
    for low, high in side.blocks():
        ranking = side.ranking(which, low, high)
        rows = pl.DataFrame(
            {
                "query": ranking.row_query + low,
                "doc_id": ranking.doc_id,
                "cell": (ranking.row_query + low) * segments + segment_of(ranking, segments),
            }
        ).filter(pl.Series(judged).gather(ranking.row_query + low))
        cells = rows["cell"].to_numpy()
        hits = rows.join(relevant, on=["query", "doc_id"], how="semi")["cell"].to_numpy()
        begin, size = low * segments, (high - low) * segments
        documents = np.bincount(cells - begin, minlength=size)
        relevant_documents = np.bincount(hits - begin, minlength=size)
        share[low:high] = (relevant_documents / np.maximum(documents, 1)).reshape(-1, segments)
    return _of_others(share) / _of_others(judged[:, None] * 1.0)


def _of_others(values: Floats) -> Floats:
    """Return for each row the sum of all others.

    Added from both ends, not subtracted from the sum of all: not even by rounding may a row have a
    say in what is learnt for it.
    """
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[:-1], axis=0, out=before[1:])
    np.cumsum(values[:0:-1], axis=0, out=after[-2::-1])
    return before + after
