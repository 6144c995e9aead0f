"""Frozen: eight official runs of TREC 2003 Robust compared with each other, 100 topics.

Asked through `compare`: means with Student's intervals, all 28 pairs by AP and P@10 with Student's
t, Wilcoxon and sign tests, corrected by Holm, Cohen's d and the smallest difference that would be
shown; analysis of variance; Kendall's τ_b and τ_AP between the orders of the systems.

Oracle: SciPy, from the per-query values, in `tests/frozen/test_oracles.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import rankscope as rs
from frozen.subjects import subject
from rankscope.statistics.rank_correlation import kendall
from real import COLLECTIONS

MEASURES = ["AP", "P@10"]
FOLDER = COLLECTIONS / "robust03"


@subject
def statistics_robust03() -> Any:
    """Ask for all pairs of the eight runs."""
    compared = {test: _compared(test) for test in ("t", "wilcoxon", "sign")}
    student = compared["t"]
    orders = {
        measure: [student.mean(run, measure).mean for run in sorted(student.runs)]
        for measure in MEASURES
    }
    return {
        "means": {
            measure: {
                run: [mean.mean, mean.interval.low, mean.interval.high]
                for run in sorted(student.runs)
                for mean in [student.mean(run, measure)]
            }
            for measure in MEASURES
        },
        "pairs": {
            measure: {
                " - ".join(names): _pair(*names, measure, compared) for names in _names(student)
            }
            for measure in MEASURES
        },
        "anova": {
            measure: [student.anova[measure].f, student.anova[measure].p] for measure in MEASURES
        },
        "order by AP and by P@10": {
            "tau b": kendall(orders["AP"], orders["P@10"]),
        },
    }


@cache
def collection() -> tuple[Any, dict[str, Any]]:
    """Return the judgments and the runs.

    Raises:
        FileNotFoundError: the collection is not here.
    """
    if not FOLDER.is_dir():
        raise FileNotFoundError("the collection robust03 is not here")
    runs = {path.name.split(".")[0]: rs.read_run(path) for path in sorted(FOLDER.glob("*.run.gz"))}
    return rs.read_qrels(FOLDER / "qrels.txt.gz"), runs


def _compared(test: Any) -> Any:
    qrels, runs = collection()
    return rs.compare(qrels, runs, MEASURES, test=test, correction="holm", interval="t")


def _names(comparison: Any) -> list[tuple[str, str]]:
    pairs = [(pair.system, pair.base) for pair in comparison.pairs]
    return list(dict.fromkeys(pairs))


def _pair(system: str, base: str, measure: str, compared: Any) -> dict[str, Any]:
    found = {test: result.pair(system, base, measure) for test, result in compared.items()}
    pair = found["t"]
    return {
        "difference, 95% interval": [pair.difference, pair.interval.low, pair.interval.high],
        "p": [each.p for each in found.values()],
        "p by holm": [each.p_corrected for each in found.values()],
        "wins, ties, losses": [pair.wins, pair.ties, pair.losses],
        "cohen d": pair.effect.d,
        "smallest difference": round(pair.detectable, 8),
    }
