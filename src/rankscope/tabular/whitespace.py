"""Tables separated by white space: TREC runs and qrels, and their headerless cousins.

Two ways to the same table. `read_clean` is for the usual file, one space (or one tab) between
columns and nothing else: once `shape_of` has proved from the bytes that the file is of that shape,
Polars parses only the columns that are needed. `read_exact` is for everything else: mixed and
repeated white space, CRLF, comments, blank lines, a byte-order mark, broken lines. It goes through
the file in blocks of lines, makes each one clean, and knows the line of every row.

White space is what it is to C in the plain locale (space, tab, vertical tab, form feed, carriage
return); other characters, however they look, belong to the ids.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import polars as pl

from rankscope.errors import shown
from rankscope.tabular.rows import Malformed, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.tabular.columns import Layout

    Bytes = NDArray[np.uint8]

__all__ = ["BOM", "Shape", "read_clean", "read_exact", "shape_of"]

BOM = b"\xef\xbb\xbf"
MALFORMED_KEPT = 3
_TAB, _NEWLINE, _SPACE, _HASH = 9, 10, 32, 35
_AFTER_LAST = 0x80  # no blank
_BLOCK = 1 << 18  # fits a core's own cache
_LINES = 1 << 23  # bytes that are split at a time
_TO_SPACE = bytes.maketrans(b"\t\v\f\r", b"    ")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the bytes of a file say about its lines."""

    lines: int
    spaces: int
    tabs: int  # 0 where there are spaces, too: such a file is not clean anyway
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
    spaces = int(np.count_nonzero(block == _SPACE))
    return Shape(
        lines=int(np.count_nonzero(block == _NEWLINE)),
        spaces=spaces,
        tabs=0 if spaces else int(np.count_nonzero(block == _TAB)),
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

    if size > 32 * _BLOCK:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        workers = min(os.cpu_count() or 1, 4)
        edges = [size * part // workers for part in range(workers + 1)]
        with ThreadPoolExecutor(workers) as pool:
            shape = _merged(list(pool.map(look, edges, edges[1:])))
    else:
        shape = look(0, size)
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
    stream: BinaryIO,
    columns: Sequence[str | None],
    types: dict[str, Any],
    *,
    source: str,
    layout: Layout,
) -> Rows:
    """Split a table by white space, whatever its state; lines that do not fit are reported.

    A value that is not of its type becomes null.
    """
    frames = [pl.DataFrame(schema=types)]
    lines = _LineNumbers()
    malformed: list[Malformed] = []
    broken = 0
    for number, block in enumerate(_line_blocks(stream)):
        part = _split_block(block if number else block.removeprefix(BOM), columns, types)
        first_line = lines.add(part)
        frames.append(part.frame)
        broken += part.broken
        malformed += [Malformed(first_line + line, why) for line, why in part.reasons]
    return Rows(
        frame=pl.concat(frames, how="vertical"),
        source=source,
        layout=layout,
        line_of=lines,
        malformed=tuple(malformed[:MALFORMED_KEPT]),
        malformed_count=broken,
        ids_complete=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """A block of lines, split; lines are counted from 0 within it."""

    frame: pl.DataFrame
    lines: int
    kept: NDArray[np.int64] | None = None  # the lines that became rows; None: all of them
    broken: int = 0
    reasons: list[tuple[int, str]] = field(default_factory=list)


class _LineNumbers:
    """From row to line, over blocks."""

    def __init__(self) -> None:
        self._first_rows: list[int] = []
        self._blocks: list[tuple[int, NDArray[np.int64] | None]] = []
        self._rows = 0
        self._lines = 0

    def add(self, block: _Block) -> int:
        """Take the next block; return the number of its first line."""
        first = self._lines + 1
        self._first_rows.append(self._rows)
        self._blocks.append((first, block.kept))
        self._rows += block.frame.height
        self._lines += block.lines
        return first

    def __call__(self, row: int) -> int:
        at = bisect_right(self._first_rows, row) - 1
        first, kept = self._blocks[at]
        within = row - self._first_rows[at]
        return first + (within if kept is None else int(kept[within]))


def _line_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Read a stream in blocks that end with a line."""
    while block := stream.read(_LINES):
        yield block if block.endswith(b"\n") else block + stream.readline()


def _split_block(block: bytes, columns: Sequence[str | None], types: dict[str, Any]) -> _Block:
    text = _collapsed(_with_valid_text(block))
    ends = np.flatnonzero(text == _NEWLINE)
    begins = np.concatenate(([0], ends[:-1] + 1))
    data_line = (ends > begins) & (text[begins] != _HASH)
    spaces = np.flatnonzero(text == _SPACE)
    fields = np.searchsorted(spaces, ends) - np.searchsorted(spaces, begins) + 1
    fits = data_line & (fields == len(columns))
    if fits.all():
        return _Block(_parsed(text.tobytes(), columns, types), len(ends))
    broken = np.flatnonzero(data_line & ~fits)
    reasons = [
        (line, _reason(bytes(text[begins[line] : ends[line]][:200]), fields[line], len(columns)))
        for line in map(int, broken[:MALFORMED_KEPT])
    ]
    kept = text[np.repeat(fits, ends - begins + 1)]
    frame = _parsed(kept.tobytes(), columns, types)
    return _Block(frame, len(ends), np.flatnonzero(fits), len(broken), reasons)


def _parsed(text: bytes, columns: Sequence[str | None], types: dict[str, Any]) -> pl.DataFrame:
    """Parse clean text; a value that is not of its type becomes null."""
    if not text:
        return pl.DataFrame(schema=types)
    frame = read_clean(text, b" ", columns, types)
    if frame is not None:
        return frame
    schema = {role or f"_{place}": pl.String for place, role in enumerate(columns)}
    return (
        _scan(text, schema, b" ")
        .select(pl.col(role).cast(dtype, strict=False) for role, dtype in types.items())
        .collect()
    )


_NOT_UTF8 = "\ufffd".encode()


def _reason(line: bytes, found: int, expected: int) -> str:
    if line == _NOT_UTF8:
        return "bytes that are not UTF-8"
    start = line.decode("utf-8", "replace")
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
    space = text == _SPACE
    needless = np.zeros_like(space)  # all but the last of a row of spaces, and before a line's end
    np.logical_and(space[:-1], (space | (text == _NEWLINE))[1:], out=needless[:-1])
    text = text[~needless]
    begins = np.concatenate(([0], np.flatnonzero(text[:-1] == _NEWLINE) + 1))
    leading = begins[text[begins] == _SPACE]
    return np.delete(text, leading) if leading.size else text
