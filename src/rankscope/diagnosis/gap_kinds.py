"""What a gap is called: names, and the thresholds from which on they are given.

For `rankscope.diagnosis.gaps`: pure functions of shares and gains.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rankscope.diagnosis.registry import AnalysisConfig

GapKind = Literal["ranking", "retrieval", "both", "neither"]
"""What a system's problem is, by shares of queries and documents."""

GapLoss = Literal["mostly ranking", "mostly retrieval", "both", "little", "too short to tell"]
"""By what a system loses most of the measure. Too short to tell: much is not retrieved, and its
answers are cut right below what the measure looks at."""

GapStyle = Literal["precision", "recall"]
"""What a system favours: few documents that are right, or many of which some are."""

NEARLY = 1e-9
"""Shares that reach a threshold but for rounding reach it."""


class GapsConfig(AnalysisConfig):
    """From when on a gap is a problem."""

    depth: int | None = Field(default=None, ge=1)
    """A document counts as retrieved if it is among the first so many: what a reranker may look
    at. Null: as many as the runs hold, up to 1,000."""
    not_first: float = Field(default=0.3, gt=0, le=1)
    """A ranking problem: from this share of queries on that have a relevant document, but not
    first."""
    not_retrieved: float = Field(default=0.3, gt=0, le=1)
    """A retrieval problem: from this share of the relevant documents on that is not retrieved."""
    success_high: float = Field(default=0.8, gt=0, le=1)
    """From here on Success@5 is high."""
    success_low: float = Field(default=0.6, ge=0, le=1)
    """Below this Success@5 is low; between the two it is moderate."""
    rr_high: float = Field(default=0.6, gt=0, le=1)
    """From here on RR is high."""
    rr_low: float = Field(default=0.4, ge=0, le=1)
    """Below this RR is low; between the two it is moderate."""
    worth: float = Field(default=0.05, ge=0, le=1)
    """A part is worth a sentence in the summary from this share of the best possible mean on."""
    mostly: float = Field(default=0.6, gt=0.5, le=1)
    """Most of what is lost: from this share on."""


def classify(
    first: float,
    deepest: float,
    config: GapsConfig | None = None,
    *,
    not_retrieved: float | None = None,
) -> GapKind:
    """Tell a ranking problem from a retrieval problem.

    ``first`` is Success@1, ``deepest`` Success at the greatest depth that is known. Of all queries
    deepest − first have a relevant document retrieved, but not first: from ``config.not_first`` on
    the order is a problem. 1 − deepest have none: from ``config.not_retrieved`` on retrieval is.
    With several relevant documents a query, ``not_retrieved`` is the share of these that is missing
    and takes the place of 1 − deepest.

    >>> classify(0.45, 0.85), classify(0.15, 0.25), classify(0.2, 0.6), classify(0.6, 0.85)
    ('ranking', 'retrieval', 'both', 'neither')
    """
    config = config or GapsConfig()
    missing = 1 - deepest if not_retrieved is None else not_retrieved
    is_ranking = deepest - first >= config.not_first - NEARLY
    is_retrieval = missing >= config.not_retrieved - NEARLY
    if is_ranking and is_retrieval:
        return "both"
    return "ranking" if is_ranking else "retrieval" if is_retrieval else "neither"


def loss_of(
    ranking: float,
    retrieval: float,
    ideal: float,
    config: GapsConfig | None = None,
    *,
    is_short: bool = False,
) -> GapLoss:
    """Tell by what a measure is lost.

    ``ranking`` is what the best order of the retrieved documents would gain, ``retrieval`` what
    finding the rest would add, ``ideal`` the best possible mean. ``is_short`` says that answers are
    cut too early to know what is not retrieved; what is found below the cut would only add to
    ``ranking``.

    >>> loss_of(0.3, 0.1, 1), loss_of(0.1, 0.3, 1), loss_of(0.2, 0.2, 1), loss_of(0.01, 0.04, 1)
    ('mostly ranking', 'mostly retrieval', 'both', 'little')
    >>> loss_of(0.1, 0.3, 1, is_short=True), loss_of(0.3, 0.1, 1, is_short=True)
    ('too short to tell', 'mostly ranking')
    """
    config = config or GapsConfig()
    worth = least_worth(ideal, config)
    if max(ranking, retrieval) < worth:
        return "little"
    lost = ranking + retrieval
    if retrieval < worth or ranking >= config.mostly * lost * (1 - NEARLY):
        return "mostly ranking"
    if is_short:
        return "too short to tell"
    if ranking < worth or retrieval >= config.mostly * lost * (1 - NEARLY):
        return "mostly retrieval"
    return "both"


def style_of(success_5: float, rr: float, config: GapsConfig | None = None) -> GapStyle | None:
    """Tell what a system favours.

    A high RR with a moderate Success@5 is quality over quantity, precision; a moderate RR with a
    high Success@5 is quantity over quality, recall.

    >>> style_of(0.72, 0.65), style_of(0.85, 0.5), style_of(0.85, 0.7), style_of(0.25, 0.18)
    ('precision', 'recall', None, None)
    """
    config = config or GapsConfig()
    levels = (
        (success_5 >= config.success_high - NEARLY, success_5 >= config.success_low - NEARLY),
        (rr >= config.rr_high - NEARLY, rr >= config.rr_low - NEARLY),
    )
    (is_success_high, is_success_fair), (is_rr_high, is_rr_fair) = levels
    if is_rr_high and is_success_fair and not is_success_high:
        return "precision"
    if is_success_high and is_rr_fair and not is_rr_high:
        return "recall"
    return None


def least_worth(ideal: float, config: GapsConfig) -> float:
    """Return the least gain that is worth a sentence."""
    return max(config.worth * abs(ideal), NEARLY)
