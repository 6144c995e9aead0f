"""The graph of an ontology as arrays: parents, ancestors with their distances, and depths.

Terms are numbered 0, 1, …; ``of[starts[t]:starts[t + 1]]`` belongs to term t everywhere. A term is
its own ancestor at distance 0, so two terms always share one if one is above the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
"""So many terms of a cycle are named."""

_MOST_BITS = 40_000
"""Up to so many terms a table of bits tells who is above whom."""


class CycleError(InputError):
    """Some terms are above themselves; ``path`` goes round once and ends where it began."""

    def __init__(self, path: Sequence[str], source: str) -> None:
        self.path = tuple(path)
        names = [shown(name, 40).strip("'") for name in path[:_SHOWN_IN_CYCLE]]
        if len(path) > _SHOWN_IN_CYCLE + 1:
            names[-1] = "…"
        if len(path) > _SHOWN_IN_CYCLE:
            names.append(names[0])
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
        starts = _starts([len(items) for items in lists])
        of = np.fromiter((item for items in lists for item in items), np.int32, int(starts[-1]))
        return cls(starts, of)

    def __getitem__(self, term: int) -> IntArray:
        return self.of[self.starts[term] : self.starts[term + 1]]

    @property
    def owner(self) -> IntArray:
        """By entry: the term whose list it is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def share(self, first: IntArray, second: IntArray) -> npt.NDArray[np.bool_]:
        """By pair of terms: whether their lists have an entry in common."""
        count = len(self.starts)
        keys = np.sort(self.owner * count + self.of, kind="stable")  # nearly in order
        shares = np.zeros(len(first), np.bool_)
        pairs, entry, last = np.arange(len(first)), self.starts[first], self.starts[first + 1]
        while len(pairs):
            stays = ~shares[pairs] & (entry < last)
            pairs, entry, last = pairs[stays], entry[stays], last[stays]
            wanted = second[pairs].astype(np.int64) * count + self.of[entry]
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            shares[pairs] = keys[place] == wanted
            entry = entry + 1
        return shares

    def turned(self) -> tuple[Lists, IntArray]:
        """Return the lists the other way round, and which entry here each entry there is."""
        order = np.argsort(self.of, kind="stable")
        sizes = np.bincount(self.of, minlength=len(self.starts) - 1)
        return Lists(_starts(sizes), self.owner[order]), order


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
        order = _parents_first(parents, names, source)
        depths = _depths(parents, order)
        if int(depths["longest"].sum()) + len(parents) > MOST_ANCESTORS:
            raise _too_many(source)  # a term has an ancestor at each step of its longest path
        above: list[npt.NDArray[np.int32]] = [np.empty(0, np.int32)] * len(parents)
        up = above.copy()
        pairs = 0
        for term in order:
            if not parents[term]:
                above[term], up[term] = np.array([term], np.int32), _NO_STEPS
                pairs += 1
                continue
            of, steps = _joined([(above[parent], up[parent]) for parent in parents[term]])
            place = int(np.searchsorted(of, term))
            above[term], up[term] = _inserted(of, place, term), _inserted(steps, place, 0)
            pairs += len(of) + 1
            if pairs > MOST_ANCESTORS:
                raise _too_many(source)
        return cls(
            Lists.join(parents),
            Lists(_starts([len(of) for of in above]), np.concatenate([_NOTHING, *above])),
            np.concatenate([_NOTHING, *up]),
            depths,
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

    @cached_property
    def grandparents(self) -> Lists:
        """By term: the parents of its parents, each once."""
        sizes = np.diff(self.parents.starts)[self.parents.of]
        entry = _ranges(self.parents.starts[self.parents.of], sizes)
        pairs = np.repeat(self.parents.owner, sizes) * len(self) + self.parents.of[entry]
        owner, of = np.divmod(np.unique(pairs), max(len(self), 1))
        return Lists(_starts(np.bincount(owner, minlength=len(self))), of)

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
        terms, row = np.unique(first, return_inverse=True)
        lists = self._of_terms(terms)
        highest_first = np.lexsort((-values[lists.of], lists.owner))
        ancestors = lists.of[highest_first]
        shared = np.full(len(first), -1.0)
        pairs, other = _in_order(second)
        entry, last = lists.starts[row[pairs]], lists.starts[row[pairs] + 1]
        while len(pairs):  # the first ancestor that is shared is the highest
            ancestor = ancestors[entry]
            is_shared = self.is_above(ancestor, other)
            shared[pairs[is_shared]] = values[ancestor[is_shared]]
            entry += 1
            stays = np.flatnonzero(~is_shared & (entry < last))
            pairs, other, entry, last = pairs[stays], other[stays], entry[stays], last[stays]
        return shared

    def distances_of_pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """By pair of terms: what `distances` says of it."""
        steps = np.full(len(first), np.inf)
        for pairs, entry, other in self._ancestors_of_pairs(first, second):
            place, is_shared = self._place(self.ancestors.of[entry], other)
            here = pairs[is_shared]
            by_way_of_it = self.up[entry[is_shared]] + self.up[place[is_shared]]
            steps[here] = np.minimum(steps[here], by_way_of_it)
        return steps

    def shared_total_of_pairs(
        self, first: IntArray, second: IntArray, values: FloatArray
    ) -> FloatArray:
        """By pair of terms: what `shared_total` says of it."""
        total = np.zeros(len(first))
        for pairs, entry, other in self._ancestors_of_pairs(first, second):
            ancestor = self.ancestors.of[entry]
            is_shared = self.is_above(ancestor, other)
            total[pairs[is_shared]] += values[ancestor[is_shared]]
        return total

    def _ancestors_of_pairs(
        self, first: IntArray, second: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Yield the next ancestor of the first term of each pair that has one more.

        As three arrays: the pairs, the entry in ``ancestors``, and the second term.
        """
        pairs, other = _in_order(second)
        entry = self.ancestors.starts[first[pairs]]
        last = self.ancestors.starts[first[pairs] + 1]
        while len(pairs):
            yield pairs, entry, other
            entry = entry + 1
            stays = np.flatnonzero(entry < last)
            if len(stays) < len(pairs):
                pairs, other, entry, last = pairs[stays], other[stays], entry[stays], last[stays]

    def is_above(self, term: IntArray, other: IntArray) -> npt.NDArray[np.bool_]:
        """By pair of terms: whether the first is above the second, or is the second."""
        if len(self) > _MOST_BITS:
            return self._place(term, other)[1]
        byte = self._bits[other.astype(np.int64) * ((len(self) + 7) // 8) + (term >> 3)]
        bit: npt.NDArray[np.uint8] = byte >> (term & 7).astype(np.uint8)
        return (bit & 1).astype(np.bool_)

    def steps_up(self, term: IntArray, ancestor: IntArray) -> FloatArray:
        """By pair of terms: the fewest steps up from the first to the second; infinite if none."""
        place, is_above = self._place(ancestor, term)
        return np.where(is_above, self.up[place], np.inf)

    @cached_property
    def _bits(self) -> npt.NDArray[np.uint8]:
        """A bit for each pair of terms, 45 MB for HPO: row after row, of those above a term."""
        width = (len(self) + 7) // 8
        bits = np.zeros(len(self) * width, np.uint8)
        of = self.ancestors.of
        np.bitwise_or.at(
            bits, self.ancestors.owner * width + (of >> 3), (1 << (of & 7)).astype(np.uint8)
        )
        return bits

    def _place(self, ancestor: IntArray, term: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return where ancestors are among those of terms, and whether they are there."""
        wanted = term.astype(np.int64) * len(self) + ancestor
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return place, self._keys[place] == wanted

    @cached_property
    def _keys(self) -> IntArray:
        """By entry of ``ancestors``: a number that is larger for each further entry."""
        return self.ancestors.owner * len(self) + self.ancestors.of

    def _of_terms(self, terms: IntArray) -> Lists:
        """Return the ancestors of some terms."""
        sizes = np.diff(self.ancestors.starts)[terms]
        entry = _ranges(self.ancestors.starts[terms], sizes)
        return Lists(_starts(sizes), self.ancestors.of[entry])


_NOTHING = np.empty(0, np.int32)
_NO_STEPS = np.zeros(1, np.int32)


def _in_order(terms: IntArray) -> tuple[IntArray, IntArray]:
    """Return places of terms in order, and the terms: what is near in memory is used together."""
    order = np.argsort(terms, kind="stable")
    return order, terms[order]


def _starts(sizes: Sequence[int] | IntArray) -> npt.NDArray[np.int64]:
    """Return where lists of these sizes begin, and where the last one ends."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the numbers from each start, as many as its size, one after the other."""
    ends = np.cumsum(sizes)
    ranges: IntArray = np.arange(ends[-1] if len(ends) else 0)
    ranges += np.repeat(starts - (ends - sizes), sizes)
    return ranges


def _too_many(source: str) -> InputError:
    return InputError(
        f"{source}: the terms have more than {MOST_ANCESTORS:,} ancestors together, which is more "
        "than can be kept; give an ontology that is less deep"
    )


def _depths(parents: Sequence[Sequence[int]], order: Sequence[int]) -> dict[DepthRule, IntArray]:
    longest, shortest = [0] * len(parents), [0] * len(parents)
    for term in order:
        if parents[term]:
            longest[term] = 1 + max(longest[parent] for parent in parents[term])
            shortest[term] = 1 + min(shortest[parent] for parent in parents[term])
    return {"longest": np.array(longest, np.int32), "shortest": np.array(shortest, np.int32)}


def _inserted(numbers: npt.NDArray[np.int32], place: int, number: int) -> npt.NDArray[np.int32]:
    longer = np.empty(len(numbers) + 1, np.int32)
    longer[:place], longer[place], longer[place + 1 :] = numbers[:place], number, numbers[place:]
    return longer


def _joined(
    lists: Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Join the ancestors of parents: each once, by number, with its fewest steps plus one."""
    if len(lists) == 1:
        return lists[0][0], lists[0][1] + np.int32(1)
    term = np.concatenate([of for of, _ in lists])
    step = np.concatenate([steps for _, steps in lists])
    order = np.lexsort((step, term))
    term, step = term[order], step[order]
    first = np.ones(len(term), np.bool_)
    np.not_equal(term[1:], term[:-1], out=first[1:])
    return term[first], step[first] + np.int32(1)


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
        raise CycleError([names[term] for term in _cycle(parents, waiting)], source)
    return order


def _cycle(parents: Sequence[Sequence[int]], waiting: Sequence[int]) -> list[int]:
    """Return a way round, upwards, that the first term that cannot be placed leads to."""
    stuck = [term for term, count in enumerate(waiting) if count]
    path: list[int] = [stuck[0]]
    seen = {stuck[0]: 0}
    while True:  # every stuck term has a parent that is stuck
        term = next(parent for parent in parents[path[-1]] if waiting[parent])
        if term in seen:
            return [*path[seen[term] :], term]
        seen[term] = len(path)
        path.append(term)
