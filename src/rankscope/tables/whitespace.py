"""Tables separated by white space: TREC runs and qrels, and their headerless cousins.

Two ways to the same table. `read_clean` is for the usual file, one space (or one tab) between
columns and nothing else: Polars parses only the columns that are needed, while `shape_of` proves
from the bytes that the file is of that shape. `read_exact` is for everything else: mixed and
repeated white space, CRLF, comments, blank lines, a byte-order mark, broken lines. It goes through
the file in blocks of lines, makes each one clean, and knows the line of every row.

White space is what it is to C in the plain locale (space, tab, vertical tab, form feed, carriage
return); other characters, however they look, belong to the ids.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
import polars as pl

from rankscope.errors import shown
from rankscope.tables.detection import BOM, shielded
from rankscope.tables.rows import Malformed, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.tables.columns import PairLayout

    Bytes = NDArray[np.uint8]

S = TypeVar("S")
T = TypeVar("T")


MALFORMED_SHOWN = 3
_TAB, _NEWLINE, _SPACE, _HASH = 9, 10, 32, 35
_BLOCK = 1 << 18  # fits a core's own cache
_LINES = 1 << 23  # bytes that are split at a time
_IN_NUMBERS = "-+.0-9aefintyAEFINTY"  # nan, infinity, 1e3
_NOT_IN_NUMBERS = re.compile(rf"[^{_IN_NUMBERS}][{_IN_NUMBERS}]*$")
_LONGEST_END = 64
_TO_SPACE = bytes.maketrans(b"\t\v\f\r", b"    ")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the bytes of a file say about its lines."""

    lines: int  # those that end as expected
    spaces: int
    tabs: int  # 0 if there are spaces, too: such a file is not clean anyway
    odd: int  # bytes up to and including the space, and all that are not ASCII
    adjacent: bool  # two odd bytes side by side: repeated separators, blank lines, CRLF

    def is_clean(self, columns: int) -> bytes | None:
        """Return the separator of a file with so many columns per line on average, if there is one.

        Then no column is empty, all lines end as expected, and there is neither other white space
        nor anything but ASCII: those would be odd bytes that are no separators and no line ends.
        """
        if self.adjacent or not self.lines:
            return None
        separators = (columns - 1) * self.lines
        if self.odd != separators + self.lines:
            return None
        if self.spaces == separators and not self.tabs:
            return b" "
        if self.tabs == separators and not self.spaces:
            return b"\t"
        return None


def _shape_of_block(block: Bytes, low: int, high: int, ending: bytes) -> Shape:
    """Look at ``block[low:high]``; the bytes around it only tell what is beside its ends."""
    part = block[low:high]
    odd = block[low : high + 1].view(np.int8) <= _SPACE  # what is not ASCII is negative here
    spaces = int(np.count_nonzero(part == _SPACE))
    newline = part == _NEWLINE
    for back, byte in enumerate(reversed(ending), start=1):
        newline[max(back - low, 0) :] &= block[max(low - back, 0) : high - back] == byte
    return Shape(
        lines=int(np.count_nonzero(newline)),
        spaces=spaces,
        tabs=0 if spaces else int(np.count_nonzero(part == _TAB)),
        odd=int(np.count_nonzero(odd[: high - low])),
        adjacent=bool((odd[1:] & odd[:-1]).any()),
    )


def _merged(parts: Sequence[Shape]) -> Shape:
    spaces = sum(part.spaces for part in parts)
    return Shape(
        lines=sum(part.lines for part in parts),
        spaces=spaces,
        tabs=0 if spaces else sum(part.tabs for part in parts),
        odd=sum(part.odd for part in parts),
        adjacent=any(part.adjacent for part in parts),
    )


def shape_of(source: str | bytes, ending: bytes = b"") -> Shape:
    """Look once at each byte of a file (by name) or of bytes in memory, on all cores.

    ``ending`` is what lines are expected to end with.
    """
    if isinstance(source, bytes):
        data = np.frombuffer(source, np.uint8)
        return _shape_in_threads(lambda low, high, _: data[low:high], len(data), ending)
    with open(source, "rb", buffering=0) as handle:
        in_turn = Lock()

        def read(low: int, high: int, buffer: Bytes) -> Bytes:
            part = buffer[: high - low]
            if hasattr(os, "preadv"):
                return part[: os.preadv(handle.fileno(), [part.data], low)]
            with in_turn:  # Windows: threads share one position in the file
                handle.seek(low)
                return part[: handle.readinto(part.data)]

        return _shape_in_threads(read, os.fstat(handle.fileno()).st_size, ending)


def _shape_in_threads(read: Callable[[int, int, Bytes], Bytes], size: int, ending: bytes) -> Shape:
    if not size:
        return Shape(0, 0, 0, 0, adjacent=False)

    def look(low: int, high: int) -> Shape:
        buffer = np.empty(len(ending) + _BLOCK + 1, np.uint8)
        parts: list[Shape] = []
        for begin in range(low, high, _BLOCK):
            end = min(begin + _BLOCK, high)
            before = min(begin, len(ending))
            block = read(begin - before, min(end + 1, size), buffer)
            parts.append(_shape_of_block(block, before, before + end - begin, ending))
            if parts[-1].adjacent:  # not clean, whatever the rest says
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
    reach = min(size, len(ending) + 1)
    last = bytes(read(size - reach, size, np.empty(reach, np.uint8)))
    if last.endswith(b"\n"):
        return shape
    ended = int(last.endswith(ending))  # as if a newline followed
    return _merged([shape, Shape(ended, 0, 0, 1, adjacent=last[-1] <= _SPACE)])


def telling_end(tag: str, separator: bytes) -> bytes:
    """Return how a line ends whose last column is this tag and no number; empty if it may be one.

    That is the tag from its last character that no number can hold, else all of it; of a tag that
    is very long only the end is looked at, as every block of the file is compared with it. A line
    with this end and a number for its score, the column before the tag, has at least as many
    columns as it should.
    """
    if not tag or not tag.isascii():
        return b""
    end = _NOT_IN_NUMBERS.search(tag[-_LONGEST_END:])
    if end:
        return end.group().encode()
    if len(tag) > _LONGEST_END:
        return b""
    try:
        float(tag)
    except ValueError:
        return separator + tag.encode()
    return b""


def read_clean(
    source: str | bytes,
    columns: Sequence[str | None],
    types: dict[str, Any],
    *,
    tag: str = "",
) -> pl.DataFrame | None:
    """Parse a file of clean shape; None if it is not, or a value is not of its type.

    Only the columns named in ``types`` are parsed. The shape says how many columns lines have on
    average; so if none has fewer, none has more. That none has fewer follows from the last column:
    it is parsed, or all lines end with the ``tag``, which is no number, or it is checked for null.
    """
    last = columns[-1] or "_last"
    first_lines = _first_lines(source)
    separator = shape_of(first_lines).is_clean(len(columns))
    if separator is None or first_lines.startswith(BOM * 2):  # the second one is content
        return None
    ending = b"" if last in types or "score" not in types else telling_end(tag, separator)
    schema = {
        role or ("_last" if place == len(columns) - 1 else f"_{place}"): types.get(
            role or "", pl.String
        )
        for place, role in enumerate(columns)
    }
    checked = [] if last in types or ending else [pl.col(last).is_null().alias("_short")]
    scan = _scan(source, schema, separator).select(*types, *checked)
    shape, frame = _both(lambda: shape_of(source, ending), lambda: _collected(scan), source)
    if frame is None or shape.is_clean(len(columns)) != separator:
        return None
    if any(column.null_count() for column in frame[list(types)]):
        return None
    if checked and frame["_short"].any():
        return None
    return frame.select(*types)


def _both(first: Callable[[], S], second: Callable[[], T], source: str | bytes) -> tuple[S, T]:
    """Do two things, at once if the source is large: neither keeps all cores busy alone."""
    size = len(source) if isinstance(source, bytes) else os.path.getsize(source)
    if size <= 32 * _BLOCK:
        return first(), second()
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(first)
        result = second()
        return pending.result(), result


def _first_lines(source: str | bytes) -> bytes:
    """Return whole lines from the beginning, or everything if there is no whole line."""
    if isinstance(source, bytes):
        head = source[:_BLOCK]
    else:
        with open(source, "rb") as stream:
            head = stream.read(_BLOCK)
    return head[: head.rfind(b"\n") + 1] or head


def _collected(scan: pl.LazyFrame) -> pl.DataFrame | None:
    """Parse; None if a value is not of its type."""
    try:
        return scan.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


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
    layout: PairLayout,
) -> Rows:
    """Split any table by white space; lines that do not fit are reported.

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
        malformed=tuple(malformed[:MALFORMED_SHOWN]),
        malformed_count=broken,
        ids_complete=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """A block of lines, split; lines are counted from 0 within it."""

    frame: pl.DataFrame
    lines: int
    row_lines: NDArray[np.int64] | None = None  # the lines that became rows; None: all of them
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
        self._blocks.append((first, block.row_lines))
        self._rows += block.frame.height
        self._lines += block.lines
        return first

    def __call__(self, row: int) -> int:
        at = bisect_right(self._first_rows, row) - 1
        first, row_lines = self._blocks[at]
        within = row - self._first_rows[at]
        return first + (within if row_lines is None else int(row_lines[within]))


def _line_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Read a stream in blocks that end with a line."""
    while block := stream.read(_LINES):
        yield block if block.endswith(b"\n") else block + stream.readline()


def _split_block(block: bytes, columns: Sequence[str | None], types: dict[str, Any]) -> _Block:
    text = _collapsed(_with_valid_text(block))  # bytes; the arrays below have one item per line
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
        for line in map(int, broken[:MALFORMED_SHOWN])
    ]
    fitting = text[np.repeat(fits, ends - begins + 1)]
    frame = _parsed(fitting.tobytes(), columns, types)
    return _Block(frame, len(ends), np.flatnonzero(fits), len(broken), reasons)


def _parsed(text: bytes, columns: Sequence[str | None], types: dict[str, Any]) -> pl.DataFrame:
    """Parse clean text; a value that is not of its type becomes null."""
    if not text:
        return pl.DataFrame(schema=types)
    text = shielded(text)
    frame = read_clean(text, columns, types)
    if frame is not None:
        return frame
    schema = {role or f"_{place}": pl.String for place, role in enumerate(columns)}
    return (
        _scan(text, schema, b" ")
        .select(pl.col(role).cast(dtype, strict=False) for role, dtype in types.items())
        .collect()
    )


_NOT_UTF8 = "\ufffd".encode()


def _reason(line: bytes, width: int, expected: int) -> str:
    if line == _NOT_UTF8:
        return "bytes that are not UTF-8"
    start = line.decode("utf-8", "replace")
    return f"expected {expected} columns, found {width} in {shown(start)}"


def _with_valid_text(block: bytes) -> bytes:
    """Return the block if it is UTF-8; else with each bad line replaced by one mark."""
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
    needless = np.zeros_like(space)  # all but the last of adjacent spaces, and before a line's end
    np.logical_and(space[:-1], (space | (text == _NEWLINE))[1:], out=needless[:-1])
    text = text[~needless]
    begins = np.concatenate(([0], np.flatnonzero(text[:-1] == _NEWLINE) + 1))
    leading = begins[text[begins] == _SPACE]
    return np.delete(text, leading) if leading.size else text
