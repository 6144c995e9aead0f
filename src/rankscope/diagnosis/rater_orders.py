"""Orders by rater: how the ranking of systems changes with whose grades are taken.

All runs are scored again by the grades of each rater. Pairs that a rater left out keep the grade of
the judgments, so that the orders differ by the rater's grades alone; a rater that judged less than
half of the pairs is left out.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.diagnosis.ranked_run import PAIR, rescored
from rankscope.errors import InputError, RankscopeError, counted
from rankscope.part import Part
from rankscope.statistics.rater_agreement import kendall

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.diagnosis.rater_comparisons import RatedPairs
    from rankscope.scoring.scored_runs import Scores

MOST_RATERS = 30
"""With more raters nobody looks at an order for each."""

HALF = 0.5
"""A rater's order is shown where at least this share of the judged pairs is the rater's."""


class RaterOrder(Part):
    """The systems by the grades of one rater."""

    rater: str
    """The rater."""
    means: dict[str, float]
    """By system: the mean of the main measure."""
    tau: float | None
    """Kendall's τ_b with the order by the judgments given; null if there are fewer than two
    systems, or all are tied."""
    swaps: tuple[tuple[str, str], ...] = ()
    """The pairs of systems in another order: the one ahead by the judgments given comes first."""


class RaterOrders(Part):
    """How the order of the systems depends on the rater."""

    measure: str
    """The main measure."""
    means: dict[str, float]
    """By system: its mean by the judgments given."""
    raters: tuple[RaterOrder, ...]
    """By the grades of each rater."""
    left_out: dict[str, str]
    """By rater: why there is no order."""


def reason_against(inputs: Inputs, rated: RatedPairs) -> str:
    """Say why systems cannot be scored by other grades; '' if they can."""
    if not inputs.has("scores", "runs", "qrels"):
        return "no runs with their judgments were given"
    if inputs.qrels.gold is not None or inputs.main.needs or not inputs.qrels.query_ids:
        return "systems cannot be scored by grades of documents"
    if len(rated.raters) > MOST_RATERS:
        return f"there are more than {MOST_RATERS} raters"
    return ""


def rater_orders(inputs: Inputs, rated: RatedPairs) -> RaterOrders:
    """Score all systems by each rater's grades."""
    orders, left_out = [], {}
    for place, rater in enumerate(rated.raters):
        try:
            means = _means(_scores(inputs, rated, place))
        except RankscopeError as error:  # nothing is relevant by these grades, or little is left
            left_out[rater] = str(error)
            continue
        values = [np.round([table[name] for name in means], 12) for table in (inputs.means, means)]
        before, after = (dict(zip(means, inputs.sign * row, strict=True)) for row in values)
        orders.append(
            RaterOrder(
                rater=rater,
                means=means,
                tau=kendall(*values) if len(means) > 1 else None,
                swaps=tuple(
                    (ahead, behind)
                    for ahead, behind in permutations(means, 2)
                    if before[ahead] > before[behind] and after[ahead] < after[behind]
                ),
            )
        )
    return RaterOrders(
        measure=str(inputs.main), means=inputs.means, raters=tuple(orders), left_out=left_out
    )


def _scores(inputs: Inputs, rated: RatedPairs, rater: int) -> Scores:
    """Score all runs by the grades of a rater; other pairs: as in the judgments.

    Raises:
        RankscopeError: fewer than half of the pairs have a grade, or they cannot be scored.
    """
    pairs = rated.pairs.with_columns(grade=pl.Series(rated.of_rater(rater)).fill_nan(None))
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
