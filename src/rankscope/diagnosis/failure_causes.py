"""Why questions fail: of every query the first cause that applies, for all queries at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from rankscope.diagnosis.document_texts import keyed
from rankscope.diagnosis.ranked_run import counts_as_relevant

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.diagnosis.rankings import Ranking
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

Cause = Literal[
    "no relevant document",
    "gold not in the corpus",
    "query missing",
    "empty answer",
    "same text under another id",
    "decided by a tie",
    "top results unjudged",
    "only lower grades on top",
    "below the cutoff",
    "not retrieved",
]
"""Why a question fails; of several causes the first. What is wrong with the data comes before what
is wrong with the answer, and what is certain before what may be."""

CAUSES: tuple[Cause, ...] = get_args(Cause)

OUTSIDE: tuple[Cause, ...] = CAUSES[:5]
"""What no better ranking can mend, for certain."""

FEWEST_JUDGED = 5
"""With fewer judgments of a question nobody looked for all that is relevant to it."""


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """The relevant documents of all queries."""

    query: IntArray
    """By document; they come by query."""
    grade: FloatArray
    """By document."""
    ids: pl.Series
    """By document."""
    places: IntArray | None
    """By document: its place in the corpus, -1: nowhere; None: there is no corpus."""
    count: IntArray
    """By query: how many there are."""
    best: FloatArray
    """By query: the highest grade; 0 if there is none."""

    @classmethod
    def of(cls, inputs: Inputs) -> Gold:
        """Take the judgments that the main measure gains something from."""
        rankings, queries = inputs.rankings, len(inputs.rankings.query_ids)
        keep = counts_as_relevant(inputs.main, rankings.judged_grade)
        query, grade = rankings.judged_query[keep], rankings.judged_grade[keep]
        ids = rankings.judged_ids.filter(pl.Series(keep))
        places = inputs.texts.places(ids) if inputs.has("corpus") else None
        count = np.bincount(query, minlength=queries)
        return cls(query, grade, ids, places, count, _highest(query, grade, queries))


def causes_of(
    ranking: Ranking, hits: IntArray, gold: Gold, cutoff: int, inputs: Inputs
) -> IntArray:
    """By query: the number of its cause; ``hits`` are the rows of relevant documents."""
    queries = len(gold.count)
    on_top = hits[ranking.rank[hits] <= cutoff]
    best_on_top = _highest(ranking.query[on_top], ranking.grade[on_top], queries)
    missed = np.flatnonzero(gold.grade > best_on_top[gold.query])
    below = hits[ranking.grade[hits] > best_on_top[ranking.query[hits]]]
    last_shown = ranking.offsets[ranking.query[below]] + cutoff - 1
    tied = below[ranking.score[below] == ranking.score[last_shown]]
    known = set(ranking.run.query_ids)
    is_in_run = np.array([query_id in known for query_id in inputs.rankings.query_ids])
    fails = (gold.count == 0) | (best_on_top < gold.best)
    applies: dict[Cause, BoolArray] = {
        "no relevant document": gold.count == 0,
        "query missing": ~is_in_run,
        "empty answer": is_in_run & (ranking.sizes == 0),
        "decided by a tie": _among(ranking.query[tied], queries),
        "top results unjudged": (best_on_top == 0) & _is_unjudged(ranking, gold, cutoff, inputs),
        "only lower grades on top": best_on_top > 0,
        "below the cutoff": _among(ranking.query[below], queries),
        "not retrieved": np.ones(queries, np.bool_),
    }
    if gold.places is not None:
        present = missed[gold.places[missed] >= 0]
        applies["gold not in the corpus"] = ~_among(gold.query[present], queries)
        certain = np.logical_or.reduce([applies[cause] for cause in OUTSIDE if cause in applies])
        present = present[(fails & ~certain)[gold.query[present]]]
        applies["same text under another id"] = _has_copy(ranking, gold, present, cutoff, inputs)
    cause = np.full(queries, -1)
    for number in reversed(range(len(CAUSES))):
        if CAUSES[number] in applies:
            cause[fails & applies[CAUSES[number]]] = number
    return cause


def _is_unjudged(ranking: Ranking, gold: Gold, cutoff: int, inputs: Inputs) -> BoolArray:
    """By query: whether at least half of the first k are unjudged, though others were judged.

    Only where at least `FEWEST_JUDGED` documents were judged, as many of them nonrelevant as
    relevant: judges who note little but what is relevant leave all else unjudged, and that says
    nothing. Nowhere in a collection that is judged so by design.
    """
    rankings, queries = inputs.rankings, len(gold.count)
    if rankings.unjudged_by_design:
        return np.zeros(queries, np.bool_)
    grades = rankings.judged_grade
    nonrelevant = (grades >= 0) & ~counts_as_relevant(inputs.main, grades)
    seen = np.bincount(rankings.judged_query[nonrelevant], minlength=queries)
    was_pooled = (seen + gold.count >= FEWEST_JUDGED) & (seen >= gold.count)
    shown = np.minimum(ranking.sizes, cutoff)
    judged = ranking.query[ranking.top(cutoff) & ranking.is_judged]
    unjudged = shown - np.bincount(judged, minlength=queries)
    return np.asarray(was_pooled & (shown > 0) & (2 * unjudged >= shown))


def _has_copy(
    ranking: Ranking, gold: Gold, missed: IntArray, cutoff: int, inputs: Inputs
) -> BoolArray:
    """By query: whether a document in the first k has exactly the text of one that is missed."""
    assert gold.places is not None
    queries, texts = len(gold.count), inputs.texts
    asked = _among(gold.query[missed], queries)
    rows = np.flatnonzero(ranking.top(cutoff) & asked[ranking.query])
    at = texts.places(ranking.doc_ids(rows))
    rows, at = rows[at >= 0], at[at >= 0]
    wanted, shown = texts.text_keys(gold.places[missed]), texts.text_keys(at)
    missed, rows = missed[wanted != 0], rows[shown != 0]
    copies = np.isin(
        keyed(ranking.query[rows], shown[shown != 0]),
        keyed(gold.query[missed], wanted[wanted != 0]),
    )
    return _among(ranking.query[rows[copies]], queries)


def _highest(query: IntArray, grade: FloatArray, queries: int) -> FloatArray:
    """By query: the highest of some grades; 0 where there is none."""
    best = np.zeros(queries)
    np.maximum.at(best, query, grade)
    return best


def _among(query: IntArray, queries: int) -> BoolArray:
    """By query: whether it is among some."""
    flags = np.zeros(queries, np.bool_)
    flags[query] = True
    return flags
