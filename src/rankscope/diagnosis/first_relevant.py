"""First relevant: at which rank each query has its first relevant document.

What is relevant is what the main measure gains something from; ranks are those that were scored.
Queries without a relevant document are left out, and counted; queries that a run lacks have nothing
retrieved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.ranked_run import counts_as_relevant, first_ranks, judged_as_scored
from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Curve, Plot, Section, Table
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.part import Part

if TYPE_CHECKING:
    from rankscope.measures.judged import IntArray, JudgedRun
    from rankscope.measures.language import Measure

_RANGES = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, None))

MOST_RANKS = 100
"""Down to this rank the share of queries is kept rank by rank."""

MOST_CURVES = 7
"""Of more systems than this, the plot shows the best."""


class RankRange(Part):
    """Ranks that are counted together."""

    low: int
    """The first rank."""
    high: int | None
    """The last rank; null: all that are deeper."""

    @property
    def title(self) -> str:
        """How it is written."""
        if self.high is None:
            return "deeper"
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


class SystemFirst(Part):
    """Where one system has its first relevant documents."""

    system: str
    """The system."""
    queries: int
    """How many queries count: those with a relevant document."""
    counts: tuple[int, ...]
    """How many of them have their first one in each of the ``ranges``."""
    not_retrieved: int
    """How many have none at any rank."""
    missing: int
    """How many of these the run lacks."""
    median: float | None
    """The median rank of the first one; null where it is not retrieved for half of the queries."""
    in_top: float
    """The share of queries with one in the first ``cutoff``."""
    by_rank: tuple[float, ...]
    """The share of queries with one at rank 1, in the first 2, the first 3, and so on."""


class FirstRelevant(Analysed):
    """Where systems have their first relevant documents."""

    measure: str
    """The main measure, which says what is relevant."""
    cutoff: int
    """Its cutoff, or how many documents are looked at where it has none."""
    no_relevant: int
    """How many judged queries have no relevant document; they are left out."""
    asked: int | None
    """How many documents the systems were asked for; null if that is not known."""
    ranges: tuple[RankRange, ...]
    """The ranks, down to where answers end."""
    systems: tuple[SystemFirst, ...]
    """By system."""


class FirstRelevantConfig(AnalysisConfig):
    """Nothing can be configured."""


def _look(_config: FirstRelevantConfig, inputs: Inputs) -> FirstRelevant | NotApplicable:
    assert inputs.scores is not None
    main = inputs.main
    runs = {name: judged_as_scored(inputs, name, main)[0] for name in inputs.scores.runs}
    with_relevant = {name: _queries_with_relevant(judged, main) for name, judged in runs.items()}
    if not all(len(queries) for queries in with_relevant.values()):
        return FIRST_RELEVANT.not_applicable("no query has a relevant document")
    longest = max(int(judged.retrieved.max(initial=0)) for judged in runs.values())
    ranges = tuple(RankRange(low=low, high=high) for low, high in _RANGES if low <= max(longest, 1))
    return FirstRelevant(
        measure=str(main),
        cutoff=inputs.cutoff,
        no_relevant=max(len(judged) - len(with_relevant[name]) for name, judged in runs.items()),
        asked=inputs.depth,
        ranges=ranges,
        systems=tuple(
            _of_system(name, judged, with_relevant[name], inputs, ranges, min(longest, MOST_RANKS))
            for name, judged in runs.items()
        ),
    )


def _queries_with_relevant(judged: JudgedRun, measure: Measure) -> IntArray:
    relevant = counts_as_relevant(measure, judged.judged_grade)
    return np.unique(judged.judged_query[relevant])


def _of_system(  # noqa: PLR0917
    name: str,
    judged: JudgedRun,
    queries: IntArray,
    inputs: Inputs,
    ranges: tuple[RankRange, ...],
    most: int,
) -> SystemFirst:
    hits = counts_as_relevant(inputs.main, judged.hit_grade)
    ranks = first_ranks(judged.hit_query[hits], judged.hit_rank[hits], len(judged))[queries]
    known = np.sort(ranks[ranks > 0])
    edges = [*(part.low for part in ranges), np.inf]
    up_to = np.searchsorted(known, edges)  # how many are above each range
    shares = np.searchsorted(known, np.arange(1, most + 1), side="right") / len(queries)
    return SystemFirst(
        system=name,
        queries=len(queries),
        counts=tuple(np.diff(up_to).tolist()),
        not_retrieved=len(queries) - len(known),
        missing=int(np.count_nonzero(~judged.in_run[queries])),
        median=_median(known, len(queries)),
        in_top=float(np.count_nonzero(known <= inputs.cutoff) / len(queries)),
        by_rank=tuple(shares.tolist()),
    )


def _median(known: IntArray, queries: int) -> float | None:
    """Return the median of ranks, of which those that are not known are deeper than all others."""
    middle = [(queries - 1) // 2, queries // 2]
    return float(known[middle].mean()) if middle[1] < len(known) else None


# --- the section ---------------------------------------------------------------------------------


def _section(result: FirstRelevant) -> Section:
    return Section(FIRST_RELEVANT.title, details=(_plot(result), _table(result)))


def _table(result: FirstRelevant) -> Table:
    rows = tuple(
        (
            Cell(system.system),
            *(Cell(count) for count in system.counts),
            Cell(
                system.not_retrieved,
                note=f"{system.missing:,} not in the run" if system.missing else "",
            ),
            Cell(system.median),
            Cell(f"{system.in_top:.1%}"),
        )
        for system in result.systems
    )
    queries = result.systems[0].queries
    notes = [
        (
            f"queries, of {queries:,}, by the rank of their first relevant document; relevant: "
            f"what {result.measure} gains something from"
        ),
        (
            "median: of all these queries, one that is not retrieved being deeper than any; – "
            "where that is half of them"
        ),
    ]
    if result.no_relevant:
        notes.append(
            f"left out: {counted(result.no_relevant, 'query')} without a relevant document"
        )
    if result.asked is not None:
        notes.append(f"systems were asked for {counted(result.asked, 'document')}")
    return Table(
        (
            Column("system", "text"),
            *(Column(f"rank {part.title}" if part.high else part.title) for part in result.ranges),
            Column("not retrieved"),
            Column("median", digits=1),
            Column(f"in the first {result.cutoff:,}"),
        ),
        rows,
        title="Queries by the rank of their first relevant document",
        notes=tuple(notes),
    )


def _plot(result: FirstRelevant) -> Plot:
    best = sorted(result.systems, key=lambda system: -system.in_top)[:MOST_CURVES]
    more = len(result.systems) - len(best)
    return Plot(
        title="Queries whose first relevant document is in the first k",
        x="first k documents",
        y="share of queries",
        curves=tuple(
            Curve(
                system.system,
                tuple((float(rank), share) for rank, share in enumerate(system.by_rank, start=1)),
            )
            for system in result.systems
            if system in best
        ),
        y_range=(0.0, 1.0),
        log_x=True,
        note=f"the {len(best)} best of {len(result.systems):,} systems" if more else "",
    )


FIRST_RELEVANT = register(
    Analysis(
        name="first_relevant",
        title="First relevant document",
        summary="At which rank each query has its first relevant document.",
        config=FirstRelevantConfig,
        written="",
        result=FirstRelevant,
        needs=("scores", "runs", "qrels"),
        look=_look,
        section=_section,
        place=12,
    )
)
