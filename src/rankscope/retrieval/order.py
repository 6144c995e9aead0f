"""The one order of retrieved documents: score from high to low, then id from high to low by bytes.

Systems that score a whole corpus hold their documents sorted by id from high to low, so that of two
documents with equal scores the one at the lower position wins, and ties cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def by_id_descending(ids: Sequence[str]) -> list[int]:
    """Return the positions of ids from high to low by bytes (UTF-8 keeps the order of letters)."""
    return sorted(range(len(ids)), key=ids.__getitem__, reverse=True)


def best_positions(scores: NDArray[Any], depth: int) -> NDArray[np.intp]:
    """Return the positions of the highest scores, best first; of equal ones the first position.

    Exact at the cut: whatever has the score of the last place takes part in the tie.

    >>> best_positions(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist()
    [1, 3, 2]
    """
    if 0 < depth < len(scores):
        last = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        positions = np.flatnonzero(scores >= last)
    else:
        positions = np.arange(len(scores))
    return positions[np.argsort(-scores[positions], kind="stable")[:depth]]


def ranked(pairs: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return (doc_id, score) pairs, best first.

    >>> ranked([("a", 1.0), ("c", 2.0), ("b", 1.0)])
    [('c', 2.0), ('b', 1.0), ('a', 1.0)]
    """
    ordered = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    ordered.sort(key=lambda pair: -pair[1])
    return ordered
