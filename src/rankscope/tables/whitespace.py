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
from rankscope.tables.rows import Malformed, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    frames = [pl.DataFrame(schema=dict.fromkeys(roles, pl.String))]
    row_lines = [np.empty(0, np.int64)]
    malformed: list[Malformed] = []
    broken, first_line = 0, 1
    while block := stream.read(_BLOCK):
        if not block.endswith(b"\n"):
            block += stream.readline()
        text = _collapsed(_with_valid_text(block))  # bytes; the arrays below have an item per line
        ends = np.flatnonzero(text == _NEWLINE)
        begins = np.concatenate(([0], ends[:-1] + 1))
        spaces = np.flatnonzero(text == _SPACE)
        width = np.searchsorted(spaces, ends) - np.searchsorted(spaces, begins) + 1
        is_data = (ends > begins) & (text[begins] != _HASH)
        fits = is_data & (width == len(columns))
        fitting = text if fits.all() else text[np.repeat(fits, ends - begins + 1)]
        frames.append(_parsed(fitting.tobytes(), columns, roles))
        row_lines.append(first_line + np.flatnonzero(fits))
        wrong = np.flatnonzero(is_data & ~fits)
        for line in wrong[: MALFORMED_SHOWN - len(malformed)].tolist():
            start = bytes(text[begins[line] : ends[line]][:200])
            reason = _reason(start, int(width[line]), len(columns))
            malformed.append(Malformed(first_line + line, reason))
        broken += len(wrong)
        first_line += len(ends)
    lines = np.concatenate(row_lines)
    return Rows(
        frame=pl.concat(frames, how="vertical"),
        source=source,
        layout=layout,
        line_of=lambda row: int(lines[row]),
        malformed=tuple(malformed),
        malformed_count=broken,
    )


def _parsed(text: bytes, columns: Sequence[str | None], roles: Sequence[str]) -> pl.DataFrame:
    """Parse lines of the right width with single spaces between columns."""
    if not text:
        return pl.DataFrame(schema=dict.fromkeys(roles, pl.String))
    names = {role or f"_{place}": pl.String for place, role in enumerate(columns)}
    scan = pl.scan_csv(
        shielded(text),
        schema=names,
        separator=" ",
        has_header=False,
        quote_char=None,
        glob=False,
        credential_provider=None,
    )
    return scan.select(roles).collect()


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


def _collapsed(block: bytes) -> NDArray[np.uint8]:
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
