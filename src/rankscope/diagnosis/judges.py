"""Judges: do several raters agree, with whom, and does the ranking of systems hang on it?

An analysis of ratings (`rankscope.collection.ratings`) with `rankscope.statistics.rater_agreement`.
A rater is a person or a program. Of a rater that judged a pair more than once the first rating
counts; the others tell how far it agrees with itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, analysis
from rankscope.diagnosis.rater_comparisons import (
    FINAL,
    MAJORITY,
    QRELS,
    RatedPairs,
    RaterComparison,
    RaterOrder,
    RaterOrders,
    SelfAgreement,
    compare_raters,
    rater_orders,
    reason_against,
    self_agreements,
)
from rankscope.diagnosis.show import part_table, query_table, titled
from rankscope.document.blocks import Block, sentences, shortened
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part, PrivateText
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import (
    RELIABLE,
    TENTATIVE,
    Agreements,
    Rated,
    RaterAgreement,
    agreements,
)

RESAMPLES = 1_000
"""So many resamples at most are drawn for the intervals of agreement."""

SHOWN = 12
"""So many raters, or pairs, a table shows; the JSON holds all."""

CONFUSIONS = 3
"""So many tables of confusion are shown: those of the judges that are right least often."""

LOW_AGREEMENT = declare(
    "RS685",
    "judges-disagree",
    "warning",
    unit="pair",
    advice="sharpen the instructions with examples of the pairs they differ on, and judge those "
    "pairs again before you trust small differences between systems",
    meaning="""The raters' agreement beyond chance, Krippendorff's alpha with ordinal distances, is
    below his thresholds: under 0.667 no conclusion should be drawn from the grades (a warning),
    under 0.8 only tentative ones (a note).""",
)
NO_BETTER = declare(
    "RS687",
    "judge-no-better-than-constant",
    "warning",
    unit="judge",
    advice="do not use this judge in place of the reference: always giving the most frequent grade "
    "is right as often",
    meaning="""A judge gives the reference's grade no more often than always saying its most
    frequent grade would.""",
)
ORDER_DEPENDS = declare(
    "RS688",
    "order-depends-on-judge",
    "warning",
    unit="judge",
    advice="settle the grades of the pairs to judge again before choosing between these systems",
    meaning="""By the grades of one rater two systems are in another order than by the judgments
    given. It is a note where the difference by these is not significant.""",
)
INCONSISTENT = declare(
    "RS689",
    "judge-contradicts-itself",
    "note",
    unit="judge",
    advice="take the median of several ratings of this judge, or make it deterministic",
    meaning="""A rater that judged the same pairs again agrees with itself no better than alpha
    0.667 (Krippendorff, ordinal).""",
)


class RaterSummary(Part):
    """One rater."""

    rater: str
    """The rater."""
    ratings: int
    """Pairs it judged."""
    mean: float
    """Its mean grade."""
    bias: float | None
    """The mean difference to the mean grade of the others. Null where nobody else judged."""


class AgainPair(Part):
    """A pair that raters disagree on."""

    query_id: str
    """The query."""
    text: PrivateText
    """What is asked; null if it is not known."""
    doc_id: str
    """The document."""
    title: PrivateText
    """Its title, or the beginning of its text; null if it is not known."""
    grades: dict[str, float]
    """By rater: the grade."""
    final: float | None
    """The grade that was settled on; null if there is none."""

    @property
    def document(self) -> str:
        """The document's id and title, as a table shows them."""
        return shortened(f"{self.doc_id} {self.title or ''}".strip(), 45)

    @property
    def given(self) -> str:
        """Who gave which grade, and what was settled on."""
        grades = ", ".join(f"{rater} {grade:g}" for rater, grade in self.grades.items())
        return grades if self.final is None else f"{grades} → {self.final:g}"


class Judges(Analysed):
    """How far raters agree, and what hangs on it."""

    items: int
    """Rated pairs of query and document."""
    ratings: int
    """How many ratings they have, each rater's first one counted."""
    agreement: Agreements
    """Of all raters together."""
    raters: tuple[RaterSummary, ...]
    """By rater."""
    comparisons: tuple[RaterComparison, ...]
    """Each judge against the reference."""
    not_compared: dict[str, str]
    """By judge: why it is compared with nothing."""
    repeats: tuple[SelfAgreement, ...]
    """The raters that judged pairs again."""
    orders: RaterOrders | None
    """The systems by the grades of each rater; null where they could not be scored."""
    orders_reason: str
    """Why there are no orders; '' if there are."""
    disputed: int
    """Pairs on which raters differ."""
    again: tuple[AgainPair, ...]
    """Pairs to judge again: those on which raters differ most."""


class JudgesConfig(Config):
    """What judges are compared with, and how many pairs to judge again are listed."""

    judge: str | None = None
    """The rater that is compared with the reference; null: each."""
    reference: str | None = None
    """What judges are compared with: ``final``, ``qrels``, ``majority`` (of the others), or a
    rater; null: the final grade where there is one, else the qrels given where they are on the same
    scale and judge at least half of the judge's pairs, else the majority of the others."""
    again: int = Field(default=50, ge=0)
    """How many pairs to judge again are listed."""


@analysis(
    title="Judges",
    needs=("ratings",),
    written="judges: {judge: gpt, reference: final}",
    place=32,
)
def judges(config: JudgesConfig, inputs: Inputs) -> Judges:
    """Whether several judges agree, with each other and a reference, and what hangs on that."""
    ratings, settings, qrels = inputs.ratings, inputs.settings, inputs.qrels
    rated = RatedPairs.of(ratings.to_polars().filter(pl.col("repeat") == 1), "rater")
    known = {}
    if ratings.final is not None:
        known[FINAL] = rated.looked_up(ratings.final)
    if inputs.has("qrels") and qrels.gold is None and qrels.query_ids:
        known[QRELS] = rated.looked_up(qrels.pairs)
    groups = rated.pairs["query_id"].rank("dense").to_numpy().astype(np.int64)
    comparisons, not_compared = compare_raters(
        rated, known, judge=config.judge, reference=config.reference
    )
    repeats = self_agreements(ratings.to_polars())
    inputs.require(
        len(rated.raters) > 1 or repeats or comparisons,
        "there is one rater, and neither a final grade nor qrels nor a second rating to compare "
        "with",
    )
    reason, orders = reason_against(inputs, rated), None
    if not reason:
        orders = rater_orders(inputs, rated)
        if not orders.raters:
            reason = "; ".join(f"{name} {why}" for name, why in list(orders.left_out.items())[:3])
            orders = None
    disputed = _disputed(rated.rated)
    return Judges(
        items=rated.rated.items,
        ratings=len(rated.rated.grade),
        agreement=agreements(
            rated.rated,
            groups=groups,
            level=settings.level,
            resamples=min(settings.resamples, RESAMPLES),
            seed=settings.seed,
        ),
        raters=tuple(_summary(rated, place) for place in range(len(rated.raters))),
        comparisons=comparisons,
        not_compared=not_compared,
        repeats=repeats,
        orders=orders,
        orders_reason=reason,
        disputed=len(disputed),
        again=tuple(_again(item, rated, known, inputs) for item in disputed[: config.again]),
    )


def _summary(rated: RatedPairs, rater: int) -> RaterSummary:
    """Set one rater beside the others."""
    grades, others, items = rated.of_rater(rater), rated.others(rater), rated.rated.items
    counts = np.bincount(others.item, minlength=items)
    sums = np.bincount(others.item, others.grade, items)
    both = ~np.isnan(grades) & (counts > 0)
    differences = grades[both] - sums[both] / counts[both]
    return RaterSummary(
        rater=rated.raters[rater],
        ratings=int(np.count_nonzero(~np.isnan(grades))),
        mean=float(np.nanmean(grades)),
        bias=float(differences.mean()) if len(differences) else None,
    )


def _disputed(rated: Rated) -> list[int]:
    """Return the items that raters differ on, those on which they differ most first."""
    lowest, highest = np.full(rated.items, np.inf), np.full(rated.items, -np.inf)
    np.minimum.at(lowest, rated.item, rated.grade)
    np.maximum.at(highest, rated.item, rated.grade)
    span = highest - lowest
    order = np.argsort(-span, kind="stable")
    items: list[int] = order[span[order] > 0].tolist()
    return items


def _again(
    item: int, rated: RatedPairs, known: Mapping[str, np.ndarray], inputs: Inputs
) -> AgainPair:
    """Describe a pair that raters disagree on."""
    query_id, doc_id = rated.pairs.row(item)
    final, rows = known[FINAL][item] if FINAL in known else np.nan, rated.rated
    return AgainPair(
        query_id=query_id,
        text=inputs.query_texts.get(query_id),
        doc_id=doc_id,
        title=inputs.texts.title(doc_id),
        grades={
            rated.raters[rows.rater[row]]: float(rows.grade[row])
            for row in np.flatnonzero(rows.item == item)
        },
        final=None if np.isnan(final) else float(final),
    )


@judges.find
def _find(result: Judges, inputs: Inputs) -> Iterator[Finding]:
    """Name what a reader should know before trusting the grades.

    How much hangs on the judge is half of how far the mean of the best system moves with whose
    grades are taken.
    """
    orders = result.orders
    doubt = None
    if orders is not None and len(orders.raters) > 1:
        means = [order.means[inputs.focus] for order in orders.raters]
        doubt = (max(means) - min(means)) / 2
    ordinal = result.agreement.ordinal
    if ordinal.value is not None and ordinal.items >= FEWEST and ordinal.value < RELIABLE:
        low = ordinal.value < TENTATIVE
        threshold, drawn = (TENTATIVE, "no") if low else (RELIABLE, "only a tentative")
        ends = ordinal.interval
        between = "" if ends is None else f", {ends.low:.2f} to {ends.high:.2f}"
        yield LOW_AGREEMENT.finding(
            f"the alpha of {counted(len(result.raters), 'judge')} is {ordinal.value:.3f} "
            f"(Krippendorff, ordinal{between}) on {counted(ordinal.items, 'pair')}: below "
            f"{threshold}, under which {drawn} conclusion should be drawn from the grades",
            count=result.disputed,
            severity="warning" if low else "note",
            gain=doubt if low else None,
        )
    yield from _about_constants(result)
    for order in orders.raters if orders is not None else ():
        if order.swaps:
            yield _about_order(order, inputs, doubt)
    for row in result.repeats:
        if row.items >= FEWEST and row.alpha.value is not None and row.alpha.value < TENTATIVE:
            yield INCONSISTENT.finding(
                f"{row.rater} gives {row.equal:.1%} of {counted(row.items, 'pair')} the same grade "
                f"again (alpha {row.alpha.value:.2f}, ordinal, over up to "
                f"{counted(row.repeats, 'rating')} of a pair)"
            )


def _about_constants(result: Judges) -> Iterator[Finding]:
    """Name the judges that are not better than always giving the most frequent grade."""
    names = {
        FINAL: "the final judgment",
        QRELS: "the qrels",
        MAJORITY: "the majority of the others",
    }
    for row in sorted(result.comparisons, key=lambda row: row.accuracy):
        if row.is_no_better:
            yield NO_BETTER.finding(
                f"{row.judge} gives the grade of {names.get(row.reference, row.reference)} for "
                f"{row.accuracy:.1%} of {counted(row.items, 'pair')}, and always saying "
                f"{row.constant:g} would for {row.constant_accuracy:.1%}"
            )


def _about_order(order: RaterOrder, inputs: Inputs, doubt: float | None) -> Finding:
    """Say which systems change places by the grades of a rater."""
    given = inputs.means
    p_value, alpha = inputs.p_values(inputs.scores, inputs.main), inputs.settings.alpha
    sure = [pair for pair in order.swaps if (p_value(*pair) or 0.0) <= alpha]
    ahead, behind = max(sure or order.swaps, key=lambda pair: abs(given[pair[0]] - given[pair[1]]))
    more = len(order.swaps) - 1
    also = f", and {counted(more, 'more pair')} of systems in another order" if more else ""
    return ORDER_DEPENDS.finding(
        f"by the grades of {order.rater} {behind} is ahead of {ahead} by "
        f"{abs(order.means[behind] - order.means[ahead]):.4f} on {inputs.main}, and by the "
        f"judgments given {ahead} is ahead by {abs(given[ahead] - given[behind]):.4f}{also}"
        f"{'' if sure else '; that is not significant'}",
        severity="warning" if sure else "note",
        gain=doubt if sure else None,
    )


class _Coefficient(Part):
    name: str
    value: RaterAgreement


class _Confusion(Part):
    grade: str
    counts: dict[str, int]


@judges.show
def _show(result: Judges) -> Iterator[Block | None]:
    each = f"{result.ratings / max(result.items, 1):.2f} ratings on average"
    who = f"{counted(len(result.raters), 'judge')}, {counted(result.items, 'pair')} with {each}"
    of = f"queries (over pairs, with fewer than {FEWEST} queries)"
    named = {
        "Krippendorff's alpha, ordinal": result.agreement.ordinal,
        "Krippendorff's alpha, interval": result.agreement.interval,
        "Krippendorff's alpha, nominal": result.agreement.nominal,
    }
    if len(result.raters) > 1:
        reasons = dict.fromkeys(value.reason for value in named.values() if value.reason)
        yield part_table(
            [_Coefficient(name=name, value=value) for name, value in named.items()],
            notes=[
                f"{who}; on {result.disputed:,} they differ",
                f"1: perfect, 0: what chance would give; intervals by bootstrap over {of}",
                f"conclusions can be drawn from {RELIABLE} on, tentative ones from {TENTATIVE} on",
                *(f"undefined: {reason}" for reason in reasons),
            ],
            columns="name: agreement | value",
        )
    yield part_table(
        sorted(result.raters, key=lambda row: -abs(row.bias or 0.0))[:SHOWN],
        "The judges",
        legend=("bias",),
        columns="rater: judge | ratings: pairs | mean: mean grade | bias",
    )
    if result.orders is not None:
        yield _order_table(result.orders)
    elif result.orders_reason:
        yield sentences([f"The systems by rater: {result.orders_reason}"])
    worst = sorted(result.comparisons, key=lambda row: row.accuracy)
    yield part_table(
        worst[:SHOWN],
        "Each judge against the reference",
        legend=("accuracy", "constant_accuracy", "within_one"),
        notes=["kappa²: Cohen's kappa with quadratic weights: far grades weigh more"],
        names=2,
        columns=(
            "judge | reference | items: pairs | accuracy: right | "
            "constant_accuracy: constant | within_one: within 1 | "
            "quadratic: kappa²"
        ),
    )
    alone = list(result.not_compared.items())[:SHOWN]
    if alone:
        yield sentences([f"{judge} is compared with nothing: {why}" for judge, why in alone])
    for row in worst[:CONFUSIONS]:
        names = [f"{grade:g}" for grade in row.grades]
        yield part_table(
            [
                _Confusion(grade=name, counts=dict(zip(names, counts, strict=True)))
                for name, counts in zip(names, row.confusion, strict=True)
            ],
            f"{row.judge} against {row.reference}",
            notes=[f"pairs by grade of {row.judge} (rows) and of {row.reference} (columns)"],
            columns=f"grade: grade of {titled(row.judge)} | counts: {{}}",
        )
    yield part_table(
        sorted(result.repeats, key=lambda row: row.equal)[:SHOWN],
        "Each judge against itself",
        notes=["equal: the first two ratings; alpha: Krippendorff's, ordinal, of all ratings"],
        columns="rater: judge | items: pairs | repeats: ratings | equal | alpha",
    )
    shown = result.again[:SHOWN]
    yield query_table(
        shown,
        {pair.query_id: pair.text for pair in shown if pair.text},
        "Pairs to judge again",
        notes=[
            f"the judges differ on {counted(result.disputed, 'pair')}, on the first of these most"
        ],
        columns="document | given: grades",
    )


def _order_table(orders: RaterOrders) -> Block | None:
    """Show the means of the systems by whose grades are taken."""
    given = RaterOrder(rater="judgments given", means=orders.means, tau=None)
    swaps = [
        f"by {order.rater}: {', '.join(f'{b} ahead of {a}' for a, b in order.swaps[:4])}"
        for order in orders.raters
        if order.swaps
    ]
    return part_table(
        [given, *orders.raters],
        "The systems by judge",
        notes=[
            f"{orders.measure}; τ: Kendall's correlation with the order by the judgments given",
            "pairs that a judge left out keep the grade given",
            *(f"no order by {name}: {why}" for name, why in orders.left_out.items()),
            *(swaps or ["no judge puts two systems in another order"]),
        ],
        columns="rater: grades of | means: {} | tau: τ",
    )
