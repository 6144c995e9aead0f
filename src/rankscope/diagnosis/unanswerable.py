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
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import (
    Analysed,
    AnalysisConfig,
    CannotAnalyseError,
    Estimate,
    Inputs,
    Row,
    analysis,
)
from rankscope.diagnosis.figures import percent, share_text
from rankscope.diagnosis.show import part_table, system_table
from rankscope.document.blocks import Block, Curve, Plot
from rankscope.errors import InputError, counted
from rankscope.findings import Finding, declare
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.statistics.decision_rates import (
    Proportion,
    Separation,
    Thresholds,
    held_out_accuracy,
    proportion,
    separation,
)

if TYPE_CHECKING:
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


class NoAnswerConfig(AnalysisConfig):
    """How thresholds are looked at."""

    points: int = Field(default=50, ge=2, le=10_000)
    """So many points of a curve are kept at most."""
    splits: int = Field(default=20, ge=1, le=1000)
    """How often the questions are halved to measure a threshold fairly."""


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


class SystemRefusals(Row):
    """What one system does with both kinds of questions."""

    rightly_nothing: Proportion
    """Questions without an answer for which it returns nothing."""
    missing: int
    """Questions without an answer that are not in the run at all: they count as refused."""
    wrongly_nothing: Proportion
    """Questions with an answer for which it returns nothing."""
    refusals: Refusals | None
    """What thresholds would do; null where they cannot."""
    reason: str | None
    """Why they cannot; null if they can."""

    @property
    def answered(self) -> int:
        """How many questions without an answer it returns documents for."""
        return self.rightly_nothing.total - self.rightly_nothing.count

    @property
    def answers_half(self) -> bool:
        """Whether at least half of the questions without an answer get documents."""
        return 2 * self.answered >= self.rightly_nothing.total

    @property
    def auc(self) -> Estimate | None:
        """The chance that the best score is higher where there is an answer (0.5: no help)."""
        if self.refusals is None:
            return None
        apart = self.refusals.separation
        return Estimate(value=apart.auc, low=apart.interval.low, high=apart.interval.high)

    @property
    def balanced(self) -> float | None:
        """The mean of both shares treated rightly at the threshold that fits these best."""
        return None if self.refusals is None else self.refusals.balanced_accuracy

    @property
    def held_out(self) -> float | None:
        """The same measured fairly: chosen on one half, measured on the other."""
        return None if self.refusals is None else self.refusals.held_out


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


@analysis(
    "no_answer",
    NoAnswerConfig,
    NoAnswer,
    title="Questions without an answer",
    needs=("qrels", "runs", "scores"),
    written="no_answer: {points: 50, splits: 20}",
    codes=(CANNOT_REFUSE, THRESHOLD_HELPS, WRONGLY_NOTHING, NEVER_ASKED),
    place=37,
)
def no_answer(config: NoAnswerConfig, inputs: Inputs) -> NoAnswer:
    """Whether systems return nothing where there is nothing, or a threshold could."""
    assert inputs.qrels is not None
    assert inputs.runs is not None
    assert inputs.scores is not None
    unanswerable, answerable = inputs.qrels.no_answer, inputs.qrels.query_ids
    if not unanswerable:
        raise CannotAnalyseError(
            "no question is marked as having no answer (the column no_answer, or --no-answer empty)"
        )
    if not answerable:
        raise CannotAnalyseError("every question is marked as having no answer")
    systems = tuple(_of_system(name, run, config, inputs) for name, run in inputs.runs.items())
    alpha = inputs.settings.alpha / len(systems)
    return NoAnswer(
        measure=inputs.scores.measures[0],
        unanswerable=len(unanswerable),
        answerable=len(answerable),
        systems=systems,
        findings=tuple(
            finding for row in systems for finding in _findings(row, alpha, inputs.focus)
        ),
    )


@no_answer.show
def _show(result: NoAnswer) -> Iterator[Block | None]:
    without = f"{counted(result.unanswerable, 'question')} without an answer"
    yield system_table(
        result.systems,
        notes=[f"{without}, which no ranking measure counts, and {result.answerable:,} with one"],
        legend=("auc", "balanced", "held_out"),
        rightly_nothing="rightly nothing",
        wrongly_nothing="wrongly nothing",
        missing="not in the run",
        auc="AUC",
        balanced="balanced",
        held_out="held out",
        reason="no threshold, as",
    )
    plotted = [Curve("chance", ((0.0, 0.0), (1.0, 1.0)), tone="quiet")]
    for row in result.systems:
        if row.refusals is None:
            continue
        curve, best = row.refusals.curve, row.refusals.best
        picked = {round(at) for at in np.linspace(0, len(curve) - 1, SHOWN_POINTS)}
        points = {point.threshold: point for point in (*(curve[at] for at in picked), best)}
        yield part_table(
            [points[threshold] for threshold in sorted(points)],
            f"{row.system} by threshold on the best score",
            notes=[f"best balanced: below {best.threshold:.5g}; refused answers count as empty"],
            threshold="refuse below",
            rightly="rightly refused",
            wrongly="wrongly refused",
            value=result.measure,
        )
        plotted.append(Curve(row.system, tuple((point.wrongly, point.rightly) for point in curve)))
    if len(plotted) > 1:
        yield Plot(
            "Refusing below a threshold",
            "questions with an answer refused",
            "questions without an answer refused",
            tuple(plotted),
            x_range=(0.0, 1.0),
            y_range=(0.0, 1.0),
        )


def _findings(row: SystemRefusals, alpha: float, focus: str) -> Iterator[Finding]:
    """Say whether a system refuses too little or too much, and whether a threshold would help."""
    without, wrong = row.rightly_nothing.total, row.wrongly_nothing
    if row.missing == without:
        yield NEVER_ASKED.finding(
            f"{row.system}: none of the {counted(without, 'question')} without an answer is in the "
            "run; it counts as having returned nothing",
            count=without,
            system=row.system,
        )
    elif row.answers_half:
        yield from _too_many_answers(row, alpha, focus)
    if wrong.interval is not None and wrong.interval.low > MANY:
        yield WRONGLY_NOTHING.finding(
            f"{row.system} returns nothing for {wrong.count:,} of "
            f"{counted(wrong.total, 'question')} that have an answer ({share_text(wrong)})",
            count=wrong.count,
            system=row.system,
        )


def _too_many_answers(row: SystemRefusals, alpha: float, focus: str) -> Iterator[Finding]:
    without, refusals = row.rightly_nothing, row.refusals
    answers = (
        f"{row.system} returns documents for {row.answered:,} of "
        f"{counted(without.total, 'question')} without an answer"
    )
    never_refuses = (
        not without.count and without.interval is not None and without.interval.high < 0.5
    )
    if refusals is None:
        if never_refuses:
            text = f"{answers}, and {row.reason}"
            yield CANNOT_REFUSE.finding(text, severity="note", system=row.system)
        return
    apart = refusals.separation.interval
    area = f"AUC {refusals.separation.auc:.3f} [{apart.low:.3f}, {apart.high:.3f}]"
    if apart.low > 0.5:
        best, holds = refusals.best, _holds(row, alpha)
        finding = THRESHOLD_HELPS.finding(
            f"{answers}; refusing below a score of {best.threshold:.4g} would leave out "
            f"{percent(best.rightly)} of them and {percent(best.wrongly)} of the questions with an "
            f"answer ({area})",
            severity="warning" if holds else "note",
            system=row.system,
        )
        gain = row.answered / (without.total + row.wrongly_nothing.total)
        is_counted = holds and row.system == focus
        yield finding.model_copy(update={"gain": gain}) if is_counted else finding
    elif never_refuses:
        tell = "do not tell them from others" if apart.high >= 0.5 else "are even higher for them"
        yield CANNOT_REFUSE.finding(f"{answers}, and its scores {tell} ({area})", system=row.system)


def _holds(row: SystemRefusals, alpha: float) -> bool:
    """Tell whether a threshold surely helps on other questions, too.

    The held-out balanced accuracy is the mean of two shares; its standard error is at most
    √(0.25/m + 0.25/n)/2, for m questions without an answer and n with one.
    """
    if row.held_out is None:
        return False
    error = math.sqrt(0.25 / row.rightly_nothing.total + 0.25 / row.wrongly_nothing.total) / 2
    return row.held_out - NormalDist().inv_cdf(1 - alpha / 2) * error > 0.5


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
