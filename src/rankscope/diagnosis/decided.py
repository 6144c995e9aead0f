"""What a router and a gate have in common: which decisions count, how sure they are, their price.

Where there are qrels, decisions for other queries do not count: they may be of another set.

Questions decided rightly are compared with others that were not, so a difference may also be one of
how hard they are: what right decisions would gain is at most that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from rankscope.collection.decisions import Decisions
from rankscope.diagnosis.analysis import Analysed, Inputs
from rankscope.diagnosis.show import part_table
from rankscope.document.blocks import Block, sentences
from rankscope.errors import counted
from rankscope.findings import Code, Finding, declare
from rankscope.part import Part
from rankscope.statistics.decision_rates import Calibration, calibration
from rankscope.statistics.groups import GroupDifference, group_difference

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


class QualityGap(Part):
    """The best system on questions decided rightly (first) and wrongly (second)."""

    system: str
    """The system."""
    measure: str
    """The main measure."""
    groups: GroupDifference
    """Its means over both groups; of the questions that are judged."""
    is_shown: bool
    """Whether they differ by more than chance."""
    gain: float
    """How much its mean over all judged questions would gain at most, if those decided wrongly did
    as well as the others; 0 where no difference is shown."""


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
    quality: QualityGap | None
    """How the best system does on questions decided rightly and wrongly; null where too few of them
    are judged."""


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


def quality_gap(inputs: Inputs, right: Iterable[str], wrong: Iterable[str]) -> QualityGap | None:
    """Compare questions by their ids; None without scores, or with fewer than two on one side."""
    if not inputs.has("scores") or not inputs.scores.runs:
        return None
    definition, measure = inputs.main.definition, str(inputs.main)
    if definition.aggregate != "mean":
        return None
    values = inputs.scores.values(measure, inputs.focus)
    known = {query_id for query_id, value in values.items() if math.isfinite(value)}
    first, second = (
        [values[query_id] for query_id in query_ids if query_id in known]
        for query_ids in (right, wrong)
    )
    if min(len(first), len(second)) < 2:
        return None
    groups = group_difference(first, second, level=inputs.settings.level, bounds=definition.range)
    better = inputs.sign * groups.difference
    judged = len(inputs.qrels.query_ids) if inputs.has("qrels") else len(values)
    is_shown = groups.is_shown(inputs.settings.alpha)
    return QualityGap(
        system=inputs.focus,
        measure=measure,
        groups=groups,
        is_shown=is_shown,
        gain=better * len(second) / judged if is_shown and better > 0 else 0.0,
    )


def wrong_decisions(
    code: Code, text: str, count: int, quality: QualityGap | None, *, surely_many: bool
) -> Iterator[Finding]:
    """Yield a finding if wrong decisions are surely many, or are shown to cost quality."""
    gain = 0.0 if quality is None else quality.gain
    if quality is not None and gain:
        groups = quality.groups
        text += (
            f"; {quality.system} has {quality.measure} of {groups.second:.3f} there, and "
            f"{groups.first:.3f} on the others"
        )
    if gain or surely_many:
        yield code.finding(
            text, count=count, severity=None if surely_many else "note", gain=gain or None
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


def common_blocks(who: str, result: Decided, right: str, wrong: str) -> Iterator[Block | None]:
    """Show how well confidences say what is right, and what wrong decisions cost."""
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
    if result.quality is not None:
        gap, groups = result.quality, result.quality.groups
        verdict = "" if gap.is_shown else ", a difference that may be chance"
        text = (
            f"{gap.system}: {right} score {groups.first:.3f} {gap.measure} ({groups.first_n:,} "
            f"judged), {wrong} {groups.second:.3f} ({groups.second_n:,}){verdict}"
        )
        yield sentences([text])
