"""How many questions fail, by cause.

Of three systems over the bundled recipes with their corpus, once with every sixth query's
documents renamed, so that the corpus lacks them; of a hostile world with a cutoff of 2 and of 10;
and of copies under another id.

Checked by hand (the tests of the analysis plant each cause; `test_oracles_diagnosis` counts what
is not among the first ten, below it, or nowhere).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import (
    HOSTILE_QRELS,
    HOSTILE_RUNS,
    ask,
    recipe_corpus,
    recipe_qrels,
    recipe_queries,
    some_runs,
)

COPIES = {
    "gold": {"title": "Soup", "text": "Boil the leeks for ten minutes in salted water."},
    "copy": {"title": "Soup", "text": "Boil the leeks for ten minutes in salted water."},
    "other": {"title": "Bread", "text": "Knead the dough and let it rest."},
}
COPIED_QRELS = {"copy on top": {"gold": 1}, "right": {"gold": 1}, "absent": {"nowhere": 1}}
COPIED_RUN = {
    "copy on top": ["copy", "other"],
    "right": ["gold", "copy"],
    "absent": ["other", "copy"],
}


def numbers() -> Any:
    recipes = {
        "corpus": recipe_corpus(),
        "queries": recipe_queries(),
        "configs": {"failures": {"show": 200}},
    }
    renamed = recipe_qrels().to_dict()
    for query_id in list(renamed)[::6]:
        renamed[query_id] = {f"was {doc_id}": grade for doc_id, grade in renamed[query_id].items()}
    return {
        "recipes": _failures(ask("failures", recipe_qrels(), some_runs(), **recipes)),
        "recipes, first 3": _failures(
            ask("failures", recipe_qrels(), some_runs(), "RR(rel=3)@3", **recipes)
        ),
        "recipes, renamed documents": _failures(
            ask("failures", renamed, some_runs("lexical"), **recipes)
        ),
        "hostile": _failures(ask("failures", HOSTILE_QRELS, HOSTILE_RUNS)),
        "hostile, first 2": _failures(ask("failures", HOSTILE_QRELS, HOSTILE_RUNS, "nDCG@2")),
        "copies": _failures(
            ask("failures", COPIED_QRELS, {"s": COPIED_RUN}, "RR@2", corpus=COPIES)
        ),
    }


def _failures(answer: Any) -> Any:
    return {
        row.system: {
            "failing": row.failing,
            "causes": {each.cause: each.queries for each in row.causes},
            "value, relevant documents, best rank": {
                query.query_id: [query.value, query.relevant, query.best_ranks[row.system]]
                for query in sorted(row.worst, key=lambda query: query.query_id)
            },
        }
        for row in answer.systems
    }
