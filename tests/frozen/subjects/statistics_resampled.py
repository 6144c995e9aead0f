"""Frozen: what is drawn at random, from given seeds: bootstrap, sampled sign flips, simulations.

Asked through `compare`, `evaluate` and `power`: p-values of the shift bootstrap and of sampled sign
flips, BCa and percentile intervals of means, and power by simulation. Another way to draw from the
same seed changes all of these and nothing else; then this subject alone is written anew.

Oracle: none to the last digit. `tests/frozen/test_oracles.py` checks that p-values are within five
standard errors of other draws, and intervals near those of scipy.stats.bootstrap; that what is done
with the draws is right, `tests/statistics/test_paired_tests.py` and `test_mean_intervals.py` by
hand. Power by simulation: `tests/statistics/test_power_functions.py`, near the formula.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, MEASURE, bundled, judged
from frozen.subjects import subject

MEASURES = ["nDCG@10", "RR@10", "AP"]
DRAWN = ["sixty queries", "seven queries", "mostly ties", "binary", "one outlier", "equal sizes"]
SEEDS = [0, 7]
RESAMPLES = 2_000


@subject
def statistics_resampled() -> Any:
    """Ask for each figure from each seed."""
    qrels, runs = bundled()
    both = {"base": runs["lexical"], "system": runs["hybrid"]}
    return {
        "p": {
            "bundled": _p_values(qrels, both, MEASURES),
            "cases": {case: _p_values(*judged(CASES[case]), [MEASURE])[MEASURE] for case in DRAWN},
        },
        "95% interval": {
            "bundled": _intervals(qrels, both, MEASURES),
            "cases": {case: _intervals(*judged(CASES[case]), [MEASURE])[MEASURE] for case in DRAWN},
        },
        "95% interval by default": _defaults(qrels, both),
        "power by simulation": _simulated(qrels, both),
    }


def _p_values(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    """Return p-values by measure, test and seed, of one pair."""
    found: dict[str, Any] = {measure: {} for measure in measures}
    tests: list[Any] = ["permutation", "bootstrap"]
    for test in tests:
        for seed in SEEDS:
            compared = rs.compare(
                qrels,
                runs,
                measures,
                baseline="base",
                test=test,
                correction="none",
                interval="t",
                resamples=RESAMPLES,
                seed=seed,
            )
            for measure in measures:
                p = compared.pair("system", measure=measure).p
                found[measure].setdefault(test, {})[seed] = p
    return found


def _intervals(qrels: Any, runs: Any, measures: list[str]) -> dict[str, Any]:
    """Return bootstrap intervals of means, by measure, method, seed and run."""
    found: dict[str, Any] = {measure: {} for measure in measures}
    methods: list[Any] = ["bca", "percentile"]
    for method in methods:
        for seed in SEEDS:
            compared = rs.compare(
                qrels, runs, measures, test="t", interval=method, resamples=RESAMPLES, seed=seed
            )
            for measure in measures:
                ends = {run: compared.mean(run, measure).interval for run in runs}
                found[measure].setdefault(method, {})[seed] = {
                    run: [interval.low, interval.high] for run, interval in ends.items()
                }
    return found


def _defaults(qrels: Any, runs: Any) -> dict[str, Any]:
    """Return the intervals of means that an evaluation shows unasked."""
    found = {}
    for name, run in runs.items():
        scores = rs.evaluate(qrels, run, MEASURES)
        found[name] = {
            measure: [scores.intervals[measure].low, scores.intervals[measure].high]
            for measure in MEASURES
        }
    return found


def _simulated(qrels: Any, runs: Any) -> dict[str, Any]:
    """Return the smallest difference shown, and the queries that 0.03 takes, by simulation."""
    found: dict[str, Any] = {measure: {} for measure in MEASURES}
    for seed in SEEDS:
        report = rs.power(
            qrels, runs["base"], runs["system"], MEASURES, target=0.03, repetitions=1_000, seed=seed
        )
        for measure in MEASURES:
            power = report.measures[measure]
            assert power.needed is not None
            found[measure][seed] = [round(power.detectable.simulation, 8), power.needed.simulation]
    return found
