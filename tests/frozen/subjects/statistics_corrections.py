"""Frozen: p-values of Student's t over families of pairs, corrected in each way there is.

Asked through `compare`: Bonferroni, Holm and Benjamini-Hochberg, over the pairs of one measure and
over all pairs of all measures, all pairs and those with a baseline; p-values of equivalence,
corrected likewise; the intervals that hold for all pairs at once by Bonferroni (those that go with
Holm are a choice, and not frozen); analysis of variance of the systems.

Oracle: SciPy (ttest_rel, false_discovery_control, t) and the definitions of Bonferroni and Holm, in
`tests/frozen/test_oracles.py`. The analysis of variance: by hand, in the same place.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.paired_worlds import MEASURE, SEVERAL, bundled, judged
from frozen.subjects import subject

MEASURES = ["nDCG@10", "RR@10", "AP"]
CORRECTIONS = ["none", "bonferroni", "holm", "bh"]
MARGIN = 0.05


@subject
def statistics_corrections() -> Any:
    """Ask for each correction of each family."""
    return {
        "five systems": _families(*judged(SEVERAL), [MEASURE], "first"),
        "bundled": _families(*bundled(), MEASURES, "lexical"),
    }


def _families(qrels: Any, runs: Any, measures: list[str], baseline: str) -> dict[str, Any]:
    def compared(**options: Any) -> Any:
        return rs.compare(qrels, runs, measures, test="t", interval="t", margin=MARGIN, **options)

    plain = compared(correction="none")
    figures: dict[str, Any] = {
        "means": {
            measure: {run: plain.mean(run, measure).mean for run in plain.runs}
            for measure in measures
        },
        "anova": {measure: _anova(plain.anova[measure]) for measure in measures},
    }
    for name, options in {
        "all pairs": {},
        "baseline": {"baseline": baseline},
        "all measures": {"family": "all"},
    }.items():
        figures[name] = {
            correction: _corrected(compared(correction=correction, **options))
            for correction in CORRECTIONS
        }
    bonferroni = compared(correction="bonferroni")
    figures["simultaneous 95% intervals by bonferroni"] = _by_pair(
        bonferroni, lambda pair: [pair.simultaneous.low, pair.simultaneous.high]
    )
    return figures


def _corrected(comparison: Any) -> dict[str, Any]:
    return {
        "difference": _by_pair(comparison, lambda pair: pair.p_corrected),
        "equivalence": _by_pair(comparison, lambda pair: pair.equivalence.p),
    }


def _by_pair(comparison: Any, figure: Any) -> dict[str, Any]:
    by_measure: dict[str, dict[str, Any]] = {measure: {} for measure in comparison.measures}
    for pair in comparison.pairs:
        by_measure[pair.measure][f"{pair.system} - {pair.base}"] = figure(pair)
    return by_measure


def _anova(anova: Any) -> list[float]:
    return [anova.f, anova.p]
