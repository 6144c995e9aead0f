"""Files in which queries take turns: their lines are brought together by query, and then read.

A small file is put in order in memory. Of a larger one each block is put in order by *bucket*, into
a temporary file that has no name, so that nothing is left of it whatever happens. A bucket holds
all lines of some queries, a few megabytes, so memory does not grow with the file; time does, in
proportion, as each line is written and read once more.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankscope.tables.native import address_of, library
from rankscope.tables.native_blocks import LARGEST_QUERY, in_turn, read_whole, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankscope.tables.trec_file import TrecFile

T = TypeVar("T")

BLOCK = 16 << 20
"""Bytes that are put in order at a time."""

BUCKET = 8 << 20
"""Bytes that a bucket has, about."""

_MOST_BUCKETS = 1 << 12
_PACKED = 8  # times the size of its file that a compressed run has, about


def gathered(data: Any, size: int, out: Any = None) -> Any:
    """Return a block of whole lines with those of each query together.

    ``out`` is where it is put, and has room for a byte more.
    """
    with _gathering() as gather:
        target = np.empty(size + 1, np.uint8) if out is None else out
        return target[: gather(data, size, 0, target)]


def map_gathered(file: TrecFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    """Return what is made of each bucket of a file; None if anything is refused.

    If there are n buckets, the first one holds the queries that are met first, after n others,
    after 2 n others, and so on, in this order; the second one those that follow each of these.
    ``work`` is as `map_blocks` has it.
    """
    return unchanged(file, lambda: _mapped(file, work))


def _mapped(file: TrecFile, work: Callable[[Any, int], T | None]) -> list[T] | None:
    if file.is_plain and file.size <= BUCKET:
        data = np.fromfile(file.path, np.uint8)[file.skipped :]
        together = gathered(data, len(data))
        only = work(together, len(together))
        return None if only is None else [only]
    from tempfile import TemporaryFile  # noqa: PLC0415  # which takes a while to load

    size = file.size if file.is_plain else _PACKED * file.size
    count = min(max(size // BUCKET, 1), _MOST_BUCKETS)
    with TemporaryFile() as kept:
        ends = _put_aside(file, kept.fileno(), count)
        begins = np.concatenate([np.zeros(1, np.int64), ends.ravel()[:-1]]).reshape(ends.shape)
        sizes = (ends - begins).sum(axis=0)
        largest = int(sizes.max(initial=0))
        if largest > LARGEST_QUERY:
            return None
        buffers = local()

        def take(bucket: int) -> T | None:
            if not hasattr(buffers, "pair"):
                buffers.pair = np.empty((2, largest + 1), np.uint8)
            data, out = buffers.pair
            done = 0
            for low, high in zip(begins[:, bucket].tolist(), ends[:, bucket].tolist(), strict=True):
                if not read_whole(kept.fileno(), data[done : done + high - low], low):
                    return None
                done += high - low
            together = gathered(data, done, out)
            return work(together, len(together))

        return in_turn(take, range(count))


def _put_aside(file: TrecFile, target: int, count: int) -> Any:
    """Write the lines of a file by block and bucket; return where each bucket of a block ends."""
    ends = []
    total = 0
    out = np.empty(0, np.uint8)
    with _gathering() as gather:
        for block in _blocks(file):
            if len(out) <= len(block):
                out = np.empty(len(block) + 1, np.uint8)
            edges = np.empty(count, np.int64)
            size = gather(block, len(block), count, out, edges)
            _write(target, out.data[:size])
            ends.append(total + edges)
            total += size
    return np.array(ends, np.int64).reshape(len(ends), count)


def _blocks(file: TrecFile) -> Iterator[bytes]:
    """Read a file in blocks of whole lines."""
    left = b""
    with file.opened() as stream:
        while part := stream.read(BLOCK):
            data = left + part
            end = data.rfind(b"\n") + 1
            left = data[end:]
            if end:
                yield data[:end]
            elif len(left) > LARGEST_QUERY:
                raise OSError("a line is too long")  # whoever reads it otherwise says so
    if left:
        yield left


def _write(target: int, data: memoryview) -> None:
    while data:
        data = data[os.write(target, data) :]


@contextmanager
def _gathering() -> Iterator[Callable[..., int]]:
    """Yield a function that puts blocks in order, and knows the queries of those before."""
    native = library()
    handle = native.rs_gather_new(int.from_bytes(os.urandom(8), "little"))

    def gather(data: Any, size: int, buckets: int, out: Any, ends: Any = None) -> int:
        where = 0 if ends is None else address_of(ends)
        written = native.rs_gather(handle, address_of(data), size, buckets, address_of(out), where)
        if written < 0:
            raise MemoryError
        return int(written)

    if not handle:
        raise MemoryError
    try:
        yield gather
    finally:
        native.rs_gather_free(handle)
