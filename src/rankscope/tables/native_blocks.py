"""A file in blocks for the native library: blocks end with a query, and threads take them.

Memory holds a few blocks, whatever the size of the file; a block is larger only where a single
query is.
"""

from __future__ import annotations

import os
from itertools import pairwise
from threading import Thread, local
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankscope.errors import RankscopeError
from rankscope.tables.native import address_of, library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from rankscope.tables.trec_file import TrecFile

T = TypeVar("T")

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
    return unchanged(file, lambda: (_plain if file.is_plain else _stream)(file, work))


def unchanged(file: TrecFile, work: Callable[[], list[T] | None]) -> list[T] | None:
    """Return what is made of a file; None if it cannot be read, or changes meanwhile."""
    try:
        parts = work()
        status = os.stat(file.path)
    except (OSError, RankscopeError):
        return None
    is_same = (status.st_size, status.st_mtime_ns) == (file.size, file.modified)
    return parts if is_same else None


def _plain(file: TrecFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        edges = [file.skipped, file.size]
        if file.size > _FEW:
            block = max(min(BLOCK, file.size // workers()), _FEW)  # something for each thread
            places = cuts(descriptor, file.skipped, file.size, block)
            if places is None:
                return None
            edges = places
        parts = list(pairwise(edges))
        buffers = local()

        def take(number: int) -> T | None:
            low, high = parts[number]
            if not hasattr(buffers, "own"):
                buffers.own = np.empty(max(end - begin for begin, end in parts), np.uint8)
            size = high - low
            if not read_whole(descriptor, buffers.own[:size], low):
                return None  # the file is shorter than it was
            return work(buffers.own, size)

        return in_turn(take, len(parts))
    finally:
        os.close(descriptor)


def in_turn(work: Callable[[int], T | None], count: int) -> list[T] | None:
    """Return what is made of 0, 1, 2 … in several threads; None if anything is refused."""
    results: list[T | None] = [None] * count
    turn = iter(range(count))
    refused: list[BaseException | None] = []

    def take() -> None:
        try:
            while not refused and (number := next(turn, None)) is not None:
                results[number] = work(number)
                if results[number] is None:
                    refused.append(None)
        except BaseException as error:
            refused.append(error)

    _in_threads(take, count)
    error = next(filter(None, refused), None)
    if error is not None:
        raise error
    return None if refused else [part for part in results if part is not None]


def _in_threads(work: Any, most: int) -> None:
    """Do the same in several threads, of which this is one."""
    others = [Thread(target=work, daemon=True) for _ in range(min(workers(), most) - 1)]
    for other in others:
        other.start()
    work()
    for other in others:
        other.join()


def read_whole(descriptor: int, buffer: Any, place: int) -> bool:
    """Fill an array from a place of a file; False if the file ends before."""
    done = 0
    while done < len(buffer):
        read = _read_at(descriptor, buffer.data[done:], place + done)
        if not read:
            return False
        done += read
    return True


def _read_at(descriptor: int, buffer: memoryview, place: int) -> int:
    """Fill a buffer from a place of a file, as far as that goes at once."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [buffer], place)
    data = os.pread(descriptor, len(buffer), place)
    buffer[: len(data)] = data
    return len(data)


def cuts(descriptor: int, begin: int, end: int, block: int | None = None) -> list[int] | None:
    """Return where to cut a file so that no query is cut that has its lines together.

    None says that a query is larger than memory should be asked to hold.
    """
    block = block or BLOCK
    edges = [begin]
    cut = library().rs_cut
    at = begin + block
    while at < end:
        window = _WINDOW
        place = -1
        while place < 0:
            data = os.pread(descriptor, min(window, end - at), at)
            place = cut(address_of(data), len(data), 1) if len(data) > 1 else -1
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
    from collections import deque  # noqa: PLC0415
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    results: list[T] = []
    pending: deque[Future[T | None]] = deque()
    with ThreadPoolExecutor(workers()) as pool, file.opened() as stream:
        for block in query_blocks(stream):
            pending.append(pool.submit(work, block, len(block)))
            while len(pending) > workers() or (pending and pending[0].done()):
                part = pending.popleft().result()
                if part is None:
                    return None
                results.append(part)
        for waiting in pending:
            part = waiting.result()
            if part is None:
                return None
            results.append(part)
    return results or [empty for empty in (work(b"", 0),) if empty is not None]


def query_blocks(stream: Any, block: int | None = None) -> Iterator[bytes]:
    """Read a stream in blocks that end with a query's last line, where its lines are together."""
    cut = library().rs_cut
    block = block or BLOCK
    left = b""
    wanted = block
    while part := stream.read(wanted):
        data = left + part
        reach = _WINDOW
        place = -1
        while place < 0:
            place = cut(address_of(data), len(data), max(len(data) - reach, 0))
            if reach >= len(data):
                break
            reach *= 4
        if place <= 0:
            left = data  # a query that is larger than a block: read twice as much
            wanted = max(block, len(data))
            continue
        yield data[:place]
        left = data[place:]
        wanted = block
    if left:
        yield left
