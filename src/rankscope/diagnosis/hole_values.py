"""What unjudged documents could make of each measure of each system.

As it is (unjudged is nonrelevant), on condensed lists, with all of them relevant, and the lowest
and highest value over all ways to judge them; which conclusions that could undo, and what to judge
first. `HoleContext` is what the whole analysis (`rankscope.diagnosis.holes`) looks at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, cast

import numpy as np

from rankscope.diagnosis.analysis import DEFAULT_CUTOFF
from rankscope.diagnosis.judge_next import ToJudge, Unjudged, first_to_judge
from rankscope.diagnosis.judging_ways import (
    changes_of_one,
    fillable,
    is_by_number,
    is_rising,
    value_range,
)
from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.diagnosis.reversals import Conclusion, Side, conclude
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.bounds import World, hole_bounds
from rankscope.statistics.comparison import MOST_TOGETHER, family_tests
from rankscope.statistics.matrix import Matrix

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.diagnosis.judging_ways import Range
    from rankscope.diagnosis.rankings import Rankings
    from rankscope.measures.judged import BoolArray, FloatArray
    from rankscope.scoring.judgments import Judgments

MOST_PAIRS = 10
"""No more systems are compared with the best, or the baseline."""

MOST_FILLED = 1_500_000
"""No more unjudged documents of all systems together are filled in to bound a measure that is not
the main one."""

MOST_ENTRIES = 2_000_000
"""So many entries in all are made to find exact bounds."""

MOST_FLIPPED = 1_000
"""With more queries than this Student's t tests differences: it says the same as sign flips."""

MOST_CANDIDATES = 400_000
"""No more documents on top of answers, of all systems together, are looked at for judging."""


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


@dataclass(frozen=True, eq=False)
class HoleContext:
    """What is looked at, and what follows from it."""

    inputs: Inputs
    hole_grade: float | None
    """The grade of a relevant document that nobody judged; None: as the measure has it."""

    @property
    def rankings(self) -> Rankings:
        """What every system put where."""
        return self.inputs.rankings

    @property
    def judgments(self) -> Judgments:
        """The judgments."""
        assert self.inputs.qrels is not None
        return self.inputs.qrels

    @cached_property
    def measures(self) -> list[Measure]:
        """All measures, the main one first."""
        assert self.inputs.scores is not None
        return [Measure.parse(name) for name in self.inputs.scores.measures]

    @cached_property
    def measure(self) -> Measure | None:
        """The measure by which is judged next."""
        return next((measure for measure in self.measures if fillable(measure)), None)

    @cached_property
    def grade(self) -> float:
        """The grade that an unjudged document would have if it were relevant."""
        if self.hole_grade is not None:
            return self.hole_grade
        level = cast("float", self.measures[0].options.get("rel", RELEVANT))
        return max(RELEVANT, level)

    @cached_property
    def _worlds(self) -> dict[tuple[str, object], World]:
        return {}

    def world(self, system: str, measure: Measure) -> World:
        """Return a run aligned as it was scored."""
        assert self.inputs.scores is not None
        assert self.inputs.runs is not None
        rules = self.inputs.scores.profile.rules_for(measure)
        key = system, rules
        if key not in self._worlds:
            self._worlds[key] = World(self.judgments, self.inputs.runs[system], rules)
        return self._worlds[key]

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


def hole_values(context: HoleContext, notes: list[str]) -> tuple[HoleValue, ...]:
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
        rows += of_measure
    if skipped:
        notes.append(f"not tried with all unjudged documents relevant: {', '.join(skipped)}")
    if unknown:
        notes.append(
            f"lowest and highest value not known: {', '.join(unknown)} (too many unjudged "
            "documents, or a measure of which no ends are known)"
        )
    return tuple(rows)


def _value(
    context: HoleContext, name: str, measure: Measure, world: World, is_filled: bool
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
    known = measure.needs in {"", "subtopics"}
    return HoleValue(
        system=name,
        measure=str(measure),
        value=value,
        condensed=_finite(world.mean(measure, world.judged.condensed())) if known else None,
        relevant=relevant,
        nonrelevant=nonrelevant,
        lowest=lowest,
        highest=highest,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# --- conclusions, and what to judge next ---------------------------------------------------------


def conclude_and_choose(
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
    tests = family_tests(matrix, family, settings).corrected.tolist()
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
