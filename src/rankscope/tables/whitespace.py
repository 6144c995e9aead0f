"""Tables separated by white space: TREC runs and qrels, and their headerless cousins.

A file is read in blocks of lines. Each block is made clean, one space between columns and nothing
else, and parsed by Polars; so mixed and repeated white space, CRLF, comments, blank lines, a
byte-order mark and broken lines are all the same, and the line of every row is known. Large runs
take a faster way, `rankscope.tables.native_files`, and come here only for what that refuses.

White space is what it is to C in the plain locale (space, tab, vertical tab, form feed, carriage
return); other characters, however they look, belong to the ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankscope.errors import shown
from rankscope.tables.detection import shielded
from rankscope.tables.native_files import in_threads
from rankscope.tables.rows import Malformed, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankscope.tables.columns import PairLayout

MALFORMED_SHOWN = 3
_BLOCK = 1 << 23  # bytes that are split at a time
_NEWLINE, _SPACE, _HASH = 10, 32, 35
_TO_SPACE = bytes.maketrans(b"\t\v\f\r", b"    ")
_NOT_UTF8 = "\ufffd".encode()


def read_columns(
    stream: BinaryIO,
    columns: Sequence[str | None],
    roles: Sequence[str],
    *,
    source: str,
    layout: PairLayout,
) -> Rows:
    """Read the ``columns`` of these roles as text; lines of another width are reported."""
    names = {role or f"_{place}": pl.String for place, role in enumerate(columns)}
    frames = [pl.DataFrame(schema=dict.fromkeys(roles, pl.String))]
    row_lines = [np.empty(0, np.int64)]
    malformed: list[Malformed] = []
    broken, first_line = 0, 1

    def split(block: bytes) -> tuple[pl.DataFrame, NDArray[np.int64], list[Malformed], int, int]:
        text = _clean(block)  # bytes; the arrays below have an item per line
        ends = np.flatnonzero(text == _NEWLINE)
        begins = np.concatenate(([0], ends[:-1] + 1))
        width = np.add.reduceat(text == _SPACE, begins, dtype=np.int64) + 1
        is_data = (ends > begins) & (text[begins] != _HASH)
        fits = is_data & (width == len(columns))
        fitting = text if fits.all() else text[np.repeat(fits, ends - begins + 1)]
        scan = pl.scan_csv(
            shielded(fitting.tobytes()), schema=names, separator=" ", has_header=False,
            quote_char=None, glob=False, credential_provider=None,
        )  # fmt: skip
        wrong, reasons = np.flatnonzero(is_data & ~fits), []
        for line in wrong[:MALFORMED_SHOWN].tolist():
            start = bytes(text[begins[line] : ends[line]][:200])
            beginning = shown(start.decode("utf-8", "replace"))
            reason = f"expected {len(columns)} columns, found {width[line]} in {beginning}"
            reason = "bytes that are not UTF-8" if start == _NOT_UTF8 else reason
            reasons.append(Malformed(line, reason))
        frame = scan.select(roles).collect() if fits.any() else frames[0]
        return frame, np.flatnonzero(fits), reasons, len(wrong), len(ends)

    for frame, lines, reasons, wrong, count in in_threads(split, _blocks(stream)):
        frames.append(frame)
        row_lines.append(first_line + lines)
        malformed += [Malformed(first_line + line, reason) for line, reason in reasons]
        broken += wrong
        first_line += count
    numbers = np.concatenate(row_lines)
    return Rows(
        frame=pl.concat(frames, how="vertical"),
        source=source,
        layout=layout,
        line_of=lambda row: int(numbers[row]),
        malformed=tuple(malformed[:MALFORMED_SHOWN]),
        malformed_count=broken,
    )


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of whole lines."""
    while block := stream.read(_BLOCK):
        yield block if block.endswith(b"\n") else block + stream.readline()


def _clean(block: bytes) -> NDArray[np.uint8]:
    """Return lines with single spaces between columns and none at their ends.

    A line that is not UTF-8 becomes one mark.
    """
    if not block.isascii() and not _is_utf8(block):
        lines = block.split(b"\n")
        block = b"\n".join(line if _is_utf8(line) else _NOT_UTF8 for line in lines)
    block = block if block.endswith(b"\n") else block + b"\n"
    text = np.frombuffer(block.translate(_TO_SPACE), np.uint8)
    space = text == _SPACE
    edge = space | (text == _NEWLINE)
    if not edge[0] and not (edge[:-1] & edge[1:]).any():
        return text  # as most programs write it
    needless = np.append(space[:-1] & edge[1:], False)  # all but the last, and before a line's end
    text = text[~needless]
    begins = np.concatenate(([0], np.flatnonzero(text[:-1] == _NEWLINE) + 1))
    return np.delete(text, begins[text[begins] == _SPACE])


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
