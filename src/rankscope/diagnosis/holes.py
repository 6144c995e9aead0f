"""Unjudged documents: how many there are on top, and whether they could change a conclusion.

They count as nonrelevant, so a system that retrieves what no other did when the judgments were made
looks worse than it is. This analysis counts them, bounds what they could do to each mean and to
each comparison (`rankscope.diagnosis.hole_effects`), and names those that are worth judging first
(`rankscope.diagnosis.judge_next`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    DEFAULT_CUTOFF,
    Analysed,
    Config,
    Inputs,
    Row,
    analysis,
    found,
)
from rankscope.diagnosis.hole_effects import (
    Conclusion,
    Side,
    as_seen,
    changes_of_one,
    conclude,
)
from rankscope.diagnosis.judge_next import Candidates, ToJudge, first_to_judge
from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.diagnosis.show import part_table, query_table, system_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.bounds import World

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.scoring.rules import Profile

DEPTHS = (1, 5, 10)
"""Unjudged documents are counted in the first so many, beside k and the whole answer."""

SHOWN = 10
"""So many of the pairs to judge are shown; the JSON and the pool hold all."""

DOUBTFUL = 0.05
"""From this chance on that it is turned round, a conclusion is in doubt."""

MANY = 0.2
"""From this share of the first k documents on it is worth a finding."""

MOST_PAIRS = 10
"""No more systems are compared with the best, or the baseline."""

MOST_CANDIDATES = 400_000
"""No more documents on top of answers, of all systems together, are looked at for judging."""

MANY_UNJUDGED = declare(
    "RS675",
    "many-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes, or compare condensed-list values",
    meaning="""At least a fifth of the first k documents of a system are unjudged, though
    nonrelevant documents were judged: its values are too low by an unknown amount.""",
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


class HolesConfig(Config):
    """What unjudged documents could be, and how many are to be judged."""

    hole_grade: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The grade that an unjudged document would have if it were relevant; null: 1, or the lowest
    grade that the main measure takes for relevant if that is higher."""
    judge: int = Field(default=30, ge=0)
    """How many pairs of query and document to name for judging."""


class SystemHoles(Row):
    """What nobody judged of what one system retrieved."""

    documents: dict[int, int]
    """How many documents there are among the first k of all answers, by k."""
    unjudged: dict[int, int]
    """How many of these nobody judged, by k."""

    @property
    def shares(self) -> dict[int, str]:
        """Which share of the first k nobody judged, by k."""
        return {k: f"{self.share(k):.1%}" for k in self.documents}

    def share(self, depth: int) -> float:
        """Return which share of the first documents nobody judged; 0 if there are none."""
        return self.unjudged[depth] / self.documents[depth] if self.documents[depth] else 0.0


class HoleValue(Part):
    """What unjudged documents could make of a measure of one system."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    value: float | None = None
    """Its mean as it is: unjudged documents count as nonrelevant."""
    condensed: float | None = None
    """Its mean with unjudged documents left out of the ranking and the others moved up; null for
    measures that cannot be computed so. It tends to be too high."""
    relevant: float | None = None
    """Its mean if all that the measure looks at were relevant; null for measures by subtopic."""


class Holes(Analysed):
    """What nobody judged, and what it could change."""

    measure: str
    """The main measure."""
    judged_by: str | None = None
    """The measure by which conclusions are looked at and documents ordered: the main one, or the
    first for which judgments can be added; null: there is none."""
    cutoff: int
    """k: how many documents of an answer the main measure looks at."""
    judgments: int
    """Judgments, of all queries."""
    negative: int
    """Judgments with a negative grade: their documents were pooled and count as unjudged."""
    nonrelevant: int
    """Judgments that a document is nonrelevant, or that it was pooled and not judged."""
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
    conclusions: tuple[Conclusion, ...] = ()
    """By pair of systems that is compared: the baseline, or the best system, and each other."""
    candidates: int = 0
    """How many unjudged documents are among the first documents of any system."""
    depth: int
    """So many first documents of each answer were looked at for them."""
    judge: tuple[ToJudge, ...] = ()
    """What to judge next, first what could change most."""


@analysis(
    title="Unjudged documents",
    needs=("scores", "runs", "qrels"),
    written="holes: {judge: 200}",
    place=22,
)
def holes(config: HolesConfig, inputs: Inputs) -> Holes:
    """How much nobody judged, whether it could change a conclusion, and what to judge next."""
    rankings = inputs.rankings
    inputs.require(rankings.query_ids, "no query is judged")
    found_any = any(len(ranking.key) for ranking in rankings.systems.values())
    inputs.require(found_any, "no run has a document for a judged query")
    runs = _JudgedRuns(inputs, config.hole_grade)
    longest = max(int(ranking.sizes.max()) for ranking in rankings.systems.values())
    result = Holes(
        measure=str(inputs.main),
        cutoff=inputs.cutoff,
        judgments=len(rankings.judged_grade),
        negative=int((rankings.judged_grade < 0).sum()),
        nonrelevant=int(rankings.is_nonrelevant.sum()),
        by_design=rankings.unjudged_by_design,
        grade=runs.grade,
        systems=tuple(
            _of_system(name, ranking, inputs.cutoff, inputs.depth or longest)
            for name, ranking in rankings.systems.items()
        ),
        values=runs.values(),
        depth=inputs.cutoff,
    )
    measure = next((each for each in runs.measures if not each.needs), None)
    return result if measure is None else _with_conclusions(result, runs, measure, config.judge)


def _with_conclusions(result: Holes, runs: _JudgedRuns, measure: Measure, count: int) -> Holes:
    """Add which conclusions unjudged documents could undo, and which of these to judge first."""
    inputs, rankings, grade = runs.inputs, runs.inputs.rankings, result.grade
    wanted = measure.cutoff or DEFAULT_CUTOFF
    answers = len(rankings.query_ids) * len(rankings.systems)
    depth = max(min(wanted, MOST_CANDIDATES // answers), 1)
    candidates = Candidates.of(rankings, cutoff=measure.cutoff, depth=depth, level=grade)
    pairs = runs.pairs()
    names = dict.fromkeys(name for pair in pairs for name in pair) or {inputs.focus: None}
    sides = {name: runs.side(name, measure, candidates) for name in names}
    keep = np.logical_and.reduce([runs.world(name, measure).keep for name in sides])
    conclusions: tuple[Conclusion, ...] = ()
    if measure.definition.aggregate != "geometric" and keep.any():
        p_value = inputs.p_values(inputs.scores, measure)
        conclusions = tuple(
            conclude(measure, (sides[base], sides[other]), candidates, keep, grade).model_copy(
                update={"p_corrected": p_value(base, other)}
            )
            for base, other in pairs
        )
    # what a document would change in the differences that are open, or in one system's mean
    hold = [{row.better, row.worse} for row in conclusions if row.verdict == "holds"]
    open_pairs = [pair for pair in pairs if {*pair} not in hold] or pairs
    changes = [sides[other].change - sides[base].change for base, other in open_pairs]
    change = np.abs(changes or [sides[inputs.focus].change]).sum(axis=0)
    return result.model_copy(
        update={
            "judged_by": str(measure),
            "conclusions": conclusions,
            "candidates": len(candidates),
            "depth": depth,
            "judge": first_to_judge(
                candidates,
                np.where(keep[candidates.query], change, 0.0) / len(rankings.query_ids),
                count,
                query_ids=rankings.query_ids,
                texts=inputs.query_texts,
                title=inputs.texts.title,
            ),
        }
    )


@holes.show
def _show(result: Holes) -> Iterator[Block | None]:
    notes = ["share of the first documents of each answer that nobody judged"]
    if result.negative:
        notes.append(f"{counted(result.negative, 'negative grade')}: unjudged, too")
    if result.by_design:
        notes.append(
            f"only {result.nonrelevant:,} of {counted(result.judgments, 'judgment')} are "
            "nonrelevant: what is unjudged counts as nonrelevant by design, no cause for alarm"
        )
    yield system_table(result.systems, notes=notes, columns="shares: first {}")
    yield part_table(
        result.values,
        "What unjudged documents could make of each mean",
        notes=[
            "condensed: unjudged documents left out, the others moved up; it tends to be too high",
            f"all relevant: all that the measure looks at have grade {result.grade:g}",
        ],
        names=2,
        columns="measure | system | value: as it is | condensed | relevant: all relevant",
    )
    yield part_table(
        result.conclusions,
        f"Could unjudged documents change who is better? ({result.judged_by})",
        notes=[
            "worst case: the difference if all that help the worse are relevant; open: it is gone",
            "chance: of a reversal, if they are as often relevant as judged ones at such ranks",
        ],
        names=2,
        columns=(
            "better | worse | difference | lowest: worst case | verdict | unjudged | chance | "
            "p_corrected: p"
        ),
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
        columns="document | places: ranks | moved: change | likely",
    )


@holes.find
def _find(result: Holes, inputs: Inputs) -> Iterator[Finding]:
    """Name systems with many unjudged documents, and conclusions that these could undo."""
    if result.by_design:
        return
    k, focus = result.cutoff, inputs.focus
    negative = " (negative grades count as unjudged)" if result.negative else ""
    moves = {
        row.system: abs(row.condensed - row.value)
        for row in result.values
        if row.measure == result.measure and row.condensed is not None and row.value is not None
    }
    yield from found(
        MANY_UNJUDGED,
        [row for row in result.systems if row.share(k) >= MANY],
        lambda row: (
            f"{row.share(k):.0%} of the first {k} documents of {row.system} are unjudged, and "
            f"count as nonrelevant{negative}; without them its {result.measure} would move by "
            f"{moves.get(row.system, 0.0):.4f}"
        ),
        lambda row: moves.get(row.system, 0.0),
        focus=focus,
    )
    for row in result.conclusions:
        is_shown = row.p_corrected is not None and row.p_corrected <= inputs.settings.alpha
        if is_shown and row.verdict == "open" and (row.chance or 0.0) >= DOUBTFUL:
            is_main = focus in (row.better, row.worse) and result.judged_by == result.measure
            yield OPEN_CONCLUSION.finding(
                f"{row.better} is better than {row.worse} by {row.difference:.4f} on "
                f"{result.judged_by}, and {counted(row.unjudged, 'unjudged document')} could turn "
                f"that round (the chance is about {row.chance:.0%})",
                count=row.unjudged,
                gain=row.difference if is_main else None,
            )


def _of_system(name: str, ranking: Ranking, cutoff: int, depth: int) -> SystemHoles:
    """Count what is unjudged of one system."""
    depths = sorted({d for d in (*DEPTHS, cutoff) if d <= max(depth, cutoff)} | {depth})
    ranks = ranking.rank[~ranking.is_judged]
    return SystemHoles(
        system=name,
        documents={limit: int(np.minimum(ranking.sizes, limit).sum()) for limit in depths},
        unjudged={limit: int(np.count_nonzero(ranks <= limit)) for limit in depths},
    )


@dataclass(frozen=True, eq=False)
class _JudgedRuns:
    """The runs as they were scored, and as they would be with other judgments."""

    inputs: Inputs
    hole_grade: float | None

    @cached_property
    def measures(self) -> list[Measure]:
        """All measures, the main one first."""
        return [Measure.parse(name) for name in self.inputs.scores.measures]

    @cached_property
    def grade(self) -> float:
        """The grade that an unjudged document would have if it were relevant."""
        if self.hole_grade is not None:
            return self.hole_grade
        return max(RELEVANT, cast("float", self.inputs.main.options.get("rel", RELEVANT)))

    @cached_property
    def _world(self) -> Callable[[str, Profile], World]:
        inputs = self.inputs
        return cache(lambda system, rules: World(inputs.qrels, inputs.runs[system], rules))

    def world(self, system: str, measure: Measure) -> World:
        """Return a run aligned as it was scored."""
        return self._world(system, self.inputs.scores.profile.rules_for(measure))

    def values(self) -> tuple[HoleValue, ...]:
        """Measure each system as it is, condensed, and with all of them relevant."""
        rows = []
        for measure in self.measures:
            for name in self.inputs.rankings.systems:
                world = self.world(name, measure)
                means = {"value": self.inputs.scores.run(name).means[str(measure)]}
                if measure.needs in {"", "subtopics"}:
                    means["condensed"] = world.mean(measure, world.judged.condensed())
                if measure.needs not in ("subtopics", "terms"):
                    filled = world.filled(self.grade, measure.cutoff)
                    means["relevant"] = world.mean(measure, filled)
                finite = {key: mean for key, mean in means.items() if math.isfinite(mean)}
                rows.append(HoleValue(system=name, measure=str(measure), **finite))
        return tuple(rows)

    def pairs(self) -> list[tuple[str, str]]:
        """Return what is compared: the baseline, or the best, and the systems nearest to it."""
        base, means = self.inputs.baseline or self.inputs.focus, self.inputs.means
        others = [name for name in means if name != base]
        nearest = sorted(others, key=lambda name: abs(means[name] - means[base]))[:MOST_PAIRS]
        return [(base, name) for name in others if name in nearest]

    def side(self, name: str, measure: Measure, candidates: Candidates) -> Side:
        """Return a system that is compared, with what each candidate would do for it."""
        sign = 1 if measure.definition.higher_is_better else -1
        judged = align(self.inputs.qrels, self.inputs.runs[name], sound=False).judged
        ranks = candidates.ranks[name]
        change = changes_of_one(measure, judged, candidates.query, ranks, self.grade)
        values = sign * compute(measure, judged)
        return Side(name, as_seen(measure, judged), values, sign * change)
