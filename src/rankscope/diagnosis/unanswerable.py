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
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis
from rankscope.diagnosis.figures import share_text
from rankscope.diagnosis.show import percent, system_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.classification import (
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


class SystemRefusals(Row):
    """What one system does with both kinds of questions."""

    rightly_nothing: Proportion
    """Questions without an answer for which it returns nothing."""
    missing: int
    """Questions without an answer that are not in the run at all: they count as refused."""
    wrongly_nothing: Proportion
    """Questions with an answer for which it returns nothing."""
    separation: Separation | None
    """How well the best score tells both kinds apart; an empty answer scores lowest. Null, with
    all that follows, where there can be no threshold."""
    threshold: float | None
    """The threshold with the best balanced accuracy: the mean of both shares treated rightly."""
    rightly: float | None
    """The share of questions without an answer that scores below it."""
    wrongly: float | None
    """The share of questions with an answer that does."""
    held_out: float | None
    """The balanced accuracy measured fairly: chosen on one half of the questions, measured on the
    other; null with too few questions."""
    reason: str | None
    """Why there can be no threshold; null if there can."""

    @property
    def answered(self) -> int:
        """How many questions without an answer it returns documents for."""
        return self.rightly_nothing.total - self.rightly_nothing.count

    @property
    def auc(self) -> Estimate | None:
        """The chance that the best score is higher where there is an answer (0.5: no help)."""
        apart = self.separation
        return None if apart is None else Estimate.between(apart.auc, apart.interval)

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of both shares treated rightly: too good, as these questions chose it."""
        if self.rightly is None or self.wrongly is None:
            return None
        return (self.rightly + 1 - self.wrongly) / 2


class NoAnswer(Analysed):
    """How systems treat questions that have no answer."""

    unanswerable: int
    """Questions that are marked as having no answer."""
    answerable: int
    """All others that are judged."""
    systems: tuple[SystemRefusals, ...]
    """By system."""


@analysis(title="Questions without an answer", needs=("qrels", "runs", "scores"), place=37)
def no_answer(_: Config, inputs: Inputs) -> NoAnswer:
    """Whether systems return nothing where there is nothing, or a threshold could."""
    unanswerable, answerable = inputs.qrels.no_answer, inputs.qrels.query_ids
    inputs.require(
        unanswerable,
        "no question is marked as having no answer (the column no_answer, or --no-answer empty)",
    )
    inputs.require(answerable, "every question is marked as having no answer")
    return NoAnswer(
        unanswerable=len(unanswerable),
        answerable=len(answerable),
        systems=tuple(_of_system(name, run, inputs) for name, run in inputs.runs.items()),
    )


@no_answer.find
def _find(result: NoAnswer, inputs: Inputs) -> Iterator[Finding]:
    """Say whether a system refuses too little or too much, and whether a threshold would help."""
    for row in result.systems:
        without, wrong = row.rightly_nothing.total, row.wrongly_nothing
        if row.missing == without:
            yield NEVER_ASKED.finding(
                f"{row.system}: none of the {counted(without, 'question')} without an answer is in "
                "the run; it counts as having returned nothing",
                count=without,
                system=row.system,
            )
        elif 2 * row.answered >= without:
            yield from _too_many_answers(row, inputs, len(result.systems))
        if wrong.interval is not None and wrong.interval.low > MANY:
            yield WRONGLY_NOTHING.finding(
                f"{row.system} returns nothing for {wrong.count:,} of "
                f"{counted(wrong.total, 'question')} that have an answer ({share_text(wrong)})",
                count=wrong.count,
                system=row.system,
            )


@no_answer.show
def _show(result: NoAnswer) -> Iterator[Block | None]:
    without = f"{counted(result.unanswerable, 'question')} without an answer"
    yield system_table(
        result.systems,
        notes=[f"{without}, which no ranking measure counts, and {result.answerable:,} with one"],
        legend=("auc", "threshold", "held_out"),
        columns=(
            "rightly_nothing | wrongly_nothing | missing: not in the run | auc: AUC | "
            "threshold: refuse below | rightly: rightly refused | wrongly: wrongly refused | "
            "held_out | reason: no threshold, as"
        ),
    )


def _too_many_answers(row: SystemRefusals, inputs: Inputs, systems: int) -> Iterator[Finding]:
    without, separation = row.rightly_nothing, row.separation
    answers = (
        f"{row.system} returns documents for {row.answered:,} of "
        f"{counted(without.total, 'question')} without an answer"
    )
    never_refuses = (
        not without.count and without.interval is not None and without.interval.high < 0.5
    )
    if separation is None:
        if never_refuses:
            text = f"{answers}, and {row.reason}"
            yield CANNOT_REFUSE.finding(text, severity="note", system=row.system)
        return
    apart = separation.interval
    area = f"AUC {separation.auc:.3f} [{apart.low:.3f}, {apart.high:.3f}]"
    if apart.low > 0.5:
        holds = _holds(row, inputs.settings.alpha / systems)
        gain = row.answered / (without.total + row.wrongly_nothing.total)
        yield THRESHOLD_HELPS.finding(
            f"{answers}; refusing below a score of {row.threshold:.4g} would leave out "
            f"{percent(row.rightly or 0.0)} of them and {percent(row.wrongly or 0.0)} of the "
            f"questions with an answer ({area})",
            severity="warning" if holds else "note",
            system=row.system,
            gain=gain if holds and row.system == inputs.focus else None,
        )
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


def _of_system(name: str, run: Run, inputs: Inputs) -> SystemRefusals:
    level = inputs.settings.level
    low, is_there = _best_scores(run, inputs.qrels.no_answer)
    high, _ = _best_scores(run, inputs.qrels.query_ids)
    refused, lost = (int(np.count_nonzero(np.isneginf(scores))) for scores in (low, high))
    scores = np.concatenate([low, high])
    scores = scores[np.isfinite(scores)]
    chosen: dict[str, Any] = dict.fromkeys(("separation", "threshold", "rightly", "wrongly"))
    chosen |= {"held_out": None, "reason": None}
    if not len(scores):
        chosen["reason"] = "it returns nothing at all"
    elif np.ptp(scores) == 0:
        chosen["reason"] = "all answers have the same best score, as lists without scores do"
    else:
        thresholds = Thresholds(high, low)
        at = thresholds.best()
        chosen |= {
            "separation": separation(high, low, level=level),
            "threshold": float(thresholds.threshold[at]),
            "rightly": float(thresholds.rightly[at]),
            "wrongly": float(thresholds.wrongly[at]),
            "held_out": held_out_accuracy(high, low, seed=inputs.settings.seed),
        }
    return SystemRefusals(
        system=name,
        rightly_nothing=proportion(refused, len(low), level=level),
        missing=int(np.count_nonzero(~is_there)),
        wrongly_nothing=proportion(lost, len(high), level=level),
        **chosen,
    )
