"""Lesser-known measures of trec_eval, kept for its sake, and its string of grades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.measures.definition import GAIN, INFINITY, REL
from rankscope.measures.graded import ideal_total
from rankscope.measures.judged import place_in
from rankscope.measures.parts import gained, ideal, ratio, running
from rankscope.measures.registry import define

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray, JudgedRun
    from rankscope.measures.parts import Gain


@define("IDCG", GAIN, REL, range=(0.0, INFINITY))
def ideal_discounted_gain(
    run: JudgedRun, *, cutoff: int | None, gain: Gain, rel: float
) -> FloatArray:
    """Discounted gain of the best possible ranking, which nDCG is divided by.

    Formula: Σ down to k of gain / log2(rank + 1), all judged documents in the best order
    Short run: as usual
    Reference: Järvelin & Kekäläinen 2002
    """
    return ideal_total(run, gain, rel, cutoff).copy()


@define("binG", REL)
def binary_gain(run: JudgedRun, *, rel: float) -> FloatArray:
    """Mean over relevant documents of a discount by the nonrelevant ones above.

    Formula: (1/R) Σ over relevant retrieved of 1 / log2(2 + nonrelevant above)
    Reference: Buckley 2008 (trec_eval)
    """
    hits = run.relevant(rel)
    worth = 1.0 / np.log2(2.0 + (hits.rank - hits.seen))
    return ratio(run.total(hits.query, worth), run.graded(rel))


@define("G", GAIN, REL, tie_bounds=False)
def normalised_gain(run: JudgedRun, *, gain: Gain, rel: float) -> FloatArray:
    """Gains discounted by how far they lag behind the best possible ranking.

    Formula: (Σ gain / log2(2 + c − s)) / (sum of all gains); down to the rank, s = gains,
    c = Σ over the best order of max(gain, 1), and 1 a rank past its end
    Reference: Buckley 2008 (trec_eval)
    """
    best, mine = ideal(run, gain, rel), gained(run, gain, rel)
    length = run.count(best.query)
    start = np.cumsum(length) - length
    sums = running(best.rank, np.maximum(best.gain, 1.0))
    inside = np.minimum(mine.rank, length[mine.query])
    cost = sums[start[mine.query] + inside - 1] + (mine.rank - inside)
    got = running(place_in(mine.query), mine.gain)
    worth = mine.gain / np.log2(2.0 + cost - got)
    return ratio(run.total(mine.query, worth), run.total(best.query, best.gain))


def _shares(run: JudgedRun, gain: Gain, rel: float, query: IntArray, rank: IntArray) -> FloatArray:
    """Return DCG / ideal DCG at some ranks; ``rank`` is within the ideal or past its end."""
    best, mine = ideal(run, gain, rel), gained(run, gain, rel)
    length = run.count(best.query)
    start = np.cumsum(length) - length
    sums = running(best.rank, best.discounted)
    below = sums[start[query] + np.minimum(rank, length[query]) - 1]
    width = int(max(mine.rank.max(initial=0), rank.max(initial=0))) + 1
    so_far = np.concatenate(([0.0], running(place_in(mine.query), mine.discounted)))
    at = np.searchsorted(mine.query * width + mine.rank, query * width + rank, side="right")
    first = np.searchsorted(mine.query, query)
    share: FloatArray = np.where(at > first, so_far[at], 0.0) / below
    return share


@define("nDCG_rel", GAIN, REL)
def gain_at_relevant(run: JudgedRun, *, gain: Gain, rel: float) -> FloatArray:
    """Normalised discounted gain, averaged over the ranks of all documents that gain something.

    Formula: (1/n) Σ over the n documents with a gain of DCG/IDCG at their rank; for those not
    retrieved, at the end
    Reference: Buckley 2008 (trec_eval)
    """
    best, mine = ideal(run, gain, rel), gained(run, gain, rel)
    wanted = run.count(best.query)
    at_each = run.total(mine.query, _shares(run, gain, rel, mine.query, mine.rank))
    at_end = ratio(run.total(mine.query, mine.discounted), ideal_total(run, gain, rel, None))
    return ratio(at_each + (wanted - run.count(mine.query)) * at_end, wanted)


@define("RnDCG", GAIN, REL)
def gain_at_levels(run: JudgedRun, *, gain: Gain, rel: float) -> FloatArray:
    """Normalised discounted gain, averaged over the ranks where the ideal gain steps down.

    Formula: mean of DCG/IDCG at each rank where the best order goes on to a lower gain, and at the
    end of the run if it is longer than the best order by two documents or more
    Reference: Buckley 2008 (trec_eval)
    """
    best, mine = ideal(run, gain, rel), gained(run, gain, rel)
    length = run.count(best.query)
    last = np.ones(len(best.query), dtype=np.bool_)
    last[:-1] = (best.query[1:] != best.query[:-1]) | (best.gain[1:] != best.gain[:-1])
    query, rank = best.query[last], best.rank[last]
    total = run.total(query, _shares(run, gain, rel, query, rank))
    longer = (length > 0) & (run.retrieved > length + 1)
    end = ratio(run.total(mine.query, mine.discounted), ideal_total(run, gain, rel, None))
    return ratio(total + np.where(longer, end, 0.0), run.count(query) + longer)


@define("YAAP", REL, range=(-INFINITY, INFINITY))
def log_odds_average_precision(run: JudgedRun, *, rel: float) -> FloatArray:
    """Average precision on a scale of log odds, so that means over queries behave better.

    Formula: ln((1 + s) / (1 + R − s)), s = Σ of the precision at each relevant retrieved document
    Short run: an empty one has −ln(1 + R)
    Reference: Robertson 2012
    """
    hits = run.relevant(rel)
    sums = run.total(hits.query, hits.seen / hits.rank)
    return np.log((1.0 + sums) / (1.0 + run.graded(rel) - sums))


def relevance_string(run: JudgedRun, query: int, length: int) -> str:
    """Return the grades of one query's first documents as characters, as trec_eval's relstring.

    A grade from 0 to 9 is its digit, a higher one ``>``; ``-`` is an unjudged document and ``.``
    one that was pooled but not judged. A fraction is cut off.
    """
    marks = ["-"] * min(length, int(run.retrieved[query]))
    low, high = np.searchsorted(run.hit_query, [query, query + 1]).tolist()
    for rank, grade in zip(run.hit_rank[low:high].tolist(), run.hit_grade[low:high], strict=True):
        if rank <= length:
            marks[rank - 1] = "." if grade < 0 else ">" if grade >= 10 else str(int(grade))
    return "".join(marks)
