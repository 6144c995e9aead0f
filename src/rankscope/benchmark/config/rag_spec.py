"""The block ``retrieval_metrics`` of the RAG specification, another way to say what is measured.

It is translated into ``measures``, ``statistics.alpha`` and ``fetch`` of a config. A setting of it
that has no effect here becomes a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from rankscope.benchmark.config.sections import Measures, Section, asked_for, refuse
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

    def added_to(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a config's data with the keys that the block stands for.

        Raises:
            SpecError: the config has one of them already.
        """
        performance = self.performance
        jobs = cores() if performance.parallel_processing else None
        sections: dict[str, dict[str, Any]] = {
            "statistics": {"alpha": self.statistical_analysis.alpha_level},
            "fetch": {"batch": performance.batch_size, "jobs": jobs},
        }
        merged = _merged(data, {"measures": self.measures()})
        for key, values in sections.items():
            section = {} if data.get(key) is None else data[key]
            if isinstance(section, dict):  # anything else is refused when the section is checked
                merged[key] = _merged(section, values, key)
        return merged

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


def _merged(data: Mapping[str, Any], values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return data with some values, those that are None left out; none may be there already."""
    given = {key: value for key, value in values.items() if value is not None}
    for key in given:
        if data.get(key) is not None:
            refuse(f"{BLOCK} sets this too; keep one of them", *keys, key)
    return {**data, **given}


def _counts_grades(measure: Measure) -> bool:
    parameter = measure.definition.parameter("gain")
    return (
        parameter is not None
        and "binary" in parameter.choices
        and measure.options["gain"] == parameter.default
    )
