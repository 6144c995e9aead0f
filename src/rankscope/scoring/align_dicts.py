"""Alignment of plain dicts, as they are: nothing is copied but some queries' scores at a time."""

from __future__ import annotations

import math
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankscope.runs import order
from rankscope.scoring.align import Hits
from rankscope.scoring.plain import numbers_of, text_id, text_ids
from rankscope.scoring.soundness import Lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.runs.order import Precision, Ties
    from rankscope.scoring.judgments import Judgments

    Documents = Mapping[str, float]

_BATCH = 1 << 14
"""So many documents, or one query, are looked at together: few steps, and all fits the cache."""


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
    numbers: list[int] = []
    parts: list[_Judged] = []
    ranks: list[IntArray] = [np.empty((3, 0), np.int64)]
    lists = Lists()
    for batch in _batches(judgments, run):
        queries = [number for number, _ in batch]
        judged = [by_query[judgments.query_ids[number]] for number in queries]
        documents = [each for _, each in batch]
        query_ids = (judgments.query_ids[number] for number in queries)
        scores = _Scores(documents, query_ids, precision)
        retrieved[queries] = scores.sizes
        lists = lists.plus(scores.lists())
        for cutoff in cutoffs:
            tied_at[cutoff] += scores.tied_across(cutoff)
        dense = 2 * sum(map(len, judged)) >= sum(map(len, documents))
        part = scores.marked(judged) if dense else _looked_up(documents, judged)
        numbers += queries
        parts.append(part)
        if len(part.grades):
            ranks.append(scores.ranks(part, ties))
    counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
    grades = np.concatenate([np.empty(0), *(part.grades for part in parts)])
    query = np.repeat(np.array(numbers, np.int64), counts)
    rank, tie_first, tie_size = np.concatenate(ranks, axis=1)
    by_rank = np.argsort(query * (int(rank.max(initial=0)) + 1) + rank, kind="stable")
    return Hits(
        query=query[by_rank],
        rank=rank[by_rank],
        tie_first=tie_first[by_rank],
        tie_size=tie_size[by_rank],
        grade=grades[by_rank],
        doc_ids=lambda: _at([doc_id for part in parts for doc_id in part.doc_ids()], by_rank),
        retrieved=retrieved,
        tied_at=tied_at,
        lists=lists,
    )


def _at(doc_ids: list[str], places: IntArray) -> list[str]:
    return [doc_ids[place] for place in places.tolist()]


class _Judged(NamedTuple):
    """The judged documents of some queries: their places in order, or else what they score."""

    counts: IntArray
    doc_ids: Callable[[], list[str]]  # made when asked for
    grades: FloatArray
    places: IntArray | None
    scores: list[float]


def _looked_up(documents: list[Documents], judged: list[Documents]) -> _Judged:
    """Look up each judged document, or each document, whichever are fewer."""
    counts: list[int] = []
    doc_ids: list[str] = []
    grades: list[float] = []
    scores: list[float] = []
    for docs, known in zip(documents, judged, strict=True):
        few, many = (known, docs) if len(known) <= len(docs) else (docs, known)
        both = list(filter(many.__contains__, few))
        counts.append(len(both))
        doc_ids += both
        grades += map(known.__getitem__, both)
        scores += map(docs.__getitem__, both)
    return _Judged(
        np.array(counts, np.int64), lambda: doc_ids, np.array(grades, np.float64), None, scores
    )


def _batches(
    judgments: Judgments, run: Mapping[str, Documents]
) -> Iterator[list[tuple[int, Documents]]]:
    """Take the queries of a run that have documents, some at a time."""
    batch: list[tuple[int, Documents]] = []
    size = 0
    numeric = judgments.numeric_ids
    for number, query_id in enumerate(judgments.query_ids):
        documents = run.get(query_id)
        if documents:
            if query_id in numeric and not documents.keys().isdisjoint(numeric[query_id]):
                documents = text_ids(documents, query_id)
            batch.append((number, documents))
            size += len(documents)
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


class _Scores:
    """The scores of some queries, best first within each."""

    def __init__(
        self, documents: list[Documents], query_ids: Iterable[str], precision: Precision
    ) -> None:
        self._documents = documents
        self._precision = precision
        self.sizes = np.array([len(each) for each in documents], np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        self._begins = self._offsets[:-1]
        numbers = numbers_of(documents, int(self._offsets[-1]), query_ids, "score")
        self._given = order.compared(numbers, precision)
        self._order = order.falling(self._offsets, self._given)
        self._falling = self._given if self._order is None else self._given[self._order]

    def tied_across(self, cutoff: int) -> int:
        """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` share a score."""
        at = self._begins[self.sizes > cutoff] + cutoff
        return int(np.count_nonzero(self._falling[at] == self._falling[at - 1]))

    def lists(self) -> Lists:
        """Count the queries by how their scores go down the list."""
        several = self.sizes > 1
        first, last = self._falling[self._begins], self._falling[self._offsets[1:] - 1]
        level = int(np.count_nonzero(several & (first == last)))
        if self._order is None:
            return Lists(int(np.count_nonzero(several)), level=level)
        rises, falls = (
            order.unsettled(self._offsets, way * self._given, ties=False) for way in (1, -1)
        )
        return Lists(
            int(np.count_nonzero(several)),
            int(np.count_nonzero(rises)),
            int(np.count_nonzero(rises & ~falls)),
            level,
        )

    def marked(self, judged: list[Documents]) -> _Judged:
        """Ask for the grade of every document: quicker where most have one."""
        asked = chain.from_iterable(
            map(known.get, docs, repeat(math.nan))
            for docs, known in zip(self._documents, judged, strict=True)
        )
        grades = np.fromiter(asked, np.float64, len(self._given))
        if self._order is not None:
            grades = grades[self._order]
        known = ~np.isnan(grades)  # no grade is NaN
        places = np.flatnonzero(known)

        def doc_ids() -> list[str]:
            given = list(chain.from_iterable(self._documents))
            return _at(given, places if self._order is None else self._order[places])

        counts = np.add.reduceat(known, self._begins, dtype=np.int64)
        return _Judged(counts, doc_ids, grades[places], places, [])

    def ranks(self, judged: _Judged, ties: Ties) -> IntArray:
        """Return for judged documents the rank, the first rank of its tie and the tie's size.

        The rank is 1 + higher scores + tied ones that go first; the shape is (3, documents).
        """
        query = np.repeat(np.arange(len(judged.counts)), judged.counts)
        if judged.places is None:
            mine = order.compared(np.array(judged.scores, np.float64), self._precision)
            higher, size = self._searched(query, mine)
        else:
            mine = self._falling[judged.places]
            higher, size = self._tie_of(judged.places)
        first = higher - self._begins[query] + 1
        ranks = first.copy()
        tied = np.flatnonzero(size > 1)
        if tied.size:
            doc_ids = _at(judged.doc_ids(), tied)
            ranks[tied] += self._ahead(query[tied].tolist(), mine[tied].tolist(), doc_ids, ties)
        return np.stack([ranks, first, size])

    def _searched(self, query: IntArray, mine: FloatArray) -> tuple[IntArray, IntArray]:
        """Find the place and the size of the ties that some scores are in."""
        keys = _keys(np.repeat(np.arange(len(self.sizes)), self.sizes), self._falling)
        wanted = _keys(query, mine)
        higher = np.searchsorted(keys, wanted)
        return higher, np.searchsorted(keys, wanted, side="right") - higher

    def _tie_of(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Find the place and the size of the ties at some places of the order."""
        starts = order.tie_starts(self._offsets, self._falling)
        first = np.flatnonzero(starts)
        tie = (np.cumsum(starts) - 1)[places]
        return first[tie], np.diff(first, append=len(starts))[tie]

    def _ahead(
        self, query: list[int], mine: list[float], doc_ids: list[str], ties: Ties
    ) -> list[int]:
        """Count for each tied document the ones of equal score that the rule puts before it."""
        tied: dict[tuple[int, float], list[str]] = {
            key: [] for key in zip(query, mine, strict=True)
        }
        for number in dict.fromkeys(query):
            given = self._given[self._offsets[number] : self._offsets[number + 1]].tolist()
            for doc_id, score in zip(self._documents[number], given, strict=True):
                members = tied.get((number, score))
                if members is not None:
                    members.append(doc_id)
        places: dict[tuple[int, str], int] = {}
        for (number, _), members in tied.items():
            in_order = _in_order(members, ties)
            places |= {(number, doc_id): place for place, doc_id in enumerate(in_order)}
        return [places[key] for key in zip(query, doc_ids, strict=True)]


def _in_order(tied: list[Any], ties: Ties) -> list[str]:
    """Return the documents of a tie, which come as given, in the order of the tie rule."""
    try:
        order.sort_ids(tied, ties)
    except TypeError:  # some ids are whole numbers
        tied = [text_id(doc_id) for doc_id in tied]
        order.sort_ids(tied, ties)
    return tied


def _keys(query: IntArray, scores: FloatArray) -> Any:
    """Return one key for query and score: complex numbers are ordered by their two parts."""
    keys = np.empty(len(query), np.complex128)
    keys.real = query
    keys.imag = -scores
    return keys
