"""Align: rank a run, break its ties and join it with the judgments, once and in one place.

What comes out is a `JudgedRun`: only judged documents that were retrieved, with their ranks. A rank
is found by counting: a document stands behind those with a higher score, and behind those with the
same score that the tie rule puts first. Counts add up over parts of a run, so a run that comes in
pieces will need no other way.

Two sources, one result: `tables` joins `Run` tables by hash, block by block (equal hashes are then
compared as text); `dicts` looks plain dicts up as they are and never copies one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.judged import JudgedRun, Subtopics
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.policies import Hits, NoRelevant, Precision, QueryPolicy, Ties

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray
    from rankscope.runs.table import Run

__all__ = [
    "Aligned",
    "Hits",
    "Judgments",
    "NoRelevant",
    "Precision",
    "QueryPolicy",
    "Ties",
    "align",
    "only_queries",
]


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A judged run with what the accounting tells about it.

    ``missing`` are judged queries the run lacks, ``unjudged`` counts queries of the run nobody
    judged, ``tied_at`` gives for each cutoff asked for how many queries have a tie across it.
    """

    judged: JudgedRun
    missing: tuple[str, ...]
    unjudged: int
    tied_at: dict[int, int] = field(default_factory=dict)
    found: Hits | None = None


_RULES: dict[str, tuple[str, ...]] = {
    "tie rule": get_args(Ties),
    "precision": get_args(Precision),
    "policy for queries": get_args(QueryPolicy),
}


def align(
    judgments: Judgments,
    run: Run | Mapping[str, Mapping[str, float]],
    *,
    ties: Ties = "trec",
    precision: Precision = "double",
    queries: QueryPolicy = "all",
    cutoffs: tuple[int, ...] = (),
) -> Aligned:
    """Rank a run, break its ties and join it with the judgments.

    ``cutoffs`` are the ranks across which ties are counted.
    """
    for (rule, words), chosen in zip(_RULES.items(), (ties, precision, queries), strict=True):
        if chosen not in words:
            raise UnknownNameError(rule, chosen, words)
    ids = judgments.query_ids
    if isinstance(run, Mapping):
        from rankscope.scoring.align_dicts import hits_in_dicts  # noqa: PLC0415

        known = run.keys()
        found = hits_in_dicts(judgments, run, ties, precision, cutoffs)
    else:
        from rankscope.scoring.align_tables import hits_in_table  # noqa: PLC0415

        known = dict.fromkeys(run.query_ids).keys()
        found = hits_in_table(judgments, run, ties, precision, cutoffs)
    present = np.fromiter((query_id in known for query_id in ids), np.bool_, len(ids))
    missing = tuple(q for q, there in zip(ids, present, strict=True) if not there)
    if missing and queries == "strict":
        count = len(missing)
        raise InputError(
            f"{count:,} judged {'query is' if count == 1 else 'queries are'} missing from the run, "
            f"{shown(missing[0])} first; complete the run, or count missing queries as 0"
        )
    judged = JudgedRun(
        query_ids=ids,
        retrieved=found.retrieved,
        in_run=present,
        hit_query=found.query,
        hit_rank=found.rank,
        hit_grade=found.grade,
        judged_query=judgments.judged_query,
        judged_grade=judgments.judged_grade,
        max_grade=judgments.max_grade,
        subtopics=judgments.subtopics(found),
    )
    if missing and queries == "both":
        judged = only_queries(judged, present)
    unjudged = len(known) - (len(ids) - len(missing))
    return Aligned(judged, missing, unjudged, found.tied_at, found)


def only_queries(judged: JudgedRun, keep: BoolArray) -> JudgedRun:
    """Return a judged run with some of its queries."""
    number = np.cumsum(keep) - 1
    hits, judgments = keep[judged.hit_query], keep[judged.judged_query]
    topics = judged.subtopics
    if topics is not None:
        kept = keep[topics.query]
        topics = Subtopics(
            number[topics.query[kept]],
            topics.doc[kept],
            topics.subtopic[kept],
            topics.grade[kept],
            topics.rank[kept],
        )
    return replace(
        judged,
        query_ids=tuple(q for q, there in zip(judged.query_ids, keep, strict=True) if there),
        retrieved=judged.retrieved[keep],
        in_run=judged.in_run[keep],
        hit_query=number[judged.hit_query[hits]],
        hit_rank=judged.hit_rank[hits],
        hit_grade=judged.hit_grade[hits],
        judged_query=number[judged.judged_query[judgments]],
        judged_grade=judged.judged_grade[judgments],
        subtopics=topics,
    )
