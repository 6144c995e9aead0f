"""Tables separated by white space: TREC runs and qrels, and their headerless cousins.

Two ways to the same table. `read_clean` is for the usual file, one space (or one tab) between
columns and nothing else: it first proves from the bytes that the file is of that shape, then lets
Polars parse only the columns that are needed. `read_exact` is for everything else: mixed and
repeated white space, CRLF, comments, blank lines, a byte-order mark, broken lines; it keeps every
column as text and knows the line of every row.

White space is what it is to C in the plain locale (space, tab, vertical tab, form feed, carriage
return); other characters, however they look, belong to the ids.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.errors import shown
from rankscope.tabular.rows import Malformed, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.tabular.columns import Layout

    Bytes = NDArray[np.uint8]
    Mask = NDArray[np.bool_]

__all__ = ["BOM", "Shape", "read_clean", "read_exact", "shape_of"]

BOM = b"\xef\xbb\xbf"
MALFORMED_KEPT = 3
_TAB, _NEWLINE, _SPACE, _HASH = 9, 10, 32, 35
_AFTER_LAST = 0x80  # no blank
_BLOCK = 1 << 20
_TO_SPACE = bytes.maketrans(b"\t\v\f\r", b"    ")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the bytes of a file say about its lines."""

    lines: int
    spaces: int
    tabs: int
    blanks: int  # bytes up to and including the space: white space and control characters
    adjacent: bool  # two such bytes side by side: repeated separators, blank lines, CRLF
    ascii: bool

    def is_clean(self, columns: int) -> bytes | None:
        """Return the one separator of a file with exactly so many columns a line, if that holds."""
        if self.adjacent or not self.ascii or not self.lines:
            return None
        separators = (columns - 1) * self.lines
        if self.blanks != separators + self.lines:
            return None
        if self.spaces == separators and not self.tabs:
            return b" "
        if self.tabs == separators and not self.spaces:
            return b"\t"
        return None


def _shape_of_block(block: Bytes, following: int) -> Shape:
    """Look at one block; ``following`` is the byte after it."""
    blank = block <= _SPACE
    adjacent = bool((blank[1:] & blank[:-1]).any()) or bool(blank[-1] and following <= _SPACE)
    return Shape(
        lines=int(np.count_nonzero(block == _NEWLINE)),
        spaces=int(np.count_nonzero(block == _SPACE)),
        tabs=int(np.count_nonzero(block == _TAB)),
        blanks=int(np.count_nonzero(blank)),
        adjacent=adjacent,
        ascii=bool(block.view(np.int8).min() >= 0),
    )


def _merged(parts: Sequence[Shape]) -> Shape:
    return Shape(
        lines=sum(part.lines for part in parts),
        spaces=sum(part.spaces for part in parts),
        tabs=sum(part.tabs for part in parts),
        blanks=sum(part.blanks for part in parts),
        adjacent=any(part.adjacent for part in parts),
        ascii=all(part.ascii for part in parts),
    )


def shape_of(source: str | bytes) -> Shape:
    """Look once at every byte of a file (by name) or of bytes in memory, on all cores."""
    if isinstance(source, bytes):
        data = np.frombuffer(source, np.uint8)
        return _shape_in_threads(lambda low, high, _: data[low:high], len(data))
    with open(source, "rb", buffering=0) as handle:
        descriptor = handle.fileno()

        def read(low: int, high: int, buffer: Bytes) -> Bytes:
            return buffer[: os.preadv(descriptor, [buffer[: high - low].data], low)]

        return _shape_in_threads(read, os.fstat(descriptor).st_size)


def _shape_in_threads(read: Callable[[int, int, Bytes], Bytes], size: int) -> Shape:
    if not size:
        return Shape(0, 0, 0, 0, adjacent=False, ascii=True)

    def look(low: int, high: int) -> Shape:
        buffer = np.empty(_BLOCK + 1, np.uint8)
        parts: list[Shape] = []
        for begin in range(low, high, _BLOCK):
            end = min(begin + _BLOCK, high)
            block = read(begin, min(end + 1, size), buffer)
            following = int(block[-1]) if end < size else _NEWLINE + _AFTER_LAST
            parts.append(_shape_of_block(block[: end - begin], following))
            if parts[-1].adjacent or not parts[-1].ascii:  # not clean, whatever the rest says
                break
        return _merged(parts)

    workers = min(os.cpu_count() or 1, 4) if size > 8 * _BLOCK else 1
    edges = [size * part // workers for part in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        shape = _merged(list(pool.map(look, edges, edges[1:])))
    last = int(read(size - 1, size, np.empty(1, np.uint8))[0])
    if last == _NEWLINE:
        return shape
    unended = Shape(1, 0, 0, 1, adjacent=last <= _SPACE, ascii=True)  # as if a newline followed
    return _merged([shape, unended])


def read_clean(
    source: str | bytes,
    separator: bytes,
    columns: Sequence[str | None],
    types: dict[str, Any],
) -> pl.DataFrame | None:
    """Parse a file of clean shape; None if a value is not of its type or a line is short.

    Only the columns named in ``types`` are parsed, and the last one is looked at: no line is
    shorter than it should be, and the shape has shown that on average none is longer.
    """
    last = columns[-1] or "_last"
    schema = {
        role or ("_last" if place == len(columns) - 1 else f"_{place}"): types.get(
            role or "", pl.String
        )
        for place, role in enumerate(columns)
    }
    short = [] if last in types else [pl.col(last).is_null().alias("_short")]
    try:
        frame = _scan(source, schema, separator).select(*types, *short).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if any(frame[role].null_count() for role in types) or (short and frame["_short"].any()):
        return None
    return frame.select(*types)


def _scan(source: str | bytes, schema: dict[str, Any], separator: bytes) -> pl.LazyFrame:
    return pl.scan_csv(
        os.path.abspath(source) if isinstance(source, str) else source,
        schema=schema,
        separator=separator.decode(),
        has_header=False,
        quote_char=None,
        glob=False,
        credential_provider=None,
    )


def read_exact(
    data: bytes,
    columns: Sequence[str | None],
    types: dict[str, Any],
    *,
    source: str,
    layout: Layout,
) -> Rows:
    """Split a table by white space, whatever its state; lines that do not fit are reported.

    A value that is not of its type becomes null.
    """
    if data.startswith(BOM):
        data = data[len(BOM) :]
    frames: list[pl.DataFrame] = []
    lines: list[NDArray[np.int64]] = []
    malformed: list[Malformed] = []
    broken = before = 0
    for block in _line_blocks(data):
        part = _split_block(block, columns, types)
        frames.append(part.frame)
        lines.append(part.kept + (before + 1))
        broken += len(part.broken)
        malformed += [Malformed(line + before + 1, why) for line, why in part.reasons]
        before += part.lines
    empty = pl.DataFrame(schema=types)
    numbers = np.concatenate(lines) if lines else np.empty(0, np.int64)
    return Rows(
        frame=pl.concat([empty, *frames], how="vertical"),
        source=source,
        layout=layout,
        line_of=lambda row: int(numbers[row]),
        malformed=tuple(malformed[:MALFORMED_KEPT]),
        malformed_count=broken,
        ids_complete=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    frame: pl.DataFrame
    lines: int  # in the block
    kept: NDArray[np.int64]  # lines that became rows, from 0
    broken: NDArray[np.int64]  # lines that did not fit
    reasons: list[tuple[int, str]]


def _line_blocks(data: bytes, size: int = 1 << 25) -> Iterator[bytes]:
    """Cut bytes into blocks that end with a line."""
    low = 0
    while low < len(data):
        high = len(data) if low + size >= len(data) else data.find(b"\n", low + size) + 1
        high = high or len(data)
        yield data[low:high]
        low = high


def _split_block(block: bytes, columns: Sequence[str | None], types: dict[str, Any]) -> _Block:
    text = _collapsed(_with_valid_text(block))
    ends = np.flatnonzero(text == _NEWLINE)
    begins = np.concatenate(([0], ends[:-1] + 1))
    fields = np.add.reduceat((text == _SPACE).view(np.uint8), begins, dtype=np.int64) + 1
    data_line = (ends > begins) & (text[begins] != _HASH)
    fits = data_line & (fields == len(columns))
    broken = np.flatnonzero(data_line & ~fits)
    kept = text if fits.all() else text[np.repeat(fits, ends - begins + 1)]
    reasons = [
        (line, _reason(bytes(text[begins[line] : ends[line]][:200]), fields[line], len(columns)))
        for line in map(int, broken[:MALFORMED_KEPT])
    ]
    frame = _parsed(kept.tobytes(), columns, types)
    return _Block(frame, len(ends), np.flatnonzero(fits), broken, reasons)


def _parsed(text: bytes, columns: Sequence[str | None], types: dict[str, Any]) -> pl.DataFrame:
    if not text:
        return pl.DataFrame(schema=types)
    schema = {role or f"_{place}": pl.String for place, role in enumerate(columns)}
    return (
        _scan(text, schema, b" ")
        .select(pl.col(role).cast(dtype, strict=False) for role, dtype in types.items())
        .collect()
    )


_NOT_UTF8 = b"\xef\xbf\xbd"


def _reason(line: bytes, found: int, expected: int) -> str:
    if line == _NOT_UTF8:
        return "bytes that are not UTF-8"
    start = line[:60].decode("utf-8", "replace")
    return f"expected {expected} columns, found {found} in {shown(start)}"


def _with_valid_text(block: bytes) -> bytes:
    """Return the block as it is if it is UTF-8; else with each bad line replaced by one mark."""
    if block.isascii() or _is_utf8(block):
        return block
    return b"\n".join(line if _is_utf8(line) else _NOT_UTF8 for line in block.split(b"\n"))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _collapsed(block: bytes) -> Bytes:
    """Return the block with single spaces between columns, none at the ends of lines."""
    if not block.endswith(b"\n"):
        block += b"\n"
    text = np.frombuffer(block.translate(_TO_SPACE), np.uint8)
    keep: Mask = text != _SPACE  # of a row of spaces only the last, and none before a newline
    keep[:-1] |= (text[1:] != _SPACE) & (text[1:] != _NEWLINE)
    text = text[keep]
    keep = text != _SPACE  # none after a newline
    keep[1:] |= text[:-1] != _NEWLINE
    return text[keep]
