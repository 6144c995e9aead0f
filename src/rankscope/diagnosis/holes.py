"""Holes: how much of what systems retrieve did nobody judge, and could it change a conclusion?

Unjudged documents count as nonrelevant, so a system that retrieves what no other did when the
judgments were made looks worse than it is. This analysis counts them, bounds what they could do to
each measure and to each comparison, and names those that are worth judging first
(`rankscope.diagnosis.judge_next`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from pydantic import Field

from rankscope.diagnosis.hole_findings import (
    MANY_UNJUDGED,
    OPEN_CONCLUSION,
    OTHER_BEST,
    UNEVEN_UNJUDGED,
    hole_advice,
    hole_findings,
)
from rankscope.diagnosis.hole_tables import holes_section
from rankscope.diagnosis.judge_next import LONGEST_TITLE, ToJudge, Unjudged, first_to_judge
from rankscope.diagnosis.registry import (
    DEFAULT_CUTOFF,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.reversals import Conclusion, Side, conclude
from rankscope.findings import NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.bounds import World, hole_bounds
from rankscope.scoring.difference_bounds import EXACT
from rankscope.scoring.judging_ways import (
    Range,
    changes_of_one,
    fillable,
    is_by_number,
    is_rising,
    value_range,
)
from rankscope.statistics.correction import corrected
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking, Rankings
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.scoring.judgments import Judgments

RELEVANT = 1.0
"""From this grade on a document is relevant, as for RR and R."""

DEPTHS = (1, 5, 10)
"""Unjudged documents are counted in the first so many, beside k and the whole answer."""

MOST_PAIRS = 10
"""No more systems are compared with the best, or the baseline."""

MOST_CANDIDATES = 400_000
"""No more documents on top of answers, of all systems together, are looked at for judging."""

MOST_FILLED = 1_500_000
"""No more unjudged documents of all systems together are filled in to bound a measure that is not
the main one."""

MOST_ENTRIES = 2_000_000
"""So many entries in all are made to find exact bounds."""


class DepthShare(Part):
    """How much is unjudged down to one depth."""

    depth: int
    """How many documents of each answer are looked at."""
    documents: int
    """How many documents that is, over all queries."""
    unjudged: int
    """How many of them nobody judged."""
    share: float | None
    """Which share of them that is; null if there is no document."""


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


class HoleValue(Part):
    """What unjudged documents could make of a measure of one system."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    value: float | None
    """Its mean as it is: unjudged documents count as nonrelevant."""
    condensed: float | None
    """Its mean with unjudged documents left out of the ranking and the others moved up; null for
    measures that cannot be computed so. It tends to be too high."""
    relevant: float | None
    """Its mean if all unjudged documents that the measure looks at were relevant; null where that
    was not tried."""
    nonrelevant: float | None
    """If all of them were judged nonrelevant; for most measures the value as it is."""
    lowest: float | None
    """The lowest mean that any way to judge them gives; null where it is not known."""
    highest: float | None
    """The highest."""
    place: int | None
    """The system's place by the value among all systems, from 1."""
    condensed_place: int | None
    """Its place by the condensed value."""


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
    pooled: int
    """Queries for which a nonrelevant document was judged, or pooled."""
    by_design: bool
    """Whether unjudged means nonrelevant by design: for less than half of the queries was anything
    judged but relevant documents. Then nothing is alarming about unjudged documents."""
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


@dataclass(frozen=True, eq=False)
class _Context:
    """What is looked at, and what follows from it."""

    inputs: Inputs
    config: HolesConfig

    @property
    def rankings(self) -> Rankings:
        return self.inputs.rankings

    @property
    def judgments(self) -> Judgments:
        assert self.inputs.qrels is not None
        return self.inputs.qrels

    @cached_property
    def measures(self) -> list[Measure]:
        assert self.inputs.scores is not None
        return [Measure.parse(name) for name in self.inputs.scores.measures]

    @cached_property
    def measure(self) -> Measure | None:
        """The measure by which is judged next."""
        return next((measure for measure in self.measures if fillable(measure)), None)

    @cached_property
    def grade(self) -> float:
        if self.config.hole_grade is not None:
            return self.config.hole_grade
        level = cast("float", self.measures[0].options.get("rel", RELEVANT))
        return max(RELEVANT, level)

    @cached_property
    def pooled(self) -> BoolArray:
        """By query: whether anything but relevant documents was judged, or pooled."""
        pooled = np.zeros(len(self.rankings.query_ids), np.bool_)
        pooled[self.rankings.judged_query[self.rankings.judged_grade < RELEVANT]] = True
        return pooled

    @property
    def by_design(self) -> bool:
        return 2 * int(self.pooled.sum()) < len(self.pooled)

    @cached_property
    def worlds(self) -> dict[tuple[str, object], World]:
        return {}

    def world(self, system: str, measure: Measure) -> World:
        """Return a run aligned as it was scored."""
        assert self.inputs.scores is not None
        assert self.inputs.runs is not None
        rules = self.inputs.scores.profile.rules_for(measure)
        key = system, rules
        if key not in self.worlds:
            self.worlds[key] = World(self.judgments, self.inputs.runs[system], rules)
        return self.worlds[key]

    @cached_property
    def _ranges(self) -> dict[tuple[str, Measure], Range | None]:
        return {}

    def range_of(self, system: str, measure: Measure) -> Range | None:
        """Return by query the lowest and highest value; None: not known, or too costly by now."""
        key = system, measure
        if key not in self._ranges:
            used = sum(known.rows for known in self._ranges.values() if known is not None)
            self._ranges[key] = value_range(
                measure,
                self.world(system, measure).judged,
                self.grade,
                most_rows=MOST_ENTRIES - used,
            )
        return self._ranges[key]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The systems that are compared: the baseline, or the best, and those nearest to it."""
        assert self.inputs.scores is not None
        base = self.inputs.baseline or self.inputs.focus
        first = self.inputs.scores.measures[0]
        means = {name: self.inputs.scores.run(name).means[first] for name in self.rankings.systems}
        others = [name for name in means if name != base]
        nearest = sorted(others, key=lambda name: abs(means[name] - means[base]))[:MOST_PAIRS]
        return [(base, name) for name in others if name in nearest]


def _look(config: HolesConfig, inputs: Inputs) -> Holes | NotApplicable:
    rankings = inputs.rankings
    if not rankings.query_ids:
        return HOLES.not_applicable("no query is judged")
    if not any(len(ranking.key) for ranking in rankings.systems.values()):
        return HOLES.not_applicable("no run has a document for a judged query")
    context = _Context(inputs, config)
    notes: list[str] = []
    cutoff = inputs.cutoff
    longest = max(int(ranking.sizes.max()) for ranking in rankings.systems.values())
    depth = inputs.depth or longest
    counts = {name: _holes_by_query(ranking, cutoff) for name, ranking in rankings.systems.items()}
    systems = tuple(
        _of_system(name, ranking, cutoff, depth, counts[name])
        for name, ranking in rankings.systems.items()
    )
    values = _values(context, notes)
    uneven = _uneven(context, counts)
    nothing: tuple[tuple[Conclusion, ...], tuple[ToJudge, ...], int, int] = (), (), 0, cutoff
    conclusions, judge, candidates, looked = (
        nothing if context.measure is None else _judging(context, context.measure, notes)
    )
    result = Holes(
        measure=inputs.scores.measures[0] if inputs.scores else "",
        judged_by=None if context.measure is None else str(context.measure),
        cutoff=cutoff,
        queries=len(rankings.query_ids),
        pooled=int(context.pooled.sum()),
        by_design=context.by_design,
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
    findings = [] if context.by_design else hole_findings(result, inputs)
    advice = [] if context.by_design else hole_advice(result, inputs, findings)
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
            _share(limit, int(np.minimum(ranking.sizes, limit).sum()), int(by_rank[limit]))
            for limit in depths
        ),
        answered=int(answered.sum()),
        all_unjudged=int((answered & (unjudged == shown)).sum()),
        half_unjudged=int((answered & (2 * unjudged >= shown)).sum()),
    )


def _share(depth: int, documents: int, unjudged: int) -> DepthShare:
    share = unjudged / documents if documents else None
    return DepthShare(depth=depth, documents=documents, unjudged=unjudged, share=share)


def _values(context: _Context, notes: list[str]) -> tuple[HoleValue, ...]:
    """Measure each system as it is, condensed, and with all that is unjudged judged."""
    rows: list[HoleValue] = []
    skipped: list[str] = []
    unknown: list[str] = []
    for measure in context.measures:
        worlds = {name: context.world(name, measure) for name in context.rankings.systems}
        filled = sum(int(w.judged.shown(measure.cutoff).sum()) for w in worlds.values())
        is_filled = fillable(measure) and (filled <= MOST_FILLED or measure == context.measure)
        if not is_filled:
            skipped.append(str(measure))
        of_measure = [
            _value(context, name, measure, world, is_filled) for name, world in worlds.items()
        ]
        if is_filled and any(row.lowest is None for row in of_measure):
            unknown.append(str(measure))
        rows += _placed(of_measure, measure)
    if skipped:
        notes.append(f"not tried with all unjudged documents relevant: {', '.join(skipped)}")
    if unknown:
        notes.append(
            f"lowest and highest value not known: {', '.join(unknown)} (too many unjudged "
            "documents, or a measure of which no ends are known)"
        )
    return tuple(rows)


def _value(
    context: _Context, name: str, measure: Measure, world: World, is_filled: bool
) -> HoleValue:
    assert context.inputs.scores is not None
    value = _finite(context.inputs.scores.run(name).means[str(measure)])
    nonrelevant = relevant = None
    if is_filled and is_by_number(measure):
        nonrelevant = value
        filled = world.filled(context.grade, measure.cutoff)
        relevant = _finite(world.mean(measure, filled))
    elif is_filled:
        judged = hole_bounds(measure, world, context.grade)
        nonrelevant, relevant = _finite(judged.nonrelevant), _finite(judged.relevant)
    lowest = highest = None
    if is_filled and is_rising(measure, world.judged, context.grade):
        lowest, highest = nonrelevant, relevant
    elif is_filled:
        ends = context.range_of(name, measure)
        if ends is not None:
            lowest = _finite(world.averaged(measure, ends.lowest))
            highest = _finite(world.averaged(measure, ends.highest))
    known = measure.definition.needs in {"", "subtopics"}
    return HoleValue(
        system=name,
        measure=str(measure),
        value=value,
        condensed=_finite(world.mean(measure, world.judged.condensed())) if known else None,
        relevant=relevant,
        nonrelevant=nonrelevant,
        lowest=lowest,
        highest=highest,
        place=None,
        condensed_place=None,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _placed(rows: Sequence[HoleValue], measure: Measure) -> list[HoleValue]:
    """Add each system's place; equal values share the first."""
    sign = 1 if measure.definition.higher_is_better else -1

    def places(values: list[float | None]) -> list[int | None]:
        known = [sign * value for value in values if value is not None]
        return [
            None if value is None else 1 + sum(other > sign * value for other in known)
            for value in values
        ]

    by_value = places([row.value for row in rows])
    by_condensed = places([row.condensed for row in rows])
    return [
        row.model_copy(update={"place": place, "condensed_place": condensed})
        for row, place, condensed in zip(rows, by_value, by_condensed, strict=True)
    ]


def _uneven(context: _Context, counts: dict[str, tuple[IntArray, IntArray]]) -> tuple[Uneven, ...]:
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
    context: _Context, measure: Measure, notes: list[str]
) -> tuple[tuple[Conclusion, ...], tuple[ToJudge, ...], int, int]:
    """Return the conclusions, what to judge next, of how many, and how deep was looked."""
    rankings, inputs = context.rankings, context.inputs
    assert inputs.runs is not None
    wanted = measure.cutoff or DEFAULT_CUTOFF
    depth = max(min(wanted, MOST_CANDIDATES // (len(context.pooled) * len(inputs.runs))), 1)
    if depth < wanted:
        notes.append(f"looked for documents to judge in the first {depth} only, not {wanted}")
    holes = Unjudged.of(
        rankings,
        cutoff=measure.cutoff,
        depth=depth,
        level=context.grade,
        pooled=not context.by_design,
    )
    sign = 1 if measure.definition.higher_is_better else -1
    sides, keep = {}, np.ones(len(context.pooled), np.bool_)
    for name in {system for pair in context.pairs for system in pair} or {inputs.focus}:
        judged = align(context.judgments, inputs.runs[name]).judged
        rank = holes.ranks[name]
        change = changes_of_one(measure, judged, holes.query, rank, context.grade)
        values = compute(measure, judged)
        ends = None if measure.name in EXACT else _turned(context.range_of(name, measure), sign)
        sides[name] = Side(name, judged, sign * values, rank, sign * change, ends)
        keep &= context.world(name, measure).keep
    conclusions: tuple[Conclusion, ...] = ()
    if measure.definition.aggregate == "geometric":
        notes.append(f"{measure} is no mean over queries: conclusions were not looked at")
    elif keep.any():
        conclusions = tuple(
            conclude(measure, (sides[base], sides[other]), holes, keep, context.grade)
            for base, other in context.pairs
        )
    change = _change(context, sides, conclusions, keep[holes.query])
    texts = {query_id: text for query_id, text, _ in inputs.queries or ()}
    judge = first_to_judge(
        holes, rankings, change, context.config.judge, texts=texts, title=_titles(inputs)
    )
    return conclusions, judge, len(holes), depth


def _turned(bounds: Range | None, sign: int) -> Range | None:
    if bounds is None or sign > 0:
        return bounds
    return Range(-bounds.highest, -bounds.lowest)


def _change(
    context: _Context,
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
    return np.where(counts, total, 0.0) / max(len(context.pooled), 1)


def _titles(inputs: Inputs) -> Callable[[str], str | None]:
    corpus, titles = inputs.corpus, inputs.titles

    def title(doc_id: str) -> str | None:
        text: str | None = None
        if corpus is not None and doc_id in corpus:
            text = corpus[doc_id].title or corpus[doc_id].text
        elif titles is not None:
            text = titles(doc_id)
        return text[:LONGEST_TITLE] if text else None

    return title


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
        section=lambda result: holes_section(result, HOLES.title),
        codes=(MANY_UNJUDGED, UNEVEN_UNJUDGED, OPEN_CONCLUSION, OTHER_BEST),
        place=22,
    )
)
