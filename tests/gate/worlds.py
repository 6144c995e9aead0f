"""Records made by hand: what a score file would hold for these values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Values = Mapping[str, Sequence[float]]


def record(
    values: Values,
    *,
    query_ids: Sequence[str] | None = None,
    run: str = "bm25",
    profile: str = "rankscope",
    qrels: str = "a" * 64,
) -> dict[str, Any]:
    """Return a record with these values by measure."""
    count = len(next(iter(values.values())))
    names = query_ids or [f"q{number:04}" for number in range(count)]
    by_query = {
        name: {measure: float(column[place]) for measure, column in values.items()}
        for place, name in enumerate(names)
    }
    return {
        "schema": "rankscope/scores/1",
        "profile": profile,
        "rules": {"ties": "trec", "precision": "double", "queries": "all", "no_relevant": "zero"},
        "qrels": {"sha256": qrels, "queries": count},
        "measures": {measure: measure for measure in values},
        "runs": {
            run: {
                "means": {measure: float(np.mean(column)) for measure, column in values.items()},
                "accounting": {
                    "queries": count,
                    "judged": count,
                    "missing": 0,
                    "missing_queries": [],
                    "missing_policy": "all",
                    "unjudged": 0,
                    "without_relevant": 0,
                    "without_relevant_policy": "zero",
                    "tied_hits": 0,
                    "tied_across_cutoff": {},
                },
                "per_query": by_query,
            }
        },
    }


def world(
    count: int, *, drop: float, sd: float = 0.1, seed: int = 0, measure: str = "nDCG@10"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a baseline and a candidate that is worse by ``drop`` on average, plus noise."""
    random = np.random.default_rng(seed)
    baseline = random.uniform(0.3, 0.7, count)
    candidate = baseline - drop + random.normal(0, sd, count)
    return record({measure: baseline.tolist()}), record({measure: candidate.tolist()})
