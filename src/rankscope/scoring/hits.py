"""Hits: the judged documents that a run retrieved, with their ranks. What alignment finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.scoring.soundness import Lists

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.order import Ties
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scans import Scan


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Judged retrieved documents by query and rank, and how many documents each query has.

    Queries are numbered as in the judgments, those a run lacks included.
    """

    query: IntArray
    rank: IntArray
    grade: FloatArray
    tie_first: IntArray
    """By hit: the rank of the first document that has its score."""
    tie_size: IntArray
    """By hit: how many documents of its query have its score, itself included."""
    doc_ids: Callable[[], list[str]]
    """The documents by hit; made when asked for."""
    retrieved: IntArray
    """By query: how many documents it has."""
    tied_at: dict[int, int]
    """For each cutoff asked for: how many queries have a tie across it."""
    lists: Lists
    """How scores go down the lists, as given."""


def hits_in_scan(judgments: Judgments, scan: Scan, ties: Ties, cutoffs: tuple[int, ...]) -> Hits:
    """Return the judged documents of a run and their ranks; each query has one stretch."""
    position = {query_id: place for place, query_id in enumerate(scan.query_ids)}
    ids = judgments.query_ids
    stretch = np.fromiter((position.get(query_id, -1) for query_id in ids), np.int64, len(ids))
    pair, above, tied = scan.pair, scan.above.astype(np.int64), scan.tied.astype(np.int64)
    ahead = scan.ahead_as_given if ties == "given" else scan.ahead_by_id
    if ties == "id-asc":
        ahead = tied - 1 - ahead
    query, rank = judgments.query[pair], above + ahead + 1
    place = (query << 32) + rank  # no two are equal
    if (place[1:] < place[:-1]).any():  # a scan has its hits by rank, in the order of the file
        best = np.argsort(place, kind="stable")
        pair, above, tied, query, rank = (
            column[best] for column in (pair, above, tied, query, rank)
        )
    known = stretch[stretch >= 0]
    across = scan.tied_across
    return Hits(
        query=query,
        rank=rank,
        tie_first=above + 1,
        tie_size=tied,
        grade=judgments.grade[pair],
        doc_ids=lambda: judgments.packed.doc_ids(pair.tolist()),
        retrieved=np.append(scan.sizes, 0)[stretch],
        tied_at={cutoff: int(across[cutoff]) if cutoff < len(across) else 0 for cutoff in cutoffs},
        lists=lists_of(scan.sizes[known], scan.rises[known], scan.falls[known]),
    )


def lists_of(sizes: IntArray, rises: BoolArray, falls: BoolArray) -> Lists:
    """Count queries by how their scores go down the list: whether one rises, whether one falls."""
    several = int(np.count_nonzero(sizes > 1))
    rising = int(np.count_nonzero(rises))
    level = several - int(np.count_nonzero(rises | falls))
    return Lists(several, rising, rising - int(np.count_nonzero(rises & falls)), level)
