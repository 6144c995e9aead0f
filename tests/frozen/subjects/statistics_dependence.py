"""Frozen: queries that belong together, that weigh more, or that are told apart; noisy systems.

Asked through `compare` and `gate`, by Student's t: means, intervals and p-values with clusters of
queries, with weights and with both; differences within strata with p-values by Holm; a gate that
knows how far repeated runs of one system are apart. Cases are such that p-value and interval agree
without help.

Oracle: `tests/frozen/test_oracles.py` has the cluster-robust mean, error and degrees of freedom
from the formula (with clusters of one query and no weights it is SciPy's t), t within strata from
SciPy, and the noisy interval from its two half-widths.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.paired_worlds import MEASURE, A, bundled, judged
from frozen.subjects import subject

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


@subject
def statistics_dependence() -> Any:
    """Ask for each way in which queries depend on each other."""
    found: dict[str, Any] = {"clusters": {}, "weights": {}}
    for name, labels in CLUSTERS.items():
        found["clusters"][name] = _compared(clusters=labels)
    for name, weights in WEIGHTS.items():
        found["weights"][name] = _compared(weights=weights)
    found["clusters and weights"] = _compared(
        clusters=CLUSTERS["unequal"], weights=WEIGHTS["some 0"]
    )
    found["strata"] = _strata()
    found["noise"] = _noise()
    return found


def _compared(**lists: list[Any]) -> dict[str, Any]:
    """Compare the pair; ``lists`` are labels and weights by position."""
    qrels, runs = judged(PAIR)
    options: Any = {name: dict(zip(sorted(qrels), row, strict=True)) for name, row in lists.items()}
    compared = rs.compare(
        qrels, runs, [MEASURE], baseline="base", test="t", correction="none", **options
    )
    pair = compared.pair("system")
    means = [compared.mean(run) for run in runs]
    return {
        "means": [mean.mean for mean in means],
        "95% intervals of means": [[mean.interval.low, mean.interval.high] for mean in means],
        "difference, p": [pair.difference, pair.p],
        "95% interval": [pair.interval.low, pair.interval.high],
    }


def _strata() -> dict[str, Any]:
    """Compare the bundled runs within groups of queries, by the last digit of their number."""
    qrels, runs = bundled()
    labels = {query_id: "abc"[int(query_id[1:]) % 3] for query_id in runs["lexical"]}
    compared = rs.compare(
        qrels,
        {"base": runs["lexical"], "system": runs["hybrid"]},
        ["nDCG@10", "AP"],
        baseline="base",
        test="t",
        interval="t",
        strata=labels,
    )
    return {
        pair.measure: {
            stratum.label: {
                "queries": stratum.n,
                "means": [stratum.base_mean, stratum.system_mean],
                "difference": stratum.difference,
                "p": stratum.p,
                "p by holm": stratum.p_corrected,
            }
            for stratum in pair.strata
        }
        for pair in compared.strata
    }


def _noise() -> dict[str, Any]:
    """Ask the gate with repeated runs of one system, which are in the difference twice."""
    qrels, runs = judged({**PAIR, **AGAIN})
    again = [runs[name] for name in AGAIN]
    found = {}
    for count in (2, 3):
        result = rs.gate(
            runs["base"], runs["system"], MEASURE, qrels=qrels, test="t", noise=again[:count]
        )
        [check], [noise] = result.checks, result.noise
        found[f"{count} runs"] = {
            "means": list(noise.run_means),
            "standard deviation of means": noise.deviation,
            "variance between runs": noise.between,
            "difference, p": [check.difference, check.p],
            "95% interval": [check.interval.low, check.interval.high],
        }
    return found
