"""From the terms of documents to the scores of BM25 by term, in arrays from beginning to end.

The scores are those that bm25s computes (Lucene's variant, single precision), to the last bit;
they are made of whole blocks of documents instead of one document after the other, so that neither
lists of tokens nor a second copy of the index is ever in memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """What some documents hold: of each pair of term and document, in this order, how often."""

    first: int
    """The first of the documents."""
    terms: NDArray[np.int32]
    documents: NDArray[np.int32]
    """Counted from ``first``."""
    counts: NDArray[np.int32]


@dataclass(slots=True)
class Postings:
    """Takes the terms of documents, block by block, and makes scores of all of them."""

    _blocks: list[_Block] = field(default_factory=list)
    _lengths: list[Ints] = field(default_factory=list)
    _documents: int = 0

    def add(self, terms: NDArray[np.int32], lengths: Ints) -> None:
        """Take the terms of some documents, one after the other, and how many each has."""
        size = len(lengths)
        owners = np.repeat(np.arange(size), lengths)
        pairs = terms.astype(np.int64) * size + owners
        pairs.sort()
        is_new = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
        starts = np.flatnonzero(is_new)
        pairs = pairs[starts]
        counts = np.diff(starts, append=len(terms)).astype(np.int32)
        number, document = np.divmod(pairs, size)
        block = _Block(self._documents, number.astype(np.int32), document.astype(np.int32), counts)
        self._blocks.append(block)
        self._lengths.append(lengths)
        self._documents += size

    def scores(
        self, terms: int, *, k1: float, b: float
    ) -> tuple[NDArray[np.float32], NDArray[np.int32], Ints]:
        """Return scores and documents, by term, and where each term begins; blocks are used up."""
        holding = np.zeros(terms, np.int64)  # documents, by term
        for block in self._blocks:
            holding += np.bincount(block.terms, minlength=terms)
        starts = np.zeros(terms + 1, np.int64)
        np.cumsum(holding, out=starts[1:])
        idf = self._idf(holding)
        lengths = np.concatenate(self._lengths)
        norms = k1 * ((1 - b) + b * lengths / lengths.mean())
        scores = np.empty(starts[-1], np.float32)
        documents = np.empty(starts[-1], np.int32)
        ends = starts[:-1].copy()  # of what is filled so far, by term
        for at, block in enumerate(self._blocks):
            self._blocks[at] = _EMPTY
            within = np.flatnonzero(np.append(True, block.terms[1:] != block.terms[:-1]))
            within = within[: len(block.terms)]
            sizes = np.diff(within, append=len(block.terms))
            present = block.terms[within]
            places = np.repeat(ends[present] - within, sizes) + np.arange(len(block.terms))
            ends[present] += sizes
            placed = block.documents + np.int32(block.first)
            often = block.counts.astype(np.float32)
            # in the order and precision of bm25s: a share in double, rounded once at the end
            scores[places] = idf[block.terms] * (often / (norms[placed] + often))
            documents[places] = placed
        return scores, documents, starts

    def _idf(self, holding: Ints) -> NDArray[np.float32]:
        """Return the weight of each term; the logarithm is Python's, as NumPy's may differ."""
        known, of_term = np.unique(holding, return_inverse=True)
        total = self._documents
        weights = [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in known.tolist()]
        return np.array(weights, np.float32)[of_term]


_NONE = np.empty(0, np.int32)
_EMPTY = _Block(0, _NONE, _NONE, _NONE)
