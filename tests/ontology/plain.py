"""Ontologies in plain Python: sets, recursion and the formulas as they are printed.

Nothing here is taken from the package: `Plain` is what its answers are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hypothesis import strategies as st


@dataclass(frozen=True)
class Plain:
    """Terms 0, 1, … with their direct parents, and the terms that things are annotated with."""

    parents: tuple[tuple[int, ...], ...]
    annotated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def terms(self) -> range:
        return range(len(self.parents))

    @cached_property
    def steps(self) -> list[dict[int, int]]:
        """By term: the fewest steps up to each ancestor, itself included."""
        found: dict[int, dict[int, int]] = {}

        def of(term: int) -> dict[int, int]:
            if term not in found:
                best = {term: 0}
                for parent in self.parents[term]:
                    for ancestor, up in of(parent).items():
                        best[ancestor] = min(best.get(ancestor, 10**9), up + 1)
                found[term] = best
            return found[term]

        return [of(term) for term in self.terms]

    def above(self, term: int) -> set[int]:
        return set(self.steps[term])

    def below(self, term: int) -> set[int]:
        return {other for other in self.terms if term in self.above(other)}

    def depth(self, term: int, rule: str) -> int:
        choose = max if rule == "longest" else min
        return (
            1 + choose(self.depth(p, rule) for p in self.parents[term]) if self.parents[term] else 0
        )

    def structure(self, term: int) -> float:
        """Seco, Veale & Hayes 2004."""
        if len(self.parents) == 1:
            return 1.0
        return 1 - math.log(len(self.below(term))) / math.log(len(self.parents))

    def annotation(self, term: int) -> float:
        """Resnik 1995; what nothing is annotated with counts as if one thing were."""
        has_it = [any(term in self.above(t) for t in terms) for terms in self.annotated.values()]
        return -math.log(max(sum(has_it), 1) / len(has_it))

    def value(self, basis: str) -> Callable[[int], float]:
        return {
            "structure": self.structure,
            "annotations": self.annotation,
            "longest": lambda term: self.depth(term, "longest"),
            "shortest": lambda term: self.depth(term, "shortest"),
        }[basis]

    def similarity(self, name: str, basis: str, a: int, b: int) -> float:
        """Return a similarity, where depths or information content are by ``basis``."""
        if a == b:
            return 1.0
        shared = self.above(a) & self.above(b)
        if not shared:
            return 0.0
        value = self.value(basis)
        return min(max(self.formula(name, value, shared, a, b), 0.0), 1.0)

    def formula(
        self, name: str, value: Callable[[int], float], shared: set[int], a: int, b: int
    ) -> float:
        first, second, highest = value(a), value(b), max(map(value, shared))
        top = max(map(value, self.terms))
        if name == "hybrid":
            apart = first + second - 2 * highest
            return 0.7 * ratio(highest, top) + 0.3 * (1 - ratio(apart, first + second))
        if name in ("resnik-like", "resnik"):
            return ratio(highest, top)
        if name in ("wu-palmer", "lin"):
            return ratio(2 * highest, first + second)
        if name == "jiang-conrath":
            return 1 / (1 + first + second - 2 * highest)
        if name == "simgic":
            union = self.above(a) | self.above(b)
            return ratio(sum(map(value, shared)), sum(map(value, union)))
        if name == "path":
            return 1 / (1 + min(self.steps[a][t] + self.steps[b][t] for t in shared))
        return self.credit(self.formula("hybrid", value, shared, a, b), a, b)

    def credit(self, near: float, expected: int, retrieved: int) -> float:
        if expected in self.above(retrieved):
            return max(0.75, 0.95 - 0.05 * (self.steps[retrieved][expected] - 1))
        if retrieved in self.above(expected):
            return max(0.50, 0.85 - 0.08 * (self.steps[expected][retrieved] - 1))
        near = min(max(near, 0.0), 1.0)
        if set(self.parents[expected]) & set(self.parents[retrieved]):
            return max(0.65, near)
        if self.grandparents(expected) & self.grandparents(retrieved):
            return max(0.45, near)
        return near if near >= 0.30 else 0.0

    def grandparents(self, term: int) -> set[int]:
        return {top for parent in self.parents[term] for top in self.parents[parent]}


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


@st.composite
def ontologies(draw: st.DrawFn, most: int = 12) -> Plain:
    """Any graph without cycles, its terms numbered in any order, with at least two things."""
    count = draw(st.integers(1, most))
    order = draw(st.permutations(range(count)))
    parents: list[Sequence[int]] = [()] * count
    for place, term in enumerate(order):
        if place:
            earlier = st.sampled_from(order[:place])
            parents[term] = draw(st.lists(earlier, max_size=3, unique=True))
    some_terms = st.lists(st.integers(0, count - 1), min_size=1, max_size=4)
    things = draw(st.lists(some_terms, min_size=2, max_size=6))
    return Plain(
        tuple(map(tuple, parents)),
        {f"thing {number}": tuple(terms) for number, terms in enumerate(things)},
    )
