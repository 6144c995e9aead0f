"""Exact nearest vectors: every document is scored, whatever queries are asked beside.

A matrix product finds candidates fast, but its last digits depend on how many queries are asked at
once. So all that could be among the best, given how far off the product can be, are scored again
one by one in a fixed order of additions: the same query gives the same scores in any batch, and
equal vectors have equal scores at any position.

Documents are looked at block by block, and vectors may stay on disk: what is in memory does not
grow with the number of documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.retrieval.vector.embeddings import release
from rankscope.runs.order import best_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.intp]

_QUERIES = 256
_CELLS = 1 << 24  # of a block of scores, or of vectors, at most: 64 MB
_SAMPLE = 4096  # documents of a block at least
_MOST = 1 << 14
"""Of more candidates than this, and four times the depth, the exact scores are looked at."""


class Vectors:
    """Vectors of length 1 or 0, one or several for each document, in the order of documents.

    ``starts[i]`` is the first row of document i; a document's score is that of its best row.
    """

    def __init__(self, matrix: Floats, starts: Ints) -> None:
        self._matrix = np.ascontiguousarray(matrix)
        self._starts = np.append(starts, len(matrix)).astype(np.intp)
        # |computed − exact| ≤ n·u for unit vectors, for the product and for the second scoring
        self._margin = np.float32(4 * matrix.shape[1] * 2.0**-24)

    @property
    def size(self) -> int:
        """The length of a vector."""
        return int(self._matrix.shape[1])

    def best(self, queries: Floats, depth: int) -> list[tuple[Ints, Floats]]:
        """Return the positions and scores of the best documents for each query vector."""
        answers: list[tuple[Ints, Floats]] = []
        for low in range(0, len(queries), _QUERIES):
            block = queries[low : low + _QUERIES]
            candidates = self._candidates(block, depth)
            for query, positions in zip(block, candidates, strict=True):
                scores = self._scored(query, positions)
                order = best_positions(scores, depth)
                answers.append((positions[order], scores[order]))
                release(self._matrix)  # a row that is looked at brings its neighbours along
        return answers

    def _candidates(self, queries: Floats, depth: int) -> list[Ints]:
        """Return, for each query, all documents that could be among the best, in order."""
        documents = len(self._starts) - 1
        width = max(_CELLS // max(len(queries), self.size), _SAMPLE)
        positions = [np.empty(0, np.intp) for _ in queries]
        values = [np.empty(0, np.float32) for _ in queries]
        bounds = np.full(len(queries), -np.inf, np.float32)  # no lower score is among the best
        low = 0
        while low < documents:
            # a block starts with a document and holds whole ones
            end = np.searchsorted(self._starts, self._starts[low] + width, side="right") - 1
            high = max(int(end), low + 1)
            for at, scores in enumerate(self._products(queries, low, high)):
                near = np.flatnonzero(scores >= bounds[at])
                places = np.concatenate([positions[at], near + low])
                merged = np.concatenate([values[at], scores[near]])
                if len(merged) > depth:
                    lowest = np.partition(merged, -depth)[-depth]
                    bounds[at] = max(bounds[at], lowest - self._margin)
                    stays = np.flatnonzero(merged >= bounds[at])
                    if len(stays) > max(_MOST, 4 * depth):  # very many are about equal
                        # what comes later has later positions, so it cannot win a tie against them
                        exact = self._scored(queries[at], places[stays])
                        stays = stays[np.sort(best_positions(exact, depth))]
                    places, merged = places[stays], merged[stays]
                positions[at], values[at] = places, merged
            release(self._matrix)
            low = high
        return positions

    def _products(self, queries: Floats, low: int, high: int) -> Floats:
        begin, end = self._starts[low], self._starts[high]
        scores: Floats = queries @ self._matrix[begin:end].T
        if high - low == end - begin:  # one vector for each document
            return scores
        best: Floats = np.maximum.reduceat(scores, self._starts[low:high] - begin, axis=1)
        return best

    def _scored(self, query: Floats, positions: Ints) -> Floats:
        """Score some documents one by one, always with the same additions."""
        firsts = self._starts[positions]
        counts = self._starts[positions + 1] - firsts
        begins = np.cumsum(counts) - counts
        rows = np.repeat(firsts - begins, counts) + np.arange(counts.sum())
        products = (self._matrix[rows] * query).sum(axis=1)
        best: Floats = np.maximum.reduceat(products, begins)
        return best
