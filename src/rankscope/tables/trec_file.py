"""A TREC file that the native scan may read: recognised from its first bytes, without Polars."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankscope.errors import RankscopeError
from rankscope.files import is_plain_file, open_bytes, suffix_of
from rankscope.tables.detection import (
    BOM,
    data_lines,
    detect_format,
    fields_of,
    read_head,
    sniff,
    usual_width,
)
from rankscope.tables.native import library

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from typing import Any

    from rankscope.files import PathLike
    from rankscope.tables.columns import PairLayout
    from rankscope.tables.detection import Sniffed


_FEW = 1 << 12
"""Bytes from the beginning of a file that tell its columns; the scan looks at every line."""


@dataclass(frozen=True, slots=True)
class TrecFile:
    """A regular file, compressed or not, whose lines have the columns of a TREC file."""

    path: PathLike
    sniffed: Sniffed
    is_plain: bool
    """Whether it is not compressed."""
    skipped: int
    """Bytes at its beginning that are no content: a byte-order mark."""
    size: int
    modified: int
    """When it was last changed, in nanoseconds."""

    @classmethod
    def recognised(cls, path: PathLike, layout: PairLayout) -> TrecFile | None:
        """Return the file if the native scan may read it; None if not, and if it is damaged."""
        if library() is None or not os.path.isfile(path):
            return None
        try:
            with open_bytes(path) as stream:
                head = stream.read(_FEW)
                if len(data_lines(head)) < 2:
                    head += read_head(stream)
            status = os.stat(path)
            is_plain = is_plain_file(path)
        except (RankscopeError, OSError):
            return None  # the reader says why
        sniffed = sniff(head, suffix_of(path))
        columns = max(layout.headerless)
        is_trec = (
            sniffed.content == "text"
            and detect_format(sniffed, layout) == "trec"
            and usual_width(sniffed, layout) == columns
        )
        if not is_trec:
            return None
        skipped = len(BOM) if head.startswith(BOM) else 0
        return cls(path, sniffed, is_plain, skipped, status.st_size, status.st_mtime_ns)

    @contextmanager
    def opened(self) -> Iterator[BufferedReader[Any]]:
        """Open the file for its decompressed content."""
        with open_bytes(self.path) as stream:
            stream.read(self.skipped)
            yield stream

    @property
    def first_tag(self) -> str | None:
        """The last column of the first line of a run."""
        fields = fields_of(self.sniffed.line)
        return fields[-1] if len(fields) == 6 else None
