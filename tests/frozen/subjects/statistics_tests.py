"""Frozen: paired tests of two systems, and what is said beside them.

Asked through `compare`, each pair by itself and not corrected: the p-values of Student's t,
Wilcoxon's signed ranks (exact up to 50 differences that are not 0), the sign test and, where at
most 16 queries differ, of all sign flips; Student's interval; Cohen's d for paired values and
Hedges' g with their noncentral t interval; two one-sided t tests for equivalence; the means and
what they differ by. What is drawn at random is in `statistics_resampled`.

Where t says less than sign flips allow (2 / 2^d, where d queries differ), its p-value is called
"t, below all sign flips": a product that does not go below has another number there. Not frozen:
the interval of a single query, and of differences that are all the same and not 0.

Oracle: SciPy (ttest_1samp, wilcoxon, binomtest, nct) and all sign flips counted one by one, in
`tests/frozen/test_oracles.py`, from the values the cases were made of. Wilcoxon with 17 to 50
differences and ties: `tests/statistics/test_paired_tests.py`.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, LACKING, MEASURE, bundled, judged
from frozen.subjects import subject

MEASURES = ["nDCG@10", "RR@10", "AP", "Success@5"]
MARGINS = [0.02, 0.1]
ALL_FLIPS = 16
"""Up to so many differences all sign flips are tried."""


@subject
def statistics_tests() -> Any:
    """Ask for the tests of each case, and of the bundled runs."""
    qrels, runs = bundled()
    both = {"base": runs["lexical"], "system": runs["hybrid"]}
    cases = {case: tested(*judged(values), [MEASURE])[MEASURE] for case, values in CASES.items()}
    lacks = judged(LACKING)
    return {
        "bundled": tested(qrels, both, MEASURES),
        "cases": cases,
        "two queries missing": {
            "as 0": tested(*lacks, [MEASURE])[MEASURE],
            "left out": tested(*lacks, [MEASURE], queries="both")[MEASURE],
        },
    }


def tested(qrels: Any, runs: Any, measures: list[str], **options: Any) -> dict[str, Any]:
    """Compare two runs by each test."""

    def pairs(test: str, **more: Any) -> dict[str, Any]:
        compared = rs.compare(
            qrels,
            runs,
            measures,
            baseline="base",
            test=test,  # type: ignore[arg-type]
            correction="none",
            interval="t",
            **more,
            **options,
        )
        return {measure: compared.pair("system", measure=measure) for measure in measures}

    student = [pairs("t", margin=margin) for margin in MARGINS]
    ranks, signs, flips = pairs("wilcoxon"), pairs("sign"), pairs("permutation")
    figures = {}
    for measure in measures:
        pair = student[0][measure]
        below = pair.p < min(1.0, 2.0 ** (1 - pair.differing))
        figures[measure] = {
            "queries": pair.queries,
            "wins, ties, losses": [pair.wins, pair.ties, pair.losses],
            "means": [pair.base_mean, pair.system_mean],
            "mean difference": pair.difference,
            "relative difference": pair.relative,
            "p": {
                "t, below all sign flips" if below else "t": pair.p,
                "wilcoxon": ranks[measure].p,
                "sign": signs[measure].p,
                **({"all sign flips": flips[measure].p} if pair.differing <= ALL_FLIPS else {}),
            },
            **_spread(pair),
            "two one-sided t tests": {
                margin: by_margin[measure].equivalence.p
                for margin, by_margin in zip(MARGINS, student, strict=True)
            },
        }
    return figures


def _spread(pair: Any) -> dict[str, Any]:
    """Return what needs a spread; the ends of d are found by steps, and kept to 8 decimals."""
    if pair.queries == 1 or (pair.effect.note and pair.difference):
        return {}
    interval, effect = pair.interval, pair.effect
    figures: dict[str, Any] = {"95% interval": [interval.low, interval.high]}
    if not effect.note:
        figures["cohen d, hedges g"] = [effect.d, effect.hedges]
        figures["95% interval of d"] = [round(effect.low, 8), round(effect.high, 8)]
        within = pair.equivalence.interval
        figures["90% interval"] = [within.low, within.high]
    return figures
