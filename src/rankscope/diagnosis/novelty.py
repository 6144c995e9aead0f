"""How different are the documents of one answer? Intra-list distance, from embeddings.

The distance of two documents is one minus the cosine of their embeddings; that of an answer is the
mean over all pairs of its first k. Embeddings are a field of the corpus, a list of numbers for each
document. An answer with fewer than two such documents has no distance.

Reference: Ziegler et al., Improving recommendation lists through topic diversification, WWW 2005.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, Row, analysis, found
from rankscope.diagnosis.show import system_table
from rankscope.errors import InvalidDataError, shown
from rankscope.findings import Finding, declare

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.document.blocks import Block
    from rankscope.measures.judged import FloatArray

ALIKE = declare(
    "RS730",
    "answers-repeat-themselves",
    "note",
    unit="system",
    advice="remove near copies, or rerank for variety (MMR), if users want more than one view",
    meaning="""The documents at the top of an answer are nearly the same by their embeddings: their
    mean distance is below 0.1, unless set otherwise.""",
)


class NoveltyConfig(Config):
    """Where embeddings are, and what counts as alike."""

    field: str = "embedding"
    """The field of documents that holds their embedding, a list of numbers."""
    alike: float = Field(default=0.1, ge=0, le=2)
    """Below this mean distance answers repeat themselves."""


class Variety(Row):
    """How different the documents at the top of a system's answers are."""

    distance: Estimate
    """The mean distance between two documents of one answer: 0 the same, 1 unrelated."""
    queries: int
    """Queries with at least two documents that have an embedding."""


class Novelty(Analysed):
    """How different the documents of one answer are, by system."""

    cutoff: int
    """How many documents of an answer are looked at."""
    alike: float
    """Below this mean distance answers repeat themselves."""
    systems: tuple[Variety, ...]
    """By system."""


@analysis(
    title="Variety of answers",
    needs=("scores", "runs", "qrels", "corpus"),
    written="novelty: {field: vector}",
    place=72,
)
def novelty(config: NoveltyConfig, inputs: Inputs) -> Novelty:
    """How different the documents at the top of one answer are, by their embeddings."""
    vectors = {
        doc_id: _unit(fields[config.field], doc_id)
        for doc_id, fields in inputs.corpus.rows()
        if fields.get(config.field) is not None
    }
    inputs.require(vectors, f"no document has an embedding in the field {config.field!r}")
    is_even = len({len(vector) for vector in vectors.values()}) == 1
    inputs.require(is_even, "embeddings have different lengths")
    systems = []
    for name, ranking in inputs.rankings.systems.items():
        distances = _distances(ranking, vectors, inputs.cutoff)
        if len(distances):
            mean = Estimate.of(distances, inputs.settings.level, (0.0, 2.0))
            systems.append(Variety(system=name, distance=mean, queries=len(distances)))
    return Novelty(cutoff=inputs.cutoff, alike=config.alike, systems=tuple(systems))


@novelty.find
def _find(result: Novelty, inputs: Inputs) -> Iterator[Finding]:
    yield from found(
        ALIKE,
        [row for row in result.systems if row.distance.value < result.alike],
        lambda row: (
            f"the first {result.cutoff} documents of {row.system} are nearly the same: "
            f"their mean distance is {row.distance.value:.3f}"
        ),
        focus=inputs.focus,
    )


@novelty.show
def _show(result: Novelty) -> Iterator[Block | None]:
    yield system_table(
        result.systems,
        legend=("distance",),
        columns=f"distance: distance in the first {result.cutoff} | queries",
    )


def _unit(values: object, doc_id: str) -> FloatArray:
    """Return an embedding of length 1."""
    try:
        vector = np.asarray(values, np.float64)
        length = float(np.linalg.norm(vector))
    except (TypeError, ValueError):
        vector, length = np.zeros(0), 0.0
    if vector.ndim != 1 or not np.isfinite(length) or length == 0:
        raise InvalidDataError(f"the embedding of {shown(doc_id)} is not a list of numbers")
    return vector / length


def _distances(ranking: Ranking, vectors: dict[str, FloatArray], cutoff: int) -> FloatArray:
    """By query with two embeddings or more: the mean distance of two documents in the first."""
    distances = []
    for query in np.flatnonzero(ranking.sizes > 1).tolist():
        top = [vectors[doc_id] for doc_id in ranking.of_query(query)[:cutoff] if doc_id in vectors]
        if len(top) > 1:
            total = np.sum(top, axis=0)  # |sum|² counts every pair twice, and each with itself once
            pairs = len(top) * (len(top) - 1)
            distances.append(1 - (float(total @ total) - len(top)) / pairs)
    return np.array(distances)
