"""Flat metrics: a result as names and numbers, for DVC, dashboards and experiment trackers.

A measure keeps its name. What belongs to it follows a dot: ``nDCG@10.low`` and ``nDCG@10.high`` are
the ends of the interval of the mean. Where there are several systems their name comes first, with
a slash: ``bm25/nDCG@10``. The names depend on what was asked, never on the result, except that an
end that does not exist (the interval is unbounded) is left out, as no number could express it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankscope.benchmark.run import Result
    from rankscope.records.report import BenchmarkReport
    from rankscope.retrieval.golden import RetrieverScores
    from rankscope.scoring.scored_runs import Scores
    from rankscope.statistics.comparison import Comparison
    from rankscope.statistics.gate import GateResult
    from rankscope.statistics.intervals import Interval
    from rankscope.statistics.system_pairs import Pair

Named = tuple[str, float]


def metrics_of(result: object, **options: Any) -> dict[str, float]:
    """Return a result's numbers by name; each is finite.

    Of `Scores`, ``intervals=False`` leaves out those of the means, which are found by resampling.

    >>> import rankscope as rs
    >>> scores = rs.evaluate({"q": ["a"]}, {"q": ["b", "a"]}, "RR@10")
    >>> metrics_of(scores, intervals=False)
    {'RR@10': 0.5, 'queries': 1}
    """
    for kind in type(result).__mro__:
        if kind.__name__ in _BY_CLASS:
            named = _BY_CLASS[kind.__name__](result, **options)
            return {name: value for name, value in named if math.isfinite(value)}
    raise TypeError(f"a {type(result).__name__} has no metrics")


def _ends(name: str, interval: Interval | None) -> Iterator[Named]:
    if interval is not None:
        yield f"{name}.low", interval.low
        yield f"{name}.high", interval.high


def _of_scores(scores: Scores, *, intervals: bool = True) -> Iterator[Named]:
    for run in scores.runs:
        system = f"{run}/" if len(scores.runs) > 1 else ""
        by_measure = scores.intervals_of(run) if intervals else {}
        for measure, mean in scores.run(run).means.items():
            yield system + measure, mean
            yield from _ends(system + measure, by_measure.get(measure))
        yield f"{system}queries", scores.run(run).accounting.queries


def _of_retriever(scores: RetrieverScores, *, intervals: bool = True) -> Iterator[Named]:
    yield from _of_scores(scores, intervals=intervals)
    yield "failing", len(scores.failing)


def _of_comparison(comparison: Comparison) -> Iterator[Named]:
    for mean in comparison.means:
        name = f"{mean.run}/{mean.measure}"
        yield name, mean.mean
        yield from _ends(name, mean.interval)
    yield from _of_pairs(comparison.pairs)
    yield "queries", comparison.queries


def _of_pairs(pairs: Iterable[Pair]) -> Iterator[Named]:
    for pair in pairs:
        name = f"{pair.system}-vs-{pair.base}/{pair.measure}"
        yield f"{name}.difference", pair.difference
        yield from _ends(f"{name}.difference", pair.interval)
        yield f"{name}.p", pair.p_corrected


def _of_gate(result: GateResult) -> Iterator[Named]:
    yield "passed", int(result.passed)
    yield "regression", int(result.answer == "regression")
    yield "cant_tell", int(result.answer == "can't tell")
    for check in result.checks:
        yield check.measure, check.system_mean
        yield f"{check.measure}.baseline", check.base_mean
        yield f"{check.measure}.difference", check.difference
        yield from _ends(f"{check.measure}.difference", check.interval)
        yield f"{check.measure}.p", check.p_corrected
    for floor in result.floors:
        yield floor.measure, floor.candidate
        yield f"{floor.measure}.floor", floor.floor
    yield "queries", result.queries


def _of_report(report: BenchmarkReport) -> Iterator[Named]:
    for system in report.systems:
        for mean in system.measures:
            name = f"{system.name}/{mean.measure}"
            yield name, mean.value
            yield from _ends(name, mean.interval)
    if report.comparison is not None:
        yield from _of_pairs(report.comparison.pairs)
    yield "queries", report.collection.queries


def _of_benchmark(result: Result) -> Iterator[Named]:
    yield from _of_report(result.report)


_BY_CLASS: dict[str, Callable[..., Iterable[Named]]] = {
    "BenchmarkReport": _of_report,
    "Comparison": _of_comparison,
    "GateResult": _of_gate,
    "Result": _of_benchmark,
    "RetrieverScores": _of_retriever,
    "Scores": _of_scores,
}
"""By the name of a class of results: nothing of it is loaded for the others."""
