"""Alignment of plain dicts, as they are: nothing is copied but some queries' scores at a time.

Some queries are looked at together, as a table: a row for each query, a column for each place in
its dict; what a row is too short for is filled with −∞. Sorting each row takes a fraction of the
time that one sort over all of them would.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from rankscope.runs import order
from rankscope.scoring.align import Hits
from rankscope.scoring.dicts_native import native_hits
from rankscope.scoring.plain import numbers_of, text_id, text_ids
from rankscope.scoring.soundness import Lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.order import Precision, Ties
    from rankscope.scoring.judgments import Judgments

    Documents = Mapping[str, float]

_V = TypeVar("_V", bound=np.generic)

_BATCH = 1 << 16
"""So many places, or one query, are looked at together: few steps, and all fits the cache."""

_NO_GRADE = 255
_UNGRADED: Any = repeat(_NO_GRADE)
_ABSENT: Any = repeat(math.nan)  # what a document that is not there has; no grade or score is NaN


def hits_in_dicts(
    judgments: Judgments,
    run: Mapping[str, Documents],
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits:
    """Find the judged documents of a run and their ranks."""
    quick = native_hits(judgments, run, ties, precision, cutoffs)
    if quick is not None:
        return quick
    retrieved = np.zeros(len(judgments.query_ids), np.int64)
    tied_at = np.zeros(len(cutoffs), np.int64)
    parts: list[_Part] = []
    lists = Lists()
    for queries, documents in _batches(judgments, run):
        scores = _Scores(judgments, queries, documents, precision)
        retrieved[queries] = scores.sizes
        lists = lists.plus(scores.lists())
        tied_at += scores.tied_across(cutoffs)
        parts.append(scores.hits(ties))
    rank, tie_first, tie_size = _joined([part.ranks for part in parts], np.empty((3, 0), np.int64))
    return Hits(
        query=_joined([part.query for part in parts], np.empty(0, np.int64)),
        rank=rank,
        tie_first=tie_first,
        tie_size=tie_size,
        grade=_joined([part.grade for part in parts], np.empty(0)),
        doc_ids=lambda: [doc_id for part in parts for doc_id in part.doc_ids()],
        retrieved=retrieved,
        tied_at=dict(zip(cutoffs, tied_at.tolist(), strict=True)),
        lists=lists,
    )


def _joined(arrays: list[Any], empty: Any) -> Any:
    """Return arrays one after the other; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate([empty, *arrays], axis=-1)


def _at(documents: Iterable[Documents], places: IntArray) -> list[str]:
    """Return some of the documents of several queries, which are counted through."""
    listed = list(chain.from_iterable(documents))
    return [listed[place] for place in places.tolist()]


def _batches(
    judgments: Judgments, run: Mapping[str, Documents]
) -> Iterator[tuple[list[int], list[Documents]]]:
    """Take the queries of a run that have documents, some at a time: numbers and documents."""
    queries: list[int] = []
    batch: list[Documents] = []
    widest = 0
    for number, documents in enumerate(map(run.get, judgments.query_ids)):
        if documents:
            size = len(documents)
            widest = max(widest, size)
            if widest * len(batch) + widest > _BATCH and batch:
                yield queries, batch
                queries, batch, widest = [], [], size
            queries.append(number)
            batch.append(documents)
    if batch:
        yield queries, batch


class _Part(NamedTuple):
    """The judged documents that some queries retrieved, by query and rank."""

    query: IntArray
    grade: FloatArray
    ranks: IntArray
    """Rank, first rank of the tie and size of the tie: (3, documents)."""
    doc_ids: Callable[[], list[str]]
    """Made when asked for."""


class _Judged(NamedTuple):
    """The same documents before they have ranks, in any order."""

    row: IntArray
    grade: FloatArray
    score: FloatArray
    """As it is compared, negated."""
    above: IntArray
    """How many documents of the query have a higher score."""
    level: IntArray
    """How many have the same score."""
    doc_ids: Callable[[IntArray], list[str]]
    """Returns some of the documents."""


class _Scores:
    """The scores of some queries as they are compared: (queries, places), negated.

    Negated scores that rise are scores that fall, and NumPy sorts upwards.
    """

    def __init__(
        self,
        judgments: Judgments,
        queries: list[int],
        documents: list[Documents],
        precision: Precision,
    ) -> None:
        self._judgments = judgments
        self._queries = queries
        self._precision = precision
        self.sizes = np.array(list(map(len, documents)), np.int64)
        self._width = int(self.sizes.max())
        self._is_full = self._width * len(documents) == int(self.sizes.sum())
        query_ids = (judgments.query_ids[number] for number in queries)
        numbers = numbers_of(documents, int(self.sizes.sum()), query_ids, "score")
        self._given = self._table(-order.compared(numbers, precision), np.inf)
        self._documents = documents
        if judgments.numeric_ids:
            self._documents = list(map(self._with_text_ids, queries, documents))
        self._climbs = self._given[:, 1:] < self._given[:, :-1]  # where the score does
        self._is_falling = not self._climbs.any()

    def _with_text_ids(self, number: int, documents: Documents) -> Documents:
        """Return documents with every id as text, if one could be meant by a judgment."""
        numeric = self._judgments.numeric_ids
        query_id = self._judgments.query_ids[number]
        if query_id not in numeric or documents.keys().isdisjoint(numeric[query_id]):
            return documents
        return text_ids(documents, query_id)

    @cached_property
    def _is_filled(self) -> BoolArray:
        """By query and place: whether there is a document."""
        filled: BoolArray = np.arange(self._width) < self.sizes[:, None]
        return filled

    def _table(self, values: NDArray[_V], filling: float) -> NDArray[_V]:
        """Put what is known of all documents, one after the other, in rows."""
        if self._is_full:
            return values.reshape(len(self.sizes), self._width)
        table = np.full((len(self.sizes), self._width), filling, values.dtype)
        table[self._is_filled] = values
        return table

    @cached_property
    def _ordered(self) -> FloatArray:
        """The rows with the best score first."""
        return self._given if self._is_falling else np.sort(self._given, axis=1)

    def tied_across(self, cutoffs: tuple[int, ...]) -> IntArray:
        """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` share a score."""
        cut = np.array(cutoffs, np.int64)
        deep = cut[: np.searchsorted(cut, self._width)]  # cutoffs rise
        tied = self._ordered[:, deep] == self._ordered[:, deep - 1]
        if not self._is_full:
            tied &= self.sizes[:, None] > deep
        counts = np.zeros(len(cut), np.int64)
        counts[: len(deep)] = np.count_nonzero(tied, axis=0)
        return counts

    def lists(self) -> Lists:
        """Count the queries by how their scores go down the list."""
        several = self.sizes > 1
        last = self._ordered[np.arange(len(self.sizes)), self.sizes - 1]
        level = int(np.count_nonzero(several & (self._ordered[:, 0] == last)))
        count = int(np.count_nonzero(several))
        if self._is_falling:
            return Lists(count, level=level)
        rising = self._climbs.any(axis=1)
        drops = self._given[:, 1:] > self._given[:, :-1]
        if not self._is_full:
            drops &= self._is_filled[:, 1:]
        climbing = rising & ~drops.any(axis=1)
        return Lists(count, int(np.count_nonzero(rising)), int(np.count_nonzero(climbing)), level)

    def hits(self, ties: Ties) -> _Part:
        """Find the judged documents and their ranks: after higher scores and what a tie puts first.

        Each judged document is looked up, or the grade of each document where most have one.
        """
        judged = [self._judgments.lists.documents[number] for number in self._queries]
        is_dense = 2 * sum(map(len, judged)) >= int(self.sizes.sum())
        known = self._by_document(judged) if is_dense else self._by_judgment(judged)
        ranks = np.empty((3, len(known.row)), np.int64)
        ranks[:2] = known.above + 1
        ranks[2] = known.level
        tied = np.flatnonzero(known.level > 1)
        if tied.size:
            ranks[0, tied] += self._ahead(
                known.row[tied].tolist(), known.score[tied].tolist(), known.doc_ids(tied), ties
            )
        query = np.array(self._queries, np.int64)[known.row]
        grade, doc_ids = known.grade, known.doc_ids
        key = known.row * (self._width + 1) + ranks[0]  # no two are equal
        if (key[1:] > key[:-1]).all():
            return _Part(query, grade, ranks, lambda: doc_ids(np.arange(len(query))))
        best = np.argsort(key)
        return _Part(query[best], grade[best], ranks[:, best], lambda: doc_ids(best))

    def _by_judgment(self, judged: list[Documents]) -> _Judged:
        """Ask for the score of every judged document, and search the row for it."""
        lengths = list(map(len, judged))
        lookups = [documents.get for documents in self._documents]
        asked: Any = chain.from_iterable(map(map, lookups, judged, repeat(_ABSENT)))
        scores = np.fromiter(asked, np.float64, sum(lengths))
        at = np.flatnonzero(~np.isnan(scores))
        row = np.repeat(np.arange(len(judged)), lengths)[at]
        offsets, grades = self._judgments.lists.offsets, self._judgments.lists.grades
        first, last = self._queries[0], self._queries[-1]
        if last - first + 1 == len(judged):  # no query is missing between them
            grades = grades[offsets[first] : offsets[last + 1]]
        else:
            grades = grades[order.rows_of(offsets, np.array(self._queries))[0]]
        score = -order.compared(scores[at], self._precision)
        above, level = self._searched(row, score)
        return _Judged(row, grades[at], score, above, level, lambda some: _at(judged, at[some]))

    def _searched(self, row: IntArray, score: FloatArray) -> tuple[IntArray, IntArray]:
        """Return how many scores of a row are higher than some, and how many are the same.

        Row and score are one key: complex numbers are ordered by their two parts.
        """
        table = np.empty(self._ordered.shape, np.complex128)
        table.real = np.arange(len(table))[:, None]
        table.imag = self._ordered
        keys = table.ravel()
        wanted = np.empty(len(row), np.complex128)
        wanted.real = row
        wanted.imag = score
        begin = row * self._width
        end = begin + self.sizes[row]
        at = np.searchsorted(keys, wanted)
        level = np.ones(len(row), np.int64)
        after = np.minimum(at + 1, end - 1)
        tied = np.flatnonzero((after > at) & (self._ordered.ravel()[after] == score))
        if tied.size:
            behind = np.searchsorted(keys, wanted[tied], side="right")
            level[tied] = np.minimum(behind, end[tied]) - at[tied]
        return at - begin, level

    def _by_document(self, judged: list[Documents]) -> _Judged:
        """Ask for the grade of every document; its place in the order is its rank, but for ties."""
        grades = self._grades(judged).ravel()
        best = None
        if not self._is_falling:
            rows = np.arange(0, grades.size, self._width)
            best = (np.argsort(self._given, axis=1) + rows[:, None]).ravel()
            grades = grades[best]
        at = np.flatnonzero(grades != _NO_GRADE if grades.dtype == np.uint8 else ~np.isnan(grades))
        row = at // self._width
        above, level = self._tie_of(row, at)

        def doc_ids(some: IntArray) -> list[str]:
            given = at[some] if best is None else best[at[some]]
            surplus = np.arange(len(self.sizes)) * self._width - np.cumsum(self.sizes) + self.sizes
            return _at(self._documents, given - surplus[row[some]])

        grade = grades[at].astype(np.float64, copy=False)
        return _Judged(row, grade, self._ordered.ravel()[at], above, level, doc_ids)

    def _grades(self, judged: list[Documents]) -> NDArray[np.uint8] | FloatArray:
        """Return by query and place the grade, as a byte where all of them are.

        A byte is the quickest to come by; a document without a grade has `_NO_GRADE`, or NaN.
        """
        lookups: list[Any] = [known.get for known in judged]
        if self._judgments.lists.are_bytes:
            pairs = zip(lookups, self._documents, strict=True)
            try:
                packed = b"".join([bytes(map(get, docs, _UNGRADED)) for get, docs in pairs])
                return self._table(np.frombuffer(packed, np.uint8), _NO_GRADE)
            except TypeError:  # whole numbers of another kind, such as 1.0
                pass
        asked: Any = chain.from_iterable(map(map, lookups, self._documents, repeat(_ABSENT)))
        grades = np.fromiter(asked, np.float64, int(self.sizes.sum()))
        return self._table(grades, math.nan)

    def _tie_of(self, row: IntArray, at: IntArray) -> tuple[IntArray, IntArray]:
        """Return for places of the order how many scores are higher, and how many the same."""
        begin = row * self._width
        same = self._ordered[:, 1:] == self._ordered[:, :-1]
        if not self._is_full:
            same &= self._is_filled[:, 1:]
        if not same.any():
            return at - begin, np.ones(len(at), np.int64)
        starts = np.ones(self._ordered.shape, np.bool_)
        starts[:, 1:] = ~same
        first = np.flatnonzero(starts)
        tie = (np.cumsum(starts) - 1)[at]
        return first[tie] - begin, np.diff(first, append=starts.size)[tie]

    def _ahead(
        self, row: list[int], score: list[float], doc_ids: list[str], ties: Ties
    ) -> list[int]:
        """Count for each tied document the ones of equal score that the rule puts before it."""
        places: dict[tuple[int, str], int] = {}
        listed = {number: list(self._documents[number]) for number in dict.fromkeys(row)}
        for number, level in dict.fromkeys(zip(row, score, strict=True)):
            size = int(self.sizes[number])
            at = np.flatnonzero(self._given[number, :size] == level).tolist()
            tied = _in_order([listed[number][place] for place in at], ties)
            places |= {(number, doc_id): place for place, doc_id in enumerate(tied)}
        return [places[key] for key in zip(row, doc_ids, strict=True)]


def _in_order(tied: list[Any], ties: Ties) -> list[str]:
    """Return the documents of a tie, which come as given, in the order of the tie rule."""
    try:
        order.sort_ids(tied, ties)
    except TypeError:  # some ids are whole numbers
        tied = [text_id(doc_id) for doc_id in tied]
        order.sort_ids(tied, ties)
    return tied
