"""What is to be said of stages: those that lose, and those that drop what is relevant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.analysis import Advice
from rankscope.errors import Place, counted
from rankscope.findings import PLACES_SHOWN, Finding, declare
from rankscope.statistics.matrix import Scale
from rankscope.statistics.sentences import measured, number, p_text

if TYPE_CHECKING:
    from rankscope.diagnosis.pipeline import Pipeline
    from rankscope.diagnosis.stages import StageChange, StageRow, Stages

STAGE_LOSES = declare(
    "RS711",
    "stage-loses",
    "warning",
    unit="stage",
    advice="leave the stage out, or mend it, unless a later one needs what it adds",
    meaning="""A stage is significantly worse in the main measure than the best system it builds on;
    corrected over all pairs of systems.""",
)
RELEVANT_DROPPED = declare(
    "RS712",
    "relevant-dropped",
    "warning",
    unit="query",
    advice="loosen the filter, or return more documents: no later stage can bring them back",
    meaning="""A stage leaves out relevant documents that the system below has retrieved. A warning
    of a filter, which keeps the order of the others; a note of a reranker that returns fewer
    documents than it is given.""",
)


def stage_findings(result: Stages, pipeline: Pipeline) -> list[Finding]:
    """Say what a reader should know of the stages."""
    return [
        *_losses(result),
        *(_dropped(row, pipeline) for row in result.stages if _drops(row)),
    ]


def stage_advice(result: Stages, focus: str) -> list[Advice]:
    """Say what to do about the stages of the best system, and of those on top of it."""
    below = _connected(result.stages, focus, upwards=False)
    above = _connected(result.stages, focus, upwards=True)
    used = {name for row in result.stages for name in row.of}
    advice = [
        Advice(
            text=f"Leave {row.system} out: it is worse than {change.of}, which it builds on, by "
            f"{abs(change.difference):.3f} {_ends(change)} in {change.measure}",
            gain=abs(change.difference),
        )
        for row, change, _ in _losing(result)
        if row.system in above and row.system not in used
    ]
    advice += [
        Advice(
            text=f"Filtering: {row.system} drops {_documents(row)} that {row.of[0]} has retrieved; "
            f"with them, the best order would have up to {row.dropped_ceiling:.3f} more "
            f"{result.measure}",
            gain=row.dropped_ceiling,
        )
        for row in result.stages
        if row.system in below and row.role == "filter" and row.dropped and row.dropped_ceiling
    ]
    return advice


def _connected(stages: Sequence[StageRow], focus: str, *, upwards: bool) -> set[str]:
    """Return a system with all that it builds on, or with all that builds on it."""
    known = {focus}
    ordered = stages if upwards else list(reversed(stages))
    for _ in stages:  # stages may be in any order: at worst each pass finds one more
        size = len(known)
        for row in ordered:
            if upwards and known.intersection(row.of):
                known.add(row.system)
            elif not upwards and row.system in known:
                known.update(row.of)
        if len(known) == size:
            break
    return known


def _ends(change: StageChange) -> str:
    """Return the interval of a loss, as a positive number, with three decimals."""
    low, high = sorted((abs(change.interval.low), abs(change.interval.high)))
    return f"[{low:.3f}, {high:.3f}]"


# --- stages that lose ----------------------------------------------------------------------------


def _losing(result: Stages) -> list[tuple[StageRow, StageChange, float]]:
    """Return the stages that are worse than the best they build on, with corrected p-values."""
    best = []
    for row in result.stages:
        changes = [change for change in row.changes if change.measure == result.measure]
        if changes:
            # the smallest gain is the one over the best system below
            sign = 1 if Scale.of(changes[0].measure).higher_is_better else -1
            best.append((row, min(changes, key=lambda change: sign * change.difference)))
    return [
        (row, change, change.p_corrected)
        for row, change in best
        if change.p_corrected is not None
        and change.p_corrected <= result.alpha
        and change.difference
        and not Scale.of(change.measure).is_better(change.difference)
    ]


def _losses(result: Stages) -> Iterator[Finding]:
    for row, change, p in _losing(result):
        numbers = measured(change.difference, change.interval, f"{p_text(p)} corrected")
        yield STAGE_LOSES.finding(
            f"{row.system} is worse than {change.of}, which it builds on: {change.measure} "
            f"{numbers}",
            evidence={
                "system": row.system,
                "of": change.of,
                "measure": change.measure,
                "difference": change.difference,
                "p_corrected": p,
                "promoted": row.promoted,
                "lost": row.lost,
            },
        )


# --- stages that drop relevant documents ---------------------------------------------------------


def _drops(row: StageRow) -> bool:
    """Tell whether a stage leaves out relevant documents; of fusions the depth of runs does."""
    return bool(row.dropped) and row.depth_source != "given" and row.role != "fuse"


def _documents(row: StageRow) -> str:
    documents = counted(row.dropped or 0, "relevant document")
    return f"{documents} of {counted(row.dropped_queries or 0, 'query')}"


def _dropped(row: StageRow, pipeline: Pipeline) -> Finding:
    missing = np.setdiff1d(
        pipeline.relevant(*row.of), pipeline.relevant(row.system), assume_unique=True
    )
    pairs = pipeline.ranked[row.system].pairs[missing[:PLACES_SHOWN]]
    query_ids = pipeline.judgments.query_ids
    worth = ""
    if row.dropped_ceiling:
        worth = f"; the best order of what is left has {number(row.dropped_ceiling)} less"
    return RELEVANT_DROPPED.finding(
        f"{row.system} drops {_documents(row)} that {row.of[0]} has retrieved{worth}",
        count=row.dropped_queries or 0,
        places=tuple(
            Place(row.system, None, query_ids[query], doc_id)
            for doc_id, query in pairs.select("doc_id", "query").iter_rows()
        ),
        evidence={
            "system": row.system,
            "of": row.of[0],
            "role": row.role,
            "dropped": row.dropped,
            "dropped_ceiling": row.dropped_ceiling,
        },
        severity="warning" if row.role == "filter" else "note",
    )
