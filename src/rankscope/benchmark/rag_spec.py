"""The block ``retrieval_metrics`` of the RAG specification, as another way to say what is measured.

It is translated into ``measures``, ``statistics.alpha`` and ``fetch`` of a config. What it can say
and a benchmark cannot follow becomes a note: a sentence that says what happens instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError, field_validator

from rankscope.benchmark.config_keys import Keys
from rankscope.benchmark.config_sections import Section, first_problem, refuse
from rankscope.benchmark.overrides import Places
from rankscope.errors import RankscopeError
from rankscope.measures.language import Measure, parse_measures

__all__ = ["BLOCK", "RetrievalMetrics", "translate"]

BLOCK = "retrieval_metrics"
"""The key at the top of a config under which the block stands."""


class StatisticalAnalysis(Section):
    """What is said about chance."""

    confidence_intervals: bool = True
    """Whether means have intervals; they always do."""
    significance_testing: bool = True
    """Whether systems are tested against each other; they always are."""
    alpha_level: float | None = Field(default=None, gt=0, lt=1)
    """The chance of a false alarm that is accepted: statistics.alpha."""


class Performance(Section):
    """How systems are asked."""

    batch_size: int | None = Field(default=None, ge=1)
    """How many queries are asked at once: fetch.batch."""
    caching_enabled: bool = True
    """Whether answers are kept; they always are."""
    parallel_processing: bool = False
    """Whether several batches are asked at the same time: fetch.jobs, one for each core."""


class RetrievalMetrics(Section):
    """The block as it is written."""

    enabled_metrics: list[str]
    """What is measured, such as hit@5, ndcg@10, mrr or map@10."""
    graded_relevance: bool | None = None
    """Whether grades count in nDCG and DCG; false: relevant or not is all that counts."""
    statistical_analysis: StatisticalAnalysis = StatisticalAnalysis()
    """What is said about chance."""
    performance: Performance = Performance()
    """How systems are asked."""

    @field_validator("enabled_metrics")
    @classmethod
    def _parsed(cls, names: list[str]) -> list[str]:
        if not names:
            refuse(f"{BLOCK}.enabled_metrics is empty; name a measure, such as ndcg@10")
        for at, name in enumerate(names):
            try:
                parse_measures(name)
            except RankscopeError as error:
                refuse(str(error), at)
        return names

    def measures(self) -> list[str]:
        """Return the measures that are meant; those asked for by another name keep it.

        >>> block = RetrievalMetrics(enabled_metrics=["hit@5", "ndcg@10"], graded_relevance=False)
        >>> block.measures()
        ['hit@5', 'nDCG(gain=binary)@10']
        """
        found: dict[Measure, str] = {}
        for parsed in parse_measures(self.enabled_metrics):
            measure = parsed.measure
            if self.graded_relevance is False and _counts_grades(measure):
                measure = measure.replaced(gain="binary")
            same = measure == parsed.measure and _means(parsed.asked, measure)
            found.setdefault(measure, parsed.asked if same else str(measure))
        return list(found.values())

    def notes(self) -> list[str]:
        """Return what is said here and cannot be followed."""
        statistics, performance = self.statistical_analysis, self.performance
        found = []
        if not statistics.confidence_intervals:
            found.append(
                f"{BLOCK}: confidence_intervals is false, but every mean has an interval; leave it "
                "unread"
            )
        if not statistics.significance_testing:
            found.append(
                f"{BLOCK}: significance_testing is false, but systems are tested against each "
                "other all the same; leave the p-values unread"
            )
        if not performance.caching_enabled:
            found.append(
                f"{BLOCK}: caching_enabled is false, but answers are kept, so that a run that was "
                "stopped can go on; name another cache folder to have them made anew"
            )
        return found


def _counts_grades(measure: Measure) -> bool:
    parameter = measure.definition.parameter("gain")
    return (
        parameter is not None
        and "binary" in parameter.choices
        and measure.options["gain"] == parameter.default
    )


def _means(name: str, measure: Measure) -> bool:
    found = parse_measures(name)
    return [one.measure for one in found] == [measure]


def translate(data: Mapping[str, Any], places: Places) -> tuple[dict[str, Any], list[str]]:
    """Return a config's data without the block, with what it stands for, and notes.

    Raises:
        FormatError: the block is wrong, or says what the config says too.
    """
    block = {} if data[BLOCK] is None else data[BLOCK]
    try:
        read = RetrievalMetrics.model_validate(block)
    except ValidationError as error:
        keys, problem = first_problem(error, RetrievalMetrics, (BLOCK,))
        raise places.error((BLOCK, *keys), problem) from None
    made: dict[str, Any] = {key: value for key, value in data.items() if key != BLOCK}
    performance = read.performance
    _add(made, ("measures",), read.measures(), places)
    _add(made, ("statistics", "alpha"), read.statistical_analysis.alpha_level, places)
    _add(made, ("fetch", "batch"), performance.batch_size, places)
    _add(made, ("fetch", "jobs"), cores() if performance.parallel_processing else None, places)
    return made, read.notes()


def _add(data: dict[str, Any], keys: Keys, value: Any, places: Places) -> None:
    """Put a value into a config that must not have one there yet."""
    if value is None:
        return
    *above, last = map(str, keys)
    holder = data
    for key in above:
        inside = holder.get(key)
        if inside is not None and not isinstance(inside, dict):
            return  # the check of the section says so
        holder[key] = dict(inside or {})
        holder = holder[key]
    if holder.get(last) is not None:
        name = ".".join(map(str, keys))
        raise places.error(keys, f"{name} is given, and {BLOCK} says it too; keep one of them")
    holder[last] = value


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
