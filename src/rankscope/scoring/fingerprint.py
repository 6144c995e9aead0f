"""A fingerprint of judgments: a hash of their sorted columns, whatever order they were given in."""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.scoring.scans import PackedPairs

_LONGEST = 64
"""Bytes of an id; of a longer one its hash counts, so that columns stay narrow."""


def fingerprint(pairs: PackedPairs, grades: FloatArray, more: Iterable[str] = ()) -> str:
    """Return the SHA-256 of judged pairs, their grades, and what else there is to say of them."""
    queries, documents = (
        _numbers(text, ends)
        for text, ends in (
            (pairs.query_text, pairs.query_ends),
            (pairs.doc_text, pairs.doc_ends),
        )
    )
    by_id = np.lexsort(queries)
    place = np.empty(len(by_id), np.int64)
    place[by_id] = np.arange(len(by_id))
    query = np.repeat(place, np.diff(pairs.pair_offsets))
    order = np.lexsort((*documents, query))
    digest = sha256("\n".join(more).encode("utf-8", "surrogatepass"))
    columns = [
        *(each[by_id] for each in queries),
        query[order],
        *(each[order] for each in documents),
    ]
    for column in (*columns, grades[order] + 0.0):  # -0 is 0
        digest.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _numbers(data: bytes, ends: IntArray) -> list[Any]:
    """Return texts as columns of numbers, eight bytes each and the length; the last sorts first."""
    lengths = np.diff(ends)
    if lengths.max(initial=0) > _LONGEST:
        texts = [data[low:high] for low, high in pairwise(ends.tolist())]
        data = b"".join(sha256(text).digest() if len(text) > _LONGEST else text for text in texts)
    sizes = np.where(lengths > _LONGEST, sha256().digest_size, lengths)
    width = -(-int(sizes.max(initial=1)) // 8) * 8
    table = np.zeros((len(sizes), width), np.uint8)
    table[np.arange(width) < sizes[:, None]] = np.frombuffer(data, np.uint8)
    return [lengths, *table.view(">u8").astype(np.uint64).T[::-1]]
