"""Scans by the native library: the same as `rankscope.scoring.scan_tables` makes of tables.

A block of whole lines is scanned without the interpreter's lock, so that threads scan several at
once. What the library refuses gives None, and is then read in Python.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.scoring.scans import BY_HIT, Scan, merge
from rankscope.tables.native import address_of, library, taken
from rankscope.tables.native_blocks import map_blocks

if TYPE_CHECKING:
    from rankscope.runs.order import Precision
    from rankscope.scoring.scans import PackedPairs
    from rankscope.tables.native import Result
    from rankscope.tables.trec_file import TrecFile

RISES, FALLS, RANKS_GO_BY_SCORE = 1, 2, 4
_HIT = np.dtype([(name, np.int32) for name in BY_HIT])


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


def scan_block(
    data: Any,
    size: int,
    pairs: NativePairs,
    precision: Precision = "double",
    *,
    ranks: bool = False,
) -> Scan | None:
    """Scan a block of whole lines: bytes, or an array of NumPy, of which ``size`` bytes count.

    ``ranks`` asks whether the ranks in the file go by score.
    """
    made = library().rs_scan(pairs.handle, address_of(data), size, precision == "single", ranks)
    for result in taken(made):
        return _scan_of(result)
    return None


def _scan_of(result: Result) -> Scan:
    stretches = result.stretches
    flags = result.array("flags", np.uint8, stretches)
    hits = result.array("hit_rows", _HIT, result.hits)
    return Scan(
        query_ids=tuple(result.query_ids()),
        sizes=result.array("sizes", np.int64, stretches),
        first_score=result.array("first_score", np.float64, stretches),
        last_score=result.array("last_score", np.float64, stretches),
        rises=(flags & RISES) != 0,
        falls=(flags & FALLS) != 0,
        **{name: hits[name] for name in BY_HIT},
        tied_across=result.array("tied_across", np.int64, result.deepest),
        ranks_go_by_score=bool((flags & RANKS_GO_BY_SCORE).all()),
    )


def scan_file(
    file: TrecFile, pairs: NativePairs, precision: Precision = "double", *, ranks: bool = False
) -> Scan | None:
    """Scan a file; None if the library refuses it, queries take turns, or it changed meanwhile."""

    def scan(data: Any, size: int) -> Scan | None:
        return scan_block(data, size, pairs, precision, ranks=ranks)

    parts = map_blocks(file, scan)
    names = [query_id for part in parts or () for query_id in part.query_ids]
    if not parts or len(set(names)) < len(names):
        return None
    return merge(parts)
