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
stands beside each verdict; one above the margin is warned about, or fails if power is required.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import InputError, counted
from rankscope.measures.language import Measure, parse_measures
from rankscope.statistics.arrays import SAME, check_alpha, constant_rows, row_deviations, row_means
from rankscope.statistics.comparable import Pairs, take_records
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.power import detectable_difference, queries_needed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.measures.judged import FloatArray
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.paired import Test, TestResult

__all__ = ["SCHEMA", "Check", "GateResult", "Loss", "gate", "p_text", "percent"]

SCHEMA = "rankscope/gate/1"
"""What `GateResult.to_dict` writes."""

WORST = 5
"""How many of the worst losses are kept for each measure."""

Verdict = Literal["pass", "fail"]
Reason = Literal[
    "regression", "no power", "improved", "within margin", "not significant", "identical"
]


@dataclass(frozen=True, slots=True)
class Loss:
    """One query on which the candidate is worse."""

    query_id: str
    baseline: float
    candidate: float

    @property
    def change(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


@dataclass(frozen=True, slots=True)
class Check:
    """One measure's answer."""

    measure: str
    higher_is_better: bool
    baseline: float
    candidate: float
    difference: float
    """Mean of candidate minus baseline over the queries."""
    interval: Interval
    """Of the difference, for this measure alone."""
    p: float
    corrected_p: float
    significant: bool
    max_drop: float
    visible_drop: float | None
    """The smallest drop shown with this power; infinite if none can be, None if unknown."""
    verdict: Verdict
    reason: Reason
    explanation: str
    """The verdict in words, to follow the measure's name."""
    wins: int
    losses: int
    worst: tuple[Loss, ...]
    warning: str = ""
    """Why a pass says less than it seems; '' if it does not."""
    note: str = ""

    @property
    def drop(self) -> float:
        """How much worse the candidate is: a fall, or a rise where lower is better."""
        return 0.0 - self.difference if self.higher_is_better else self.difference

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; an infinite visible drop is None with a warning."""
        seen = self.visible_drop
        return {
            **asdict(self),
            "drop": self.drop,
            "interval": self.interval.to_dict(),
            "visible_drop": seen if seen is not None and math.isfinite(seen) else None,
            "worst": [{**asdict(loss), "change": loss.change} for loss in self.worst],
        }


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's answer, measure by measure, and how it was found."""

    baseline: str
    candidate: str
    queries: int
    qrels: str
    profile: str
    checks: tuple[Check, ...]
    max_drop: float
    alpha: float
    power: float
    require_power: bool
    method: str
    seed: int

    @property
    def passed(self) -> bool:
        """Whether no measure failed."""
        return all(check.verdict == "pass" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "schema": SCHEMA,
            "passed": self.passed,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "queries": self.queries,
            "qrels": {"sha256": self.qrels},
            "profile": self.profile,
            "max_drop": self.max_drop,
            "alpha": self.alpha,
            "power": self.power,
            "require_power": self.require_power,
            "test": {"method": self.method, "sides": 2, "correction": "holm", "seed": self.seed},
            "checks": [check.to_dict() for check in self.checks],
        }


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
) -> GateResult:
    """Compare a candidate with a baseline and say, for each measure, whether it may pass.

    Each of the two is a score file, what `Scores.to_dict` returned, `Scores`, or, with ``qrels``, a
    run in any form. `InputError` ("not comparable") if judgments, queries or rules differ, or if a
    measure or a value is missing.

    >>> qrels = {f"q{n}": {"d": 1} for n in range(8)}
    >>> good = {query_id: {"d": 2.0, "e": 1.0} for query_id in qrels}
    >>> bad = {query_id: {"d": 1.0, "e": 2.0} for query_id in qrels}
    >>> gate(good, bad, "RR@10", qrels=qrels).passed
    False
    >>> gate(bad, good, "RR@10", qrels=qrels).passed
    True
    """
    asked = parse_measures(measures)
    if not asked:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    if not (math.isfinite(max_drop) and max_drop >= 0):
        raise InputError(f"max_drop must be a finite number from 0 up, not {max_drop}")
    check_alpha(alpha)
    check_alpha(power, "power")
    first, second = take_records(baseline, candidate, asked, qrels=qrels, profile=profile)
    pairs = Pairs.of(first, second, asked, runs=(baseline_run, candidate_run))
    differences = pairs.differences
    tests = paired_tests(differences, test=test, resamples=resamples, seed=seed)
    adjusted = corrected([result.p for result in tests], "holm").tolist()
    sight = _Sight(alpha / len(tests), power, test, resamples, max_drop)
    options: Any = {"level": 1 - alpha, "resamples": resamples, "seed": seed}
    intervals = _intervals(differences, pairs.measures, options)
    checks = [
        _check(
            *(pairs, row, tests[row], intervals[row], sight),
            corrected_p=own,
            significant=own <= alpha,
            require_power=require_power,
        )
        for row, own in enumerate(adjusted)
    ]
    return GateResult(
        baseline=pairs.names[0],
        candidate=pairs.names[1],
        queries=len(pairs.query_ids),
        qrels=first.qrels,
        profile=first.profile,
        checks=tuple(checks),
        max_drop=max_drop,
        alpha=alpha,
        power=power,
        require_power=require_power,
        method=" / ".join(dict.fromkeys(result.method for result in tests)),
        seed=seed,
    )


def _intervals(rows: FloatArray, measures: tuple[Measure, ...], options: Any) -> list[Interval]:
    """Return the interval of each row's mean; rows with the same range share their resamples."""
    reaches = [high - low for low, high in (one.definition.range for one in measures)]
    found: dict[int, Interval] = {}
    for reach in set(reaches):
        places = [place for place, one in enumerate(reaches) if one == reach]
        bounds = (-reach, reach) if math.isfinite(reach) else None
        found.update(
            zip(places, mean_intervals(rows[places], bounds=bounds, **options), strict=True)
        )
    return [found[place] for place in range(len(rows))]


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

    def visible_drop(self, differences: FloatArray) -> float | None:
        """Return the smallest drop that would be seen; infinite if none, None if nobody knows."""
        rows, queries = differences[np.newaxis], len(differences)
        if self.smallest_p(queries) > self.alpha:
            return math.inf
        if constant_rows(rows)[0]:
            return None
        sd = float(row_deviations(rows)[0])
        return detectable_difference(n=queries, sd=sd, alpha=self.alpha, power=self.power)

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
            f"was tested with {queries}, which show a drop of {visible:.4f} or more with "
            f"{percent(self.power)} probability, so a drop of {self.max_drop:g} could pass unseen"
            f"{self._needed(differences)}"
        )

    def _needed(self, differences: FloatArray) -> str:
        sd = float(row_deviations(differences[np.newaxis])[0])
        try:
            needed = queries_needed(self.max_drop, sd=sd, alpha=self.alpha, power=self.power)
        except InputError:  # no margin, or millions of queries
            return ""
        return f"; about {needed:,} queries are needed to see it"


def percent(share: float) -> str:
    """Return ``95 %`` for 0.95."""
    return f"{100 * share:.4g} %"


def p_text(p: float) -> str:
    """Return a p-value as people read it; one never is 0."""
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def _check(
    pairs: Pairs,
    row: int,
    result: TestResult,
    interval: Interval,
    sight: _Sight,
    *,
    corrected_p: float,
    significant: bool,
    require_power: bool,
) -> Check:
    """Decide one measure."""
    measure, differences = pairs.measures[row], pairs.differences[row]
    higher = measure.definition.higher_is_better
    gains = differences if higher else -differences
    difference = float(row_means(differences[np.newaxis])[0])
    drop = -difference if higher else difference
    visible = sight.visible_drop(differences)
    warning = sight.warning(differences, visible)
    reason = _reason(drop, gains, sight.max_drop, significant=significant)
    if reason in ("regression", "improved"):
        warning = ""  # a change that was seen needs no power to be seen
    note = ""
    if not gains.any() and not warning:
        note = _identical(len(gains), interval)
    elif visible is None and not warning:
        note = "changed by the same amount in every query; no spread says what could be seen"
    if warning and require_power:
        reason = "no power"
    explanation = {
        "regression": f"dropped by {drop:.4f}, more than {sight.max_drop:g}, with "
        f"{p_text(corrected_p)}",
        "no power": warning,
        "improved": f"improved by {-drop:.4f} with {p_text(corrected_p)}",
        "within margin": f"dropped by {drop:.4f}, which is within {sight.max_drop:g}",
        "not significant": f"changed by {difference:+.4f}, which chance explains "
        f"({p_text(corrected_p)})",
        "identical": "is identical in every query",
    }[reason]
    return Check(
        measure=str(measure),
        higher_is_better=higher,
        baseline=pairs.means[0][row],
        candidate=pairs.means[1][row],
        difference=difference,
        interval=interval,
        p=result.p,
        corrected_p=corrected_p,
        significant=significant,
        max_drop=sight.max_drop,
        visible_drop=visible,
        verdict="fail" if reason in ("regression", "no power") else "pass",
        reason=reason,
        explanation=explanation,
        wins=int(np.count_nonzero(gains > 0)),
        losses=int(np.count_nonzero(gains < 0)),
        worst=_worst(pairs, row, gains),
        warning="" if reason == "no power" else warning,
        note=note,
    )


def _reason(drop: float, gains: FloatArray, max_drop: float, *, significant: bool) -> Reason:
    if not gains.any():
        return "identical"
    if not significant:
        return "not significant"
    if drop < 0:
        return "improved"
    return "regression" if drop > max_drop + SAME else "within margin"


def _identical(queries: int, interval: Interval) -> str:
    """Say what values that do not vary leave open."""
    said = (
        f"is identical in all {counted(queries, 'query')}; no spread says what drop could be seen"
    )
    if math.isfinite(interval.high):
        said += f", and over other queries the mean may differ by up to {interval.high:.4f}"
    return said


def _worst(pairs: Pairs, row: int, gains: FloatArray) -> tuple[Loss, ...]:
    """Return the largest losses; equal ones in the order of their ids."""
    order = np.argsort(gains, kind="stable")[:WORST]
    return tuple(
        Loss(
            pairs.query_ids[place],
            float(pairs.baseline[row, place]),
            float(pairs.candidate[row, place]),
        )
        for place in order
        if gains[place] < 0
    )
