"""One run as the stages of a pipeline are looked at: its judged documents and their ranks.

Ranks are those a stage sees, by rankscope's own rules (score, then id from high to low, in double
precision), whatever the profile of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from rankscope.measures.judged import place_in
from rankscope.measures.parts import gains_of
from rankscope.scoring.align import align

if TYPE_CHECKING:
    from rankscope.measures.definition import GainTable
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.measures.language import Measure
    from rankscope.scoring.judgments import Judgments

RELEVANT = 1.0
"""From this grade on a document is relevant, as for RR and R."""

MOST_GRADES = 12
"""Up to so many different grades each is counted; of more, those with one whole part together."""

UNJUDGED = "unjudged"


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
        aligned = align(judgments, run)
        hits = aligned.hits
        pairs = judgments.pairs.select(
            "doc_id", pl.Series("query", judgments.query, dtype=pl.Int64)
        ).with_row_index("doc")
        table = pl.DataFrame(
            {"query": hits.query, "doc_id": pl.Series(hits.doc_ids(), dtype=pl.String)}
        )
        joined = table.join(pairs, on=["query", "doc_id"], how="left", maintain_order="left")
        return cls(aligned.judged, joined["doc"].to_numpy().astype(np.int64), pairs)

    def top(self, depth: int) -> IntArray:
        """Return the relevant documents in the first ``depth``."""
        judged = self.judged
        return self.doc[(judged.hit_rank <= depth) & (judged.hit_grade >= RELEVANT)]

    def only(self, other: RankedRun, cutoff: int) -> int:
        """Count relevant documents up to the cutoff that the other run does not have there."""
        mine = self.top(cutoff)
        return int(np.count_nonzero(~np.isin(mine, other.top(cutoff))))

    def labels(self, cutoff: int, grades: FloatArray) -> dict[str, int]:
        """Count the grades up to the cutoff, highest first, then what nobody judged."""
        known = np.unique(grades[grades >= 0])
        judged = self.judged
        seen = judged.hit_grade[(judged.hit_rank <= cutoff) & (judged.hit_grade >= 0)]
        if len(known) > MOST_GRADES:
            known, seen = np.unique(np.floor(known)), np.floor(seen)
        counts = np.bincount(np.searchsorted(known, seen), minlength=len(known))
        named = zip(known[::-1].tolist(), counts[::-1].tolist(), strict=True)
        labels = {f"{grade:.15g}": count for grade, count in named}
        return {**labels, UNJUDGED: int(judged.shown(cutoff).sum()) - len(seen)}


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
    first = np.searchsorted(query, query)  # the first hit of each hit's query
    above = np.cumsum(jumps) - jumps
    above -= above[first]
    passed = (rank <= depth) & (jumps == 0)
    new[passed] += judged.count(query[moved])[query[passed]] - above[passed]
    order = np.lexsort((new, query))
    return replace(judged, hit_rank=new[order], hit_grade=grade[order])
