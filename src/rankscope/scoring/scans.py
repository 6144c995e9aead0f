"""Scans: what one pass over part of a run tells, and how parts add up.

A *part* is any stretch of a run's rows: a block of a file, a range of its bytes, row groups of a
Parquet file. A scan of it is small: by query the number of rows and how scores go, and for each
judged document its score and how many rows are ahead of it. Scans of parts are put together by
`merge`, which is associative; as long as no query is in two parts, or twice in one, ranks are known
then. The rows of queries that are in two parts are brought together first, and scanned after
(`rankscope.scale.spool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

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
        edges = self.query_ends.tolist()
        text = self.query_text
        if text.isascii():
            plain = text.decode()
            return tuple(plain[low:high] for low, high in pairwise(edges))
        return tuple(text[low:high].decode(*_CODING) for low, high in pairwise(edges))

    def doc_ids(self, pairs: Iterable[int]) -> list[str]:
        """Return the documents of some pairs."""
        edges, text = self.doc_ends.tolist(), self.doc_text
        return [text[edges[pair] : edges[pair + 1]].decode(*_CODING) for pair in pairs]


_CODING = ("utf-8", "surrogatepass")  # dicts may hold half a character, which no file does


def _packed(ids: Sequence[str]) -> tuple[bytes, IntArray]:
    """Return ids one after the other, and where each begins."""
    text = "".join(ids)
    if text.isascii():
        lengths: Iterable[int] = map(len, ids)
    else:
        lengths = [len(name.encode(*_CODING)) for name in ids]
    ends = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(ids)), out=ends[1:])
    return text.encode(*_CODING), ends


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """What one pass over part of a run tells.

    Rows of one query with no other query's row between them are a *stretch*; a query that comes
    back later, or goes on in another part, has several. Scores are compared in the precision that
    the scan was asked for.
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
    hit_stretch: IntArray
    """By hit, which is a row whose pair is judged: its stretch, in rising order."""
    hit_pair: IntArray
    """By hit: the number of its pair in `PackedPairs`."""
    hit_place: IntArray
    """By hit: its place in the stretch, from 0 on."""
    hit_score: FloatArray
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

    @property
    def is_interleaved(self) -> bool:
        """Whether a query has several stretches."""
        return len(set(self.query_ids)) < len(self.query_ids)


def merge(parts: Sequence[Scan]) -> Scan:
    """Put the scans of parts together that follow each other."""
    if len(parts) == 1:
        return parts[0]
    stretches = np.cumsum([0, *(len(part.query_ids) for part in parts)])
    longest = max((len(part.tied_across) for part in parts), default=0)
    tied_across = np.zeros(longest, np.int64)
    for part in parts:
        tied_across[: len(part.tied_across)] += part.tied_across

    def joined(name: str, kind: type) -> np.ndarray:
        return np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])

    moved = [part.hit_stretch + first for part, first in zip(parts, stretches[:-1], strict=True)]
    return Scan(
        query_ids=tuple(query_id for part in parts for query_id in part.query_ids),
        sizes=joined("sizes", np.int64),
        first_score=joined("first_score", np.float64),
        last_score=joined("last_score", np.float64),
        rises=joined("rises", np.bool_),
        falls=joined("falls", np.bool_),
        hit_stretch=np.concatenate([np.empty(0, np.int64), *moved]),
        hit_pair=joined("hit_pair", np.int64),
        hit_place=joined("hit_place", np.int64),
        hit_score=joined("hit_score", np.float64),
        above=joined("above", np.int64),
        tied=joined("tied", np.int64),
        ahead_by_id=joined("ahead_by_id", np.int64),
        ahead_as_given=joined("ahead_as_given", np.int64),
        tied_across=tied_across,
    )


def in_order(scan: Scan, place: IntArray) -> Scan:
    """Return a scan with its stretches in another order: each with the place it is to have."""
    order = np.argsort(place)
    position = np.empty(len(place), np.int64)
    position[order] = np.arange(len(place))
    moved = position[scan.hit_stretch]
    hits = np.argsort(moved, kind="stable")
    return Scan(
        query_ids=tuple(map(scan.query_ids.__getitem__, order.tolist())),
        **{name: getattr(scan, name)[order] for name in _BY_STRETCH},
        hit_stretch=moved[hits],
        **{name: getattr(scan, name)[hits] for name in _BY_HIT},
        tied_across=scan.tied_across,
    )


_BY_STRETCH = ("sizes", "first_score", "last_score", "rises", "falls")
_BY_HIT = ("hit_pair", "hit_place", "hit_score", "above", "tied", "ahead_by_id", "ahead_as_given")
