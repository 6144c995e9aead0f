"""What a router and a gate have in common: which decisions count, and how sure they are.

Where there are qrels, decisions for other queries do not count: they may be of another set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.collection.decisions import Decisions
from rankscope.diagnosis.analysis import Analysed, Inputs
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.decision_rates import Calibration, calibration

FAR_OFF = 0.1
"""From this expected calibration error on, confidences mislead whoever sets a threshold."""

MISCALIBRATED = declare(
    "RS692",
    "confidence-miscalibrated",
    "warning",
    unit="decision",
    advice="calibrate confidences on other questions, for example by isotonic regression, before "
    "they are compared with a threshold",
    meaning="""The confidences of a router or gate do not say how often it is right: the expected
    calibration error is larger than that of exact confidences would be, by more than chance. A
    note where it is below 0.1.""",
)
OTHER_QUERIES = declare(
    "RS720",
    "decisions-for-other-queries",
    "note",
    unit="decision",
    advice="check that decisions and qrels use the same query ids, and are of the same questions",
    meaning="""Some decisions are for queries that the qrels do not have, neither with judgments nor
    as questions without an answer. They are left out of all figures.""",
)


class Decided(Analysed):
    """How well something decides, question by question."""

    decisions: int
    """How many decisions count."""
    unknown: int
    """How many questions are left out of shares, as what is right is not known."""
    other_queries: int
    """How many decisions are left out, as they are for queries that are not judged."""
    calibration: Calibration | None
    """Confidence against being right; null where no confidence is given."""


def judged_decisions(inputs: Inputs) -> Decisions:
    """Return the decisions for judged queries; all without qrels."""
    decisions, qrels = inputs.decisions, inputs.qrels
    if not inputs.has("qrels") or qrels.is_numbered:
        return decisions
    part = decisions.only({*qrels.query_ids, *qrels.no_answer})
    inputs.require(
        len(part),
        f"none of {counted(len(decisions), 'decision')} is for a judged query; check that both use "
        "the same query ids",
    )
    return part


def calibrated(
    confidences: Sequence[float], right: Sequence[bool], bins: int, inputs: Inputs
) -> Calibration | None:
    """Compare confidences with being right; None if there are none."""
    if not confidences:
        return None
    return calibration(
        confidences,
        right,
        bins=bins,
        level=inputs.settings.level,
        resamples=min(inputs.settings.resamples, 1000),
        seed=inputs.settings.seed,
    )


def common_findings(who: str, result: Decided, alpha: float) -> Iterator[Finding]:
    """Say that confidences are off, and that decisions for other queries do not count."""
    sure = result.calibration
    if sure is not None and sure.p <= alpha:
        bias = sure.confidence - (sure.right.share or 0.0)
        kind = "it is too sure of some decisions and too unsure of others"
        if abs(bias) >= sure.ece / 2:
            kind = f"it is {'over' if bias > 0 else 'under'}confident by {abs(bias):.3f} on average"
        yield MISCALIBRATED.finding(
            f"the confidences of the {who} are off by {sure.ece:.3f} on average (ECE; exact ones "
            f"would give {sure.expected:.3f} on {counted(sure.n, 'decision')}): {kind}",
            count=sure.n,
            severity="warning" if sure.ece >= FAR_OFF else "note",
        )
    if result.other_queries:
        yield OTHER_QUERIES.finding(
            f"{counted(result.other_queries, 'decision')} for queries that the qrels do not have: "
            "left out",
            count=result.other_queries,
        )


def common_blocks(who: str, result: Decided) -> Iterator[Block | None]:
    """Show how well confidences say what is right."""
    if result.calibration is not None:
        yield part_table(
            [part for part in result.calibration.bins if part.right.total],
            f"Calibration of the {who}",
            notes=[
                (
                    f"expected calibration error {result.calibration.ece:.3f}; exact confidences "
                    f"would give {result.calibration.expected:.3f} on as many decisions"
                )
            ],
            names=2,
            columns="low: confidence from | high: to | confidence: mean confidence | right",
        )
