"""Gating: does a gate retrieve where documents are needed, and only there?

An analysis of `rankscope.collection.decisions`. Positive is "retrieve": precision is how many of
the retrievals were needed, recall how many of the needed ones were made. Efficiency is what the
specification of retrieval metrics for mixtures of experts says: questions for which retrieval was
*rightly* skipped, of all questions. It gives no definition of precision; this is the usual one.
"""

from __future__ import annotations

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
from rankscope.diagnosis.decided import (
    OTHER_QUERIES,
    QualityGap,
    gap_sentence,
    judged_decisions,
    left_out_in_words,
    other_queries,
    quality_gap,
)
from rankscope.diagnosis.figures import Figure, percent_cell, share_text, shares
from rankscope.diagnosis.routing import MISCALIBRATED, miscalibrated
from rankscope.diagnosis.routing_tables import calibration_blocks
from rankscope.document.blocks import Block, Cell, Column, Section, Table, sentences
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part
from rankscope.statistics.calibration import Calibration, calibration
from rankscope.statistics.intervals import Interval
from rankscope.statistics.proportions import Proportion, f1_interval, proportion

MANY = 0.1
"""A finding is made where surely more than this share of the needed retrievals is skipped."""

SKIPS_NEEDED = declare(
    "RS694",
    "needed-retrieval-skipped",
    "warning",
    unit="query",
    advice="lower the threshold of the gate: a needless retrieval costs time, a missing one the "
    "answer",
    meaning="""A gate skips retrieval for surely more than a tenth of the questions that need it:
    the whole interval of its recall is below 0.9.""",
)


class GateCounts(Part):
    """The four things a gate can do."""

    retrieved_needed: int
    """Retrieved, and it was needed."""
    retrieved_needless: int
    """Retrieved, and it was not needed."""
    skipped_needed: int
    """Skipped, and it was needed."""
    skipped_needless: int
    """Skipped, and it was not needed."""


class Gating(Analysed):
    """How well a gate decides whether to retrieve."""

    decisions: int
    """How many questions have a decision and are known to need retrieval or not."""
    unknown: int
    """How many are left out, as one of the two is not known."""
    other_queries: int
    """How many decisions are left out, as they are for queries that are not judged."""
    counts: GateCounts
    """What the gate did."""
    precision: Proportion
    """Retrievals that were needed, of all retrievals."""
    recall: Proportion
    """Needed retrievals that were made, of all needed ones."""
    f1: float | None
    """The harmonic mean of precision and recall; null where nothing was needed or retrieved."""
    f1_interval: Interval | None
    """Of F1: from Wilson's interval of its share of hits among all hits and misses."""
    false_positive_rate: Proportion
    """Needless retrievals, of all questions that need none."""
    efficiency: Proportion
    """Questions for which retrieval was rightly skipped, of all questions."""
    wrongly_skipped: Proportion
    """Questions for which retrieval was skipped though it was needed, of all questions."""
    skippable: Proportion
    """Questions that need no retrieval, of all: the most that the efficiency can be."""
    calibration: Calibration | None
    """Confidence against deciding rightly; null where no confidence of the gate is given."""
    quality: QualityGap | None
    """How the best system does on questions that need retrieval and got it, and on those that did
    not; null where too few of them are judged."""
    figures: tuple[Figure, ...]
    """What targets can be set for."""


class GatingConfig(AnalysisConfig):
    """How a gate is looked at."""

    bins: int = Field(default=10, ge=1, le=100)
    """Bins of equal width for the calibration."""


def _look(config: GatingConfig, inputs: Inputs) -> Gating | NotApplicable:
    assert inputs.decisions is not None
    decisions = judged_decisions(inputs)
    if isinstance(decisions, str):
        return GATING.not_applicable(decisions)
    missing = decisions.lacking("retrieved", "needed")
    if missing is not None:
        return GATING.not_applicable(missing)
    frame = decisions.to_polars().drop_nulls(["retrieved", "needed"])
    if frame.is_empty():
        return GATING.not_applicable("no question has both a decision and whether it was needed")
    retrieved, needed = (frame[name].to_numpy().astype(bool) for name in ("retrieved", "needed"))
    counts = GateCounts(
        retrieved_needed=int(np.count_nonzero(retrieved & needed)),
        retrieved_needless=int(np.count_nonzero(retrieved & ~needed)),
        skipped_needed=int(np.count_nonzero(~retrieved & needed)),
        skipped_needless=int(np.count_nonzero(~retrieved & ~needed)),
    )
    level, total = inputs.settings.level, frame.height
    hits, false_alarms = counts.retrieved_needed, counts.retrieved_needless
    misses, rightly = counts.skipped_needed, counts.skipped_needless

    def share(count: int, of: int) -> Proportion:
        return proportion(count, of, level=level)

    measured = {
        "precision": share(hits, hits + false_alarms),
        "recall": share(hits, hits + misses),
        "false_positive_rate": share(false_alarms, false_alarms + rightly),
        "efficiency": share(rightly, total),
        "wrongly_skipped": share(misses, total),
    }
    errors = misses + false_alarms
    f1 = 2 * hits / (2 * hits + errors) if hits + errors else None
    around_f1 = f1_interval(hits, errors, level=level)
    confidence = decisions.column("gate_confidence")
    if "gate_confidence" not in decisions.columns and "route" not in decisions.columns:
        confidence = decisions.column("confidence")  # nothing else it could be of
    calibrated = None
    usable = decisions.to_polars().with_columns(confidence.alias("sure"))
    usable = usable.drop_nulls(["retrieved", "needed", "sure"])
    if usable.height:
        calibrated = calibration(
            usable["sure"].to_numpy(),
            (usable["retrieved"] == usable["needed"]).to_numpy(),
            bins=config.bins,
            level=level,
            resamples=min(inputs.settings.resamples, 1000),
            seed=inputs.settings.seed,
        )
    quality = quality_gap(
        inputs,
        frame.filter(needed & retrieved)["query_id"].to_list(),
        frame.filter(needed & ~retrieved)["query_id"].to_list(),
    )
    figures = shares(**{f"gate_{name}": value for name, value in measured.items()})
    if f1 is not None:
        figures.append(Figure(name="gate_f1", value=f1, interval=around_f1))
    findings, advice = _remarks(measured["recall"], quality)
    if calibrated is not None and calibrated.p <= inputs.settings.alpha:
        findings.append(miscalibrated("the gate", calibrated))
    left_out = len(inputs.decisions) - len(decisions)
    return Gating(
        decisions=total,
        unknown=len(decisions) - total,
        other_queries=left_out,
        counts=counts,
        **measured,
        f1=f1,
        f1_interval=around_f1,
        skippable=share(rightly + false_alarms, total),
        calibration=calibrated,
        quality=quality,
        figures=tuple(figures),
        findings=(*findings, *other_queries(left_out)),
        advice=advice,
    )


def _remarks(
    recall: Proportion, quality: QualityGap | None
) -> tuple[list[Finding], tuple[Advice, ...]]:
    """Say what the gate skips though it is needed."""
    skipped = proportion(
        recall.total - recall.count,
        recall.total,
        level=0.95 if recall.interval is None else recall.interval.level,
    )
    text = (
        f"skips {skipped.count:,} of {counted(skipped.total, 'question')} that "
        f"{'needs' if skipped.total == 1 else 'need'} retrieval ({share_text(skipped)})"
    )
    findings = []
    if recall.interval is not None and recall.interval.high < 1 - MANY:
        findings.append(
            SKIPS_NEEDED.finding(
                f"the gate {text}", count=skipped.count, evidence=skipped.to_dict()
            )
        )
    if quality is None or not quality.gain:
        return findings, ()
    groups = quality.groups
    advice = Advice(
        text=f"Gate: it {text}; {quality.system} has {quality.measure} of {groups.second:.3f} "
        f"there, and {groups.first:.3f} where it retrieves",
        gain=quality.gain,
    )
    return findings, (advice,)


def _section(result: Gating) -> Section:
    rows = [
        ("precision", result.precision, "needed, of all retrievals"),
        ("recall", result.recall, "retrieved, of all that need it"),
        ("false-positive rate", result.false_positive_rate, "retrieved, of all that do not"),
        ("efficiency", result.efficiency, "rightly skipped, of all questions"),
        ("wrongly skipped", result.wrongly_skipped, "of all questions"),
        ("could be skipped", result.skippable, "the most efficiency can be"),
    ]
    lines = [
        (Cell(name), Cell(share.count), Cell(share.total), percent_cell(share), Cell(meaning))
        for name, share, meaning in rows
    ]
    f1, around = result.f1, result.f1_interval
    limits = None if around is None else (100 * around.low, 100 * around.high)
    shown = Cell() if f1 is None else Cell(100 * f1, limits)
    lines.insert(2, (Cell("F1"), Cell(), Cell(), shown, Cell("harmonic mean of both")))
    notes = ["positive is “retrieve”; Wilson's interval in brackets"]
    if result.unknown:
        notes.append(
            f"{counted(result.unknown, 'question')} left out: the decision, or whether retrieval "
            "was needed, is not known"
        )
    if result.other_queries:
        notes.append(left_out_in_words(result.other_queries))
    table = Table(
        (
            Column("gate", "text"),
            Column("count"),
            Column("of"),
            Column("%", digits=1),
            Column("what it is", "text"),
        ),
        tuple(lines),
        notes=tuple(notes),
    )
    details: list[Block] = []
    if result.calibration is not None:
        details += calibration_blocks(result.calibration, "gate")
    if result.quality is not None:
        right, wrong = "questions that need retrieval and got it", "those that did not get it"
        details.append(sentences([gap_sentence(result.quality, right, wrong)]))
    return Section(GATING.title, (table,), tuple(details))


GATING = register(
    Analysis(
        name="gating",
        title="Retrieval gate",
        summary="Whether a gate retrieves where documents are needed, and only there.",
        config=GatingConfig,
        written="gating: {bins: 10}",
        result=Gating,
        needs=("decisions",),
        uses=("scores", "qrels"),
        look=_look,
        section=_section,
        codes=(SKIPS_NEEDED, MISCALIBRATED, OTHER_QUERIES),
        place=35,
    )
)
