"""Near copies: which of many texts are nearly the same, found without a miss or a false one.

Two texts are near copies if the sets of their shingles (a few words in a row) have a Jaccard
similarity of at least a threshold. All such pairs are found, as follows. Order the shingles of each
text by how many texts have them, rarest first. Two texts that share enough must share one of the
first few of this order (prefix filtering, Chaudhuri et al., A primitive operator for similarity
joins in data cleaning, ICDE 2006). A shingle that only one text has is shared with none: a text
with more than a tenth of those has no near copy at 0.9 and is left at once. What is left is
compared in full. Unlike MinHash, nothing depends on luck; shingles are 64-bit hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from rankscope.diagnosis.document_texts import Words
    from rankscope.measures.judged import FloatArray, IntArray

MOST_PAIRS = 10_000_000
"""So many pairs are looked at, at most; those with the rarest shingles first."""

_COMPARED = 1 << 17
"""So many pairs are compared in full at a time."""

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class NearCopies:
    """The pairs of texts that are near copies."""

    texts: int
    """How many texts there are."""
    left: IntArray
    """By pair: a text."""
    right: IntArray
    """By pair: the other one, of a higher number."""
    similarity: FloatArray
    """By pair."""
    left_out: int
    """How many pairs were too many to be looked at; 0: nothing can have been missed."""

    @cached_property
    def group(self) -> IntArray:
        """By text: the number of its group.

        Texts of a group are linked by near copies, each with at least one other; two of them need
        not be near copies themselves.
        """
        links = np.ones(len(self.left), np.bool_)
        shape = self.texts, self.texts
        graph = _scipy("sparse").coo_matrix((links, (self.left, self.right)), shape=shape)
        _, group = _scipy("sparse.csgraph").connected_components(graph, directed=False)
        return np.asarray(group, np.int64)


def near_copies(words: Words, *, width: int, threshold: float) -> NearCopies:
    """Find all near copies; ``width`` words make a shingle."""
    hashes, owner = words.shingles(width)
    sets = pl.DataFrame({"text": owner, "shingle": hashes}).unique()
    sizes = np.bincount(sets["text"].to_numpy(), minlength=len(words))
    shared = (
        sets.with_columns(pl.len().over("shingle").alias("texts"))
        .filter(pl.col("texts") > 1)
        .sort("text", "texts", "shingle")
    )
    text = shared["text"].to_numpy()
    counts = np.bincount(text, minlength=len(words))
    # where a shingle is in the order of its text, behind those that no other text has
    place = np.arange(len(text)) - (np.cumsum(counts) - sizes)[text]
    is_early = sizes[text] - place >= np.ceil(threshold * sizes[text] - _ROUNDING)
    shingle = shared["shingle"].rank("dense").to_numpy().astype(np.int64) - 1
    keys, left_out = _candidates(text[is_early], shingle[is_early], sizes, threshold)
    left, right = keys // len(words), keys % len(words)
    matrix = _scipy("sparse").csr_matrix(
        (np.ones(len(text), np.int32), (text, shingle)),
        shape=(len(words), int(shingle.max(initial=-1)) + 1),
    )
    common = np.zeros(len(left))
    for start in range(0, len(left), _COMPARED):
        part = slice(start, start + _COMPARED)
        both = matrix[left[part]].multiply(matrix[right[part]])
        common[part] = np.asarray(both.sum(axis=1)).ravel()
    similarity = common / np.maximum(sizes[left] + sizes[right] - common, 1)
    near = similarity >= threshold - _ROUNDING
    return NearCopies(len(words), left[near], right[near], similarity[near], left_out)


def _candidates(
    text: IntArray, shingle: IntArray, sizes: IntArray, threshold: float
) -> tuple[IntArray, int]:
    """Return the pairs of texts that share one of some shingles, and how many were left out.

    A pair is one number: the lower text times how many there are, plus the higher one.
    """
    order = np.lexsort((text, shingle))
    text, shingle = text[order], shingle[order]
    members = np.bincount(shingle)
    left = int((members * (members - 1) // 2).sum())
    keys, at, looked = [np.zeros(0, np.int64)], np.arange(len(text)), 0
    for step in count(1):  # each with the one that is so many rows below, under the same shingle
        at = at[at + step < len(text)]
        at = at[shingle[at] == shingle[at + step]]
        if not len(at) or looked + len(at) > MOST_PAIRS:
            break
        looked += len(at)
        first, second = text[at], text[at + step]
        low, high = np.minimum(sizes[first], sizes[second]), np.maximum(sizes[first], sizes[second])
        possible = low >= threshold * high - _ROUNDING
        keys.append(np.unique(first[possible] * len(sizes) + second[possible]))
    return np.unique(np.concatenate(keys)), left - looked


def _scipy(name: str) -> Any:
    """Return a part of SciPy, imported on first use."""
    return import_module(f"scipy.{name}")
