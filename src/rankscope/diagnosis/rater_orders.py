"""Orders by rater: how the ranking of systems changes with whose grades are taken.

All runs are scored again by the grades of each rater, and by the median of all. Pairs that a rater
left out keep the grade of the judgments, so that the orders differ by the rater's grades alone; a
rater that judged less than half of the pairs is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.diagnosis.ranked_run import PAIR, rescored
from rankscope.errors import InputError, RankscopeError, counted
from rankscope.part import Part
from rankscope.statistics.rater_agreement import kendall, median_grades

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.diagnosis.rater_comparisons import RatedPairs
    from rankscope.measures.judged import FloatArray
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
    """Of the difference, as systems are compared: corrected over all pairs of systems; null where
    the measure is no mean over queries."""
    p_rater: float | None
    """Likewise, by the rater's grades."""

    def is_sure(self, alpha: float) -> bool:
        """Tell whether either difference is more than chance."""
        return any(p is not None and p <= alpha for p in (self.p_judgments, self.p_rater))


class RaterOrder(Part):
    """The systems by the grades of one rater, or of all."""

    rater: str
    """The rater; '' for the median of all."""
    means: dict[str, float]
    """By system: the mean of the main measure."""
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
    raters: tuple[RaterOrder, ...]
    """By the grades of each rater."""
    median: RaterOrder | None
    """By the median grade of all raters; null where it could not be scored."""
    left_out: dict[str, str]
    """By rater: why there is no order."""


def reason_against(inputs: Inputs, rated: RatedPairs) -> str:
    """Say why systems cannot be scored by other grades; '' if they can."""
    if inputs.scores is None or inputs.runs is None or inputs.qrels is None:
        return "no runs with their judgments were given"
    if inputs.qrels.gold is not None:
        return "the judgments are spans or texts, and the ratings are of documents"
    if inputs.main.needs:
        return f"{inputs.main} needs {inputs.main.needs}, which ratings do not have"
    if not inputs.qrels.query_ids:
        return "no query is judged"
    if len(rated.raters) > MOST_RATERS:
        return f"there are more than {MOST_RATERS} raters"
    return ""


def rater_orders(inputs: Inputs, rated: RatedPairs) -> RaterOrders:
    """Score all systems by each rater's grades."""
    assert inputs.scores is not None
    measure = str(inputs.main)
    given = inputs.scores.only([measure])
    raters, left_out = [], {}
    for place, rater in enumerate(rated.raters):
        try:
            raters.append(
                _order(rater, given, _scores(inputs, rated, rated.of_rater(place)), inputs)
            )
        except RankscopeError as error:  # nothing is relevant by these grades, or little is left
            left_out[rater] = str(error)
    median = None
    if len(rated.raters) > 1:
        try:
            everybody = _scores(inputs, rated, median_grades(rated.rated))
            median = _order("", given, everybody, inputs).model_copy(update={"swaps": ()})
        except RankscopeError:
            median = None
    return RaterOrders(
        measure=measure, means=_means(given), raters=tuple(raters), median=median, left_out=left_out
    )


def _scores(inputs: Inputs, rated: RatedPairs, grades: FloatArray) -> Scores:
    """Score all runs by grades of the rated pairs; NaN, and other pairs: as in the judgments.

    Raises:
        RankscopeError: fewer than half of the pairs have a grade, or they cannot be scored.
    """
    assert inputs.qrels is not None
    pairs = rated.pairs.with_columns(grade=pl.Series(grades).fill_nan(None))
    pairs = pairs.filter(pl.col("query_id").is_in(inputs.qrels.query_ids))
    judged = inputs.qrels.pairs.select(pl.col(name).cast(pl.String) for name in PAIR)
    total = judged.height + pairs.join(judged, on=PAIR, how="anti").height
    pairs = pairs.drop_nulls("grade")
    if pairs.height < HALF * total:
        raise InputError(
            f"judged {pairs.height:,} of {counted(total, 'pair')}, and an order needs half of them"
        )
    return rescored(inputs, pairs)


def _means(scores: Scores) -> dict[str, float]:
    return {name: scores.run(name).means[scores.measures[0]] for name in scores.runs}


def _order(rater: str, given: Scores, scores: Scores, inputs: Inputs) -> RaterOrder:
    """Compare the order of the systems with that by the judgments given."""
    before, after = _means(given), _means(scores)
    values = [np.round([table[name] for name in before], 12) for table in (before, after)]
    return RaterOrder(
        rater=rater,
        means=after,
        tau=kendall(*values) if len(before) > 1 else None,
        swaps=tuple(_swaps(given, scores, inputs)),
    )


def _swaps(given: Scores, scores: Scores, inputs: Inputs) -> Iterator[SystemSwap]:
    """Yield the pairs of systems that change places."""
    sign = 1 if inputs.main.definition.higher_is_better else -1
    means = [_means(given), _means(scores)]
    swapped = []
    for pair in combinations(means[0], 2):
        before, after = (sign * round(table[pair[0]] - table[pair[1]], 12) for table in means)
        if before * after < 0:
            swapped.append((pair if before > 0 else pair[::-1], abs(before), -abs(after)))
    tables = (given, scores) if swapped else ()
    p_values = [inputs.p_values(table, inputs.main) for table in tables]
    for (ahead, behind), by_judgments, by_rater in swapped:
        p_judgments, p_rater = (p_value(ahead, behind) for p_value in p_values)
        yield SystemSwap(
            ahead=ahead,
            behind=behind,
            by_judgments=by_judgments,
            by_rater=by_rater,
            p_judgments=p_judgments,
            p_rater=p_rater,
        )
