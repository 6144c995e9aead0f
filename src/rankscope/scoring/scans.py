"""Scans: what one pass over part of a run tells, and how parts add up.

A *part* is any stretch of a run's rows: a block of a file, a range of its bytes, row groups of a
Parquet file. A scan of it is small: by query the number of rows and how scores go, and for each
judged document how many rows are ahead of it. `merge` puts the scans of parts together. As long as
no query is in two parts, or twice in one, ranks are known then. The rows of queries that are in two
parts are brought together first, and scanned after (`rankscope.scale.spool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.tables.native import texts_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PackedPairs:
    """Judged pairs as bytes: what a scan looks for. Pairs are in the order of the judgments.

    Query i is ``query_text[query_ends[i]:query_ends[i + 1]]`` in UTF-8, its pairs are
    ``pair_offsets[i]:pair_offsets[i + 1]``, and the document of pair j is
    ``doc_text[doc_ends[j]:doc_ends[j + 1]]``.
    """

    query_text: bytes
    query_ends: IntArray
    pair_offsets: IntArray
    doc_text: bytes
    doc_ends: IntArray

    @classmethod
    def of(
        cls, query_ids: Sequence[str], pair_offsets: IntArray, doc_ids: Sequence[str]
    ) -> PackedPairs:
        """Pack ids, which come by query."""
        query_text, query_ends = _packed(query_ids)
        doc_text, doc_ends = _packed(doc_ids)
        return cls(query_text, query_ends, pair_offsets, doc_text, doc_ends)

    def query_ids(self) -> tuple[str, ...]:
        """Return the queries."""
        return tuple(texts_in(self.query_text, self.query_ends))

    def doc_ids(self, pairs: Iterable[int] | None = None) -> list[str]:
        """Return the documents of some pairs, or of all."""
        listed = texts_in(self.doc_text, self.doc_ends)
        return listed if pairs is None else [listed[pair] for pair in pairs]


def _packed(ids: Sequence[str]) -> tuple[bytes, IntArray]:
    """Return ids one after the other, and where each begins."""
    text = "".join(ids)
    lengths: Iterable[int] = map(len, ids)
    if not text.isascii():
        lengths = (len(name.encode("utf-8", "surrogatepass")) for name in ids)
    ends = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(ids)), out=ends[1:])
    return text.encode("utf-8", "surrogatepass"), ends


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
    """By hit: the number of its pair in `PackedPairs`."""
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
