"""Scans: what one pass over part of a run tells, how parts add up, and the hits of the whole.

A *part* is any stretch of a run's rows: a block of a file, a range of its bytes, row groups of a
Parquet file. A scan of it is small: by query the number of rows and how scores go, and for each
judged document how many rows are ahead of it. `merge` puts the scans of parts together. As long as
no query is in two parts, or twice in one, ranks are known then. The rows of queries that are in two
parts are brought together first, and scanned after (`rankscope.scale.spool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.order import Ties
    from rankscope.scoring.judgments import Judgments


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What one pass over part of a run tells.

    Rows of one query with no other query's row between them are a *stretch*; a query that goes on
    in another part has several. Scores are compared in the precision that the scan was asked for.
    A *hit* is a row whose pair is judged.
    """

    query_ids: tuple[str, ...]
    """By stretch: the query."""
    sizes: IntArray
    """By stretch: how many rows it has."""
    first_score: FloatArray
    last_score: FloatArray
    rises: BoolArray
    """By stretch: whether a score is higher than the one before."""
    falls: BoolArray
    """By stretch: whether a score is lower than the one before."""
    pair: IntArray
    """By hit: the number of its pair in the judgments."""
    above: IntArray
    """By hit: how many rows of the stretch have a higher score."""
    tied: IntArray
    """By hit: how many have the same score, itself included."""
    ahead_by_id: IntArray
    """By hit: how many with the same score have a higher id, by bytes."""
    ahead_as_given: IntArray
    """By hit: how many with the same score are listed before it."""
    tied_across: IntArray
    """At place k: in how many stretches of judged queries the documents at ranks k and k + 1 have
    the same score; place 0 is not used. As long as the deepest such tie needs."""
    ranks_go_by_score: bool = False
    """Whether the ranks that a file gives are in the order of the scores, if that was asked."""


BY_STRETCH = ("sizes", "first_score", "last_score", "rises", "falls")
BY_HIT = ("pair", "above", "tied", "ahead_by_id", "ahead_as_given")


def merge(parts: Sequence[Scan]) -> Scan:
    """Put the scans of parts together that follow each other."""
    if len(parts) == 1:
        return parts[0]
    return Scan(
        query_ids=tuple(query_id for part in parts for query_id in part.query_ids),
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in (*BY_STRETCH, *BY_HIT)
        },
        tied_across=summed([part.tied_across for part in parts]),
        ranks_go_by_score=all(part.ranks_go_by_score for part in parts),
    )


def summed(counts: Iterable[IntArray]) -> IntArray:
    """Add up counts by place, of which some are longer than others."""
    listed = list(counts)
    total = np.zeros(max(map(len, listed), default=0), np.int64)
    for part in listed:
        total[: len(part)] += part
    return total


class Hits(NamedTuple):
    """Judged retrieved documents by query and rank, and how many documents each query has.

    Queries are numbered as in the judgments, those a run lacks included.
    """

    query: IntArray
    pair: IntArray
    """By hit: the number of its pair in the judgments, which know its document."""
    rank: IntArray
    grade: FloatArray
    tie_first: IntArray
    """By hit: the rank of the first document that has its score."""
    tie_size: IntArray
    """By hit: how many documents of its query have its score, itself included."""
    retrieved: IntArray
    """By query: how many documents it has."""
    tied_at: dict[int, int]
    """By cutoff: how many queries have a tie across it."""
    rises: BoolArray
    """By query: whether a score is higher than the one before it, as given."""
    falls: BoolArray
    """By query: whether a score is lower than the one before it."""

    @classmethod
    def untied(cls, rows: FloatArray, retrieved: IntArray, cutoffs: tuple[int, ...]) -> Hits:
        """Take rows of query, rank and grade that are of no pair, and of answers without ties."""
        query, rank = rows[:, :2].T.astype(np.int64)
        no, none = np.zeros(len(retrieved), np.bool_), np.empty(0, np.int64)
        alone, tied_at = np.ones_like(rank), dict.fromkeys(cutoffs, 0)
        return cls(query, none, rank, rows[:, 2], rank, alone, retrieved, tied_at, no, no)

    @classmethod
    def in_scan(
        cls, judgments: Judgments, scan: Scan, ties: Ties, cutoffs: tuple[int, ...]
    ) -> Hits:
        """Take what a scan found; each query has one stretch."""
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
        across = scan.tied_across
        return cls(
            query=query,
            pair=pair,
            rank=rank,
            grade=judgments.grade[pair],
            tie_first=above + 1,
            tie_size=tied,
            retrieved=np.append(scan.sizes, 0)[stretch],
            tied_at={k: int(across[k]) if k < len(across) else 0 for k in cutoffs},
            rises=np.append(scan.rises, False)[stretch],
            falls=np.append(scan.falls, False)[stretch],
        )
