"""No answer: does a system return nothing where there is nothing to find?

An analysis of the questions that the golden set marks as having no answer. They are in no mean of
a ranking measure. A retriever that always returns something needs a threshold on its scores; how
well scores tell both kinds of questions apart decides whether there can be one.

For the summary, what refusing could gain is the share of wrongly answered questions among all, with
and without an answer: each is an answer that somebody sees and that should not be there, as bad as
one that scores 0 instead of 1. What a threshold costs the other questions is said beside it.
"""

from __future__ import annotations

import math
from statistics import NormalDist
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
from rankscope.diagnosis.figures import percent, percent_cell, share_text
from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Curve,
    Notes,
    Plot,
    Section,
    Table,
    ends,
)
from rankscope.errors import InputError, counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.statistics.proportions import Proportion, proportion
from rankscope.statistics.separation import Separation, Thresholds, held_out_accuracy, separation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rankscope.measures.judged import BoolArray, FloatArray
    from rankscope.runs.table import Run

SHOWN_POINTS = 7
"""So many points of a curve are in the table of a section."""

MANY = 0.05
"""A system that surely leaves more than this share of answerable questions without any document
is worth a finding."""

CANNOT_REFUSE = declare(
    "RS696",
    "cannot-refuse",
    "warning",
    unit="system",
    advice="add something that tells when there is no answer, such as a reranker or a classifier: "
    "no threshold on these scores can",
    meaning="""A system returns documents for every question that has no answer, and its scores do
    not tell these questions from others: the interval of the AUC includes 0.5, or is below it.""",
)
THRESHOLD_HELPS = declare(
    "RS697",
    "threshold-would-refuse",
    "warning",
    unit="system",
    advice="refuse below a threshold that is chosen on other questions",
    meaning="""A system returns documents for at least half of the questions that have no answer,
    though its scores tell them from others better than chance. A note where it is not shown that a
    threshold chosen on some questions also works on others (held out, corrected over systems).""",
)
WRONGLY_NOTHING = declare(
    "RS698",
    "answerable-refused",
    "warning",
    unit="query",
    advice="check filters and thresholds: these questions have an answer and get no document",
    meaning="""A system returns nothing for surely more than one in twenty of the questions that
    have an answer.""",
)
NEVER_ASKED = declare(
    "RS699",
    "unanswerable-not-in-run",
    "note",
    unit="query",
    advice="make sure that these questions were asked; a run file cannot hold an empty answer",
    meaning="""None of the questions without an answer is in the run. They count as refused, which
    is wrong if they were never asked.""",
)


class RefusalPoint(Part):
    """What refusing below one threshold does."""

    threshold: float
    """Answers whose best score is below it are refused."""
    rightly: float
    """The share of questions without an answer that gets nothing."""
    wrongly: float
    """The share of questions with an answer that gets nothing."""
    value: float | None
    """The main measure over the questions with an answer, those refused counting as empty answers;
    null where it cannot be measured so."""


class Refusals(Part):
    """What thresholds on the best score of an answer do."""

    separation: Separation
    """How well the best score tells both kinds apart; an empty answer scores lowest."""
    curve: tuple[RefusalPoint, ...]
    """From the threshold that refuses nothing to the one that refuses everything."""
    best: RefusalPoint
    """The threshold with the best balanced accuracy. It was chosen by these very questions."""
    balanced_accuracy: float
    """Of that threshold: the mean of the shares of both kinds that are treated rightly. It is
    too good, as it was chosen by the same questions."""
    held_out: float | None
    """The same measured fairly: chosen on one half of the questions, measured on the other; null
    with too few questions."""


class SystemRefusals(Part):
    """What one system does with both kinds of questions."""

    system: str
    """The system."""
    rightly_nothing: Proportion
    """Questions without an answer for which it returns nothing."""
    wrongly_something: Proportion
    """Questions without an answer for which it returns documents."""
    missing: int
    """Questions without an answer that are not in the run at all: they count as refused."""
    wrongly_nothing: Proportion
    """Questions with an answer for which it returns nothing."""
    refusals: Refusals | None
    """What thresholds would do; null where they cannot."""
    reason: str | None
    """Why they cannot; null if they can."""


class NoAnswer(Analysed):
    """How systems treat questions that have no answer."""

    measure: str
    """The main measure."""
    unanswerable: int
    """Questions that are marked as having no answer."""
    answerable: int
    """All others that are judged."""
    systems: tuple[SystemRefusals, ...]
    """By system."""


class NoAnswerConfig(AnalysisConfig):
    """How thresholds are looked at."""

    points: int = Field(default=50, ge=2, le=10_000)
    """So many points of a curve are kept at most."""
    splits: int = Field(default=20, ge=1, le=1000)
    """How often the questions are halved to measure a threshold fairly."""


def _look(config: NoAnswerConfig, inputs: Inputs) -> NoAnswer | NotApplicable:
    assert inputs.qrels is not None
    assert inputs.runs is not None
    assert inputs.scores is not None
    unanswerable, answerable = inputs.qrels.no_answer, inputs.qrels.query_ids
    if not unanswerable:
        return NO_ANSWER.not_applicable(
            "no question is marked as having no answer (the column no_answer, or --no-answer empty)"
        )
    if not answerable:
        return NO_ANSWER.not_applicable("every question is marked as having no answer")
    systems = tuple(_of_system(name, run, config, inputs) for name, run in inputs.runs.items())
    helped = {
        system.system
        for system in systems
        if _holds(system, len(answerable), inputs.settings.alpha / len(systems))
    }
    return NoAnswer(
        measure=inputs.scores.measures[0],
        unanswerable=len(unanswerable),
        answerable=len(answerable),
        systems=systems,
        findings=tuple(_findings(systems, helped)),
        advice=tuple(
            _refusal_advice(system, len(answerable))
            for system in systems
            if system.system == inputs.focus and system.system in helped
        ),
    )


def _holds(system: SystemRefusals, answerable: int, alpha: float) -> bool:
    """Tell whether a threshold surely helps a system that answers too much, on others, too.

    The held-out balanced accuracy is the mean of two shares; its standard error is at most
    √(0.25/m + 0.25/n)/2, for m questions without an answer and n with one.
    """
    refusals = system.refusals
    if refusals is None or refusals.held_out is None or not _answers_half(system):
        return False
    if refusals.separation.interval.low <= 0.5:
        return False
    error = math.sqrt(0.25 / system.wrongly_something.total + 0.25 / answerable) / 2
    return refusals.held_out - NormalDist().inv_cdf(1 - alpha / 2) * error > 0.5


def _answers_half(system: SystemRefusals) -> bool:
    """Tell whether at least half of the questions without an answer get documents."""
    something = system.wrongly_something
    return 2 * something.count >= something.total


def _refusal_advice(system: SystemRefusals, answerable: int) -> Advice:
    assert system.refusals is not None
    something, best = system.wrongly_something, system.refusals.best
    have = "has" if something.total == 1 else "have"
    return Advice(
        text=f"Refusal: {system.system} answers {something.count:,} of "
        f"{counted(something.total, 'question')} that {have} no answer; refusing below a score of "
        f"{best.threshold:.4g} would leave out {percent(best.rightly)} of them and "
        f"{percent(best.wrongly)} of the others",
        gain=something.count / (something.total + answerable),
    )


def _best_scores(run: Run, query_ids: Sequence[str]) -> tuple[FloatArray, BoolArray]:
    """Return by query the highest score, −∞ for an empty answer, and whether the run has it."""
    place = {query_id: at for at, query_id in enumerate(run.query_ids)}
    at = np.array([place.get(query_id, len(place)) for query_id in query_ids], np.int64)
    best = np.full(len(place) + 1, -math.inf)  # the last is for a query that is missing
    filled = np.flatnonzero(run.sizes > 0)
    if len(filled):  # empty groups between them begin where the next one does
        best[filled] = np.maximum.reduceat(run.scores.to_numpy(), run.offsets[:-1][filled])
    return best[at], at < len(place)


def _of_system(name: str, run: Run, config: NoAnswerConfig, inputs: Inputs) -> SystemRefusals:
    assert inputs.qrels is not None
    level = inputs.settings.level
    low, is_there = _best_scores(run, inputs.qrels.no_answer)
    high, _ = _best_scores(run, inputs.qrels.query_ids)
    refused, lost = (int(np.count_nonzero(np.isneginf(scores))) for scores in (low, high))
    scores = np.concatenate([low, high])
    scores = scores[np.isfinite(scores)]
    reason = None
    if not len(scores):
        reason = "it returns nothing at all"
    elif np.ptp(scores) == 0:
        reason = "all answers have the same best score, as lists without scores do"
    return SystemRefusals(
        system=name,
        rightly_nothing=proportion(refused, len(low), level=level),
        wrongly_something=proportion(len(low) - refused, len(low), level=level),
        missing=int(np.count_nonzero(~is_there)),
        wrongly_nothing=proportion(lost, len(high), level=level),
        refusals=None if reason else _refusals(name, high, low, config, inputs),
        reason=reason,
    )


def _refusals(
    name: str, high: FloatArray, low: FloatArray, config: NoAnswerConfig, inputs: Inputs
) -> Refusals:
    thresholds = Thresholds(high, low)
    best = thresholds.best()
    values = _values(name, inputs)

    def point(at: int) -> RefusalPoint:
        value = None
        if values is not None:
            answered, empty = values
            left = np.where(high < thresholds.threshold[at], empty, answered)
            value = aggregate(inputs.main, left)
        return RefusalPoint(
            threshold=float(thresholds.threshold[at]),
            rightly=float(thresholds.rightly[at]),
            wrongly=float(thresholds.wrongly[at]),
            value=value,
        )

    shown = _spread(thresholds, config.points, best)
    return Refusals(
        separation=separation(high, low, level=inputs.settings.level),
        curve=tuple(point(at) for at in shown),
        best=point(best),
        balanced_accuracy=float(thresholds.balanced[best]),
        held_out=held_out_accuracy(high, low, splits=config.splits, seed=inputs.settings.seed),
    )


def _spread(thresholds: Thresholds, most: int, best: int) -> list[int]:
    """Return some places of the curve, evenly far along it; both ends and the best are kept."""
    last = len(thresholds) - 1
    if last < most:
        return list(range(last + 1))
    along = thresholds.rightly + thresholds.wrongly
    wanted = np.linspace(along[0], along[-1], max(most - 1, 1))[1:-1]
    places = np.searchsorted(along, wanted, side="left")
    return sorted({0, last, *([best] if most > 2 else []), *places.tolist()})


def _values(name: str, inputs: Inputs) -> tuple[FloatArray, FloatArray] | None:
    """Return the main measure by question, and what an empty answer has; None if not known."""
    assert inputs.qrels is not None
    assert inputs.scores is not None
    assert inputs.runs is not None
    values = inputs.scores.values(inputs.scores.measures[0], name)
    answered = np.array([values.get(query_id, math.nan) for query_id in inputs.qrels.query_ids])
    if not np.isfinite(answered).all():  # the profile leaves queries out
        return None
    try:
        judged = align(inputs.qrels, inputs.runs[name], sound=False).judged
        return answered, compute(inputs.main, judged.cut(0))
    except InputError:  # a measure that needs more than judgments
        return None


def _findings(systems: Sequence[SystemRefusals], helped: Collection[str]) -> list[Finding]:
    findings = []
    for system in systems:
        nothing = system.rightly_nothing
        wrong = system.wrongly_nothing
        if system.missing == nothing.total:
            findings.append(
                NEVER_ASKED.finding(
                    f"{system.system}: none of the {counted(nothing.total, 'question')} without an "
                    "answer is in the run; it counts as having returned nothing",
                    count=nothing.total,
                    system=system.system,
                )
            )
        elif _answers_half(system):
            findings += _always_answers(system, is_helped=system.system in helped)
        if wrong.interval is not None and wrong.interval.low > MANY:
            findings.append(
                WRONGLY_NOTHING.finding(
                    f"{system.system} returns nothing for {wrong.count:,} of "
                    f"{counted(wrong.total, 'question')} that have an answer ({share_text(wrong)})",
                    count=wrong.count,
                    system=system.system,
                )
            )
    return findings


def _always_answers(system: SystemRefusals, *, is_helped: bool) -> list[Finding]:
    """Say whether a threshold would help a system that answers what has no answer."""
    something, refusals = system.wrongly_something, system.refusals
    answers = (
        f"{system.system} returns documents for {something.count:,} of "
        f"{counted(something.total, 'question')} without an answer"
    )
    around = something.interval
    never_refuses = not system.rightly_nothing.count and around is not None and around.low > 0.5
    if refusals is None:
        if not never_refuses:
            return []
        text = f"{answers}, and {system.reason}"
        return [CANNOT_REFUSE.finding(text, severity="note", system=system.system)]
    interval = refusals.separation.interval
    area = f"AUC {refusals.separation.auc:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    evidence = {"auc": refusals.separation.auc, "low": interval.low, "high": interval.high}
    if interval.low > 0.5:
        best = refusals.best
        return [
            THRESHOLD_HELPS.finding(
                f"{answers}; refusing below a score of {best.threshold:.4g} would leave out "
                f"{percent(best.rightly)} of them and {percent(best.wrongly)} of the questions "
                f"with an answer ({area})",
                severity="warning" if is_helped else "note",
                system=system.system,
                evidence=evidence | {"held_out": refusals.held_out},
            )
        ]
    if not never_refuses:
        return []
    tell = "do not tell them from others" if interval.high >= 0.5 else "are even higher for them"
    return [
        CANNOT_REFUSE.finding(
            f"{answers}, and its scores {tell} ({area})",
            system=system.system,
            evidence=evidence,
        )
    ]


# --- section -------------------------------------------------------------------------------------


def _section(result: NoAnswer) -> Section:
    rows = [
        (
            Cell(system.system),
            percent_cell(system.rightly_nothing),
            percent_cell(system.wrongly_nothing),
            *_separation_cells(system),
        )
        for system in result.systems
    ]
    missing = [f"{system.system} {system.missing:,}" for system in result.systems if system.missing]
    notes = [
        (
            f"of {counted(result.unanswerable, 'question')} without an answer, which are in no "
            f"mean of a ranking measure, and of {result.answerable:,} with one"
        ),
        "nothing: no document is returned, in % with Wilson's interval",
        (
            "AUC: the chance that the best score is higher where there is an answer (0.5: the "
            "scores do not tell); balanced: the mean of the two shares treated rightly at the best "
            "threshold, chosen by these questions and so too good; held out: chosen on one half, "
            "measured on the other"
        ),
    ]
    if missing:
        notes.append(f"not in the run, and counted as nothing returned: {', '.join(missing)}")
    notes += [
        f"{system.system}: no threshold, as {system.reason}"
        for system in result.systems
        if system.reason
    ]
    table = Table(
        (
            Column("system", "text"),
            Column("rightly nothing, %", digits=1),
            Column("wrongly nothing, %", digits=1),
            Column("AUC", digits=3),
            Column("balanced", digits=3),
            Column("held out", digits=3),
        ),
        tuple(rows),
        notes=tuple(notes),
    )
    details: list[Block] = [
        _curve_table(result, system) for system in result.systems if system.refusals is not None
    ]
    plot = _plot(result)
    if plot is not None:
        details.append(plot)
        details.append(Notes(("the JSON holds the curves with more points",)))
    return Section(NO_ANSWER.title, (table,), tuple(details))


def _separation_cells(system: SystemRefusals) -> list[Cell]:
    refusals = system.refusals
    if refusals is None:
        return [Cell(), Cell(), Cell()]
    return [
        Cell(refusals.separation.auc, ends(refusals.separation.interval)),
        Cell(refusals.balanced_accuracy),
        Cell(refusals.held_out),
    ]


def _curve_table(result: NoAnswer, system: SystemRefusals) -> Table:
    refusals = system.refusals
    assert refusals is not None
    curve = refusals.curve
    picked = {round(at) for at in np.linspace(0, len(curve) - 1, SHOWN_POINTS)}
    points = {curve[at].threshold: curve[at] for at in picked}
    points[refusals.best.threshold] = refusals.best
    rows = [
        (
            Cell(f"{threshold:.5g}", note="best" if threshold == refusals.best.threshold else ""),
            Cell(100 * point.rightly),
            Cell(100 * point.wrongly),
            Cell(point.value),
        )
        for threshold, point in sorted(points.items())
    ]
    return Table(
        (
            Column("refuse below", digits=4),
            Column("rightly refused, %", digits=1),
            Column("wrongly refused, %", digits=1),
            Column(result.measure, digits=3),
        ),
        tuple(rows),
        title=f"{system.system} by threshold on the best score",
        notes=(f"{result.measure}: over questions with an answer; refused ones are empty answers",),
    )


def _plot(result: NoAnswer) -> Plot | None:
    curves = [
        Curve(system.system, tuple((point.wrongly, point.rightly) for point in refusals.curve))
        for system in result.systems
        if (refusals := system.refusals) is not None
    ]
    if not curves:
        return None
    chance = Curve("chance", ((0.0, 0.0), (1.0, 1.0)), tone="quiet")
    return Plot(
        "Refusing below a threshold",
        "questions with an answer refused",
        "questions without an answer refused",
        (chance, *curves),
        x_range=(0.0, 1.0),
        y_range=(0.0, 1.0),
    )


NO_ANSWER = register(
    Analysis(
        name="no_answer",
        title="Questions without an answer",
        summary="Whether systems return nothing where there is nothing, or a threshold could.",
        config=NoAnswerConfig,
        written="no_answer: {points: 50, splits: 20}",
        result=NoAnswer,
        needs=("qrels", "runs", "scores"),
        look=_look,
        section=_section,
        codes=(CANNOT_REFUSE, THRESHOLD_HELPS, WRONGLY_NOTHING, NEVER_ASKED),
        place=37,
    )
)
