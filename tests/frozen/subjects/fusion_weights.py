"""Frozen: weights of fusions learnt from the bundled judgments, and their cross-validated value.

Asked through `train_weights`: the weights, the mean over held-out queries, the mean over the
queries they were learnt from, and both for each fold; the mean of the run of held-out queries.

Oracle: `tests/frozen/test_oracles.py` tries each pair of weights by `fuse` and `evaluate` for all
queries; folds and leakage: `tests/scoring/test_weights.py`.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.fusions import mean
from frozen.paired_worlds import bundled

TRAINED: dict[str, dict[str, Any]] = {
    "minmax": {"method": "minmax"},
    "minmax, steps of 0.05": {"method": "minmax", "step": 0.05},
    "zscore, seed 7": {"method": "zscore", "seed": 7},
    "rrf, 3 folds": {"method": "rrf", "folds": 3},
    "combsum, sum": {"method": "combsum", "normalise": "sum"},
    "minmax, by coordinate": {"method": "minmax", "search": "coordinate"},
}


def numbers() -> Any:
    """Train each fusion."""
    qrels, both = pair()
    _, runs = bundled()
    found = {name: _trained(qrels, both, **options) for name, options in TRAINED.items()}
    three = {**both, "first three": runs["first three"]}
    found["three runs, AP"] = _trained(qrels, three, measure="AP", step=0.25)
    return found


def pair() -> tuple[Any, Any]:
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
