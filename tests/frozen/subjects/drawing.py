"""What so many queries can show, by formula; and what is drawn at random, from given seeds."""

from __future__ import annotations

import math
from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, MEASURE, SEVERAL, bundled, judged
from frozen.subjects import subject
from rankscope.statistics.power import plan_power

MEASURES = ["nDCG@10", "RR@10", "AP"]
TARGETS = [0.01, 0.05]
SIZES = [2, 3, 10, 50, 200, 1000]
DRAWN = ["sixty queries", "seven queries", "mostly ties", "binary", "one outlier", "equal sizes"]
SEEDS = [0, 7]
RESAMPLES = 2_000


def _both() -> tuple[Any, Any]:
    qrels, runs = bundled()
    return qrels, {"base": runs["lexical"], "system": runs["hybrid"]}


# --- by formula ----------------------------------------------------------------------------------


@subject
def statistics_power() -> Any:
    """The smallest difference that is shown, and the queries that a difference takes.

    From scores, where queries that do not differ stay as they are, through `power` and `compare`;
    from assumptions through `plan_power`, which the command `power` asks. What is searched for is
    kept to 8 decimals. Not frozen: differences that are all the same. Oracle: SciPy's noncentral t
    (`test_oracles`), published sample sizes (statistics/test_power_functions.py).
    """
    several = {
        case: CASES[case] for case in CASES if case not in ("one query", "equal differences")
    }
    measures = [*MEASURES, "Success@5"]
    return {
        "from scores": {
            "bundled": _from_scores(*_both(), measures),
            "cases": {
                case: _from_scores(*judged(values), [MEASURE])[MEASURE]
                for case, values in several.items()
            },
        },
        "smallest difference in a family": {
            "bundled": _in_family(*bundled(), measures),
            "five systems": _in_family(*judged(SEVERAL), [MEASURE]),
        },
        "from assumptions": _planned(),
    }


def _from_scores(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {measure: {"queries needed": {}} for measure in measures}
    for power in (0.8, 0.95):
        for target in TARGETS:
            options: Any = {"target": target, "power": power}
            report = rs.power(qrels, runs["base"], runs["system"], measures, **options)
            for measure, figures in found.items():
                answer = report.measures[measure]
                figures["queries, differing"] = [answer.n, answer.differing]
                figures["mean, standard deviation"] = [answer.observed, answer.sd]
                figures[f"smallest difference, power {power}"] = _rounded(answer.detectable)
                figures["queries needed"][f"{target}, power {power}"] = answer.needed
    return found


def _in_family(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    """Return the smallest difference at alpha over the number of pairs, by measure and pair."""
    options: Any = {"test": "t", "correction": "bonferroni", "alpha": 0.05, "interval": "t"}
    found: dict[str, Any] = {measure: {} for measure in measures}
    for pair in rs.compare(qrels, runs, measures, **options).pairs:
        found[pair.measure][f"{pair.system} - {pair.base}"] = _rounded(pair.detectable)
    return found


def _planned() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for sd in (0.1, 0.2, 0.35):
        for alpha, power in ((0.05, 0.8), (0.01, 0.9)):
            figures: dict[str, Any] = {"queries needed": {}}
            for difference in (0.02, 0.1):
                known: Any = {"sd": sd, "difference": difference, "alpha": alpha, "power": power}
                plan = plan_power(queries=SIZES, **known)
                figures["queries needed"][difference] = plan.needed
                figures["smallest difference"] = {
                    size.queries: _rounded(size.detectable) for size in plan.sizes
                }
                figures[f"power for {difference}"] = {
                    size.queries: round(size.power or 0.0, 8) for size in plan.sizes
                }
            found[f"sd {sd}, alpha {alpha}, power {power}"] = figures
    return found


def _rounded(figure: float) -> float:
    return round(figure, 8) if math.isfinite(figure) else figure


# --- from seeds ----------------------------------------------------------------------------------


@subject
def statistics_resampled() -> Any:
    """Bootstrap and sampled sign flips; BCa intervals.

    Another way to draw from the same seed changes all of these and nothing else; then this subject
    alone is written anew. Oracle: none to the last digit; other draws, and scipy.stats.bootstrap
    (`test_oracles`); what is done with draws: statistics/test_mean_intervals.py.
    """
    cases = {case: judged(CASES[case]) for case in DRAWN}
    return {
        "p": {
            "bundled": _p_values(*_both(), MEASURES),
            "cases": {case: _p_values(*given, [MEASURE])[MEASURE] for case, given in cases.items()},
        },
        "95% interval": {
            "bundled": _intervals(*_both(), MEASURES),
            "cases": {
                case: _intervals(*given, [MEASURE])[MEASURE] for case, given in cases.items()
            },
        },
        "95% interval by default": _defaults(*_both()),
    }


def _p_values(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    """Return p-values by measure, test and seed, of one pair."""
    found: dict[str, Any] = {measure: {} for measure in measures}
    for test in ("permutation", "bootstrap"):
        for seed in SEEDS:
            options: Any = {"test": test, "correction": "none", "interval": "t", "seed": seed}
            compared = rs.compare(qrels, runs, measures, resamples=RESAMPLES, **options)
            for pair in compared.pairs:
                found[pair.measure].setdefault(test, {})[seed] = pair.p
    return found


def _intervals(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    """Return bootstrap intervals of means, by measure, method, seed and run."""
    found: dict[str, Any] = {measure: {} for measure in measures}
    for seed in SEEDS:
        options: Any = {"test": "t", "interval": "bca", "seed": seed}
        compared = rs.compare(qrels, runs, measures, resamples=RESAMPLES, **options)
        for mean in compared.means:
            by_run = found[mean.measure].setdefault("bca", {}).setdefault(seed, {})
            by_run[mean.run] = [mean.interval.low, mean.interval.high]
    return found


def _defaults(qrels: Any, runs: Any) -> dict[str, Any]:
    """Return the intervals of means that an evaluation shows unasked."""
    found = {}
    for name, run in runs.items():
        intervals = rs.evaluate(qrels, run, MEASURES).intervals
        found[name] = {each: [intervals[each].low, intervals[each].high] for each in MEASURES}
    return found
