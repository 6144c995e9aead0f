"""What is not known: unjudged documents, and the order of equal scores; official runs."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import (
    HOSTILE_QRELS,
    HOSTILE_RUNS,
    ask,
    collection,
    ends,
    recipe_qrels,
    some_runs,
)
from frozen.paired_worlds import DATA
from frozen.subjects import subject

MEASURES = ["nDCG@10", "P@5", "RR@10", "AP@10", "R@20"]


@subject
def holes() -> Any:
    """Shares of unjudged documents by depth, means condensed and filled, what to judge first.

    Oracle: counts (`test_oracles_diagnosis`). Probabilities have none; the chance that a conclusion
    turns is drawn, and not frozen.
    """
    whole = recipe_qrels().to_dict()
    fewer = {
        query_id: {doc_id: grade for at, (doc_id, grade) in enumerate(judged.items()) if at % 3}
        for query_id, judged in whole.items()
    }
    configs: dict[str, Any] = {"holes": {"judge": 5}}
    graded: dict[str, Any] = {"holes": {"judge": 5, "hole_grade": 3}}
    return {
        "recipes": _holes(whole, some_runs(), MEASURES, configs=configs),
        "recipes, fewer judgments": _holes(fewer, some_runs(), MEASURES, configs=configs),
        "hostile": _holes(
            HOSTILE_QRELS, HOSTILE_RUNS, ["nDCG@10", "P@3", "RR", "Bpref"], configs=configs
        ),
        "hostile, grade 3": _holes(HOSTILE_QRELS, HOSTILE_RUNS, ["nDCG@10", "RR"], configs=graded),
    }


def _holes(*given: Any, **options: Any) -> Any:
    answer = ask("holes", *given, **options)
    return {
        "judgments": answer.judgments,
        "negative": answer.negative,
        "nonrelevant": answer.nonrelevant,
        "unjudged": {
            row.system: {
                "by depth": {
                    k: [row.documents[k], row.unjudged[k], row.share(k)] for k in row.documents
                },
            }
            for row in answer.systems
        },
        "means": {
            f"{row.measure} {row.system}": {
                "value": row.value,
                "condensed": row.condensed,
                "all relevant": row.relevant,
            }
            for row in answer.values
        },
        "differences": {
            f"{row.better} to {row.worse}": {
                "difference": row.difference,
                "unjudged": row.unjudged,
            }
            for row in answer.conclusions
        },
        "candidates": answer.candidates,
        "judge first": {
            f"{pair.query_id} {pair.doc_id}": [pair.change, pair.probability, pair.priority]
            for pair in answer.judge
        },
    }


PLANTED_QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 2, "b": 1, "c": 0}}
PLANTED_RUN = {
    "q1": {"a": 1.0, "b": 1.0, "c": 1.0},
    "q2": {"a": 3.0, "b": 2.0, "c": 1.0},
    "q3": {"c": 2.0, "a": 2.0, "b": 1.0, "d": 1.0},
}


@subject
def tie_effects() -> Any:
    """Lowest and highest mean over all orders of equal scores, and how many there are.

    Oracle: all orders of the hostile world (`test_oracles_diagnosis`).
    """
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
            measure: _ties(recipe_qrels(), rounded, [measure, "P@1", "R@20"])
            for measure in ("nDCG@10", "RR@10", "AP@20")
        },
        "hostile": {
            measure: _ties(HOSTILE_QRELS, HOSTILE_RUNS, [measure, "P@1", "P@3"])
            for measure in ("nDCG@3", "RR", "P@2")
        },
        "planted": {
            measure: _ties(PLANTED_QRELS, {"s": PLANTED_RUN}, [measure, "R@3"])
            for measure in measures
        },
    }


def _ties(*given: Any, **options: Any) -> Any:
    answer = ask("ties", *given, **options)
    return {
        "systems": {
            row.system: {
                "value": row.value,
                "bounds": [row.lowest, row.highest],
                "queries with a tie across rank": row.across,
                "documents": row.documents,
                "tied documents": row.tied,
                "all scores equal": row.constant,
            }
            for row in answer.systems
        },
        "order hangs on ties": {
            f"{row.better} to {row.worse}": [row.difference, row.reversed]
            for row in answer.reversals
        },
    }


OFFICIAL = ("THUIRr0301", "rutcor03100", "SABIR03BASE")


def official() -> tuple[Any, dict[str, Any]]:
    folder = collection("robust03")
    qrels = rs.read_qrels(folder / "qrels.txt.gz")
    return qrels, {name: rs.read_run(folder / f"{name}.run.gz") for name in OFFICIAL}


@subject
def robust03_diagnosis() -> Any:
    """Three official runs of the robust track of 2003, one with five different scores a topic."""
    qrels, runs = official()
    gaps = ask("gaps", qrels, runs)
    failures = ask("failures", qrels, runs)
    ties = ask("ties", qrels, runs, ["nDCG@10", "P@30"])
    judged = _holes(qrels, runs, ["nDCG@10", "P@10"], configs={"holes": {"judge": 5}})
    return {
        "gaps": {
            row.system: {
                "now": row.now,
                "reranked": row.reranked,
                "ideal": row.ideal,
                "ranking": [row.ranking.value, *ends(row.ranking)],
                "retrieval": [row.retrieval.value, *ends(row.retrieval)],
                "relevant documents": row.relevant,
                "not retrieved": row.missing,
            }
            for row in gaps.systems
        },
        "failures": {
            row.system: {cause: len(query_ids) for cause, query_ids in row.causes.items()}
            for row in failures.systems
        },
        "holes": judged,
        "ties": {
            row.system: {
                "value": row.value,
                "bounds": [row.lowest, row.highest],
                "across ranks": row.across,
                "tied documents": row.tied,
            }
            for row in ties.systems
        },
    }
