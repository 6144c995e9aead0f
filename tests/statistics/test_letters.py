"""Groups and letters: the defining law, the fewest letters by brute force, and size."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.statistics import letters as module
from rankscope.statistics.letters import as_good_as_best, groups, letters

Flags = npt.NDArray[np.bool_]


def symmetric(size: int, flags: list[bool]) -> Flags:
    different = np.zeros((size, size), dtype=bool)
    different[np.triu_indices(size, 1)] = flags
    return different | different.T


def tables(most: int) -> st.SearchStrategy[Flags]:
    return st.integers(0, most).flatmap(
        lambda size: st.lists(
            st.booleans(), min_size=size * (size - 1) // 2, max_size=size * (size - 1) // 2
        ).map(lambda flags: symmetric(size, flags))
    )


def holds(different: Flags, found: list[tuple[int, ...]]) -> bool:
    """Two systems are together exactly if they are not separated; every system is somewhere."""
    together = np.eye(len(different), dtype=bool)
    seen: set[int] = set()
    for group in found:
        together[np.ix_(group, group)] = True
        seen.update(group)
    return bool((together == ~different).all()) and seen == set(range(len(different)))


@settings(max_examples=60, deadline=None)
@given(tables(9), st.randoms(use_true_random=False))
def test_together_if_and_only_if_not_separated(different: Flags, random: Any) -> None:
    order = list(range(len(different)))
    random.shuffle(order)
    found = groups(different, order)
    assert holds(different, found)
    for spared in range(len(found)):
        assert not holds(different, found[:spared] + found[spared + 1 :])
    place = {system: rank for rank, system in enumerate(order)}
    ranks = [[place[system] for system in group] for group in found]
    assert ranks == sorted(ranks)
    assert all(group == sorted(group) for group in ranks)
    labels = letters(different, order)
    for system, label in enumerate(labels):
        expected = [module.ALPHABET[at] for at, group in enumerate(found) if system in group]
        assert label == "".join(expected)
    if order:
        assert labels[order[0]][0] == "a"
        best = as_good_as_best(different, order)
        assert best[0] == order[0]
        assert set(best) == {s for s in order if not different[order[0], s]}


def fewest(different: Flags) -> int:
    """Return the smallest number of sets, by trying all choices of maximal ones."""
    systems = range(len(different))
    cliques = [
        set(chosen)
        for size in range(1, len(different) + 1)
        for chosen in combinations(systems, size)
        if not different[np.ix_(chosen, chosen)].any()
    ]
    maximal = [clique for clique in cliques if not any(clique < other for other in cliques)]
    for size in range(1, len(maximal) + 1):
        for chosen in combinations(maximal, size):
            if holds(different, [tuple(clique) for clique in chosen]):
                return size
    return 0


def test_hardly_more_letters_than_the_fewest() -> None:
    """All tables of four systems: never more than the fewest; of six, sampled: one at most."""
    for code in range(2**6):
        different = symmetric(4, [bool(code >> bit & 1) for bit in range(6)])
        assert len(groups(different)) == fewest(different)
    random = np.random.default_rng(0)
    tables = [symmetric(6, (random.random(15) < 0.4).tolist()) for _ in range(40)]
    more = [len(groups(table)) - fewest(table) for table in tables]
    assert max(more) <= 1
    assert sum(more) <= 2


def test_by_hand() -> None:
    assert groups(np.zeros((3, 3))) == [(0, 1, 2)]
    assert letters(1 - np.eye(3), [2, 0, 1]) == ["b", "c", "a"]
    assert groups(np.zeros((0, 0))) == []
    assert as_good_as_best(np.zeros((0, 0))) == []
    chain = np.abs(np.subtract.outer(range(6), range(6))) > 2  # neighbours up to 2 apart are alike
    assert letters(chain) == ["a", "ab", "abc", "bcd", "cd", "d"]
    assert as_good_as_best(chain, [5, 4, 3, 2, 1, 0]) == [5, 4, 3]


def test_more_letters_than_the_alphabet() -> None:
    found = letters(1 - np.eye(300))
    assert (found[25], found[26], found[51], found[52]) == ("z", "A", "Z", "a2")
    read = re.findall("[A-Za-z][0-9]*", "".join(found))
    assert read == found, "a label reads in one way only"


@pytest.mark.parametrize("share", [0.02, 0.9])
def test_many_close_systems(share: float) -> None:
    """Splitting groups pair by pair would take years here."""
    upper = np.triu(np.random.default_rng(7).random((126, 126)) < share, 1)
    different = upper | upper.T
    assert holds(different, groups(different))


def test_bad_tables() -> None:
    with pytest.raises(InputError, match="square"):
        groups([[False, True]])
    with pytest.raises(InputError, match="both ways"):
        groups([[False, True], [False, False]])
    with pytest.raises(InputError, match="each system once"):
        groups([[False]], [1])
