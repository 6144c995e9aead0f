"""TREC files for the native library: recognised, cut into blocks of whole queries, read in threads.

Memory holds a few blocks, whatever the size of the file; a block is larger only where a single
query is. The library proves what the reader of tables checks: the columns of each line, valid text,
finite numbers, each document once for a query, and the lines of each query together. What it
refuses gives None here, and goes to that reader, which says what is wrong.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankscope.errors import FormatError, RankscopeError
from rankscope.tables.detection import OpenedFile, detect_format, recognised, usual_width
from rankscope.tables.native import address_of, library, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    import polars as pl
    from numpy.typing import NDArray

    from rankscope.files import PathLike
    from rankscope.tables.columns import PairLayout
    from rankscope.tables.native import Result

T = TypeVar("T")

SMALLEST, LARGEST = 1 << 20, 4 << 20
"""Bytes that are scanned at a time, about: something for each thread, and little in memory."""
LARGEST_QUERY = 1 << 28
"""Bytes of a query's lines up to which they are taken together."""
_WINDOW = 1 << 17  # bytes looked at first for the place where a query ends
_RISES, _RANKS_GO_BY_SCORE = 1, 4


def suits_library(file: OpenedFile, layout: PairLayout) -> bool:
    """Tell whether the library may read a file: a regular one, compressed or not, of TREC lines.

    What cannot be read again is not given to it, as it may refuse.
    """
    return (
        library() is not None
        and file.data is None
        and os.path.isfile(file.path)
        and file.sniffed.content == "text"
        and detect_format(file.sniffed, layout) == "trec"
        and usual_width(file.sniffed, layout) == max(layout.headerless)
    )


@contextmanager
def opened_for_library(path: PathLike, layout: PairLayout) -> Iterator[OpenedFile | None]:
    """Open a file; None if the library may not read it, or it is damaged."""
    file = None
    with ExitStack() as opened:
        if library() is not None and os.path.isfile(path):
            with suppress(RankscopeError, OSError):  # the other reader says why
                sniffed, stream = opened.enter_context(recognised(path))
                file = OpenedFile(path, sniffed, stream)
        yield file if file is not None and suits_library(file, layout) else None
        if file is not None:
            file.stream = None


# --- blocks


def workers() -> int:
    """Return how many threads scan at once."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(allowed or 1, 8)


def map_blocks(file: OpenedFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    """Return what is made of each block of a file, in order; None if anything is refused.

    ``work`` takes a buffer and how many bytes of it count, in several threads while the next block
    is read, and returns None for what it refuses. A file that cannot be read, or that changes
    meanwhile, is refused too.
    """
    free: list[Any] = []  # buffers: new memory takes longer than what is read into it

    def reusing(filled: tuple[Any, int]) -> T | None:
        result = work(*filled)
        free.append(filled[0])
        return result

    wanted = max(SMALLEST, min(LARGEST, file.size))
    try:
        with file.opened() as stream:
            blocks = query_blocks(stream, wanted, free)
            first = list(islice(blocks, 2))
            in_order = in_threads if len(first) > 1 else map
            results: list[T] = []
            for result in in_order(reusing, chain(first, blocks)):
                if result is None:
                    return None
                results.append(result)
    except (OSError, RankscopeError):
        return None
    return None if file.has_changed else results


def in_threads(work: Callable[..., T], *arguments: Iterable[Any]) -> Iterator[T]:
    """Do as `map` does, in several threads; little more is taken at a time than there are."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    pending: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(workers())
    try:
        for each in zip(*arguments, strict=False):
            pending.append(pool.submit(work, *each))
            if len(pending) > workers():
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def query_blocks(stream: Any, wanted: int, free: list[Any]) -> Iterator[tuple[Any, int]]:
    """Read a stream in blocks that end with a query's last line, where its lines are together.

    Yield a buffer, a free one if there is one, and how many bytes of it are the block; one block at
    least.
    """
    left = np.empty(0, np.uint8)
    while True:
        most = len(left) + max(wanted, len(left))  # twice as much if a query is larger than a block
        if most > 2 * wanted or not free:
            free.append(np.empty(max(most, 2 * wanted), np.uint8))
        block = free.pop()
        block[: len(left)] = left
        size = len(left) + stream.readinto(block.data[len(left) : most])
        if size < most:
            yield block, size
            return
        reach, place = _WINDOW, -1
        while place < 0:
            place = library().rs_cut(address_of(block), size, max(size - reach, 0))
            if reach >= size:
                break
            reach *= 4
        if place <= 0 and size > LARGEST_QUERY:
            raise FormatError("a query has too many lines", source="")
        left = block[max(place, 0) : size].copy()
        if place > 0:
            yield block, place


# --- the rows of a run


@dataclass(frozen=True, slots=True, eq=False)
class NativeRows:
    """Rows by query, as they are in the file."""

    query_ids: pl.Series
    offsets: NDArray[np.int64]
    doc_id: pl.Series
    score: NDArray[np.float64]
    rises: int
    """Queries in which a score is higher than the one before."""
    ranks_go_by_score: bool
    """Whether the ranks, if they were asked for, are in the order of the scores."""


def read_rows(file: OpenedFile, *, ranks: bool = False) -> NativeRows | None:
    """Read a run, and look at the ranks that the file gives if asked for."""
    import polars as pl  # noqa: PLC0415

    seed = int.from_bytes(os.urandom(8), "little")

    def work(data: Any, size: int) -> tuple[Any, ...] | None:
        return next(
            map(_columns, taken(library().rs_rows(address_of(data), size, seed, ranks))), None
        )

    blocks = map_blocks(file, work)
    if not blocks:
        return None
    names, sizes, documents, scores, flags = zip(*blocks, strict=True)
    query_ids = list(chain.from_iterable(names))
    if not query_ids or len(set(query_ids)) < len(query_ids):
        return None
    flag = np.concatenate(flags)
    return NativeRows(
        query_ids=pl.Series("query_id", query_ids, dtype=pl.String),
        offsets=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        doc_id=pl.concat(documents),
        score=np.concatenate(scores),
        rises=int(np.count_nonzero(flag & _RISES)),
        ranks_go_by_score=ranks and bool((flag & _RANKS_GO_BY_SCORE).all()),
    )


def _columns(result: Result) -> tuple[Any, ...]:
    """Return the queries of a block, how many rows they have, the columns, and flags by query."""
    import polars as pl  # noqa: PLC0415

    # Ids hold no line feed, and the last one is not followed by one here.
    text = result.bytes_at("doc_text", max(result.doc_size - 1, 0)).decode()
    documents = pl.Series("doc_id", [text]).str.split("\n").explode(empty_as_null=True)
    return (
        result.query_ids(),
        result.array("sizes", np.int64, result.stretches),
        documents if result.rows else documents.clear(),
        result.array("numbers", np.float64, result.rows),
        result.array("flags", np.uint8, result.stretches),
    )
