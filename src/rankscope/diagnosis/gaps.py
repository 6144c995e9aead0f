"""Ranking or retrieval? Splits what a system loses into order and coverage.

From the mean now to that with the retrieved documents in the best order is what a perfect reranker
would win; from there to everything found and in the best order is what perfect retrieval would add.
A part of which a fifth of the best possible mean is lost is a problem.

Queries that a run lacks are left out: `rankscope.diagnosis.failures` counts them. Queries that it
answers with nothing stay: nothing was retrieved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis, found
from rankscope.diagnosis.ranked_run import (
    RELEVANT,
    best_order,
    ideal_values,
    judged_as_scored,
    why_not_by_grade,
)
from rankscope.diagnosis.show import curves, system_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.measures.judged import JudgedRun
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.scoring.soundness import CUT

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray

CUTOFFS = (1, 3, 5, 10)
"""The ranks that Success is looked at, above the depth."""

SHORT = 2
"""Answers that are cut above this many times the measure's cutoff are too short to tell what is not
retrieved from what is ranked low."""

Problem = Literal[
    "none: perfect", "none: good ranking", "ranking", "retrieval", "both", "too short"
]
"""What a system loses most by. Too short: much is not retrieved, and its answers are cut right
below what the measure looks at."""

RANKING = declare(
    "RS651",
    "ranking-problem",
    "note",
    unit="system",
    advice="work on the order first: a reranker, better weights, another scoring function",
    meaning="""The right documents are retrieved, but too low: the best order of what is retrieved
    would gain at least a fifth of the best possible mean, unless set otherwise.""",
)
RETRIEVAL = declare(
    "RS652",
    "retrieval-problem",
    "note",
    unit="system",
    advice="work on what is retrieved first: indexing, the words of queries, a second retriever",
    meaning="""Relevant documents are not retrieved at all: at least a fifth of the best possible
    mean, unless set otherwise, is lost by that, and no reranker can mend it.""",
)
HIDDEN = declare(
    "RS653",
    "retrieval-hidden-by-depth",
    "note",
    unit="system",
    advice="fetch deeper runs, to tell what is ranked too low from what is not retrieved",
    meaning="""Much seems not to be retrieved, but answers are cut right below what the measure
    looks at: the missing documents may follow just below the cut.""",
)


class GapsConfig(Config):
    """From when on a gap is a problem."""

    depth: int = Field(default=1000, ge=1)
    """Documents below this rank count as not retrieved: what a reranker may look at."""
    problem: float = Field(default=0.2, gt=0, le=1)
    """A part is a problem from this share of the best possible mean on."""


class Gap(Row):
    """Where one system loses."""

    problem: Problem
    """What it loses most by."""
    now: float
    """The mean."""
    reranked: dict[int, float]
    """The mean with the first k documents in the best order, by k."""
    ideal: float
    """The mean with every judged document found and in the best order."""
    ranking: Estimate
    """What a perfect reranker would win."""
    retrieval: Estimate
    """What finding the rest would add to that."""
    success: dict[int, float]
    """The share of queries with a relevant document in the first k, by k."""
    rr: float
    """The mean reciprocal rank of the first relevant document."""
    relevant: int
    """How many relevant documents there are, of each query as many as could be retrieved."""
    missing: int
    """How many of these are not retrieved."""
    left_out: int
    """How many queries the run lacks; they are left out of all numbers here."""
    depth: int
    """The length of its longest answer; what is below is not known."""

    @property
    def enough(self) -> tuple[int, float]:
        """The smallest depth at which a reranker wins most of what one could, and the mean then."""
        return next(
            (k, mean)
            for k, mean in self.reranked.items()
            if mean - self.now >= 0.8 * self.ranking.value
        )

    @property
    def ranking_is_more(self) -> bool:
        """Whether more is lost by order than by retrieval."""
        return self.ranking.value > self.retrieval.value

    @property
    def favours(self) -> str:
        """What it favours: few documents that are right, or many of which some are; '': neither."""
        success = self.success.get(5, 0.0)
        if self.rr >= 0.6 and 0.6 <= success < 0.8:
            return "quality over quantity"
        return "quantity over quality" if success >= 0.8 and 0.4 <= self.rr < 0.6 else ""


class Gaps(Analysed):
    """Where systems lose: in what they retrieve, or in its order."""

    measure: str
    """The measure whose loss is split: the main one, or RR where that ignores the order."""
    queries: int
    """How many queries there are; means are over those of them that the run has."""
    without_relevant: int
    """How many of these have no relevant document: no system can win there."""
    level: float
    """The confidence of intervals."""
    systems: tuple[Gap, ...]
    """By system."""


@analysis(
    title="Ranking or retrieval",
    needs=("scores", "runs", "qrels"),
    written="gaps: {depth: 50, problem: 0.1}",
    place=11,
)
def gaps(config: GapsConfig, inputs: Inputs) -> Gaps:
    """Whether relevant documents are not retrieved or not on top, and what each fix would win."""
    inputs.require(inputs.qrels.gold is None, "gold is spans or texts, not documents")
    measure = _measure(inputs)
    level = _level(inputs.main)
    asked = {name: judged_as_scored(inputs, name, inputs.main)[0] for name in inputs.scores.runs}
    has_gold = any((run.graded(level) > 0).any() for run in asked.values())
    inputs.require(has_gold, f"no document has a grade of {level:g} or more")
    judged = {name: run.only(run.in_run) for name, run in asked.items() if run.in_run.any()}
    inputs.require(judged, "no run has a judged query")
    depth = min(config.depth, max(int(run.retrieved.max(initial=1)) for run in judged.values()))
    systems = [
        _gap(name, run, len(asked[name]) - len(run), measure, level, depth, config, inputs)
        for name, run in judged.items()
    ]
    return Gaps(
        measure=str(measure),
        queries=len(asked[inputs.focus]),
        without_relevant=int(np.count_nonzero(asked[inputs.focus].graded(level) == 0)),
        level=inputs.settings.level,
        systems=tuple(systems),
    )


@gaps.find
def _find(result: Gaps, inputs: Inputs) -> Iterator[Finding]:
    """Name what systems lose most by; queries that a run lacks gain nothing."""

    def of(*problems: Problem) -> list[Gap]:
        return [row for row in result.systems if row.problem in problems]

    yield from found(
        RANKING,
        of("ranking", "both"),
        lambda row: (
            f"{row.system} ranks right documents too low: its first {row.enough[0]:,} in perfect "
            f"order would score {row.enough[1]:.3f} {result.measure} instead of {row.now:.3f}"
        ),
        lambda row: (row.enough[1] - row.now) * (1 - row.left_out / result.queries),
        focus=inputs.focus,
    )
    yield from found(
        RETRIEVAL,
        of("retrieval", "both"),
        lambda row: (
            f"{row.system} does not retrieve {row.missing:,} of "
            f"{counted(row.relevant, 'relevant document')}: in perfect order it would stay "
            f"{row.retrieval.value:.3f} below the best possible {result.measure}"
        ),
        lambda row: row.retrieval.value * (1 - row.left_out / result.queries),
        focus=inputs.focus,
    )
    yield from found(
        HIDDEN,
        of("too short"),
        lambda row: (
            f"{row.system} holds only {counted(row.depth, 'document')} per query: what "
            f"it lacks ({row.retrieval.value:.3f} {result.measure}) may follow right below"
        ),
        focus=inputs.focus,
    )


@gaps.show
def _show(result: Gaps) -> Iterator[Block | None]:
    notes = (
        f"over {counted(result.queries - result.without_relevant, 'query')} with relevant "
        f"documents; in brackets {result.level:.0%} intervals by Student's t"
    )
    yield system_table(
        result.systems,
        notes=[notes],
        legend=("ranking", "retrieval"),
        columns=(
            f"problem | now: {result.measure} now | ranking: lost by order | "
            "retrieval: lost by retrieval | ideal: best possible"
        ),
    )
    yield system_table(
        result.systems,
        "Where the first relevant document is",
        legend=("relevant", "missing"),
        columns=(
            "success: Success@{} | rr: RR | relevant | missing: not retrieved | "
            "left_out: queries lacking | favours"
        ),
    )
    yield system_table(
        result.systems,
        f"{result.measure} with the first documents in perfect order",
        columns="now | reranked: first {} | ideal: everything",
    )
    yield curves(
        result.systems,
        "reranked",
        f"A perfect reranker: {result.measure} by how many documents it looks at",
        x="documents reranked",
        y=result.measure,
        best="now",
    )


def _measure(inputs: Inputs) -> Measure:
    """Return the measure whose loss is split: the main one if it is one of the order, or RR."""
    main, grades = inputs.main, inputs.qrels.judged_grade
    is_usable = main.definition.aggregate == "mean" and not why_not_by_grade(main, grades)
    if is_usable and _looks_at_order(main, float(grades.max(initial=1.0))):
        return main
    return Measure.of("RR", rel=_level(main))


def _looks_at_order(measure: Measure, grade: float) -> bool:
    """Tell whether the best document on top is better than in the second place."""
    query, nonrelevant = np.array([0, 0, 1, 1]), 0.0
    first, second = compute(
        measure,
        JudgedRun(
            query_ids=("first", "second"),
            retrieved=np.array([2, 2]),
            in_run=np.ones(2, np.bool_),
            hit_query=query,
            hit_rank=np.array([1, 2, 1, 2]),
            hit_grade=np.array([grade, nonrelevant, nonrelevant, grade]),
            judged_query=query,
            judged_grade=np.array([grade, nonrelevant, grade, nonrelevant]),
            max_grade=grade,
        ),
    )
    return measure.cutoff != 1 and bool(first > second)


def _level(measure: Measure) -> float:
    """Return the grade from which on a document is relevant: the main measure's, if it has one."""
    level = measure.options.get("rel")
    return level if isinstance(level, float) else RELEVANT


def _gap(  # noqa: PLR0917
    name: str,
    run: JudgedRun,
    left_out: int,
    measure: Measure,
    level: float,
    depth: int,
    config: GapsConfig,
    inputs: Inputs,
) -> Gap:
    """Split what one system loses."""
    longest = int(run.retrieved.max(initial=0))
    now, ideal = compute(measure, run), ideal_values(measure, run)
    values = {k: compute(measure, best_order(run, k)) for k in _depths(longest, depth)}
    best = values.get(min(depth, longest), now)  # a run may hold nothing
    ideal = np.maximum(ideal, best)  # where they differ by rounding only
    low, high = measure.definition.range

    def estimate(gains: FloatArray) -> Estimate:
        bounds = (0.0, high - low)
        return Estimate.of(np.maximum(gains, 0.0), inputs.settings.level, bounds)

    ranking, retrieval = estimate(best - now), estimate(ideal - best)
    answered = run.retrieved[run.retrieved > 0]
    is_cut = bool(np.count_nonzero(answered == longest) >= CUT * len(answered))
    had_more = inputs.depth is not None and longest < inputs.depth
    is_short = is_cut and not had_more and longest < SHORT * inputs.cutoff
    with_gold = run.only(run.graded(level) > 0)
    counts = np.minimum(with_gold.graded(level), depth)
    cutoffs = (*(cutoff for cutoff in CUTOFFS if cutoff < depth), depth)
    return Gap(
        system=name,
        problem=_problem(ranking, retrieval, float(ideal.mean()), config, is_short=is_short),
        now=aggregate(measure, now),
        reranked={k: aggregate(measure, row) for k, row in values.items()},
        ideal=aggregate(measure, ideal),
        ranking=ranking,
        retrieval=retrieval,
        success={k: _mean("Success", with_gold, k, level) for k in cutoffs},
        rr=_mean("RR", with_gold, depth, level),
        relevant=int(counts.sum()),
        missing=int((counts - with_gold.found(level, depth)).sum()),
        left_out=left_out,
        depth=longest,
    )


def _problem(
    ranking: Estimate, retrieval: Estimate, ideal: float, config: GapsConfig, *, is_short: bool
) -> Problem:
    """Name what a system loses most by."""
    least = config.problem * abs(ideal) * (1 - 1e-9)
    is_ranking, is_retrieval = ranking.value >= least > 0, retrieval.value >= least > 0
    if is_retrieval and is_short:
        return "ranking" if is_ranking and ranking.value > retrieval.value else "too short"
    if is_ranking or is_retrieval:
        return "both" if is_ranking and is_retrieval else "ranking" if is_ranking else "retrieval"
    return "none: good ranking" if ranking.value + retrieval.value > 1e-9 else "none: perfect"


def _mean(name: str, run: JudgedRun, cutoff: int, level: float) -> float:
    if not len(run):
        return 0.0
    measure = Measure.of(name, cutoff=cutoff, rel=level)
    return aggregate(measure, compute(measure, run))


def _depths(longest: int, depth: int) -> list[int]:
    """Return 10, 20, 50, 100, … up to the longest answer, which ends the list, and the depth."""
    steps, unit = {depth, longest}, 10
    while unit <= longest:
        steps |= {unit, 2 * unit, 5 * unit}
        unit *= 10
    return sorted(step for step in steps if 0 < step <= longest)
