"""Reference rankings: random orders of all documents, plain search, and the best order.

A random ranking has a formula for Success, P, R, RR, AP and DCG
(`rankscope.statistics.random_ranking`); for other measures nothing is said. Where a measure has no
cutoff, a random ranking has as many documents as the deepest run: it is compared with runs, and
these end there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from rankscope.errors import RankscopeError, counted
from rankscope.measures.judged import place_in
from rankscope.measures.parts import gains_of, ratio
from rankscope.measures.registry import compute
from rankscope.scoring.align import align
from rankscope.statistics.random_ranking import (
    Moments,
    precision_sum_mean,
    reciprocal_rank_moments,
    success_moments,
    sum_moments,
)

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.measures.definition import GainTable
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.measures.language import Measure
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

RANDOM, TITLES, TEXTS = "random", "title-only", "full text"
"""What the baselines are called."""


@dataclass(frozen=True, eq=False)
class RandomRankings:
    """Random orders of all documents, against some judgments."""

    judgments: Judgments
    documents: int
    """N: how many documents there are."""
    depth: int
    """How many documents of a ranking count where a measure has no cutoff."""
    placed: BoolArray
    """By judgment, in the order of ``judged_query``: whether its document is one of the N."""

    def of(self, measure: Measure) -> tuple[FloatArray, FloatArray | None] | None:
        """By query: a measure's mean over all orders, and its variance; None: there is no formula.

        AP has a formula of the mean only.
        """
        name, options = measure.name, measure.options
        if measure.needs or options["judged_only"]:
            return None
        if name in ("DCG", "nDCG"):
            return self._gains(measure)
        if name not in ("Success", "P", "R", "R_cap", "RR", "AP"):
            return None
        if name == "AP" and options["norm"] == "retrieved":
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
        retrieved = sum_moments(there, there, np.ones(cutoff), self.documents)
        return _divided(retrieved, below.astype(np.float64))

    def _average_precision(
        self, measure: Measure, there: IntArray, relevant: IntArray
    ) -> FloatArray:
        cutoff = measure.cutoff or self.depth
        below = relevant
        if measure.options["norm"] == "min" and measure.cutoff is not None:
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
        order = np.lexsort((-gains, self.judgments.judged_query))
        query = self.judgments.judged_query[order]
        discounts = 1 / np.log2(place_in(query) + 1.0)
        discounts[place_in(query) > (measure.cutoff or math.inf)] = 0.0
        best = np.bincount(query, gains[order] * discounts, self.queries)
        return _divided(moments, best.astype(np.float64))

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


def _divided(moments: Moments, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    return ratio(moments.mean, below), ratio(moments.variance, below**2)


def random_rankings(
    inputs: Inputs, documents: int | None, depth: int, absent: dict[str, str]
) -> RandomRankings | None:
    """Return random orders of all documents, or say why there are none."""
    if documents is None:
        absent[RANDOM] = (
            "it is not known how many documents there are; give the corpus, or set "
            "baselines.documents"
        )
        return None
    placed = _placed(inputs)
    most = int(np.bincount(inputs.qrels.judged_query[placed], minlength=1).max())
    if most > documents:
        absent[RANDOM] = (
            f"a query has {counted(most, 'judged document')}, more than the {documents:,} that "
            "there are said to be"
        )
        return None
    return RandomRankings(inputs.qrels, documents, min(depth, documents), placed)


def _placed(inputs: Inputs) -> BoolArray:
    """Tell by judgment, by query and grade, whether its document can be found at all."""
    if not inputs.has("corpus"):
        return np.ones(len(inputs.qrels.query), np.bool_)
    pairs = inputs.qrels.pairs
    grades = pairs["grade"].to_numpy().astype(np.float64)
    known = inputs.texts.places(pairs["doc_id"]) >= 0
    return np.asarray(known[np.lexsort((-grades, inputs.qrels.query))])


def plain_search(
    inputs: Inputs,
    documents: int | None,
    depth: int,
    absent: dict[str, str],
    *,
    most: int,
    language: str,
) -> dict[str, Run]:
    """Search titles and full text of at most so many documents; what cannot be searched is said."""
    search = inputs.search
    if not inputs.has("search"):
        obstacle = (
            "a corpus and queries were not both given to diagnose; in a benchmark, add bm25 as a "
            "system"
        )
    elif (documents or 0) > most:
        obstacle = f"there are {documents:,} documents, more than baselines.search_up_to ({most:,})"
    else:
        obstacle = search.obstacle
    if obstacle:
        absent.update({TITLES: obstacle, TEXTS: obstacle})
        return {}
    runs = {}
    parts: tuple[tuple[str, Literal["title", "text"]], ...] = ((TITLES, "title"), (TEXTS, "text"))
    for name, part in parts:
        try:
            runs[name] = search.run(part, min(depth, documents or depth), language)
        except RankscopeError as error:
            absent[name] = str(error)
    return runs


def scored_as_systems(measure: Measure, run: Run, inputs: Inputs) -> FloatArray:
    """Score a run of plain search as the systems were, by judged query."""
    rules = inputs.scores.profile.rules_for(measure)
    # that titles alone find nothing is an answer
    aligned = align(inputs.qrels, run, rules, sound=False)
    return compute(measure, aligned.judged)
