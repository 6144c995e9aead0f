"""The native scan: a small C library that reads TREC files, if it was built and can be loaded.

`library` is None where it was not built (no compiler), where it cannot be loaded, and where the
variable ``RANKSCOPE_NATIVE`` is 0; all that uses it then takes another way to the same result. What
it refuses to read goes the same other way, which says what is wrong in its own words. Its sources
are in ``native``.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABI = 7
LIBRARY_PATH = Path(__file__).with_name("_scan.library")


class Result(ctypes.Structure):
    """What a scan returns; the fields are those of ``result`` in the source."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("status", "rows", "stretches", "hits", "query_size")),
        *((name, ctypes.c_int64) for name in ("deepest", "doc_size", "alike", "skipped")),
        *((name, ctypes.c_void_p) for name in ("query_text", "query_ends", "sizes")),
        *((name, ctypes.c_void_p) for name in ("first_score", "last_score", "flags", "hit_rows")),
        *((name, ctypes.c_void_p) for name in ("tied_across", "doc_text", "doc_ends")),
        *((name, ctypes.c_void_p) for name in ("numbers", "ranks")),
    ]

    def bytes_at(self, name: str, size: int) -> bytes:
        """Return a copy of so many bytes of an array."""
        place = getattr(self, name)
        return ctypes.string_at(place, size) if size else b""

    def array(self, name: str, kind: Any, count: int) -> Any:
        """Return a copy of so many values of an array."""
        return np.frombuffer(self.bytes_at(name, count * np.dtype(kind).itemsize), kind)

    def query_ids(self) -> list[str]:
        """Return the query of each stretch."""
        ends = self.array("query_ends", np.int64, self.stretches + 1 if self.stretches else 0)
        return texts_in(self.bytes_at("query_text", self.query_size), ends)


def library() -> Any:
    """Return the library, or None; what is switched off is off from then on."""
    return _loaded() if os.environ.get("RANKSCOPE_NATIVE", "1") != "0" else None


@cache
def _loaded() -> Any:
    """Load the library once; return it, or None if it is not there, or of another version."""
    try:
        loaded = ctypes.CDLL(str(LIBRARY_PATH))
        loaded.rs_abi.restype = ctypes.c_int32
        if loaded.rs_abi() != _ABI or not hasattr(os, "preadv"):
            return None
    except (OSError, AttributeError):
        return None
    size, word = ctypes.c_int64, ctypes.c_uint64
    place = ctypes.c_void_p
    for name, result, arguments in (
        ("rs_judged_new", place, (size, place, place, place, place, place, word)),
        ("rs_judged_free", None, (place,)),
        ("rs_scan", ctypes.POINTER(Result), (place, place, size, ctypes.c_int32, ctypes.c_int32)),
        ("rs_pairs", ctypes.POINTER(Result), (place, size, word)),
        ("rs_rows", ctypes.POINTER(Result), (place, size, word, ctypes.c_int32)),
        ("rs_free", None, (place,)),
        ("rs_cut", size, (place, size, size)),
    ):
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    return loaded


def address_of(data: Any) -> int:
    """Return where the bytes of a buffer are: bytes, or an array of NumPy."""
    if isinstance(data, bytes):
        return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
    return int(data.__array_interface__["data"][0])


def texts_in(data: bytes, ends: Any) -> list[str]:
    """Return the texts that are one after the other in UTF-8; text i begins at ``ends[i]``."""
    edges = pairwise(ends.tolist())
    if data.isascii():
        text = data.decode()
        return [text[low:high] for low, high in edges]
    # dicts may hold half a character, which no file does
    return [data[low:high].decode("utf-8", "surrogatepass") for low, high in edges]


def taken(pointer: Any) -> Iterator[Result]:
    """Yield what a scan returned, unless it refused, and free it."""
    if not pointer:
        return
    try:
        if not pointer.contents.status:
            yield pointer.contents
    finally:
        _loaded().rs_free(pointer)
