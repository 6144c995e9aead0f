"""The block ``retrieval_metrics`` of the RAG specification, another way to say what is measured.

It is translated into ``measures``, ``statistics.alpha`` and ``fetch`` of a config, which may also
name a file that holds the block and nothing else: ``retrieval_metrics: metrics.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from rankscope.benchmark.config.sections import (
    Measures,
    Section,
    asked_for,
    read_section,
    refuse,
)
from rankscope.benchmark.config.syntax import read_config_file
from rankscope.benchmark.environment import cores
from rankscope.errors import FormatError
from rankscope.measures.language import Measure, parse_measures
from rankscope.retrieval.options import SpecError

BLOCK = "retrieval_metrics"
"""The key of the block at the top of a config."""


class StatisticalAnalysis(Section):
    """Intervals and tests."""

    confidence_intervals: Literal[True] = True
    """Means have intervals."""
    significance_testing: Literal[True] = True
    """Systems are tested against each other."""
    alpha_level: float | None = Field(default=None, gt=0, lt=1)
    """The accepted chance of a false alarm: statistics.alpha."""

    @model_validator(mode="before")
    @classmethod
    def _always(cls, data: Any) -> Any:
        for name in ("confidence_intervals", "significance_testing"):
            if isinstance(data, dict) and data.get(name) is False:
                refuse("every mean has an interval and every pair a test; leave this out", name)
        return data


class Performance(Section):
    """How systems are asked."""

    batch_size: int | None = Field(default=None, ge=1)
    """How many queries are sent at once: fetch.batch."""
    caching_enabled: bool | None = None
    """Whether indexes and answers are cached: fetch.cache."""
    parallel_processing: bool | None = None
    """Whether several batches are asked at the same time: fetch.jobs, one for each core, or 1."""


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
        performance, jobs = self.performance, None
        if performance.parallel_processing is not None:
            jobs = cores() if performance.parallel_processing else 1
        sections: dict[str, dict[str, Any]] = {
            "statistics": {"alpha": self.statistical_analysis.alpha_level},
            "fetch": {
                "batch": performance.batch_size,
                "jobs": jobs,
                "cache": performance.caching_enabled,
            },
        }
        merged = _merged(data, {"measures": self.measures()})
        for key, values in sections.items():
            section = {} if data.get(key) is None else data[key]
            if isinstance(section, dict):  # anything else is refused when the section is checked
                merged[key] = _merged(section, values, key)
        return merged


def with_block_of_file(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a config's data with the block itself where it names the file that holds it."""
    name = data.get(BLOCK)
    if not isinstance(name, str):
        return data
    file = read_config_file(folder / name)
    if set(file.data) != {BLOCK}:
        raise FormatError(f"expected the key {BLOCK} and no other", source=file.source, line=1)
    try:
        read_section(RetrievalMetrics, file.data[BLOCK] or {})
    except SpecError as error:
        raise file.error(error.inside(BLOCK)) from None
    return {**data, BLOCK: file.data[BLOCK]}


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
