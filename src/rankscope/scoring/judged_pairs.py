"""Judged pairs as bytes: read from a TREC file, looked for by a scan, and fingerprinted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankscope.errors import RankscopeError
from rankscope.tables.columns import LARGEST_GRADE, QRELS, are_whole
from rankscope.tables.native import address_of, library, taken, texts_in
from rankscope.tables.native_files import opened_for_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.tables.native import Result

_LONGEST = 64
"""Bytes of an id in a fingerprint; of a longer one its hash counts, so that columns stay narrow."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedPairs:
    """Judged pairs as bytes, in the order of the judgments.

    Query i is ``query_text[query_ends[i]:query_ends[i + 1]]`` in UTF-8, its pairs are
    ``pair_offsets[i]:pair_offsets[i + 1]``, and the document of pair j is
    ``doc_text[doc_ends[j]:doc_ends[j + 1]]``.
    """

    query_text: bytes
    query_ends: IntArray
    pair_offsets: IntArray
    doc_text: bytes
    doc_ends: IntArray

    @classmethod
    def of(
        cls, query_ids: Sequence[str], pair_offsets: IntArray, doc_ids: Sequence[str]
    ) -> PackedPairs:
        """Pack ids, which come by query."""
        query_text, query_ends = _packed(query_ids)
        doc_text, doc_ends = _packed(doc_ids)
        return cls(query_text, query_ends, pair_offsets, doc_text, doc_ends)

    def query_ids(self) -> tuple[str, ...]:
        """Return the queries."""
        return tuple(texts_in(self.query_text, self.query_ends))

    def doc_ids(self) -> list[str]:
        """Return the document of each pair."""
        return texts_in(self.doc_text, self.doc_ends)


def _packed(ids: Sequence[str]) -> tuple[bytes, IntArray]:
    """Return ids one after the other, and where each begins."""
    text = "".join(ids)
    lengths: Iterable[int] = map(len, ids)
    if not text.isascii():
        lengths = (len(name.encode("utf-8", "surrogatepass")) for name in ids)
    ends = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(ids)), out=ends[1:])
    return text.encode("utf-8", "surrogatepass"), ends


class FilePairs(NamedTuple):
    """What a plain TREC file holds, read by the native scan, without Polars."""

    pairs: PackedPairs
    grades: FloatArray

    @classmethod
    def read(cls, path: PathLike) -> FilePairs | None:
        """Read a file; None if it is not plainly right, and then the reader of tables is asked."""
        with opened_for_library(path, QRELS) as file:
            if file is None:
                return None
            try:
                with file.opened() as stream:
                    data = stream.read()
            except RankscopeError:
                return None
        seed = int.from_bytes(os.urandom(8), "little")
        return next(
            map(cls._of, taken(library().rs_pairs(address_of(data), len(data), seed))), None
        )

    @classmethod
    def _of(cls, result: Result) -> FilePairs | None:
        """Copy what the library found; its memory is freed afterwards."""
        if not result.rows or not result.alike:
            return None  # nothing is there, or there are subtopics
        sizes = result.array("sizes", np.int64, result.stretches)
        pairs = PackedPairs(
            result.bytes_at("query_text", result.query_size),
            result.array("query_ends", np.int64, result.stretches + 1),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            result.bytes_at("doc_text", result.doc_size),
            result.array("doc_ends", np.int64, result.rows + 1),
        )
        grades = result.array("numbers", np.float64, result.rows)
        if np.abs(grades).max() > LARGEST_GRADE:
            return None
        if are_whole(grades):
            grades = grades + 0.0  # as integers are: -0 is 0
        return cls(pairs, grades) if len(set(pairs.query_ids())) == len(sizes) else None


class NativePairs:
    """Judged pairs as the library knows them; what it was made of lives as long as it does."""

    def __init__(self, pairs: PackedPairs) -> None:
        self._library = library()
        self._pairs = pairs
        self.handle = self._library.rs_judged_new(
            len(pairs.query_ends) - 1,
            address_of(pairs.query_text),
            address_of(pairs.query_ends),
            address_of(pairs.pair_offsets),
            address_of(pairs.doc_text),
            address_of(pairs.doc_ends),
            int.from_bytes(os.urandom(8), "little"),
        )
        if not self.handle:
            raise MemoryError

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._library.rs_judged_free(self.handle)
            self.handle = None


# --- fingerprints --------------------------------------------------------------------------------


def fingerprint(pairs: PackedPairs, grades: FloatArray, more: Iterable[str] = ()) -> str:
    """Return a SHA-256 of judged pairs, their grades, and what else there is to say of them.

    The columns are sorted, so the order in which judgments were given does not matter.
    """
    queries = _numbers(pairs.query_text, pairs.query_ends)
    documents = _numbers(pairs.doc_text, pairs.doc_ends)
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
