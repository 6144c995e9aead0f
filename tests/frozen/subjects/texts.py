"""What the texts say: copies in a corpus, and questions that leak."""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, recipe_corpus, recipe_qrels, recipe_queries, some_runs
from frozen.subjects import subject

WORDS = [f"word{number}" for number in range(100)]


def text_with(*changes: int) -> str:
    """Return a text of 100 words, some of them changed."""
    return " ".join(f"other{at}" if at in changes else word for at, word in enumerate(WORDS))


COPIED = {
    "a": {"title": "Soup", "text": text_with()},
    "exact": {"title": "SOUP ", "text": text_with().upper()},
    "near": {"title": "Soup", "text": text_with(50)},
    "apart": {"title": "Soup", "text": text_with(30, 70)},
    "b": {"title": "", "text": " ".join(reversed(WORDS))},
    "b copy": {"title": "", "text": " ".join(reversed(WORDS))},
    "empty": {"title": "", "text": ""},
    "empty too": {"title": "", "text": ""},
    **{f"f{n}": {"title": f"t{n}", "text": " ".join(WORDS[n::7])} for n in range(7)},
}
COPIED_QRELS = {"q1": {"a": 2, "near": 0}, "q2": {"b": 1, "f1": 0}, "q3": {"f2": 1, "exact": 1}}
COPIED_RUNS = {
    "wasteful": {
        "q1": ["near", "exact", "a", "f1"],
        "q2": ["b copy", "b", "f1"],
        "q3": ["f2", "a", "exact"],
    },
    "plain": {"q1": ["a", "f1"], "q2": ["f1", "b"], "q3": ["f3", "f2", "f4"]},
}


@subject
def duplicates() -> Any:
    """Planted exact and near copies; recipes of which every tenth is repeated under another id.

    Oracle: all pairs of shingle sets (`test_oracles_diagnosis`).
    """
    corpus = {
        doc_id: {"title": recipe_corpus()[doc_id].title, "text": recipe_corpus()[doc_id].text}
        for doc_id in recipe_corpus().ids
    }
    repeated = dict.fromkeys(list(corpus)[::10])
    corpus |= {f"{doc_id} again": corpus[doc_id] for doc_id in repeated}
    runs = {
        name: {
            query_id: [
                each
                for doc_id in ranking
                for each in ([doc_id, f"{doc_id} again"] if doc_id in repeated else [doc_id])
            ]
            for query_id, ranking in run.items()
        }
        for name, run in some_runs().items()
    }
    return {
        "planted": _copies(COPIED_QRELS, COPIED_RUNS, "nDCG@3", corpus=COPIED),
        "planted, similarity 0.8": _copies(
            COPIED_QRELS,
            COPIED_RUNS,
            "nDCG@3",
            corpus=COPIED,
            configs={"duplicates": {"similarity": 0.8}},
        ),
        "recipes, some repeated": _copies(recipe_qrels(), runs, "nDCG@10", corpus=corpus),
    }


def _copies(*given: Any, **options: Any) -> Any:
    answer = ask("duplicates", *given, **options)

    def counted(count: Any) -> list[int]:
        return [count.documents, count.groups, count.superfluous]

    return {
        "documents": answer.corpus,
        "without text": answer.without_text,
        "exact copies": counted(answer.exact),
        "all copies": counted(answer.all_copies),
        "systems": {
            row.system: {
                "places": row.places,
                "wasted": row.wasted,
                "queries": row.queries,
            }
            for row in answer.systems
        },
    }


QUERIES = {
    "q1": "How long do  LEEKS boil?",
    "q2": "a pinch of salt, then",
    "q3": "is this a whole document?",
    "q4": "leeks boil",
    "q5": "how to bake bread without any flour at home today",
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


@subject
def leaks() -> Any:
    """Planted training questions; recipes asked in words of their best document.

    Counts are planted; diagnosis/test_leaks.py checks means.
    """
    qrels = {query_id: {"a": 1} for query_id in QUERIES}
    run = {query_id: ["a", "b", "c"] for query_id in QUERIES}
    planted: Any = {"queries": QUERIES, "training": TRAINING}
    asked, trained = leaking()
    recipes: Any = {"queries": asked, "training": trained}
    return {
        "planted": _leaks(qrels, {"s": run}, "RR@2", **planted),
        "recipes": _leaks(recipe_qrels(), some_runs(), **recipes),
    }


def _leaks(*given: Any, **options: Any) -> Any:
    answer = ask("leaks", *given, **options)
    return {
        "questions": answer.queries,
        "kinds": {
            kind.kind: {
                "questions": kind.queries,
                "share": kind.share,
            }
            for kind in answer.kinds
        },
    }
