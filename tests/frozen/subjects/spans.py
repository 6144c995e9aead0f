"""Measures of spans, and ranking measures where gold is spans or passages.

Oracle: sets of characters (scoring/test_spans.py).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs

MEASURES = [
    *("SpanRecall", "SpanPrecision@2", "SpanIoU", "SpanRecall@1", "R@3", "P@3", "RR", "AP"),
    *("nDCG@3", "Success@2", "Q", "ERR@5", "RBP"),
]


def _piece(document: str, start: int, end: int) -> dict[str, Any]:
    return {"doc": document, "start": start, "end": end}


GOLD: list[dict[str, Any]] = [
    {"question": "one", "spans": [_piece("a", 0, 10), _piece("b", 5, 30)]},
    {"question": "two", "spans": [_piece("a", 8, 20), _piece("a", 15, 40)]},
    {"question": "three", "spans": [_piece("c", 0, 5)]},
]
RETRIEVED = [
    {"question": "one", "chunks": [_piece("b", 0, 12), _piece("a", 4, 20), _piece("b", 12, 40)]},
    {"question": "two", "chunks": [_piece("a", 30, 50), _piece("a", 0, 31), _piece("c", 0, 5)]},
    {"question": "three", "chunks": [_piece("c", 4, 9)]},
]


def numbers() -> dict[str, Any]:
    found = {}
    for overlap in (0.1, 0.5, 1.0):
        scores = rs.evaluate(GOLD, RETRIEVED, MEASURES, overlap=overlap)
        found[f"overlap {overlap}"] = {
            measure: [scores.values(measure)[q["question"]] for q in GOLD] for measure in MEASURES
        }
    return found
