"""The block ``retrieval_metrics`` of the RAG specification, another way to say what is measured.

It is translated into ``measures``, ``statistics.alpha`` and ``fetch`` of a config. A setting of it
that has no effect here becomes a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from rankscope.benchmark.config.model import Measures, asked_for
from rankscope.benchmark.config.overrides import Origins
from rankscope.benchmark.config.sections import Problem, Section, first_problem
from rankscope.benchmark.config.syntax import Keys
from rankscope.benchmark.environment import cores
from rankscope.measures.language import Measure, parse_measures

BLOCK = "retrieval_metrics"
"""The key of the block at the top of a config."""


class StatisticalAnalysis(Section):
    """Intervals and tests."""

    confidence_intervals: bool = True
    """Whether means have intervals; they always do."""
    significance_testing: bool = True
    """Whether systems are tested against each other; they always are."""
    alpha_level: float | None = Field(default=None, gt=0, lt=1)
    """The accepted chance of a false alarm: statistics.alpha."""


class Performance(Section):
    """How systems are asked."""

    batch_size: int | None = Field(default=None, ge=1)
    """How many queries are sent at once: fetch.batch."""
    caching_enabled: bool = True
    """Whether answers are cached; they always are."""
    parallel_processing: bool = False
    """Whether several batches are asked at the same time: fetch.jobs, one for each core."""


class RetrievalMetrics(Section):
    """The block as it is written."""

    enabled_metrics: Measures
    """What is measured, such as hit@5, ndcg@10, mrr or map@10."""
    graded_relevance: bool | None = None
    """Whether grades count in nDCG and DCG; if false, only relevant or not."""
    statistical_analysis: StatisticalAnalysis = StatisticalAnalysis()
    """Intervals and tests."""
    performance: Performance = Performance()
    """How systems are asked."""

    def measures(self) -> list[str]:
        """Return the measures that are meant; those asked for by another name keep it.

        >>> block = RetrievalMetrics(enabled_metrics=["hit@5", "ndcg@10"], graded_relevance=False)
        >>> block.measures()
        ['hit@5', 'nDCG(gain=binary)@10']
        """
        names: dict[Measure, str] = {}
        for parsed in parse_measures(self.enabled_metrics):
            measure = parsed.measure
            if self.graded_relevance is False and _counts_grades(measure):
                measure = measure.replaced(gain="binary")
            names.setdefault(measure, asked_for(parsed.asked, measure))
        return list(names.values())

    def notes(self) -> list[str]:
        """Say which settings have no effect."""
        statistics, performance = self.statistical_analysis, self.performance
        effects = {
            "confidence_intervals": (
                statistics.confidence_intervals,
                "every mean has an interval",
            ),
            "significance_testing": (
                statistics.significance_testing,
                "systems are always tested against each other",
            ),
            "caching_enabled": (
                performance.caching_enabled,
                "answers are always cached, so that a stopped run can continue; see --fresh",
            ),
        }
        return [
            f"{BLOCK}: {name} is false; this setting has no effect: {text}"
            for name, (is_on, text) in effects.items()
            if not is_on
        ]


def _counts_grades(measure: Measure) -> bool:
    parameter = measure.definition.parameter("gain")
    return (
        parameter is not None
        and "binary" in parameter.choices
        and measure.options["gain"] == parameter.default
    )


def translate(data: Mapping[str, Any], origins: Origins) -> tuple[dict[str, Any], list[str]]:
    """Return a config's data with the block translated, and notes.

    Raises:
        FormatError: the block is wrong, or the config says the same by its own keys.
    """
    try:
        block = RetrievalMetrics.model_validate({} if data[BLOCK] is None else data[BLOCK])
    except ValidationError as error:
        raise origins.error(first_problem(error, RetrievalMetrics, above=(BLOCK,))) from None
    translated: dict[str, Any] = {key: value for key, value in data.items() if key != BLOCK}
    performance = block.performance
    _add(translated, ("measures",), block.measures(), origins)
    _add(translated, ("statistics", "alpha"), block.statistical_analysis.alpha_level, origins)
    _add(translated, ("fetch", "batch"), performance.batch_size, origins)
    jobs = cores() if performance.parallel_processing else None
    _add(translated, ("fetch", "jobs"), jobs, origins)
    return translated, block.notes()


def _add(data: dict[str, Any], keys: Keys, value: Any, origins: Origins) -> None:
    """Put a value into a config that must not have one there yet."""
    if value is None:
        return
    *above, last = map(str, keys)
    holder = data
    for key in above:
        inside = holder.get(key)
        if inside is not None and not isinstance(inside, dict):
            return  # refused when the section is checked
        holder[key] = dict(inside or {})
        holder = holder[key]
    if holder.get(last) is not None:
        raise origins.error(Problem(f"{BLOCK} sets this too; keep one of them", keys, keys))
    holder[last] = value
