"""Explanation: one query's value, rank by rank.

A rank's contribution is what the value gains when the run is read one document further. That works
for every measure; for sums of gains times discounts the two factors are shown as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.alignment import align, only_queries
from rankscope.errors import InputError, UnknownNameError
from rankscope.inputs import as_judgments, as_runs
from rankscope.measures.language import Measure
from rankscope.measures.registry import compute
from rankscope.profiles import profile_named

if TYPE_CHECKING:
    from rankscope.judged import JudgedRun
    from rankscope.profiles import Profile

__all__ = ["Explanation", "IdealStep", "Step", "explain"]


@dataclass(frozen=True, slots=True)
class Step:
    """One rank of the run: what stands there and what it adds.

    ``gain`` and ``discount`` are None where the measure is no sum of gains times discounts, and
    ``grade`` is None for a document nobody judged.
    """

    rank: int
    doc_id: str
    score: float
    grade: float | None
    contribution: float
    value_so_far: float
    gain: float | None = None
    discount: float | None = None


@dataclass(frozen=True, slots=True)
class IdealStep:
    """One rank of the best possible order of the judged documents."""

    rank: int
    doc_id: str
    grade: float
    gain: float | None = None
    discount: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a query's value comes about.

    ``calculation`` is the formula with this query's numbers in it, ``left_out`` how many further
    ranks the measure looks at that add nothing.
    """

    measure: str
    query_id: str
    run: str
    value: float
    formula: str
    calculation: str
    relevant: int
    retrieved: int
    steps: tuple[Step, ...]
    ideal: tuple[IdealStep, ...]
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Factors:
    """The two factors of a measure that is a sum of gains times discounts."""

    gain: Callable[[float], float]
    discount: Callable[[int], float]
    normalised: bool  # divided by the same sum over the ideal order


def _gain_function(measure: Measure, highest: float) -> Callable[[float], float]:
    options = measure.options
    gain = options["gain"]
    level = float(options.get("rel", 1.0))  # type: ignore[arg-type]
    if gain == "binary":
        return lambda grade: float(grade >= level)
    if gain == "exp":
        return lambda grade: 2.0 ** max(grade, 0.0) - 1
    if isinstance(gain, tuple):
        table = {float(key): float(gained) for key, gained in gain}  # type: ignore[misc]
        return lambda grade: table.get(grade, max(grade, 0.0))
    if measure.name == "RBP":
        return lambda grade: max(grade, 0.0) / highest if highest > 0 else 0.0
    return lambda grade: max(grade, 0.0)


def _factors(measure: Measure, judged: JudgedRun) -> _Factors | None:
    if measure.name in ("DCG", "nDCG"):
        gain = _gain_function(measure, judged.max_grade)
        return _Factors(gain, lambda rank: 1 / float(np.log2(rank + 1)), measure.name == "nDCG")
    if measure.name == "RBP" and measure.options.get("scale", "qrels") == "qrels":
        persistence = float(measure.options["p"])  # type: ignore[arg-type]
        gain = _gain_function(measure, judged.max_grade)
        return _Factors(gain, lambda rank: (1 - persistence) * persistence ** (rank - 1), False)
    return None


def explain(
    qrels: Any,
    run: Any,
    query_id: str,
    measure: str | Measure,
    *,
    profile: str | Profile = "rankscope",
    depth: int = 20,
) -> Explanation:
    """Explain one query's value: each rank, what stands there, and what it adds.

    All ranks down to ``depth`` are listed, and below it those that add something.

    >>> told = explain({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, "q", "RR")
    >>> [(step.doc_id, step.contribution) for step in told.steps]
    [('d2', 0.0), ('d1', 0.5)]
    """
    rules = profile_named(profile)
    meant = rules.meaning(Measure.parse(measure))
    judgments = as_judgments(qrels)
    if query_id not in judgments.query_ids:
        raise UnknownNameError("judged query", query_id, judgments.query_ids)
    named, single = as_runs(run)
    if not single:
        raise InputError("one run can be explained at a time; call it once for each")
    name, given = next(iter(named.items()))
    aligned = align(judgments, given, ties=rules.ties, precision=rules.precision)
    mask = np.array([one == query_id for one in aligned.judged.query_ids])
    judged = only_queries(aligned.judged, mask)
    documents = given[query_id] if query_id in given else {}  # noqa: SIM401
    ranking = _ranking(documents, rules)
    grades = judgments.by_query[query_id]
    factors = _factors(meant, judged)
    listed = [
        (
            doc_id,
            float(documents[doc_id]),
            None if (grade := grades.get(doc_id)) is None else float(grade),
        )
        for doc_id in ranking[: meant.cutoff]
    ]
    steps = _steps(meant, judged, listed, factors, depth)
    return Explanation(
        measure=str(meant),
        query_id=query_id,
        run=name,
        value=float(compute(meant, judged)[0]),
        formula=meant.definition.formula,
        calculation=_calculation(meant, judged, steps, grades, factors),
        relevant=int(judged.graded(1.0)[0]),
        retrieved=int(judged.retrieved[0]),
        steps=steps,
        ideal=_ideal(grades, factors, meant.cutoff or depth),
        left_out=len(listed) - len(steps),
    )


def _ranking(documents: Any, rules: Profile) -> list[str]:
    """Return the documents of a query in rank order."""
    single = rules.precision == "single"
    key = {d: float(np.float32(s)) if single else float(s) for d, s in documents.items()}
    names = list(key)
    if rules.ties != "given":
        names.sort(reverse=rules.ties == "trec")
    return sorted(names, key=lambda doc_id: -key[doc_id])


def _steps(
    measure: Measure,
    judged: JudgedRun,
    listed: list[tuple[str, float, float | None]],
    factors: _Factors | None,
    depth: int,
) -> tuple[Step, ...]:
    """Read the run rank by rank; where no judged document stands, nothing is added."""
    hits = set(judged.hit_rank.tolist())
    steps: list[Step] = []
    before = float(compute(measure, judged.cut(0))[0])
    for rank, (doc_id, score, grade) in enumerate(listed, start=1):
        if rank > depth and rank not in hits:
            continue
        value = float(compute(measure, judged.cut(rank))[0])
        added, before = value - before, value
        if added or rank <= depth:
            gain = factors.gain(grade or 0.0) if factors else None
            discount = factors.discount(rank) if factors else None
            steps.append(Step(rank, doc_id, score, grade, added, value, gain, discount))
    return tuple(steps)


def _best_order(grades: Any) -> list[tuple[str, float]]:
    ordered = sorted(grades.items(), key=lambda item: item[0], reverse=True)
    return [(doc_id, float(grade)) for doc_id, grade in sorted(ordered, key=lambda item: -item[1])]


def _ideal(grades: Any, factors: _Factors | None, depth: int) -> tuple[IdealStep, ...]:
    best = [(doc_id, grade) for doc_id, grade in _best_order(grades) if grade > 0]
    return tuple(
        IdealStep(
            rank=rank,
            doc_id=doc_id,
            grade=grade,
            gain=factors.gain(grade) if factors else None,
            discount=factors.discount(rank) if factors else None,
        )
        for rank, (doc_id, grade) in enumerate(best[:depth], start=1)
    )


def _calculation(
    measure: Measure,
    judged: JudgedRun,
    steps: tuple[Step, ...],
    grades: Any,
    factors: _Factors | None,
) -> str:
    """Return the formula with this query's numbers in it."""
    value = float(compute(measure, judged)[0])
    if factors is None:
        parts = [f"{step.contribution:.4f}" for step in steps if step.contribution]
        total = f"{_sum(parts)} = " if len(parts) > 1 else ""
        return f"{measure} = {total}{value:.4f}"
    gaining = [step for step in steps if step.gain]
    parts = [f"{step.gain:g}×{step.discount:.4f}" for step in gaining]
    found = sum((step.gain or 0) * (step.discount or 0) for step in gaining)
    if not factors.normalised:
        return f"{measure} = {_sum(parts)} = {value:.4f}"
    depth = measure.cutoff or len(grades)
    best = [max(factors.gain(grade), 0.0) for _, grade in _best_order(grades)]
    best.sort(reverse=True)
    ideal = sum(gain * factors.discount(rank) for rank, gain in enumerate(best[:depth], start=1))
    plain = str(replace(measure, name="DCG"))
    return (
        f"{plain} = {_sum(parts)} = {found:.4f}; ideal {plain} = {ideal:.4f}; "
        f"{measure} = {found:.4f} / {ideal:.4f} = {value:.4f}"
    )


def _sum(parts: list[str]) -> str:
    shown = parts if len(parts) <= 12 else [*parts[:10], "…", parts[-1]]
    return " + ".join(shown) or "0"
