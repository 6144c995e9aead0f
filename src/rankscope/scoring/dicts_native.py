"""Alignment of plain dicts by the native library: the same as `align_dicts` finds.

The library walks the dicts with Python's own functions, under the interpreter's lock. It takes real
dicts with text as ids and plain numbers as scores, and refuses anything else.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.scoring.align import Hits
from rankscope.scoring.soundness import Lists
from rankscope.tables.native import address_of, library, library_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.runs.order import Precision, Ties
    from rankscope.scoring.judgments import Judgments

_HIT = np.dtype(
    [(name, np.int64) for name in ("row", "pair", "rank", "above", "tied", "by_id", "as_given")]
)
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
        ("numbers", ctypes.c_void_p * 3),
        ("float_at", ctypes.c_int64),
    ]


@cache
def _walker() -> tuple[Any, _Python] | None:
    """Return the function that walks dicts, and what it calls; None where that is not safe."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    loaded = ctypes.PyDLL(str(library_path()))  # which keeps the lock
    kinds: list[type] = [float, int, np.float64]
    loaded.rs_knows_types.restype = ctypes.c_int32
    loaded.rs_knows_types.argtypes = (ctypes.py_object, ctypes.c_void_p)
    samples: tuple[Any, ...] = (1.5, 10**9, np.float64(2.5), {}, "text")
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
    numbers = (ctypes.c_void_p * 3)(*map(id, kinds))
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


def native_hits(
    judgments: Judgments,
    run: Mapping[str, Mapping[str, float]],
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits | None:
    """Find the judged documents of a run and their ranks; None if the library refuses."""
    walker = None if library() is None else _walker()
    if walker is None:
        return None
    walk, calls = walker
    listed = judgments.lists
    answers = list(map(run.get, judgments.query_ids))
    queries = [number for number, documents in enumerate(answers) if documents]
    judged = listed.documents
    if len(queries) < len(answers):
        judged = [judged[number] for number in queries]
        answers = [answers[number] for number in queries]
    numbers = np.array(queries, np.int64)
    sizes = np.array(list(map(len, answers)), np.int64)  # type: ignore[arg-type]
    starts, ends = listed.offsets[numbers], listed.offsets[numbers + 1]
    hits = np.empty(int((ends - starts).sum()), _HIT)
    wanted = np.array(cutoffs, np.int64)
    tied_at = np.zeros(len(cutoffs), np.int64)
    flags = np.empty(len(queries), np.uint8)
    alike = ctypes.c_int32()
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
        *map(address_of, (tied_at, flags)),
        alike,
        address_of(hits),
    )
    if count < 0:
        return None
    hits = hits[:count]
    pair = hits["pair"]
    retrieved = np.zeros(len(judgments.query_ids), np.int64)
    retrieved[numbers] = sizes
    several = sizes > 1
    rises, falls = (flags & _RISES) != 0, (flags & _FALLS) != 0
    return Hits(
        query=numbers[hits["row"]],
        rank=hits["rank"].copy(),
        grade=listed.grades[pair],
        tie_first=hits["above"] + 1,
        tie_size=hits["tied"].copy(),
        doc_ids=lambda: _doc_ids(listed.documents, pair.tolist()),
        retrieved=retrieved,
        tied_at=dict(zip(cutoffs, tied_at.tolist(), strict=True)),
        are_alike=bool(alike.value),
        lists=Lists(
            int(np.count_nonzero(several)),
            int(np.count_nonzero(rises)),
            int(np.count_nonzero(rises & ~falls)),
            int(np.count_nonzero(several & ~rises & ~falls)),
        ),
    )


def _doc_ids(documents: list[Any], pairs: list[int]) -> list[str]:
    """Return the documents of some pairs, which are counted through."""
    listed = [doc_id for each in documents for doc_id in each]
    return [listed[pair] for pair in pairs]
