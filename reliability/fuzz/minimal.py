"""What failed, made small: parts of the input are left out as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable


def minimal(data: bytes, fails: Callable[[bytes], bool], *, tries: int = 400) -> bytes:
    """Return a small part of data that still fails; it fails itself.

    Halves are tried first, then quarters, down to single bytes (delta debugging), and bytes that
    are left become ``a`` where that changes nothing.
    """
    size = max(1, len(data) // 2)
    while True:
        begin = 0
        smaller = False
        while begin < len(data) and tries > 0:
            shorter = data[:begin] + data[begin + size :]
            tries -= 1
            if fails(shorter):
                data, smaller = shorter, True
            else:
                begin += size
        if tries <= 0:
            return data
        if size == 1 and not smaller:
            break
        size = max(1, min(size // 2, len(data) // 2)) if not smaller or size > len(data) else size
    for place in range(len(data)):
        plainer = data[:place] + b"a" + data[place + 1 :]
        tries -= 1
        if tries > 0 and plainer != data and fails(plainer):
            data = plainer
    return data
