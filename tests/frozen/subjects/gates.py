"""The gate, by Student's t; and queries that belong together, weigh more, or are told apart."""

from __future__ import annotations

import math
from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, LACKING, MEASURE, A, bundled, judged
from frozen.subjects import subject

ANSWERS = {"no regression": 1, "can't tell": 0, "regression": -1}
MARGINS = [0.0, 0.01, 0.05]
MEASURES = ["nDCG@10", "RR@10", "AP"]
PAIR = {
    "base": A,
    "system": [value + change for value, change in zip(A, [9, -3, 4, 0, 12] * 4, strict=True)],
}
"""Twenty queries; the system is better on most."""

CLUSTERS = {
    "equal": [at // 4 for at in range(20)],
    "unequal": [0] * 7 + [1] * 5 + [2] * 3 + [3] * 2 + [4, 5, 6],
    "single": list(range(20)),
}
WEIGHTS = {
    "equal": [1.0] * 20,
    "falling": [1 / (1 + at) for at in range(20)],
    "some 0": [0.0 if at % 4 == 0 else 2.0 for at in range(20)],
}
AGAIN = {
    "first": A,
    "second": [value + at % 3 for at, value in enumerate(A)],
    "third": [value - at % 2 for at, value in enumerate(A)],
}
"""Three runs of one system."""


# --- the gate ------------------------------------------------------------------------------------


@subject
def statistics_gate() -> Any:
    """Drop, interval, what would settle it, guards, and the answer as a number.

    1 is no regression, 0 can't tell, -1 a regression. Of several measures together only p-values by
    Holm are frozen, and the answers. Oracle: `compare`'s numbers
    (`statistics_tests`) and the rule (`test_oracles`).
    """
    qrels, runs = bundled()
    lexical, hybrid = runs["lexical"], runs["hybrid"]
    margins = {f"bundled, {each}": _both_ways(qrels, lexical, hybrid, each) for each in MEASURES}
    for case, values in CASES.items():
        if len(values["base"]) >= 5:
            margins[case] = _both_ways(*_sides(values), MEASURE)
    missing = _gate(*_sides(LACKING), MEASURE, missing="zero")
    return {
        "margins": margins,
        "three measures": {
            "hybrid - lexical": _three(qrels, lexical, hybrid),
            "lexical - hybrid": _three(qrels, hybrid, lexical),
            "first three - lexical": _three(qrels, lexical, runs["first three"]),
        },
        "guards": {
            "bundled": _guarded(qrels, lexical, hybrid, "nDCG@10", drop=0.3, floor=0.7),
            "one outlier": _guarded(*_sides(CASES["one outlier"]), MEASURE, drop=0.5, floor=0.5),
            "mostly ties": _guarded(*_sides(CASES["mostly ties"]), MEASURE, drop=0.05, floor=0.4),
        },
        "two queries missing, as 0": _figures(missing.checks[0]),
    }


def _gate(qrels: Any, baseline: Any, candidate: Any, measures: Any, **options: Any) -> Any:
    return rs.gate(baseline, candidate, measures, qrels=qrels, test="t", **options)


def _sides(values: Any) -> tuple[Any, Any, Any]:
    qrels, runs = judged(values)
    return qrels, runs["base"], runs["system"]


def _both_ways(qrels: Any, one: Any, other: Any, measure: str) -> dict[str, Any]:
    found = {}
    for direction, sides in (("up", (one, other)), ("down", (other, one))):
        checks = {
            margin: _gate(qrels, *sides, measure, max_drop=margin).checks[0] for margin in MARGINS
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
        "means": [check.base_mean, check.system_mean],
        "difference, p": [check.difference, check.p],
    }
    figures["95% interval"] = [check.interval.low, check.interval.high]
    seen = check.detectable
    figures["smallest drop seen"] = round(seen, 8) if math.isfinite(seen) else seen
    return figures


def _three(qrels: Any, baseline: Any, candidate: Any) -> dict[str, Any]:
    result = _gate(qrels, baseline, candidate, MEASURES, max_drop=0.01)
    return {
        "answer": ANSWERS[result.answer],
        "by measure": {
            check.measure: [ANSWERS[check.answer], check.difference, check.p_corrected]
            for check in result.checks
        },
    }


def _guarded(
    qrels: Any, baseline: Any, candidate: Any, measure: str, *, drop: float, floor: float
) -> dict[str, Any]:
    """Return what guards find: queries that lost more than ``drop``, a mean below ``floor``."""
    guards: Any = {"max_query_drop": drop, "minimum": {measure: floor}}
    result = _gate(qrels, baseline, candidate, measure, **guards)
    [check], [least] = result.checks, result.floors
    return {
        "answer": ANSWERS[result.answer],
        "queries that lost too much": {loss.query_id: loss.change for loss in check.broken},
        "largest losses": [loss.change for loss in check.worst],
        "mean, floor, reached": [least.candidate, least.floor, int(least.reached)],
    }


# --- queries that depend on each other -----------------------------------------------------------


@subject
def statistics_dependence() -> Any:
    """Clusters and weights of queries, a gate that knows noise.

    Cases are such that p-value and interval agree without help. Oracle: the cluster-robust error
    and the noisy interval by their formulas (`test_oracles`).
    """
    return {
        "clusters": {name: _compared(clusters=row) for name, row in CLUSTERS.items()},
        "weights": {name: _compared(weights=row) for name, row in WEIGHTS.items()},
        "clusters and weights": _compared(clusters=CLUSTERS["unequal"], weights=WEIGHTS["some 0"]),
        "noise": {f"{count} runs": _noise(count) for count in (2, 3)},
    }


def _compared(**lists: list[Any]) -> dict[str, Any]:
    """Compare the pair; ``lists`` are labels and weights by position."""
    qrels, runs = judged(PAIR)
    options: Any = {name: dict(zip(sorted(qrels), row, strict=True)) for name, row in lists.items()}
    compared = rs.compare(qrels, runs, [MEASURE], test="t", correction="none", **options)
    pair = compared.pair("system", "base")
    means = [compared.mean(run) for run in runs]
    return {
        "means": [mean.mean for mean in means],
        "95% intervals of means": [[mean.interval.low, mean.interval.high] for mean in means],
        "difference, p": [pair.difference, pair.p],
        "95% interval": [pair.interval.low, pair.interval.high],
    }


def _noise(count: int) -> dict[str, Any]:
    """Ask the gate with repeated runs of one system, which are in the difference twice."""
    qrels, runs = judged({**PAIR, **AGAIN})
    again = [runs[name] for name in AGAIN][:count]
    result = _gate(qrels, runs["base"], runs["system"], MEASURE, noise=again)
    [check], [noise] = result.checks, result.noise
    return {
        "means": list(noise.run_means),
        "standard deviation of means": noise.deviation,
        "difference, p": [check.difference, check.p],
        "95% interval": [check.interval.low, check.interval.high],
    }
