"""Explanation: one query's value, rank by rank.

A rank's contribution is what the value gains when the run is read one document further. That works
for every measure; for sums of gains times discounts the two factors are shown as well.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import UnknownNameError
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.part import Part
from rankscope.runs.order import ranked
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments, as_one_run, documents_of, named_columns
from rankscope.scoring.options import Scoring, ScoringOptions
from rankscope.scoring.plans import relevance_level_of
from rankscope.scoring.soundness import check_levels, refuse_broken, refuse_repeat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.measures.definition import Factors
    from rankscope.measures.judged import JudgedRun

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
    """What it adds to the value."""
    value_so_far: float
    """The value if the run ended here."""
    gain: float | None = None
    """What its grade is worth; null where the measure is no sum of gains times discounts, or passes
    the document over."""
    discount: float | None = None
    """By what the gain is multiplied at this rank; null likewise."""


class IdealStep(Part):
    """One rank of the best possible order of the judged documents."""

    rank: int
    """The rank, counted from 1."""
    doc_id: str
    """The document."""
    grade: float
    """Its grade."""
    gain: float | None = None
    """What its grade is worth; null where the measure is no sum of gains times discounts."""
    discount: float | None = None
    """By what the gain is multiplied at this rank; null likewise."""


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
    """The ranks, all down to a depth and below it those that add something."""
    ideal: tuple[IdealStep, ...]
    """The best possible order."""
    left_out: int
    """How many further ranks the measure looks at that add nothing."""


Documents = list[tuple[str, float, float | None]]
"""A ranking: document, score, and its grade or None."""


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

    All ranks down to ``depth`` are listed, and below it those that add something; ``options`` are
    those of `evaluate`.

    >>> explanation = explain({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, "q", "RR")
    >>> [(step.doc_id, step.contribution) for step in explanation.steps]
    [('d2', 0.0), ('d1', 0.5)]
    """
    scoring = Scoring.of("explain", options, without=("lengths", "corpus", "executor", "overlap"))
    meant = scoring.profile.meaning(Measure.parse(measure))
    rules = replace(scoring.profile.rules_for(meant), **scoring.changes)
    query_id = str(query_id)
    with named_columns(scoring):
        judgments = as_judgments(qrels, scoring)
        if query_id not in judgments.query_ids:
            raise UnknownNameError("judged query", query_id, judgments.query_ids)
        name, given = as_one_run(run, judgments, scoring)
    documents = dict(documents_of(given, query_id))
    if not rules.identical_ids:
        documents.pop(query_id, None)
    alone = align(
        judgments,
        {query_id: documents},
        ties=rules.ties,
        precision=rules.precision,
        sound=False,  # one query may find nothing; the whole run may not
    )
    refuse_broken(judgments, given, alone.hits, name=name)
    refuse_repeat(judgments, [meant])
    check_levels(judgments, [meant])
    mask = np.array([judged_id == query_id for judged_id in alone.judged.query_ids])
    judged = alone.judged.only(mask)
    grades = {doc_id: float(grade) for doc_id, grade in judgments.by_query[query_id].items()}
    described = meant.definition.factors
    factors = None if described is None else described(judged, **meant.options)
    condensed = bool(meant.options["judged_only"])
    in_order = ranked(documents.items(), ties=rules.ties, precision=rules.precision)
    listed: Documents = [
        (doc_id, float(score), grades.get(doc_id))
        for doc_id, score in in_order[: None if condensed else meant.cutoff]
    ]
    start = float(compute(meant, judged.cut(0))[0])
    values = _values(meant, judged, len(listed), depth, start)
    steps = _steps(meant, listed, factors, depth, [(0, start), *values])
    value = float(compute(meant, judged)[0])
    ideal = _ideal(grades, factors)
    return Explanation(
        measure=str(meant),
        query_id=query_id,
        run=name,
        value=value,
        start=start,
        formula=meant.definition.formula,
        calculation=_product_sum(meant, value, steps, ideal, factors)
        if factors
        else _plain_sum(meant, value, start, steps),
        relevant=int(judged.graded(relevance_level_of(meant))[0]),
        retrieved=int(judged.retrieved[0]),
        steps=steps,
        ideal=tuple(ideal[: meant.cutoff or depth]),
        left_out=len(listed) - len(steps),
    )


def _steps(
    measure: Measure,
    listed: Documents,
    factors: Factors | None,
    depth: int,
    values: list[tuple[int, float]],
) -> tuple[Step, ...]:
    """Tell what each rank adds to the value before it."""
    condensed = bool(measure.options["judged_only"])
    counted = [not condensed or (grade is not None and grade >= 0) for _, _, grade in listed]
    places = np.cumsum(counted).tolist()  # the rank once passed-over documents are gone
    steps: list[Step] = []
    for (_, before), (rank, value) in pairwise(values):
        doc_id, score, grade = listed[rank - 1]
        added = value - before
        if not added and rank > depth:
            continue
        gain = discount = None
        place = places[rank - 1]
        if factors and counted[rank - 1] and place <= (measure.cutoff or place):
            gain = 0.0 if grade is None else factors.gain(grade)
            discount = factors.discount(place)
        steps.append(
            Step(
                rank=rank,
                doc_id=doc_id,
                score=score,
                grade=grade,
                contribution=added,
                value_so_far=value,
                gain=gain,
                discount=discount,
            )
        )
    return tuple(steps)


def _values(
    measure: Measure, judged: JudgedRun, size: int, depth: int, start: float
) -> Iterator[tuple[int, float]]:
    """Yield ranks and the value down to each: all ranks to ``depth``, then those that matter.

    Below ``depth`` a stretch without a judged document is looked into only if the value at its end
    is not the one at its start.
    """

    def value_at(rank: int) -> float:
        return float(compute(measure, judged.cut(rank))[0])

    value = start
    for rank in range(1, min(depth, size) + 1):
        value = value_at(rank)
        yield rank, value
    reached = min(depth, size)
    for hit in [*(rank for rank in judged.hit_rank.tolist() if depth < rank <= size), size + 1]:
        if hit - 1 > reached and value_at(hit - 1) != value:
            for rank in range(reached + 1, hit):
                value = value_at(rank)
                yield rank, value
        if hit <= size:
            value = value_at(hit)
            yield hit, value
        reached = hit


def _ideal(grades: dict[str, float], factors: Factors | None) -> list[IdealStep]:
    """Return the documents that are worth something, best first; among equals the higher id."""
    worth = {
        doc_id: (factors.gain(grade) if factors else grade, grade)
        for doc_id, grade in grades.items()
    }
    best = sorted((doc_id for doc_id in worth if worth[doc_id][0] > 0), reverse=True)
    best.sort(key=lambda doc_id: worth[doc_id], reverse=True)
    return [
        IdealStep(
            rank=rank,
            doc_id=doc_id,
            grade=grades[doc_id],
            gain=worth[doc_id][0] if factors else None,
            discount=factors.discount(rank) if factors else None,
        )
        for rank, doc_id in enumerate(best, start=1)
    ]


def _plain_sum(measure: Measure, value: float, start: float, steps: tuple[Step, ...]) -> str:
    """Return a value as the sum of what each rank adds."""
    added = [step.contribution for step in steps if step.contribution]
    numbers = [f"{number:.4f}" for number in ([start, *added] if start else added)]
    total = f"{_sum(numbers)} = " if len(numbers) > 1 else ""
    return f"{measure} = {total}{value:.4f}"


def _product_sum(
    measure: Measure,
    value: float,
    steps: tuple[Step, ...],
    ideal: list[IdealStep],
    factors: Factors,
) -> str:
    """Return a value as the sum of gains times discounts, with this query's numbers."""
    gaining = [step for step in steps if step.gain]
    parts = [f"{step.gain:g}×{step.discount:.4f}" for step in gaining]
    if not factors.share_of:
        return f"{measure} = {_sum(parts)} = {value:.4f}"
    gained = _discounted(gaining)
    best = _discounted(ideal[: measure.cutoff])
    plain = str(replace(measure, name=factors.share_of))
    quotient = f"{gained:.4f} / {best:.4f} = " if best else ""
    return (
        f"{plain} = {_sum(parts)} = {gained:.4f}; ideal {plain} = {best:.4f}; "
        f"{measure} = {quotient}{value:.4f}"
    )


def _discounted(steps: Sequence[Step | IdealStep]) -> float:
    return sum((step.gain or 0.0) * (step.discount or 0.0) for step in steps)


def _sum(parts: list[str]) -> str:
    shown = parts if len(parts) <= 12 else [*parts[:10], "…", parts[-1]]
    return (" + ".join(shown) or "0").replace("+ -", "− ")
