"""Gzip that keeps up with the disk: large content is compressed in blocks, on several cores.

One gzip member comes out, whatever its size, so everything that reads gzip reads it. The bytes
follow from the content alone, not from how many cores there are or how it was handed over.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

SMALL = 1 << 23
"""Up to so many bytes are compressed well; more of them, fast (and some 8 % larger)."""

BLOCK = 1 << 20
"""Bytes of a large content that are compressed together."""

_MOST_CORES = 8
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"  # deflate, no name, no time, fast


class GzipWriter(io.RawIOBase):
    """Compresses what is written to it into ``sink``, which stays open."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._waiting = bytearray()
        self._pool: ThreadPoolExecutor | None = None
        self._blocks: deque[Future[bytes]] = deque()
        self._cores = min(os.cpu_count() or 1, _MOST_CORES)
        self._checksum, self._size = 0, 0

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def write(self, content: Any, /) -> int:
        """Take some bytes."""
        view = memoryview(content).cast("B")
        size = len(view)
        if self._pool is None and len(self._waiting) + size > SMALL:
            self._sink.write(_HEAD)
            self._pool = ThreadPoolExecutor(self._cores)
        if self._pool is not None:
            while len(self._waiting) + len(view) >= BLOCK:
                missing = max(BLOCK - len(self._waiting), 0)
                self._waiting += view[:missing]
                self._put(bytes(self._waiting[:BLOCK]))
                del self._waiting[:BLOCK]
                view = view[missing:]
        self._waiting += view
        return size

    def close(self) -> None:
        """Write what is left, and the checksum."""
        if self.closed:
            return
        try:
            if self._pool is None:
                with gzip.GzipFile("", "wb", 6, self._sink, mtime=0) as stream:
                    stream.write(self._waiting)
            else:
                self._put(bytes(self._waiting))
                self._take(0)
                self._sink.write(zlib.compress(b"", wbits=-zlib.MAX_WBITS))  # the end
                self._sink.write(self._checksum.to_bytes(4, "little"))
                self._sink.write((self._size & 0xFFFFFFFF).to_bytes(4, "little"))
        finally:
            super().close()
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def _put(self, block: bytes) -> None:
        """Hand a block to a core; if all are busy, write what is ready first."""
        assert self._pool is not None
        self._take(2 * self._cores)
        self._blocks.append(self._pool.submit(_compressed, block))
        self._checksum = zlib.crc32(block, self._checksum)
        self._size += len(block)

    def _take(self, leave: int) -> None:
        """Write finished blocks, in order, until so many are left."""
        while len(self._blocks) > leave:
            self._sink.write(self._blocks.popleft().result())


def _compressed(block: bytes) -> bytes:
    """Compress a block such that another may follow."""
    deflate = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    return deflate.compress(block) + deflate.flush(zlib.Z_SYNC_FLUSH)
