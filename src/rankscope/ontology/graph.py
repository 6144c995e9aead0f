"""The graph of an ontology as arrays: parents, ancestors with their distances, and depths.

Terms are numbered 0, 1, …; ``of[starts[t]:starts[t + 1]]`` belongs to term t everywhere. A term is
its own ancestor at distance 0, so two terms always share one if one is above the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rankscope.errors import InputError, counted

if TYPE_CHECKING:
    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.int64]"
FloatArray: TypeAlias = "npt.NDArray[np.float64]"

DepthRule = Literal["longest", "shortest"]
"""Which path from a root to a term counts as the term's depth."""

MOST_ANCESTORS = 50_000_000
"""No ontology may have more pairs of a term and its ancestor. HPO has 0.3 million, SNOMED CT some
10 million; a chain of 10,000 terms, each below the last, has 50 million."""

_SHOWN_IN_CYCLE = 8
"""So many terms of a cycle are named."""


class CycleError(InputError):
    """Some terms are above themselves; ``path`` goes round once and ends where it began."""

    def __init__(self, path: Sequence[str], source: str) -> None:
        self.path = tuple(path)
        names = list(path)
        if len(names) > _SHOWN_IN_CYCLE + 1:
            names = [*names[: _SHOWN_IN_CYCLE - 1], "…", *names[-1:]]
        super().__init__(
            f"{source}: the terms form a cycle of {counted(len(path) - 1, 'step')}: "
            f"{' → '.join(names)}; take one of these relations away"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """A list of numbers for each term."""

    starts: IntArray
    of: IntArray

    @classmethod
    def join(cls, lists: Sequence[Sequence[int]]) -> Lists:
        """Put lists one after the other."""
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        of = np.fromiter((item for each in lists for item in each), np.int64, int(starts[-1]))
        return cls(starts, of)

    def __getitem__(self, term: int) -> IntArray:
        return self.of[self.starts[term] : self.starts[term + 1]]

    @property
    def owner(self) -> IntArray:
        """By entry: the term whose list it is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def turned(self) -> tuple[Lists, IntArray]:
        """Return the lists the other way round, and which entry here each entry there is."""
        order = np.argsort(self.of, kind="stable")
        sizes = np.bincount(self.of, minlength=len(self.starts) - 1)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Lists(starts, self.owner[order]), order


@dataclass(frozen=True, eq=False)
class Graph:
    """Who is above whom; made by `Graph.of`, which refuses cycles."""

    parents: Lists
    """By term: its direct parents."""
    ancestors: Lists
    """By term: itself and every term above it, by number."""
    up: IntArray
    """By entry of ``ancestors``: the fewest steps up from the term to it."""
    depths: dict[DepthRule, IntArray]
    """By rule and term: how many steps it is below a root."""

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]], names: Sequence[str], source: str) -> Graph:
        """Make the graph of terms with their direct parents.

        Raises:
            CycleError: a term is above itself.
            InputError: there are more pairs of terms than can be kept.
        """
        above: list[IntArray] = [np.empty(0, np.int64)] * len(parents)
        up = above.copy()
        longest, shortest = [0] * len(parents), [0] * len(parents)
        pairs = 0
        for term in _parents_first(parents, names, source):
            of = [above[parent] for parent in parents[term]]
            steps = [up[parent] + 1 for parent in parents[term]]
            above[term], up[term] = _nearest([*of, np.array([term])], [*steps, np.zeros(1, int)])
            if of:
                longest[term] = 1 + max(longest[parent] for parent in parents[term])
                shortest[term] = 1 + min(shortest[parent] for parent in parents[term])
            pairs += len(above[term])
            if pairs > MOST_ANCESTORS:
                raise InputError(
                    f"{source}: the terms have more than {MOST_ANCESTORS:,} ancestors together, "
                    "which is more than can be kept; give an ontology that is less deep"
                )
        starts = np.concatenate([[0], np.cumsum([len(each) for each in above])]).astype(np.int64)
        nothing = [np.empty(0, np.int64)]
        ancestors = Lists(starts, np.concatenate(above or nothing))
        return cls(
            Lists.join(parents),
            ancestors,
            np.concatenate(up or nothing),
            {
                "longest": np.array(longest, np.int64),
                "shortest": np.array(shortest, np.int64),
            },
        )

    def __len__(self) -> int:
        return len(self.parents.starts) - 1

    @cached_property
    def _below(self) -> tuple[Lists, IntArray]:
        lists, entry = self.ancestors.turned()
        return lists, self.up[entry]

    @cached_property
    def children(self) -> Lists:
        """By term: its direct children."""
        return self.parents.turned()[0]

    def below(self, term: int) -> tuple[IntArray, IntArray]:
        """Return a term with everything below it, and the fewest steps down to each."""
        lists, down = self._below
        part = slice(lists.starts[term], lists.starts[term + 1])
        return lists.of[part], down[part]

    def above(self, term: int) -> tuple[IntArray, IntArray]:
        """Return a term with everything above it, and the fewest steps up to each."""
        part = slice(self.ancestors.starts[term], self.ancestors.starts[term + 1])
        return self.ancestors.of[part], self.up[part]

    @property
    def descendants(self) -> IntArray:
        """By term: how many terms are below it."""
        return np.diff(self._below[0].starts) - 1

    # --- one term with all

    def highest_shared(self, term: int, values: FloatArray) -> FloatArray:
        """By term: the highest value of an ancestor it shares with ``term``; −1 if it shares none.

        ``values`` are by term and not below 0.
        """
        shared = np.full(len(self), -1.0)
        ancestors = self.ancestors[term]
        for ancestor in ancestors[np.argsort(values[ancestors], kind="stable")].tolist():
            shared[self.below(ancestor)[0]] = values[ancestor]  # a later one is higher
        return shared

    def distances(self, term: int) -> FloatArray:
        """By term: the fewest steps to ``term`` by way of a shared ancestor; infinite if none."""
        steps = np.full(len(self), np.inf)
        for ancestor, up in zip(*map(np.ndarray.tolist, self.above(term)), strict=True):
            terms, down = self.below(ancestor)
            steps[terms] = np.minimum(steps[terms], up + down)
        return steps

    def shared_total(self, term: int, values: FloatArray) -> FloatArray:
        """By term: the values of all ancestors it shares with ``term``, added up."""
        total = np.zeros(len(self))
        for ancestor in self.ancestors[term].tolist():
            total[self.below(ancestor)[0]] += values[ancestor]
        return total

    def total(self, values: FloatArray) -> FloatArray:
        """By term: the values of all its ancestors, added up."""
        added = np.bincount(self.ancestors.owner, values[self.ancestors.of], minlength=len(self))
        return added.astype(np.float64)

    # --- pairs of terms

    def highest_shared_of_pairs(
        self, first: IntArray, second: IntArray, values: FloatArray
    ) -> FloatArray:
        """By pair of terms: what `highest_shared` says of it."""
        highest_first = np.lexsort((-values[self.ancestors.of], self.ancestors.owner))
        ancestors = self.ancestors.of[highest_first]
        shared = np.full(len(first), -1.0)
        pairs, entry = np.arange(len(first)), self.ancestors.starts[first]
        last = self.ancestors.starts[first + 1]
        while len(pairs):  # the first ancestor that is shared is the highest
            ancestor = ancestors[entry]
            found = self._is_above(second[pairs], ancestor)
            shared[pairs[found]] = values[ancestor[found]]
            entry = entry + 1
            stays = ~found & (entry < last)
            pairs, entry, last = pairs[stays], entry[stays], last[stays]
        return shared

    def distances_of_pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """By pair of terms: what `distances` says of it."""
        keys = self.ancestors.owner * len(self) + self.ancestors.of
        steps = np.full(len(first), np.inf)
        pairs, entry = np.arange(len(first)), self.ancestors.starts[first]
        last = self.ancestors.starts[first + 1]
        while len(pairs):
            wanted = second[pairs] * len(self) + self.ancestors.of[entry]
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = keys[at] == wanted
            here = pairs[found]
            steps[here] = np.minimum(steps[here], self.up[entry[found]] + self.up[at[found]])
            entry = entry + 1
            stays = entry < last
            pairs, entry, last = pairs[stays], entry[stays], last[stays]
        return steps

    def shared_total_of_pairs(
        self, first: IntArray, second: IntArray, values: FloatArray
    ) -> FloatArray:
        """By pair of terms: what `shared_total` says of it."""
        total = np.zeros(len(first))
        pairs, entry = np.arange(len(first)), self.ancestors.starts[first]
        last = self.ancestors.starts[first + 1]
        while len(pairs):
            ancestor = self.ancestors.of[entry]
            found = self._is_above(second[pairs], ancestor)
            total[pairs[found]] += values[ancestor[found]]
            entry = entry + 1
            stays = entry < last
            pairs, entry, last = pairs[stays], entry[stays], last[stays]
        return total

    @cached_property
    def _is_above(self) -> Callable[[IntArray, IntArray], npt.NDArray[np.bool_]]:
        """What tells by pair whether the second term is above the first, or is the first."""
        count = len(self)
        owner, of = self.ancestors.owner, self.ancestors.of
        if count <= _MOST_BITS:  # a bit for each pair: 50 MB for 20,000 terms
            bits = np.zeros((count, (count + 7) // 8), np.uint8)
            np.bitwise_or.at(bits, (owner, of >> 3), (1 << (of & 7)).astype(np.uint8))
            return lambda term, other: (bits[term, other >> 3] >> (other & 7)) & 1 == 1
        keys = owner * count + of

        def looked_up(term: IntArray, other: IntArray) -> npt.NDArray[np.bool_]:
            wanted = term * count + other
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found: npt.NDArray[np.bool_] = keys[at] == wanted
            return found

        return looked_up


def _nearest(of: list[IntArray], steps: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Join lists of ancestors, each once with its fewest steps, by number."""
    term, step = np.concatenate(of), np.concatenate(steps)
    order = np.lexsort((step, term))
    term, step = term[order], step[order]
    first = np.ones(len(term), np.bool_)
    np.not_equal(term[1:], term[:-1], out=first[1:])
    return term[first], step[first]


_MOST_BITS = 40_000
"""Up to so many terms a table of bits tells who is above whom."""


def _parents_first(
    parents: Sequence[Sequence[int]], names: Sequence[str], source: str
) -> list[int]:
    """Return the terms such that each comes after its parents."""
    waiting = [len(each) for each in parents]
    children: list[list[int]] = [[] for _ in parents]
    for term, each in enumerate(parents):
        for parent in each:
            children[parent].append(term)
    order = [term for term, count in enumerate(waiting) if not count]
    for term in order:  # grows meanwhile
        for child in children[term]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    if len(order) < len(parents):
        raise CycleError([names[term] for term in _cycle(parents, waiting)], source)
    return order


def _cycle(parents: Sequence[Sequence[int]], waiting: Sequence[int]) -> list[int]:
    """Return a shortest way round, upwards, from the first term that is in a cycle."""
    stuck = [term for term, count in enumerate(waiting) if count]
    path: list[int] = [stuck[0]]
    seen = {stuck[0]: 0}
    while True:  # every stuck term has a parent that is stuck
        term = next(parent for parent in parents[path[-1]] if waiting[parent])
        if term in seen:
            return [*path[seen[term] :], term]
        seen[term] = len(path)
        path.append(term)
