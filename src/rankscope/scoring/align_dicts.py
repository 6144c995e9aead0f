"""Alignment of plain dicts, as they are: nothing is copied but some queries' scores at a time."""

from __future__ import annotations

import math
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.scoring.numbers import numbers_of
from rankscope.scoring.policies import Hits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.policies import Precision, Ties

    Documents = Mapping[str, float]

__all__ = ["hits_in_dicts"]

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
    parts: list[_Found] = []
    ranks: list[IntArray] = [np.empty((3, 0), np.int64)]
    for batch in _batches(judgments.query_ids, run):
        own = [number for number, _ in batch]
        judged = [by_query[judgments.query_ids[number]] for number in own]
        documents = [each for _, each in batch]
        scores = _Scores(documents, (judgments.query_ids[number] for number in own), precision)
        retrieved[own] = scores.sizes
        for cutoff in cutoffs:
            tied_at[cutoff] += scores.tied_across(cutoff)
        dense = 2 * sum(map(len, judged)) >= sum(map(len, documents))
        found = scores.marked(judged) if dense else _looked_up(documents, judged)
        numbers += own
        parts.append(found)
        if len(found.grades):
            ranks.append(scores.ranks(found, ties))
    counts = np.concatenate([np.empty(0, np.int64), *(found.counts for found in parts)])
    grades = np.concatenate([np.empty(0), *(found.grades for found in parts)])
    query = np.repeat(np.array(numbers, np.int64), counts)
    rank, tie_first, tie_size = np.concatenate(ranks, axis=1)
    order = np.argsort(query * (int(rank.max(initial=0)) + 1) + rank, kind="stable")
    return Hits(
        query=query[order],
        rank=rank[order],
        tie_first=tie_first[order],
        tie_size=tie_size[order],
        grade=grades[order],
        doc_ids=lambda: _in_order([name for found in parts for name in found.names()], order),
        retrieved=retrieved,
        tied_at=tied_at,
    )


def _in_order(names: list[str], order: IntArray) -> list[str]:
    return [names[place] for place in order.tolist()]


class _Found(NamedTuple):
    """The judged documents of some queries: their places in order, or else what they score."""

    counts: IntArray
    names: Callable[[], list[str]]  # made when asked for
    grades: FloatArray
    places: IntArray | None
    scores: list[float]


def _looked_up(documents: list[Documents], judged: list[Documents]) -> _Found:
    """Look up each judged document, or each document, whichever are fewer."""
    counts: list[int] = []
    names: list[str] = []
    grades: list[float] = []
    scores: list[float] = []
    for docs, known in zip(documents, judged, strict=True):
        few, many = (known, docs) if len(known) <= len(docs) else (docs, known)
        both = list(filter(many.__contains__, few))
        counts.append(len(both))
        names += both
        grades += map(known.__getitem__, both)
        scores += map(docs.__getitem__, both)
    return _Found(
        np.array(counts, np.int64), lambda: names, np.array(grades, np.float64), None, scores
    )


def _batches(
    query_ids: tuple[str, ...], run: Mapping[str, Documents]
) -> Iterator[list[tuple[int, Documents]]]:
    """Take the queries of a run that have documents, some at a time."""
    batch: list[tuple[int, Documents]] = []
    size = 0
    for number, query_id in enumerate(query_ids):
        documents = run.get(query_id)
        if documents:
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
        self.sizes = np.array([len(each) for each in documents], np.int64)
        self._ends = np.cumsum(self.sizes)
        self._begins = self._ends - self.sizes
        scores = numbers_of(documents, int(self._ends[-1]), query_ids, "score")
        if precision == "single":
            scores = _single(scores)
        self._given: FloatArray = scores
        self._order: IntArray | None = None
        rising = scores[1:] > scores[:-1]
        rising[self._begins[1:] - 1] = False
        if rising.any():
            few = len(documents) < 2**15  # quick to sort
            query = np.repeat(
                np.arange(len(documents), dtype=np.int16 if few else None), self.sizes
            )
            order = np.argsort(-scores)
            self._order = order[np.argsort(query[order], kind="stable")]
            scores = scores[self._order]
        self._falling: FloatArray = scores

    def tied_across(self, cutoff: int) -> int:
        """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` share a score."""
        at = self._begins[self.sizes > cutoff] + cutoff
        return int(np.count_nonzero(self._falling[at] == self._falling[at - 1]))

    def marked(self, judged: list[Documents]) -> _Found:
        """Ask for the grade of every document: quicker where most have one."""
        asked = chain.from_iterable(
            map(known.get, docs, repeat(math.nan))
            for docs, known in zip(self._documents, judged, strict=True)
        )
        grades = np.fromiter(asked, np.float64, len(self._given))
        if self._order is not None:
            grades = grades[self._order]
        known = ~np.isnan(grades)  # no grade is not a number
        places = np.flatnonzero(known)

        def names() -> list[str]:
            every = list(chain.from_iterable(self._documents))
            return _in_order(every, places if self._order is None else self._order[places])

        counts = np.add.reduceat(known, self._begins, dtype=np.int64)
        return _Found(counts, names, grades[places], places, [])

    def ranks(self, found: _Found, ties: Ties) -> IntArray:
        """Return for judged documents the rank, and the first rank and size of its tie.

        The rank is 1 + higher scores + tied ones that go first.
        """
        query = np.repeat(np.arange(len(found.counts)), found.counts)
        if found.places is None:
            mine = np.array(found.scores, np.float64)
            if self._falling.dtype == np.float32:
                mine = _single(mine)
            higher, size = self._searched(query, mine)
        else:
            mine = self._falling[found.places]
            higher, size = self._tie_of(found.places)
        first = higher - self._begins[query] + 1
        ranks = first.copy()
        tied = np.flatnonzero(size > 1)
        if tied.size:
            names = _in_order(found.names(), tied)
            ranks[tied] += self._ahead(query[tied].tolist(), mine[tied].tolist(), names, ties)
        return np.stack([ranks, first, size])

    def _searched(self, query: IntArray, mine: FloatArray) -> tuple[IntArray, IntArray]:
        """Find the place and the size of the ties that some scores are in."""
        every = _keys(np.repeat(np.arange(len(self.sizes)), self.sizes), self._falling)
        wanted = _keys(query, mine)
        higher = np.searchsorted(every, wanted)
        return higher, np.searchsorted(every, wanted, side="right") - higher

    def _tie_of(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Find the place and the size of the ties at some places of the order."""
        scores = self._falling
        new = np.ones(len(scores), np.bool_)
        np.not_equal(scores[1:], scores[:-1], out=new[1:])
        new[self._begins] = True
        starts = np.flatnonzero(new)
        tie = (np.cumsum(new) - 1)[places]
        return starts[tie], np.diff(starts, append=len(scores))[tie]

    def _ahead(
        self, query: list[int], mine: list[float], names: list[str], ties: Ties
    ) -> list[int]:
        """Count for each tied document the ones of equal score that the rule puts before it."""
        groups: dict[tuple[int, float], list[str]] = {
            key: [] for key in zip(query, mine, strict=True)
        }
        for number in dict.fromkeys(query):
            given = self._given[self._begins[number] : self._ends[number]].tolist()
            for doc_id, score in zip(self._documents[number], given, strict=True):
                group = groups.get((number, score))
                if group is not None:
                    group.append(doc_id)
        places: dict[tuple[int, str], int] = {}
        for (number, _), group in groups.items():
            if ties != "given":
                _sort_ids(group, descending=ties == "trec")
            places |= {(number, doc_id): place for place, doc_id in enumerate(group)}
        return [places[key] for key in zip(query, names, strict=True)]


def _keys(query: IntArray, scores: FloatArray) -> Any:
    """Return one key for query and score: complex numbers are ordered by their two parts."""
    keys = np.empty(len(query), np.complex128)
    keys.real = query
    keys.imag = -scores
    return keys


def _single(scores: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.asarray(scores, np.float64).astype(np.float32)


def _sort_ids(group: list[str], *, descending: bool) -> None:
    try:
        group.sort(reverse=descending)
    except TypeError:
        other = next(doc_id for doc_id in group if not isinstance(doc_id, str))
        raise InputError(
            f"the document id {shown(other)} is not text as others are; give all ids as text"
        ) from None
