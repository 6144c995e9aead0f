"""Gap analysis: are relevant documents not retrieved, or retrieved and not on top?

The *parts* say how much of the main measure is lost where: its mean now, with the retrieved
documents in the best order, and with everything found and in the best order. The first step is what
a perfect reranker would win, the second what perfect retrieval would add to that. What a system's
*loss* is called, and what is advised, follows from these two parts. The *kind* of its problem by
shares of queries and of documents is a rule of thumb beside it, with thresholds that can be set.

Queries that a run lacks are left out: `rankscope.diagnosis.failures` counts them. Queries that it
has without a document stay: nothing was retrieved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.gap_findings import (
    HIDDEN_BY_DEPTH,
    RANKING_PROBLEM,
    RETRIEVAL_PROBLEM,
    gap_advice,
    gap_findings,
)
from rankscope.diagnosis.gap_kinds import (
    GapKind,
    GapLoss,
    GapsConfig,
    GapStyle,
    classify,
    loss_of,
    style_of,
)
from rankscope.diagnosis.gap_tables import gaps_section
from rankscope.diagnosis.ranked_run import (
    RELEVANT,
    best_order,
    ideal_values,
    judged_as_scored,
    why_not_by_grade,
)
from rankscope.diagnosis.registry import (
    Analysed,
    Analysis,
    Inputs,
    register,
)
from rankscope.findings import NotApplicable
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.remarks import CUT
from rankscope.statistics.arrays import SAME
from rankscope.statistics.intervals import Interval, mean_intervals

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray, JudgedRun

CUTOFFS = (1, 3, 5, 10)
"""The ranks that Success and R are looked at, above the depth."""

MOST_DEPTH = 1000
"""Unless a depth is set, documents below this rank do not count as retrieved."""

SHORT = 2
"""Answers that are cut above this many times the measure's cutoff are too short to tell what is not
retrieved from what is ranked low."""

STYLE_CUTOFF = 5
"""Where Success is looked at to tell what a system favours."""


class Reranked(Part):
    """What the best order of the first documents would give."""

    depth: int
    """How many documents a reranker would look at."""
    value: float
    """The mean with these in the best order, what is below as it is."""
    gain: float
    """How much more that is than now."""


class GapPart(Part):
    """A part of what is lost."""

    gain: float
    """How much the mean would gain without it."""
    interval: Interval
    """Of the gain, by Student's t over the queries."""
    share: float | None
    """Of all that is lost; null where nothing is."""


class SystemGaps(Part):
    """Where one system loses."""

    system: str
    """The system."""
    loss: GapLoss
    """By what most of the measure is lost: from the two parts, ``worth`` and ``mostly``."""
    kind: GapKind
    """What the problem is by the shares ``not_first`` and ``not_retrieved``: a rule of thumb."""
    left_out: int
    """How many queries the run lacks; they are left out of all numbers here."""
    style: GapStyle | None
    """What it favours: precision if RR is high and Success@5 moderate, recall the other way round;
    null: neither."""
    run_depth: int
    """The length of its longest answer; what is below is not known."""
    is_cut: bool
    """Whether its answers are cut there: a quarter of them or more are as long, and no more were
    asked for, as far as that is known."""
    is_short: bool
    """Whether they are cut above twice the measure's cutoff: too early to tell what is not
    retrieved from what is ranked low."""
    success: tuple[float, ...]
    """The share of queries with a relevant document down to each of the ``cutoffs``."""
    recall: tuple[float, ...]
    """The mean share of the relevant documents down to each of the ``cutoffs``."""
    success_5: float
    """Success@5."""
    rr: float
    """The mean reciprocal rank of the first relevant document, down to ``depth``."""
    not_first: float
    """The share of queries of which a relevant document is retrieved, and none is the first."""
    not_retrieved: float
    """Of the relevant documents that fit above the measure's cutoff, the mean share that is not
    retrieved; with one relevant document a query, the share of queries of which it is not."""
    relevant: int
    """How many relevant documents there are, over all queries, of each up to ``depth``."""
    missing: int
    """How many of these are not retrieved down to ``depth``."""
    now: float
    """The mean of the measure."""
    reranked: tuple[Reranked, ...]
    """With the first documents in the best order, by how many."""
    ideal: float
    """The mean with every judged document found and in the best order."""
    ranking: GapPart
    """From now to the best order of the first ``depth``: what a perfect reranker would win."""
    retrieval: GapPart
    """From there to the ideal: what finding the rest would add."""


class Gaps(Analysed):
    """Where systems lose: in what they retrieve, or in its order."""

    measure: str
    """The measure whose loss is split."""
    instead_of: str | None
    """The main measure, where that one cannot be split; null where it is the measure."""
    reason: str
    """Why it cannot; '' where it can."""
    queries: int
    """How many queries there are; means are over those of them that the run has."""
    without_relevant: int
    """How many of these have no relevant document: no system can win there, and the shares leave
    them out."""
    single: bool
    """Whether each of the others has one relevant document, so that Success is R."""
    depth: int
    """A document counts as retrieved if it is among the first so many."""
    cutoff: int
    """How many documents the measure looks at: relevant ones beyond so many cannot be missed."""
    cutoffs: tuple[int, ...]
    """The ranks that ``success`` and ``recall`` are at; the last is ``depth``."""
    thresholds: GapsConfig
    """From when on a gap is a problem."""
    systems: tuple[SystemGaps, ...]
    """By system."""


# --- from runs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """What all systems are asked."""

    config: GapsConfig
    measure: Measure
    level: float
    """From this grade on a document is relevant."""
    depth: int
    cutoff: int
    cutoffs: tuple[int, ...]
    asked: int | None
    """How many documents the runs were asked for; None if nobody knows."""
    confidence: float


def _look(config: GapsConfig, inputs: Inputs) -> Gaps | NotApplicable:
    assert inputs.scores is not None
    assert inputs.qrels is not None
    if inputs.qrels.gold is not None:
        return GAPS.not_applicable("gold is spans or texts, not documents")
    runs = {name: judged_as_scored(inputs, name, inputs.main) for name in inputs.scores.runs}
    asked = {name: run for name, (run, _) in runs.items()}
    level = _level(inputs.main)
    if not any((run.graded(level) > 0).any() for run in asked.values()):
        return GAPS.not_applicable(f"no document has a grade of {level:g} or more")
    judged = {name: run.only(run.in_run) for name, run in asked.items() if run.in_run.any()}
    if not judged:
        return GAPS.not_applicable("no run has a judged query")
    measure, reason = _measure(inputs, runs)
    ideal = {run.query_ids: ideal_values(measure, run) for run in _one_of_each(judged)}
    longest = max(int(run.retrieved.max(initial=1)) for run in judged.values())
    depth = min(config.depth or MOST_DEPTH, longest)
    question = _Question(
        config=config,
        measure=measure,
        level=level,
        depth=depth,
        cutoff=inputs.cutoff,
        cutoffs=(*(cutoff for cutoff in CUTOFFS if cutoff < depth), depth),
        asked=inputs.depth,
        confidence=inputs.settings.level,
    )
    systems = tuple(
        _of_system(name, run, ideal[run.query_ids], question, len(asked[name]) - len(run))
        for name, run in judged.items()
    )
    focus = asked[inputs.focus]
    counts = focus.graded(level)
    result = Gaps(
        measure=str(measure),
        instead_of=str(inputs.main) if reason else None,
        reason=reason,
        queries=len(focus),
        without_relevant=int(np.count_nonzero(counts == 0)),
        single=bool((counts <= 1).all()),
        depth=depth,
        cutoff=inputs.cutoff,
        cutoffs=question.cutoffs,
        thresholds=config,
        systems=systems,
    )
    return result.model_copy(
        update={
            "findings": tuple(gap_findings(result)),
            "advice": tuple(
                sentence
                for system in systems
                if system.system == inputs.focus
                for sentence in gap_advice(result, system)
            ),
        }
    )


def _level(measure: Measure) -> float:
    """Return the grade from which on a document is relevant: the main measure's, if it has one."""
    rel = measure.options.get("rel", RELEVANT)
    return rel if isinstance(rel, float) else RELEVANT


def _measure(inputs: Inputs, runs: dict[str, tuple[JudgedRun, FloatArray]]) -> tuple[Measure, str]:
    """Return the measure whose loss is split, and why it is not the main one."""
    main = inputs.main
    assert inputs.qrels is not None
    definition = main.definition
    reason = why_not_by_grade(main, inputs.qrels.judged_grade)
    if definition.aggregate != "mean":
        reason = "it is no mean over queries"
    elif definition.family == "sets":
        reason = "it does not look at the order"
    if not reason:
        for run, values in runs.values():
            best = compute(main, best_order(run, int(run.retrieved.max(initial=0))))
            if (values > best + SAME * np.abs(best)).any():  # a measure of somebody else's
                reason = "the order by grade is not the best for it"
    return (Measure.of("nDCG", cutoff=inputs.cutoff) if reason else main), reason


def _one_of_each(runs: dict[str, JudgedRun]) -> list[JudgedRun]:
    """Return a run for each set of queries that runs are averaged over."""
    return list({run.query_ids: run for run in runs.values()}.values())


def _of_system(
    name: str, judged: JudgedRun, ideal: FloatArray, question: _Question, left_out: int
) -> SystemGaps:
    config, measure = question.config, question.measure
    answerable: BoolArray = judged.graded(question.level) > 0
    with_gold = judged.only(answerable)
    success = _means("Success", with_gold, question.cutoffs, question.level)
    recall = _means("R", with_gold, question.cutoffs, question.level)
    [success_5] = _means("Success", with_gold, (STYLE_CUTOFF,), question.level)
    [rr] = _means("RR", with_gold, (question.depth,), question.level)
    counts, found_counts = (
        with_gold.graded(question.level),
        with_gold.found(question.level, question.depth),
    )
    counts = np.minimum(counts, question.depth)
    fitting = np.minimum(counts, question.cutoff)
    lacking = 1 - np.minimum(found_counts, fitting) / np.maximum(fitting, 1)
    not_retrieved = float(lacking.mean()) if len(lacking) else 0.0
    longest = int(judged.retrieved.max(initial=0))
    answered = judged.retrieved[judged.retrieved > 0]
    is_cut = bool(np.count_nonzero(answered == longest) >= CUT * len(answered))
    if question.asked is not None:
        is_cut = is_cut and longest >= question.asked
    is_short = is_cut and longest < SHORT * question.cutoff
    now = compute(measure, judged)
    values = {
        depth: compute(measure, best_order(judged, depth))
        for depth in _depths(longest, question.depth)
    }
    best = values.get(min(longest, question.depth), now)  # a run may hold nothing
    ideal = np.maximum(ideal, best)  # where they differ by rounding only
    means = [aggregate(measure, row) for row in (now, best, ideal)]
    ranking, retrieval = _parts(question, np.stack([now, best, ideal]), means)
    return SystemGaps(
        system=name,
        loss=loss_of(
            ranking.gain,
            retrieval.gain,
            means[2],
            config,
            is_short=is_short,
        ),
        kind=classify(success[0], success[-1], config, not_retrieved=not_retrieved),
        left_out=left_out,
        style=style_of(success_5, rr, config),
        run_depth=longest,
        is_cut=is_cut,
        is_short=is_short,
        success=success,
        recall=recall,
        success_5=success_5,
        rr=rr,
        not_first=success[-1] - success[0],
        not_retrieved=not_retrieved,
        relevant=int(counts.sum()),
        missing=int((counts - found_counts).sum()),
        now=means[0],
        reranked=tuple(
            Reranked(depth=depth, value=mean, gain=mean - means[0])
            for depth, row in values.items()
            for mean in [aggregate(measure, row)]
        ),
        ideal=means[2],
        ranking=ranking,
        retrieval=retrieval,
    )


def _means(name: str, judged: JudgedRun, cutoffs: Sequence[int], level: float) -> tuple[float, ...]:
    """Return the means of a measure at some cutoffs; 0 where no query is left."""
    if not len(judged):
        return (0.0,) * len(cutoffs)
    measures = [Measure.of(name, cutoff=cutoff, rel=level) for cutoff in cutoffs]
    return tuple(aggregate(measure, compute(measure, judged)) for measure in measures)


def _depths(longest: int, depth: int) -> list[int]:
    """Return 10, 20, 50, 100, … up to the longest answer, which ends the list, and the depth."""
    steps = {depth, longest}
    unit = 10
    while unit <= longest:
        steps |= {unit, 2 * unit, 5 * unit}
        unit *= 10
    return sorted(step for step in steps if 0 < step <= longest)


def _parts(question: _Question, values: FloatArray, means: list[float]) -> tuple[GapPart, GapPart]:
    """Split what is lost: ``values[3, n]`` are now, in the best order, and ideal."""
    low, high = question.measure.definition.range
    gains = np.maximum(np.diff(values, axis=0), 0.0)
    intervals = mean_intervals(
        gains, method="t", level=question.confidence, bounds=(0.0, high - low)
    )
    lost = means[2] - means[0]
    ranking, retrieval = (
        GapPart(
            gain=gain,
            interval=interval,
            share=gain / lost if lost > SAME * abs(means[2]) else None,
        )
        for gain, interval in zip(np.diff(means).tolist(), intervals, strict=True)
    )
    return ranking, retrieval


GAPS = register(
    Analysis(
        name="gaps",
        title="Ranking or retrieval",
        summary="Whether relevant documents are not retrieved or not on top, and what a perfect "
        "reranker or perfect retrieval would win.",
        config=GapsConfig,
        written="gaps: {depth: 50, not_first: 0.2}",
        result=Gaps,
        needs=("scores", "runs", "qrels"),
        look=_look,
        section=gaps_section,
        codes=(RANKING_PROBLEM, RETRIEVAL_PROBLEM, HIDDEN_BY_DEPTH),
        place=11,
    )
)
