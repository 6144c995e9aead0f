"""Orders by rater: how the ranking of systems changes with whose grades are taken.

All runs are scored again by the grades of each rater, and by the median of all. Pairs that a rater
left out keep the grade of the judgments, so that the orders differ by the rater's grades alone; a
rater that judged less than half of the pairs is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.regrading import Regrading
from rankscope.errors import RankscopeError, counted
from rankscope.part import Part
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.rater_agreement import Rated, kendall, median_grades
from rankscope.statistics.tests import corrected, paired_tests

if TYPE_CHECKING:
    import polars as pl

    from rankscope.diagnosis.analysis import Inputs
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.scoring.scores import Scores

MOST_RATERS = 30
"""With more raters nobody looks at an order for each."""

HALF = 0.5
"""A rater's order is shown where at least this share of the judged pairs is the rater's."""


class SystemSwap(Part):
    """Two systems that a rater's grades put in the other order."""

    ahead: str
    """The system that is ahead by the judgments given."""
    behind: str
    """The one that is ahead by the rater's grades."""
    by_judgments: float
    """Mean of ahead − behind by the judgments given; turned such that positive is better."""
    by_rater: float
    """The same by the rater's grades: below 0."""
    p_judgments: float | None
    """By Student's paired t over queries, with Holm's correction over all pairs of systems and all
    raters; null where the measure is no mean over queries."""
    p_rater: float | None
    """Likewise, by the rater's grades."""


class RaterOrder(Part):
    """The systems by the grades of one rater, or of all."""

    rater: str
    """The rater; '' for the median of all."""
    means: dict[str, float]
    """By system: the mean of the main measure."""
    order: tuple[str, ...]
    """The systems, best first; systems with equal means by name."""
    tau: float | None
    """Kendall's τ_b with the order by the judgments given; null if there are fewer than two
    systems, or all are tied."""
    swaps: tuple[SystemSwap, ...] = ()
    """The pairs of systems in another order than by the judgments given."""


class RaterOrders(Part):
    """How the order of the systems depends on the rater."""

    measure: str
    """The main measure."""
    means: dict[str, float]
    """By system: its mean by the judgments given."""
    order: tuple[str, ...]
    """The systems by the judgments given, best first."""
    raters: tuple[RaterOrder, ...]
    """By the grades of each rater."""
    median: RaterOrder | None
    """By the median grade of all raters; null where it could not be scored."""
    left_out: dict[str, str]
    """By rater: why there is no order."""


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Ratings with the pairs that are rated."""

    raters: tuple[str, ...]
    pairs: pl.DataFrame
    """By item: query_id, doc_id."""
    rated: Rated

    def of(self, rater: int) -> FloatArray:
        """Return the grades of one rater, by item; NaN where there is none."""
        grades = np.full(self.rated.items, np.nan)
        rows = self.rated.rater == rater
        grades[self.rated.item[rows]] = self.rated.grade[rows]
        return grades

    def others(self, rater: int, apart: Collection[int] = ()) -> Rated:
        """Return the ratings of the other raters, without those that are apart."""
        return self.rated.only(~np.isin(self.rated.rater, [rater, *apart]))


def reason_against(inputs: Inputs, rated: RatedPairs) -> str:
    """Say why systems cannot be scored by other grades; '' if they can."""
    if inputs.scores is None or inputs.runs is None or inputs.qrels is None:
        return "no runs with their judgments were given"
    if inputs.qrels.gold is not None:
        return "the judgments are spans or texts, and the ratings are of documents"
    needs = inputs.main.needs
    if needs:
        return f"{inputs.main} needs {needs}, which ratings do not have"
    if not inputs.qrels.query_ids:
        return "no query is judged"
    if len(rated.raters) > MOST_RATERS:
        return f"there are more than {MOST_RATERS} raters"
    return ""


def regrade(inputs: Inputs, rated: RatedPairs) -> Regrading:
    """Align the runs with all that is judged or rated."""
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    return Regrading.of(inputs.qrels, inputs.runs, rated.pairs, inputs.main, inputs.scores.profile)


def rater_orders(inputs: Inputs, rated: RatedPairs, regrading: Regrading) -> RaterOrders:
    """Score all systems by each rater's grades."""
    assert inputs.scores is not None
    measure = inputs.scores.measures[0]
    higher = inputs.main.definition.higher_is_better
    given = inputs.scores.only([measure])
    scorer = _Scorer(regrading, regrading.numbers_of(rated.pairs))
    orders: dict[str, Scores] = {}
    left_out = {}
    for place, rater in enumerate(rated.raters):
        scored = scorer.scored(rated.of(place))
        if isinstance(scored, str):
            left_out[rater] = scored
        else:
            orders[rater] = scored
    everybody = scorer.scored(median_grades(rated.rated)) if len(rated.raters) > 1 else ""
    means = _means(given)
    return RaterOrders(
        measure=measure,
        means=means,
        order=_ordered(means, higher),
        raters=tuple(_compared(given, orders, higher=higher)),
        median=None if isinstance(everybody, str) else _order("", given, everybody, higher=higher),
        left_out=left_out,
    )


@dataclass(frozen=True, eq=False)
class _Scorer:
    """Scores runs by grades of items."""

    regrading: Regrading
    numbers: IntArray

    def scored(self, grades: FloatArray) -> Scores | str:
        """Return scores, or why there are none."""
        known = (self.numbers >= 0) & ~np.isnan(grades)
        every_pair = self.regrading.given.copy()
        every_pair[self.numbers[known]] = grades[known]
        share = int(known.sum()) / len(every_pair) if len(every_pair) else 0.0
        if share < HALF:
            pairs = counted(len(every_pair), "pair")
            return f"judged {int(known.sum()):,} of {pairs}, and an order needs half of them"
        try:
            return self.regrading.scores(every_pair)
        except RankscopeError as error:  # nothing is relevant by these grades, or nothing is left
            return str(error)


def _means(scores: Scores) -> dict[str, float]:
    measure = scores.measures[0]
    return {name: scores.run(name).means[measure] for name in scores.runs}


def _ordered(means: Mapping[str, float], higher: bool) -> tuple[str, ...]:
    sign = -1 if higher else 1
    return tuple(sorted(means, key=lambda name: (sign * round(means[name], 12), name)))


def _order(rater: str, given: Scores, scores: Scores, *, higher: bool) -> RaterOrder:
    means, before = _means(scores), _means(given)
    names = list(means)
    values = [np.round([table[name] for name in names], 12) for table in (before, means)]
    return RaterOrder(
        rater=rater,
        means=means,
        order=_ordered(means, higher),
        tau=kendall(*values) if len(names) > 1 else None,
    )


def _compared(given: Scores, orders: Mapping[str, Scores], *, higher: bool) -> list[RaterOrder]:
    """Return the order by each rater, with the systems that change places."""
    sign = 1 if higher else -1
    names = list(given.runs)
    pairs = list(combinations(range(len(names)), 2))
    tables = [given, *orders.values()]
    means = [sign * np.round([_means(table)[name] for name in names], 12) for table in tables]
    p_values = _p_values(tables, pairs)
    answers = []
    for place, (rater, scores) in enumerate(orders.items(), start=1):
        swaps = []
        for number, (first, second) in enumerate(pairs):
            before = float(means[0][first] - means[0][second])
            after = float(means[place][first] - means[place][second])
            if before * after >= 0:
                continue
            ahead, behind = (first, second) if before > 0 else (second, first)
            swaps.append(
                SystemSwap(
                    ahead=names[ahead],
                    behind=names[behind],
                    by_judgments=abs(before),
                    by_rater=-abs(after),
                    p_judgments=None if p_values is None else p_values[0][number],
                    p_rater=None if p_values is None else p_values[place][number],
                )
            )
        order = _order(rater, given, scores, higher=higher)
        answers.append(order.model_copy(update={"swaps": tuple(swaps)}))
    return answers


def _p_values(tables: list[Scores], pairs: list[tuple[int, int]]) -> list[list[float]] | None:
    """Return the p-value of each pair of systems under each grading; None if there is no mean."""
    raw: list[float] = []
    for table in tables:
        try:
            matrix = Matrix.of_scores(table, only_means=True)
        except RankscopeError:  # no query that all systems have
            return None
        if not matrix.shape[0] or not pairs:
            return None
        raw += [result.p for result in paired_tests(matrix.differences(pairs), test="t")]
    by_table = corrected(raw, "holm").reshape(len(tables), len(pairs))
    answer: list[list[float]] = by_table.tolist()
    return answer
