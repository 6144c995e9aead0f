"""Ties: how much of a result is decided by the order of documents with equal scores.

Equal scores say that a system does not know which document is better; some rule decides. The range
of the main measure over all such orders is that of `rankscope.bounds`, under the rules that the
scores were made with. Where the ranges of two systems overlap, the tie rule alone may decide which
of them is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis, found
from rankscope.diagnosis.show import part_table, system_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.measures.language import Measure
from rankscope.part import Part
from rankscope.runs.order import compared
from rankscope.scoring.bounds import bounds

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking

WIDE = declare(
    "RS641",
    "ties-move-the-mean",
    "warning",
    unit="system",
    advice="break ties by something that says which document is better, or return more digits "
    "where scores are rounded; until then read the mean as a range",
    meaning="""The mean of the main measure could be higher or lower by much, depending only on how
    documents with equal scores are ordered.""",
)
DECIDE = declare(
    "RS642",
    "ties-decide-the-order",
    "warning",
    unit="pair",
    advice="break ties by something that says which document is better before you call one of them "
    "better",
    meaning="""One system is ahead of another by the main measure, but another order of documents
    with equal scores would put it behind.""",
)


class TiesConfig(Config):
    """When ties are worth a word."""

    wide: float = Field(default=0.01, gt=0, allow_inf_nan=False)
    """The mean has to be able to move by more than this; where a measure can be above 1, by more
    than this share of it."""


class SystemTies(Row):
    """The ties of one system."""

    value: float | None
    """The mean of the main measure, as its ties are broken now; null: no query counts."""
    lowest: float | None
    """What it could fall to with documents of equal score in another order; null: not known."""
    highest: float | None
    """What it could rise to; null: not known."""
    across: dict[int, int]
    """How many queries have documents with equal scores on both sides of rank k, by k: the cutoff
    of the main measure, then those of the others."""
    documents: int
    """How many documents the system retrieved for judged queries."""
    tied: int
    """How many documents share their score with another one of their query."""
    constant: int
    """How many answers have several documents, all with one score: their order means nothing."""

    @property
    def width(self) -> float:
        """How far the mean could move; 0 where that is not known."""
        if self.lowest is None or self.highest is None:
            return 0.0
        return self.highest - self.lowest


class Reversal(Part):
    """Two systems whose order depends on how ties are broken."""

    better: str
    """The system that is ahead."""
    worse: str
    """The system that is behind."""
    difference: float
    """How far it is ahead, as ties are broken now."""
    reversed: float
    """How far it would be behind, if all ties went against it."""


class Ties(Analysed):
    """What ties decide."""

    measure: str
    """The main measure."""
    queries: int
    """Judged queries."""
    ties: str
    """How ties are broken: trec (the higher id first), id-asc or given."""
    precision: str
    """In which precision scores are compared."""
    wide: float
    """From which width on it is worth a word."""
    systems: tuple[SystemTies, ...]
    """By system."""
    reversals: tuple[Reversal, ...]
    """Pairs of systems whose order ties decide, the closest first."""


@analysis(
    title="Ties",
    needs=("scores", "runs", "qrels"),
    written="ties: {wide: 0.02}",
    place=60,
)
def ties(config: TiesConfig, inputs: Inputs) -> Ties:
    """How far the main measure depends on the order of documents with equal scores."""
    measure, queries = inputs.main, len(inputs.rankings.query_ids)
    inputs.require(queries, "no query is judged")
    asked = [Measure.parse(name).cutoff for name in inputs.scores.measures]
    others = {cutoff for cutoff in asked if cutoff is not None} - {inputs.cutoff}
    cutoffs = (inputs.cutoff, *sorted(others))
    rankings = inputs.rankings.systems.items()
    systems = [_ties_of(name, ranking, inputs, cutoffs) for name, ranking in rankings]
    rules = inputs.scores.profile.rules_for(measure)
    return Ties(
        measure=str(measure),
        queries=queries,
        ties=rules.ties,
        precision=rules.precision,
        wide=config.wide,
        systems=tuple(systems),
        reversals=tuple(_reversals(systems, inputs.sign)),
    )


@ties.find
def _find(result: Ties, inputs: Inputs) -> Iterator[Finding]:
    definition = inputs.main.definition
    is_share = max(map(abs, definition.range)) <= 1
    yield from found(
        WIDE,
        [
            row
            for row in result.systems
            if row.width > result.wide * (1.0 if is_share else abs(row.value or 0.0))
        ],
        lambda row: (
            f"{result.measure} of {row.system} is {row.value:.4f}, and could be {row.lowest:.4f} "
            f"to {row.highest:.4f} with documents of equal score in another order; "
            f"{row.tied:,} of {counted(row.documents, 'document')} share a score"
        ),
        (lambda row: row.width) if definition.aggregate == "mean" else None,
        focus=inputs.focus,
    )
    if result.reversals:
        pair, more = result.reversals[0], len(result.reversals) - 1
        likewise = f"; likewise {counted(more, 'other pair')}" if more else ""
        yield DECIDE.finding(
            f"{pair.better} is {pair.difference:.4f} ahead of {pair.worse} on {result.measure}, "
            f"and would be {pair.reversed:.4f} behind with documents of equal score in another "
            f"order{likewise}",
            count=len(result.reversals),
        )


@ties.show
def _show(result: Ties) -> Iterator[Block | None]:
    rules = {"trec": "the higher id", "id-asc": "the lower id", "given": "what is given first"}
    yield system_table(
        result.systems,
        legend=("lowest", "across"),
        notes=[f"of equal scores in {result.precision} precision {rules[result.ties]} comes first"],
        columns=(
            f"value: {result.measure} | lowest | highest | across: across {{}} | "
            "tied: tied documents | documents: of | constant: answers with one score"
        ),
    )
    yield part_table(
        result.reversals,
        "Pairs whose order ties decide",
        names=2,
        columns=(
            "better: ahead | worse: behind | difference: by | "
            "reversed: if ties were broken otherwise, behind by"
        ),
    )


def _ties_of(name: str, ranking: Ranking, inputs: Inputs, cutoffs: Sequence[int]) -> SystemTies:
    """Count the ties of one system, and bound what they do to its mean."""
    profile, measure = inputs.scores.profile, inputs.main
    score = compared(ranking.score, profile.rules_for(measure).precision)
    same = np.zeros(len(score), np.bool_)  # as the row before it, in the same query
    same[1:] = score[1:] == score[:-1]
    same[ranking.offsets[:-1][ranking.sizes > 0]] = False
    tied = same.copy()
    tied[:-1] |= same[1:]
    sizes = ranking.sizes
    different = np.bincount(ranking.query[~same], minlength=len(sizes))
    value = inputs.means[name]
    # what was asked for is in the names of the measures already
    meant = replace(profile, meaning=lambda measure: measure)
    [bound] = bounds(inputs.qrels, inputs.runs[name], [measure], holes=False, profile=meant)
    ends = bound.ties
    if ends is not None and not np.isfinite([ends.lowest, ends.highest]).all():
        ends = None
    return SystemTies(
        system=name,
        value=value if np.isfinite(value) else None,
        lowest=None if ends is None else ends.lowest,
        highest=None if ends is None else ends.highest,
        across={k: int(np.count_nonzero(same[ranking.rank == k + 1])) for k in cutoffs},
        documents=len(same),
        tied=int(np.count_nonzero(tied)),
        constant=int(np.count_nonzero((different == 1) & (sizes > 1))),
    )


def _reversals(systems: Sequence[SystemTies], sign: int) -> list[Reversal]:
    """Return the pairs whose order another order of ties would reverse, the closest first."""
    known = [
        (row, sign * row.value, sorted((sign * row.lowest, sign * row.highest)))
        for row in systems
        if row.value is not None and row.lowest is not None and row.highest is not None
    ]
    reversals = [
        Reversal(
            better=better.system,
            worse=worse.system,
            difference=ahead - behind,
            reversed=most - least,
        )
        for better, ahead, (least, _) in known
        for worse, behind, (_, most) in known
        if ahead > behind and most > least
    ]
    return sorted(reversals, key=lambda pair: pair.difference)
