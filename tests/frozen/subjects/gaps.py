"""What is lost by the order of what is retrieved, and what by not retrieving it.

Means now, with the first k documents in the best order, and ideal; the two parts of the loss with
Student's intervals; Success and recall by rank. Of three systems over the bundled recipes, and of a
hostile world: no relevant document, empty and missing answers, ties, negative grades.

Checked by hand for single queries and by a naive reranker for all (`test_oracles_diagnosis`), and
by the laws in the tests of the analysis.
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import HOSTILE_QRELS, HOSTILE_RUNS, ask, ends, recipe_qrels, some_runs


def numbers() -> Any:
    return {
        "recipes": {
            measure: _gaps(ask("gaps", recipe_qrels(), some_runs(), measure))
            for measure in ("nDCG@10", "RR@10", "AP", "nDCG@5")
        },
        "hostile": {
            measure: _gaps(ask("gaps", HOSTILE_QRELS, HOSTILE_RUNS, measure))
            for measure in ("nDCG@10", "RR", "AP(rel=2)")
        },
        "first 20 only": _gaps(
            ask("gaps", recipe_qrels(), some_runs(), configs={"gaps": {"depth": 20}})
        ),
    }


def _gaps(answer: Any) -> Any:
    return {
        "queries": answer.queries,
        "without a relevant document": answer.without_relevant,
        "depth": answer.depth,
        "ranks": answer.cutoffs,
        "systems": {
            row.system: {
                "now": row.now,
                "reranked": {each.depth: each.value for each in row.reranked},
                "ideal": row.ideal,
                "ranking": [row.ranking.gain, *ends(row.ranking.interval)],
                "retrieval": [row.retrieval.gain, *ends(row.retrieval.interval)],
                "ranking share": row.ranking.share,
                "success by rank": row.success,
                "recall by rank": row.recall,
                "RR": row.rr,
                "relevant, not first": row.not_first,
                "share not retrieved": row.not_retrieved,
                "relevant documents": row.relevant,
                "not retrieved": row.missing,
                "queries left out": row.left_out,
            }
            for row in answer.systems
        },
    }
