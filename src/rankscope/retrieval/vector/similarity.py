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

from rankscope.retrieval.cache_entries import Mapped
from rankscope.runs.order import best_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.intp]

_QUERIES = 256
_CELLS = 1 << 24  # of a block of scores, or of vectors: 64 MB
_SAMPLE = 4096
_MOST = 1 << 14
"""Of more candidates than this, and four times the depth, the exact scores are looked at."""


class Vectors:
    """Vectors of length 1 or 0, one or several for each document, in the order of documents.

    ``starts[i]`` is the first row of document i; a document's score is that of its best row.
    """

    def __init__(self, vectors: Floats | Mapped, starts: Ints) -> None:
        self._mapped = vectors if isinstance(vectors, Mapped) else None
        matrix = vectors.matrix if isinstance(vectors, Mapped) else vectors
        self._matrix = np.ascontiguousarray(matrix)
        self._starts = np.append(starts, len(matrix)).astype(np.intp)
        self._single = len(starts) == len(matrix)
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
                self._release()  # a row that is looked at brings its neighbours along
        return answers

    def _release(self) -> None:
        """Give back the memory of vectors that are on disk."""
        if self._mapped is not None:
            self._mapped.release()

    def _candidates(self, queries: Floats, depth: int) -> list[Ints]:
        """Return, for each query, all documents that could be among the best, in order."""
        documents = len(self._starts) - 1
        width = max(_CELLS // max(len(queries), self.size), _SAMPLE)
        bound = np.full(len(queries), -np.inf, np.float32)
        candidates: list[tuple[Ints, Floats]] = [
            (np.empty(0, np.intp), np.empty(0, np.float32)) for _ in queries
        ]
        low = 0
        while low < documents:
            high = self._end_of_block(low, width)
            scores = self._products(queries, low, high)
            if low == 0:  # the whole has no lower score at the depth than a sample has
                bound = self._bound(scores[:, : max(_SAMPLE, 4 * depth)], depth)
            rows, columns = np.nonzero(scores >= bound[:, None])
            values = scores[rows, columns]
            edges = np.searchsorted(rows, np.arange(len(queries) + 1))
            for at, (before, scored) in enumerate(candidates):
                part = slice(edges[at], edges[at + 1])
                positions = np.concatenate([before, columns[part] + low])
                merged = np.concatenate([scored, values[part]])
                if len(merged) > depth:
                    last = np.partition(merged, len(merged) - depth)[len(merged) - depth]
                    bound[at] = max(bound[at], last - self._margin)
                    stays = merged >= bound[at]
                    positions, merged = positions[stays], merged[stays]
                if len(positions) > max(_MOST, 4 * depth):
                    stays = self._exactly_best(queries[at], positions, depth)
                    self._release()
                    positions, merged = positions[stays], merged[stays]
                candidates[at] = positions, merged
            self._release()
            low = high
        return [positions for positions, _ in candidates]

    def _exactly_best(self, query: Floats, positions: Ints, depth: int) -> Ints:
        """Return which candidates are the best so far, in order, where very many are about equal.

        What comes later has later positions, so it cannot win a tie against them.
        """
        return np.sort(best_positions(self._scored(query, positions), depth))

    def _bound(self, sample: Floats, depth: int) -> Floats:
        if sample.shape[1] <= depth:
            return np.full(len(sample), -np.inf, np.float32)
        at = sample.shape[1] - depth
        lowest: Floats = np.partition(sample, at, axis=1)[:, at] - self._margin
        return lowest

    def _end_of_block(self, low: int, width: int) -> int:
        """Return where a block that starts with a document ends: some documents, whole ones."""
        end = int(np.searchsorted(self._starts, self._starts[low] + width, side="right")) - 1
        return max(end, low + 1)

    def _products(self, queries: Floats, low: int, high: int) -> Floats:
        begin, end = self._starts[low], self._starts[high]
        scores: Floats = queries @ self._matrix[begin:end].T
        if self._single:
            return scores
        firsts = self._starts[low:high] - begin
        best: Floats = np.maximum.reduceat(scores, firsts, axis=1)
        return best

    def _scored(self, query: Floats, positions: Ints) -> Floats:
        """Score some documents one by one, always with the same additions."""
        if self._single:
            single: Floats = (self._matrix[positions] * query).sum(axis=1)
            return single
        firsts, counts = self._starts[positions], np.diff(self._starts)[positions]
        begins = np.cumsum(counts) - counts
        rows = np.repeat(firsts - begins, counts) + np.arange(counts.sum())
        products = (self._matrix[rows] * query).sum(axis=1)
        best: Floats = np.maximum.reduceat(products, begins)
        return best
