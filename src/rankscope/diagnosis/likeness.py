"""Likeness: which of many texts are nearly the same, found without a miss and without a false one.

Two texts are near copies if the sets of their shingles (a few words in a row) have a Jaccard
similarity of at least a threshold. All such pairs are found, as follows. Order the shingles of each
text by how many texts have them, rarest first. Two texts that share enough must share one of the
first few of this order (prefix filtering, Chaudhuri et al., A primitive operator for similarity
joins in data cleaning, ICDE 2006; the bounds are those of Xiao et al., Efficient similarity joins
for near duplicate detection, WWW 2008). A shingle that only one text has is shared with none: a
text with more than a tenth of those has no near copy at 0.9 and is left at once, which is why
20,000 texts take a second. What is left is compared in full. Unlike MinHash, nothing depends on
luck; shingles are 64-bit hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from rankscope.diagnosis.document_texts import Words
    from rankscope.measures.judged import FloatArray, IntArray

MOST_PAIRS = 20_000_000
"""So many pairs are looked at, at most; those with the rarest shingles first."""

_CHUNK = 1 << 20
"""So many pairs are looked at together."""

_MOST_BITS = 24
"""2 to the power of this is the most buckets that shingles are counted in."""

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class NearCopies:
    """Which texts are near copies of another."""

    group: IntArray
    """By text: the number of its group. Texts of a group are linked by near copies, each with at
    least one other; two of them need not be near copies themselves."""
    left_out: int
    """How many pairs were too many to be looked at; 0: nothing can have been missed."""
    sizes: IntArray
    """By text: how many different shingles it has."""
    _shared: Any
    """The shingles that several texts have, as a sparse matrix: a row for each text."""

    def similarity(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return the Jaccard similarity of pairs of texts; 0 where one has no words."""
        common = np.concatenate(
            [
                np.zeros(0),
                *(
                    _common(self._shared, left[at : at + _CHUNK // 8], right[at : at + _CHUNK // 8])
                    for at in range(0, len(left), _CHUNK // 8)
                ),
            ]
        )
        union = self.sizes[left] + self.sizes[right] - common
        return np.asarray(common / np.maximum(union, 1))


def near_copies(words: Words, *, width: int, threshold: float) -> NearCopies:
    """Group texts by near copies: ``width`` words make a shingle."""
    texts = len(words)
    shared, sizes, unique = _shared_shingles(words, width)
    matrix = _scipy("sparse").csr_matrix(
        (
            np.ones(len(shared), np.int32),
            (shared["text"].to_numpy(), shared["shingle"].to_numpy()),
        ),
        shape=(texts, unique),
    )
    pairs = _Candidates(shared, sizes, threshold)
    copies = NearCopies(np.arange(texts), pairs.left_out, sizes, matrix)
    edges = np.empty((2, 0), np.int64)
    group = copies.group
    for left, right in pairs.chunks():
        apart = group[left] != group[right]
        left, right = _distinct(left[apart], right[apart], texts)  # noqa: PLW2901
        alike = copies.similarity(left, right) >= threshold - _ROUNDING
        if alike.any():
            edges = np.concatenate([edges, np.stack([left[alike], right[alike]])], axis=1)
            group = _linked(edges, texts)
    return NearCopies(group, pairs.left_out, sizes, matrix)


def _shared_shingles(words: Words, width: int) -> tuple[pl.DataFrame, IntArray, int]:
    """Return the shingles that several texts have, by text and rarity, and the sizes of all sets.

    ``place`` is that of a shingle in the order of its text, rarest first, from 0.
    """
    hashes, text = words.shingles(width)
    # most shingles occur once; where few share a bucket, most of those are seen without sorting
    bits = min(max(len(hashes).bit_length() + 2, 8), _MOST_BITS)
    bucket = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    once = np.bincount(bucket, minlength=1)[bucket] == 1
    sizes = np.bincount(text[once], minlength=len(words)).astype(np.int64)
    sets = pl.DataFrame({"text": text[~once], "hash": hashes[~once]}).unique()
    sizes += np.bincount(sets["text"].to_numpy(), minlength=len(words))
    shared = (
        sets.with_columns(pl.len().over("hash").alias("texts"))
        .filter(pl.col("texts") > 1)
        .with_columns((pl.col("hash").rank("dense") - 1).cast(pl.Int64).alias("shingle"))
        .sort("text", "texts", "hash")
    )
    owner = shared["text"].to_numpy()
    counts = np.bincount(owner, minlength=len(words))
    first = np.cumsum(counts) - counts
    place = np.arange(len(owner)) - first[owner] + (sizes - counts)[owner]
    unique = int(shared["shingle"].max()) + 1 if len(shared) else 0  # type: ignore[arg-type]
    return shared.with_columns(pl.Series("place", place)), sizes, unique


class _Candidates:
    """The pairs of texts that may be near copies: they share a shingle early in both orders."""

    def __init__(self, shared: pl.DataFrame, sizes: IntArray, threshold: float) -> None:
        self.threshold = threshold
        text, shingle = shared["text"].to_numpy(), shared["shingle"].to_numpy()
        size, place = sizes[text], shared["place"].to_numpy()
        enough = _at_least(threshold * size)
        is_early = size - place >= enough
        text, shingle, size, place = (column[is_early] for column in (text, shingle, size, place))
        order = np.lexsort((text, size, shingle))
        self.text, self.shingle, self.size, self.place = (
            column[order] for column in (text, shingle, size, place)
        )
        # the smaller of two sets needs more of itself to be in both
        is_smaller = self.size - self.place >= _at_least(
            2 * threshold / (1 + threshold) * self.size
        )
        self.smaller = np.flatnonzero(is_smaller)
        scale = int(self.size.max(initial=0) / threshold) + 2
        key = self.shingle * scale + self.size
        most = np.floor(self.size[self.smaller] / threshold + _ROUNDING).astype(np.int64)
        self.low = np.searchsorted(key, key[self.smaller])
        self.high = np.searchsorted(key, self.shingle[self.smaller] * scale + most, "right")
        by_count = np.argsort(self.high - self.low, kind="stable")
        self.smaller, self.low, self.high = (
            column[by_count] for column in (self.smaller, self.low, self.high)
        )
        total = np.cumsum(self.high - self.low)
        keep = int(np.searchsorted(total, MOST_PAIRS, "right"))
        self.left_out = int(total[-1] - (total[keep - 1] if keep else 0)) if len(total) else 0
        self.ends = total[:keep]

    def chunks(self) -> Any:
        """Yield pairs of texts, some at a time; a pair may come several times."""
        start = 0
        while start < len(self.ends):
            before = self.ends[start - 1] if start else 0
            end = max(int(np.searchsorted(self.ends, before + _CHUNK, "right")), start + 1)
            yield self._pairs(slice(start, end))
            start = end

    def _pairs(self, part: slice) -> tuple[IntArray, IntArray]:
        counts = self.high[part] - self.low[part]
        left = np.repeat(self.smaller[part], counts)
        starts = np.repeat(self.low[part] - (np.cumsum(counts) - counts), counts)
        right = np.arange(len(left)) + starts
        # if this is the first shingle they share, no more than what follows can be shared as well
        most = np.minimum(self.size[left] - self.place[left], self.size[right] - self.place[right])
        share = self.threshold / (1 + self.threshold)
        possible = most >= _at_least(share * (self.size[left] + self.size[right]))
        possible &= self.text[left] != self.text[right]
        return self.text[left[possible]], self.text[right[possible]]


def _scipy(name: str) -> Any:
    """Return a part of SciPy, imported on first use."""
    return import_module(f"scipy.{name}")


def _at_least(share: FloatArray) -> IntArray:
    """Return the lowest whole numbers that are not below; rounding never makes one too high."""
    return np.ceil(share - _ROUNDING).astype(np.int64)


def _distinct(left: IntArray, right: IntArray, texts: int) -> tuple[IntArray, IntArray]:
    keys = np.unique(np.minimum(left, right) * texts + np.maximum(left, right))
    return keys // texts, keys % texts


def _common(matrix: Any, left: IntArray, right: IntArray) -> FloatArray:
    """Count the shingles that pairs share."""
    product = matrix[left].multiply(matrix[right])
    return np.asarray(product.sum(axis=1), np.float64).ravel()


def _linked(edges: IntArray, texts: int) -> IntArray:
    links = np.ones(edges.shape[1], np.bool_)
    graph = _scipy("sparse").coo_matrix((links, edges), shape=(texts, texts))
    _, group = _scipy("sparse.csgraph").connected_components(graph, directed=False)
    return np.asarray(group, np.int64)
