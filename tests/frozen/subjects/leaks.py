"""Questions whose words are in the corpus, or that something was trained on.

Planted quotes of relevant and of other documents, questions that are documents, exact and near
training questions; of the bundled recipes every third question is asked in words of its best
document, and every fourth was trained on. Counts, shares, and means on those that leak and others.

Counts are planted and means checked in plain Python (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, recipe_corpus, recipe_qrels, recipe_queries, some_runs

QUERIES = {
    "q1": "How long do  LEEKS boil?",
    "q2": "a pinch of salt, then",
    "q3": "is this a whole document?",
    "q4": "leeks boil",
    "q5": "how to bake bread without any flour at home today",
}
CORPUS = {
    "a": {"title": "Soup", "text": "Ask yourself how long do leeks boil; then add salt."},
    "b": {"title": "Salt", "text": "With a pinch of salt then stir."},
    "c": {"title": "", "text": "Is this a whole document"},
}
TRAINING = {
    "t1": "Leeks boil!",
    "t2": "how to bake bread without any flour at home tomorrow",
    "t3": "something else",
}


def leaking() -> tuple[dict[str, str], dict[str, str]]:
    """Return questions of the recipes, some in a document's words, and training questions."""
    queries, corpus, qrels = recipe_queries(), recipe_corpus(), recipe_qrels().to_dict()
    asked, trained = {}, {}
    for place, (query_id, judged) in enumerate(qrels.items()):
        asked[query_id] = queries[query_id]
        if place % 3 == 0:
            best = min(judged, key=lambda doc_id, judged=judged: (-judged[doc_id], doc_id))  # type: ignore[misc]
            asked[query_id] = " ".join(corpus[best].text.split()[:8])
        if place % 4 == 0:
            trained[f"t {query_id}"] = asked[query_id].upper()
    return asked, trained


def numbers() -> Any:
    planted = ask(
        "leaks",
        {query_id: {"a": 1} for query_id in QUERIES},
        {"s": {query_id: ["a", "b", "c"] for query_id in QUERIES}},
        "RR@2",
        queries=QUERIES,
        corpus=CORPUS,
        training=TRAINING,
    )
    asked, trained = leaking()
    recipes = ask(
        "leaks",
        recipe_qrels(),
        some_runs(),
        queries=asked,
        corpus=recipe_corpus(),
        training=trained,
    )
    return {"planted": _leaks(planted), "recipes": _leaks(recipes)}


def _leaks(answer: Any) -> Any:
    return {
        "questions": answer.queries,
        "too short": answer.short,
        "kinds": {
            kind.kind: {
                "questions": kind.queries,
                "share": kind.share,
                "means": {row.system: [row.leaked, row.others] for row in kind.means},
                "p": {row.system: row.p_corrected for row in kind.means},
            }
            for kind in answer.kinds
        },
        "found themselves": answer.own_documents,
    }
