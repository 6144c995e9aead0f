"""A file in blocks for the native library: blocks end with a query, and threads take them.

Memory holds a few blocks, whatever the size of the file; a block is larger only where a single
query is.
"""

from __future__ import annotations

import os
from collections import deque
from itertools import pairwise
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankscope.errors import RankscopeError
from rankscope.tables.native import address_of, library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from rankscope.tables.trec_file import TrecFile

T = TypeVar("T")
Item = TypeVar("Item")

BLOCK = 4 << 20
"""Bytes that are scanned at a time, about."""

LARGEST_QUERY = 1 << 28
"""Bytes of a query's lines up to which they are taken together."""

_WINDOW = 1 << 17  # bytes looked at first for the place where a query ends
_FEW = 1 << 20  # bytes of a file for which no threads are started


def workers() -> int:
    """Return how many threads scan at once."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(allowed or 1, 8)


def map_blocks(file: TrecFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    """Return what is made of each block of a file, in order; None if anything is refused.

    ``work`` takes a buffer and how many bytes of it count, in several threads, and returns None for
    what it refuses. A file that cannot be read, or that changes meanwhile, is refused too: whoever
    reads it then says why.
    """
    try:
        parts = _plain(file, work) if file.is_plain else _stream(file, work)
        status = os.stat(file.path)
    except (OSError, RankscopeError):
        return None
    is_same = (status.st_size, status.st_mtime_ns) == (file.size, file.modified)
    return parts if is_same else None


def _in_turn(work: Callable[[Item], T | None], items: Iterable[Item]) -> list[T] | None:
    """Return what is made of items, in several threads; None if anything is refused.

    Items are taken as threads get to them, so that few are in memory.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    results: list[T] = []
    pending: deque[Future[T | None]] = deque()

    def are_taken(most: int) -> bool:
        """Wait until so many are left; tell whether none that is done was refused."""
        while len(pending) > most:
            result = pending.popleft().result()
            if result is None:
                return False
            results.append(result)
        return True

    pool = ThreadPoolExecutor(workers())
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if not are_taken(workers()):
                return None
        return results if are_taken(0) else None
    finally:
        pool.shutdown(cancel_futures=True)


def _plain(file: TrecFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        edges: list[int] | None = [file.skipped, file.size]
        if file.size > _FEW:
            edges = cuts(descriptor, file.skipped, file.size)
        if edges is None:
            return None
        parts = list(pairwise(edges))
        largest = max(high - low for low, high in parts)
        buffers = local()

        def take(part: tuple[int, int]) -> T | None:
            if not hasattr(buffers, "own"):
                buffers.own = np.empty(largest, np.uint8)
            low, high = part
            if not _read_whole(descriptor, buffers.own[: high - low], low):
                return None  # the file is shorter than it was
            return work(buffers.own, high - low)

        if len(parts) > 1:
            return _in_turn(take, parts)
        only = take(parts[0])
        return None if only is None else [only]
    finally:
        os.close(descriptor)


def _read_whole(descriptor: int, buffer: Any, place: int) -> bool:
    """Fill an array from a place of a file; False if the file ends before."""
    done = 0
    while done < len(buffer):
        read = os.preadv(descriptor, [buffer.data[done:]], place + done)
        if not read:
            return False
        done += read
    return True


def cuts(descriptor: int, begin: int, end: int) -> list[int] | None:
    """Return where to cut a file so that no query is cut that has its lines together.

    None says that a query is larger than memory should be asked to hold.
    """
    block = max(min(BLOCK, (end - begin) // workers()), _FEW, 1)  # something for each thread
    edges = [begin]
    at = begin + block
    while at < end:
        window, place = _WINDOW, -1
        while place < 0:
            data = os.pread(descriptor, min(window, end - at), at)
            place = library().rs_cut(address_of(data), len(data), 1) if len(data) > 1 else -1
            if at + window >= end:
                break
            window *= 4
            if place < 0 and window > LARGEST_QUERY:
                return None
        if place < 0:
            break
        edges.append(at + place)
        at = edges[-1] + block
    return [*edges, end]


def _stream(file: TrecFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    """Scan blocks in threads while the next one is decompressed."""
    with file.opened() as stream:
        results = _in_turn(lambda block: work(block, len(block)), query_blocks(stream))
    if results != []:
        return results
    empty = work(b"", 0)
    return None if empty is None else [empty]


def query_blocks(stream: Any) -> Iterator[bytes]:
    """Read a stream in blocks that end with a query's last line, where its lines are together."""
    left = b""
    wanted = BLOCK
    while part := stream.read(wanted):
        data = left + part
        reach, place = _WINDOW, -1
        while place < 0:
            place = library().rs_cut(address_of(data), len(data), max(len(data) - reach, 0))
            if reach >= len(data):
                break
            reach *= 4
        if place <= 0:
            left = data  # a query that is larger than a block: read twice as much
            wanted = max(BLOCK, len(data))
            continue
        yield data[:place]
        left = data[place:]
        wanted = BLOCK
    if left:
        yield left
