"""Adaptive depth: do the decided numbers of documents serve better than one for all questions?

An analysis of `rankscope.collection.decisions`. Each answer is cut at its own k and measured; the
same run is cut at one k for all questions that shows as many documents in all, and at the largest
k that was decided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.decided import OTHER_QUERIES, judged_decisions, other_queries
from rankscope.diagnosis.depth_tables import depths_section, fixed_depths
from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.diagnosis.registry import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.errors import InputError
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.pairwise import agreeing

if TYPE_CHECKING:
    from rankscope.document.blocks import Section
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure

SEEMS_CUT = 0.1
"""Where more than this share of the answers end exactly at a k below the largest, the run was cut
at the decided k, and what a fixed k would have shown is not in it."""

MOST_GROUPS = 6
"""Up to so many different k each is a group; of more, k is cut into as many ranges."""

LOSES = declare(
    "RS695",
    "adaptive-depth-loses",
    "warning",
    unit="system",
    advice="use a fixed k until the depth is decided better: it costs as much and finds more",
    meaning="""Cut at the decided numbers of documents, a system is significantly worse than with
    one number for all questions that shows as many documents in all.""",
)


class DepthQuality(Part):
    """How good answers are at some depth."""

    value: float
    """The main measure."""
    success: float
    """Success: the share of questions with a relevant document among those shown."""
    precision: float
    """Relevant of the documents shown, averaged over questions; 0 where none is shown."""
    recall: float
    """Of the relevant documents, those shown, averaged over questions."""
    documents: float
    """Documents shown for a question, on average."""


class DepthGroup(Part):
    """Questions with similar k."""

    low: int
    """The smallest k."""
    high: int
    """The largest k."""
    n: int
    """How many questions."""
    relevant: float
    """Relevant documents that a question has, on average."""
    decided: DepthQuality
    """At the decided k."""
    interval: Interval | None
    """Of the main measure, by Student's t; null where it is no mean."""
    fixed: float | None
    """The main measure of the same questions at the fixed k of the same cost; null where that is
    not in the run."""


class SystemDepths(Part):
    """One system at the decided and at fixed depths."""

    system: str
    """The system."""
    decided: DepthQuality
    """Each answer cut at its k."""
    is_cut: bool
    """Whether the run seems to have been cut at the decided k, so that no fixed k can be seen."""
    fixed_k: float | None
    """The one k for all questions that shows as many documents in all; between two whole numbers
    it is a mixture of both. Null where the run was cut."""
    fixed: DepthQuality | None
    """Each answer cut at that k."""
    largest: DepthQuality | None
    """Each answer cut at the largest k that was decided."""
    difference: float | None
    """The main measure with the decided k minus that with the fixed k; null where it is no mean."""
    interval: Interval | None
    """Of the difference, by Student's t, for all systems at once."""
    p_corrected: float | None
    """Of the paired t test, corrected by Bonferroni over the systems."""
    saved: float | None
    """Documents saved against the largest k for all, as a share."""
    groups: tuple[DepthGroup, ...]
    """By k, the smallest first."""


class AdaptiveDepths(Analysed):
    """Whether the decided depths serve better than a fixed one."""

    measure: str
    """The main measure."""
    queries: int
    """Judged questions with a decided k."""
    undecided: int
    """Judged questions without one, which are left out."""
    unjudged: int
    """Decisions for questions that are not judged, which are left out."""
    other_queries: int
    """Decisions for queries that the qrels do not have at all; those with a k are among the
    unjudged."""
    smallest_k: int
    """The smallest k."""
    mean_k: float
    """The mean k."""
    largest_k: int
    """The largest k."""
    alpha: float
    """A corrected p-value up to this counts."""
    systems: tuple[SystemDepths, ...]
    """By system."""


class AdaptiveDepthsConfig(AnalysisConfig):
    """How depths are grouped."""

    groups: int = Field(default=MOST_GROUPS, ge=1, le=100)
    """Up to so many different k each is a group of its own; more are put into as many ranges."""


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """What is measured by question when answers are cut."""

    measure: Measure
    value: FloatArray
    success: FloatArray
    precision: FloatArray
    recall: FloatArray
    documents: FloatArray

    @classmethod
    def of(cls, run: JudgedRun, measure: Measure, cutoff: int | IntArray) -> _Shown:
        cut = run.cut(cutoff)
        hits, shown, known = cut.found(RELEVANT), cut.retrieved, cut.graded(RELEVANT)
        return cls(
            measure,
            compute(measure, cut),
            (hits > 0).astype(np.float64),
            np.divide(hits, shown, out=cut.zeros(), where=shown > 0),
            np.divide(hits, known, out=cut.zeros(), where=known > 0),
            shown.astype(np.float64),
        )

    def mixed(self, other: _Shown, share: float) -> _Shown:
        """Return what is expected if a question gets the other depth with this probability."""

        def mix(name: str) -> FloatArray:
            first, second = getattr(self, name), getattr(other, name)
            mixture: FloatArray = (1 - share) * first + share * second
            return mixture

        names = ("value", "success", "precision", "recall", "documents")
        return _Shown(self.measure, *map(mix, names))

    def quality(self, rows: IntArray | slice = slice(None)) -> DepthQuality:
        def mean(values: FloatArray) -> float:
            part = values[rows]
            return math.fsum(part.tolist()) / len(part)

        return DepthQuality(
            value=aggregate(self.measure, self.value[rows]),
            success=mean(self.success),
            precision=mean(self.precision),
            recall=mean(self.recall),
            documents=mean(self.documents),
        )


def same_cost(decided: IntArray, retrieved: IntArray) -> tuple[int, float]:
    """Return the fixed depth that shows as many documents: whole part, and share of one more.

    With d documents for all, Σ min(d, retrieved) are shown; between two whole numbers the sum is
    linear in the share of questions that get one more.

    >>> same_cost(np.array([1, 2, 5]), np.array([9, 9, 9]))
    (2, 0.6666666666666666)
    """
    total = int(np.minimum(decided, retrieved).sum())
    low, high = 0, int(decided.max(initial=0))
    while high - low > 1:  # the depth that shows too few or just enough, and one that shows enough
        middle = (low + high) // 2
        is_enough = int(np.minimum(middle, retrieved).sum()) >= total
        low, high = (low, middle) if is_enough else (middle, high)
    below, above = (int(np.minimum(depth, retrieved).sum()) for depth in (low, high))
    if above <= total or above == below:
        return high, 0.0
    return low, (total - below) / (above - below)


def _look(config: AdaptiveDepthsConfig, inputs: Inputs) -> AdaptiveDepths | NotApplicable:
    assert inputs.decisions is not None
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    decisions = judged_decisions(inputs)
    if isinstance(decisions, str):
        return ADAPTIVE_DEPTHS.not_applicable(decisions)
    missing = inputs.decisions.lacking("k")
    if missing is not None:
        return ADAPTIVE_DEPTHS.not_applicable(missing)
    left_out = len(inputs.decisions) - len(decisions)
    rows = inputs.decisions.to_polars().drop_nulls("k").select("query_id", "k")
    depths = dict(rows.iter_rows())
    has_depth = np.array([query_id in depths for query_id in inputs.qrels.query_ids], np.bool_)
    if not has_depth.any():
        return ADAPTIVE_DEPTHS.not_applicable(
            "no question with a decided k is judged; use the same ids in decisions and qrels"
        )
    decided = np.array(
        [depths[query_id] for query_id in inputs.qrels.query_ids if query_id in depths], np.int64
    )
    groups = _groups(decided, config.groups)
    systems = []
    try:
        for name, run in inputs.runs.items():
            judged = align(inputs.qrels, run, sound=False).judged.only(has_depth)
            systems.append(_of_system(name, judged, decided, groups, inputs))
    except InputError as error:  # a measure that needs more than judgments
        return ADAPTIVE_DEPTHS.not_applicable(str(error))
    systems = _corrected(systems, inputs.settings.alpha)
    findings, advice = _remarks(systems, inputs, len(decided))
    return AdaptiveDepths(
        measure=inputs.scores.measures[0],
        queries=len(decided),
        undecided=int(np.count_nonzero(~has_depth)),
        unjudged=len(depths) - len(decided),
        other_queries=left_out,
        smallest_k=int(decided.min()),
        mean_k=float(decided.mean()),
        largest_k=int(decided.max()),
        alpha=inputs.settings.alpha,
        systems=tuple(systems),
        findings=(*findings, *other_queries(left_out)),
        advice=advice,
    )


def _groups(decided: IntArray, most: int) -> list[IntArray]:
    """Return the rows of questions with similar k; equal k are never in two groups."""
    different = np.unique(decided)
    if len(different) <= most:
        return [np.flatnonzero(decided == k) for k in different]
    quantiles = np.quantile(decided, np.arange(1, most) / most, method="inverted_cdf")
    number = np.searchsorted(np.unique(quantiles), decided, side="left")
    return [np.flatnonzero(number == group) for group in np.unique(number)]


def _of_system(
    name: str, judged: JudgedRun, decided: IntArray, groups: list[IntArray], inputs: Inputs
) -> SystemDepths:
    main = inputs.main
    shown = _Shown.of(judged, main, decided)
    deepest = int(decided.max())
    ends_there = (judged.retrieved == decided) & (decided < deepest) & (decided > 0)
    is_cut = int(np.count_nonzero(ends_there)) > SEEMS_CUT * len(decided)
    fixed = largest = fixed_k = saved = difference = interval = p = None
    if not is_cut:
        depth, share = same_cost(decided, judged.retrieved)
        fixed_k = depth + share
        fixed = _Shown.of(judged, main, depth)
        if share:
            fixed = fixed.mixed(_Shown.of(judged, main, depth + 1), share)
        largest = _Shown.of(judged, main, deepest)
        most = float(largest.documents.sum())
        saved = 1 - float(shown.documents.sum()) / most if most else 0.0
        if main.definition.aggregate == "mean":
            changes = shown.value - fixed.value
            difference = math.fsum(changes.tolist()) / len(changes)
            interval, p = _tested(changes, inputs)
    return SystemDepths(
        system=name,
        decided=shown.quality(),
        is_cut=is_cut,
        fixed_k=fixed_k,
        fixed=None if fixed is None else fixed.quality(),
        largest=None if largest is None else largest.quality(),
        difference=difference,
        interval=interval,
        p_corrected=p,
        saved=saved,
        groups=tuple(_group(rows, shown, fixed, judged, decided, inputs) for rows in groups),
    )


def _tested(changes: FloatArray, inputs: Inputs) -> tuple[Interval, float]:
    """Return interval and p of a mean difference, by Student's t; p is not corrected yet."""
    assert inputs.runs is not None
    low, high = inputs.main.definition.range
    reach = high - low
    [interval] = mean_intervals(
        changes,
        method="t",
        level=1 - (1 - inputs.settings.level) / len(inputs.runs),
        bounds=(-reach, reach),
    )
    [test] = paired_tests(changes, test="t", **inputs.settings.resampling)
    return interval, test.p


def _group(  # noqa: PLR0917
    rows: IntArray,
    shown: _Shown,
    fixed: _Shown | None,
    judged: JudgedRun,
    decided: IntArray,
    inputs: Inputs,
) -> DepthGroup:
    interval = None
    definition = inputs.main.definition
    if definition.aggregate == "mean":
        [interval] = mean_intervals(
            shown.value[rows], method="t", level=inputs.settings.level, bounds=definition.range
        )
    return DepthGroup(
        low=int(decided[rows].min()),
        high=int(decided[rows].max()),
        n=len(rows),
        relevant=float(judged.graded(RELEVANT)[rows].mean()),
        decided=shown.quality(rows),
        interval=interval,
        fixed=None if fixed is None else aggregate(inputs.main, fixed.value[rows]),
    )


def _corrected(systems: list[SystemDepths], alpha: float) -> list[SystemDepths]:
    """Correct the p-values of all systems together; intervals agree with them."""
    raw = {system.system: p for system in systems if (p := system.p_corrected) is not None}
    by_name = dict(zip(raw, corrected(list(raw.values()), "bonferroni").tolist(), strict=True))
    rows = []
    for system in systems:
        p, interval = by_name.get(system.system), system.interval
        if p is not None and interval is not None and system.difference is not None:
            interval = agreeing(interval, system.difference, p, alpha)
        rows.append(system.model_copy(update={"p_corrected": p, "interval": interval}))
    return rows


def _same_cost_in_words(system: SystemDepths, fixed: DepthQuality) -> str:
    """Say which fixed depth costs as much."""
    assert system.fixed_k is not None
    depths = fixed_depths(system.fixed_k)
    if len(depths) == 1:
        return f"k = {depths[0]:,} for every question, which shows as many documents"
    return (
        f"the same {fixed.documents:.3g} documents on average, as a mix of k = {depths[0]:,} and "
        f"{depths[1]:,}"
    )


def _remarks(
    systems: list[SystemDepths], inputs: Inputs, queries: int
) -> tuple[list[Finding], tuple[Advice, ...]]:
    """Name each system for which a fixed k of the same cost is better."""
    assert inputs.qrels is not None
    sign = 1 if inputs.main.definition.higher_is_better else -1
    findings, advice = [], []
    for system in systems:
        if system.difference is None or system.p_corrected is None or system.fixed is None:
            continue
        loss = -sign * system.difference
        if loss <= 0 or system.p_corrected > inputs.settings.alpha:
            continue
        text = (
            f"{system.system} has {inputs.main} of {system.decided.value:.3f} with the decided k, "
            f"and {system.fixed.value:.3f} with {_same_cost_in_words(system, system.fixed)}"
        )
        findings.append(
            LOSES.finding(
                text,
                system=system.system,
                evidence={"difference": system.difference, "p_corrected": system.p_corrected},
            )
        )
        if system.system == inputs.focus:
            gain = loss * queries / len(inputs.qrels.query_ids)
            advice.append(Advice(text=f"Adaptive k: {text}", gain=gain))
    return findings, tuple(advice)


def _section(result: AdaptiveDepths) -> Section:
    return depths_section(result, ADAPTIVE_DEPTHS.title)


ADAPTIVE_DEPTHS = register(
    Analysis(
        name="adaptive_k",
        title="Adaptive depth",
        summary="Whether a number of documents decided for each question beats one for all.",
        config=AdaptiveDepthsConfig,
        written="adaptive_k: {groups: 6}",
        result=AdaptiveDepths,
        needs=("decisions", "scores", "runs", "qrels"),
        look=_look,
        section=_section,
        codes=(LOSES, OTHER_QUERIES),
        place=36,
    )
)
