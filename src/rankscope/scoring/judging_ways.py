"""Ways to judge what is unjudged: many at once, each as a query of one `JudgedRun`.

`rankscope.scoring.bounds` judges all unjudged documents alike. Here some of a query's are relevant
and the others are not, so that a measure says what each way would make of the query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from rankscope.measures.judged import place_in
from rankscope.measures.registry import compute
from rankscope.runs.order import rows_of
from rankscope.scoring.bounds import by_query_and_grade, holes_in

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
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
    least = np.finfo(np.float64).tiny if is_by_number(measure) else 0.0
    hits, judgments = judged.hit_grade >= least, judged.judged_grade >= least
    return replace(
        judged,
        hit_query=judged.hit_query[hits],
        hit_rank=judged.hit_rank[hits],
        hit_grade=judged.hit_grade[hits],
        judged_query=judged.judged_query[judgments],
        judged_grade=judged.judged_grade[judgments],
    )


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
        """Return a run with a query for each way; ``judged`` is as `as_seen` makes it."""
        numbers = np.arange(len(judged) + 1)
        hits, at = rows_of(np.searchsorted(judged.hit_query, numbers), self.query)
        inside = self.rank > 0
        hit_way = np.concatenate([_numbered(at), self.way[inside]])
        hit_rank = np.concatenate([judged.hit_rank[hits], self.rank[inside]])
        hit_grade = np.concatenate(
            [judged.hit_grade[hits], np.full(np.count_nonzero(inside), grade)]
        )
        height = int(hit_rank.max(initial=0)) + 1
        order = np.argsort(hit_way * height + hit_rank, kind="stable")
        rows, at = rows_of(np.searchsorted(judged.judged_query, numbers), self.query)
        all_way = np.concatenate([_numbered(at), self.way])
        all_grade = np.concatenate([judged.judged_grade[rows], np.full(len(self.way), grade)])
        levels = np.unique(np.append(judged.judged_grade, grade))
        by_grade = by_query_and_grade(all_way, all_grade, levels)
        return replace(
            judged,
            query_ids=("",) * len(self.query),
            retrieved=judged.retrieved[self.query],
            in_run=judged.in_run[self.query],
            hit_query=hit_way[order],
            hit_rank=hit_rank[order],
            hit_grade=hit_grade[order],
            judged_query=all_way[by_grade],
            judged_grade=all_grade[by_grade],
            max_grade=max(judged.max_grade, grade),
        )

    def rows(self, judged: JudgedRun) -> int:
        """Count the entries that `of` makes."""
        entries = judged.count(judged.hit_query) + judged.count(judged.judged_query)
        return int(entries[self.query].sum()) + 2 * len(self.way)


def _numbered(offsets: IntArray) -> IntArray:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


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
    plain = compute(measure, base)
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
    lowest, highest = plain.copy(), plain.copy()
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
    inside: BoolArray = rank > 0
    # all documents of a query that the run lacks are the same to it
    queries, alike = np.unique(query[~inside], return_inverse=True)
    rows = np.flatnonzero(inside)
    ways = Ways(
        np.concatenate([query[rows], queries]),
        np.arange(len(rows) + len(queries)),
        np.concatenate([rank[rows], np.zeros(len(queries), np.int64)]),
    )
    added = compute(measure, ways.of(base, grade)) - compute(measure, base)[ways.query]
    changes = np.empty(len(query))
    changes[rows] = added[: len(rows)]
    changes[~inside] = added[len(rows) :][alike]
    return changes
