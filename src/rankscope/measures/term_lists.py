"""The terms of an ontology that were expected and retrieved, and the grades that nearness gives.

A retrieved document is a term here. How near it is to the expected ones becomes its grade, and so
do all other terms of the ontology get one: what the best ranking could gain depends on the
judgments and the ontology alone, not on what was retrieved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.judged import once

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.ontology.nearness import Way
    from rankscope.ontology.terms import Ontology

_NONE = np.empty(0, np.int64)

_BLOCK = 4_000_000
"""About so many grades are made at once: 20,000 terms of 200 queries take 64 MB."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Expected and retrieved terms by number; an id that the ontology lacks has a number past it.

    Such an id is near to itself and to nothing else.
    """

    ontology: Ontology
    query: IntArray
    """By expected term: its query; queries come in order."""
    number: IntArray
    """By expected term: its number."""
    grade: FloatArray
    """By expected term: its grade, which is above 0."""
    load: Callable[[], IntArray]
    """Returns by query and rank the numbers of what was retrieved."""

    @cached_property
    def retrieved(self) -> IntArray:
        """By query and rank: the number of the retrieved term."""
        return self.load()

    def only(self, keep: BoolArray, sizes: IntArray) -> Terms:
        """Return the terms of some queries, numbered anew; ``sizes`` are the retrieved so far."""
        stays = keep[self.query]
        return replace(
            self,
            query=(np.cumsum(keep) - 1)[self.query[stays]],
            number=self.number[stays],
            grade=self.grade[stays],
            load=lambda: self.retrieved[np.repeat(keep, sizes)],
        )

    def at(self, rows: BoolArray | IntArray) -> Terms:
        """Return the same expected terms with some of those retrieved, by their rows."""
        return replace(self, load=lambda: self.retrieved[rows])

    def expected(self, query: int) -> tuple[IntArray, FloatArray]:
        """Return the numbers and grades of a query's expected terms, each once."""
        low, high = np.searchsorted(self.query, [query, query + 1])
        number, grade = self.number[low:high], self.grade[low:high]
        if high - low < 2 or len(set(number.tolist())) == len(number):
            return number, grade
        order = np.lexsort((-grade, number))  # two ids of one term: the higher grade counts
        first = np.append(True, np.diff(number[order]) != 0)
        return number[order][first], grade[order][first]

    def similarities(self, way: Way, expected: int, retrieved: IntArray) -> FloatArray:
        """Return how near retrieved terms are to an expected one."""
        near = np.zeros(len(retrieved))
        size = len(self.ontology)
        if expected < size:
            known = retrieved < size
            near[known] = self.ontology.similarities(way, expected)[retrieved[known]]
        near[retrieved == expected] = 1.0
        return near


@once
def near_terms(run: JudgedRun, way: Way) -> list[FloatArray]:
    """Return for each query how near terms are: a row for each expected, a column for each rank."""
    terms = run.terms
    assert terms is not None  # `compute` asks for what a measure needs
    near = []
    for query, retrieved in enumerate(_by_query(run, terms)):
        again = _again(retrieved)
        rows = [
            np.where(again, 0.0, terms.similarities(way, number, retrieved))
            for number in terms.expected(query)[0].tolist()
        ]
        near.append(np.array(rows).reshape(len(rows), len(retrieved)))
    return near


def _again(retrieved: IntArray) -> BoolArray:
    """Tell by rank whether the term was retrieved before: two ids of one term earn once."""
    is_again = np.ones(len(retrieved), np.bool_)
    is_again[np.unique(retrieved, return_index=True)[1]] = False
    return is_again


def _by_query(run: JudgedRun, terms: Terms) -> list[IntArray]:
    return np.split(terms.retrieved, np.cumsum(run.retrieved)[:-1])


def softened(run: JudgedRun, way: Way) -> Iterator[JudgedRun]:
    """Yield a run in parts, each some of its queries, in which nearness to expected terms grades.

    The grade of a term is the highest of (grade of an expected term) · (nearness to it).
    """
    terms = run.terms
    assert terms is not None
    retrieved = _by_query(run, terms) if len(run) else []
    step = max(_BLOCK // max(len(terms.ontology), 1), 1)
    for low in range(0, max(len(run), 1), step):
        queries = range(low, min(low + step, len(run)))
        yield _graded(run, terms, way, queries, retrieved)


def _graded(
    run: JudgedRun, terms: Terms, way: Way, queries: range, retrieved: list[IntArray]
) -> JudgedRun:
    size = len(terms.ontology)
    hit_query, hit_rank, hit_grade = [], [], []
    judged_query, judged_grade = [], []
    for place, query in enumerate(queries):
        best = np.zeros(size)
        outside: dict[int, float] = {}
        numbers, grades = terms.expected(query)
        for number, grade in zip(numbers.tolist(), grades.tolist(), strict=True):
            if number < size:
                row = terms.ontology.similarities(way, number)
                np.maximum(best, row if grade == 1 else grade * row, out=best)
            else:
                outside[number] = grade
        of = retrieved[query]
        of_rank = np.where(of < size, best[np.minimum(of, size - 1)], 0.0)
        for number, grade in outside.items():
            of_rank[of == number] = grade
        of_rank[_again(of)] = 0.0
        ranks = np.flatnonzero(of_rank > 0)
        hit_query.append(np.full(len(ranks), place))
        hit_rank.append(ranks + 1)
        hit_grade.append(of_rank[ranks])
        everything = np.sort(np.concatenate([best[best > 0], [*outside.values()]]))[::-1]
        judged_query.append(np.full(len(everything), place))
        judged_grade.append(everything)
    part = slice(queries.start, queries.stop)
    return replace(
        run,
        query_ids=run.query_ids[part],
        retrieved=run.retrieved[part],
        in_run=run.in_run[part],
        hit_query=np.concatenate([_NONE, *hit_query]),
        hit_rank=np.concatenate([_NONE, *hit_rank]),
        hit_grade=np.concatenate([_NONE.astype(np.float64), *hit_grade]),
        judged_query=np.concatenate([_NONE, *judged_query]),
        judged_grade=np.concatenate([_NONE.astype(np.float64), *judged_grade]),
        max_grade=float(terms.grade.max(initial=0.0)),
        subtopics=None,
        terms=None,
    )
