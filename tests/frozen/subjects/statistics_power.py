"""Frozen: what so many queries can show, by formula.

From scores, through `power` and `compare`: the smallest true difference that queries like these
show with a given power (queries that do not differ stay as they are), and how many queries a
difference takes. From assumptions, through `plan_power`, which the command `power` asks: the power
of the paired t test, the smallest difference and the number of queries, for differences that vary
normally. Figures that are searched for are kept to 8 decimals. Simulations are in
`statistics_resampled`. Not frozen: differences that are all the same.

Oracle: SciPy's noncentral t, in `tests/frozen/test_oracles.py`; published sample sizes, in
`tests/statistics/test_power_functions.py`.
"""

from __future__ import annotations

import math
from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, MEASURE, SEVERAL, bundled, judged
from frozen.subjects import subject
from rankscope.statistics.power import plan_power

MEASURES = ["nDCG@10", "RR@10", "AP", "Success@5"]
TARGETS = [0.01, 0.05]
SIZES = [2, 3, 10, 50, 200, 1000]


@subject
def statistics_power() -> Any:
    """Ask for power from scores and from assumptions."""
    qrels, runs = bundled()
    both = {"base": runs["lexical"], "system": runs["hybrid"]}
    return {
        "from scores": {
            "bundled": _from_scores(qrels, both, MEASURES),
            "cases": {
                case: _from_scores(*judged(values), [MEASURE])[MEASURE]
                for case, values in CASES.items()
                if case not in ("one query", "equal differences")
            },
        },
        "smallest difference in a family": {
            "bundled": _in_family(qrels, runs, MEASURES),
            "five systems": _in_family(*judged(SEVERAL), [MEASURE]),
        },
        "from assumptions": _planned(),
    }


def _from_scores(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for power in (0.8, 0.95):
        for target in TARGETS:
            report = rs.power(
                qrels,
                runs["base"],
                runs["system"],
                measures,
                target=target,
                power=power,
                repetitions=10,
            )
            for measure in measures:
                answer = report.measures[measure]
                assert answer.needed is not None
                figures = found.setdefault(measure, {"queries needed": {}})
                figures["queries, differing"] = [answer.n, answer.differing]
                figures["mean, standard deviation"] = [answer.observed, answer.sd]
                figures[f"smallest difference, power {power}"] = _rounded(answer.detectable.formula)
                figures["queries needed"][f"{target}, power {power}"] = answer.needed.formula
    return found


def _in_family(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    """Return the smallest difference at alpha over the number of pairs, by measure and pair."""
    compared = rs.compare(
        qrels, runs, measures, test="t", correction="bonferroni", alpha=0.05, interval="t"
    )
    found: dict[str, Any] = {measure: {} for measure in measures}
    for pair in compared.pairs:
        found[pair.measure][f"{pair.system} - {pair.base}"] = _rounded(pair.detectable)
    return found


def _planned() -> dict[str, Any]:
    found = {}
    for sd in (0.1, 0.2, 0.35):
        for alpha, power in ((0.05, 0.8), (0.01, 0.9)):
            plans = {
                difference: plan_power(
                    sd=sd, difference=difference, queries=SIZES, alpha=alpha, power=power
                )
                for difference in (0.02, 0.1)
            }
            found[f"sd {sd}, alpha {alpha}, power {power}"] = {
                "queries needed": {difference: plan.needed for difference, plan in plans.items()},
                "smallest difference": {
                    size.queries: _rounded(size.detectable) for size in plans[0.02].sizes
                },
                **{
                    f"power for {difference}": {
                        size.queries: round(size.power or 0.0, 8) for size in plan.sizes
                    }
                    for difference, plan in plans.items()
                },
            }
    return found


def _rounded(figure: float) -> float:
    return round(figure, 8) if math.isfinite(figure) else figure
