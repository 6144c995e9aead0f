"""Judges: do several raters agree, who is apart, and does the ranking of systems hang on it?

An analysis of ratings (`rankscope.collection.ratings`) with `rankscope.statistics.rater_agreement`
and `rater_outliers`. A rater is a person or a program. Of a rater that judged a pair more than once
the first rating counts; the others tell how far it agrees with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from pydantic import Field

from rankscope.diagnosis.analysis import (
    DEFAULT_CUTOFF,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.judge_comparisons import (
    JudgeComparison,
    SelfAgreement,
    self_agreement,
)
from rankscope.diagnosis.judge_findings import CODES, judge_advice, judge_findings
from rankscope.diagnosis.judge_references import References, is_half, judged
from rankscope.diagnosis.judge_tables import judge_blocks
from rankscope.diagnosis.rater_orders import (
    MOST_RATERS,
    RatedPairs,
    RaterOrders,
    rater_orders,
    reason_against,
    regrade,
)
from rankscope.diagnosis.regrading import PAIR
from rankscope.document.blocks import Section
from rankscope.findings import NotApplicable
from rankscope.part import Part, PrivateText
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import (
    Agreements,
    Rated,
    RaterAgreement,
    agreements,
    cohen_kappa,
    krippendorff_alpha,
    majority,
)
from rankscope.statistics.rater_outliers import RaterDeviation, rater_deviations

if TYPE_CHECKING:
    from rankscope.collection.ratings import Ratings
    from rankscope.diagnosis.regrading import Regrading
    from rankscope.measures.judged import FloatArray, IntArray

RESAMPLES = 1_000
"""So many resamples at most are drawn for the intervals of agreement."""


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
    """Share of the pairs for which the others have a majority, a most frequent grade, with that
    grade. Others that are apart have no vote. Null where a majority exists for fewer than half of
    the pairs it judged: what is left says little about the judge."""
    correlation: float | None
    """Pearson's, of its grades with the mean grade of the others that are not apart; null where it
    is undefined."""
    alpha_without: float | None
    """Krippendorff's alpha (ordinal) of all other raters; null where there are not two, where it is
    undefined, or with more than 30 raters."""


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
    span: float
    """The highest grade minus the lowest."""
    variance: float
    """Of the grades."""
    ranks: dict[str, int]
    """By system: its rank, where it is within the cutoff."""


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
    comparisons: tuple[JudgeComparison, ...]
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
    show: int
    """How many of them reports show."""


class JudgesConfig(AnalysisConfig):
    """What judges are compared with, and what is shown."""

    judge: str | None = None
    """The rater that is compared with the reference; null: each."""
    reference: str | None = None
    """What judges are compared with: ``final``, ``qrels``, ``majority`` (of the others), or a
    rater; null: the final grade where there is one, else the qrels given where they are on the same
    scale and judge at least half of the judge's pairs, else the majority of the others."""
    again: int = Field(default=50, ge=0)
    """How many pairs to judge again are listed."""
    show: int = Field(default=10, ge=0)
    """How many of them reports show."""
    cutoff: int | None = Field(default=None, ge=1)
    """How many documents of an answer matter; null: as many as the main measure looks at."""


def _look(config: JudgesConfig, inputs: Inputs) -> Judges | NotApplicable:
    ratings = inputs.ratings
    assert ratings is not None
    rated, final = _rated_pairs(ratings)
    repeats = _repeats(ratings)
    groups = rated.pairs["query_id"].rank("dense").to_numpy().astype(np.int64)
    settings = inputs.settings
    deviations = rater_deviations(
        rated.rated,
        raters=len(rated.raters),
        groups=groups,
        alpha=settings.alpha,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    apart = [place for place, each in enumerate(deviations) if each.is_apart]
    judges, not_compared = judged(
        References(rated, final, inputs.qrels, apart), config.judge, config.reference
    )
    if len(rated.raters) == 1 and not repeats and not judges:
        return JUDGES.not_applicable(
            "there is one rater, and neither a final grade nor qrels nor a second rating to "
            "compare with"
        )
    agreement = agreements(
        rated.rated,
        groups=groups,
        level=settings.level,
        resamples=min(settings.resamples, RESAMPLES),
        seed=settings.seed,
    )
    summaries = [_summary(rated, place, each, apart) for place, each in enumerate(deviations)]
    reason = reason_against(inputs, rated)
    regrading = orders = None
    if inputs.scores is not None and not reason:
        regrading = regrade(inputs, rated)
        orders = rater_orders(inputs, rated, regrading)
        if not orders.raters:
            reason = "; ".join(f"{name} {why}" for name, why in list(orders.left_out.items())[:3])
            orders = None
    known = inputs.scores is not None
    cutoff = config.cutoff or (inputs.cutoff if known else DEFAULT_CUTOFF)
    disputed, again = _again(rated, final, inputs, regrading, cutoff, config.again)
    result = Judges(
        items=rated.rated.items,
        ratings=len(rated.rated.grade),
        shared=int(np.count_nonzero(rated.rated.sizes >= 2)),
        agreement=agreement,
        raters=tuple(summaries),
        pairs=_rater_pairs(rated),
        comparisons=judges,
        not_compared=not_compared,
        repeats=repeats,
        orders=orders,
        orders_reason="" if orders is not None else reason,
        cutoff=cutoff,
        disputed=disputed[0],
        disputed_on_top=disputed[1],
        again=again,
        show=config.show,
    )
    findings = tuple(judge_findings(result, settings.alpha))
    advice = tuple(judge_advice(result, inputs.focus, settings.alpha)) if orders is not None else ()
    return result.model_copy(update={"findings": findings, "advice": advice})


# --- ratings as numbers


def _rated_pairs(ratings: Ratings) -> tuple[RatedPairs, FloatArray | None]:
    """Number pairs and raters; also return the final grades by pair, NaN where there is none."""
    first = ratings.to_polars().filter(pl.col("repeat") == 1)
    pairs = first.select(PAIR).unique(maintain_order=True)
    numbered = first.join(pairs.with_row_index("item"), on=PAIR, how="left", maintain_order="left")
    raters = ratings.raters
    codes = first["rater"].replace_strict(list(raters), list(range(len(raters))))
    rated = Rated(
        codes.cast(pl.Int64).to_numpy(),
        numbered["item"].cast(pl.Int64).to_numpy(),
        first["grade"].to_numpy(),
        pairs.height,
    )
    final = None
    if ratings.final is not None:
        joined = pairs.join(ratings.final, on=PAIR, how="left", maintain_order="left")["grade"]
        final = joined.fill_null(float("nan")).to_numpy()
    return RatedPairs(raters, pairs, rated), final


def _repeats(ratings: Ratings) -> tuple[SelfAgreement, ...]:
    frame = ratings.to_polars()
    again = frame.filter(pl.col("repeat") == 2)["rater"].unique(maintain_order=True).to_list()
    answers = []
    for rater in again:
        rows = frame.filter(pl.col("rater") == rater)
        item = rows.select(pl.struct(PAIR).rank("dense")).to_series().to_numpy().astype(np.int64)
        answers.append(
            self_agreement(rater, item, rows["repeat"].to_numpy(), rows["grade"].to_numpy())
        )
    return tuple(each for each in answers if each is not None)


def _summary(
    rated: RatedPairs, place: int, deviation: RaterDeviation, apart: list[int]
) -> RaterSummary:
    others = rated.others(place, apart)
    grades, usual = rated.of(place), majority(others)
    both = ~np.isnan(grades) & ~np.isnan(usual)
    enough = both.any() and is_half(grades, usual)
    without = RaterAgreement(value=None, items=0)
    if 2 < len(rated.raters) <= MOST_RATERS:
        without = krippendorff_alpha(rated.rated.only(rated.rated.rater != place), level="ordinal")
    return RaterSummary(
        rater=rated.raters[place],
        ratings=int(np.count_nonzero(~np.isnan(grades))),
        mean=float(np.nanmean(grades)),
        deviation=deviation,
        majority_equal=float((grades[both] == usual[both]).mean()) if enough else None,
        correlation=_correlation(grades, others),
        alpha_without=without.value,
    )


def _correlation(grades: FloatArray, others: Rated) -> float | None:
    """Correlate grades with the mean grade of others, over the items that both have."""
    sizes = others.sizes
    both = ~np.isnan(grades) & (sizes > 0)
    means = others.sums(others.grade)[both] / sizes[both]
    graded = grades[both]
    if len(graded) < FEWEST or not np.ptp(graded) or not np.ptp(means):
        return None
    return float(np.corrcoef(graded, means)[0, 1])


def _rater_pairs(rated: RatedPairs) -> tuple[RaterPair, ...]:
    if len(rated.raters) > MOST_RATERS:
        return ()
    tables = [rated.of(place) for place in range(len(rated.raters))]
    answers = []
    for first, second in combinations(range(len(tables)), 2):
        both = ~np.isnan(tables[first]) & ~np.isnan(tables[second])
        a, b = tables[first][both], tables[second][both]
        answers.append(
            RaterPair(
                first=rated.raters[first],
                second=rated.raters[second],
                items=len(a),
                equal=float((a == b).mean()) if len(a) else None,
                kappa=cohen_kappa(a, b),
                quadratic=cohen_kappa(a, b, weights="quadratic"),
            )
        )
    return tuple(answers)


# --- pairs to judge again


def _again(  # noqa: PLR0917
    rated: RatedPairs,
    final: FloatArray | None,
    inputs: Inputs,
    regrading: Regrading | None,
    cutoff: int,
    most: int,
) -> tuple[tuple[int, int], tuple[AgainPair, ...]]:
    """Return how many pairs are disputed, and on top of some system; and those to judge again."""
    ratings = rated.rated
    lowest, highest = np.full(ratings.items, np.inf), np.full(ratings.items, -np.inf)
    np.minimum.at(lowest, ratings.item, ratings.grade)
    np.maximum.at(highest, ratings.item, ratings.grade)
    span = highest - lowest
    means = ratings.sums(ratings.grade) / ratings.sizes
    variance = ratings.sums((ratings.grade - means[ratings.item]) ** 2) / ratings.sizes
    ranks: dict[str, IntArray] = {}
    best = np.full(ratings.items, np.iinfo(np.int64).max)
    if regrading is not None:
        numbers = regrading.numbers_of(rated.pairs)
        for name in regrading.runs:
            rank = np.where(numbers >= 0, regrading.ranks(name)[numbers], 0)
            ranks[name] = np.where(rank <= cutoff, rank, 0)
            best = np.where(ranks[name] > 0, np.minimum(best, ranks[name]), best)
    on_top = best <= cutoff
    disputed = span > 0
    order = np.lexsort((best, -variance, -span, ~on_top))
    chosen = order[disputed[order]][:most]
    counts = int(disputed.sum()), int((disputed & on_top).sum())
    return counts, tuple(_again_pair(int(item), rated, final, inputs, ranks) for item in chosen)


def _again_pair(
    item: int,
    rated: RatedPairs,
    final: FloatArray | None,
    inputs: Inputs,
    ranks: Mapping[str, IntArray],
) -> AgainPair:
    rows = np.flatnonzero(rated.rated.item == item)
    grades = rated.rated.grade[rows]
    query_id, doc_id = rated.pairs.row(item)
    text = next((text for known, text, _ in inputs.queries or () if known == query_id), None)
    settled = None if final is None or np.isnan(final[item]) else float(final[item])
    return AgainPair(
        query_id=query_id,
        text=text,
        doc_id=doc_id,
        title=inputs.texts.title(doc_id),
        grades={
            rated.raters[rated.rated.rater[row]]: float(rated.rated.grade[row]) for row in rows
        },
        final=settled,
        span=float(np.ptp(grades)),
        variance=float(grades.var()),
        ranks={name: int(rank[item]) for name, rank in ranks.items() if rank[item]},
    )


def _section(result: Judges) -> Section:
    blocks, details = judge_blocks(result)
    return Section(JUDGES.title, blocks, details)


JUDGES = register(
    Analysis(
        name="judges",
        title="Judges",
        summary="Whether several judges agree, who is apart, and what changes with whose grades.",
        config=JudgesConfig,
        written="judges: {judge: gpt, reference: final}",
        result=Judges,
        needs=("ratings",),
        uses=("scores", "runs", "qrels", "queries", "corpus", "titles"),
        look=_look,
        section=_section,
        codes=CODES,
        place=32,
    )
)
