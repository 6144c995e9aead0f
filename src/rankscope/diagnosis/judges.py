"""Judges: do several raters agree, who is apart, and does the ranking of systems hang on it?

An analysis of ratings (`rankscope.collection.ratings`) with `rankscope.statistics.rater_agreement`
and `rater_outliers`. A rater is a person or a program. Of a rater that judged a pair more than once
the first rating counts; the others tell how far it agrees with itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from pydantic import Field

from rankscope.diagnosis.analysis import (
    DEFAULT_CUTOFF,
    Analysed,
    AnalysisConfig,
    CannotAnalyseError,
    Inputs,
    analysis,
)
from rankscope.diagnosis.ranked_run import PAIR
from rankscope.diagnosis.rater_comparisons import (
    FINAL,
    MAJORITY,
    QRELS,
    RatedPairs,
    RaterComparison,
    SelfAgreement,
    compare_raters,
    is_half,
    self_agreements,
)
from rankscope.diagnosis.rater_orders import (
    MOST_RATERS,
    RaterOrder,
    RaterOrders,
    rater_orders,
    reason_against,
)
from rankscope.diagnosis.show import part_table, query_table
from rankscope.document.blocks import Block, sentences, shortened
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part, PrivateText
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import (
    RELIABLE,
    TENTATIVE,
    Agreements,
    RaterAgreement,
    agreements,
    cohen_kappa,
    krippendorff_alpha,
    majority,
)
from rankscope.statistics.rater_outliers import RaterDeviation, rater_deviations

if TYPE_CHECKING:
    from rankscope.measures.judged import IntArray

RESAMPLES = 1_000
"""So many resamples at most are drawn for the intervals of agreement."""

SHOWN = 12
"""So many raters, or pairs, a table shows; the JSON holds all."""

CONFUSIONS = 3
"""So many tables of confusion are shown: those of the judges that are right least often."""

INVERTED = -0.5
"""A judge that agrees so little with the others seems to have its scale upside down."""

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
STANDS_OUT = declare(
    "RS686",
    "judge-apart",
    "warning",
    unit="judge",
    advice="look at the pairs on which they differ; if this judge misread the scale, leave its "
    "ratings out until it is instructed again",
    meaning="""One rater agrees significantly less with the others than they do among themselves, or
    grades significantly higher or lower than they do: by at least 0.1 in agreement, or a tenth of
    the range of grades. Its scale looks inverted where its agreement is -0.5 or less.""",
)
NO_BETTER = declare(
    "RS687",
    "judge-no-better-than-constant",
    "warning",
    unit="judge",
    advice="do not use this judge in place of the reference: always giving the most frequent grade "
    "is right as often",
    meaning="""A judge gives the reference's grade no more often than always saying its most
    frequent grade would (McNemar's exact test). It is a note where the judge is nearer to the
    reference by squared error than the mean grade is.""",
)
ORDER_DEPENDS = declare(
    "RS688",
    "order-depends-on-judge",
    "warning",
    unit="judge",
    advice="settle the grades of the pairs to judge again before choosing between these systems",
    meaning="""By the grades of one rater two systems are in another order than by the judgments
    given. It is a note where neither of the two differences is significant.""",
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
    deviation: RaterDeviation
    """Its distance to the others."""
    majority_equal: float | None
    """The share of pairs with the most frequent grade of the others, where there is one. Others
    that are apart have no vote. Null where there is none for at least half of the pairs it judged:
    what is left says little about the judge."""
    alpha_without: float | None
    """The ordinal alpha of all other raters. Null where there are not two, where it is undefined,
    or with more than 30 raters."""

    @property
    def bias(self) -> float | None:
        """The mean difference to the mean grade of the others."""
        return self.deviation.bias

    @property
    def agreement(self) -> float | None:
        """One minus the squared distance to the others over that by chance, as in alpha."""
        return self.deviation.agreement

    @property
    def others(self) -> float | None:
        """The same of the others among themselves, on the pairs it judged."""
        return self.deviation.others

    @property
    def apart(self) -> tuple[str, ...]:
        """In what it is significantly apart (by Holm, over judges and both questions)."""
        far = {"agreement": self.deviation.is_apart, "bias": self.deviation.is_biased}
        return tuple(name for name, is_far in far.items() if is_far)


class RaterPair(Part):
    """Two raters."""

    first: str
    """A rater."""
    second: str
    """Another one."""
    items: int
    """Pairs that both judged."""
    equal: float | None
    """Share of them with the same grade; null if there are none."""
    kappa: RaterAgreement
    """Cohen's kappa."""
    quadratic: RaterAgreement
    """Cohen's kappa with quadratic weights."""


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
    ranks: dict[str, int]
    """By system: its rank, where it is within the cutoff."""

    @property
    def document(self) -> str:
        """The document's id and title, as a table shows them."""
        return shortened(f"{self.doc_id} {self.title or ''}".strip(), 45)

    @property
    def given(self) -> str:
        """Who gave which grade, and what was settled on."""
        grades = ", ".join(f"{rater} {grade:g}" for rater, grade in self.grades.items())
        return grades if self.final is None else f"{grades} → {self.final:g}"

    @property
    def places(self) -> str:
        """Its ranks, by system."""
        return ", ".join(f"{name} {rank}" for name, rank in self.ranks.items())


class Judges(Analysed):
    """How far raters agree, and what hangs on it."""

    items: int
    """Rated pairs of query and document."""
    ratings: int
    """How many ratings they have, each rater's first one counted."""
    shared: int
    """Pairs with at least two ratings."""
    agreement: Agreements
    """Of all raters together."""
    raters: tuple[RaterSummary, ...]
    """By rater."""
    pairs: tuple[RaterPair, ...]
    """By pair of raters; none with more than 30 raters."""
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
    cutoff: int
    """k: a document within the first k of some system matters for their ranking."""
    disputed: int
    """Pairs on which raters differ."""
    disputed_on_top: int
    """Those of them that are within the first k of some system."""
    again: tuple[AgainPair, ...]
    """Pairs to judge again: those within the first k of some system first, then by how far the
    raters differ."""


class JudgesConfig(AnalysisConfig):
    """What judges are compared with, and how many pairs to judge again are listed."""

    judge: str | None = None
    """The rater that is compared with the reference; null: each."""
    reference: str | None = None
    """What judges are compared with: ``final``, ``qrels``, ``majority`` (of the others), or a
    rater; null: the final grade where there is one, else the qrels given where they are on the same
    scale and judge at least half of the judge's pairs, else the majority of the others."""
    again: int = Field(default=50, ge=0)
    """How many pairs to judge again are listed."""
    cutoff: int | None = Field(default=None, ge=1)
    """How many documents of an answer matter; null: as many as the main measure looks at."""


@analysis(
    "judges",
    JudgesConfig,
    Judges,
    title="Judges",
    needs=("ratings",),
    uses=("scores", "runs", "qrels", "queries", "corpus", "titles"),
    written="judges: {judge: gpt, reference: final}",
    codes=(LOW_AGREEMENT, STANDS_OUT, NO_BETTER, ORDER_DEPENDS, INCONSISTENT),
    place=32,
)
def judges(config: JudgesConfig, inputs: Inputs) -> Judges:
    """Whether several judges agree, who is apart, and what changes with whose grades."""
    ratings, settings, qrels = inputs.ratings, inputs.settings, inputs.qrels
    assert ratings is not None
    rated = RatedPairs.of(ratings.to_polars().filter(pl.col("repeat") == 1), "rater")
    known = {}
    if ratings.final is not None:
        known[FINAL] = rated.looked_up(ratings.final)
    if qrels is not None and qrels.gold is None and qrels.query_ids:
        known[QRELS] = rated.looked_up(qrels.pairs)
    groups = rated.pairs["query_id"].rank("dense").to_numpy().astype(np.int64)
    deviations = rater_deviations(
        rated.rated,
        raters=len(rated.raters),
        groups=groups,
        alpha=settings.alpha,
    )
    apart = [place for place, each in enumerate(deviations) if each.is_apart]
    comparisons, not_compared = compare_raters(
        rated, known, apart, judge=config.judge, reference=config.reference
    )
    repeats = self_agreements(ratings.to_polars())
    if len(rated.raters) == 1 and not repeats and not comparisons:
        raise CannotAnalyseError(
            "there is one rater, and neither a final grade nor qrels nor a second rating to "
            "compare with"
        )
    reason, orders = reason_against(inputs, rated), None
    if not reason:
        orders = rater_orders(inputs, rated)
        if not orders.raters:
            reason = "; ".join(f"{name} {why}" for name, why in list(orders.left_out.items())[:3])
            orders = None
    cutoff = config.cutoff or (DEFAULT_CUTOFF if inputs.scores is None else inputs.cutoff)
    disputes = _Disputes(rated, inputs, cutoff)
    result = Judges(
        items=rated.rated.items,
        ratings=len(rated.rated.grade),
        shared=int(np.count_nonzero(rated.rated.sizes >= 2)),
        agreement=agreements(
            rated.rated,
            groups=groups,
            level=settings.level,
            resamples=min(settings.resamples, RESAMPLES),
            seed=settings.seed,
        ),
        raters=tuple(_summary(rated, place, apart, each) for place, each in enumerate(deviations)),
        pairs=tuple(_rater_pairs(rated)) if len(rated.raters) <= MOST_RATERS else (),
        comparisons=comparisons,
        not_compared=not_compared,
        repeats=repeats,
        orders=orders,
        orders_reason=reason,
        cutoff=cutoff,
        disputed=len(disputes.items),
        disputed_on_top=int(np.count_nonzero(disputes.is_on_top)),
        again=disputes.first(config.again, known),
    )
    findings = tuple(_findings(result, inputs))
    return result.model_copy(update={"findings": findings})


def _summary(
    rated: RatedPairs, place: int, apart: list[int], deviation: RaterDeviation
) -> RaterSummary:
    """Set one rater beside the others."""
    grades, usual = rated.of_rater(place), majority(rated.others(place, apart))
    both = ~np.isnan(grades) & ~np.isnan(usual)
    enough = both.any() and is_half(grades, usual)
    without = None
    if 2 < len(rated.raters) <= MOST_RATERS:
        without = krippendorff_alpha(rated.others(place), level="ordinal").value
    return RaterSummary(
        rater=rated.raters[place],
        ratings=int(np.count_nonzero(~np.isnan(grades))),
        mean=float(np.nanmean(grades)),
        deviation=deviation,
        majority_equal=float((grades[both] == usual[both]).mean()) if enough else None,
        alpha_without=without,
    )


def _rater_pairs(rated: RatedPairs) -> Iterator[RaterPair]:
    """Yield how far any two raters agree."""
    grades = {rater: rated.of_rater(place) for place, rater in enumerate(rated.raters)}
    for first, second in combinations(rated.raters, 2):
        both = ~np.isnan(grades[first]) & ~np.isnan(grades[second])
        a, b = grades[first][both], grades[second][both]
        yield RaterPair(
            first=first,
            second=second,
            items=len(a),
            equal=float((a == b).mean()) if len(a) else None,
            kappa=cohen_kappa(a, b),
            quadratic=cohen_kappa(a, b, weights="quadratic"),
        )


class _Disputes:
    """The pairs that raters differ on, those that matter most for the ranking first."""

    def __init__(self, rated: RatedPairs, inputs: Inputs, cutoff: int) -> None:
        self.rated, self.inputs = rated, inputs
        ratings = rated.rated
        lowest, highest = np.full(ratings.items, np.inf), np.full(ratings.items, -np.inf)
        np.minimum.at(lowest, ratings.item, ratings.grade)
        np.maximum.at(highest, ratings.item, ratings.grade)
        self.ranks = _ranks(rated, inputs, cutoff)
        best = np.full(ratings.items, np.iinfo(np.int64).max)
        for rank in self.ranks.values():
            best = np.where(rank > 0, np.minimum(best, rank), best)
        order = np.lexsort((best, lowest - highest, best > cutoff))
        self.items: IntArray = order[highest[order] > lowest[order]]
        self.is_on_top = best[self.items] <= cutoff

    def first(self, most: int, known: Mapping[str, np.ndarray]) -> tuple[AgainPair, ...]:
        """Describe the first of them."""
        rated, rows = self.rated, self.rated.rated
        texts = {query_id: text for query_id, text, _ in self.inputs.queries or ()}
        pairs, ranks = [], self.ranks.items()
        for item in self.items[:most].tolist():
            query_id, doc_id = rated.pairs.row(item)
            final = known[FINAL][item] if FINAL in known else np.nan
            given = np.flatnonzero(rows.item == item)
            pairs.append(
                AgainPair(
                    query_id=query_id,
                    text=texts.get(query_id),
                    doc_id=doc_id,
                    title=self.inputs.texts.title(doc_id),
                    grades={rated.raters[rows.rater[row]]: float(rows.grade[row]) for row in given},
                    final=None if np.isnan(final) else float(final),
                    ranks={name: int(rank[item]) for name, rank in ranks if rank[item]},
                )
            )
        return tuple(pairs)


def _ranks(rated: RatedPairs, inputs: Inputs, cutoff: int) -> dict[str, IntArray]:
    """By system and item: its rank among the first k; otherwise 0."""
    if inputs.runs is None or inputs.qrels is None or inputs.qrels.gold is not None:
        return {}
    queries = pl.Series(inputs.rankings.query_ids, dtype=pl.String)
    ranks = {}
    for name, ranking in inputs.rankings.systems.items():
        rows = np.flatnonzero(ranking.top(cutoff))
        columns = queries.gather(ranking.query[rows]), ranking.doc_ids(rows), ranking.rank[rows]
        top = pl.DataFrame(dict(zip((*PAIR, "grade"), columns, strict=True)))
        ranks[name] = np.nan_to_num(rated.looked_up(top)).astype(np.int64)
    return ranks


# --- findings ------------------------------------------------------------------------------------


def _findings(result: Judges, inputs: Inputs) -> Iterator[Finding]:
    """Name what a reader should know before trusting the grades.

    Judges that are apart come first: they may be why all together agree so little. How much hangs
    on the judge is half of how far the mean of the best system moves with whose grades are taken.
    """
    alpha, orders = inputs.settings.alpha, result.orders
    yield from _about_raters(result)
    swapped = [order for order in orders.raters if order.swaps] if orders is not None else []
    about_order = [_about_order(order, result, alpha) for order in swapped]
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
        finding = LOW_AGREEMENT.finding(
            f"the alpha of {counted(len(result.raters), 'judge')} is {ordinal.value:.3f} "
            f"(Krippendorff, ordinal{between}) on {counted(ordinal.items, 'pair')}: below "
            f"{threshold}, under which {drawn} conclusion should be drawn from the grades",
            count=result.disputed,
            severity="warning" if low else "note",
        )
        yield finding.model_copy(update={"gain": doubt}) if low else finding
    yield from _about_constants(result, alpha)
    for finding in about_order:
        is_grave = finding.severity == "warning"
        yield finding.model_copy(update={"gain": doubt}) if is_grave else finding
    for row in result.repeats:
        if row.items >= FEWEST and row.alpha.value is not None and row.alpha.value < TENTATIVE:
            yield INCONSISTENT.finding(
                f"{row.rater} gives {row.equal:.1%} of {counted(row.items, 'pair')} the same grade "
                f"again (alpha {row.alpha.value:.2f}, ordinal, over up to "
                f"{counted(row.repeats, 'rating')} of a pair)"
            )


def _about_raters(result: Judges) -> Iterator[Finding]:
    """Name the raters that are apart, first the one most surely wrong."""
    behind = [(row.others or 0.0) - (row.agreement or 0.0) for row in result.raters]
    for row, _ in sorted(zip(result.raters, behind, strict=True), key=lambda each: -each[1]):
        reasons = []
        if row.deviation.is_apart:
            reasons.append(
                f"agrees less with the others ({row.agreement:.2f}) than they do among themselves "
                f"({row.others:.2f})"
            )
        if row.deviation.is_biased and row.bias is not None:
            side = "higher" if row.bias > 0 else "lower"
            reasons.append(f"grades {abs(row.bias):.2f} {side} than they do")
        if not reasons:
            continue
        before, change = result.agreement.ordinal.value, ""
        if before is not None and row.alpha_without is not None:
            change = (
                f"; without it alpha is {row.alpha_without:.2f}, with it {before:.2f} (ordinal)"
            )
        if row.deviation.is_apart and (row.agreement or 0.0) <= INVERTED:
            change += "; its scale looks inverted"
        yield STANDS_OUT.finding(
            f"{row.rater} {' and '.join(reasons)}, on {counted(row.deviation.items, 'pair')}"
            f"{change}"
        )


def _about_constants(result: Judges, alpha: float) -> Iterator[Finding]:
    """Name the judges that are not better than always giving the most frequent grade."""
    apart = {row.rater for row in result.raters if row.deviation.is_apart}
    names = {
        FINAL: "the final judgment",
        QRELS: "the qrels",
        MAJORITY: "the majority of the others",
    }
    for row in sorted(result.comparisons, key=lambda row: (row.judge not in apart, row.accuracy)):
        if row.fails_constant(alpha=alpha, family=len(result.comparisons)):
            is_nearer = row.squared_error < row.constant_squared_error
            yield NO_BETTER.finding(
                f"{row.judge} gives the grade of {names.get(row.reference, row.reference)} for "
                f"{row.accuracy:.1%} of {counted(row.items, 'pair')}, and always saying "
                f"{row.constant:g} would for {row.constant_accuracy:.1%} (p = "
                f"{row.p_corrected:.2g}); its squared error of {row.squared_error:.3f} is "
                f"{'below' if is_nearer else 'not below'} that of always saying the mean "
                f"({row.constant_squared_error:.3f})",
                severity="note" if is_nearer else "warning",
            )


def _about_order(order: RaterOrder, result: Judges, alpha: float) -> Finding:
    """Say which systems change places by the grades of a rater."""
    assert result.orders is not None
    sure = [swap for swap in order.swaps if swap.is_sure(alpha)]
    swap = max(sure or order.swaps, key=lambda swap: swap.by_judgments - swap.by_rater)
    more = len(order.swaps) - 1
    also = f", and {counted(more, 'more pair')} of systems in another order" if more else ""
    doubt = "" if sure else "; neither difference is significant"
    return ORDER_DEPENDS.finding(
        f"by the grades of {order.rater} {swap.behind} is ahead of {swap.ahead} by "
        f"{-swap.by_rater:.4f} on {result.orders.measure}, and by the judgments given {swap.ahead} "
        f"is ahead by {swap.by_judgments:.4f}{also}{doubt}",
        severity="warning" if sure else "note",
    )


# --- the section ---------------------------------------------------------------------------------


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
        "Fleiss' kappa": result.agreement.fleiss,
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
            name="agreement",
            value="value",
        )
    yield part_table(
        sorted(result.raters, key=lambda row: (not row.apart, row.majority_equal or 0.0))[:SHOWN],
        "The judges",
        legend=("bias", "majority_equal", "agreement", "others", "alpha_without", "apart"),
        rater="judge",
        ratings="pairs",
        mean="mean grade",
        bias="bias",
        majority_equal="as majority",
        agreement="with others",
        others="others",
        alpha_without="alpha without",
        apart="apart",
    )
    yield part_table(
        sorted(result.pairs, key=lambda row: (row.kappa.value is None, row.kappa.value))[:SHOWN],
        "Two judges at a time",
        notes=["those that agree least; kappa: Cohen's; quadratic: far grades weigh more"],
        names=2,
        first="judge",
        second="judge",
        items="pairs",
        equal="equal",
        kappa="kappa",
        quadratic="quadratic",
    )
    if result.orders is not None:
        yield _order_table(result.orders)
    elif result.orders_reason:
        yield sentences([f"The systems by rater: {result.orders_reason}"])
    worst = sorted(result.comparisons, key=lambda row: row.accuracy)
    yield part_table(
        worst[:SHOWN],
        "Each judge against the reference",
        legend=("accuracy", "constant_accuracy", "p_corrected", "within_one"),
        notes=[
            "kappa²: Cohen's kappa with quadratic weights: far grades weigh more",
            "error: mean squared error; of mean: that of always saying the mean grade",
        ],
        names=2,
        judge="judge",
        reference="reference",
        items="pairs",
        accuracy="right",
        constant_accuracy="constant",
        p_corrected="p",
        within_one="within 1",
        quadratic="kappa²",
        squared_error="error",
        constant_squared_error="of mean",
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
            grade=f"grade of {row.judge}",
            counts="{}",
        )
    yield part_table(
        sorted(result.repeats, key=lambda row: row.equal)[:SHOWN],
        "Each judge against itself",
        notes=["equal, kappa, quadratic: the first two ratings; alpha: ordinal, all ratings"],
        rater="judge",
        items="pairs",
        repeats="ratings",
        equal="equal",
        kappa="kappa",
        quadratic="quadratic",
        alpha="alpha",
    )
    shown = result.again[:SHOWN]
    differ = f"the judges differ on {counted(result.disputed, 'pair')}"
    top = f"{result.disputed_on_top:,} within the first {result.cutoff} of some system"
    yield query_table(
        shown,
        {pair.query_id: pair.text for pair in shown if pair.text},
        "Pairs to judge again",
        notes=[f"{differ}; first come {top}, then those that differ most"],
        document="document",
        given="grades",
        places="ranks",
    )


def _order_table(orders: RaterOrders) -> Block | None:
    """Show the means of the systems by whose grades are taken."""
    given = RaterOrder(rater="judgments given", means=orders.means, tau=None)
    rows = [given, *orders.raters]
    if orders.median is not None:
        rows.append(orders.median.model_copy(update={"rater": "median of all"}))
    swaps = [
        f"by {order.rater}: {', '.join(f'{s.behind} ahead of {s.ahead}' for s in order.swaps[:4])}"
        for order in orders.raters
        if order.swaps
    ]
    return part_table(
        rows,
        "The systems by judge",
        notes=[
            f"{orders.measure}; τ: Kendall's correlation with the order by the judgments given",
            "pairs that a judge left out keep the grade given",
            *(f"no order by {name}: {why}" for name, why in orders.left_out.items()),
            *(swaps or ["no judge puts two systems in another order"]),
        ],
        rater="grades of",
        means="{}",
        tau="τ",
    )
