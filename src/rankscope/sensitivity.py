"""Bounds: how far a value could move for reasons that say nothing about the system.

Ties: equal scores can stand in any order. Holes: documents nobody judged could be relevant or not.
Both are answered by measuring the same run again, with its ranks or its judgments changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.alignment import align
from rankscope.errors import InputError
from rankscope.inputs import as_judgments, as_runs
from rankscope.measures.language import DEFAULT_MEASURES, Measure, parse_measures
from rankscope.measures.registry import aggregate, compute
from rankscope.profiles import profile_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.alignment import Hits, QueryPolicy
    from rankscope.judged import FloatArray, JudgedRun
    from rankscope.profiles import Profile

__all__ = ["Bounds", "bounds", "fill_holes", "tie_orders"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far one measure's mean could move.

    ``ties`` are the lowest and highest value any order of equal scores could give (None where that
    is not known). ``holes`` are
    the values if every unjudged document the measure looks at were nonrelevant, and if every one
    were relevant at ``hole_grade``; where relevant documents are counted, these count too.
    """

    measure: str
    value: float
    ties: tuple[float, float] | None
    holes: tuple[float, float]
    hole_grade: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "measure": self.measure,
            "value": self.value,
            "ties": self.ties and {"lowest": self.ties[0], "highest": self.ties[1]},
            "holes": {
                "nonrelevant": self.holes[0],
                "relevant": self.holes[1],
                "grade": self.hole_grade,
            },
        }


def bounds(
    qrels: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    hole_grade: float = 1.0,
    profile: str | Profile = "rankscope",
    queries: QueryPolicy | None = None,
) -> list[Bounds]:
    """Return how far each measure of one run could move because of ties and of holes.

    >>> [found] = bounds({"q": {"d1": 1}}, {"q": {"d1": 0.5, "d2": 0.5}}, ["RR"])
    >>> found.ties
    (0.5, 1.0)
    """
    rules = profile_named(profile)
    policy = queries or rules.queries
    named, single = as_runs(run)
    if not single:
        raise InputError("bounds are of one run; call it once for each")
    aligned = align(
        as_judgments(qrels),
        next(iter(named.values())),
        ties=rules.ties,
        precision=rules.precision,
        queries="strict" if policy == "strict" else "all",
    )
    judged, found = aligned.judged, aligned.found
    assert found is not None
    keep = judged.in_run if policy == "both" else np.ones(len(judged), np.bool_)
    two, every = (tie_orders(judged, found, every=flag) for flag in (False, True))
    result = []
    for parsed in parse_measures(measures):
        measure = rules.meaning(parsed.measure)
        depth = measure.cutoff

        def mean(values: FloatArray, measure: Measure = measure) -> float:
            return aggregate(measure, values[keep])

        plain = compute(measure, judged)
        orders = np.stack(
            [
                plain,
                *(compute(measure, run) for run in (every if _tells_unjudged(measure) else two)),
            ]
        )
        result.append(
            Bounds(
                measure=str(measure),
                value=mean(plain),
                ties=None
                if measure.name in _NO_ORDER_KNOWN
                else (mean(orders.min(axis=0)), mean(orders.max(axis=0))),
                holes=(
                    mean(compute(measure, fill_holes(judged, 0.0, depth))),
                    mean(compute(measure, fill_holes(judged, hole_grade, depth))),
                ),
                hole_grade=hole_grade,
            )
        )
    return result


_NO_ORDER_KNOWN = {"G"}
"""Moving a relevant document up can lower these, so no few orders hold the extremes."""


def _tells_unjudged(measure: Measure) -> bool:
    """Tell whether a measure sets unjudged documents apart from those judged nonrelevant."""
    unjudged = measure.definition.family == "incomplete" or measure.name == "RBP_residual"
    return unjudged or bool(measure.options["judged_only"])


def tie_orders(judged: JudgedRun, found: Hits, *, every: bool) -> list[JudgedRun]:
    """Return the run with its ties in the orders among which the lowest and highest value are.

    For most measures these are two: relevant documents first and last. Measures that tell judged
    from unjudged documents need ``every`` order of the four kinds a tie can hold.
    """
    if not (found.tie_size > 1).any():
        return [judged]
    ties = _Ties(found)
    if not every:
        return [ties.ordered(judged, "RUNP"), ties.ordered(judged, "PNUR")]
    return [ties.ordered(judged, "".join(kinds)) for kinds in permutations("RUNP")]


class _Ties:
    """The hits by tie: relevant (R), judged nonrelevant (N), pooled and not judged (P).

    Unjudged documents (U) are what is left of a tie's size.
    """

    def __init__(self, found: Hits) -> None:
        order = np.lexsort((-found.grade, found.tie_first, found.query))
        self.query, self.first = found.query[order], found.tie_first[order]
        self.grade = found.grade[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(self.query) != 0) | (np.diff(self.first) != 0)
        self.tie = np.cumsum(new) - 1
        kind = np.where(self.grade > 0, 0, np.where(self.grade == 0, 1, 2))
        self.of_kind = dict(zip("RNP", (kind == 0, kind == 1, kind == 2), strict=True))
        self.counts = {
            name: np.bincount(self.tie, mask, minlength=int(new.sum())).astype(np.int64)
            for name, mask in self.of_kind.items()
        }
        self.counts["U"] = found.tie_size[order][new] - sum(self.counts.values())
        self.sizes = found.tie_size[order][new]

    def ordered(self, judged: JudgedRun, kinds: str) -> JudgedRun:
        """Put the kinds one after the other; relevant ones by falling grade unless they end it."""
        rank = np.empty(len(self.tie), np.int64)
        before = np.zeros_like(self.sizes)
        for kind in kinds:
            if kind in self.of_kind:
                mask = self.of_kind[kind]
                tie = self.tie[mask]
                place = np.arange(len(tie)) - np.searchsorted(tie, tie)
                if kinds.endswith(kind):
                    place = self.counts[kind][tie] - 1 - place
                rank[mask] = self.first[mask] + before[tie] + place
            before = before + self.counts[kind]
        order = np.lexsort((rank, self.query))
        return replace(
            judged,
            hit_query=self.query[order],
            hit_rank=rank[order],
            hit_grade=self.grade[order],
        )


def fill_holes(judged: JudgedRun, grade: float, depth: int | None) -> JudgedRun:
    """Return the run with every unjudged document down to ``depth`` judged at ``grade``."""
    sizes = judged.shown(depth)
    query = np.repeat(np.arange(len(judged)), sizes)
    rank = np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    known = judged.hit_grade >= 0  # a negative grade means pooled and not judged
    height = int(judged.retrieved.max(initial=0)) + 1
    hole = ~np.isin(
        query * height + rank, judged.hit_query[known] * height + judged.hit_rank[known]
    )
    query, rank = query[hole], rank[hole]
    grades = np.full(len(query), float(grade))
    hit_query = np.concatenate([judged.hit_query[known], query])
    hit_rank = np.concatenate([judged.hit_rank[known], rank])
    hit_grade = np.concatenate([judged.hit_grade[known], grades])
    order = np.lexsort((hit_rank, hit_query))
    all_query = np.concatenate([judged.judged_query, query])
    all_grade = np.concatenate([judged.judged_grade, grades])
    by_grade = np.lexsort((-all_grade, all_query))
    return replace(
        judged,
        hit_query=hit_query[order],
        hit_rank=hit_rank[order],
        hit_grade=hit_grade[order],
        judged_query=all_query[by_grade],
        judged_grade=all_grade[by_grade],
        max_grade=max(judged.max_grade, grade),
    )
