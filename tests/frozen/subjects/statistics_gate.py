"""Frozen: the figures of the gate, by Student's t: drop, interval, thresholds, and its answer.

Asked through `gate` with ``test="t"``, without a history: the difference with its interval, p, the
smallest drop that would be seen, how many queries would settle it, queries that lost too much, and
floors. The answer is a number: 1 no regression, 0 undecided, -1 regression. Of several measures
together only p-values by Holm are frozen, and the answers. Not frozen: the interval of differences
that are all the same and not 0, and a case whose p-value is below what sign flips allow.

Oracle: difference, interval and p are those of `compare` (`statistics_tests`), which SciPy checks;
`tests/frozen/test_oracles.py` derives answers and the number of queries from them by the rule: a
regression if the interval is below 0 and the drop beyond the margin, none if it is above −margin.
"""

from __future__ import annotations

import math
from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, LACKING, MEASURE, bundled, judged
from frozen.subjects import subject

ANSWERS = {"no regression": 1, "undecided": 0, "regression": -1}
MARGINS = [0.0, 0.01, 0.05]
MEASURES = ["nDCG@10", "RR@10", "AP"]


@subject
def statistics_gate() -> Any:
    """Ask the gate about each case, in both directions."""
    qrels, runs = bundled()
    found: dict[str, Any] = {"margins": {}, "guards": {}}
    for measure in MEASURES:
        found["margins"][f"bundled, {measure}"] = _both_ways(
            qrels, runs["lexical"], runs["hybrid"], measure
        )
    for case, values in CASES.items():
        if len(values["base"]) >= 5 and case != "nearly equal differences":
            judgments, cases = judged(values)
            found["margins"][case] = _both_ways(judgments, cases["base"], cases["system"], MEASURE)
    found["three measures"] = {
        name: _three(qrels, runs[one], runs[other])
        for name, one, other in (
            ("hybrid - lexical", "lexical", "hybrid"),
            ("lexical - hybrid", "hybrid", "lexical"),
            ("first three - lexical", "lexical", "first three"),
        )
    }
    found["guards"] = {
        "bundled": _guarded(qrels, runs["lexical"], runs["hybrid"], "nDCG@10", drop=0.3, floor=0.7),
        "one outlier": _guarded(*_sides("one outlier"), MEASURE, drop=0.5, floor=0.5),
        "mostly ties": _guarded(*_sides("mostly ties"), MEASURE, drop=0.05, floor=0.4),
    }
    judgments, lacks = judged(LACKING)
    sides = lacks["base"], lacks["system"]
    result = rs.gate(*sides, MEASURE, qrels=judgments, test="t", missing="zero")
    found["two queries missing, as 0"] = _figures(result.checks[0])
    return found


def _sides(case: str) -> tuple[Any, Any, Any]:
    qrels, runs = judged(CASES[case])
    return qrels, runs["base"], runs["system"]


def _both_ways(qrels: Any, one: Any, other: Any, measure: str) -> dict[str, Any]:
    found = {}
    for direction, sides in (("up", (one, other)), ("down", (other, one))):
        checks = {
            margin: rs.gate(*sides, measure, qrels=qrels, test="t", max_drop=margin).checks[0]
            for margin in MARGINS
        }
        found[direction] = {
            **_figures(checks[0.0]),
            "answer, queries to settle it": {
                margin: [ANSWERS[check.answer], check.settled_by]
                for margin, check in checks.items()
            },
        }
    return found


def _figures(check: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "means": [check.baseline, check.candidate],
        "difference, p": [check.difference, check.p],
    }
    if check.interval.method == "t" or not check.difference:
        figures["95% interval"] = [check.interval.low, check.interval.high]
        seen = check.visible_drop
        figures["smallest drop seen"] = round(seen, 8) if math.isfinite(seen) else seen
    return figures


def _three(qrels: Any, baseline: Any, candidate: Any) -> dict[str, Any]:
    result = rs.gate(baseline, candidate, MEASURES, qrels=qrels, test="t", max_drop=0.01)
    return {
        "answer": ANSWERS[result.answer],
        "by measure": {
            check.measure: [ANSWERS[check.answer], check.difference, check.corrected_p]
            for check in result.checks
        },
    }


def _guarded(
    qrels: Any, baseline: Any, candidate: Any, measure: str, *, drop: float, floor: float
) -> dict[str, Any]:
    """Return what guards find: queries that lost more than ``drop``, a mean below ``floor``."""
    result = rs.gate(
        baseline,
        candidate,
        measure,
        qrels=qrels,
        test="t",
        max_query_drop=drop,
        minimum={measure: floor},
    )
    [check], [least] = result.checks, result.floors
    return {
        "answer": ANSWERS[result.answer],
        "queries that lost too much": {loss.query_id: loss.change for loss in check.broken},
        "largest losses": [loss.change for loss in check.worst],
        "mean, floor, reached": [least.candidate, least.floor, int(least.reached)],
    }
