"""The rows of a run in a TREC file, read by the native library: columns for a table.

It proves what the reader of tables checks: six columns on each line, valid text, finite scores,
each document once for a query, and the lines of each query together. Otherwise None is returned,
and the other reader looks at the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rankscope.tables.native import address_of, library, taken
from rankscope.tables.native_blocks import map_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.tables.native import Result
    from rankscope.tables.trec_file import TrecFile

_RISES, _RANKS_GO_BY_SCORE = 1, 4


@dataclass(frozen=True, slots=True, eq=False)
class NativeRows:
    """Rows by query, as they are in the file."""

    query_ids: pl.Series
    offsets: NDArray[np.int64]
    doc_id: pl.Series
    score: NDArray[np.float64]
    rank: NDArray[np.float64] | None
    rises: int
    """Queries in which a score is higher than the one before."""
    ranks_go_by_score: bool
    """Whether the ranks, if they were asked for, are in the order of the scores."""
    skipped: int
    """Lines that are blank or comments."""


class _Block(NamedTuple):
    query_ids: list[str]
    sizes: NDArray[np.int64]
    doc_id: pl.Series
    score: NDArray[np.float64]
    rank: NDArray[np.float64]
    """Of each row, if asked for; else none."""
    flags: NDArray[np.uint8]
    skipped: int


def read_rows(file: TrecFile, *, ranks: bool = False) -> NativeRows | None:
    """Read a run, with the ranks that the file gives if asked for."""
    seed = int.from_bytes(os.urandom(8), "little")

    def work(data: Any, size: int) -> _Block | None:
        made = library().rs_rows(address_of(data), size, seed, ranks)
        for result in taken(made):
            return _block(result, ranks=ranks)
        return None

    blocks = map_blocks(file, work)
    if not blocks:
        return None
    names, sizes, documents, scores, given, flags, skipped = zip(*blocks, strict=True)
    query_ids = list(chain.from_iterable(names))
    if not query_ids or len(set(query_ids)) < len(query_ids):
        return None
    flag = np.concatenate(flags)
    return NativeRows(
        query_ids=pl.Series("query_id", query_ids, dtype=pl.String),
        offsets=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        doc_id=pl.concat(documents),
        score=np.concatenate(scores),
        rank=np.concatenate(given) if ranks else None,
        rises=int(np.count_nonzero(flag & _RISES)),
        ranks_go_by_score=ranks and bool((flag & _RANKS_GO_BY_SCORE).all()),
        skipped=sum(skipped),
    )


def _block(result: Result, *, ranks: bool) -> _Block:
    rows = result.rows
    # Ids hold no line feed, and the last one is not followed by one here.
    text = result.bytes_at("doc_text", max(result.doc_size - 1, 0)).decode()
    documents = pl.Series("doc_id", [text]).str.split("\n").explode(empty_as_null=True)
    return _Block(
        query_ids=result.query_ids(),
        sizes=result.array("sizes", np.int64, result.stretches),
        doc_id=documents if rows else documents.clear(),
        score=result.array("numbers", np.float64, rows),
        rank=result.array("ranks", np.float64, rows if ranks else 0),
        flags=result.array("flags", np.uint8, result.stretches),
        skipped=result.skipped,
    )
