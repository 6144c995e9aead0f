"""Groups of systems that a test does not separate: letters, and the ones as good as the best.

The tests of all pairs come in as ``different[s, s]`` (`Pairs.apart` of `statistics.system_pairs`).
Systems that are not separated are joined by an edge; a letter is a set of systems that are all
joined to each other, and every edge needs a letter. The fewest letters are hard to find (edge
clique cover is NP-hard); taken greedily in the order of the means they are found in polynomial
time, and are hardly more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankscope.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.statistics.arrays import BoolArray

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def groups(different: npt.ArrayLike, order: Sequence[int] | None = None) -> list[tuple[int, ...]]:
    """Return sets of systems such that two are together in one if and only if not separated.

    ``order`` lists the systems, best first (the rows' order, if not given). For each system, best
    first, that is not yet together with all it should be with, a set is started; it takes in the
    system that brings the most new pairs together and is separated from none of its members, until
    none brings any. Sets that the others make superfluous are dropped. Each system is in at least
    one set, alone if it is separated from all. Sets and their members come in order, best first.

    Tests need not be transitive: a may be separated from c while neither is from b.

    Cost: each set s² steps, and never more sets than pairs; 126 systems take some 20 ms, 1,000
    systems with 400 sets about a second.

    Reference: Gramm et al., Algorithms for compact letter displays: comparison and evaluation,
    Comput. Stat. Data Anal. 2007 (letters as a clique cover); Piepho, J. Comput. Graph. Statist.
    2004 (letters).

    >>> groups([[False, False, True], [False, False, False], [True, False, False]])
    [(0, 1), (1, 2)]
    """
    apart, ranked = _checked(different, order)
    joined = ~apart[np.ix_(ranked, ranked)]  # by rank
    missing = joined.copy()  # pairs that are not yet together; each system counts as one
    grown = []
    for rank in range(len(ranked)):
        while missing[rank].any():
            group = _grown(rank, joined, missing)
            missing[np.ix_(group, group)] = False
            grown.append(group)
    needed = _needed(grown, len(ranked))
    return [tuple(ranked[rank] for rank in group) for group in sorted(needed)]


def letters(different: npt.ArrayLike, order: Sequence[int] | None = None) -> list[str]:
    """Return letters for each system: two share one if and only if they are not separated.

    One letter for each of `groups`; the best system has an ``a``. After ``z`` come ``A`` to ``Z``,
    then ``a2`` to ``Z2``, ``a3``, …: a number belongs to the letter before it, so a label reads in
    one way only.

    >>> letters([[False, False, True], [False, False, False], [True, False, False]])
    ['a', 'ab', 'b']
    """
    labels = [""] * len(np.asarray(different))
    for place, group in enumerate(groups(different, order)):
        again, letter = divmod(place, len(ALPHABET))
        name = f"{ALPHABET[letter]}{again + 1 if again else ''}"
        for system in group:
            labels[system] += name
    return labels


def as_good_as_best(different: npt.ArrayLike, order: Sequence[int] | None = None) -> list[int]:
    """Return the best system and all that are not separated from it, best first.

    It is what a table of many systems can say in place of letters: one of these may be the best.

    >>> as_good_as_best([[False, False, True], [False, False, False], [True, False, False]])
    [0, 1]
    """
    apart, ranked = _checked(different, order)
    return [system for system in ranked if not apart[ranked[0], system]] if ranked else []


def _checked(different: npt.ArrayLike, order: Sequence[int] | None) -> tuple[BoolArray, list[int]]:
    apart = np.array(different, dtype=bool)
    if apart.ndim != 2 or apart.shape[0] != apart.shape[1] or (apart != apart.T).any():
        raise InputError("different must be a square table that is the same both ways")
    ranked = list(range(len(apart))) if order is None else [int(system) for system in order]
    if sorted(ranked) != list(range(len(apart))):
        raise InputError("order must name each system once")
    np.fill_diagonal(apart, val=False)
    return apart, ranked


def _grown(rank: int, joined: BoolArray, missing: BoolArray) -> list[int]:
    """Return a set that holds ``rank`` and brings pairs together that are not yet.

    The next member is the one with the most such pairs among those joined to all members so far;
    it stops when none is left that brings any.
    """
    candidates = joined[rank].copy()
    candidates[rank] = False
    gains = missing[rank].astype(np.int64)  # pairs each system would bring together with the set
    group = [rank]
    while True:
        chosen = int(np.argmax(np.where(candidates, gains, 0)))
        if not candidates[chosen] or not gains[chosen]:
            return sorted(group)
        group.append(chosen)
        candidates &= joined[chosen]
        candidates[chosen] = False
        gains += missing[chosen]


def _needed(grown: list[list[int]], count: int) -> list[list[int]]:
    """Drop sets, smallest first, whose pairs are together in other sets too."""
    together = np.zeros((count, count), dtype=np.int64)
    for group in grown:
        together[np.ix_(group, group)] += 1
    needed = []
    for group in sorted(grown, key=lambda group: (len(group), group)):
        block = np.ix_(group, group)
        if (together[block] > 1).all():
            together[block] -= 1
        else:
            needed.append(group)
    return needed
