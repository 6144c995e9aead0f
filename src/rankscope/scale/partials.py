"""Partials: what is known of a run after some of its parts, and how two such things add up.

``partial(part, pairs)`` looks at one part, anywhere; ``merge(a, b)`` puts together what is known of
stretches that follow each other, and is associative. Queries that were in one part only are
settled. The others are *open*: their rows are brought together later (`rankscope.scale.spool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError
from rankscope.scoring.judged_pairs import NativePairs, PackedPairs
from rankscope.scoring.scan_tables import JudgedPairs, scan_of
from rankscope.scoring.scans import BY_HIT, Scan, scan_block, summed
from rankscope.tables.detection import BOM
from rankscope.tables.native import library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.judged import IntArray
    from rankscope.runs.order import Precision
    from rankscope.scale.run_cuts import Part


class PartError(InputError):
    """A part that cannot be scanned; the ordinary reader says what is wrong with the file."""


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What is known of a run after some of its parts."""

    queries: pl.DataFrame
    """By query, in order of first appearance: query_id; size, the number of its rows; first and
    last, the scores of its first and last row; rises and falls, whether a score is higher or lower
    than the one before; parts, in how many parts the query is."""
    hits: pl.DataFrame
    """By judged document retrieved: pair, above, tied, ahead_by_id, ahead_as_given, as in
    `rankscope.scoring.scans.Scan`; of open queries what holds in one of their parts."""
    tied_across: IntArray
    """As in `Scan`, over the stretches of all parts."""


def partial_of(scan: Scan) -> Partial:
    """Return a scan as a partial; each query has one stretch."""
    queries = pl.DataFrame(
        {
            "query_id": pl.Series(scan.query_ids, dtype=pl.String),
            "size": scan.sizes,
            "first": scan.first_score,
            "last": scan.last_score,
            "rises": scan.rises,
            "falls": scan.falls,
            "parts": np.ones(len(scan.query_ids), np.int64),
        }
    )
    hits = pl.DataFrame({name: getattr(scan, name).astype(np.int64) for name in BY_HIT})
    return Partial(queries, hits, scan.tied_across)


def partial(part: Part, pairs: PackedPairs, precision: Precision = "double") -> Partial:
    """Look at one part of a run.

    Raises:
        PartError: it breaks a rule of runs.
    """
    try:
        scan = _native(part, pairs, precision) or scan_of(part.run(), unpacked(pairs), precision)
        return partial_of(scan)
    except RankscopeError as error:
        raise PartError(str(error)) from None  # others cannot all be sent from process to process


def _native(part: Part, pairs: PackedPairs, precision: Precision) -> Scan | None:
    """Return the scan of a part by the native library; None if it refuses it, or is not there."""
    if library() is None or part.format != "trec":
        return None
    data: Any = part.block()
    if data.startswith(BOM):
        if part.low:
            return None
        data = data.removeprefix(BOM)
    native = _native_pairs(
        pairs.query_text,
        pairs.query_ends.tobytes(),
        pairs.pair_offsets.tobytes(),
        pairs.doc_text,
        pairs.doc_ends.tobytes(),
    )
    return scan_block(data, len(data), native, precision)


@lru_cache(maxsize=2)  # the parts of a run share it, also where each brings a copy of the bytes
def _native_pairs(
    query_text: bytes, query_ends: bytes, pair_offsets: bytes, doc_text: bytes, doc_ends: bytes
) -> NativePairs:
    ends = [np.frombuffer(edges, np.int64) for edges in (query_ends, pair_offsets, doc_ends)]
    return NativePairs(PackedPairs(query_text, ends[0], ends[1], doc_text, ends[2]))


def unpacked(packed: PackedPairs) -> JudgedPairs:
    """Return packed pairs in columns."""
    edges = (packed.query_ends, packed.pair_offsets, packed.doc_ends)
    return _unpacked(packed.query_text, packed.doc_text, *(each.tobytes() for each in edges))


@lru_cache(maxsize=2)  # the parts of a run share it, also where each brings a copy of the bytes
def _unpacked(
    query_text: bytes, doc_text: bytes, query_ends: bytes, pair_offsets: bytes, doc_ends: bytes
) -> JudgedPairs:
    queries, pairs, documents = (
        np.frombuffer(edges, np.int64) for edges in (query_ends, pair_offsets, doc_ends)
    )
    packed = PackedPairs(query_text, queries, pairs, doc_text, documents)
    number = np.repeat(np.arange(len(queries) - 1), np.diff(pairs))
    doc_ids = pl.Series("doc_id", packed.doc_ids(), dtype=pl.String)
    return JudgedPairs(packed.query_ids(), pl.DataFrame([pl.Series("query", number), doc_ids]))


def merge(first: Partial, second: Partial) -> Partial:
    """Put together what is known of two stretches of a run, the second after the first."""
    return merge_all([first, second])


def merge_all(partials: Sequence[Partial]) -> Partial:
    """Put together what is known of stretches of a run that follow each other."""
    if len(partials) == 1:
        return partials[0]
    queries = pl.concat([part.queries for part in partials])
    if queries["query_id"].n_unique() < queries.height:
        before = pl.col("last").shift()
        queries = queries.group_by("query_id", maintain_order=True).agg(
            pl.col("size").sum(),
            pl.col("first").first(),
            pl.col("last").last(),
            rises=pl.col("rises").any() | (pl.col("first") > before).fill_null(False).any(),
            falls=pl.col("falls").any() | (pl.col("first") < before).fill_null(False).any(),
            parts=pl.col("parts").sum(),
        )
    return Partial(
        queries,
        pl.concat([part.hits for part in partials]),
        summed([part.tied_across for part in partials]),
    )


class Tally:
    """Partials that are put together as they come, in their order, each a few times at most."""

    def __init__(self) -> None:
        self._heaps: list[tuple[int, Partial]] = []

    def add(self, partial_run: Partial) -> None:
        """Take the next one; what is about as large is put together at once."""
        rows, last = partial_run.queries.height, partial_run
        while self._heaps and self._heaps[-1][0] <= 2 * rows:
            _, before = self._heaps.pop()
            last = merge(before, last)
            rows = last.queries.height
        self._heaps.append((max(rows, 1), last))

    def total(self) -> Partial:
        """Return all of them as one."""
        total = merge_all([heap for _, heap in self._heaps])
        self._heaps = [(total.queries.height, total)]
        return total


def as_scan(whole: Partial) -> Scan:
    """Return what is known of a whole run as a scan; no query is open any more."""
    by_query = whole.queries.to_dict()
    by_hit: dict[str, Any] = {name: whole.hits[name].to_numpy() for name in BY_HIT}
    return Scan(
        query_ids=whole.queries["query_id"],  # type: ignore[arg-type]  # a series takes less room
        sizes=by_query["size"].to_numpy(),
        first_score=by_query["first"].to_numpy(),
        last_score=by_query["last"].to_numpy(),
        rises=by_query["rises"].to_numpy(),
        falls=by_query["falls"].to_numpy(),
        **by_hit,
        tied_across=whole.tied_across,
    )
