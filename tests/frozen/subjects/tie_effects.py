"""What the order of documents with equal scores decides.

Lowest and highest mean over all orders, ties across cutoffs, tied documents and different scores:
of the bundled recipes with scores rounded to whole numbers, of a hostile world, and of a tie
planted in three queries.

Bounds are checked by trying all orders of the hostile world, counts in plain Python
(`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import (
    DATA,
    HOSTILE_QRELS,
    HOSTILE_RUNS,
    ask,
    recipe_qrels,
)

PLANTED_QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 2, "b": 1, "c": 0}}
PLANTED_RUN = {
    "q1": {"a": 1.0, "b": 1.0, "c": 1.0},
    "q2": {"a": 3.0, "b": 2.0, "c": 1.0},
    "q3": {"c": 2.0, "a": 2.0, "b": 1.0, "d": 1.0},
}


def numbers() -> Any:
    rounded = {
        name: {
            query_id: {doc_id: float(round(score * scale)) for doc_id, score in found.items()}
            for query_id, found in rs.read_run(DATA / "runs" / f"{name}.run.gz").to_dict().items()
        }
        for name, scale in (("lexical", 1), ("hybrid", 10))
    }
    measures = ["nDCG@10", "P@1", "RR@10"]
    return {
        "recipes, rounded": {
            measure: _ties(ask("ties", recipe_qrels(), rounded, [measure, "P@1", "R@20"]))
            for measure in ("nDCG@10", "RR@10", "AP@20")
        },
        "hostile": {
            measure: _ties(ask("ties", HOSTILE_QRELS, HOSTILE_RUNS, [measure, "P@1", "P@3"]))
            for measure in ("nDCG@3", "RR", "P@2")
        },
        "planted": {
            measure: _ties(ask("ties", PLANTED_QRELS, {"s": PLANTED_RUN}, [measure, "R@3"]))
            for measure in measures
        },
    }


def _ties(answer: Any) -> Any:
    return {
        "systems": {
            row.system: {
                "value": row.value,
                "bounds": [row.lowest, row.highest],
                "queries with a tie across rank": {
                    each.cutoff: each.queries for each in row.cutoffs
                },
                "documents": row.documents,
                "tied documents": row.tied_documents,
                "different scores": row.distinct_scores,
                "length": row.answer_size,
                "all scores equal": row.constant_answers,
            }
            for row in answer.systems
        },
        "order hangs on ties": {
            f"{row.better} to {row.worse}": [row.difference, row.reversed]
            for row in answer.reversals
        },
    }
