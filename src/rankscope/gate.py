"""The gate: is the candidate worse than the baseline, by more than is tolerable and than chance?

A measure fails only if its drop is both *significant* (one paired test for each measure, corrected
by Holm over the measures) and *larger than the margin*. The first alone would stop a change for a
drop nobody minds, the second alone for noise.

The test is two-sided although only a drop can fail: its p-value and interval are those a comparison
shows for the same scores, and where differences are skewed it keeps its error rate, which a
one-sided one does not. A candidate as good as the baseline is thus stopped in about α/2 of the cases
at most. Whoever wants the one-sided test at 0.05 gives alpha = 0.1.

A pass means little if nothing could have been seen. So the smallest drop this many queries show with
the given power (paired t formula, at α divided by the number of measures: Holm's hardest step)
stands beside each verdict; one above the margin is warned about, or fails if power is required.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import InputError
from rankscope.evaluation import Scores, evaluate
from rankscope.inputs import as_judgments, as_runs
from rankscope.measures.language import Measure, parse_measures
from rankscope.measures.registry import aggregate
from rankscope.scorefiles import ScoreRecord, is_score_file, listed, read_scores, what_differs
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.power import MOST_QUERIES, detectable_difference, queries_needed
from rankscope.statistics.rows import check_alpha, constant_rows, row_deviations, row_means

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.judged import FloatArray
    from rankscope.measures.language import Parsed
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.paired import Test, TestResult

__all__ = ["SCHEMA", "Check", "GateResult", "Loss", "gate"]

SCHEMA = "rankscope/gate/1"
"""What `GateResult.to_dict` writes."""

WORST = 5
"""How many of the worst losses are kept for each measure."""

_ROUNDING = 1e-12
"""A drop that exceeds the margin by less exceeds it by rounding only."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "query_id": self.query_id,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "change": self.change,
        }


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
    """Of the difference; not corrected for the number of measures."""
    p: float
    corrected_p: float
    significant: bool
    max_drop: float
    visible_drop: float | None
    """The smallest drop shown with the power asked for; infinite if none can be, None if unknown."""
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
        return -self.difference if self.higher_is_better else self.difference

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; an infinite visible drop is None with a warning."""
        seen = self.visible_drop
        return {
            "measure": self.measure,
            "higher_is_better": self.higher_is_better,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "difference": self.difference,
            "drop": self.drop,
            "interval": self.interval.to_dict(),
            "p": self.p,
            "corrected_p": self.corrected_p,
            "significant": self.significant,
            "max_drop": self.max_drop,
            "visible_drop": seen if seen is not None and math.isfinite(seen) else None,
            "verdict": self.verdict,
            "reason": self.reason,
            "explanation": self.explanation,
            "wins": self.wins,
            "losses": self.losses,
            "worst": [loss.to_dict() for loss in self.worst],
            "warning": self.warning,
            "note": self.note,
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
    first, second = _taken(baseline, candidate, asked, qrels, profile)
    pairs = _Pairs(first, second, asked, baseline_run, candidate_run)
    differences = pairs.candidate - pairs.baseline
    tests = paired_tests(differences, test=test, resamples=resamples, seed=seed)
    intervals = [
        mean_intervals(
            row, level=1 - alpha, resamples=resamples, seed=seed, bounds=_reach(measure)
        )[0]
        for row, measure in zip(differences, pairs.measures, strict=True)
    ]
    sight = _Sight(alpha / len(asked), power, test, resamples)
    adjusted = corrected([result.p for result in tests], "holm").tolist()
    checks = tuple(
        _check(pairs, row, tests[row], adjusted[row], intervals[row], sight,
               alpha=alpha, max_drop=max_drop, require_power=require_power)
        for row in range(len(asked))
    )  # fmt: skip
    return GateResult(
        baseline=pairs.names[0],
        candidate=pairs.names[1],
        queries=len(pairs.query_ids),
        qrels=first.qrels,
        profile=first.profile,
        checks=checks,
        max_drop=max_drop,
        alpha=alpha,
        power=power,
        require_power=require_power,
        method=" / ".join(dict.fromkeys(result.method for result in tests)),
        seed=seed,
    )


# --- what is compared ----------------------------------------------------------------------------


def _taken(
    baseline: Any, candidate: Any, asked: list[Parsed], qrels: Any, profile: str | None
) -> tuple[ScoreRecord, ScoreRecord]:
    """Return both sides as records; what is a run is scored by the rules of the other side."""
    records = [
        _as_record(data, role, scored=qrels is not None)
        for data, role in ((baseline, "the baseline"), (candidate, "the candidate"))
    ]
    rules = profile or next((one.profile for one in records if one is not None), "rankscope")
    judgments = None if qrels is None else as_judgments(qrels)
    taken = []
    for data, role, found in zip(
        (baseline, candidate), ("the baseline", "the candidate"), records, strict=True
    ):
        record = found
        if record is None:
            runs, _ = as_runs([data] if isinstance(data, str) or hasattr(data, "__fspath__") else data)
            names = [parsed.measure for parsed in asked]
            scores = evaluate(judgments, runs, names, profile=rules)
            record = ScoreRecord.of(scores, source=str(data) if isinstance(data, str) else role)
        elif judgments is not None and record.qrels != judgments.fingerprint:
            raise InputError(
                f"not comparable: {record.source} was scored against other judgments (sha256 "
                f"{record.qrels[:12]}…) than those given ({judgments.fingerprint[:12]}…); score it "
                "again against these"
            )
        if profile is not None and record.profile != profile:
            raise InputError(
                f"not comparable: {record.source} was scored by the rules of {record.profile}, "
                f"not {profile}; score it again by these"
            )
        taken.append(record)
    return taken[0], taken[1]
