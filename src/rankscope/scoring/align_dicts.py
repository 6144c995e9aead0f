"""Alignment of plain dicts, as they are: by the native library, or query by query in NumPy.

The library walks the dicts with Python's own functions, under the interpreter's lock. It takes real
dicts with text as ids and plain numbers as scores, and refuses anything else.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.runs import order
from rankscope.scoring.hits import Hits, lists_of
from rankscope.scoring.plain import numbers_of, text_id, text_ids
from rankscope.tables.native import address_of, library, library_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.measures.judged import IntArray
    from rankscope.runs.order import Precision, Ties
    from rankscope.scoring.judgments import Judgments

    Documents = Mapping[str, float]

_COLUMNS = ("query", "pair", "rank", "above", "tied")
_HIT = np.dtype([(name, np.int64) for name in _COLUMNS])
_RISES, _FALLS = 1, 2
_FLOAT_AT = object.__basicsize__  # where a float has its value, in all versions so far
_FLOATS = (1.5, -2.25e300, 5e-324, 123456.789)  # which show whether it has
_TIES = {"trec": 0, "id-asc": 1, "given": 2}


def hits_in_dicts(
    judgments: Judgments,
    run: Mapping[str, Documents],
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits:
    """Find the judged documents of a run and their ranks."""
    quick = native_hits(judgments, run, ties, precision, cutoffs)
    return quick or plain_hits(judgments, run, ties, precision, cutoffs)


def _hits(  # noqa: PLR0917
    judgments: Judgments,
    queries: IntArray,
    sizes: IntArray,
    flags: Any,
    hits: Any,
    tied_at: dict[int, int],
) -> Hits:
    """Make hits of records, which name queries by their place in ``queries``."""
    listed = judgments.lists
    pair = hits["pair"]
    retrieved = np.zeros(len(judgments.query_ids), np.int64)
    retrieved[queries] = sizes
    return Hits(
        query=queries[hits["query"]],
        rank=hits["rank"].copy(),
        grade=listed.grades[pair],
        tie_first=hits["above"] + 1,
        tie_size=hits["tied"].copy(),
        doc_ids=lambda: listed.doc_ids(pair.tolist()),
        retrieved=retrieved,
        tied_at=tied_at,
        lists=lists_of(sizes, (flags & _RISES) != 0, (flags & _FALLS) != 0),
    )


# --- in Python -----------------------------------------------------------------------------------


def plain_hits(
    judgments: Judgments,
    run: Mapping[str, Documents],
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits:
    """Find them query by query, whatever mappings, ids and numbers there are."""
    listed, query_ids = judgments.lists, judgments.query_ids
    queries = [number for number, query_id in enumerate(query_ids) if run.get(query_id)]
    sizes, flags = [], []
    parts = [np.empty((len(_COLUMNS), 0), np.int64)]
    tied_at = dict.fromkeys(cutoffs, 0)
    for place, number in enumerate(queries):
        documents = _text_ids(judgments, query_ids[number], run[query_ids[number]])
        size = len(documents)
        numbers = numbers_of([documents], size, (query_ids[number],), "score")
        scores = order.compared(numbers, precision)
        rises, falls = (scores[1:] > scores[:-1]).any(), (scores[1:] < scores[:-1]).any()
        sizes.append(size)
        flags.append(_RISES * rises + _FALLS * falls)
        rising = np.sort(scores)
        for cutoff in cutoffs:
            tied_at[cutoff] += size > cutoff and rising[-cutoff] == rising[-cutoff - 1]
        judged = listed.documents[number]
        retrieved = [(pair, doc_id) for pair, doc_id in enumerate(judged) if doc_id in documents]
        mine = np.array([float(documents[doc_id]) for _, doc_id in retrieved])
        mine = order.compared(mine, precision)
        above = size - np.searchsorted(rising, mine, side="right")
        tied = size - above - np.searchsorted(rising, mine)
        ahead: dict[str, int] = {}  # of those that are tied
        listing = list(documents) if (tied > 1).any() else []
        for score in np.unique(mine[tied > 1]):
            level = [text_id(listing[at]) for at in np.flatnonzero(scores == score).tolist()]
            order.sort_ids(level, ties)
            ahead |= {doc_id: count for count, doc_id in enumerate(level)}
        rank = above + 1 + np.array([ahead.get(doc_id, 0) for _, doc_id in retrieved], np.int64)
        pair = listed.offsets[number] + np.array([pair for pair, _ in retrieved], np.int64)
        columns = np.full(len(retrieved), place), pair, rank, above, tied
        parts.append(np.stack(columns)[:, np.argsort(rank)])
    return _hits(
        judgments,
        np.array(queries, np.int64),
        np.array(sizes, np.int64),
        np.array(flags, np.uint8),
        np.concatenate(parts, axis=1).T.copy().view(_HIT)[:, 0],
        {cutoff: int(count) for cutoff, count in tied_at.items()},
    )


def _text_ids(judgments: Judgments, query_id: str, documents: Documents) -> Documents:
    """Return documents with every id as text, if one could be meant by a judgment."""
    numeric = judgments.numeric_ids.get(query_id)
    if numeric is None or documents.keys().isdisjoint(numeric):
        return documents
    return text_ids(documents, query_id)


# --- by the library ------------------------------------------------------------------------------


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
    loaded = ctypes.PyDLL(str(library_path()))  # which keeps the lock
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


def native_hits(
    judgments: Judgments,
    run: Mapping[str, Documents],
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
    answers: Any = list(map(run.get, judgments.query_ids))
    queries = [number for number, documents in enumerate(answers) if documents]
    judged = listed.documents
    if len(queries) < len(answers):
        judged = [judged[number] for number in queries]
        answers = [answers[number] for number in queries]
    numbers = np.array(queries, np.int64)
    sizes = np.array(list(map(len, answers)), np.int64)
    starts, ends = listed.offsets[numbers], listed.offsets[numbers + 1]
    hits = np.empty(int((ends - starts).sum()), _HIT)
    wanted, tied_at = np.array(cutoffs, np.int64), np.zeros(len(cutoffs), np.int64)
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
    at_cutoffs = dict(zip(cutoffs, tied_at.tolist(), strict=True))
    return _hits(judgments, numbers, sizes, flags, hits[:count], at_cutoffs)
