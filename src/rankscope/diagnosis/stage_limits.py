"""Limits: retrieval sets the ceiling, and what a stage drops is lost for all that follow."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.diagnosis.ranked_run import best_order
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute

if TYPE_CHECKING:
    from rankscope.diagnosis.pipeline import Pipeline
    from rankscope.diagnosis.stages import StageRow
    from rankscope.measures.judged import JudgedRun


def limits(pipeline: Pipeline, row: StageRow, ordered: Collection[str]) -> dict[str, Any]:
    """Return what a stage was given, kept, and could have made of it, as fields of its row.

    ``ordered`` are the measures for which the best order is the one by grade.
    """
    if row.role in (None, "other") or (
        row.role == "fuse" and pipeline.has_new_documents(row.of, row.system)
    ):
        return {}
    mask = pipeline.counted(row.system)
    returned = pipeline.ranked[row.system].judged.only(mask)
    if row.role == "fuse":
        given = pipeline.together(*row.of).only(mask)
    else:
        given = pipeline.ranked[row.of[0]].judged.only(mask)
    sizes = [int(run.retrieved.max(initial=1)) for run in (given, returned)]
    depth = row.depth or max(sizes)
    best = best_order(given, depth)
    recall = Measure.of("R", cutoff=depth)
    ceiling = {
        str(measure): aggregate(measure, compute(measure, best))
        for measure in map(Measure.parse, pipeline.scores.measures)
        if str(measure) in ordered
        and (row.role == "rerank" or not _counts_documents(measure, best))
    }
    update: dict[str, Any] = {
        "ceiling": ceiling,
        "input_recall": aggregate(recall, compute(recall, given)),
        "output_recall": aggregate(recall, compute(recall, returned)),
    }
    missing = np.setdiff1d(
        pipeline.relevant(*row.of), pipeline.relevant(row.system), assume_unique=True
    )
    queries = pipeline.ranked[row.system].pairs["query"].to_numpy()[missing]
    update |= {"dropped": len(missing), "dropped_queries": len(np.unique(queries))}
    main = Measure.parse(pipeline.scores.measures[0])
    if str(main) in ceiling and row.role != "rerank":
        reached = aggregate(main, compute(main, best_order(returned, max(sizes))))
        update["dropped_ceiling"] = max(ceiling[str(main)] - reached, 0.0)
    return update


def _counts_documents(measure: Measure, best: JudgedRun) -> bool:
    """Tell whether a measure asks how many documents there are, as the precision of a set does.

    Then a choice of documents may be better than all of them in the best order.
    """
    gains = best.hit_grade > 0
    query = best.hit_query[gains]
    fewest = replace(
        best,
        hit_query=query,
        hit_rank=best.hit_rank[gains],
        hit_grade=best.hit_grade[gains],
        retrieved=best.count(query),
    )
    return not np.array_equal(compute(measure, best), compute(measure, fewest))
