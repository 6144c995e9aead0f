"""Frozen: stages that learn from the bundled training questions, over lexical systems alone.

Asked through `run_benchmark`: a reranker by LambdaMART (XGBoost, one thread) and a fusion with
trained weights; means of nDCG@10, RR@10 and R@100, and for a dozen queries the ids of the first
ten documents, with the scores where they are those of a fusion. Another version of XGBoost may
grow other trees.

Oracle: none for the trees. Features, folds and that no judgment reaches its own question:
`tests/retrieval/test_ltr.py`, `test_training.py`, `test_trained_fuse.py`.
"""

from __future__ import annotations

from typing import Any

from frozen.benchmarks import FIELDS, answers, means, need
from frozen.fusions import first_ten

SYSTEMS: dict[str, Any] = {
    "title": {"bm25": {"fields": ["title"]}},
    "words": {"bm25": {"fields": FIELDS}},
    "reranked": {
        "rerank": {"of": "words", "depth": 20, "ltr": {"fields": FIELDS, "trees": 40}},
    },
    "mixed": {"fuse": {"of": ["title", "words"], "method": "minmax", "weights": "train"}},
}
QUERIES = 12


def numbers() -> Any:
    """Ask both stages."""
    need("bm25s", "Stemmer", "xgboost")
    runs = answers(SYSTEMS)
    found: dict[str, Any] = {}
    for name in ("reranked", "mixed"):
        lists = first_ten(runs[name], sorted(runs[name])[:QUERIES])
        if name == "reranked":
            lists = {query_id: [pair[0] for pair in pairs] for query_id, pairs in lists.items()}
        found[name] = {"means": means(runs[name]), "first ten": lists}
    return found
