"""Means beside those of chance, of plain search, and of the best ranking there is.

Random rankings of the 200 bundled recipes by formula (mean, and standard deviation of the mean),
BM25 over titles and over all text, the ideal ranking, and how far systems are above them; random
rankings of one target among 200, with and without a cutoff; a hostile world.

Random means are checked by the hypergeometric distribution, ideal ones by sorting
(`test_oracles_diagnosis`). Means of measures for which rankings are drawn are not frozen. BM25 has
no oracle here: the tests of lexical search have.
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

MEASURES = ["nDCG@10", "RR@10", "R@50", "Success@5", "P@5", "AP@100"]
TARGETS = {f"q{n}": {f"d{n}": 1} for n in range(20)}
_NAMES = {"random": "random", "title-only": "titles", "full text": "all text"}
FOUND = {query: [*(f"x{at}" for at in range(n % 7)), f"d{n}"] for n, query in enumerate(TARGETS)}


def numbers() -> Any:
    recipes = ask(
        "baselines",
        recipe_qrels(),
        some_runs("hybrid", "reranked"),
        MEASURES,
        queries=recipe_queries(),
        corpus=recipe_corpus(),
    )
    measures = ["Success@1", "Success@5", "RR", "RR@5", "R@10", "nDCG@10", "AP"]
    one = ask("baselines", TARGETS, {"s": FOUND}, measures, configs=_of(200))
    hostile = ask("baselines", HOSTILE_QRELS, HOSTILE_RUNS, MEASURES, configs=_of(60))
    return {
        "recipes": _baselines(recipes),
        "recipes, against": {
            f"{row.measure} {_NAMES.get(row.system, row.system)} to {_NAMES[row.against]}": [
                row.mean,
                row.base_mean,
                row.difference,
                row.relative,
            ]
            for row in recipes.improvements
        },
        "one target of 200": _baselines(one),
        "hostile": _baselines(hostile),
    }


def _of(documents: int) -> dict[str, Any]:
    return {"baselines": {"documents": documents}}


def _baselines(answer: Any) -> Any:
    return {
        row.measure: {
            "random": None if row.random is None or row.random.draws else row.random.mean,
            "deviation of random": None
            if row.random is None or row.random.draws
            else row.random.deviation,
            "titles": row.title_only,
            "all text": row.full_text,
            "ideal": row.ideal,
            "systems": row.systems,
        }
        for row in answer.means
    }
