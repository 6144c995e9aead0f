"""Holes: how much of what systems retrieve did nobody judge, and could it change a conclusion?

Unjudged documents count as nonrelevant, so a system that retrieves what no other did when the
judgments were made looks worse than it is. This analysis counts them, bounds what they could do to
each measure and to each comparison, and names those that are worth judging first
(`rankscope.diagnosis.judge_next`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Analysed,
    AnalysisConfig,
    CannotAnalyseError,
    Inputs,
    Row,
    analysis,
    found,
)
from rankscope.diagnosis.hole_values import (
    HoleContext,
    HoleValue,
    conclude_and_choose,
    hole_values,
)
from rankscope.diagnosis.judge_next import ToJudge
from rankscope.diagnosis.reversals import Conclusion
from rankscope.diagnosis.show import part_table, query_table, system_table
from rankscope.document.blocks import Block, Notes
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.tests import corrected, paired_tests

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.measures.judged import IntArray

DEPTHS = (1, 5, 10)
"""Unjudged documents are counted in the first so many, beside k and the whole answer."""

SHOWN = 10
"""So many of the pairs to judge are shown; the JSON and the pool hold all."""

DOUBTFUL = 0.05
"""From this chance on that it is turned round, a conclusion is in doubt."""

UNEVEN = 0.05
"""Shares that differ by less than this are alike, whatever a test says."""

MANY = 0.2
"""From this share of the first k documents on it is worth a finding."""

MANY_UNJUDGED = declare(
    "RS675",
    "many-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes, or compare condensed-list values",
    meaning="""At least a fifth of the first k documents of a system are unjudged, though
    nonrelevant documents were judged: its values are too low by an unknown amount.""",
)

UNEVEN_UNJUDGED = declare(
    "RS676",
    "uneven-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes before you compare these systems",
    meaning="""Of two systems that are compared, one has significantly more unjudged documents among
    its first k (paired t test over queries, corrected by Holm, and at least 5 points of a
    hundred), and that could change which of them is better: the comparison favours the other.""",
)

OPEN_CONCLUSION = declare(
    "RS677",
    "conclusion-open-to-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes before you act on the difference",
    meaning="""Two systems are shown to differ, and their order would be undone if some of their
    unjudged documents were relevant; the chance of that is at least 5 % if they are relevant as
    often as judged ones that as many systems rank there. Where no difference is shown, more queries
    matter and not these documents.""",
)


class HolesConfig(AnalysisConfig):
    """What unjudged documents could be, and how many are to be judged."""

    hole_grade: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The grade that an unjudged document would have if it were relevant; null: 1, or the lowest
    grade that the main measure takes for relevant if that is higher."""
    judge: int = Field(default=100, ge=0)
    """How many pairs of query and document to name for judging."""


class SystemHoles(Row):
    """What nobody judged of what one system retrieved."""

    documents: dict[int, int]
    """How many documents there are among the first k of all answers, by k."""
    unjudged: dict[int, int]
    """How many of these nobody judged, by k."""
    answered: int
    """Queries for which it retrieved something."""
    all_unjudged: int
    """Of these, queries with nothing judged among the first k."""
    half_unjudged: int
    """Queries with at least half of the first k unjudged, these included."""

    @property
    def shares(self) -> dict[int, str]:
        """Which share of the first k nobody judged, by k."""
        return {k: f"{self.share(k):.1%}" for k in self.documents}

    def share(self, depth: int) -> float:
        """Return which share of the first documents nobody judged; 0 if there are none."""
        return self.unjudged[depth] / self.documents[depth] if self.documents[depth] else 0.0


class Uneven(Part):
    """How two systems differ in what is unjudged among their first k documents."""

    more: str
    """The system with more unjudged documents."""
    less: str
    """The other."""
    difference: float
    """Mean over queries of the difference of shares; not negative."""
    p_corrected: float
    """Of a paired t test over queries, corrected by Holm over the pairs."""


class Holes(Analysed):
    """What nobody judged, and what it could change."""

    measure: str
    """The main measure."""
    judged_by: str | None
    """The measure by which conclusions are looked at and documents ordered: the main one, or the
    first for which judgments can be added; null: there is none."""
    cutoff: int
    """k: how many documents of an answer the main measure looks at."""
    queries: int
    """Judged queries."""
    judgments: int
    """Judgments, of all queries."""
    negative: int
    """Judgments with a negative grade: their documents were pooled and count as unjudged."""
    nonrelevant: int
    """Of these, judgments that a document is nonrelevant, or that it was pooled and not judged."""
    pooled: int
    """Queries that have any of these."""
    by_design: bool
    """Whether unjudged means nonrelevant by design: hardly anything but relevant documents was
    judged (less than a fifth of all judgments, or for less than half of the queries). Then nothing
    is alarming about unjudged documents."""
    grade: float
    """The grade that an unjudged document would have if it were relevant."""
    systems: tuple[SystemHoles, ...]
    """By system."""
    values: tuple[HoleValue, ...]
    """By measure and system."""
    uneven: tuple[Uneven, ...]
    """By pair of systems that is compared."""
    conclusions: tuple[Conclusion, ...]
    """By pair of systems that is compared: the baseline, or the best system, and each other."""
    candidates: int
    """How many unjudged documents are among the first documents of any system."""
    depth: int
    """So many first documents of each answer were looked at for them."""
    judge: tuple[ToJudge, ...]
    """What to judge next, first what could change most."""
    notes: tuple[str, ...] = ()
    """What was not computed, and why."""


@analysis(
    "holes",
    HolesConfig,
    Holes,
    title="Unjudged documents",
    needs=("scores", "runs", "qrels"),
    uses=("queries", "corpus", "titles"),
    written="holes: {judge: 200}",
    codes=(MANY_UNJUDGED, UNEVEN_UNJUDGED, OPEN_CONCLUSION),
    place=22,
)
def holes(config: HolesConfig, inputs: Inputs) -> Holes:
    """How much nobody judged, whether it could change a conclusion, and what to judge next."""
    rankings = inputs.rankings
    if not rankings.query_ids:
        raise CannotAnalyseError("no query is judged")
    if not any(len(ranking.key) for ranking in rankings.systems.values()):
        raise CannotAnalyseError("no run has a document for a judged query")
    context = HoleContext(inputs, config.hole_grade)
    notes: list[str] = []
    negative = int((rankings.judged_grade < 0).sum())
    if negative:
        have = "has a negative grade" if negative == 1 else "have negative grades"
        notes.append(f"{counted(negative, 'judgment')} {have}: negative grades count as unjudged")
    cutoff = inputs.cutoff
    longest = max(int(ranking.sizes.max()) for ranking in rankings.systems.values())
    depth = inputs.depth or longest
    counts = {name: _holes_by_query(ranking, cutoff) for name, ranking in rankings.systems.items()}
    systems = tuple(
        _of_system(name, ranking, cutoff, depth, counts[name])
        for name, ranking in rankings.systems.items()
    )
    values = hole_values(context, notes)
    uneven = _uneven(context, counts)
    nothing: tuple[tuple[Conclusion, ...], tuple[ToJudge, ...], int, int] = (), (), 0, cutoff
    conclusions, judge, candidates, looked = (
        nothing
        if context.measure is None
        else conclude_and_choose(context, context.measure, config.judge, notes)
    )
    result = Holes(
        measure=inputs.scores.measures[0] if inputs.scores else "",
        judged_by=None if context.measure is None else str(context.measure),
        cutoff=cutoff,
        queries=len(rankings.query_ids),
        judgments=len(rankings.judged_grade),
        negative=negative,
        nonrelevant=int(rankings.is_nonrelevant.sum()),
        pooled=int(rankings.pooled.sum()),
        by_design=rankings.unjudged_by_design,
        grade=context.grade,
        systems=systems,
        values=values,
        uneven=uneven,
        conclusions=conclusions,
        candidates=candidates,
        depth=looked,
        judge=judge,
        notes=tuple(notes),
    )
    if rankings.unjudged_by_design:
        return result
    return result.model_copy(update={"findings": _findings(result, inputs)})


@holes.show
def _show(result: Holes) -> Iterator[Block | None]:
    notes = [
        "share of the first documents of each answer that nobody judged",
        f"half, all: queries of which half or all of the first {result.cutoff} are unjudged",
    ]
    if result.by_design:
        notes.append(
            f"only {result.nonrelevant:,} of {counted(result.judgments, 'judgment')} are "
            "nonrelevant: what is unjudged counts as nonrelevant by design, no cause for alarm"
        )
    yield system_table(
        result.systems,
        notes=notes,
        shares="first {}",
        half_unjudged="half",
        all_unjudged="all",
    )
    yield part_table(
        result.values,
        "What unjudged documents could make of each mean",
        notes=[
            "condensed: unjudged documents left out, the others moved up; it tends to be too high",
            f"lowest, highest: over all ways to judge them, nonrelevant or grade {result.grade:g}",
        ],
        names=2,
        measure="measure",
        system="system",
        value="as it is",
        condensed="condensed",
        lowest="lowest",
        highest="highest",
        relevant="all relevant",
    )
    yield part_table(
        result.conclusions,
        f"Could unjudged documents change who is better? ({result.judged_by})",
        notes=[
            "worst case: the difference if they are judged as badly for the better as can be",
            "certain: nothing can undo it; open: it is gone if about so many (needed) are relevant",
            "chance: of a reversal, if they are as often relevant as judged ones at such ranks",
        ],
        names=2,
        better="better",
        worse="worse",
        difference="difference",
        lowest="worst case",
        verdict="verdict",
        needed="needed",
        unjudged="unjudged",
        chance="chance",
        p_corrected="p",
    )
    shown = result.judge[:SHOWN]
    chosen = f"chosen from {counted(result.candidates, 'unjudged document')}"
    yield query_table(
        shown,
        {pair.query_id: pair.text for pair in shown if pair.text},
        "What to judge next",
        notes=[
            f"{len(shown)} of {len(result.judge)} pairs, {chosen} among the first {result.depth}",
            "change: if it is relevant; likely: how often it would be, at such ranks",
            "pairs come by the product of both; diagnose --pool FILE writes them all",
        ],
        document="document",
        places="ranks",
        moved="change",
        likely="likely",
    )
    yield Notes(result.notes) if result.notes else None


def _findings(result: Holes, inputs: Inputs) -> tuple[Finding, ...]:
    """Name systems with many unjudged documents, and comparisons that these could change."""
    alpha, k, focus = inputs.settings.alpha, result.cutoff, inputs.focus
    rows = {row.system: row for row in result.systems}
    values = {row.system: row for row in result.values if row.measure == result.measure}
    negative = " (negative grades count as unjudged)" if result.negative else ""
    settled = [{row.better, row.worse} for row in result.conclusions if row.verdict == "certain"]

    def doubt(row: SystemHoles) -> float:
        value = values[row.system]
        if value.value is None or value.condensed is None:
            return 0.0
        return abs(value.condensed - value.value)

    findings = [
        *found(
            MANY_UNJUDGED,
            [row for row in result.systems if row.share(k) >= MANY],
            lambda row: (
                f"{row.share(k):.0%} of the first {k} documents of {row.system} are unjudged, and "
                f"count as nonrelevant{negative}; without them its {result.measure} would move by "
                f"{doubt(row):.4f}"
            ),
            doubt,
            focus=focus,
        )
    ]
    findings += [
        UNEVEN_UNJUDGED.finding(
            f"{rows[row.more].share(k):.0%} of the first {k} documents of {row.more} are unjudged, "
            f"and {rows[row.less].share(k):.0%} of {row.less}'s: the comparison favours "
            f"{row.less}{negative}",
            count=rows[row.more].unjudged[k],
        )
        for row in result.uneven
        if row.p_corrected <= alpha
        and row.difference >= UNEVEN
        and {row.more, row.less} not in settled
    ]
    for row in result.conclusions:
        is_shown = row.p_corrected is not None and row.p_corrected <= alpha
        if is_shown and row.verdict == "open" and (row.chance or 0.0) >= DOUBTFUL:
            finding = OPEN_CONCLUSION.finding(
                f"{row.better} is better than {row.worse} by {row.difference:.4f} on "
                f"{result.judged_by}, but the difference would be gone if about {row.needed} of "
                f"{counted(row.unjudged, 'unjudged document')} were relevant (the chance of a "
                f"reversal is about {row.chance:.0%})",
                count=row.unjudged,
            )
            if focus in (row.better, row.worse) and result.judged_by == result.measure:
                finding = finding.model_copy(update={"gain": row.difference})
            findings.append(finding)
    return tuple(findings)


def _holes_by_query(ranking: Ranking, cutoff: int) -> tuple[IntArray, IntArray]:
    """By query: how many documents are shown down to the cutoff, and how many are unjudged."""
    shown = np.minimum(ranking.sizes, cutoff)
    holes = ranking.query[ranking.top(cutoff) & ~ranking.is_judged]
    return shown, np.bincount(holes, minlength=len(shown))


def _of_system(
    name: str, ranking: Ranking, cutoff: int, depth: int, counts: tuple[IntArray, IntArray]
) -> SystemHoles:
    """Count what is unjudged of one system."""
    shown, unjudged = counts
    depths = sorted({d for d in (*DEPTHS, cutoff) if d <= max(depth, cutoff)} | {depth})
    by_rank = np.bincount(
        np.minimum(ranking.rank[~ranking.is_judged], depths[-1] + 1), minlength=depths[-1] + 2
    ).cumsum()
    answered = shown > 0
    return SystemHoles(
        system=name,
        documents={limit: int(np.minimum(ranking.sizes, limit).sum()) for limit in depths},
        unjudged={limit: int(by_rank[limit]) for limit in depths},
        answered=int(answered.sum()),
        all_unjudged=int((answered & (unjudged == shown)).sum()),
        half_unjudged=int((answered & (2 * unjudged >= shown)).sum()),
    )


def _uneven(
    context: HoleContext, counts: dict[str, tuple[IntArray, IntArray]]
) -> tuple[Uneven, ...]:
    """Test of each pair whether one has more unjudged documents on top."""
    rows = []
    for base, other in context.pairs:
        (shown, unjudged), (other_shown, other_unjudged) = counts[base], counts[other]
        both = (shown > 0) & (other_shown > 0)
        if both.any():
            change = other_unjudged[both] / other_shown[both] - unjudged[both] / shown[both]
            rows.append((base, other, change))
    # of each pair the queries that both answer: rows may differ in length
    tests = [paired_tests(change[np.newaxis], test="t")[0].p for _, _, change in rows]
    return tuple(
        Uneven(
            more=other if change.mean() > 0 else base,
            less=base if change.mean() > 0 else other,
            difference=abs(float(change.mean())),
            p_corrected=p,
        )
        for (base, other, change), p in zip(rows, corrected(tests, "holm").tolist(), strict=True)
    )
