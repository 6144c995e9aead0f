"""Groups of queries by what their texts, judgments and documents say of them.

Complexity (constraints), question words, rarity (mean IDF), overlap with the best relevant
document, and relevant documents of the bundled recipes: how many queries each group has, in the
order of the trait, and the system's mean there. Five languages: question words and complexity of
the bundled clinical phrases.

Relevant documents are checked by counting (`test_oracles_diagnosis`); the rules of language, rarity
and overlap have no oracle but the examples in their docstrings and tests.
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import (
    ask,
    clinical_cases,
    recipe_corpus,
    recipe_qrels,
    recipe_queries,
    some_runs,
)

TRAITS = ["complexity", "question word", "rarity", "relevant documents", "overlap"]


def numbers() -> Any:
    recipes = ask(
        "segments",
        recipe_qrels(),
        some_runs("lexical"),
        queries=recipe_queries(),
        corpus=recipe_corpus(),
        configs={"segments": {"fields": TRAITS}},
    )
    cases = clinical_cases()
    clinical = ask(
        "segments",
        cases.qrels,
        {"letters": cases.runs["letters"]},
        "RR@10",
        queries=cases.queries,
        configs={"segments": {"fields": TRAITS[:3]}},
    )
    return {"recipes": _groups(recipes), "clinical phrases": _groups(clinical)}


def _groups(answer: Any) -> Any:
    return {
        segment.field: {
            "queries": [group.n for group in segment.groups],
            "means": [group.means[0].mean for group in segment.groups],
            "unknown": segment.unlabelled,
        }
        for segment in answer.segments
    }
