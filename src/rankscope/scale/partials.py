"""Partials: what is known of a run after some of its parts, and how such things add up.

`partial` looks at one part, anywhere; `merged` puts together what is known of stretches that follow
each other. Queries that were in one part only are settled. The others are *open*: their rows are
brought together later (`rankscope.scale.spool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import InputError, RankscopeError
from rankscope.scoring.judged_pairs import FilePairs, PackedPairs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scan_tables import scan_of
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


def partial(part: Part, pairs: PackedPairs, precision: Precision = "double") -> Partial:
    """Look at one part of a run.

    Raises:
        PartError: it breaks a rule of runs.
    """
    judgments = _judgments(
        pairs.query_text,
        pairs.doc_text,
        *(ends.tobytes() for ends in (pairs.query_ends, pairs.pair_offsets, pairs.doc_ends)),
    )
    try:
        scan = _native(part, judgments, precision) or scan_of(part.run(), judgments, precision)
        return partial_of(scan)
    except RankscopeError as error:
        raise PartError(str(error)) from None  # others cannot all be sent from process to process


@lru_cache(maxsize=2)  # the parts of a run share it, also where each brings a copy of the bytes
def _judgments(
    query_text: bytes, doc_text: bytes, query_ends: bytes, pair_offsets: bytes, doc_ends: bytes
) -> Judgments:
    """Return judgments of these pairs; their grades make no difference to a scan."""
    queries, offsets, documents = (
        np.frombuffer(ends, np.int64) for ends in (query_ends, pair_offsets, doc_ends)
    )
    pairs = PackedPairs(query_text, queries, offsets, doc_text, documents)
    return Judgments(FilePairs(pairs, np.ones(len(documents) - 1)))


def _native(part: Part, judgments: Judgments, precision: Precision) -> Scan | None:
    """Return the scan of a part by the native library; None if it refuses it, or is not there."""
    if library() is None or part.format != "trec":
        return None
    data: Any = part.block()
    if data.startswith(BOM) and part.low:
        return None
    data = data.removeprefix(BOM)
    return scan_block(data, len(data), judgments.native_pairs, precision)


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


def merged(partials: Sequence[Partial]) -> Partial:
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


def as_scan(whole: Partial) -> Scan:
    """Return what is known of a whole run as a scan; no query is open any more."""
    queries = whole.queries
    by_hit: dict[str, Any] = {name: whole.hits[name].to_numpy() for name in BY_HIT}
    return Scan(
        query_ids=queries["query_id"],  # type: ignore[arg-type]  # a series takes less room
        sizes=queries["size"].to_numpy(),
        first_score=queries["first"].to_numpy(),
        last_score=queries["last"].to_numpy(),
        rises=queries["rises"].to_numpy(),
        falls=queries["falls"].to_numpy(),
        **by_hit,
        tied_across=whole.tied_across,
    )
