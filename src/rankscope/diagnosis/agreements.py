"""Agreement: do systems answer with the same documents, and what could two reach together?

Two systems that agree are one; two that do not may complement each other, or one may be noise. What
a fusion gives is measured: the best system is fused with each other one by reciprocal rank, and
advised only where that is significantly better. What choosing between two systems could gain at
most is shown by an oracle that takes for each query the better answer of the two; it does not bound
fusions, which can be better than both. Any two systems that differ have such a gain, even two
copies with noise, so it is no advice by itself: there must be relevant documents that one has on
top and the other does not have nearly so far up (`rankscope.diagnosis.pair_agreement.FAR`), on
significantly many queries.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.agreement_tables import agreement_section
from rankscope.diagnosis.pair_agreement import (
    DEEPEST_CUTOFF,
    FAR,
    Answers,
    Contribution,
    PairAgreement,
    compare_answers,
)
from rankscope.diagnosis.registry import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.runs.fusion.fuse import fuse
from rankscope.scoring.align import align
from rankscope.statistics.correction import corrected
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.sentences import p_text

if TYPE_CHECKING:
    from rankscope.document.blocks import Section
    from rankscope.measures.judged import FloatArray


MOST_SYSTEMS = 10
"""Of more systems each is compared with the best one only."""

LEAST_CONTRIBUTED = 0.02
"""A smaller share of the relevant documents is not worth a router."""

ALIKE = 0.99
"""From this mean RBO on two systems are nearly the same."""

MOST_FUSED = 400_000
"""Two runs with more rows together are not fused to see what that gives."""

MOST_FUSED_IN_ALL = 2_000_000
"""No more rows are fused in all; the best of the other systems come first."""

NEARLY_THE_SAME = declare(
    "RS681",
    "nearly-the-same-answers",
    "note",
    unit="system",
    advice="keep one of the two, or check that one is not a copy of the other",
    meaning="""Two systems give almost the same documents in the same order: their mean rank-biased
    overlap is at least 0.99.""",
)

COMPLEMENTARY = declare(
    "RS682",
    "complementary-systems",
    "note",
    unit="query",
    advice="choose between them by question, or fuse them with weights: rankscope runs fuse",
    meaning="""Another system has relevant documents among its first k that the best system does not
    have among its first 5k, on significantly many queries (t test corrected by Holm, at least 2 %
    of the relevant documents that fit into the first k): they answer different questions well.""",
)


DEALS = 499
"""How often values are dealt to the queries at random."""

ROUNDING = 1e-12
"""What differs by less is equal."""


class Fused(Part):
    """What plain reciprocal rank fusion (k = 60) of two systems gives."""

    first: str
    """A system: the best."""
    second: str
    """Another."""
    mean: float
    """The main measure of the fused run."""
    change: float
    """How much better than the best system's that is; negative: worse."""
    p: float
    """Of a paired t test of the change."""
    p_corrected: float
    """The same, corrected by Holm over the systems that were tried."""


class Agreement(Analysed):
    """How alike the answers of systems are, and what two could reach together."""

    measure: str
    """The main measure."""
    cutoff: int
    """k: how many first documents τ and Jaccard compare."""
    depth: int
    """How many first documents rank-biased overlap compares."""
    p: float
    """Its persistence: a reader goes one rank deeper with this probability."""
    queries: int
    """Judged queries."""
    focus: str
    """The best system."""
    pairs: tuple[PairAgreement, ...]
    """By pair of systems, those with the best system first; of more than 10 systems only these."""
    fusions: tuple[Fused, ...]
    """What fusing the best system with each other one gives, the best fusion first; without runs
    that are long."""


class AgreementConfig(AnalysisConfig):
    """How answers are compared."""

    cutoff: int | None = Field(default=None, ge=1, le=DEEPEST_CUTOFF)
    """How many first documents τ and Jaccard compare; null: as many as the main measure looks at,
    up to 50."""
    depth: int = Field(default=50, ge=1)
    """How many first documents rank-biased overlap compares; at p = 0.9 the first 50 have 99.5 % of
    the weight."""
    p: float = Field(default=0.9, gt=0, lt=1)
    """The persistence of rank-biased overlap."""
    show: int = Field(default=3, ge=0)
    """How many queries are shown on which two systems differ most."""


def _look(config: AgreementConfig, inputs: Inputs) -> Agreement | NotApplicable:
    rankings = inputs.rankings
    names = list(rankings.systems)
    if len(names) < 2:
        return AGREEMENT.not_applicable("it needs at least two systems")
    if not rankings.query_ids:
        return AGREEMENT.not_applicable("no query is judged")
    if not any(len(ranking.key) for ranking in rankings.systems.values()):
        return AGREEMENT.not_applicable("no run has a document for a judged query")
    cutoff = config.cutoff or min(inputs.cutoff, DEEPEST_CUTOFF)
    context = Answers(inputs, cutoff, config.depth, config.p, config.show)
    focus = inputs.focus
    others = [name for name in names if name != focus]
    chosen = [(focus, name) for name in others]
    if len(names) <= MOST_SYSTEMS:
        chosen += combinations(others, 2)
    pairs = _with_tests([compare_answers(context, *pair) for pair in chosen])
    partner = _partner(pairs, focus, inputs.settings.alpha)
    if partner is not None and not _is_complement(context, focus, partner[1].of):
        partner = None
    fusions = _fusions(context, focus, others)
    return Agreement(
        measure=str(inputs.main),
        cutoff=cutoff,
        depth=config.depth,
        p=config.p,
        queries=len(rankings.query_ids),
        focus=focus,
        pairs=tuple(pairs),
        fusions=tuple(fusions),
        findings=tuple(_findings(pairs, partner, cutoff)),
        advice=_advice(context, partner, fusions),
    )


def _with_tests(pairs: list[PairAgreement]) -> list[PairAgreement]:
    """Correct the tests of all contributions."""
    raw = [row.p_corrected for pair in pairs for row in pair.contributions]
    p_values = iter(corrected(raw, "holm").tolist())
    return [
        pair.model_copy(
            update={
                "contributions": tuple(
                    row.model_copy(update={"p_corrected": next(p_values)})
                    for row in pair.contributions
                )
            }
        )
        for pair in pairs
    ]


Partner = tuple[PairAgreement, Contribution]


def _partner(pairs: list[PairAgreement], focus: str, alpha: float) -> Partner | None:
    """Return the system that complements the best one, and of which most could be chosen."""
    candidates = [
        (pair, row)
        for pair in pairs
        for row in pair.contributions
        if pair.together is not None
        and row.to == focus
        and row.p_corrected <= alpha
        and row.share >= LEAST_CONTRIBUTED
    ]

    def gain(partner: Partner) -> float:
        together = partner[0].together
        return 0.0 if together is None else together.gain

    return max(candidates, key=gain, default=None)


def _is_complement(context: Answers, focus: str, other: str) -> bool:
    """Tell whether another system is good where the best one is not, by more than chance.

    The better of two values for each query is above either mean even if one of them is noise. So
    the mean of the better ones is compared with what it is when the other's values are dealt to the
    queries at random (a permutation test).
    """
    settings = context.inputs.settings
    sign = 1 if context.inputs.main.definition.higher_is_better else -1
    values, others = sign * context.values[focus], sign * context.values[other]
    counts = ~(np.isnan(values) | np.isnan(others))
    values, others = values[counts], others[counts]
    random = np.random.default_rng(settings.seed)
    seen = np.maximum(values, others).mean()
    dealt = [np.maximum(values, random.permutation(others)).mean() for _ in range(DEALS)]
    p = (1 + np.count_nonzero(np.array(dealt) >= seen * (1 - ROUNDING))) / (1 + DEALS)
    return bool(p <= settings.alpha)


def _fusions(context: Answers, focus: str, others: list[str]) -> list[Fused]:
    """Fuse the best system with each other one by reciprocal rank and measure what that gives."""
    inputs, main = context.inputs, context.inputs.main
    if context.matrix is None or main.needs:
        return []
    sign = 1 if main.definition.higher_is_better else -1
    base = context.values[focus]
    counts = ~np.isnan(base)
    fused = []
    for partner in _to_fuse(context, focus, others):
        values = _fused_values(inputs, focus, partner)
        changes = sign * (values - base)[counts]
        [test] = paired_tests(changes[np.newaxis], test="t")
        fused.append(
            Fused(
                first=focus,
                second=partner,
                mean=aggregate(main, values[counts]),
                change=float(changes.mean()),
                p=test.p,
                p_corrected=test.p,
            )
        )
    p_values = corrected([row.p for row in fused], "holm").tolist()
    rows = [
        row.model_copy(update={"p_corrected": p}) for row, p in zip(fused, p_values, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.change)


def _to_fuse(context: Answers, focus: str, others: list[str]) -> list[str]:
    """Return the systems that are not too long to be fused with the best one, the best first."""
    scores = context.inputs.scores
    assert scores is not None
    sign = 1 if context.inputs.main.definition.higher_is_better else -1
    means = {name: sign * scores.run(name).means[scores.measures[0]] for name in others}
    rows = {name: len(ranking.key) for name, ranking in context.rankings.systems.items()}
    chosen, total = [], 0
    for name in sorted(others, key=lambda name: -means[name]):
        size = rows[focus] + rows[name]
        if size <= MOST_FUSED and total + size <= MOST_FUSED_IN_ALL:
            chosen.append(name)
            total += size
    return chosen


def _fused_values(inputs: Inputs, focus: str, partner: str) -> FloatArray:
    """Return the main measure of two systems fused by reciprocal rank, by query."""
    assert inputs.runs is not None
    assert inputs.qrels is not None
    assert inputs.scores is not None
    # what is below the cutoff is not looked at
    run = fuse([inputs.runs[focus], inputs.runs[partner]], method="rrf", depth=inputs.main.cutoff)
    rules = inputs.scores.profile.rules_for(inputs.main)
    judged = align(
        inputs.qrels, run, ties=rules.ties, precision=rules.precision, sound=False
    ).judged
    return compute(inputs.main, judged)


def _findings(pairs: list[PairAgreement], partner: Partner | None, cutoff: int) -> list[Finding]:
    findings = [
        NEARLY_THE_SAME.finding(
            f"{pair.first} and {pair.second} give almost the same answers: the mean rank-biased "
            f"overlap is {pair.rbo.mean:.3f}, and {counted(pair.same, 'query')} of "
            f"{pair.rbo.queries:,} have the same first {cutoff} documents in the same order",
            evidence={"first": pair.first, "second": pair.second, "rbo": pair.rbo.mean},
        )
        for pair in pairs
        if pair.rbo.mean is not None and pair.rbo.mean >= ALIKE
    ]
    if partner is not None:
        _, row = partner
        findings.append(
            COMPLEMENTARY.finding(
                f"{row.of} has {counted(row.documents, 'relevant document')} among its first "
                f"{cutoff}, on {counted(row.queries, 'query')}, that {row.to} does not have among "
                f"its first {FAR * cutoff}",
                count=row.queries,
                evidence=row.to_dict(),
            )
        )
    return findings


def _advice(context: Answers, partner: Partner | None, fusions: list[Fused]) -> tuple[Advice, ...]:
    """Advise a fusion that was seen to be better, or else a choice where that could gain."""
    measure = context.inputs.main
    sign = 1 if measure.definition.higher_is_better else -1
    best = next((row for row in fusions if row.p_corrected <= context.inputs.settings.alpha), None)
    if best is not None and best.change > 0:
        now = best.mean - sign * best.change
        return (
            Advice(
                text=f"Fusion: reciprocal rank fusion of {best.first} and {best.second} gives "
                f"{measure} of {best.mean:.3f} against {now:.3f} ({sign * best.change:+.3f}, "
                f"{p_text(best.p_corrected)})",
                gain=best.change,
            ),
        )
    if partner is None:
        return ()
    pair, row = partner
    together = pair.together
    assert together is not None
    trial = ""
    fused = next((fusion for fusion in fusions if fusion.second == row.of), None)
    if fused is not None:
        trial = (
            f"; plain reciprocal rank fusion gives {fused.mean:.3f} ({sign * fused.change:+.3f})"
        )
    return (
        Advice(
            text=f"Routing: {row.of} and {row.to} answer different questions well (Jaccard@"
            f"{context.cutoff} {pair.jaccard.mean:.2f}); choosing the better of the two for each "
            f"question would reach {measure} of at most {together.oracle:.3f} against "
            f"{together.mean:.3f} ({sign * together.gain:+.3f}){trial}",
            gain=together.gain,
        ),
    )


def _section(result: Agreement) -> Section:
    return agreement_section(result, AGREEMENT.title)


AGREEMENT = register(
    Analysis(
        name="agreement",
        title="Agreement of systems",
        summary="How alike the answers of systems are, and what two of them could reach together.",
        config=AgreementConfig,
        written="agreement: {p: 0.95, show: 5}",
        result=Agreement,
        needs=("scores", "runs", "qrels"),
        uses=("queries",),
        look=_look,
        section=_section,
        codes=(NEARLY_THE_SAME, COMPLEMENTARY),
        place=28,
    )
)
