"""Explanation: one query's value, rank by rank.

A rank's contribution is what the value gains when the run is read down to it. That works for every
measure; for sums of gains times discounts the two factors are shown as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import UnknownNameError
from rankscope.measures.language import Measure, parse_measures
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.runs.order import ranked
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments, as_one_run, documents_of
from rankscope.scoring.plans import Group, relevance_level_of
from rankscope.scoring.scoring_options import Scoring, ScoringOptions
from rankscope.scoring.soundness import check_levels, refuse_broken, refuse_repeat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.definition import Factors

__all__ = ["Explanation", "explain"]


class Step(Part):
    """One rank of the run: which document is there and what it adds."""

    rank: int
    """The rank, counted from 1."""
    doc_id: str
    """The document."""
    score: float
    """Its score."""
    grade: float | None
    """Its grade; null for a document nobody judged."""
    contribution: float
    """What it adds to the value, with the ranks between it and the one listed before."""
    value_so_far: float
    """The value if the run ended here."""
    gain: float | None = None
    """What its grade is worth; null where the measure is no sum of gains times discounts, or passes
    the document over."""
    discount: float | None = None
    """By what the gain is multiplied at this rank; null likewise."""


class IdealStep(Part):
    """One document of the best possible order."""

    doc_id: str
    """The document."""
    grade: float
    """Its grade."""


class Explanation(Part, Shown):
    """How a query's value comes about."""

    measure: str
    """The measure."""
    query_id: str
    """The query."""
    run: str
    """The run."""
    value: float
    """The value that is explained."""
    start: float
    """The value of an empty ranking, to which the contributions add up; 0 for nearly all."""
    formula: str
    """The measure's formula."""
    calculation: str
    """The formula with this query's numbers."""
    relevant: int
    """Relevant documents in the judgments."""
    retrieved: int
    """Documents in the run."""
    steps: tuple[Step, ...]
    """All ranks down to a depth, and below it the judged documents that change the value."""
    ideal: tuple[IdealStep, ...]
    """The best possible order."""
    left_out: int
    """How many further ranks the measure looks at."""


def explain(
    qrels: Any,
    run: Any,
    query_id: str,
    measure: str | Measure,
    *,
    depth: int = 20,
    **options: Unpack[ScoringOptions],
) -> Explanation:
    """Explain one query's value: each rank, which document is there, and what it adds.

    All ranks down to ``depth`` are listed, and below it the judged documents that change the value;
    ``options`` are those of `evaluate`.

    >>> explanation = explain({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, "q", "RR")
    >>> [(step.doc_id, step.contribution) for step in explanation.steps]
    [('d2', 0.0), ('d1', 0.5)]
    """
    scoring = Scoring.of("explain", options, without=("corpus", "executor", "overlap"))
    [parsed] = parse_measures([measure], relevance_level=scoring.relevance_level)
    meant = scoring.profile.meaning(parsed.measure)
    rules = scoring.rules_for(meant)
    query_id = str(query_id)
    if scoring.language is None:  # of one query nothing is averaged
        scoring = replace(scoring, language="all")
    judgments = as_judgments(qrels, scoring)
    if query_id not in judgments.query_ids:
        raise UnknownNameError("judged query", query_id, judgments.query_ids)
    name, given = as_one_run(run, judgments, scoring)
    documents = dict(documents_of(given, query_id))
    if not rules.identical_ids:
        documents.pop(query_id, None)
    # one query may find nothing; the whole run may not
    alone = align(judgments, {query_id: documents}, rules, sound=False)
    refuse_broken(judgments, given, alone.hits, name=name)
    refuse_repeat(judgments, [meant])
    check_levels(judgments, Group([meant]))
    judged = alone.judged.only(np.array([each == query_id for each in alone.judged.query_ids]))
    grades = {doc_id: float(grade) for doc_id, grade in judgments.by_query[query_id].items()}
    described = meant.definition.factors
    factors = None if described is None else described(judged, **meant.options)
    condensed = bool(meant.options["judged_only"])
    in_order = ranked(documents.items(), ties=rules.ties, precision=rules.precision)
    in_order = in_order[: None if condensed else meant.cutoff]

    steps: list[Step] = []
    start = value = float(compute(meant, judged.cut(0))[0])
    below = [rank for rank in judged.hit_rank.tolist() if depth < rank < len(in_order)]
    listed = [*range(1, min(depth, len(in_order)) + 1), *below]
    counts = [not condensed or grades.get(doc_id, -1.0) >= 0 for doc_id, _ in in_order]
    places = np.cumsum(counts).tolist()  # the ranks once passed-over documents are gone
    for rank in dict.fromkeys([*listed, *([len(in_order)] if in_order else [])]):
        before, value = value, float(compute(meant, judged.cut(rank))[0])
        if value == before and rank > depth:
            continue
        doc_id, score = in_order[rank - 1]
        grade, place = grades.get(doc_id), places[rank - 1]
        seen = factors and counts[rank - 1] and place <= (meant.cutoff or place)
        steps.append(
            Step(
                rank=rank,
                doc_id=doc_id,
                score=float(score),
                grade=grade,
                contribution=value - before,
                value_so_far=value,
                gain=(0.0 if grade is None else factors.gain(grade)) if factors and seen else None,
                discount=factors.discount(place) if factors and seen else None,
            )
        )
    value = float(compute(meant, judged)[0])
    worth = {
        doc_id: factors.gain(grade) if factors else grade for doc_id, grade in grades.items()
    }  # of equal documents the higher id is the better one
    useful = [doc_id for doc_id, gain in worth.items() if gain > 0]
    best = sorted(useful, key=lambda each: (worth[each], grades[each], each), reverse=True)
    best = best[: meant.cutoff]
    return Explanation(
        measure=str(meant),
        query_id=query_id,
        run=name,
        value=value,
        start=start,
        formula=meant.definition.formula,
        calculation=_calculation(
            meant,
            value,
            start,
            steps,
            factors=factors,
            ideal_gains=[worth[each] for each in best],
        ),
        relevant=int(judged.graded(relevance_level_of(meant))[0]),
        retrieved=int(judged.retrieved[0]),
        steps=tuple(steps),
        ideal=tuple(
            IdealStep(doc_id=each, grade=grades[each]) for each in best[: meant.cutoff or depth]
        ),
        left_out=len(in_order) - len(steps),
    )


def _calculation(
    measure: Measure,
    value: float,
    start: float,
    steps: Sequence[Step],
    *,
    factors: Factors | None,
    ideal_gains: Sequence[float],
) -> str:
    """Return a value as the sum of what each rank adds, with this query's numbers."""
    if factors is None:
        added = [start, *(step.contribution for step in steps)]
        numbers = [f"{number:.4f}" for number in added if number]
        total = f"{_sum(numbers)} = " if len(numbers) > 1 else ""
        return f"{measure} = {total}{value:.4f}"
    total = _sum([f"{step.gain:g}×{step.discount:.4f}" for step in steps if step.gain])
    if not factors.share_of:
        return f"{measure} = {total} = {value:.4f}"
    gained = sum((step.gain or 0.0) * (step.discount or 0.0) for step in steps)
    best = sum(gain * factors.discount(rank) for rank, gain in enumerate(ideal_gains, start=1))
    plain = str(replace(measure, name=factors.share_of))
    quotient = f"{gained:.4f} / {best:.4f} = " if best else ""
    return (
        f"{plain} = {total} = {gained:.4f}; ideal {plain} = {best:.4f}; "
        f"{measure} = {quotient}{value:.4f}"
    )


def _sum(parts: list[str]) -> str:
    shown = parts if len(parts) <= 12 else [*parts[:10], "…", parts[-1]]
    return (" + ".join(shown) or "0").replace("+ -", "− ")
