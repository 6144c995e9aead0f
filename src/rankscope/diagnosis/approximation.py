"""Approximation: what an approximate index loses against exact search, and where.

Recall here is not about relevance: it is the share of what an exact search over the same vectors
finds first that the index finds, too. Whether that matters is the task's measure, which is beside
it. Where the engine lets one search all that it stores, the loss is split: what quantised vectors
lose, and what the graph or the lists lose on top of that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis, found
from rankscope.diagnosis.show import system_table
from rankscope.document.blocks import Block
from rankscope.findings import Finding, declare
from rankscope.part import Part, left_out

ENOUGH = 0.9
"""A recall below this is a warning."""

LOW_RECALL = declare(
    "RS751",
    "low-index-recall",
    "warning",
    unit="system",
    advice="search more of the index (ef_search, probes, nprobes), or build a denser one",
    meaning="""An approximate index finds less than nine tenths of what an exact search over the
    same vectors finds first, so its measures are about the index as much as about the model.""",
)


class QueryExactness(Part):
    """One query, answered approximately and exactly."""

    query_id: str
    """The query."""
    wanted: int
    """How many documents an exact search finds, up to k."""
    hits: int
    """How many of the first k of the answer are as near as these; near-ties count."""
    stored_hits: int | None = left_out()
    """The same for a search through everything as it is stored, quantised, without the index that
    leads to it; left out where the engine does not let one."""

    @property
    def recall(self) -> float:
        """The share of what an exact search finds."""
        return self.hits / self.wanted


class Exactness(Part):
    """One system against exact search over the same vectors."""

    system: str
    """The system."""
    k: int
    """How many documents are looked at."""
    tolerance: float
    """Documents whose similarity is less than that of the k-th by no more than this count."""
    documents: int
    """How many documents have a vector."""
    queries: tuple[QueryExactness, ...]
    """Those that were answered, and for which there is something to find."""


class ApproximationConfig(Config):
    """How it is compared."""

    k: int = Field(default=10, ge=1, le=1000)
    """How many documents are looked at."""
    tolerance: float = Field(default=1e-5, ge=0, le=0.1)
    """A document less similar than the k-th by no more than this is as good."""


class ApproximateSystem(Row):
    """One approximate system against exact search."""

    queries: int
    """How many queries were compared."""
    recall: Estimate
    """The mean share of what an exact search over the same vectors finds first; documents as
    similar as the last of them count."""
    lowest: float
    """The lowest recall of a query."""
    stored_recall: float | None = left_out()
    """The recall of a search through everything as it is stored, with the same rescoring; left out
    where the engine does not let one."""
    quality: float
    """The mean of the main measure."""
    p50: float | None
    """The median time of a query, in milliseconds; null if it is not known."""
    p95: float | None
    """The 95th percentile, in milliseconds."""

    @property
    def lost_to_quantisation(self) -> float | None:
        """What a search through everything as it is stored misses."""
        return None if self.stored_recall is None else 1 - self.stored_recall

    @property
    def lost_to_index(self) -> float | None:
        """What the graph or the lists miss beyond that; below 0 where they find more by chance."""
        return None if self.stored_recall is None else self.stored_recall - self.recall.value


class Approximation(Analysed):
    """What approximate indexes lose."""

    measure: str
    """The main measure."""
    k: int
    """How many documents are looked at."""
    systems: tuple[ApproximateSystem, ...]
    """By system."""


@analysis(
    title="Approximate indexes",
    needs=("scores", "exactness"),
    written="approximation: {k: 10}",
    place=40,
)
def approximation(_: ApproximationConfig, inputs: Inputs) -> Approximation:
    """What approximate vector search loses against exact search, and at what speed."""
    known = [
        each
        for each in inputs.exactness.values()
        if each.system in inputs.scores.runs and each.queries
    ]
    inputs.require(known, "no system that could be scored searches vectors approximately")
    return Approximation(
        measure=str(inputs.main),
        k=known[0].k,
        systems=tuple(_system(each, inputs) for each in known),
    )


@approximation.find
def _find(result: Approximation, inputs: Inputs) -> Iterator[Finding]:
    yield from found(
        LOW_RECALL,
        [row for row in result.systems if row.recall.value < ENOUGH],
        lambda row: (
            f"the index of {row.system} finds {row.recall.value:.1%} of the first {result.k} that "
            "an exact search over the same vectors finds"
        ),
        focus=inputs.focus,
    )


@approximation.show
def _show(result: Approximation) -> Iterator[Block | None]:
    recall = f"recall@{result.k}"
    is_split = any(row.stored_recall is not None for row in result.systems)
    yield system_table(
        result.systems,
        "Against exact search",
        legend=("recall", "lost_to_quantisation", "lost_to_index") if is_split else ("recall",),
        columns=(
            f"recall: {recall} | lowest | quality: {result.measure} | lost_to_quantisation | "
            "lost_to_index: lost to the index | p50: p50, ms | p95: p95, ms"
        ),
    )


def _system(measured: Exactness, inputs: Inputs) -> ApproximateSystem:
    recalls = np.array([row.recall for row in measured.queries])
    stored = [
        row.stored_hits / row.wanted for row in measured.queries if row.stored_hits is not None
    ]
    costs = inputs.costs.get(measured.system, {}) if inputs.has("costs") else {}
    return ApproximateSystem(
        system=measured.system,
        queries=len(recalls),
        recall=Estimate.of(recalls, inputs.settings.level, (0.0, 1.0)),
        lowest=float(recalls.min()),
        stored_recall=float(np.mean(stored)) if len(stored) == len(recalls) else None,
        quality=inputs.means[measured.system],
        p50=costs.get("p50, ms"),
        p95=costs.get("p95, ms"),
    )
