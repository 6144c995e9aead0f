"""Bounds: how far a value could move for reasons that say nothing about the system.

Ties: equal scores can be in any order. Holes: documents nobody judged could be relevant or not.
Both are answered by measuring the same run again, with its ranks or its judgments changed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import InputError
from rankscope.measures.judged import place_in
from rankscope.measures.language import DEFAULT_MEASURES
from rankscope.measures.parts import gains_of
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments, as_one_run
from rankscope.scoring.plans import meant
from rankscope.scoring.scoring_options import Scoring, ScoringOptions

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Measures
    from rankscope.scoring.rules import Profile

__all__ = ["Bounds", "bounds"]


class TieBounds(Part):
    """The values that the orders of equal scores could give."""

    lowest: float
    """The lowest."""
    highest: float
    """The highest."""


class HoleBounds(Part):
    """The values if every unjudged document that the measure looks at had been judged."""

    nonrelevant: float
    """If all of them were nonrelevant."""
    relevant: float
    """If all of them were relevant; where relevant documents are counted, these count too."""
    grade: float
    """With this grade."""


class Bounds(Part):
    """How far one measure's mean could move."""

    measure: str
    """The measure."""
    value: float
    """Its mean."""
    ties: TieBounds | None
    """What equal scores could make of it; null where no few orders are known to hold the ends."""
    holes: HoleBounds | None
    """What unjudged documents could make of it; null for measures by subtopic, and where holes
    were not asked for."""


class BoundsTable(tuple[Bounds, ...], Shown):
    """The bounds of several measures."""


def bounds(
    qrels: Any,
    run: Any,
    measures: Measures = DEFAULT_MEASURES,
    *,
    holes: bool = True,
    hole_grade: float = 1.0,
    **options: Unpack[ScoringOptions],
) -> BoundsTable:
    """Return how far each measure of one run could move because of ties and of holes.

    ``options`` are those of `evaluate`.

    >>> [bound] = bounds({"q": {"d1": 1}}, {"q": {"d1": 0.5, "d2": 0.5}}, ["RR"])
    >>> bound.ties
    TieBounds(lowest=0.5, highest=1.0)
    """
    scoring = Scoring.of("bounds", options, without=("corpus", "executor", "overlap"))
    judgments = as_judgments(qrels, scoring)
    return bounds_of(judgments, run, measures, scoring, holes=holes, hole_grade=hole_grade)


def bounds_of(
    judgments: Judgments,
    run: Any,
    measures: Measures,
    scoring: Scoring,
    *,
    holes: bool = True,
    hole_grade: float = 1.0,
) -> BoundsTable:
    """Return the bounds of one run by the rules of a call; see `bounds`."""
    if not 0 <= hole_grade < math.inf:
        raise InputError(f"hole_grade must be a finite number from 0 up, not {hole_grade}")
    if judgments.gold is not None:
        raise InputError("bounds are of judged ids, and the golden set holds spans or texts")
    _, given = as_one_run(run, judgments, scoring)
    world_of = cache(lambda rules: World(judgments, given, rules))
    table = []
    for parsed in meant(measures, scoring.profile, scoring.relevance_level):
        measure = parsed.measure
        world = world_of(scoring.rules_for(measure))
        filled = None
        if holes and measure.needs not in ("subtopics", "terms"):
            nonrelevant, relevant = (
                world.mean(measure, world.filled(grade, measure.cutoff))
                for grade in (0.0, hole_grade)
            )
            filled = HoleBounds(nonrelevant=nonrelevant, relevant=relevant, grade=hole_grade)
        table.append(
            Bounds(
                measure=str(measure),
                value=world.mean(measure, world.judged),
                ties=world.tie_bounds(measure),
                holes=filled,
            )
        )
    return BoundsTable(table)


class World:
    """A run aligned under some rules, and what it would be with other orders or judgments."""

    def __init__(self, judgments: Judgments, run: Any, rules: Profile) -> None:
        aligned = align(judgments, run, rules, strict=rules.queries == "strict")
        self.judged = aligned.judged
        self.filled = cache(partial(fill_holes, self.judged))
        self._hits = aligned.hits
        self._ordered = cache(self._in_orders)
        self.keep = aligned.counting(rules)
        """By query: whether it counts."""

    def averaged(
        self, measure: Measure, values: FloatArray, judged: JudgedRun | None = None
    ) -> float:
        """Return the mean over the queries that count; ``judged`` is what the values are of."""
        return aggregate(measure, values[self.keep], (judged or self.judged).only(self.keep))

    def mean(self, measure: Measure, judged: JudgedRun) -> float:
        """Return a measure's mean."""
        return self.averaged(measure, compute(measure, judged), judged)

    def tie_bounds(self, measure: Measure) -> TieBounds | None:
        """Return the lowest and highest mean over the orders of equal scores.

        Relevant documents first and last in each tie give them. Not so for measures that tell
        judged from unjudged documents, and a few others: of these they are not known.
        """
        values = [compute(measure, self.judged)]
        if (self._hits.tie_size > 1).any():
            definition, options = measure.definition, measure.options
            known = definition.tie_bounds
            is_known = known if isinstance(known, bool) else known(measure)
            by_judged = definition.sees_unjudged or bool(options["judged_only"])
            if measure.needs or definition.family == "own" or by_judged or not is_known:
                return None
            gain = options.get("gain")
            table = gain if isinstance(gain, tuple) else None
            orders = self._ordered(table, options.get("least"))
            values += [compute(measure, run) for run in orders]
        lowest, highest = np.min(values, axis=0), np.max(values, axis=0)
        return TieBounds(
            lowest=self.averaged(measure, lowest), highest=self.averaged(measure, highest)
        )

    def _in_orders(self, table: Any, least: Any) -> tuple[JudgedRun, JudgedRun]:
        """Return the run with the relevant documents of each tie first, best first; and last."""
        hits = self._hits
        worth = hits.grade if table is None else gains_of(hits.grade, table, least=least)
        tied = np.flatnonzero(hits.tie_size > 1)  # other hits stay where they are
        query, first, size = hits.query[tied], hits.tie_first[tied], hits.tie_size[tied]
        grade, worth = hits.grade[tied], np.maximum(worth[tied], 0.0)
        made = []
        for sign in (-1, 1):
            order = np.lexsort((sign * worth, first, query))
            starts = np.ones(len(order), np.bool_)  # whether a tie begins
            starts[1:] = (np.diff(query[order]) != 0) | (np.diff(first[order]) != 0)
            tie, begins = np.cumsum(starts) - 1, np.flatnonzero(starts)
            rank = first[order] + np.arange(len(order)) - begins[tie]
            if sign > 0:  # unjudged documents, of which there is no hit, go before them
                rank += (size[order][starts] - np.bincount(tie, minlength=len(begins)))[tie]
            hit_rank, hit_grade = self.judged.hit_rank.copy(), self.judged.hit_grade.copy()
            hit_rank[tied], hit_grade[tied] = rank, grade[order]
            made.append(replace(self.judged, hit_rank=hit_rank, hit_grade=hit_grade))
        return made[0], made[1]


# --- holes ---------------------------------------------------------------------------------------


def holes_in(judged: JudgedRun, depth: int | None) -> tuple[IntArray, IntArray]:
    """Return query and rank of every unjudged document down to ``depth``, by query and rank."""
    sizes = judged.shown(depth)
    starts = np.cumsum(sizes) - sizes
    known = judged.hit_grade >= 0  # a negative grade means pooled and not judged
    if depth is not None:
        known &= judged.hit_rank <= depth
    is_hole = np.ones(int(sizes.sum()), np.bool_)
    is_hole[starts[judged.hit_query[known]] + judged.hit_rank[known] - 1] = False
    query = np.repeat(np.arange(len(judged)), sizes)[is_hole]
    return query, np.flatnonzero(is_hole) - starts[query] + 1


def graded_from(judged: JudgedRun, grade: float) -> JudgedRun:
    """Return a run without hits and judgments of a lower grade."""
    hits, judgments = judged.hit_grade >= grade, judged.judged_grade >= grade
    return replace(
        judged,
        hit_query=judged.hit_query[hits],
        hit_rank=judged.hit_rank[hits],
        hit_grade=judged.hit_grade[hits],
        judged_query=judged.judged_query[judgments],
        judged_grade=judged.judged_grade[judgments],
    )


def fill_holes(judged: JudgedRun, grade: float, depth: int | None) -> JudgedRun:
    """Return the run with every unjudged document down to ``depth`` judged at ``grade``."""
    query, rank = holes_in(judged, depth)
    new = np.full(len(query), grade)
    hits = judged.hit_grade >= 0  # what is pooled is a hole too
    if depth is not None:
        hits |= judged.hit_rank > depth
    stays = judged.count(judged.judged_query) - judged.count(judged.hit_query[~hits])
    # as many judgments go as hits: the last of each query, which are negative, and no measure
    # tells negative grades apart (levels and gains are of grades from 0 on)
    known = place_in(judged.judged_query) <= stays[judged.judged_query]
    hit_query, hit_rank, hit_grade = (
        np.append(old[hits], filled)
        for old, filled in (
            (judged.hit_query, query),
            (judged.hit_rank, rank),
            (judged.hit_grade, new),
        )
    )
    all_query = np.append(judged.judged_query[known], query)
    all_grade = np.append(judged.judged_grade[known], new)
    by_rank, by_grade = np.lexsort((hit_rank, hit_query)), np.lexsort((-all_grade, all_query))
    return replace(
        judged,
        hit_query=hit_query[by_rank],
        hit_rank=hit_rank[by_rank],
        hit_grade=hit_grade[by_rank],
        judged_query=all_query[by_grade],
        judged_grade=all_grade[by_grade],
        max_grade=max(judged.max_grade, grade) if len(query) else judged.max_grade,
    )
