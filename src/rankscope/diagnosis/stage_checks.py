"""Checks of rerankers: does one keep what it is given, and can that be seen?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import counted
from rankscope.findings import PLACES_SHOWN, Finding, Place, declare

if TYPE_CHECKING:
    from rankscope.diagnosis.ranked_run import RankedRun
    from rankscope.diagnosis.stages import StageRow
    from rankscope.measures.judged import BoolArray, IntArray

RERANKER_CHANGED_RECALL = declare(
    "RS701",
    "reranker-changed-recall",
    "error",
    unit="query",
    advice="a reranker may reorder what it is given and not add or drop a document; check that "
    "both runs are of the same queries, index and depth",
    meaning="""A relevant document enters or leaves the ranks that a reranker looks at. Queries that
    one of the two runs lacks are not looked at.""",
)
TOO_SHALLOW = declare(
    "RS702",
    "too-shallow-to-check",
    "note",
    unit="query",
    advice="let the runs hold as many documents as the reranker looks at",
    meaning="""The runs hold fewer documents than a reranker looks at, so what it was given cannot
    be seen; its recall and ceiling are those of the part that is seen.""",
)


def checked_recall(
    row: StageRow, before: RankedRun, after: RankedRun, *, asked: int | None, removed: int
) -> list[Finding]:
    """Look whether a reranker added or dropped a relevant document, where that can be seen.

    ``removed`` is how many documents of a query the profile may have left out.
    """
    assert row.depth is not None
    sizes = before.judged.retrieved, after.judged.retrieved
    asked = asked or int(max(retrieved.max(initial=0) for retrieved in sizes))
    in_both = before.judged.in_run & after.judged.in_run
    hidden = np.zeros_like(in_both)
    if row.depth > asked:
        hidden = in_both & (sizes[0] + removed >= asked)
    return [
        *_recall_changed(row, before, after, in_both & ~hidden),
        *_too_shallow(row, before, np.flatnonzero(hidden), asked),
    ]


def _recall_changed(
    row: StageRow, before: RankedRun, after: RankedRun, looked_at: BoolArray
) -> list[Finding]:
    assert row.depth is not None
    given, returned = before.top(row.depth), after.top(row.depth)  # rows of judgments
    query_of = before.pairs["query"].to_numpy()
    dropped, added = (
        documents[looked_at[query_of[documents]]]
        for documents in (given[~np.isin(given, returned)], returned[~np.isin(returned, given)])
    )
    changed = np.sort(np.concatenate([dropped, added]))
    if not len(changed):
        return []
    queries, first = np.unique(query_of[changed], return_index=True)
    places = tuple(
        Place(row.system, None, before.judged.query_ids[query], before.pairs["doc_id"][doc])
        for query, doc in zip(
            queries[:PLACES_SHOWN].tolist(), changed[first][:PLACES_SHOWN].tolist(), strict=True
        )
    )
    have = "has" if len(queries) == 1 else "have"
    return [
        RERANKER_CHANGED_RECALL.finding(
            f"{counted(len(queries), 'query')} {have} other relevant documents in the first "
            f"{row.depth:,} of {row.system} than of {row.of[0]}: {len(dropped):,} dropped, "
            f"{len(added):,} added",
            count=len(queries),
            places=places,
            evidence={
                "system": row.system,
                "of": row.of[0],
                "depth": row.depth,
                "dropped": len(dropped),
                "added": len(added),
                "input_recall": row.input_recall,
                "output_recall": row.output_recall,
            },
        )
    ]


def _too_shallow(row: StageRow, before: RankedRun, queries: IntArray, asked: int) -> list[Finding]:
    if not len(queries):
        return []
    return [
        TOO_SHALLOW.finding(
            f"{row.system} reranks {row.depth:,} documents and the runs hold {asked:,}, so "
            f"what it was given cannot be seen for {counted(len(queries), 'query')}; recall "
            "and ceiling are those of the part that is seen",
            count=len(queries),
            places=tuple(
                Place(row.system, query_id=before.judged.query_ids[query])
                for query in queries[:PLACES_SHOWN].tolist()
            ),
            evidence={"system": row.system, "depth": row.depth, "run_depth": asked},
        )
    ]
