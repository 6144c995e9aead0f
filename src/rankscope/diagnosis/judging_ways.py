"""Ways to judge what is unjudged, and what each would make of a measure.

A way is a query and some of its unjudged documents, which are taken for relevant. Many ways are
measured at once, each as a query of one `JudgedRun`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from rankscope.measures.judged import place_in
from rankscope.measures.registry import compute
from rankscope.runs.order import rows_of
from rankscope.scoring.bounds import graded_from, holes_in

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure

MOST_ROWS = 1_000_000
"""No more entries are made to find the bounds of one measure of one run."""

RISING = frozenset({"P", "R", "R_cap", "F", "Success", "RR", "CG", "DCG", "RBP"})
"""Measures that no further relevant document in the run lowers."""

BY_NUMBER = RISING | {"nDCG", "AP", "Rprec"}
"""Measures of which, with a given number of relevant documents, the value is highest where these
are ranked first and lowest where they are ranked last."""


def fillable(measure: Measure) -> bool:
    """Tell whether judgments can be added for a measure: not by subtopic, span or length."""
    return not measure.needs


def is_by_number(measure: Measure) -> bool:
    """Tell whether a measure is one of `BY_NUMBER` and sees relevant documents only.

    Then a document of grade 0 is the same as an unjudged one.
    """
    options = measure.options
    return (
        measure.name in BY_NUMBER
        and not options["judged_only"]
        and not isinstance(options.get("gain"), tuple)  # a table may give grade 0 a gain
        and cast("float", options.get("rel", 1.0)) > 0
    )


def is_rising(measure: Measure, judged: JudgedRun, grade: float) -> bool:
    """Tell whether all unjudged documents relevant, or none, are the ends of a measure's values."""
    # RBP may divide gains by the highest grade there is
    is_scaled = measure.name == "RBP" and grade > judged.max_grade
    return measure.name in RISING and is_by_number(measure) and not is_scaled


def as_seen(measure: Measure, judged: JudgedRun) -> JudgedRun:
    """Return a run without what a measure does not look at, so that its ways are few rows."""
    if measure.cutoff is not None and not measure.options["judged_only"]:
        judged = judged.cut(measure.cutoff)
    return graded_from(judged, np.finfo(np.float64).tiny if is_by_number(measure) else 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Ways to judge: each is a query and some of its unjudged documents, which are relevant."""

    query: IntArray
    """By way: the query."""
    way: IntArray
    """By document that is judged relevant: its way."""
    rank: IntArray
    """By such document: its rank in the run; 0 if the run lacks it."""

    @classmethod
    def slices(cls, query: IntArray, rank: IntArray, start: IntArray, size: IntArray) -> Ways:
        """Make ways of slices of a list of documents, which comes by query."""
        row = np.arange(int(size.sum())) + np.repeat(start - (np.cumsum(size) - size), size)
        return cls(query[start], np.repeat(np.arange(len(size)), size), rank[row])

    def of(self, judged: JudgedRun, grade: float) -> JudgedRun:
        """Return a run with a query for each way; ``judged`` has no negative grades."""
        inside = self.rank > 0
        hits, hit_way = self._rows(judged.hit_query, judged)
        hit_way = np.concatenate([hit_way, self.way[inside]])
        hit_rank = np.concatenate([judged.hit_rank[hits], self.rank[inside]])
        hit_grade = np.append(judged.hit_grade[hits], np.full(np.count_nonzero(inside), grade))
        judgments, all_way = self._rows(judged.judged_query, judged)
        all_way = np.concatenate([all_way, self.way])
        all_grade = np.append(judged.judged_grade[judgments], np.full(len(self.way), grade))
        by_rank, by_grade = np.lexsort((hit_rank, hit_way)), np.lexsort((-all_grade, all_way))
        return replace(
            judged,
            query_ids=("",) * len(self.query),
            retrieved=judged.retrieved[self.query],
            in_run=judged.in_run[self.query],
            hit_query=hit_way[by_rank],
            hit_rank=hit_rank[by_rank],
            hit_grade=hit_grade[by_rank],
            judged_query=all_way[by_grade],
            judged_grade=all_grade[by_grade],
            max_grade=max(judged.max_grade, grade) if len(self.way) else judged.max_grade,
        )

    def _rows(self, query: IntArray, judged: JudgedRun) -> tuple[IntArray, IntArray]:
        """Return the entries of each way's query, one way after the other, and their ways."""
        rows, at = rows_of(np.searchsorted(query, np.arange(len(judged) + 1)), self.query)
        return rows, np.repeat(np.arange(len(self.query)), np.diff(at))

    def rows(self, judged: JudgedRun) -> int:
        """Count the entries that `of` makes."""
        entries = judged.count(judged.hit_query) + judged.count(judged.judged_query)
        return int(entries[self.query].sum()) + 2 * len(self.way)


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """By query: the lowest and highest value of a measure over all ways to judge."""

    lowest: FloatArray
    highest: FloatArray
    rows: int = 0
    """How many entries were made to find them."""


def value_range(
    measure: Measure, judged: JudgedRun, grade: float, *, most_rows: int = MOST_ROWS
) -> Range | None:
    """Return by query how low and how high a measure could be; None if that is not known.

    Looked at are the unjudged documents down to the measure's cutoff; each gets grade 0 or
    ``grade``, and counts where relevant documents are counted. Exact: of `RISING` measures all or
    none of them relevant are the ends; of others of `BY_NUMBER` the first x and the last x of them
    are tried, for every x. Not known of other measures, and where more than ``most_rows`` entries
    would have to be made.

    >>> from rankscope.measures.language import Measure
    >>> from rankscope.scoring.align import align
    >>> from rankscope.scoring.inputs import as_judgments
    >>> judged = align(as_judgments({"q": {"a": 1, "b": 1}}), {"q": {"a": 2, "x": 1}}).judged
    >>> ends = value_range(Measure.parse("AP"), judged, 1.0)
    >>> ends.lowest.tolist(), ends.highest.tolist()  # (1 + 2/2) / 3 if x is relevant
    ([0.5], [0.6666666666666666])
    """
    rises = is_rising(measure, judged, grade)
    if not is_by_number(measure) or rises != (measure.name in RISING):
        return None
    query, rank = holes_in(judged, measure.cutoff)
    base = as_seen(measure, judged)
    place = place_in(query)
    start = np.arange(len(query)) - place + 1
    if rises:
        last = np.flatnonzero(np.diff(query, append=-1) != 0)
        ways = Ways.slices(query, rank, start[last], place[last])
    else:
        if 2 * int(place.sum()) > most_rows:  # the least there can be
            return None
        size = np.bincount(query, minlength=len(judged))[query]
        later = place > 1
        ways = Ways.slices(
            query,
            rank,
            np.concatenate([start, np.flatnonzero(later)]),
            np.concatenate([place, (size - place + 1)[later]]),
        )
        if ways.rows(base) > most_rows:
            return None
    values = compute(measure, ways.of(base, grade))
    lowest = compute(measure, base)
    highest = lowest.copy()
    np.minimum.at(lowest, ways.query, values)
    np.maximum.at(highest, ways.query, values)
    return Range(lowest, highest, 0 if rises else ways.rows(base))


def changes_of_one(
    measure: Measure, judged: JudgedRun, query: IntArray, rank: IntArray, grade: float
) -> FloatArray:
    """Return what judging each of some documents relevant, alone, would add to its query's value.

    ``rank`` is 0 where the run lacks a document: then it can only count as one more to be found.
    """
    base = as_seen(measure, judged)
    if measure.cutoff is not None and not measure.options["judged_only"]:
        rank = np.where(rank > measure.cutoff, 0, rank)
    # all documents of a query that the run lacks are the same to it: each case is measured once
    cases, same = np.unique(np.stack([query, rank]), axis=1, return_inverse=True)
    ways = Ways(cases[0], np.arange(cases.shape[1]), cases[1])
    added = compute(measure, ways.of(base, grade)) - compute(measure, base)[ways.query]
    return added[same.reshape(-1)]
