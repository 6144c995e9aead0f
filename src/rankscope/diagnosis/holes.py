"""Holes: how much of what systems retrieve did nobody judge, and could it change a conclusion?

Unjudged documents count as nonrelevant, so a system that retrieves what no other did when the
judgments were made looks worse than it is. This analysis counts them, bounds what they could do to
each measure and to each comparison, and names those that are worth judging first
(`rankscope.diagnosis.judge_next`).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    DEFAULT_CUTOFF,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.hole_findings import (
    MANY_UNJUDGED,
    OPEN_CONCLUSION,
    UNEVEN_UNJUDGED,
    hole_advice,
    hole_findings,
)
from rankscope.diagnosis.hole_tables import holes_section
from rankscope.diagnosis.hole_values import HoleContext, HoleValue, hole_values
from rankscope.diagnosis.judge_next import ToJudge, Unjudged, first_to_judge
from rankscope.diagnosis.judging_ways import changes_of_one
from rankscope.diagnosis.reversals import Conclusion, Side, conclude
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.statistics.compared import MOST_TOGETHER, family_p
from rankscope.statistics.correction import corrected
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.document.blocks import Section
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

DEPTHS = (1, 5, 10)
"""Unjudged documents are counted in the first so many, beside k and the whole answer."""

MOST_FLIPPED = 1_000
"""With more queries than this Student's t tests differences: it says the same as sign flips."""

MOST_CANDIDATES = 400_000
"""No more documents on top of answers, of all systems together, are looked at for judging."""


class DepthShare(Part):
    """How much is unjudged down to one depth."""

    depth: int
    """How many documents of each answer are looked at."""
    documents: int
    """How many documents that is, over all queries."""
    unjudged: int
    """How many of them nobody judged."""

    @property
    def share(self) -> float | None:
        """Which share of them that is; None if there is no document."""
        return self.unjudged / self.documents if self.documents else None


class SystemHoles(Part):
    """What nobody judged of what one system retrieved."""

    system: str
    """The system."""
    shares: tuple[DepthShare, ...]
    """By depth, from the smallest to the whole answer."""
    answered: int
    """Queries for which it retrieved something."""
    all_unjudged: int
    """Of these, queries with nothing judged among the first k."""
    half_unjudged: int
    """Queries with at least half of the first k unjudged, these included."""


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


class HolesConfig(AnalysisConfig):
    """What unjudged documents could be, and how many are to be judged."""

    hole_grade: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The grade that an unjudged document would have if it were relevant; null: 1, or the lowest
    grade that the main measure takes for relevant if that is higher."""
    judge: int = Field(default=100, ge=0)
    """How many pairs of query and document to name for judging."""


def _look(config: HolesConfig, inputs: Inputs) -> Holes | NotApplicable:
    rankings = inputs.rankings
    if not rankings.query_ids:
        return HOLES.not_applicable("no query is judged")
    if not any(len(ranking.key) for ranking in rankings.systems.values()):
        return HOLES.not_applicable("no run has a document for a judged query")
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
        else _judging(context, context.measure, config.judge, notes)
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
    findings = [] if rankings.unjudged_by_design else hole_findings(result, inputs)
    advice = [] if rankings.unjudged_by_design else hole_advice(result, inputs, findings)
    return result.model_copy(update={"findings": tuple(findings), "advice": tuple(advice)})


def _holes_by_query(ranking: Ranking, cutoff: int) -> tuple[IntArray, IntArray]:
    """By query: how many documents are shown down to the cutoff, and how many are unjudged."""
    shown = np.minimum(ranking.sizes, cutoff)
    holes = ranking.query[ranking.top(cutoff) & ~ranking.is_judged]
    return shown, np.bincount(holes, minlength=len(shown))


def _of_system(
    name: str, ranking: Ranking, cutoff: int, depth: int, counts: tuple[IntArray, IntArray]
) -> SystemHoles:
    shown, unjudged = counts
    depths = sorted({d for d in (*DEPTHS, cutoff) if d <= max(depth, cutoff)} | {depth})
    by_rank = np.bincount(
        np.minimum(ranking.rank[~ranking.is_judged], depths[-1] + 1), minlength=depths[-1] + 2
    ).cumsum()
    answered = shown > 0
    return SystemHoles(
        system=name,
        shares=tuple(
            DepthShare(
                depth=limit,
                documents=int(np.minimum(ranking.sizes, limit).sum()),
                unjudged=int(by_rank[limit]),
            )
            for limit in depths
        ),
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


def _judging(
    context: HoleContext, measure: Measure, judge_count: int, notes: list[str]
) -> tuple[tuple[Conclusion, ...], tuple[ToJudge, ...], int, int]:
    """Return the conclusions, what to judge next, of how many, and how deep was looked."""
    rankings, inputs = context.rankings, context.inputs
    assert inputs.runs is not None
    wanted = measure.cutoff or DEFAULT_CUTOFF
    depth = max(
        min(wanted, MOST_CANDIDATES // (len(context.rankings.query_ids) * len(inputs.runs))), 1
    )
    if depth < wanted:
        notes.append(f"looked for documents to judge in the first {depth} only, not {wanted}")
    holes = Unjudged.of(
        rankings,
        cutoff=measure.cutoff,
        depth=depth,
        level=context.grade,
    )
    sign = 1 if measure.definition.higher_is_better else -1
    sides, keep = {}, np.ones(len(context.rankings.query_ids), np.bool_)
    for name in {system for pair in context.pairs for system in pair} or {inputs.focus}:
        judged = align(context.judgments, inputs.runs[name], sound=False).judged
        rank = holes.ranks[name]
        change = changes_of_one(measure, judged, holes.query, rank, context.grade)
        values = compute(measure, judged)
        sides[name] = Side(name, judged, sign * values, rank, sign * change)
        keep &= context.world(name, measure).keep
    conclusions: tuple[Conclusion, ...] = ()
    if measure.definition.aggregate == "geometric":
        notes.append(f"{measure} is no mean over queries: conclusions were not looked at")
    elif keep.any():
        conclusions = tuple(
            conclude(
                measure,
                (sides[base], sides[other]),
                holes,
                keep,
                context.grade,
            )
            for base, other in context.pairs
        )
        conclusions = _tested(context, measure, conclusions)
    change = _change(context, sides, conclusions, keep[holes.query])
    texts = {query_id: text for query_id, text, _ in inputs.queries or ()}
    judge = first_to_judge(
        holes, rankings, change, judge_count, texts=texts, title=inputs.texts.title
    )
    return conclusions, judge, len(holes), depth


def _tested(
    context: HoleContext, measure: Measure, conclusions: tuple[Conclusion, ...]
) -> tuple[Conclusion, ...]:
    """Add whether the differences are shown, as the systems are compared: in one family."""
    inputs = context.inputs
    scores, settings = inputs.scores, inputs.settings
    assert scores is not None
    common = set.intersection(*(set(scores.run(name).query_ids) for name in scores.runs))
    if measure.definition.aggregate != "mean" or not common or not conclusions:
        return conclusions
    matrix = Matrix.of_scores(scores.only([str(measure)]))
    place = {name: number for number, name in enumerate(matrix.systems)}
    if len(place) <= MOST_TOGETHER:
        family = list(combinations(place.values(), 2))
    else:
        family = [(place[base], place[other]) for base, other in context.pairs]
    if matrix.shape[2] > MOST_FLIPPED:
        settings = settings.model_copy(update={"test": "t"})
    tests = family_p(matrix, family, settings)[0].tolist()
    p_values = {frozenset(pair): p for pair, p in zip(family, tests, strict=True)}
    return tuple(
        row.model_copy(
            update={"p_corrected": p_values[frozenset((place[row.better], place[row.worse]))]}
        )
        for row in conclusions
    )


def _change(
    context: HoleContext,
    sides: dict[str, Side],
    conclusions: tuple[Conclusion, ...],
    counts: BoolArray,
) -> FloatArray:
    """By document: what it would change in the differences that are not certain yet, added up.

    Where all are certain all count; with one system, what it would change in its mean.
    """
    settled = {
        frozenset((row.better, row.worse)) for row in conclusions if row.verdict == "certain"
    }
    pairs = [pair for pair in context.pairs if frozenset(pair) not in settled] or context.pairs
    if pairs:
        total = sum(
            (np.abs(sides[other].change - sides[base].change) for base, other in pairs),
            start=np.zeros(len(counts)),
        )
    else:
        total = np.abs(sides[context.inputs.focus].change)
    return np.where(counts, total, 0.0) / max(len(context.rankings.query_ids), 1)


def _section(result: Holes) -> Section:
    return holes_section(result, HOLES.title)


HOLES = register(
    Analysis(
        name="holes",
        title="Unjudged documents",
        summary="How much nobody judged, whether it could change a conclusion, and what to judge "
        "next.",
        config=HolesConfig,
        written="holes: {judge: 200}",
        result=Holes,
        needs=("scores", "runs", "qrels"),
        uses=("queries", "corpus", "titles"),
        look=_look,
        section=_section,
        codes=(MANY_UNJUDGED, UNEVEN_UNJUDGED, OPEN_CONCLUSION),
        place=22,
    )
)
