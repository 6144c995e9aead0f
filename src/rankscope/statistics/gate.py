"""The gate: is the candidate worse than the baseline, by more than is tolerable and than chance?

A measure fails only if its drop is both *significant* (one paired test for each measure, corrected
by Holm over the measures) and *larger than the margin*. The first alone would stop a change for a
drop nobody minds, the second alone for noise.

The test is two-sided although only a drop can fail: its p-value, before correction, and its
interval are those `compare` gives for the same scores, and where differences are skewed its error
rate strays less than a one-sided one's (docs/gate.md has numbers). A candidate as good as the
baseline is stopped in about α/2 of the cases. For the one-sided test at 0.05 give alpha = 0.1.

A pass means little if nothing could have been seen. So the smallest drop this many queries show
with the given power (paired t formula, at α divided by the number of measures: Holm's hardest step)
is part of each answer; one above the margin is warned about, or fails if power is required.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import computed_field, field_serializer

from rankscope.document.views import Shown
from rankscope.errors import InputError, counted
from rankscope.findings import Finding
from rankscope.part import Part, Record
from rankscope.scoring.score_files import QrelsRef
from rankscope.statistics.arrays import SAME, check_alpha, check_name, row_deviations
from rankscope.statistics.comparable import paired_runs
from rankscope.statistics.detectable import queries_needed
from rankscope.statistics.intervals import Interval
from rankscope.statistics.paired import TESTS, Test
from rankscope.statistics.pairwise import Pair, Settings, compare_pairs, pair_differences
from rankscope.statistics.sentences import about, listed, number, p_text, percent

if TYPE_CHECKING:
    from rankscope.measures.language import Measure
    from rankscope.runs.order import Order
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.matrix import Matrix

__all__ = ["GateResult", "gate"]

WORST = 5
"""How many of the worst losses are kept for each measure."""

Answer = Literal["pass", "fail"]
Reason = Literal[
    "regression", "no power", "improved", "within margin", "not significant", "identical"
]


class Loss(Part):
    """One query on which the candidate is worse."""

    query_id: str
    """The query."""
    baseline: float
    """The baseline's value."""
    candidate: float
    """The candidate's value."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


class MeasureCheck(Part):
    """One measure's answer."""

    measure: str
    """The measure."""
    higher_is_better: bool
    """Whether more is better."""
    baseline: float
    """The baseline's mean."""
    candidate: float
    """The candidate's mean."""
    difference: float
    """Mean of candidate minus baseline over the queries."""
    interval: Interval
    """Of the difference, for this measure alone."""
    p: float
    """Of the test, before correction."""
    corrected_p: float
    """Corrected by Holm over the measures."""
    significant: bool
    """Whether that is at most alpha."""
    max_drop: float
    """The margin: a drop up to this is tolerable."""
    visible_drop: float | None
    """The smallest drop shown with the power asked for; infinite (null in JSON) if none can be,
    null if unknown."""
    verdict: Answer
    """Whether it may pass."""
    reason: Reason
    """Why, in a word or two."""
    explanation: str
    """Why, in words that follow the measure's name."""
    wins: int
    """Queries on which the candidate is better."""
    losses: int
    """Queries on which it is worse."""
    worst: tuple[Loss, ...]
    """The largest losses."""
    warning: str = ""
    """Why a pass says less than it seems, in words that follow the measure's name; '' if not."""
    note: str = ""
    """What else should be known, likewise."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def drop(self) -> float:
        """How much worse the candidate is: a fall, or a rise where lower is better."""
        return 0.0 - self.difference if self.higher_is_better else self.difference

    @field_serializer("visible_drop", when_used="json")
    def _finite(self, visible: float | None) -> float | None:
        return visible if visible is not None and math.isfinite(visible) else None


class GateTest(Part):
    """How the p-values were made."""

    method: str
    """The paired test, and how its p-values were found."""
    sides: int = 2
    """It is two-sided."""
    correction: Literal["holm"] = "holm"
    """Over the measures."""
    seed: int
    """Of the resampling."""


class GateResult(Record, Shown):
    """The gate's answer, measure by measure, and how it was found."""

    kind: ClassVar[str] = "gate"

    passed: bool
    """Whether no measure failed."""
    baseline: str
    """The baseline's run."""
    candidate: str
    """The candidate's run."""
    queries: int
    """Queries compared."""
    qrels: QrelsRef
    """The judgments."""
    profile: str
    """Whose rules counted."""
    max_drop: float
    """The margin: a drop up to this is tolerable."""
    alpha: float
    """A corrected p-value up to this is significant."""
    power: float
    """The probability with which a drop as large as the margin should be seen."""
    require_power: bool
    """Whether it fails where it would not be seen."""
    test: GateTest
    """How the p-values were made."""
    checks: tuple[MeasureCheck, ...]
    """The answer of each measure."""
    findings: tuple[Finding, ...] = ()
    """What makes the scores of either side mean less than they seem."""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        failed = [check for check in self.checks if check.verdict == "fail"]
        if failed:
            why = "; ".join(f"{check.measure} {check.explanation}" for check in failed)
            return f"gate failed: {why}."
        several = f" in any of {len(self.checks)} measures" if len(self.checks) > 1 else ""
        queries = counted(self.queries, "query")
        unseen = [check for check in self.checks if check.warning]
        if not unseen:
            return (
                f"gate passed: no significant drop above {self.max_drop:g}{several} over {queries}."
            )
        worst = max(unseen, key=lambda check: check.visible_drop or 0.0)
        visible = worst.visible_drop if worst.visible_drop is not None else math.inf
        shows = "any drop" if math.isinf(visible) else f"a drop under {number(visible)}"
        observed = listed(
            (f"{check.measure} {number(-check.drop, sign=True)}" for check in unseen), 3
        )
        return f"gate passed, undecided: {queries} cannot show {shows}; observed {observed}."


def gate(
    baseline: Any,
    candidate: Any,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    *,
    qrels: Any = None,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    power: float = 0.8,
    require_power: bool = False,
    test: Test = "permutation",
    resamples: int = 10_000,
    seed: int = 0,
    profile: str | None = None,
    baseline_run: str | None = None,
    candidate_run: str | None = None,
    order: Order = "score",
) -> GateResult:
    """Compare a candidate with a baseline and say, for each measure, whether it may pass.

    Each of the two is a score file, what `Scores.to_dict` returned, `Scores`, or, with ``qrels``, a
    run in any form (``order="given"`` ranks its documents as they are listed). `InputError` ("not
    comparable") if judgments, queries or rules differ, or if a measure or a value is missing.

    >>> qrels = {f"q{n}": {"d": 1} for n in range(8)}
    >>> good = {query_id: {"d": 2.0, "e": 1.0} for query_id in qrels}
    >>> bad = {query_id: {"d": 1.0, "e": 2.0} for query_id in qrels}
    >>> gate(good, bad, "RR@10", qrels=qrels).passed
    False
    >>> gate(bad, good, "RR@10", qrels=qrels).passed
    True
    """
    if not (math.isfinite(max_drop) and max_drop >= 0):
        raise InputError(f"max_drop must be a finite number from 0 up, not {max_drop}")
    check_alpha(alpha)
    check_alpha(power, "power")
    check_name("test", test, TESTS)
    settings = Settings.of(
        test=test, family="all", alpha=alpha, level=1 - alpha, resamples=resamples, seed=seed
    )
    runs = (baseline_run, candidate_run)
    matrix, side, findings = paired_runs(
        baseline, candidate, measures, qrels=qrels, profile=profile, runs=runs, order=order
    )
    sight = _Sight(alpha / len(matrix.scales), power, test, resamples, max_drop)
    pairs = compare_pairs(matrix, [(0, 1)], settings, power=power)
    checks = tuple(
        _check(matrix, row, pair, sight, alpha=alpha, require_power=require_power)
        for row, pair in enumerate(pairs)
    )
    return GateResult(
        passed=all(check.verdict == "pass" for check in checks),
        baseline=matrix.systems[0],
        candidate=matrix.systems[1],
        queries=len(matrix.query_ids),
        qrels=QrelsRef(sha256=side.qrels),
        profile=side.profile,
        max_drop=max_drop,
        alpha=alpha,
        power=power,
        require_power=require_power,
        test=GateTest(method=" / ".join(dict.fromkeys(pair.method for pair in pairs)), seed=seed),
        checks=checks,
        findings=findings,
    )


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a test could have seen."""

    alpha: float
    power: float
    test: Test
    resamples: int
    max_drop: float

    def smallest_p(self, queries: int) -> float:
        """Return the p-value of the clearest result there could be."""
        if queries < 2:
            return 1.0
        sampled = 1 / (self.resamples + 1) if self.test in ("permutation", "bootstrap") else 0.0
        return max(sampled, 0.0 if self.test in ("t", "bootstrap") else 2.0 ** (1 - queries))

    def visible_drop(self, pair: Pair) -> float | None:
        """Return the smallest drop that would be seen; infinite if none, None if nobody knows."""
        if self.smallest_p(pair.queries) > self.alpha:
            return math.inf
        return pair.detectable if math.isfinite(pair.detectable) else None

    def warning(self, differences: FloatArray, visible: float | None) -> str:
        """Say what a pass does not rule out; '' if the margin could have been seen."""
        queries = counted(len(differences), "query")
        if visible is None or visible <= self.max_drop:
            return ""
        if math.isinf(visible):
            return (
                f"cannot be significant with {queries}: the clearest result there could be has "
                f"p = {self.smallest_p(len(differences)):.2g}, and {self.alpha:.2g} is needed; "
                "add queries"
            )
        return (
            f"was tested with {queries}, which cannot show a drop under {number(visible)} "
            f"({percent(self.power)} probability), so a drop of {self.max_drop:g} could pass "
            f"unseen{self._needed(differences)}"
        )

    def _needed(self, differences: FloatArray) -> str:
        sd = float(row_deviations(differences[np.newaxis])[0])
        try:
            needed = queries_needed(self.max_drop, sd=sd, alpha=self.alpha, power=self.power)
        except InputError:  # no margin, or millions of queries
            return ""
        return f"; it takes {about(needed)}, or a larger margin"


def _check(
    matrix: Matrix, row: int, pair: Pair, sight: _Sight, *, alpha: float, require_power: bool
) -> MeasureCheck:
    """Decide one measure."""
    scale = matrix.scales[row]
    differences = pair_differences(matrix, [(0, 1)])[row]
    gains = differences if scale.higher_is_better else -differences
    drop = -pair.difference if scale.higher_is_better else pair.difference
    significant = pair.p_corrected <= alpha
    visible = sight.visible_drop(pair)
    warning = sight.warning(differences, visible)
    reason = _reason(drop, pair, sight.max_drop, significant=significant)
    if reason in ("regression", "improved"):
        warning = ""  # a change that was seen needs no power to be seen
    note = ""
    if pair.is_same and not warning:
        note = _identical(pair)
    elif visible is None and not warning:
        note = "changed by the same amount in every query; no spread says what could be seen"
    if warning and require_power:
        reason = "no power"
    p = p_text(pair.p_corrected)
    explanation = {
        "regression": f"dropped by {number(drop)}, more than {sight.max_drop:g}, with {p}",
        "no power": warning,
        "improved": f"improved by {number(-drop)} with {p}",
        "within margin": f"dropped by {number(drop)}, which is within {sight.max_drop:g}",
        "not significant": f"changed by {number(pair.difference, sign=True)}, not shown to be more "
        f"than chance ({p})",
        "identical": "is identical in every query",
    }[reason]
    return MeasureCheck(
        measure=scale.name,
        higher_is_better=scale.higher_is_better,
        baseline=matrix.mean(row, 0),
        candidate=matrix.mean(row, 1),
        difference=pair.difference,
        interval=pair.interval,
        p=pair.p,
        corrected_p=pair.p_corrected,
        significant=significant,
        max_drop=sight.max_drop,
        visible_drop=visible,
        verdict="fail" if reason in ("regression", "no power") else "pass",
        reason=reason,
        explanation=explanation,
        wins=pair.wins,
        losses=pair.losses,
        worst=_worst(matrix, row, gains),
        warning="" if reason == "no power" else warning,
        note=note,
    )


def _reason(drop: float, pair: Pair, max_drop: float, *, significant: bool) -> Reason:
    if pair.is_same:
        return "identical"
    if not significant:
        return "not significant"
    if drop < 0:
        return "improved"
    return "regression" if drop > max_drop + SAME else "within margin"


def _identical(pair: Pair) -> str:
    """Say what values that do not vary leave open."""
    queries = counted(pair.queries, "query")
    open_ends = ""
    if math.isfinite(pair.interval.high):
        mean = number(pair.interval.high)
        open_ends = f", and over other queries the mean may differ by up to {mean}"
    return f"is identical in all {queries}; no spread says what drop could be seen{open_ends}"


def _worst(matrix: Matrix, row: int, gains: FloatArray) -> tuple[Loss, ...]:
    """Return the largest losses; equal ones in the order of their ids."""
    return tuple(
        Loss(
            query_id=matrix.query_ids[place],
            baseline=matrix.values[row, 0, place],
            candidate=matrix.values[row, 1, place],
        )
        for place in np.argsort(gains, kind="stable")[:WORST].tolist()
        if gains[place] < 0
    )
