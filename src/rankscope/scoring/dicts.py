"""Plain dicts, ``{query_id: {doc_id: number}}``, scored as they are: judged documents and ranks.

The native library walks the dicts with Python's own functions, under the interpreter's lock. It
takes real dicts with text as ids and plain numbers as scores; anything else is made a table, which
makes ids text and says what is no finite number.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.scoring.scans import Hits
from rankscope.tables import native
from rankscope.tables.native import address_of, library

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.measures.judged import FloatArray
    from rankscope.runs.order import Precision, Ties
    from rankscope.scoring.judgments import Judgments

    Documents = Mapping[str, float]
    ByQuery = Mapping[str, Documents]

_FEW = 16
"""Documents that a query has on average."""


def holds_numbers(data: Mapping[Any, Any]) -> bool:
    """Tell ``{query: {doc: number}}`` from other mappings, by the first document."""
    for documents in data.values():
        if not isinstance(documents, Mapping):
            return False
        for number in documents.values():
            return hasattr(number, "__float__") and not isinstance(number, bool)
    return True


def is_plain(data: Mapping[Any, Any]) -> bool:
    """Tell whether data is ``{text: {text: number}}`` and can be used without being copied.

    One key and one value of each query are looked at, not all.
    """
    for query_id, documents in data.items():
        if type(documents) is not dict and not isinstance(documents, Mapping):
            return False
        if type(query_id) is not str and not isinstance(query_id, str):
            return False
        for doc_id in documents:
            number = documents[doc_id]
            if type(number) is not float and isinstance(number, Mapping):
                return False
            if type(doc_id) is not str and not isinstance(doc_id, str):
                return False
            break
    return True


def numbers_of(documents: Iterable[Documents]) -> FloatArray | None:
    """Return the numbers of queries one after the other; None if one is none, or not finite.

    Packing takes numbers only (NumPy would read text too), and is quickest query by query, unless
    queries have few documents.
    """
    parts: list[Any] = [each.values() for each in documents]
    if sum(map(len, parts)) <= _FEW * len(parts):
        parts = [list(chain.from_iterable(parts))]
    try:
        packed = [struct.pack(f"{len(part)}d", *part) for part in parts]
    except (struct.error, TypeError, ValueError, ArithmeticError):
        return None
    numbers = np.frombuffer(b"".join(packed))
    return numbers if np.isfinite(numbers).all() else None


# --- judged documents and their ranks ------------------------------------------------------------

_HIT = np.dtype([(name, np.int64) for name in ("query", "pair", "rank", "above", "tied")])
_RISES, _FALLS = 1, 2
_FLOAT_AT = object.__basicsize__  # where a float has its value, in all versions so far
_FLOATS = (1.5, -2.25e300, 5e-324, 123456.789)  # which show whether it has
_TIES = {"trec": 0, "id-asc": 1, "given": 2}


class _Python(ctypes.Structure):
    """What the library calls, and the types it takes; the fields are those of its source."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("list_item", "dict_next", "dict_get", "as_double")),
        *((name, ctypes.c_void_p) for name in ("hash", "compare", "error", "clear")),
        *((name, ctypes.c_void_p) for name in ("dict", "text")),
        ("numbers", ctypes.c_void_p * 4),
        ("float_at", ctypes.c_int64),
    ]


@cache
def _walker() -> tuple[Any, _Python] | None:
    """Return the function that walks dicts, and what it calls; None where that is not safe."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    loaded = ctypes.PyDLL(str(native.LIBRARY_PATH))  # which keeps the lock
    kinds: list[type] = [float, int, np.float64, np.float32]
    loaded.rs_knows_types.restype = ctypes.c_int32
    loaded.rs_knows_types.argtypes = (ctypes.py_object, ctypes.c_void_p)
    samples: tuple[Any, ...] = (1.5, 10**9, np.float64(2.5), np.float32(2.5), {}, "text")
    if not all(loaded.rs_knows_types(sample, id(type(sample))) for sample in samples):
        return None
    names = (
        *("PyList_GetItem", "PyDict_Next", "PyDict_GetItemWithError", "PyFloat_AsDouble"),
        *("PyObject_Hash", "PyUnicode_Compare", "PyErr_Occurred", "PyErr_Clear"),
    )
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in names]
    loaded.rs_knows_floats.restype = ctypes.c_int32
    loaded.rs_knows_floats.argtypes = (ctypes.py_object, ctypes.c_double, ctypes.c_int64)
    is_usual = all(loaded.rs_knows_floats(value, value, _FLOAT_AT) for value in _FLOATS)
    numbers = (ctypes.c_void_p * len(kinds))(*map(id, kinds))
    calls = _Python(*functions, id(dict), id(str), numbers, _FLOAT_AT if is_usual else 0)
    walk = loaded.rs_dicts
    walk.restype = size = ctypes.c_int64
    place, object_ = ctypes.c_void_p, ctypes.py_object
    walk.argtypes = (
        *(ctypes.POINTER(_Python), object_, object_, size, place, place, place),
        *(ctypes.c_int32, ctypes.c_int32, place, size, place, place),
        *(ctypes.POINTER(ctypes.c_int32), place),
    )
    return walk, calls


def found_in_dicts(
    judgments: Judgments,
    run: ByQuery,
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits | None:
    """Find the judged documents of a run and their ranks; None if a table must be made of it."""
    walker = None if library() is None else _walker()
    if walker is None:
        return None
    walk, calls = walker
    answers: Any = list(map(run.get, judgments.query_ids))
    answered = [number for number, documents in enumerate(answers) if documents]
    judged = list(judgments.by_query.values())
    if len(answered) < len(answers):
        judged = [judged[number] for number in answered]
        answers = [answers[number] for number in answered]
    queries = np.array(answered, np.int64)
    sizes = np.array(list(map(len, answers)), np.int64)
    starts, ends = judgments.offsets[queries], judgments.offsets[queries + 1]
    hits = np.empty(int((ends - starts).sum()), _HIT)
    wanted, tied_at = np.array(cutoffs, np.int64), np.zeros(len(cutoffs), np.int64)
    flags_of_answers = np.empty(len(queries), np.uint8)
    count = walk(
        calls,
        answers,
        judged,
        len(queries),
        *map(address_of, (sizes, starts, ends)),
        precision == "single",
        _TIES[ties],
        address_of(wanted),
        len(cutoffs),
        *map(address_of, (tied_at, flags_of_answers)),
        ctypes.c_int32(),  # whether all queries have the same documents
        address_of(hits),
    )
    if count < 0:
        return None
    hits = hits[:count]
    pair = hits["pair"].copy()
    retrieved = np.zeros(len(judgments.query_ids), np.int64)
    retrieved[queries] = sizes
    flags = np.zeros(len(retrieved), np.uint8)
    flags[queries] = flags_of_answers
    return Hits(
        query=queries[hits["query"]],
        pair=pair,
        rank=hits["rank"].copy(),
        grade=judgments.grade[pair],
        tie_first=hits["above"] + 1,
        tie_size=hits["tied"].copy(),
        retrieved=retrieved,
        tied_at=dict(zip(cutoffs, tied_at.tolist(), strict=True)),
        rises=(flags & _RISES) != 0,
        falls=(flags & _FALLS) != 0,
    )
