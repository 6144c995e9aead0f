"""Reference rankings: what a random order of all documents, and the best order, are worth.

A random ranking has a formula for Success, P, R, RR, AP and DCG
(`rankscope.statistics.random_ranking`); for other measures the ranks of judged documents are drawn,
with a seed, and scored as any run is. Where a measure has no cutoff, a random ranking has as many
documents as the deepest run: it is compared with runs, and these end there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from rankscope.measures.judged import JudgedRun, place_in
from rankscope.measures.parts import gains_of, ratio
from rankscope.measures.registry import compute
from rankscope.statistics.arrays import random_source
from rankscope.statistics.random_ranking import (
    Moments,
    average_retrieved_mean,
    distinct_ranks,
    found_moments,
    precision_sum_mean,
    reciprocal_rank_moments,
    success_moments,
    sum_moments,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.measures.definition import GainTable
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.measures.language import Measure
    from rankscope.scoring.judgments import Judgments

DRAWN = 1_000_000
"""About so many ranks are drawn in all."""

FEWEST_DRAWS, MOST_DRAWS = 2, 2_000
"""How many random rankings are drawn of each query."""


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """What a measure is worth for random rankings, by judged query."""

    mean: FloatArray
    """Over all orders, or over those that were drawn."""
    variance: FloatArray | None
    """Of one random ranking; None where no formula is known and none were drawn."""
    draws: int = 0
    """How many rankings were drawn; 0: by formula."""


@dataclass(frozen=True, eq=False)
class RandomRankings:
    """Random orders of all documents, against some judgments."""

    judgments: Judgments
    documents: int
    """N: how many documents there are."""
    depth: int
    """How many documents of a ranking count where a measure has no cutoff."""
    deepest: int
    """How many documents of a ranking any measure looks at."""
    placed: BoolArray
    """By judgment, in the order of ``judged_query``: whether its document is one of the N."""
    seed: int = 0

    def of(self, measure: Measure) -> Chance | None:
        """Return what a measure is worth; None if it needs more than documents and grades."""
        if measure.needs:
            return None
        moments = None if measure.options["judged_only"] else self._formula(measure)
        if moments is not None:
            return Chance(*moments)
        values = self.drawn(measure)
        return Chance(values.mean(axis=0), values.var(axis=0, ddof=1), len(values))

    @property
    def queries(self) -> int:
        """How many queries are judged."""
        return len(self.judgments.query_ids)

    def _count(self, chosen: BoolArray, weights: FloatArray | None = None) -> FloatArray:
        """Count some of the judgments by query, or sum their weights."""
        query = self.judgments.judged_query[chosen]
        if weights is None:
            return np.bincount(query, minlength=self.queries).astype(np.float64)
        return np.bincount(query, weights[chosen], minlength=self.queries).astype(np.float64)

    # --- by formula ------------------------------------------------------------------------------

    def _formula(self, measure: Measure) -> tuple[FloatArray, FloatArray | None] | None:
        name, options = measure.name, measure.options
        if name in ("DCG", "nDCG"):
            return self._gains(measure)
        if name not in ("Success", "P", "R", "R_cap", "RR", "AP"):
            return None
        is_relevant = self.judgments.judged_grade >= cast("float", options["rel"])
        relevant = self._count(is_relevant).astype(np.int64)
        there = self._count(is_relevant & self.placed).astype(np.int64)
        cutoff = measure.cutoff or self.depth
        if name == "Success":
            return success_moments(there, self.documents, cutoff)
        if name == "RR":
            return reciprocal_rank_moments(there, self.documents, cutoff)
        if name == "AP":
            return self._average_precision(measure, there, relevant), None
        below = {
            "P": np.full(self.queries, cutoff),
            "R": relevant,
            "R_cap": np.minimum(relevant, cutoff),
        }[name]
        return _divided(found_moments(there, self.documents, cutoff), below.astype(np.float64))

    def _average_precision(
        self, measure: Measure, there: IntArray, relevant: IntArray
    ) -> FloatArray:
        cutoff = measure.cutoff or self.depth
        norm = measure.options["norm"]
        if norm == "retrieved":
            return average_retrieved_mean(there, self.documents, cutoff)
        below = relevant
        if norm == "min" and measure.cutoff is not None:
            below = np.minimum(relevant, measure.cutoff)
        return ratio(precision_sum_mean(there, self.documents, cutoff), below)

    def _gains(self, measure: Measure) -> tuple[FloatArray, FloatArray | None]:
        options = measure.options
        gain = cast("GainTable | str", options["gain"])
        least = cast("float | None", options["least"])
        gains = gains_of(self.judgments.judged_grade, gain, cast("float", options["rel"]), least)
        cutoff = min(measure.cutoff or self.depth, self.documents)
        moments = sum_moments(
            self._count(self.placed, gains),
            self._count(self.placed, gains**2),
            1 / np.log2(np.arange(2.0, cutoff + 2.0)),
            self.documents,
        )
        if measure.name == "DCG":
            return moments
        best = ideal_values(replace(measure, name="DCG"), self.judgments)
        assert best is not None
        return _divided(moments, best)

    # --- by drawing ------------------------------------------------------------------------------

    def drawn(self, measure: Measure) -> FloatArray:
        """Return a measure's values for some random rankings: ``[draws, queries]``."""
        run = self._whole if measure.cutoff is not None else self._cut
        return compute(measure, run(looks_at_nonrelevant(measure))).reshape(-1, self.queries)

    def draws(self, measure: Measure) -> int:
        """Return how many random rankings of each query are drawn for a measure."""
        return self._draws(self._seen(all_judged=looks_at_nonrelevant(measure)))

    @cached_property
    def _whole(self) -> Callable[[bool], JudgedRun]:
        """Drawn runs, kept: of all judged documents (True), or of those that may be relevant."""
        return cache(self._drawn_run)

    @cached_property
    def _cut(self) -> Callable[[bool], JudgedRun]:
        """The same, as deep as runs are."""
        return cache(lambda all_judged: self._whole(all_judged).cut(self.depth))

    def _seen(self, *, all_judged: bool) -> BoolArray:
        grades = self.judgments.judged_grade
        return np.ones(len(grades), np.bool_) if all_judged else grades > 0

    def _draws(self, seen: BoolArray) -> int:
        width = max(int(np.count_nonzero(seen)), self.queries, 1)
        return int(np.clip(DRAWN // width, FEWEST_DRAWS, MOST_DRAWS))

    def _drawn_run(self, all_judged: bool) -> JudgedRun:
        """Draw rankings of all queries, one after the other, as if each were a query of a run."""
        seen = self._seen(all_judged=all_judged)
        draws = self._draws(seen)
        query, grade = self.judgments.judged_query[seen], self.judgments.judged_grade[seen]
        there = self.placed[seen]
        counts = np.bincount(query[there], minlength=self.queries)
        random = np.random.Generator(random_source(self.seed, 7))
        rank = distinct_ranks(random, np.tile(counts, draws), self.documents)
        rows = draws * self.queries
        row = np.repeat(np.arange(rows), np.tile(counts, draws))
        hits = np.flatnonzero(rank <= self.deepest)
        hits = hits[np.lexsort((rank[hits], row[hits]))]
        first = np.repeat(np.arange(draws) * self.queries, len(query))
        return JudgedRun(
            query_ids=("",) * rows,
            retrieved=np.full(rows, min(self.deepest, self.documents)),
            in_run=np.ones(rows, np.bool_),
            hit_query=row[hits],
            hit_rank=rank[hits],
            hit_grade=np.tile(grade[there], draws)[hits],
            judged_query=first + np.tile(query, draws),
            judged_grade=np.tile(grade, draws),
            max_grade=self.judgments.max_grade,
        )


def _divided(moments: Moments, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    return ratio(moments.mean, below), ratio(moments.variance, below**2)


@cache
def looks_at_nonrelevant(measure: Measure) -> bool:
    """Tell whether documents that are judged nonrelevant change a measure, by trying it.

    Relevant documents alone are much less to draw. A measure of the user's own may do anything.
    """
    if measure.definition.family == "own" or measure.options["judged_only"]:
        return True
    whole = JudgedRun(
        query_ids=("a", "b"),
        retrieved=np.array([8, 8]),
        in_run=np.ones(2, np.bool_),
        hit_query=np.array([0, 0, 0, 0, 0, 1, 1]),
        hit_rank=np.array([1, 2, 3, 4, 5, 1, 3]),
        hit_grade=np.array([0.0, 3.0, -1.0, 1.0, 0.0, 0.0, 1.0]),
        judged_query=np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]),
        judged_grade=np.array([3.0, 1.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0]),
        max_grade=3.0,
    )
    hits, judged = whole.hit_grade > 0, whole.judged_grade > 0
    positive = replace(
        whole,
        hit_query=whole.hit_query[hits],
        hit_rank=whole.hit_rank[hits],
        hit_grade=whole.hit_grade[hits],
        judged_query=whole.judged_query[judged],
        judged_grade=whole.judged_grade[judged],
    )
    return not np.array_equal(compute(measure, whole), compute(measure, positive))


def ideal_values(measure: Measure, judgments: Judgments) -> FloatArray | None:
    """Return by judged query what the best ranking of the judged documents is worth.

    Documents come by what they gain. Those that gain nothing are left out, or come last, whichever
    a measure likes better. None if it needs more than documents and grades.
    """
    if measure.needs:
        return None
    query, grade = judgments.judged_query, judgments.judged_grade
    gain = measure.options.get("gain")
    order = np.arange(len(grade))
    if isinstance(gain, tuple):  # a table need not rise with the grade
        order = np.lexsort((-gains_of(grade, cast("GainTable", gain)), query))
    values = []
    for least in (0.0, np.nextafter(0.0, 1.0)):
        shown = order[grade[order] >= least]
        run = JudgedRun(
            query_ids=judgments.query_ids,
            retrieved=np.bincount(query[shown], minlength=len(judgments.query_ids)),
            in_run=np.ones(len(judgments.query_ids), np.bool_),
            hit_query=query[shown],
            hit_rank=place_in(query[shown]),
            hit_grade=grade[shown],
            judged_query=query,
            judged_grade=grade,
            max_grade=judgments.max_grade,
        )
        values.append(compute(measure, run))
    best: FloatArray = (np.maximum if measure.definition.higher_is_better else np.minimum)(*values)
    return best
