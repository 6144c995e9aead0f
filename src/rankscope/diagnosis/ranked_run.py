"""One run as analyses look at it: its judged documents and their ranks, and their best order.

The ranks of a `RankedRun` are those a stage sees, by rankscope's own rules (score, then id from
high to low, in double precision), whatever the profile of the scores; those of `judged_as_scored`
are the ones that were scored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from rankscope.collection.qrels import Qrels
from rankscope.measures.judged import JudgedRun, place_in
from rankscope.measures.parts import gains_of
from rankscope.measures.registry import compute
from rankscope.scoring.align import align
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.plans import relevance_level_of
from rankscope.tables.columns import QRELS
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.measures.definition import GainTable
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.measures.language import Measure
    from rankscope.scoring.scored_runs import Scores

PAIR = ["query_id", "doc_id"]

RELEVANT = 1.0
"""From this grade on a document is relevant, as for RR and R."""


def counts_as_relevant(measure: Measure, grades: FloatArray) -> BoolArray:
    """Tell which grades a measure gains something from; NaN (unjudged) is none of them.

    Where gains are graded, any grade with a gain; otherwise from the measure's level on, or from
    `RELEVANT`.
    """
    options = measure.options
    gain = options.get("gain")
    if gain is not None and gain != "binary":
        # whether there is a gain is the same for 2^grade − 1 as for the grade itself
        table = cast("GainTable", gain) if isinstance(gain, tuple) else "linear"
        gains = gains_of(grades, table, least=cast("float | None", options.get("least")))
        return np.asarray(gains > 0)
    if "min_rel" in options:
        return np.asarray(grades > max(cast("float", options["min_rel"]), 0.0))
    level = options.get("rel")
    return np.asarray(grades >= (RELEVANT if level is None else cast("float", level)))


def first_ranks(query: IntArray, rank: IntArray, queries: int) -> IntArray:
    """By query: the rank of the first of some documents, which come by query and rank; 0: none."""
    ranks = np.zeros(queries, np.int64)
    numbers, first = np.unique(query, return_index=True)
    ranks[numbers] = rank[first]
    return ranks


@dataclass(frozen=True, slots=True, eq=False)
class RankedRun:
    """One run, ranked and judged, with the numbers of its judged documents.

    ``doc`` names a hit: the row of its judgment, so the same in every run.
    """

    judged: JudgedRun
    doc: IntArray
    pairs: pl.DataFrame
    """The judgments: doc, doc_id, and the number of the query."""

    @classmethod
    def of(cls, judgments: Judgments, run: Any) -> RankedRun:
        """Align a run."""
        aligned = align(judgments, run, sound=False)  # it was checked when it was scored
        pairs = judgments.pairs.select(
            "doc_id", pl.Series("query", judgments.query, dtype=pl.Int64)
        ).with_row_index("doc")
        return cls(aligned.judged, aligned.hits.pair.astype(np.int64), pairs)

    def top(self, depth: int | None = None) -> IntArray:
        """Return the relevant documents, in the first ``depth`` or all."""
        judged = self.judged
        is_inside = True if depth is None else judged.hit_rank <= depth
        return self.doc[is_inside & (judged.hit_grade >= RELEVANT)]


def best_order(judged: JudgedRun, depth: int) -> JudgedRun:
    """Return a run whose first ``depth`` documents are ordered by grade; equal grades as before.

    Documents with a grade move to the first ranks; every other one is passed by those that were
    below it, and only by these.
    """
    query, rank, grade = judged.hit_query, judged.hit_rank, judged.hit_grade
    moved = np.flatnonzero((rank <= depth) & (grade > 0))
    new = rank.copy()
    by_grade = moved[np.lexsort((-grade[moved], query[moved]))]
    new[by_grade] = place_in(query[by_grade])
    jumps = np.zeros(len(rank), np.int64)
    jumps[moved] = 1
    hits = judged.count(query)
    above = np.concatenate([[0], np.cumsum(jumps)])
    above = above[:-1] - above[(np.cumsum(hits) - hits)[query]]  # counted within the query
    passed = (rank <= depth) & (jumps == 0)
    new[passed] += judged.count(query[moved])[query[passed]] - above[passed]
    order = np.lexsort((new, query))
    return replace(judged, hit_rank=new[order], hit_grade=grade[order])


def why_not_by_grade(measure: Measure, grades: FloatArray) -> str:
    """Say why the order by grade from high to low may not be the best one; '' if it is."""
    definition = measure.definition
    if not definition.higher_is_better:
        return "less of it is better"
    if definition.not_monotone:
        return definition.not_monotone
    if measure.needs:
        return f"it looks at {measure.needs}, not at grades alone"
    gain: Any = measure.options.get("gain")
    if isinstance(gain, tuple):
        gains = gains_of(np.unique(grades), gain, 1.0)
        if (np.diff(gains) < 0).any():
            return "its gains do not rise with the grade"
    return ""


# --- the best there could be ---------------------------------------------------------------------


def _ideal_run(judged: JudgedRun, at_least: float) -> JudgedRun:
    """Return a run that retrieves the judged documents from a grade on, by grade."""
    keep = judged.judged_grade >= at_least
    query = judged.judged_query[keep]  # by query, then by grade from high to low
    return replace(
        judged,
        retrieved=judged.count(query),
        in_run=np.ones(len(judged), np.bool_),
        hit_query=query,
        hit_rank=place_in(query),
        hit_grade=judged.judged_grade[keep],
        subtopics=None,
        spans=None,
        terms=None,
    )


def ideal_values(measure: Measure, judged: JudgedRun) -> FloatArray:
    """By query: the highest value that any ranking has.

    For measures that the order by grade is best for (`is_best_by_grade`). Which documents are worth
    returning differs: precision of a set falls with each that is not relevant, and a measure of
    preferences needs what was judged nonrelevant. So the best of a few runs counts, query by query.
    """
    above_zero = float(np.nextafter(0.0, 1.0))
    levels = dict.fromkeys((np.inf, above_zero, 0.0, relevance_level_of(measure)))
    runs = [_ideal_run(judged, level) for level in levels]
    values: FloatArray = np.max([compute(measure, run) for run in runs], axis=0)
    return values


def judged_as_scored(inputs: Inputs, system: str, measure: Measure) -> tuple[JudgedRun, FloatArray]:
    """Return a run as it was scored, with the queries that count, and its values of a measure.

    The rules are those of the scores' profile. The measure must be one of the scores.
    """
    scores = inputs.scores.run(system)
    values = scores.values[inputs.scores.measures.index(str(measure))]
    rules = inputs.scores.profile.rules_for(measure)
    judged = align(inputs.qrels, inputs.runs[system], rules, sound=False).judged
    averaged = {
        query_id
        for query_id, is_left_out in zip(scores.query_ids, np.isnan(values), strict=True)
        if not is_left_out
    }
    keep = np.fromiter((query_id in averaged for query_id in judged.query_ids), np.bool_)
    values = values[~np.isnan(values)]
    return (judged if keep.all() else judged.only(keep)), values


def rescored(inputs: Inputs, grades: pl.DataFrame) -> Scores:
    """Score all runs by the main measure where pairs of query_id, doc_id have another grade.

    Pairs of queries that are not judged are left out.
    """
    texts = [pl.col(name).cast(pl.String) for name in PAIR]
    known = pl.DataFrame({"query_id": pl.Series(inputs.qrels.query_ids, dtype=pl.String)})
    given = inputs.qrels.pairs.select(*texts, pl.col("grade").cast(pl.Float64))
    pairs = (
        given.join(grades, on=PAIR, how="full", suffix="_new", coalesce=True)
        .select(*PAIR, pl.coalesce("grade_new", "grade").alias("grade"))
        .join(known, on="query_id", how="semi")
    )
    rows = Rows(pairs, "qrels", QRELS, queries=tuple(known["query_id"]))
    # what was asked for is in the names of the measures already
    profile = replace(inputs.scores.profile, meaning=lambda measure: measure)
    return evaluate(
        Judgments(Qrels.from_rows(rows)), dict(inputs.runs), [inputs.main], profile=profile
    )
