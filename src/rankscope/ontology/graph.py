"""The graph of an ontology as arrays: parents, ancestors with their distances, and depths.

Terms are numbered 0, 1, …; ``of[starts[t]:starts[t + 1]]`` belongs to term t everywhere. A term is
its own ancestor at distance 0, so two terms always share one if one is above the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankscope.errors import InputError, counted, shown

if TYPE_CHECKING:
    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"
FloatArray: TypeAlias = "npt.NDArray[np.float64]"

DepthRule = Literal["longest", "shortest"]
"""Which path from a root to a term counts as the term's depth."""

MOST_ANCESTORS = 20_000_000
"""No ontology may have more pairs of a term and its ancestor. HPO has 0.2 million, SNOMED CT some
10 million; a chain of 6,300 terms, each below the last, has 20 million."""

_SHOWN_IN_CYCLE = 8
"""An error names so many terms of a cycle."""


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """A list of numbers for each term."""

    starts: IntArray
    of: IntArray

    @classmethod
    def join(cls, lists: Sequence[Sequence[int]] | Sequence[IntArray]) -> Lists:
        """Put lists one after the other."""
        starts = _starts([len(items) for items in lists])
        return cls(starts, np.concatenate([np.empty(0, np.int32), *lists]).astype(np.int32))

    def __getitem__(self, term: int) -> IntArray:
        return self.of[self.starts[term] : self.starts[term + 1]]

    @property
    def owner(self) -> IntArray:
        """By entry: the term whose list it is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def of_all(self, terms: IntArray) -> IntArray:
        """Return the entries of several lists together, each once."""
        parts = [self[term] for term in terms.tolist()]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int32)

    def turned(self) -> tuple[Lists, IntArray]:
        """Return the lists the other way round, and which entry here each entry there is."""
        order = np.argsort(self.of, kind="stable")
        sizes = np.bincount(self.of, minlength=len(self.starts) - 1)
        return Lists(_starts(sizes), self.owner[order]), order


@dataclass(frozen=True, eq=False)
class Graph:
    """Which terms are above which; made by `Graph.of`, which refuses cycles."""

    parents: Lists
    """By term: its direct parents."""
    ancestors: Lists
    """By term: itself and every term above it."""
    up: IntArray
    """By entry of ``ancestors``: the fewest steps up from the term to it."""
    depths: dict[DepthRule, IntArray]
    """By rule and term: how many steps it is below a root."""

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]], names: Sequence[str], source: str) -> Graph:
        """Make the graph of terms with their direct parents.

        Raises:
            InputError: a term is above itself, or the graph is too deep to keep.
        """
        order = _parents_first(parents, names, source)
        longest, shortest = [0] * len(parents), [0] * len(parents)
        for term in order:
            if parents[term]:
                longest[term] = 1 + max(longest[parent] for parent in parents[term])
                shortest[term] = 1 + min(shortest[parent] for parent in parents[term])
        _refuse_too_many(sum(longest) + len(parents), source)  # an ancestor at least at each step
        above: list[npt.NDArray[np.int32]] = [np.empty(0, np.int32)] * len(parents)
        up = above.copy()
        pairs = 0
        for term in order:
            ancestors = np.concatenate(
                [np.array([term], np.int32), *(above[p] for p in parents[term])]
            )
            steps = np.concatenate([_ITSELF, *(up[p] + _STEP for p in parents[term])])
            if len(parents[term]) > 1:  # they share ancestors: the fewest steps to each count
                nearest = np.lexsort((steps, ancestors))
                ancestors, steps = ancestors[nearest], steps[nearest]
                first = np.append(True, ancestors[1:] != ancestors[:-1])
                ancestors, steps = ancestors[first], steps[first]
            above[term], up[term] = ancestors, steps
            pairs += len(ancestors)
            _refuse_too_many(pairs, source)
        return cls(
            Lists.join(parents),
            Lists.join(above),
            np.concatenate([np.empty(0, np.int32), *up]),
            {"longest": np.array(longest, np.int32), "shortest": np.array(shortest, np.int32)},
        )

    def __len__(self) -> int:
        return len(self.parents.starts) - 1

    @cached_property
    def children(self) -> Lists:
        """By term: its direct children."""
        return self.parents.turned()[0]

    @cached_property
    def _below(self) -> tuple[Lists, IntArray]:
        lists, entry = self.ancestors.turned()
        return lists, self.up[entry]

    @property
    def descendants(self) -> IntArray:
        """By term: how many terms are below it."""
        return np.diff(self._below[0].starts) - 1

    def above(self, term: int) -> tuple[IntArray, IntArray]:
        """Return a term with everything above it, and the fewest steps up to each."""
        part = slice(self.ancestors.starts[term], self.ancestors.starts[term + 1])
        return self.ancestors.of[part], self.up[part]

    def below(self, term: int) -> tuple[IntArray, IntArray]:
        """Return a term with everything below it, and the fewest steps down to each."""
        lists, down = self._below
        part = slice(lists.starts[term], lists.starts[term + 1])
        return lists.of[part], down[part]

    # --- one term with every term

    def related(self, term: int) -> npt.NDArray[np.bool_]:
        """By term: whether it shares an ancestor with ``term``, which is to share a root."""
        shares = np.zeros(len(self), np.bool_)
        for ancestor in self.ancestors[term].tolist():
            if not len(self.parents[ancestor]):
                shares[self.below(ancestor)[0]] = True
        return shares

    def highest_shared(self, term: int, values: FloatArray) -> FloatArray:
        """By term: the highest value of an ancestor it shares with ``term``; 0 if it shares none.

        ``values`` are by term and not below 0.
        """
        shared = np.zeros(len(self))
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


_ITSELF = np.zeros(1, np.int32)
_STEP = np.int32(1)


def _starts(sizes: Sequence[int] | IntArray) -> npt.NDArray[np.int64]:
    """Return where lists of these sizes begin, and where the last one ends."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _refuse_too_many(pairs: int, source: str) -> None:
    if pairs > MOST_ANCESTORS:
        raise InputError(
            f"{source}: the terms have more than {MOST_ANCESTORS:,} ancestors together, too many "
            "to keep in memory; give an ontology that is less deep"
        )


def _parents_first(
    parents: Sequence[Sequence[int]], names: Sequence[str], source: str
) -> list[int]:
    """Return the terms such that each comes after its parents."""
    waiting = [len(each) for each in parents]
    children: list[list[int]] = [[] for _ in parents]
    for term, above in enumerate(parents):
        for parent in above:
            children[parent].append(term)
    order = [term for term, count in enumerate(waiting) if not count]
    for term in order:  # grows meanwhile
        for child in children[term]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    if len(order) < len(parents):
        cycle = _cycle(parents, waiting)
        path = [shown(names[term], 40)[1:-1] for term in cycle[:_SHOWN_IN_CYCLE]]
        if len(cycle) > _SHOWN_IN_CYCLE:
            path += ["…", path[0]]
        raise InputError(
            f"{source}: the terms form a cycle of {counted(len(cycle) - 1, 'step')}: "
            f"{' → '.join(path)}; remove one of these relations"
        )
    return order


def _cycle(parents: Sequence[Sequence[int]], waiting: Sequence[int]) -> list[int]:
    """Return a way round, upwards, that ends where it began."""
    path = [next(term for term, count in enumerate(waiting) if count)]
    seen = {path[0]: 0}
    while True:  # a term that waits has a parent that waits
        term = next(parent for parent in parents[path[-1]] if waiting[parent])
        if term in seen:
            return [*path[seen[term] :], term]
        seen[term] = len(path)
        path.append(term)
