"""Scans by the native library: the same as `rankscope.scoring.scan_tables` makes of tables.

A block of whole lines is scanned without the interpreter's lock, so that threads scan several at
once. What the library refuses gives None, and is then read in Python.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.scoring.scans import Scan
from rankscope.tables.native import address_of, library, taken

if TYPE_CHECKING:
    from rankscope.runs.order import Precision
    from rankscope.scoring.scans import PackedPairs
    from rankscope.tables.native import Result

RISES, FALLS, RANKS_GO_BY_SCORE = 1, 2, 4

_HIT = np.dtype(
    [
        (name, np.int64)
        for name in ("pair", "place", "above", "tied", "by_id", "as_given", "stretch")
    ]
    + [("score", np.float64)]
)


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


@dataclass(frozen=True, slots=True, eq=False)
class NativeScan:
    """A scan of a block, and what else was asked about it."""

    scan: Scan
    ranks_go_by_score: bool
    """Whether the ranks in the file are in the order of the scores, in all stretches; if asked."""


def scan_block(
    data: Any,
    size: int,
    pairs: NativePairs,
    precision: Precision = "double",
    *,
    ranks: bool = False,
) -> NativeScan | None:
    """Scan a block of whole lines: bytes, or an array of NumPy, of which ``size`` bytes count."""
    made = library().rs_scan(pairs.handle, address_of(data), size, precision == "single", ranks)
    for result in taken(made):
        return _scan_of(result)
    return None


def _scan_of(result: Result) -> NativeScan:
    stretches = result.stretches

    def array(name: str, kind: Any, count: int) -> Any:
        return np.frombuffer(result.bytes_at(name, count * np.dtype(kind).itemsize), kind)

    ends = array("query_ends", np.int64, stretches + 1 if stretches else 0).tolist()
    text = result.bytes_at("query_text", result.query_size)
    flags = array("flags", np.uint8, stretches)
    hits = array("hit_rows", _HIT, result.hits)
    scan = Scan(
        query_ids=tuple(text[low:high].decode() for low, high in pairwise(ends)),
        sizes=array("sizes", np.int64, stretches),
        first_score=array("first_score", np.float64, stretches),
        last_score=array("last_score", np.float64, stretches),
        rises=(flags & RISES) != 0,
        falls=(flags & FALLS) != 0,
        hit_stretch=hits["stretch"],
        hit_pair=hits["pair"],
        hit_place=hits["place"],
        hit_score=hits["score"],
        above=hits["above"],
        tied=hits["tied"],
        ahead_by_id=hits["by_id"],
        ahead_as_given=hits["as_given"],
        tied_across=array("tied_across", np.int64, result.deepest),
    )
    return NativeScan(scan, bool((flags & RANKS_GO_BY_SCORE).all()))
