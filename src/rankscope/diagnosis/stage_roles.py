"""Roles: what a stage does with what it is given, as its run and the run below it show.

A reranker changes the order of the first N documents, a filter leaves documents out, and anything
else has documents from elsewhere. Nobody has to say which a stage is, nor how deep a reranker
looks: both are seen in the runs. A few queries may be exceptions, such as ones that failed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import KeyArray, Ranking
    from rankscope.measures.judged import BoolArray, IntArray

Role = Literal["rerank", "rerank and cut", "filter", "fuse", "same", "other"]
"""What a stage does: rerank (another order of the first documents), rerank and cut (another order
of some of them, the others left out), filter (the same order, some left out), fuse (several systems
become one), same (nothing), other (it has documents that the one below lacks)."""

DepthSource = Literal["given", "seen", "at least"]
"""How the depth of a reranker is known: it was said, the runs show it, or it is at least that."""

NEARLY_ALL = 0.95
"""A stage is what it is for this share of the queries."""

_NOWHERE = np.int64(2**31)
"""The rank below of a document that is not there: larger than any other."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the runs say of a stage."""

    role: Role
    depth: int | None = None
    source: DepthSource | None = None
    exceptions: int = 0
    """Queries for which it is something else."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """A ranking with its rows by key: a search is faster with both sides in order."""

    ranking: Ranking

    @cached_property
    def rows(self) -> IntArray:
        """The rows, by key."""
        return np.argsort(self.ranking.key)

    @cached_property
    def keys(self) -> KeyArray:
        """The keys, the lowest first."""
        return self.ranking.key[self.rows]


@dataclass(frozen=True, eq=False)
class Step:
    """A stage and what it builds on: where each document of the one is in the other."""

    _below: Lookup
    _above: Lookup

    @property
    def below(self) -> Ranking:
        """What the stage builds on."""
        return self._below.ranking

    @property
    def above(self) -> Ranking:
        """The stage."""
        return self._above.ranking

    @cached_property
    def rank_below(self) -> IntArray:
        """By row of the stage: the rank below; `_NOWHERE` for documents from elsewhere."""
        ranks = np.full(len(self.above.key), _NOWHERE)
        keys = self._below.keys
        if len(keys):
            at = np.minimum(np.searchsorted(keys, self._above.keys), len(keys) - 1)
            is_there = keys[at] == self._above.keys
            ranks[self._above.rows[is_there]] = self.below.rank[self._below.rows[at[is_there]]]
        return ranks

    @property
    def is_new(self) -> BoolArray:
        """By row of the stage: whether the system below lacks the document."""
        is_new: BoolArray = self.rank_below == _NOWHERE
        return is_new

    @cached_property
    def answered(self) -> BoolArray:
        """By query: whether both have documents for it."""
        answered: BoolArray = (self.below.sizes > 0) & (self.above.sizes > 0)
        return answered

    @cached_property
    def is_closed(self) -> BoolArray:
        """By row of the stage: whether down to it, both have the same documents in some order.

        Ranks below are all different, so N of them are 1 to N if and only if none exceeds N.
        """
        query, rank = self.above.query, self.above.rank
        apart = query * (_NOWHERE + 1)  # a running maximum over all rows starts anew in each query
        deepest = np.maximum.accumulate(self.rank_below + apart) - apart
        closed: BoolArray = deepest == rank
        return closed

    def _by_query(self, rows: BoolArray) -> IntArray:
        """Count rows of the stage by query."""
        return np.bincount(self.above.query[rows], minlength=len(self.answered))

    @cached_property
    def common_depth(self) -> int:
        """The largest N for which nearly all queries have the same first N documents; 0 if none."""
        sizes = self.above.sizes
        most = int(sizes.max(initial=0))
        ends = self.above.offsets[1:][self.answered] - 1
        whole = self.is_closed[ends] & (sizes == self.below.sizes)[self.answered]
        # an answer that is the same as a whole is the same for every N beyond its end
        ended = np.cumsum(np.bincount(sizes[self.answered][whole], minlength=most + 1))
        closed = np.bincount(self.above.rank[self.is_closed], minlength=most + 1)
        closed[1:] += ended[:-1]
        fits = np.flatnonzero(closed >= NEARLY_ALL * np.count_nonzero(self.answered))
        return int(fits[-1]) if len(fits) else 0

    def seen(self) -> Seen | None:
        """Tell what the stage does; None if no query has documents in both runs."""
        total = int(np.count_nonzero(self.answered))
        if not total:
            return None
        return self._as_reranker(total) or self._as_filter(total) or Seen("other")

    def _as_reranker(self, total: int) -> Seen | None:
        """Recognise another order of the first N documents."""
        most = self.common_depth
        if most < 2:
            return None
        rank, query = self.above.rank, self.above.query
        sizes = self.above.sizes
        fits = self.answered & ((sizes >= most) | (sizes == self.below.sizes))
        ends = self.above.offsets[:-1] + np.minimum(sizes, most) - 1
        fits[fits] = self.is_closed[ends[fits]]
        moved = (rank != self.rank_below) & (rank <= most) & fits[query]
        if not moved.any():
            return None
        # beyond the last rank with another document nothing was reranked: nearly always the
        # reranker's depth, as a reranker seldom leaves the last document where it was
        last = np.zeros(len(fits), np.int64)
        last[query[moved]] = rank[moved]  # of equal indices the last one counts
        lasts = np.sort(last[last > 0])
        depth = int(lasts[math.ceil(NEARLY_ALL * len(lasts)) - 1])
        is_cut = fits & (sizes == most) & (self.below.sizes > most)
        if 2 * np.count_nonzero(is_cut) > total:
            depth = most  # nothing else is returned
        return Seen("rerank", depth, "seen", total - int(np.count_nonzero(fits)))

    def _as_filter(self, total: int) -> Seen | None:
        """Recognise a part of what is below, in its order or in another."""
        inside = self.answered & (self._by_query(self.is_new) == 0)
        fitting = int(np.count_nonzero(inside))
        if fitting < NEARLY_ALL * total:
            return None
        query, below = self.above.query, self.rank_below
        fell = np.zeros(len(query), np.bool_)
        fell[1:] = (query[1:] == query[:-1]) & (below[1:] < below[:-1])
        in_order = inside & (self._by_query(fell) == 0)
        ordered = int(np.count_nonzero(in_order))
        if ordered >= NEARLY_ALL * total:
            same = np.array_equal(self.above.sizes[in_order], self.below.sizes[in_order])
            return Seen("same" if same else "filter", exceptions=total - ordered)
        depth = int(below[inside[query]].max())
        return Seen("rerank and cut", depth, "at least", total - fitting)
