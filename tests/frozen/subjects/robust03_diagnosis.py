"""Gaps, failures, unjudged documents, ties and risks of official runs of the robust track of 2003.

Three of eight runs over 100 topics, one of them with five different scores a topic.

Shares of unjudged documents are checked in plain Python (`test_oracles_diagnosis`), means by
trec_eval in other tests; for the rest see `gaps`, `failures`, `holes`, `tie_effects`, `risks`.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import ask, collection, ends
from frozen.subjects.holes import holes

RUNS = ("THUIRr0301", "rutcor03100", "SABIR03BASE")


def given() -> tuple[Any, dict[str, Any]]:
    folder = collection("robust03")
    qrels = rs.read_qrels(folder / "qrels.txt.gz")
    return qrels, {name: rs.read_run(folder / f"{name}.run.gz") for name in RUNS}


def numbers() -> Any:
    qrels, runs = given()
    gaps = ask("gaps", qrels, runs)
    failures = ask("failures", qrels, runs)
    ties = ask("ties", qrels, runs, ["nDCG@10", "P@30"])
    risks = ask("risk", qrels, runs, ["nDCG@10", "AP"], baseline="SABIR03BASE")
    judged = ask("holes", qrels, runs, ["nDCG@10", "P@10"], configs={"holes": {"judge": 5}})
    return {
        "gaps": {
            row.system: {
                "now": row.now,
                "reranked": {each.depth: each.value for each in row.reranked},
                "ideal": row.ideal,
                "ranking": [row.ranking.gain, *ends(row.ranking.interval)],
                "retrieval": [row.retrieval.gain, *ends(row.retrieval.interval)],
                "relevant documents": row.relevant,
                "not retrieved": row.missing,
            }
            for row in gaps.systems
        },
        "failures": {
            row.system: {each.cause: each.queries for each in row.causes}
            for row in failures.systems
        },
        "holes": holes(judged),
        "ties": {
            row.system: {
                "value": row.value,
                "bounds": [row.lowest, row.highest],
                "across ranks": {each.cutoff: each.queries for each in row.cutoffs},
                "tied documents": row.tied_documents,
                "different scores": row.distinct_scores,
            }
            for row in ties.systems
        },
        "risks": {
            f"{row.measure} {row.system}": {
                "URisk": row.against and row.against.u_risk,
                "TRisk": row.against and row.against.t_risk,
                "GeoRisk": row.geo_risk,
            }
            for row in risks.systems
        },
    }
