"""Two and more systems compared, by numbers that no draw decides, asked through `compare`.

Student's t with its floor, the sign test and all sign flips; intervals of means and differences;
Cohen's d; equivalence; families of pairs corrected in each way there is. Oracle: SciPy and the
definitions, from the values that the cases were made of (`test_oracles`).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import rankscope as rs
from frozen.paired_worlds import CASES, LACKING, MEASURE, SEVERAL, bundled, judged
from frozen.subjects import subject
from rankscope.statistics.rater_agreement import kendall
from real import COLLECTIONS

MEASURES = ["nDCG@10", "RR@10", "AP"]
MARGINS = [0.02, 0.1]
LEVELS = [0.9, 0.95, 0.99]
ALL_FLIPS = 16
"""Up to so many differences all sign flips are tried."""

EQUAL = {
    "all 1": [100] * 12,
    "all 0": [0] * 7,
    "all 0.4": [40] * 9,
    "two queries": [30, 80],
    "half": [0, 100] * 5,
    "one of twelve": [*[0] * 11, 100],
}
"""Values of one system alone."""


def ends(interval: Any) -> list[float]:
    return [interval.low, interval.high]


def name_of(pair: Any) -> str:
    return f"{pair.system} - {pair.base}"


# --- two systems ---------------------------------------------------------------------------------


@subject
def statistics_tests() -> Any:
    """Each test of two systems, not corrected, and what is said beside it.

    No p-value is below 2 / 2^d, where d queries differ; differences of one size have that of the
    sign test. Not frozen: the interval of a single query.
    """
    qrels, runs = bundled()
    both = {"base": runs["lexical"], "system": runs["hybrid"]}
    lacks = judged(LACKING)
    return {
        "bundled": _tested(qrels, both, [*MEASURES, "Success@5"]),
        "cases": {case: _tested(*judged(values))[MEASURE] for case, values in CASES.items()},
        "two queries missing": {
            "as 0": _tested(*lacks)[MEASURE],
            "left out": _tested(*lacks, queries="both")[MEASURE],
        },
    }


def _tested(qrels: Any, runs: Any, measures: Any = (MEASURE,), **more: Any) -> dict[str, Any]:
    """Compare two runs by each test."""

    def pairs(test: Any, margin: float | None = None) -> dict[str, Any]:
        options: Any = {"correction": "none", "interval": "t", "margin": margin, **more}
        compared = rs.compare(qrels, runs, measures, baseline="base", test=test, **options)
        return {measure: compared.pair("system", measure=measure) for measure in measures}

    student = {margin: pairs("t", margin) for margin in MARGINS}
    flips = pairs("permutation")
    figures = {}
    for measure, pair in student[MARGINS[0]].items():
        figures[measure] = {
            "queries": pair.queries,
            "wins, ties, losses": [pair.wins, pair.ties, pair.losses],
            "means": [pair.base_mean, pair.system_mean],
            "mean difference": pair.difference,
            "relative difference": pair.relative,
            "p": {
                "t": pair.p,
                **({"all sign flips": flips[measure].p} if pair.differing <= ALL_FLIPS else {}),
            },
            **_spread(pair),
            "two one-sided t tests": {
                margin: by_margin[measure].equivalence.p for margin, by_margin in student.items()
            },
        }
    return figures


def _spread(pair: Any) -> dict[str, Any]:
    """Return what needs a spread."""
    if pair.queries == 1 or math.isinf(pair.d):
        return {}
    figures: dict[str, Any] = {"95% interval": ends(pair.interval)}
    if pair.d:
        figures["cohen d"] = pair.d
    return figures


# --- means ---------------------------------------------------------------------------------------


@subject
def statistics_intervals() -> Any:
    """Student's t, cut at the ends of the measure's range, and Wilson's, at three levels.

    Where all values are equal, the answer is what may not have been seen, which for 0 and 1 is
    Clopper and Pearson's interval. Not frozen: the interval of a single query.
    """
    several = {case: values for case, values in CASES.items() if len(values["base"]) > 1}
    hits = {name: row for name, row in EQUAL.items() if {*row} <= {0, 100}}
    return {
        "t": {
            "bundled": _intervals(*bundled(), MEASURES, "t"),
            "cases": {
                case: _intervals(*judged(values), [MEASURE], "t")[MEASURE]
                for case, values in several.items()
            },
            "one system": {name: _alone(row, "t") for name, row in EQUAL.items()},
        },
        "wilson": {
            "bundled": _intervals(*bundled(), ["Success@1", "Success@5"], "auto"),
            "one system": {name: _alone(row, "auto") for name, row in hits.items()},
        },
    }


def _alone(row: list[int], method: str) -> Any:
    """Return the intervals of one system, which is compared with its own values reversed."""
    values = {"system": row, "reversed": row[::-1]}
    return _intervals(*judged(values), [MEASURE], method)[MEASURE]["system"]


def _intervals(qrels: Any, runs: Any, measures: list[str], method: Any) -> dict[str, Any]:
    """Return, by measure and run, the mean and the interval at each level."""
    found: dict[str, Any] = {measure: {run: {} for run in runs} for measure in measures}
    for level in LEVELS:
        compared = rs.compare(qrels, runs, measures, test="t", interval=method, level=level)
        for mean in compared.means:
            figures = found[mean.measure][mean.run]
            figures["mean"], figures[level] = mean.mean, ends(mean.interval)
    return found


# --- several systems -----------------------------------------------------------------------------


@subject
def statistics_corrections() -> Any:
    """P-values of Student's t and of equivalence over families of pairs, and their intervals."""
    return {
        "five systems": _families(*judged(SEVERAL), [MEASURE], "first"),
        "bundled": _families(*bundled(), MEASURES, "lexical"),
    }


def _families(qrels: Any, runs: Any, measures: list[str], baseline: str) -> dict[str, Any]:
    def compared(correction: Any, **options: Any) -> Any:
        student: Any = {"test": "t", "interval": "t", "margin": 0.05}
        return rs.compare(qrels, runs, measures, correction=correction, **student, **options)

    def by_pair(comparison: Any, figure: Any) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {measure: {} for measure in measures}
        for pair in comparison.pairs:
            found[pair.measure][name_of(pair)] = figure(pair)
        return found

    plain = compared("none")
    figures: dict[str, Any] = {
        "means": {m: {run: plain.mean(run, m).mean for run in plain.runs} for m in measures},
        "intervals": {
            correction: by_pair(compared(correction), lambda pair: ends(pair.interval))
            for correction in ("none", "bonferroni", "holm")
        },
    }
    families: dict[str, dict[str, Any]] = {
        "all pairs": {},
        "baseline": {"baseline": baseline},
        "all measures": {"family": "all"},
    }
    for name, options in families.items():
        figures[name] = {}
        for correction in ("none", "bonferroni", "holm", "bh"):
            comparison = compared(correction, **options)
            figures[name][correction] = {
                "not corrected": by_pair(comparison, lambda pair: pair.p),
                "difference": by_pair(comparison, lambda pair: pair.p_corrected),
                "equivalence": by_pair(comparison, lambda pair: pair.equivalence.p),
            }
    return figures


@cache
def official() -> tuple[Any, dict[str, Any]]:
    """Return the judgments and eight runs of TREC 2003 Robust.

    Raises:
        FileNotFoundError: the collection is not here.
    """
    folder = COLLECTIONS / "robust03"
    if not folder.is_dir():
        raise FileNotFoundError("the collection robust03 is not here")
    runs = {path.name.split(".")[0]: rs.read_run(path) for path in sorted(folder.glob("*.run.gz"))}
    return rs.read_qrels(folder / "qrels.txt.gz"), runs


@subject
def statistics_robust03() -> Any:
    """All 28 pairs of eight official runs on 100 topics, by AP and P@10, corrected by Holm.

    The smallest difference that would be shown; Kendall's tau of the two orders.
    """
    measures = ["AP", "P@10"]
    student = rs.compare(*official(), measures, interval="t")
    found: dict[str, Any] = {"means": {}, "pairs": {}}
    for measure in measures:
        means = [student.mean(run, measure) for run in sorted(student.runs)]
        found["means"][measure] = {each.run: [each.mean, *ends(each.interval)] for each in means}
        found["pairs"][measure] = {
            name_of(pair): _official(pair) for pair in student.pairs.select(measure=measure)
        }
    orders = [[row[0] for row in found["means"][measure].values()] for measure in measures]
    return {**found, "order by AP and by P@10": {"tau b": kendall(*orders)}}


def _official(pair: Any) -> dict[str, Any]:
    return {
        "difference, interval": [pair.difference, *ends(pair.interval)],
        "p, by holm": [pair.p, pair.p_corrected],
        "wins, ties, losses": [pair.wins, pair.ties, pair.losses],
        "cohen d": pair.d,
        "smallest difference": round(pair.detectable, 8),
    }
