"""Inputs of fusion: which methods with which options, and lists that are hard to fuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rankscope as rs

NORMALISATIONS = ["minmax", "zscore", "rank", "sum", "max"]
COMBINATIONS = ["combsum", "combmnz", "combanz", "combmax", "combmin", "combmed"]

METHODS: dict[str, dict[str, Any]] = {
    "rrf": {"method": "rrf"},
    "rrf, k 10": {"method": "rrf", "k": 10},
    **{f"linear, {name}": {"method": name} for name in NORMALISATIONS},
    **{name: {"method": name} for name in COMBINATIONS},
    "isr": {"method": "isr"},
    "logisr": {"method": "logisr"},
    "logisr, sigma 0.01": {"method": "logisr", "sigma": 0.01},
    "rbc": {"method": "rbc"},
    "rbc, p 0.7": {"method": "rbc", "p": 0.7},
    "borda": {"method": "borda"},
    "condorcet": {"method": "condorcet"},
}
"""Each method that needs no judgments, scores taken as they are given."""

NORMALISED: dict[str, dict[str, Any]] = {
    f"{method}, {normalisation}": {"method": method, "normalise": normalisation}
    for method in COMBINATIONS
    for normalisation in NORMALISATIONS
}
"""Each combination of scores with each normalisation."""

Lists = dict[str, dict[str, float]]

PAIR: dict[str, Lists] = {
    "first": {
        "all tied": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0},
        "disjoint": {"a": 3.0, "b": 2.0},
        "negative": {"a": -1.0, "b": -2.0, "c": -5.0},
        "mixed signs": {"a": 2.0, "b": 0.0, "c": -2.0},
        "one run": {"a": 2.0, "b": 1.0, "c": 0.5},
        "single": {"a": 0.9},
        "zero": {"a": 0.0, "b": 0.0},
        "unequal": {"a": 9.0, "b": 8.5, "c": 8.0, "d": 2.0, "e": 1.0, "f": 0.5},
        "nearly tied": {"a": 0.3, "b": 0.1 + 0.2, "c": 0.2},
    },
    "second": {
        "all tied": {"b": 7.0, "c": 7.0, "e": 7.0},
        "disjoint": {"x": 30.0, "y": 20.0, "z": 20.0},
        "negative": {"c": -0.5, "d": -0.25, "a": -3.0},
        "mixed signs": {"c": 1.0, "a": -1.0, "z": -1.0},
        "single": {"b": 3.0, "a": 2.0, "c": 1.0},
        "zero": {"b": 0.0, "a": 1.0},
        "unequal": {"f": 100.0},
        "nearly tied": {"b": 0.3, "a": 0.1 + 0.2, "d": 0.2},
        "the other run": {"é": 1.0, "z": 1.0, "Z": 1.0},
    },
}
"""Two runs: ties, no document in common, negative scores, queries that only one of them has."""

THIRD: Lists = {
    "all tied": {"d": 2.0, "a": 2.0},
    "negative": {"b": 4.0, "c": 3.0, "e": -1.0},
    "unequal": {"c": 3.0, "f": 2.0, "a": 1.0},
    "cycle": {"c": 3.0, "a": 2.0, "b": 1.0},
}

THREE: dict[str, Lists] = {
    "first": {**PAIR["first"], "cycle": {"a": 3.0, "b": 2.0, "c": 1.0}},
    "second": {**PAIR["second"], "cycle": {"b": 3.0, "c": 2.0, "a": 1.0}},
    "third": THIRD,
}
"""Three runs, which on one query prefer each document to another in a cycle."""

QRELS = {
    "all tied": {"b": 1},
    "negative": {"c": 1, "d": 2},
    "unequal": {"f": 1, "a": 1},
    "single": {"a": 1},
}


def first_ten(run: Any, query_ids: list[str]) -> dict[str, list[Any]]:
    """Return the first ten documents of some queries, each with its score."""
    return {
        query_id: [[doc_id, score] for doc_id, score in list(run[query_id].items())[:10]]
        for query_id in query_ids
    }


def mean(qrels: Any, run: Any, measure: str = "nDCG@10") -> float:
    """Return the mean of a run."""
    return float(rs.evaluate(qrels, run, [measure])[measure])


def fused(runs: Mapping[str, Lists], **options: Any) -> Any:
    """Fuse runs that are given by name."""
    return rs.fuse(runs, **options)
