"""Rows in the binary format of COPY: vectors are sent as they are, and nothing is parsed.

https://www.postgresql.org/docs/current/sql-copy.html describes the format; pgvector's types are two
16-bit numbers, the first of which is their length, and their floats.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""What comes before the first row."""

TRAILER = b"\xff\xff"
"""What comes after the last row."""

_TEXT_TYPE = 25  # the number that text has in every PostgreSQL
_NULL = b"\xff\xff\xff\xff"


def number(value: int) -> bytes:
    """Return a bigint."""
    return struct.pack("!q", value)


def text(value: str) -> bytes:
    """Return a text."""
    return value.encode()


def texts(values: Sequence[str]) -> bytes:
    """Return an array of texts."""
    head = struct.pack("!iii", 1 if values else 0, 0, _TEXT_TYPE)
    if not values:
        return head
    return head + struct.pack("!ii", len(values), 1) + b"".join(_sized(text(v)) for v in values)


def vector(values: Any, *, half: bool) -> bytes:
    """Return a vector of pgvector, or a halfvec."""
    floats: bytes = values.astype(">f2" if half else ">f4").tobytes()
    return struct.pack("!hh", len(values), 0) + floats


def row(fields: Sequence[bytes | None]) -> bytes:
    """Return a row; a field that is None is null."""
    parts = [_NULL if field is None else _sized(field) for field in fields]
    return struct.pack("!h", len(fields)) + b"".join(parts)


def _sized(data: bytes) -> bytes:
    return struct.pack("!i", len(data)) + data
