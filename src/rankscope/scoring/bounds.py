"""Bounds: how far a value could move for reasons that say nothing about the system.

Ties: equal scores can be in any order. Holes: documents nobody judged could be relevant or not.
Both are answered by measuring the same run again, with its ranks or its judgments changed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from itertools import permutations
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import InputError
from rankscope.measures.language import DEFAULT_MEASURES, Measure, parse_measures
from rankscope.measures.parts import gains_of
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.by_language import refuse_mixed
from rankscope.scoring.inputs import (
    as_judgments,
    as_one_run,
    named_columns,
    without_identical,
)
from rankscope.scoring.options import Scoring, ScoringOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankscope.measures.definition import GainTable
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.scoring.hits import Hits
    from rankscope.scoring.judgments import Judgments
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
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
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
    scoring = Scoring.of("bounds", options, without=_NOT_HERE)
    with named_columns(scoring):
        judgments = as_judgments(qrels, scoring)
        return bounds_of(judgments, run, measures, scoring, holes=holes, hole_grade=hole_grade)


_NOT_HERE = ("lengths", "corpus", "executor", "overlap")


def bounds_of(
    judgments: Judgments,
    run: Any,
    measures: str | Measure | Iterable[str | Measure],
    scoring: Scoring,
    *,
    holes: bool = True,
    hole_grade: float = 1.0,
) -> BoundsTable:
    """Return the bounds of one run by the rules of a call; see `bounds`."""
    check_hole_grade(hole_grade)
    refuse_mixed(judgments)
    _, given = as_one_run(run, judgments, scoring)
    worlds: dict[Profile, World] = {}
    table = []
    for measure, rules in rules_of(measures, scoring.profile, scoring.changes):
        if rules not in worlds:
            worlds[rules] = World(judgments, given, rules)
        world = worlds[rules]
        fillable = holes and measure.needs not in ("subtopics", "terms")
        table.append(
            Bounds(
                measure=str(measure),
                value=world.mean(measure, world.judged),
                ties=_tie_bounds(measure, world),
                holes=hole_bounds(measure, world, hole_grade) if fillable else None,
            )
        )
    return BoundsTable(table)


def rules_of(
    measures: str | Measure | Iterable[str | Measure],
    profile: Profile,
    changes: Mapping[str, Any],
) -> list[tuple[Measure, Profile]]:
    """Return each measure as a profile means it, with the rules for it; each once."""
    meant = dict.fromkeys(profile.meaning(asked.measure) for asked in parse_measures(measures))
    return [(measure, replace(profile.rules_for(measure), **changes)) for measure in meant]


def check_hole_grade(grade: float) -> None:
    """Refuse a grade that no judge could give."""
    if not 0 <= grade < math.inf:
        raise InputError(f"hole_grade must be a finite number from 0 up, not {grade}")


class World:
    """A run aligned under some rules, and what it would be with other orders or judgments."""

    def __init__(self, judgments: Judgments, run: Any, rules: Profile) -> None:
        self.run = run if rules.identical_ids else without_identical(run)
        aligned = align(
            judgments,
            self.run,
            ties=rules.ties,
            precision=rules.precision,
            queries="strict" if rules.queries == "strict" else "all",
        )
        self.judged = aligned.judged
        self.orders = _Orders(self.judged, aligned.hits)
        self.filled = cache(partial(fill_holes, self.judged))
        self.keep = np.ones(len(self.judged), np.bool_)
        """By query: whether it counts."""
        if rules.queries == "both":
            self.keep &= self.judged.in_run
        if rules.no_relevant == "out":
            self.keep &= self.judged.graded(1.0) > 0

    def averaged(
        self, measure: Measure, values: FloatArray, judged: JudgedRun | None = None
    ) -> float:
        """Return the mean over the queries that count; ``judged`` is what the values are of."""
        return aggregate(measure, values[self.keep], (judged or self.judged).only(self.keep))

    def mean(self, measure: Measure, judged: JudgedRun) -> float:
        """Return a measure's mean."""
        return self.averaged(measure, compute(measure, judged), judged)


def hole_bounds(measure: Measure, world: World, grade: float) -> HoleBounds:
    """Return the mean with all holes judged, either way."""
    nonrelevant, relevant = (
        world.mean(measure, world.filled(each, measure.cutoff)) for each in (0.0, grade)
    )
    return HoleBounds(nonrelevant=nonrelevant, relevant=relevant, grade=grade)


def _tie_bounds(measure: Measure, world: World) -> TieBounds | None:
    """Return the lowest and highest mean over the orders of equal scores."""
    plain = compute(measure, world.judged)
    if not world.orders.tied:
        value = world.averaged(measure, plain)
        return TieBounds(lowest=value, highest=value)
    if not _orders_known(measure):
        return None
    gain, least = measure.options.get("gain"), measure.options.get("least")
    table = cast("GainTable", gain) if isinstance(gain, tuple) else None
    sees_unjudged = measure.definition.sees_unjudged or bool(measure.options["judged_only"])
    kinds = _EVERY if sees_unjudged else _TWO
    ordered = world.orders.of(kinds, table, cast("float | None", least))
    values = np.stack([plain, *(compute(measure, run) for run in ordered)])  # [orders, n]
    return TieBounds(
        lowest=world.averaged(measure, values.min(axis=0)),
        highest=world.averaged(measure, values.max(axis=0)),
    )


def _orders_known(measure: Measure) -> bool:
    """Tell whether the extremes are known to be among a few orders of each tie."""
    definition = measure.definition
    if measure.needs or definition.family == "own":
        return False
    known = definition.tie_bounds
    return known if isinstance(known, bool) else known(measure)


_TWO = ("RUNP", "PNUR")
_EVERY = tuple("".join(kinds) for kinds in permutations("RUNP"))


class _Orders:
    """A run with its ties in some order of the kinds of documents they hold.

    For most measures relevant documents first and last give the extremes. Measures that tell judged
    from unjudged documents need every order of the four kinds.
    """

    def __init__(self, judged: JudgedRun, hits: Hits) -> None:
        self._judged = judged
        self._hits = hits
        self.tied = bool((hits.tie_size > 1).any())
        self.of = cache(self._of)

    def _of(
        self, orders: tuple[str, ...], table: GainTable | None, least: float | None
    ) -> list[JudgedRun]:
        grades = self._hits.grade
        worth = grades if table is None else gains_of(grades, table, least=least)
        ties = _Ties(self._hits, worth)
        return [ties.ordered(self._judged, kinds) for kinds in orders]


class _Ties:
    """The hits that share their score with others: what other orders of each tie would change.

    By tie they are relevant (R), judged nonrelevant (N), pooled and not judged (P). Unjudged
    documents (U) are what is left of a tie's size.
    """

    def __init__(self, hits: Hits, worth: FloatArray) -> None:
        self.places = np.flatnonzero(hits.tie_size > 1)  # rising, and so by tie
        order = np.lexsort(
            (-worth[self.places], hits.tie_first[self.places], hits.query[self.places])
        )
        some = self.places[order]
        self.first, self.grade = hits.tie_first[some], hits.grade[some]
        new = np.ones(len(some), np.bool_)
        new[1:] = (np.diff(hits.query[some]) != 0) | (np.diff(self.first) != 0)
        self.tie = np.cumsum(new) - 1
        kind = np.where(worth[some] > 0, 0, np.where(self.grade >= 0, 1, 2))
        self.of_kind = dict(zip("RNP", (kind == 0, kind == 1, kind == 2), strict=True))
        self.counts = {
            name: np.bincount(self.tie, mask, minlength=int(new.sum())).astype(np.int64)
            for name, mask in self.of_kind.items()
        }
        self.counts["U"] = hits.tie_size[some][new] - sum(self.counts.values())

    def ordered(self, judged: JudgedRun, kinds: str) -> JudgedRun:
        """Put the kinds one after the other; relevant ones by falling grade unless they end it."""
        rank = np.empty(len(self.tie), np.int64)
        before = np.zeros_like(self.counts["U"])
        for kind in kinds:
            if kind in self.of_kind:
                mask = self.of_kind[kind]
                tie = self.tie[mask]
                place = np.arange(len(tie)) - np.searchsorted(tie, tie)
                if kinds.endswith(kind):
                    place = self.counts[kind][tie] - 1 - place
                rank[mask] = self.first[mask] + before[tie] + place
            before = before + self.counts[kind]
        order = np.lexsort((rank, self.tie))
        hit_rank, hit_grade = judged.hit_rank.copy(), judged.hit_grade.copy()
        hit_rank[self.places], hit_grade[self.places] = rank[order], self.grade[order]
        return replace(judged, hit_rank=hit_rank, hit_grade=hit_grade)


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


def fill_holes(judged: JudgedRun, grade: float, depth: int | None) -> JudgedRun:
    """Return the run with every unjudged document down to ``depth`` judged at ``grade``."""
    query, rank = holes_in(judged, depth)
    known = judged.hit_grade >= 0
    grades = np.full(len(query), float(grade))
    hit_query = np.concatenate([judged.hit_query[known], query])
    hit_rank = np.concatenate([judged.hit_rank[known], rank])
    hit_grade = np.concatenate([judged.hit_grade[known], grades])
    height = int(judged.retrieved.max(initial=0)) + 1
    # both parts are in order, which a stable sort of one key makes use of
    order = np.argsort(hit_query * height + hit_rank, kind="stable")
    # what was pooled and is filled now has its new grade only; negative grades end each query
    pooled = ~known if depth is None else ~known & (judged.hit_rank <= depth)
    ends = np.cumsum(judged.count(judged.judged_query))[judged.judged_query]
    from_end = ends - np.arange(len(judged.judged_query))
    stays = from_end > judged.count(judged.hit_query[pooled])[judged.judged_query]
    all_query = np.concatenate([judged.judged_query[stays], query])
    all_grade = np.concatenate([judged.judged_grade[stays], grades])
    levels = np.unique(np.append(judged.judged_grade, grade))
    by_grade = by_query_and_grade(all_query, all_grade, levels)
    return replace(
        judged,
        hit_query=hit_query[order],
        hit_rank=hit_rank[order],
        hit_grade=hit_grade[order],
        judged_query=all_query[by_grade],
        judged_grade=all_grade[by_grade],
        max_grade=max([judged.max_grade, *grades[:1].tolist()]),
    )


def by_query_and_grade(query: IntArray, grade: FloatArray, levels: FloatArray) -> IntArray:
    """Return the order by query, then by grade from high to low; equal ones as they come.

    ``levels`` are all grades there are, rising.
    """
    return np.argsort(query * len(levels) - np.searchsorted(levels, grade), kind="stable")
