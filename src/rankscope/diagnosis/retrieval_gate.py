"""Gating: does a gate retrieve where documents are needed, and only there?

An analysis of `rankscope.collection.decisions`. Positive is "retrieve": precision is how many of
the retrievals were needed, recall how many of the needed ones were made. Efficiency is what the
specification of retrieval metrics for mixtures of experts says: questions for which retrieval was
*rightly* skipped, of all questions. It gives no definition of precision; this is the usual one.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rankscope.diagnosis.analysis import Config, Inputs, analysis
from rankscope.diagnosis.figures import Figure, share_text, shares
from rankscope.diagnosis.judged_decisions import (
    DecisionFigures,
    about_other_queries,
    judged_decisions,
)
from rankscope.diagnosis.show import cell_of
from rankscope.document.blocks import Block, Cell, Column, Table
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.classification import Proportion, f1_interval, proportion
from rankscope.statistics.intervals import Interval

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


class Gating(DecisionFigures):
    """How well a gate decides whether to retrieve."""

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

    @property
    def figures(self) -> list[Figure]:
        """What targets can be set for."""
        figures = shares(
            gate_precision=self.precision,
            gate_recall=self.recall,
            gate_false_positive_rate=self.false_positive_rate,
            gate_efficiency=self.efficiency,
            gate_wrongly_skipped=self.wrongly_skipped,
        )
        if self.f1 is not None:
            figures.append(Figure(name="gate_f1", value=self.f1, interval=self.f1_interval))
        return figures


@analysis(
    title="Retrieval gate",
    needs=("decisions",),
    place=35,
)
def gating(_: Config, inputs: Inputs) -> Gating:
    """Whether a gate retrieves where documents are needed, and only there."""
    decisions, level = judged_decisions(inputs), inputs.settings.level
    missing = decisions.lacking("retrieved", "needed")
    inputs.require(missing is None, str(missing))
    frame = decisions.to_polars().drop_nulls(["retrieved", "needed"])
    reason = "no question has both a decision and whether it was needed"
    inputs.require(not frame.is_empty(), reason)
    total, hits = frame.height, frame.filter(pl.col("needed") & pl.col("retrieved")).height
    misses = frame.filter(pl.col("needed") & ~pl.col("retrieved")).height
    false_alarms = frame.filter(pl.col("retrieved") & ~pl.col("needed")).height
    rightly, errors = total - hits - misses - false_alarms, misses + false_alarms
    return Gating(
        decisions=total,
        unknown=len(decisions) - total,
        other_queries=len(inputs.decisions) - len(decisions),
        precision=proportion(hits, hits + false_alarms, level=level),
        recall=proportion(hits, hits + misses, level=level),
        f1=2 * hits / (2 * hits + errors) if hits + errors else None,
        f1_interval=f1_interval(hits, errors, level=level),
        false_positive_rate=proportion(false_alarms, false_alarms + rightly, level=level),
        efficiency=proportion(rightly, total, level=level),
        wrongly_skipped=proportion(misses, total, level=level),
        skippable=proportion(rightly + false_alarms, total, level=level),
    )


@gating.show
def _show(result: Gating) -> Iterator[Block | None]:
    lines = (
        ("precision", result.precision, "needed, of all retrievals"),
        ("recall", result.recall, "retrieved, of all that need it"),
        ("false-positive rate", result.false_positive_rate, "retrieved, of all that do not"),
        ("efficiency", result.efficiency, "rightly skipped, of all questions"),
        ("wrongly skipped", result.wrongly_skipped, "of all questions"),
        ("could be skipped", result.skippable, "the most efficiency can be"),
    )
    rows = [
        (Cell(name), Cell(share.count), Cell(share.total), cell_of(share), Cell(meaning))
        for name, share, meaning in lines
    ]
    if result.f1 is not None and result.f1_interval is not None:
        limits = (100 * result.f1_interval.low, 100 * result.f1_interval.high)
        f1 = Cell(100 * result.f1, limits)
        rows.insert(2, (Cell("F1"), Cell(), Cell(), f1, Cell("harmonic mean of both")))
    notes = ["positive is “retrieve”; Wilson's interval in brackets"]
    if result.unknown:
        notes.append(f"{counted(result.unknown, 'question')} left out: what is right is not known")
    columns = (
        Column("gate", "text"),
        Column("count"),
        Column("of"),
        Column("%", digits=1),
        Column("what it is", "text"),
    )
    yield Table(columns, tuple(rows), notes=tuple(notes))


@gating.find
def _find(result: Gating, _: Inputs) -> Iterator[Finding]:
    recall = result.recall
    if recall.interval is not None and recall.interval.high < 1 - MANY:
        skipped = recall.total - recall.count
        share = share_text(proportion(skipped, recall.total, level=recall.interval.level))
        yield SKIPS_NEEDED.finding(
            f"the gate skips {skipped:,} of {counted(recall.total, 'question')} that "
            f"{'needs' if recall.total == 1 else 'need'} retrieval ({share})",
            count=skipped,
        )
    yield from about_other_queries(result)
