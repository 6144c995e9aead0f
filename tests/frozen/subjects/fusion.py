"""Fusion of runs: whole lists with scores, where they are hard to fuse, and of the bundled runs.

Oracle: ranx and ten-line twins (slow/test_fusion_ranx.py, runs/test_fusion_twins.py).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.paired_worlds import bundled
from frozen.subjects import subject

NORMALISATIONS = ["minmax", "zscore", "rank", "sum", "max"]
COMBINATIONS = ["combsum", "combmnz", "combanz", "combmax", "combmin", "combmed"]

METHODS: dict[str, dict[str, Any]] = {
    "rrf": {"method": "rrf"},
    "rrf, k 10": {"method": "rrf", "k": 10},
    "linear, minmax": {"method": "minmax"},
    "linear, zscore": {"method": "zscore"},
    **{
        f"linear, {rule}": {"method": "combsum", "normalise": rule}
        for rule in ("rank", "sum", "max")
    },
    **{name: {"method": name} for name in COMBINATIONS},
    "isr": {"method": "isr"},
    "logisr": {"method": "logisr"},
    "logisr, sigma 0.01": {"method": "lognisr", "sigma": 0.01},
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


WEIGHTED = ["rrf", "linear, minmax", "linear, zscore", "combsum", "isr", "rbc", "borda"]
WEIGHTS = [0.7, 0.3]
QUERIES = 12


@subject
def fusion_methods() -> Any:
    """Each method on the two bundled runs, also weighted and learnt from judgments (probfuse)."""
    qrels, both = pair()
    methods = dict(METHODS)
    for name in WEIGHTED:
        methods[f"{name}, weights 0.7 0.3"] = {**METHODS[name], "weights": WEIGHTS}
    for segments in (5, 25):
        learnt = {"method": "probfuse", "qrels": qrels, "segments": segments}
        methods[f"probfuse, {segments} segments"] = learnt
    return _fused(methods, sorted(both["lexical"])[:QUERIES])


def _fused(methods: dict[str, dict[str, Any]], query_ids: list[str]) -> dict[str, Any]:
    qrels, both = pair()
    runs = {name: rs.fuse(both, **options) for name, options in methods.items()}
    return {
        name: {"nDCG@10": mean(qrels, run), "first ten": first_ten(run, query_ids)}
        for name, run in runs.items()
    }


def pair() -> tuple[Any, Any]:
    """Return the judgments and the two bundled runs."""
    qrels, runs = bundled()
    return qrels, {name: runs[name] for name in ("lexical", "hybrid")}


@subject
def fusion_normalised() -> Any:
    """Each combination of scores with each normalisation, on the bundled runs."""
    _, both = pair()
    return _fused(NORMALISED, sorted(both["lexical"])[QUERIES : 2 * QUERIES])


@subject
def fusion_hostile() -> Any:
    """Each method and normalisation on two, and on three, small runs that are hard to fuse."""
    learnt = {"method": "probfuse", "qrels": QRELS, "segments": 2}
    methods = {**METHODS, **NORMALISED, "probfuse, 2 segments": learnt}
    return {
        name: {"two runs": _lists(PAIR, **options), "three runs": _lists(THREE, **options)}
        for name, options in methods.items()
    }


def _lists(runs: Any, **options: Any) -> dict[str, Any]:
    run = rs.fuse(runs, **options)
    changed = set(THREE["third"]) if len(runs) == 3 else set(run.query_ids)
    return first_ten(run, sorted(changed))


TRAINED: dict[str, dict[str, Any]] = {
    "minmax": {"method": "minmax"},
    "minmax, steps of 0.05": {"method": "minmax", "step": 0.05},
    "zscore, seed 7": {"method": "zscore", "seed": 7},
    "rrf, 3 folds": {"method": "rrf", "folds": 3},
    "combsum, sum": {"method": "combsum", "normalise": "sum"},
}


@subject
def fusion_weights() -> Any:
    """Weights learnt from the bundled judgments, and their cross-validated value.

    Oracle: each pair of weights tried by `fuse` (`test_oracles`); folds: scoring/test_weights.py.
    """
    qrels, both = turned_pair()
    _, runs = bundled()
    found = {name: _trained(qrels, both, **options) for name, options in TRAINED.items()}
    three = {**both, "first three": runs["first three"]}
    found["three runs, AP"] = _trained(qrels, three, measure="AP", step=0.25)
    return found


def turned_pair() -> tuple[Any, Any]:
    """Return the judgments and two runs, the better of which turns every third list round."""
    qrels, runs = bundled()
    turned = {
        query_id: {doc_id: -score if at % 3 == 0 else score for doc_id, score in run.items()}
        for at, (query_id, run) in enumerate(sorted(runs["hybrid"].items()))
    }
    return qrels, {"lexical": runs["lexical"], "turned": turned}


def _trained(qrels: Any, runs: Any, *, measure: str = "nDCG@10", **options: Any) -> dict[str, Any]:
    trained = rs.train_weights(qrels, runs, measure, **options)
    return {
        "weights": list(trained.weights.values()),
        "held out": trained.value,
        "trained on": trained.trained_value,
        "folds": [
            [len(fold.query_ids), *fold.weights.values(), fold.value, fold.trained_value]
            for fold in trained.folds
        ],
        "run of held-out queries": mean(qrels, trained.held_out(runs), measure),
    }
