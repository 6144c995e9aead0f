"""What a measure sees: one run, ranked and joined with its judgments.

A `JudgedRun` is sparse. It keeps the ranks and grades of the *judged retrieved* documents (the
hits), how many documents each query retrieved, and the grades in the judgments. Nearly every
measure needs nothing else, so measuring costs time in the number of hits, not of rows.

Queries are numbered 0, 1, … in the order of ``query_ids``; every other array refers to these
numbers. Measures only read; a change (`JudgedRun.only`, `cut`, `condensed`) makes a new object.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import numpy.typing as npt

    from rankscope.measures.term_lists import Terms

__all__ = ["JudgedRun"]

IntArray: TypeAlias = "npt.NDArray[np.int64]"
FloatArray: TypeAlias = "npt.NDArray[np.float64]"
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"

_T = TypeVar("_T")
_F = TypeVar("_F", bound="Callable[..., Any]")


def once(function: _F) -> _F:
    """Compute a function of a run once for the same arguments; nobody changes what it returns."""

    @wraps(function)
    def call(run: JudgedRun, *args: Hashable) -> Any:
        return run.remember((function, *args), lambda: function(run, *args))

    return cast("_F", call)


def once_for_judgments(function: _F) -> _F:
    """Do the same for what depends on judgments alone: once for all runs measured with them."""

    @wraps(function)
    def call(run: JudgedRun, *args: Hashable) -> Any:
        return run.remember_judged((function, *args), lambda: function(run, *args))

    return cast("_F", call)


class Ranked(NamedTuple):
    """Some of the hits, by query and rank; ``seen`` counts them within their query from 1."""

    query: IntArray
    rank: IntArray
    seen: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Subtopics:
    """Judgments by subtopic (diversity): one entry for each query, document and subtopic.

    ``doc`` is a number unique to a document of a query, rising with the document id by bytes;
    ``subtopic`` a number unique to a subtopic of a query; ``rank`` the document's rank from 1, or 0
    if it was not retrieved. Entries come in any order.
    """

    query: IntArray
    doc: IntArray
    subtopic: IntArray
    grade: FloatArray
    rank: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """What retrieved pieces of text cover: one entry for each piece, by query and rank."""

    query: IntArray
    rank: IntArray
    """Of the piece in its answer, from 1."""
    covered: IntArray
    """Units (characters or words) of gold that the pieces down to this one cover."""
    retrieved: IntArray
    """Units of these pieces, each counted once."""
    gold: IntArray
    """By query: all units of gold."""

    def within(self, cutoff: int | None, queries: int) -> tuple[IntArray, IntArray]:
        """Return by query what its first ``cutoff`` pieces cover, and how many units they are."""
        covered, retrieved = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
        shown = slice(None) if cutoff is None else self.rank <= cutoff
        covered[self.query[shown]] = self.covered[shown]  # of equal indices the last one counts
        retrieved[self.query[shown]] = self.retrieved[shown]
        return covered, retrieved

    def only(self, keep: BoolArray) -> Spans:
        """Return the entries of some queries, numbered anew."""
        stays = keep[self.query]
        query, rank = (np.cumsum(keep) - 1)[self.query[stays]], self.rank[stays]
        return Spans(query, rank, self.covered[stays], self.retrieved[stays], self.gold[keep])

    def cut(self, cutoff: int) -> Spans:
        """Return the entries of the first ``cutoff`` pieces."""
        stays = self.rank <= cutoff
        query, rank = self.query[stays], self.rank[stays]
        return Spans(query, rank, self.covered[stays], self.retrieved[stays], self.gold)


def place_in(group: IntArray) -> IntArray:
    """Count within each group from 1: ``[0, 0, 3, 3, 3]`` gives ``[1, 2, 1, 2, 3]``.

    Equal numbers must be next to each other.
    """
    place = np.arange(1, len(group) + 1, dtype=np.int64)
    if len(group):
        start = np.zeros(len(group), np.int64)  # by entry: where its group begins
        np.multiply(group[1:] != group[:-1], place[:-1], out=start[1:])
        place -= np.maximum.accumulate(start)
    return place


class OfJudgments:
    """What follows from judgments alone, found once for all runs that are measured with them."""

    def __init__(self, queries: int, judged_query: IntArray, judged_grade: FloatArray) -> None:
        self._of = (queries, judged_query, judged_grade)
        self._memory: dict[Hashable, object] = {}

    def memory_for(self, run: JudgedRun) -> dict[Hashable, object] | None:
        """Return what is known; None if a run has other judgments, or some of its queries only."""
        queries, judged_query, judged_grade = self._of
        is_same = run.judged_grade is judged_grade and run.judged_query is judged_query
        return self._memory if is_same and len(run) == queries else None


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRun:
    """One run against one set of judgments, ready to be measured.

    Grades may be fractional. A negative grade means *pooled but not judged*: such a document is a
    hit here, and measures treat it as nonrelevant or, where they look at what was judged, skip it.
    Where judgments have subtopics, a document's plain grade is its highest.
    """

    query_ids: tuple[str, ...]
    """The queries that are measured."""
    retrieved: IntArray
    """By query: how many documents the run retrieved; 0 if it lacks the query."""
    in_run: BoolArray
    """By query: whether the run has it."""
    hit_query: IntArray
    """By hit: its query. Hits are sorted by query, then rank."""
    hit_rank: IntArray
    """By hit: its rank, from 1."""
    hit_grade: FloatArray
    """By hit: its grade."""
    judged_query: IntArray
    """By judgment: its query. Judgments are sorted by query, then grade from high to low."""
    judged_grade: FloatArray
    """By judgment: its grade."""
    max_grade: float
    """The highest grade in all the judgments, also of queries that are not measured."""
    subtopics: Subtopics | None = None
    """Judgments by subtopic, if there are any."""
    spans: Spans | None = None
    """What the retrieved pieces cover, where gold is spans or texts."""
    terms: Terms | None = None
    """The expected and retrieved terms, where documents are terms of an ontology."""
    of_judgments: OfJudgments | None = None
    """What is known of the judgments, if other runs are measured with the same."""
    _memory: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.query_ids)

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what ``make`` returned when ``key`` was first asked for."""
        try:
            return cast("_T", self._memory[key])
        except KeyError:
            value = self._memory[key] = make()
            return value

    def remember_judged(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the same for what depends on the judgments alone; it must not be changed."""
        memory = None if self.of_judgments is None else self.of_judgments.memory_for(self)
        if memory is None:
            return self.remember(key, make)
        try:
            return cast("_T", memory[key])
        except KeyError:
            value = memory[key] = make()
            return value

    def count(self, query: IntArray) -> IntArray:
        """Count entries by query."""
        return np.bincount(query, minlength=len(self.query_ids))

    def total(self, query: IntArray, weights: FloatArray) -> FloatArray:
        """Sum weights by query, one after the other as they come (so: in rank order)."""
        if len(query) == 0:  # bincount would count nothing as whole numbers
            return self.zeros()
        return cast("FloatArray", np.bincount(query, weights, minlength=len(self.query_ids)))

    def zeros(self) -> FloatArray:
        """Return a 0 for each query."""
        return np.zeros(len(self.query_ids))

    @once_for_judgments
    def graded(self, at_least: float) -> IntArray:
        """By query: how many judgments have this grade or a higher one."""
        return self.count(self.judged_query[self.judged_grade >= at_least])

    @once_for_judgments
    def without(self, at_least: float) -> int:
        """Return how many queries have no judgment of this grade or a higher one."""
        return int(np.count_nonzero(self.graded(at_least) == 0))

    @once
    def relevant(self, rel: float, cutoff: int | None = None) -> Ranked:
        """Return the hits with grade ``rel`` or more, down to rank ``cutoff``."""
        if cutoff is None:
            keep = self.hit_grade >= rel
            query = self.hit_query[keep]
            return Ranked(query, self.hit_rank[keep], place_in(query))
        whole = self.relevant(rel)
        if cutoff >= self._deepest():
            return whole
        keep = whole.rank <= cutoff
        return Ranked(whole.query[keep], whole.rank[keep], whole.seen[keep])

    @once
    def found(self, rel: float, cutoff: int | None = None) -> IntArray:
        """By query: how many hits with grade ``rel`` or more are in the first ``cutoff``."""
        whole = self.relevant(rel)
        if cutoff is None:
            return self.count(whole.query)
        if cutoff >= self._deepest():
            return self.found(rel)
        return self.count(whole.query[whole.rank <= cutoff])

    @once
    def _deepest(self) -> int:
        """Return the lowest place of a hit: a cutoff from there on leaves out nothing."""
        return int(self.hit_rank.max(initial=0))

    def shown(self, cutoff: int | None = None) -> IntArray:
        """By query: how many documents are in the first ``cutoff``."""
        return self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)

    def only(self, keep: BoolArray) -> JudgedRun:
        """Return this run with some of its queries; ``keep`` says by query which."""
        if keep.all():
            return self
        number = np.cumsum(keep) - 1  # the new number of each query that stays
        hits, judgments = keep[self.hit_query], keep[self.judged_query]
        topics = self.subtopics
        if topics is not None:
            stays = keep[topics.query]
            columns: tuple[Any, ...] = (topics.doc, topics.subtopic, topics.grade, topics.rank)
            topics = Subtopics(number[topics.query[stays]], *(column[stays] for column in columns))
        return replace(
            self,
            query_ids=tuple(self.query_ids[query] for query in np.flatnonzero(keep).tolist()),
            retrieved=self.retrieved[keep],
            in_run=self.in_run[keep],
            hit_query=number[self.hit_query[hits]],
            hit_rank=self.hit_rank[hits],
            hit_grade=self.hit_grade[hits],
            judged_query=number[self.judged_query[judgments]],
            judged_grade=self.judged_grade[judgments],
            subtopics=topics,
            spans=None if self.spans is None else self.spans.only(keep),
            terms=None if self.terms is None else self.terms.only(keep, self.retrieved),
        )

    def cut(self, cutoff: int) -> JudgedRun:
        """Return this run with only its first ``cutoff`` documents; judgments stay whole."""
        keep = self.hit_rank <= cutoff
        topics = self.subtopics
        if topics is not None:
            topics = replace(topics, rank=np.where(topics.rank <= cutoff, topics.rank, 0))
        terms = self.terms
        if terms is not None:
            terms = terms.at(place_in(np.repeat(np.arange(len(self)), self.retrieved)) <= cutoff)
        return replace(
            self,
            retrieved=np.minimum(self.retrieved, cutoff),
            hit_query=self.hit_query[keep],
            hit_rank=self.hit_rank[keep],
            hit_grade=self.hit_grade[keep],
            subtopics=topics,
            spans=None if self.spans is None else self.spans.cut(cutoff),
            terms=terms,
        )

    @once
    def condensed(self) -> JudgedRun:
        """Return this run without its unjudged documents, the others moved up.

        Documents with a negative grade count as unjudged and go too.
        """
        keep = self.hit_grade >= 0
        query, rank = self.hit_query[keep], self.hit_rank[keep]
        place = place_in(query)
        topics = self.subtopics
        if topics is not None:
            height = int(self.retrieved.max(initial=0)) + 1  # one key for query and rank
            old, wanted = query * height + rank, topics.query * height + topics.rank
            at = np.searchsorted(old, wanted)
            stays = np.isin(wanted, old) & (topics.rank > 0)
            moved = np.zeros_like(topics.rank)
            moved[stays] = place[at[stays]]
            topics = replace(topics, rank=moved)
        terms = self.terms
        if terms is not None:
            terms = terms.at((np.cumsum(self.retrieved) - self.retrieved)[query] + rank - 1)
        return replace(
            self,
            retrieved=self.count(query),
            hit_query=query,
            hit_rank=place,
            hit_grade=self.hit_grade[keep],
            subtopics=topics,
            terms=terms,
        )
