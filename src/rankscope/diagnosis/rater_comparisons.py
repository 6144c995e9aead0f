"""A rater against a reference, against itself, and how the ranking of systems depends on it.

With skewed grades a high accuracy is easy: whoever always says the most frequent grade has it, too.
So each judge is set beside the best constant answer. The constant is chosen on the same pairs, with
hindsight: the comparison is rather too strict than too lenient.

A judge is not compared with a majority that exists for fewer than half of its pairs.

For an order of the systems all runs are scored again by the grades of one rater. Pairs that it left
out keep the grade of the judgments, so that orders differ by the rater's grades alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.diagnosis.ranked_run import PAIR, rescored
from rankscope.errors import InputError, RankscopeError, UnknownNameError, counted
from rankscope.part import Part
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import (
    MOST_GRADES,
    Rated,
    RaterAgreement,
    coded,
    cohen_kappa,
    kendall,
    krippendorff_alpha,
    majority,
)

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.measures.judged import FloatArray
    from rankscope.scoring.scored_runs import Scores

MOST_RATERS = 30
"""With more raters nobody looks at an order for each."""

HALF = 0.5
"""A rater's order is shown where at least this share of the judged pairs is the rater's."""

FINAL, QRELS, MAJORITY = "final", "qrels", "majority"
"""What a judge can be compared with, beside another rater."""


class RaterComparison(Part):
    """One judge against a reference, over the pairs that both judged."""

    judge: str
    """The rater that is looked at."""
    reference: str
    """What its grades are compared with: a rater, ``final``, the ``qrels`` given, or the
    ``majority`` of the others."""
    items: int
    """Pairs that both judged."""
    grades: tuple[float, ...]
    """All grades that either gave, lowest first; none if there are too many for a table."""
    confusion: tuple[tuple[int, ...], ...]
    """By grade of the judge, by grade of the reference: how many pairs."""
    accuracy: float
    """Share of pairs with the same grade."""
    within_one: float
    """Share of pairs whose grades differ by at most 1."""
    kappa: RaterAgreement
    """Cohen's kappa."""
    quadratic: RaterAgreement
    """The same with quadratic weights: far grades weigh more."""
    constant: float
    """The most frequent grade of the reference: the best constant answer; of several the lowest."""
    constant_accuracy: float
    """The accuracy of always giving the most frequent grade of the reference."""

    @property
    def is_no_better(self) -> bool:
        """Whether always saying the most frequent grade is right as often.

        Where all pairs have the reference's grade no judge can be better.
        """
        return self.items >= FEWEST and self.accuracy <= self.constant_accuracy < 1


class SelfAgreement(Part):
    """How far one rater agrees with itself, over the pairs that it judged again."""

    rater: str
    """The rater."""
    items: int
    """Pairs that it judged at least twice."""
    repeats: int
    """How often it judged a pair at most."""
    equal: float
    """Share of them with the same grade in the first two ratings."""
    alpha: RaterAgreement
    """Krippendorff's alpha (ordinal) between all ratings."""


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Ratings as numbers, with the pairs that are rated."""

    raters: tuple[str, ...]
    pairs: pl.DataFrame
    """By item: query_id, doc_id."""
    rated: Rated

    @classmethod
    def of(cls, frame: pl.DataFrame, rater: str) -> RatedPairs:
        """Number the pairs of ratings, and the raters, who are in the column ``rater``."""
        pairs = frame.select(PAIR).unique(maintain_order=True)
        items = frame.join(pairs.with_row_index("item"), on=PAIR, maintain_order="left")["item"]
        raters = frame[rater].unique(maintain_order=True)
        numbers = frame[rater].replace_strict(raters, pl.arange(len(raters), eager=True))
        rated = Rated(
            numbers.cast(pl.Int64).to_numpy(),
            items.cast(pl.Int64).to_numpy(),
            frame["grade"].to_numpy(),
            pairs.height,
        )
        return cls(tuple(map(str, raters)), pairs, rated)

    def of_rater(self, rater: int) -> FloatArray:
        """Return the grades of one rater, by item; NaN where there is none."""
        grades = np.full(self.rated.items, np.nan)
        rows = self.rated.rater == rater
        grades[self.rated.item[rows]] = self.rated.grade[rows]
        return grades

    def others(self, rater: int) -> Rated:
        """Return the ratings of the other raters."""
        return self.rated.only(self.rated.rater != rater)

    def looked_up(self, known: pl.DataFrame) -> FloatArray:
        """Return by item the grade in a table of query_id, doc_id, grade; NaN where none is."""
        joined = self.pairs.join(known, on=PAIR, how="left", maintain_order="left")["grade"]
        return joined.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def is_half(grades: FloatArray, truth: FloatArray) -> bool:
    """Tell whether there is a reference for at least half of a judge's pairs."""
    graded = ~np.isnan(grades)
    return 2 * int((graded & ~np.isnan(truth)).sum()) >= int(graded.sum())


def compare_raters(
    rated: RatedPairs,
    known: Mapping[str, FloatArray],
    *,
    judge: str | None,
    reference: str | None,
) -> tuple[tuple[RaterComparison, ...], dict[str, str]]:
    """Compare the judge that is named, or each, with the reference; and say who has none.

    ``known`` holds the final grades and those of the qrels by item, where they are known.
    """
    for name in {judge, reference} - {None, *rated.raters}:
        if name == judge or name not in (FINAL, QRELS, MAJORITY):
            raise UnknownNameError("rater", str(name), rated.raters)
    if judge is not None and judge == reference:
        raise InputError("judges: the judge and the reference are the same rater; name another")
    if reference in {FINAL, QRELS} - {*rated.raters, *known}:
        what = "the ratings have no final grade" if reference == FINAL else "no qrels were given"
        raise InputError(f"judges.reference: {what}; name a rater, or majority")
    usual = reference or _usual_reference(rated, known)
    rows, reasons = [], {}
    for place, rater in enumerate(rated.raters):
        if judge not in (None, rater) or rater == reference:
            continue
        grades, name = rated.of_rater(place), usual
        others = majority(rated.others(place))
        if usual in rated.raters:
            truth = rated.of_rater(rated.raters.index(usual))
        else:
            truth = known.get(usual, others)
        if name == QRELS and reference is None and not is_half(grades, truth):
            name, truth = MAJORITY, others
        both = ~np.isnan(grades) & ~np.isnan(truth)
        if both.any() and (name != MAJORITY or is_half(grades, truth)):
            rows.append((rater, name, grades[both], truth[both]))
        else:
            pairs = counted(int((~np.isnan(grades)).sum()), "pair")
            who = "the others have a majority" if name == MAJORITY else f"{name} has a grade"
            reasons[rater] = f"{who} for {both.sum():,} of its {pairs} only"
    return tuple(_compared(*row) for row in rows), reasons


def _usual_reference(rated: RatedPairs, known: Mapping[str, FloatArray]) -> str:
    """Return what judges are compared with where nobody says: the final grade, or the qrels.

    The qrels only where they seem to be on the same scale: the highest grade of both is the same.
    """
    if FINAL in known or QRELS not in known:
        return FINAL if FINAL in known else MAJORITY
    highest = np.nanmax(known[QRELS], initial=-np.inf)
    return QRELS if highest == rated.rated.grade.max() else MAJORITY


def _compared(judge: str, reference: str, grades: FloatArray, truth: FloatArray) -> RaterComparison:
    """Compare grades with those of a reference."""
    values, _, totals = coded(truth)
    constant = float(values[np.argmax(totals)])
    values, codes, _ = coded(np.concatenate([grades, truth]))
    table = np.zeros((0, 0), np.int64)
    if len(values) <= MOST_GRADES:
        cells = codes[: len(grades)] * len(values) + codes[len(grades) :]
        table = np.bincount(cells, minlength=len(values) ** 2).reshape(len(values), -1)
    return RaterComparison(
        judge=judge,
        reference=reference,
        items=len(grades),
        grades=tuple(values.tolist()) if len(table) else (),
        confusion=tuple(tuple(row) for row in table.tolist()),
        accuracy=float((grades == truth).mean()),
        within_one=float((np.abs(grades - truth) <= 1).mean()),
        kappa=cohen_kappa(grades, truth),
        quadratic=cohen_kappa(grades, truth, weights="quadratic"),
        constant=constant,
        constant_accuracy=float((truth == constant).mean()),
    )


def self_agreements(ratings: pl.DataFrame) -> tuple[SelfAgreement, ...]:
    """Compare the ratings that raters gave to the same pairs."""
    again = ratings.filter(pl.len().over("rater", *PAIR) > 1).sort("repeat", maintain_order=True)
    answers = []
    for rater in again["rater"].unique(maintain_order=True).to_list():
        rated = RatedPairs.of(again.filter(pl.col("rater") == rater), "repeat")
        first, second = rated.of_rater(0), rated.of_rater(1)
        answers.append(
            SelfAgreement(
                rater=rater,
                items=len(first),
                repeats=len(rated.raters),
                equal=float((first == second).mean()),
                alpha=krippendorff_alpha(rated.rated, level="ordinal"),
            )
        )
    return tuple(answers)


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
