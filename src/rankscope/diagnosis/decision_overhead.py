"""Overhead: how long a router or gate takes to decide.

An analysis of `rankscope.collection.decisions`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankscope.collection.decisions import UNITLESS
from rankscope.diagnosis.decided import (
    OTHER_QUERIES,
    judged_decisions,
    left_out_in_words,
    other_queries,
)
from rankscope.diagnosis.figures import Figure
from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table, ends, shortened
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.part import Part
from rankscope.statistics.percentiles import Percentile, percentiles
from rankscope.tables.columns import folded

LEVELS = (50, 95, 99)
"""The percentiles that are shown."""

SHOWN_ROUTES = 8


class RouteOverhead(Part):
    """How long decisions for one route took."""

    route: str
    """The route."""
    n: int
    """How many decisions."""
    percentiles: tuple[Percentile, ...]
    """In milliseconds."""


class Overhead(Analysed):
    """How long decisions took."""

    n: int
    """How many decisions have a latency."""
    unknown: int
    """How many have none."""
    other_queries: int
    """How many decisions are left out, as they are for queries that are not judged."""
    mean: float
    """The mean, in milliseconds."""
    longest: float
    """The longest, in milliseconds."""
    percentiles: tuple[Percentile, ...]
    """p50, p95 and p99, in milliseconds."""
    routes: tuple[RouteOverhead, ...]
    """By route, the most frequent first; none where the route is not given."""
    column: str
    """What the column is called."""
    unit_assumed: bool
    """Whether the name of the column has no unit, so that milliseconds are assumed."""
    figures: tuple[Figure, ...]
    """What targets can be set for."""


class OverheadConfig(AnalysisConfig):
    """Nothing can be configured."""


def _look(_: OverheadConfig, inputs: Inputs) -> Overhead | NotApplicable:
    assert inputs.decisions is not None
    decisions = judged_decisions(inputs)
    if isinstance(decisions, str):
        return OVERHEAD.not_applicable(decisions)
    missing = decisions.lacking("latency_ms")
    if missing is not None:
        return OVERHEAD.not_applicable(missing)
    frame = decisions.to_polars().select(
        pl.col("latency_ms"), decisions.column("route").alias("route")
    )
    frame = frame.drop_nulls("latency_ms")
    if frame.is_empty():
        return OVERHEAD.not_applicable("no decision for a judged query has a latency")
    left_out = len(inputs.decisions) - len(decisions)
    latencies = frame["latency_ms"].to_numpy()
    level = inputs.settings.level
    whole = percentiles(latencies, LEVELS, level=level)
    by_route = frame.drop_nulls("route").group_by("route").agg("latency_ms", pl.len().alias("n"))
    by_route = by_route.sort(["n", "route"], descending=[True, False])
    column = decisions.called("latency_ms")
    return Overhead(
        n=len(latencies),
        unknown=len(decisions) - len(latencies),
        other_queries=left_out,
        findings=tuple(other_queries(left_out)),
        mean=float(np.mean(latencies)),
        longest=float(np.max(latencies)),
        percentiles=whole,
        routes=tuple(
            RouteOverhead(
                route=route, n=n, percentiles=percentiles(np.array(values), LEVELS, level=level)
            )
            for route, values, n in by_route.iter_rows()
        ),
        column=column,
        unit_assumed=folded(column) in map(folded, UNITLESS),
        figures=tuple(
            Figure(
                name=f"p{entry.percentile}_overhead_ms", value=entry.value, interval=entry.interval
            )
            for entry in whole
        ),
    )


def _section(result: Overhead) -> Section:
    titles = [f"p{entry.percentile}, ms" for entry in result.percentiles]
    notes = [
        (
            "percentiles are interpolated linearly between the two nearest values; in brackets: "
            "where they lie, whatever the distribution; ∞: too few decisions to say"
        )
    ]
    if result.unit_assumed:
        notes.append(
            f"the column {result.column} names no unit and is taken as milliseconds; call it "
            "latency_s if it is seconds"
        )
    if result.unknown:
        notes.append(f"{counted(result.unknown, 'decision')} without a latency left out")
    if result.other_queries:
        notes.append(left_out_in_words(result.other_queries))
    rows = [(Cell("all decisions"), Cell(result.n), *_cells(result.percentiles))]
    if len(result.routes) > 1:
        rows += [
            (Cell(shortened(route.route)), Cell(route.n), *_cells(route.percentiles))
            for route in result.routes[:SHOWN_ROUTES]
        ]
        if len(result.routes) > SHOWN_ROUTES:
            notes.append(f"{len(result.routes) - SHOWN_ROUTES} more routes are in the JSON")
    table = Table(
        (
            Column("overhead", "text"),
            Column("decisions"),
            *(Column(title, digits=1) for title in titles),
        ),
        tuple(rows),
        notes=tuple(notes),
    )
    return Section(OVERHEAD.title, (table,))


def _cells(entries: tuple[Percentile, ...]) -> list[Cell]:
    return [Cell(entry.value, ends(entry.interval)) for entry in entries]


OVERHEAD = register(
    Analysis(
        name="overhead",
        title="Overhead of decisions",
        summary="How long a router or gate takes to decide: p50, p95, p99.",
        config=OverheadConfig,
        written="",
        result=Overhead,
        needs=("decisions",),
        uses=("qrels",),
        look=_look,
        section=_section,
        codes=(OTHER_QUERIES,),
        place=36,
    )
)
