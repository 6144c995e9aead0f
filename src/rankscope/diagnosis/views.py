"""One run as the stages of a pipeline are looked at: its judged documents and their ranks.

Ranks are those a stage sees, by rankscope's own rules (score, then id from high to low, in double
precision), whatever the profile of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.measures.judged import place_in
from rankscope.scoring.align import align

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.scoring.judgments import Judgments

__all__ = ["RELEVANT", "View", "best_order"]

RELEVANT = 1.0
"""From this grade on a document is relevant, as for RR and R."""

MOST_GRADES = 12
"""Up to so many different grades each is counted; of more, those with one whole part together."""

UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One run, ranked and judged, with the numbers of its judged documents.

    ``doc`` names a hit: the row of its judgment, so the same in every run.
    """

    judged: JudgedRun
    doc: IntArray
    pairs: pl.DataFrame
    """The judgments: doc, doc_id, and the number of the query."""

    @classmethod
    def of(cls, judgments: Judgments, run: Any) -> View:
        """Align a run."""
        aligned = align(judgments, run)
        hits = aligned.hits
        pairs = judgments.pairs.select(
            "doc_id", pl.Series("query", judgments.query, dtype=pl.Int64)
        ).with_row_index("doc")
        found = pl.DataFrame(
            {"query": hits.query, "doc_id": pl.Series(hits.doc_ids(), dtype=pl.String)}
        )
        joined = found.join(pairs, on=["query", "doc_id"], how="left", maintain_order="left")
        return cls(aligned.judged, joined["doc"].to_numpy().astype(np.int64), pairs)

    def top(self, depth: int) -> IntArray:
        """Return the relevant documents in the first ``depth``."""
        judged = self.judged
        return self.doc[(judged.hit_rank <= depth) & (judged.hit_grade >= RELEVANT)]

    def only(self, other: View, cutoff: int) -> int:
        """Count relevant documents up to the cutoff that the other has not there."""
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
    """Return a run whose first ``depth`` documents stand by grade; equal grades as they stood."""
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
