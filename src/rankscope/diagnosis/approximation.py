"""Approximation: what an approximate index loses against exact search, and where.

Recall here is not about relevance: it is the share of what an exact search over the same vectors
finds first that the index finds, too. Whether that matters is the task's measure, which is beside
it. Where the engine lets one search all that it stores, the loss is split: what quantised vectors
lose, and what the graph or the lists lose on top of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Block, Cell, Column, Section, Table
from rankscope.errors import counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part, left_out, left_out_if_empty
from rankscope.statistics.intervals import Interval, mean_intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.runs.exactness import Exactness, QueryExactness

LOW_RECALL = declare(
    "RS751",
    "low-index-recall",
    "warning",
    unit="system",
    advice="search more of the index (ef_search, probes, nprobes), or build a denser one",
    meaning="""An approximate index finds less than nine tenths of what an exact search over the
    same vectors finds first, so its measures are about the index as much as about the model.""",
)
FILTERED_RECALL = declare(
    "RS752",
    "filters-cost-recall",
    "warning",
    unit="query",
    advice="search deeper where a filter leaves little (iterative scans, a larger ef_search), or "
    "filter before searching",
    meaning="""For queries whose filter leaves out most documents, an approximate index finds much
    less of what an exact search finds than for the others.""",
)

_NONE = (
    "no system searches vectors approximately that rankscope loaded; what an index of yours loses "
    "is not known"
)

ENOUGH = 0.9
"""A recall below this is a warning."""

DROP = 0.1
"""Filtered queries that lose this much recall against the others are a warning."""

BANDS = (0.0, 0.5, 0.9, 0.99, 1.0)
"""Ends of the bands of how much a filter leaves out."""


class FilteredRecall(Part):
    """The queries whose filters leave out a similar share of documents."""

    more_than: float
    """They leave out more than this share; 0 and nothing for queries without a filter."""
    up_to: float
    """And at most this share."""
    queries: int
    """How many queries there are."""
    recall: float
    """Their mean recall."""


class ApproximateSystem(Part):
    """One approximate system against exact search."""

    system: str
    """The system."""
    queries: int
    """How many queries were compared."""
    documents: int
    """How many documents have a vector."""
    recall: float
    """The mean share of the exact first k that is among the first k of the answer."""
    interval: Interval | None
    """Of the mean; null for a single query."""
    lowest: float
    """The lowest recall of a query."""
    whole: int
    """Queries that miss nothing."""
    lost_to_quantisation: float | None = left_out()
    """What a search through everything as it is stored misses, with the same rescoring; left out
    where the engine does not let one."""
    lost_to_index: float | None = left_out()
    """What the graph or the lists miss beyond that; below 0 where they find more by chance."""
    by_filter: tuple[FilteredRecall, ...] = left_out_if_empty()
    """By how much filters leave out, where queries have filters."""
    quality: float
    """The mean of the main measure."""
    p50: float | None
    """The median time of a query, in milliseconds; null if it is not known."""
    p95: float | None
    """The 95th percentile, in milliseconds."""
    rate: float | None
    """Queries answered in a second, as they were asked for the benchmark."""
    on_front: bool
    """Whether no other approximate system has at least its recall in at most its median time, and
    more of one of the two."""


class Approximation(Analysed):
    """What approximate indexes lose."""

    measure: str
    """The main measure."""
    k: int
    """How many documents are looked at."""
    tolerance: float
    """A document less similar than the k-th by no more than this is as good."""
    systems: tuple[ApproximateSystem, ...]
    """By system."""


class ApproximationConfig(AnalysisConfig):
    """How it is compared."""

    k: int = Field(default=10, ge=1, le=1000)
    """How many documents are looked at."""
    tolerance: float = Field(default=1e-5, ge=0, le=0.1)
    """A document less similar than the k-th by no more than this is as good."""


def _look(config: ApproximationConfig, inputs: Inputs) -> Approximation | NotApplicable:
    assert inputs.scores is not None
    assert inputs.exactness is not None
    known = {
        name: measured
        for name, measured in inputs.exactness.items()
        if name in inputs.scores.runs and measured.queries
    }
    if not known:
        return APPROXIMATION.not_applicable(_NONE)
    rows = [_system(measured, inputs) for measured in known.values()]
    rows = [row.model_copy(update={"on_front": _is_on_front(row, rows)}) for row in rows]
    k = next(iter(known.values())).k
    return Approximation(
        measure=inputs.scores.measures[0],
        k=k,
        tolerance=config.tolerance,
        systems=tuple(rows),
        findings=tuple(finding for row in rows for finding in _findings(row, k)),
    )


def _system(measured: Exactness, inputs: Inputs) -> ApproximateSystem:
    assert inputs.scores is not None
    recalls = np.array([row.hits / row.wanted for row in measured.queries])
    interval = None
    if len(recalls) > 1:
        (interval,) = mean_intervals(
            recalls[np.newaxis], method="t", level=inputs.settings.level, bounds=[(0.0, 1.0)]
        )
    stored = _stored_recalls(measured.queries)
    recall = float(recalls.mean())
    costs = (inputs.costs or {}).get(measured.system, {})
    return ApproximateSystem(
        system=measured.system,
        queries=len(recalls),
        documents=measured.documents,
        recall=recall,
        interval=interval,
        lowest=float(recalls.min()),
        whole=int(np.count_nonzero(recalls >= 1)),
        lost_to_quantisation=None if stored is None else float((1 - stored).mean()),
        lost_to_index=None if stored is None else float((stored - recalls).mean()),
        by_filter=tuple(_bands(measured.queries)) if measured.filters else (),
        quality=inputs.scores.run(measured.system).means[inputs.scores.measures[0]],
        p50=costs.get("p50, ms"),
        p95=costs.get("p95, ms"),
        rate=(inputs.rates or {}).get(measured.system),
        on_front=False,
    )


def _stored_recalls(queries: Sequence[QueryExactness]) -> NDArray[np.float64] | None:
    """Return the recall of each query in what is stored; None if it is not known of all."""
    shares = [row.stored_hits / row.wanted for row in queries if row.stored_hits is not None]
    return np.array(shares) if len(shares) == len(queries) else None


def _bands(queries: Sequence[QueryExactness]) -> Iterator[FilteredRecall]:
    """Yield the recall by how much filters leave out; first the queries without any."""
    for more_than, up_to in ((-1.0, 0.0), *pairwise(BANDS)):
        chosen = [row.hits / row.wanted for row in queries if more_than < row.filtered <= up_to]
        if chosen:
            yield FilteredRecall(
                more_than=max(more_than, 0.0),
                up_to=up_to,
                queries=len(chosen),
                recall=sum(chosen) / len(chosen),
            )


def _is_on_front(row: ApproximateSystem, rows: Sequence[ApproximateSystem]) -> bool:
    if row.p50 is None:
        return False
    return not any(
        other.p50 is not None
        and other.recall >= row.recall
        and other.p50 <= row.p50
        and (other.recall, -other.p50) != (row.recall, -row.p50)
        for other in rows
    )


def _findings(row: ApproximateSystem, k: int) -> Iterator[Finding]:
    if row.recall < ENOUGH:
        yield LOW_RECALL.finding(
            f"the index finds {row.recall:.1%} of the first {k} that an exact search over the same "
            "vectors finds",
            evidence={"recall": row.recall, "k": k, "lowest": row.lowest},
            system=row.system,
        )
    free = [band for band in row.by_filter if band.up_to < 0.9]
    tight = [band for band in row.by_filter if band.up_to >= 0.9 and band.more_than >= 0.5]
    if not free or not tight:
        return
    worst = min(tight, key=lambda band: band.recall)
    usual = sum(band.recall * band.queries for band in free) / sum(band.queries for band in free)
    if usual - worst.recall > DROP:
        yield FILTERED_RECALL.finding(
            f"the index finds {worst.recall:.1%} of the exact first {k} where a filter leaves out "
            f"more than {worst.more_than:.0%} of the documents "
            f"({counted(worst.queries, 'query')}), and {usual:.1%} where it leaves out less",
            count=worst.queries,
            evidence={"recall": worst.recall, "otherwise": usual},
            system=row.system,
        )


# --- the section ---------------------------------------------------------------------------------


def _section(result: Approximation) -> Section:
    details: list[Block] = []
    if any(row.by_filter for row in result.systems):
        details.append(_filter_table(result))
    return Section(APPROXIMATION.title, (_table(result),), tuple(details))


_Number = Callable[[ApproximateSystem], float | None]


def _table(result: Approximation) -> Table:
    columns: list[tuple[Column, _Number]] = [
        (Column(f"recall@{result.k}", digits=3), lambda row: row.recall),
        (Column("lowest", digits=3), lambda row: row.lowest),
        (Column(result.measure, digits=3), lambda row: row.quality),
    ]
    if any(row.lost_to_quantisation is not None for row in result.systems):
        columns += [
            (Column("lost to quantisation", digits=3), lambda row: row.lost_to_quantisation),
            (Column("lost to the index", digits=3), lambda row: row.lost_to_index),
        ]
    columns += [
        (Column("p50, ms", digits=2), lambda row: row.p50),
        (Column("p95, ms", digits=2), lambda row: row.p95),
        (Column("queries/s", digits=0), lambda row: row.rate),
    ]
    rows = [
        (
            Cell(row.system),
            *(
                Cell(number(row), interval=_ends(row.interval) if place == 0 else None)
                for place, (_, number) in enumerate(columns)
            ),
            Cell("✓" if row.on_front else ""),
        )
        for row in result.systems
    ]
    notes = [
        (
            f"recall@{result.k}: the share of what an exact search over the same vectors finds "
            f"first; documents within {result.tolerance:g} of the similarity of the last count"
        ),
        (
            "✓ front: no other of these has at least this recall in at most this median time, and "
            "more of one of the two"
        ),
    ]
    if any(row.lost_to_quantisation is not None for row in result.systems):
        notes.append(
            "lost to quantisation: what a search through everything as it is stored misses, with "
            "the same rescoring; lost to the index: what the graph or the lists miss beyond that "
            "(below 0 where they find more by chance); – where the engine does not let one look"
        )
    return Table(
        (Column("system", "text"), *(column for column, _ in columns), Column("front", "text")),
        tuple(rows),
        title="Against exact search",
        notes=tuple(notes),
    )


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)


def _filter_table(result: Approximation) -> Table:
    filtered = [row for row in result.systems if row.by_filter]
    bands = sorted({(band.more_than, band.up_to) for row in filtered for band in row.by_filter})
    by_system: list[Mapping[tuple[float, float], FilteredRecall]] = [
        {(band.more_than, band.up_to): band for band in row.by_filter} for row in filtered
    ]
    rows = []
    for ends in bands:
        present = [bands_of[ends] for bands_of in by_system if ends in bands_of]
        rows.append(
            (
                Cell("none" if ends[1] == 0 else f"{ends[0]:.0%} to {ends[1]:.0%}"),
                Cell(max(band.queries for band in present)),
                *(
                    Cell(bands_of[ends].recall if ends in bands_of else None)
                    for bands_of in by_system
                ),
            )
        )
    return Table(
        (
            Column("left out by the filter", "text"),
            Column("queries", digits=0),
            *(Column(row.system, digits=3) for row in filtered),
        ),
        tuple(rows),
        title=f"recall@{result.k} by filter",
    )


APPROXIMATION = register(
    Analysis(
        name="approximation",
        title="Approximate indexes",
        summary="What approximate vector search loses against exact search, and at what speed.",
        config=ApproximationConfig,
        written="approximation: {k: 10}",
        result=Approximation,
        needs=("scores", "exactness"),
        uses=("costs",),
        look=_look,
        section=_section,
        codes=(LOW_RECALL, FILTERED_RECALL),
        brief=True,
        place=40,
    )
)
