"""How much of what is retrieved nobody judged, and what it could change.

Shares of unjudged documents by depth, means condensed and with all of them relevant or not, lowest
and highest means over all ways to judge them, differences of systems in the worst case, and what
to judge first. The bundled recipes as they are and with a third of the judgments taken away, and a
hostile world.

Shares and condensed means are checked in plain Python, bounds by trying all ways to judge the
hostile world (`test_oracles_diagnosis`), worst cases in the tests of the analysis. Probabilities of
what to judge first have no oracle; the chance that a conclusion turns is drawn, and not frozen.
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import HOSTILE_QRELS, HOSTILE_RUNS, ask, recipe_qrels, some_runs

MEASURES = ["nDCG@10", "P@5", "RR@10", "AP@10", "R@20"]


def numbers() -> Any:
    whole = recipe_qrels().to_dict()
    fewer = {
        query_id: {doc_id: grade for at, (doc_id, grade) in enumerate(judged.items()) if at % 3}
        for query_id, judged in whole.items()
    }
    configs: dict[str, Any] = {"holes": {"judge": 5}}
    graded: dict[str, Any] = {"holes": {"judge": 5, "hole_grade": 3}}
    return {
        "recipes": holes(ask("holes", whole, some_runs(), MEASURES, configs=configs)),
        "recipes, fewer judgments": holes(
            ask("holes", fewer, some_runs(), MEASURES, configs=configs)
        ),
        "hostile": holes(
            ask(
                "holes",
                HOSTILE_QRELS,
                HOSTILE_RUNS,
                ["nDCG@10", "P@3", "RR", "Bpref"],
                configs=configs,
            )
        ),
        "hostile, grade 3": holes(
            ask("holes", HOSTILE_QRELS, HOSTILE_RUNS, ["nDCG@10", "RR"], configs=graded)
        ),
    }


def holes(answer: Any) -> Any:
    return {
        "judgments": answer.judgments,
        "negative": answer.negative,
        "nonrelevant": answer.nonrelevant,
        "unjudged": {
            row.system: {
                "by depth": {
                    each.depth: [each.documents, each.unjudged, each.share] for each in row.shares
                },
                "queries answered": row.answered,
                "all unjudged": row.all_unjudged,
                "half unjudged": row.half_unjudged,
            }
            for row in answer.systems
        },
        "means": {
            f"{row.measure} {row.system}": {
                "value": row.value,
                "condensed": row.condensed,
                "all relevant": row.relevant,
                "none relevant": row.nonrelevant,
                "bounds": [row.lowest, row.highest],
            }
            for row in answer.values
        },
        "shares differ": {
            " and ".join(sorted((row.more, row.less))): [row.difference, row.p_corrected]
            for row in answer.uneven
        },
        "differences": {
            f"{row.better} to {row.worse}": {
                "difference": row.difference,
                "worst case": row.lowest,
                "unjudged": row.unjudged,
                "needed": row.needed,
            }
            for row in answer.conclusions
        },
        "candidates": answer.candidates,
        "judge first": {
            f"{pair.query_id} {pair.doc_id}": [pair.change, pair.probability, pair.priority]
            for pair in answer.judge
        },
    }
