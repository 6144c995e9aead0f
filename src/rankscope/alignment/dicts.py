"""Alignment of plain dicts, as they are: nothing is copied but some queries' scores at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.alignment.numbers import numbers_of
from rankscope.alignment.rules import Hits
from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankscope.alignment.judgments import Judgments
    from rankscope.alignment.rules import Precision, Ties
    from rankscope.judged import FloatArray, IntArray

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
    counts: list[int] = []
    numbers: list[int] = []
    names: list[str] = []
    grades: list[float] = []
    ranks: list[IntArray] = [np.empty((3, 0), np.int64)]
    for batch in _batches(judgments.query_ids, run):
        before = len(names)
        first = len(counts)
        own: list[float] = []
        for number, documents in batch:
            judged = by_query[judgments.query_ids[number]]
            few, many = (
                (judged, documents) if len(judged) <= len(documents) else (documents, judged)
            )
            both = list(filter(many.__contains__, few))
            numbers.append(number)
            counts.append(len(both))
            names += both
            own += map(documents.__getitem__, both)
            grades += map(judged.__getitem__, both)
        scores = _Scores(batch, judgments.query_ids, precision)
        retrieved[numbers[first:]] = scores.sizes
        for cutoff in cutoffs:
            tied_at[cutoff] += scores.tied_across(cutoff)
        if own:
            ranks.append(scores.ranks(own, names[before:], counts[first:], ties))
    query = np.repeat(np.array(numbers, np.int64), counts)
    rank, tie_first, tie_size = np.concatenate(ranks, axis=1)
    order = np.lexsort((rank, query))
    return Hits(
        query=query[order],
        rank=rank[order],
        tie_first=tie_first[order],
        tie_size=tie_size[order],
        grade=np.array(grades, np.float64)[order],
        doc_ids=lambda: [names[place] for place in order.tolist()],
        retrieved=retrieved,
        tied_at=tied_at,
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
        self,
        batch: list[tuple[int, Documents]],
        query_ids: tuple[str, ...],
        precision: Precision,
    ) -> None:
        self._documents = [documents for _, documents in batch]
        self.sizes = np.array([len(documents) for documents in self._documents], np.int64)
        self._ends = np.cumsum(self.sizes)
        self._begins = self._ends - self.sizes
        own_ids = (query_ids[number] for number, _ in batch)
        scores = numbers_of(self._documents, int(self._ends[-1]), own_ids, "score")
        if precision == "single":
            scores = _single(scores)
        self._given: FloatArray = scores
        rising = scores[1:] > scores[:-1]
        rising[self._begins[1:] - 1] = False
        if rising.any():
            query = np.repeat(np.arange(len(batch), dtype=np.int16 if len(batch) < 2**15 else None),
                              self.sizes)  # fmt: skip
            order = np.argsort(-scores)
            scores = scores[order[np.argsort(query[order], kind="stable")]]
        self._falling: FloatArray = scores

    def tied_across(self, cutoff: int) -> int:
        """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` share a score."""
        at = self._begins[self.sizes > cutoff] + cutoff
        return int(np.count_nonzero(self._falling[at] == self._falling[at - 1]))

    def ranks(self, own: list[float], names: list[str], counts: list[int], ties: Ties) -> IntArray:
        """Return for judged documents the rank, and the first rank and size of its tie.

        The rank is 1 + higher scores + tied ones that go first.
        """
        mine = np.array(own, np.float64)
        if self._falling.dtype == np.float32:
            mine = _single(mine)
        query = np.repeat(np.arange(len(counts)), counts)
        every = _keys(np.repeat(np.arange(len(self.sizes)), self.sizes), self._falling)
        wanted = _keys(query, mine)
        higher = np.searchsorted(every, wanted)
        size = np.searchsorted(every, wanted, side="right") - higher
        first = higher - self._begins[query] + 1
        ranks = first.copy()
        tied = np.flatnonzero(size > 1)
        if tied.size:
            ranks[tied] += self._ahead(query[tied].tolist(), mine[tied].tolist(),
                                       [names[place] for place in tied.tolist()], ties)  # fmt: skip
        return np.stack([ranks, first, size])

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
