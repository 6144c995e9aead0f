"""Copies in a corpus: how many, how many places they waste, and what is graded apart.

Planted exact and near copies (Jaccard of shingles of five words), also of a judged document; the
bundled recipes with every tenth repeated under another id and found right behind it.

Checked by comparing all pairs of shingle sets, and by counting (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, recipe_corpus, recipe_qrels, some_runs

WORDS = [f"word{number}" for number in range(100)]


def text_with(*changes: int) -> str:
    """Return a text of 100 words, some of them changed."""
    return " ".join(f"other{at}" if at in changes else word for at, word in enumerate(WORDS))


CORPUS = {
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
QRELS = {"q1": {"a": 2, "near": 0}, "q2": {"b": 1, "f1": 0}, "q3": {"f2": 1, "exact": 1}}
RUNS = {
    "wasteful": {
        "q1": ["near", "exact", "a", "f1"],
        "q2": ["b copy", "b", "f1"],
        "q3": ["f2", "a", "exact"],
    },
    "plain": {"q1": ["a", "f1"], "q2": ["f1", "b"], "q3": ["f3", "f2", "f4"]},
}


def numbers() -> Any:
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
        "planted": _copies(ask("duplicates", QRELS, RUNS, "nDCG@3", corpus=CORPUS)),
        "planted, similarity 0.8": _copies(
            ask(
                "duplicates",
                QRELS,
                RUNS,
                "nDCG@3",
                corpus=CORPUS,
                configs={"duplicates": {"similarity": 0.8}},
            )
        ),
        "recipes, some repeated": _copies(
            ask("duplicates", recipe_qrels(), runs, "nDCG@10", corpus=corpus)
        ),
    }


def _copies(answer: Any) -> Any:
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
                "wasted by exact copies": row.wasted_exact,
                "queries": row.queries,
                "value": row.value,
                "value with the grades of copies": row.shared_value,
            }
            for row in answer.systems
        },
        "graded apart": answer.contradicting,
        "unjudged copies": answer.unjudged,
        "similarity": {
            f"{row.query_id} {row.relevant} {row.copy_id}": row.similarity
            for row in answer.graded_apart[:5]
        },
    }
