"""Ties: how much of a result is decided by the order of documents with equal scores.

Equal scores say that a system does not know which document is better; some rule decides. The range
of the main measure over all such orders is that of `rankscope.bounds`, under the rules that the
scores were made with. Where the ranges of two systems overlap, the tie rule alone may decide which
of them is better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.shares import share_of
from rankscope.document.blocks import Cell, Column, Section, Table
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.runs.order import compared
from rankscope.scoring.bounds import bounds

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.measures.judged import BoolArray
    from rankscope.runs.order import Precision

WIDE_TIES = declare(
    "RS641",
    "ties-move-the-mean",
    "warning",
    unit="system",
    advice=(
        "break ties by something that says which document is better, or return more digits where "
        "scores are rounded; until then read the mean as a range"
    ),
    meaning="""The mean of the main measure could be higher or lower by much, depending only on how
    documents with equal scores are ordered.""",
)

TIES_DECIDE = declare(
    "RS642",
    "ties-decide-the-order",
    "warning",
    unit="pair",
    advice=(
        "break ties by something that says which document is better before you call one of them "
        "better"
    ),
    meaning="""One system is ahead of another by the main measure, but another order of documents
    with equal scores would put it behind.""",
)


class TiedCutoff(Part):
    """Ties across one cutoff."""

    cutoff: int
    """k."""
    queries: int
    """How many queries have documents with equal scores on both sides of k."""


class SystemTies(Part):
    """The ties of one system."""

    system: str
    """The system."""
    value: float | None
    """The mean of the main measure, as its ties are broken now; null: no query counts."""
    lowest: float | None
    """The lowest it could be with equal scores in another order; null where no bound is known."""
    highest: float | None
    """The highest."""
    cutoffs: tuple[TiedCutoff, ...]
    """Ties across the cutoff of the main measure, which comes first, and across the others that
    were asked for."""
    documents: int
    """How many documents the system retrieved for judged queries."""
    tied_documents: int
    """How many of them share their score with another one of their query."""
    distinct_scores: float | None
    """Different scores in an answer, on average over the answers; null: there is none."""
    answer_size: float | None
    """Documents in an answer, on average over the answers."""
    constant_answers: int
    """How many answers have several documents, all with one score: their order means nothing."""

    @property
    def width(self) -> float:
        """How far the mean could move; 0 where no bound is known."""
        if self.lowest is None or self.highest is None:
            return 0.0
        return self.highest - self.lowest


class TieReversal(Part):
    """Two systems whose order depends on how ties are broken."""

    better: str
    """The system that is ahead."""
    worse: str
    """The system that is behind."""
    difference: float
    """How far it is ahead, as ties are broken now."""
    reversed: float
    """How far it would be behind, if all ties went against it."""


class TieEffects(Analysed):
    """What ties decide."""

    measure: str
    """The main measure."""
    higher_is_better: bool
    """Whether more of it is better."""
    cutoff: int
    """Its cutoff, or how many documents are looked at where it has none."""
    queries: int
    """Judged queries."""
    ties: str
    """How ties are broken: trec (the higher id first), id-asc or given."""
    precision: str
    """In which precision scores are compared."""
    systems: tuple[SystemTies, ...]
    """By system."""
    reversals: tuple[TieReversal, ...]
    """Pairs of systems whose order ties decide."""


class TiesConfig(AnalysisConfig):
    """When ties are worth a word."""

    wide: float = Field(default=0.01, gt=0, allow_inf_nan=False)
    """The mean has to be able to move by more than this; where a measure can be above 1, by more
    than this share of it."""


def _look(config: TiesConfig, inputs: Inputs) -> TieEffects | NotApplicable:
    assert inputs.scores is not None
    assert inputs.qrels is not None
    assert inputs.runs is not None
    if not inputs.qrels.query_ids:
        return TIES.not_applicable("no query is judged")
    scores, measure = inputs.scores, inputs.main
    rules = scores.profile.rules_for(measure)
    asked = (parsed.cutoff for parsed in map(Measure.parse, scores.measures))
    others = {cutoff for cutoff in asked if cutoff is not None} - {inputs.cutoff}
    cutoffs = (inputs.cutoff, *sorted(others))
    rankings = inputs.rankings.systems
    systems = tuple(
        _of_system(name, ranking, inputs, cutoffs) for name, ranking in rankings.items()
    )
    higher_is_better = measure.definition.higher_is_better
    reversals = _reversals(systems, 1 if higher_is_better else -1)
    result = TieEffects(
        measure=str(measure),
        higher_is_better=higher_is_better,
        cutoff=inputs.cutoff,
        queries=len(inputs.qrels.query_ids),
        ties=rules.ties,
        precision=rules.precision,
        systems=systems,
        reversals=reversals,
    )
    scale = 1.0 if max(map(abs, measure.definition.range)) <= 1 else None
    wide = [
        system
        for system in systems
        if system.width > config.wide * (abs(system.value or 0.0) if scale is None else scale)
    ]
    return result.model_copy(
        update={
            "findings": tuple(_findings(result, wide)),
            "advice": _advice(result, wide, inputs),
        }
    )


def _of_system(name: str, ranking: Ranking, inputs: Inputs, cutoffs: tuple[int, ...]) -> SystemTies:
    assert inputs.scores is not None
    assert inputs.runs is not None
    profile, measure = inputs.scores.profile, inputs.main
    same = _same_as_before(ranking, profile.rules_for(measure).precision)
    sizes, queries = ranking.sizes, len(ranking.offsets) - 1
    new = np.bincount(ranking.query[~same], minlength=queries)  # different scores by query
    tied = same.copy()
    tied[:-1] |= same[1:]
    across = [int(np.count_nonzero(same[ranking.rank == cutoff + 1])) for cutoff in cutoffs]
    answers = int(np.count_nonzero(sizes))
    value = inputs.scores.run(name).means[str(measure)]
    # what was asked for is in the names of the measures already
    meant = replace(profile, meaning=lambda measure: measure)
    [bound] = bounds(inputs.qrels, inputs.runs[name], [measure], holes=False, profile=meant)
    ends = bound.ties
    is_known = ends is not None and np.isfinite([ends.lowest, ends.highest]).all()
    return SystemTies(
        system=name,
        value=value if np.isfinite(value) else None,
        lowest=ends.lowest if ends is not None and is_known else None,
        highest=ends.highest if ends is not None and is_known else None,
        cutoffs=tuple(
            TiedCutoff(cutoff=cutoff, queries=count)
            for cutoff, count in zip(cutoffs, across, strict=True)
        ),
        documents=len(same),
        tied_documents=int(np.count_nonzero(tied)),
        distinct_scores=float(new.sum() / answers) if answers else None,
        answer_size=float(sizes.sum() / answers) if answers else None,
        constant_answers=int(np.count_nonzero((new == 1) & (sizes > 1))),
    )


def _same_as_before(ranking: Ranking, precision: Precision) -> BoolArray:
    """By row: whether it has the score of the row before it, in the same query."""
    score = compared(ranking.score, precision)
    same = np.zeros(len(score), np.bool_)
    same[1:] = score[1:] == score[:-1]
    same[ranking.offsets[:-1][ranking.sizes > 0]] = False
    return same


def _reversals(systems: tuple[SystemTies, ...], sign: int) -> tuple[TieReversal, ...]:
    """Return the pairs whose order another order of ties would reverse, the closest first."""
    known = [
        system
        for system in systems
        if system.value is not None and system.lowest is not None and system.highest is not None
    ]
    reversals = []
    for ahead in known:
        for behind in known:
            assert ahead.value is not None
            assert behind.value is not None
            difference = sign * (ahead.value - behind.value)
            least, most = (
                (ahead.lowest, behind.highest) if sign > 0 else (ahead.highest, behind.lowest)
            )
            assert least is not None
            assert most is not None
            against = sign * (least - most)
            if difference > 0 > against:
                reversals.append(
                    TieReversal(
                        better=ahead.system,
                        worse=behind.system,
                        difference=difference,
                        reversed=-against,
                    )
                )
    return tuple(sorted(reversals, key=lambda pair: pair.difference))


def _findings(result: TieEffects, wide: list[SystemTies]) -> list[Finding]:
    findings = [
        WIDE_TIES.finding(
            f"{result.measure} of {system.system} is {system.value:.4f}, and could be "
            f"{system.lowest:.4f} to {system.highest:.4f} with documents of equal score in another "
            f"order; {_where(result, system)}",
            evidence=system.to_dict(),
        )
        for system in wide
    ]
    findings += [
        TIES_DECIDE.finding(
            f"{pair.better} is {pair.difference:.4f} ahead of {pair.worse} on {result.measure}, "
            f"and would be {pair.reversed:.4f} behind with documents of equal score in another "
            "order",
            evidence=pair.to_dict(),
        )
        for pair in result.reversals
    ]
    return findings


def _where(result: TieEffects, system: SystemTies) -> str:
    """Say where the ties are that move the mean."""
    across, constant = system.cutoffs[0].queries, system.constant_answers
    if constant and (constant == result.queries or not across):
        which = "each" if constant == result.queries else f"{constant:,}"
        return f"in {which} of {counted(result.queries, 'query')} all scores are equal"
    if across:
        has = "has" if across == 1 else "have"
        return (
            f"{counted(across, 'query')} of {result.queries:,} {has} a tie across rank "
            f"{result.cutoff}"
        )
    return f"{system.tied_documents:,} of {counted(system.documents, 'document')} share a score"


def _advice(result: TieEffects, wide: list[SystemTies], inputs: Inputs) -> tuple[Advice, ...]:
    """Advise about the best system."""
    if inputs.main.definition.aggregate != "mean":
        return ()
    rule = "the order they are given in" if result.ties == "given" else "document ids"
    return tuple(
        Advice(
            text=f"Ties: {result.measure} of {system.system} is {system.value:.3f}, and "
            f"{system.lowest:.3f} to {system.highest:.3f} with documents of equal score in another "
            f"order ({_where(result, system)}); equal scores fall back on {rule}: break ties by "
            "something meaningful",
            gain=system.width,
        )
        for system in wide
        if system.system == inputs.focus
    )


def _section(result: TieEffects) -> Section:
    cutoffs = [tied.cutoff for tied in result.systems[0].cutoffs] if result.systems else []
    rows = []
    for system in result.systems:
        known = system.lowest is not None and system.highest is not None
        rows.append(
            (
                Cell(system.system),
                Cell(system.value),
                Cell(system.lowest if known else "not known"),
                Cell(system.highest if known else "not known"),
                *(
                    Cell(tied.queries, note=share_of(tied.queries, result.queries))
                    for tied in system.cutoffs
                ),
                Cell(
                    system.tied_documents,
                    note=share_of(system.tied_documents, system.documents),
                ),
                Cell(system.distinct_scores),
                Cell(system.constant_answers),
            )
        )
    table = Table(
        (
            Column("system", "text"),
            Column(result.measure),
            Column("lowest"),
            Column("highest"),
            *(Column(f"across {cutoff}", digits=0) for cutoff in cutoffs),
            Column("tied", digits=0),
            Column("scores", digits=1),
            Column("constant", digits=0),
        ),
        tuple(rows),
        notes=(
            (
                f"lowest, highest: what {result.measure} could be with documents of equal score in "
                f"another order; now: {_RULES[result.ties]}, {result.precision} precision"
            ),
            (
                f"across k: queries, of {result.queries:,}, with equal scores on both sides of "
                "rank k; tied: documents that share their score with another of their query"
            ),
            (
                f"scores: different scores in an answer, of {_sizes(result)}; constant: answers "
                "whose documents all have one score"
            ),
        ),
    )
    return Section(TIES.title, details=(table,))


_RULES = {
    "trec": "the higher id first",
    "id-asc": "the lower id first",
    "given": "in the order given",
}


def _sizes(result: TieEffects) -> str:
    sizes = sorted(system.answer_size for system in result.systems if system.answer_size)
    if not sizes:
        return "no documents"
    low, high = (f"{size:,.0f}" for size in (sizes[0], sizes[-1]))
    return f"{low} documents" if low == high else f"{low} to {high} documents"


TIES = register(
    Analysis(
        name="ties",
        title="Ties",
        summary="How far the main measure depends on the order of documents with equal scores.",
        config=TiesConfig,
        written="ties: {wide: 0.02}",
        result=TieEffects,
        needs=("scores", "runs", "qrels"),
        look=_look,
        section=_section,
        codes=(WIDE_TIES, TIES_DECIDE),
        place=60,
    )
)
