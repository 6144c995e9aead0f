"""Bytes that the native scan accepts as text are those that Python decodes; cuts are at queries."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from reliability.native_files import NOT_UTF8, world

from rankscope.tables.native import address_of, library, taken

pytestmark = pytest.mark.skipif(library() is None, reason="there is no native scan")


def is_accepted(data: bytes) -> bool:
    return any(True for _ in taken(library().rs_pairs(address_of(data), len(data), 7)))


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


ROW = b"q 0 d 1\n"
EDGES = (0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)


def test_sequences_of_one_and_two_bytes() -> None:
    seconds = (*EDGES, 0xC2, 0xE0, 0xED, 0xF4)
    pairs = [bytes(pair) for pair in (*product(range(256)), *product(range(256), seconds))]
    for ending in (b"\n", b"A\n", b""):
        differing = [
            pair
            for pair in pairs
            if pair[:1] != b"\n"
            and is_accepted(ROW + b"#" + pair + ending) != is_text(pair + ending)
        ]
        assert differing == []


def test_sequences_of_three_and_four_bytes() -> None:
    leads = (0x41, 0x80, *range(0xC0, 0x100))
    sequences = [bytes(parts) for parts in product(leads, EDGES, EDGES)]
    sequences += [bytes(parts) for parts in product(range(0xEE, 0xF8), EDGES, EDGES, EDGES)]
    differing = [
        part for part in sequences if is_accepted(b"#" + part + b"\n" + ROW) != is_text(part)
    ]
    assert differing == []


def test_where_the_bad_bytes_are_makes_no_difference() -> None:
    for size in (0, 1, 7, 31, 32, 33, 63, 64, 65, 1000, 65535, 65536, 70000):
        for bad in NOT_UTF8:
            assert not is_accepted(b"#" + b"a" * size + bad + b"\n" + ROW)
        for good in ("é", "日", "😀"):
            assert is_accepted(b"#" + b"a" * size + good.encode() + b"\n" + ROW)


# --- cuts ----------------------------------------------------------------------------------------

BLANK = b" \t\v\f\r"


def cut(data: bytes, begin: int) -> int:
    """The twin of ``rs_cut``: where a new query begins after the line that `begin` is in."""
    at = data.find(b"\n", begin) + 1 if begin else 0
    if begin and not at:
        return -1
    before = None
    while (end := data.find(b"\n", at)) >= 0:
        columns = re.findall(rb"[^ \t\v\f\r]+", data[at:end])
        if columns and not columns[0].startswith(b"#"):
            if before is not None and columns[0] != before:
                return at
            before = columns[0]
        at = end + 1
    return -1


def native_cut(data: bytes, begin: int) -> int:
    return int(library().rs_cut(address_of(data), len(data), begin))


def test_cuts_are_where_a_query_begins() -> None:
    source = random.Random(5)
    pieces = [b"a", b"b", b"a b", b"#", b" ", b"\t", b"\r", b"\v", b"\n", b"\n", b"\n", b"\xc3\xa9"]
    for _ in range(5_000):
        data = b"".join(source.choices(pieces, k=source.randint(0, 14)))
        for begin in {0, min(1, len(data)), source.randint(0, len(data))}:
            assert native_cut(data, begin) == cut(data, begin), (data, begin)


def test_cuts_of_whole_files() -> None:
    for number in range(30):
        for file in world(9, number, 2).runs:
            for begin in range(0, min(len(file.data), 400), 7):
                assert native_cut(file.data, begin) == cut(file.data, begin)
