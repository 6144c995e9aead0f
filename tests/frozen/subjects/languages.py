"""Means by language: the bundled clinical phrases in five languages, and values planted by hand.

Two plain systems look for terms by the letters and by the words of English phrases. Means with
Student's intervals, mean over languages, variance and spread, the worst pair of languages with its
test (unpaired: these are different phrases); how many pairs differ.

Means are checked by grouping, the worst pair by scipy: the larger p-value of Welch's t and of a
random subset (Pearson's type III), and Fisher's exact test for hits (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, clinical_cases, ends

HITS = {"de": [1, 1, 1, 1, 1], "en": [0, 0, 0, 0, 0], "fr": [1, 0, 1, 0, 1]}


def numbers() -> Any:
    cases = clinical_cases()
    clinical = ask(
        "languages", cases.qrels, cases.runs, ["RR@10", "Success@5"], queries=cases.queries
    )
    ids = [f"{language}{n}" for language in HITS for n in range(5)]
    planted = ask(
        "languages",
        {query_id: {"d": 1} for query_id in ids},
        {"s": {query_id: _found(query_id) for query_id in ids}},
        "Success@5",
        queries={query_id: {"text": query_id, "language": query_id[:2]} for query_id in ids},
    )
    return {"clinical phrases": _languages(clinical), "planted": _languages(planted)}


def _found(query_id: str) -> list[str]:
    return ["d"] if HITS[query_id[:2]][int(query_id[2:])] else ["x"]


def _languages(answer: Any) -> Any:
    return {
        f"{row.measure} {row.system}": {
            "languages": {
                each.language: [each.n, each.mean, ends(each.interval)] for each in row.languages
            },
            "mean": row.mean,
            "variance": row.variance,
            "spread": row.spread,
            "worst pair": row.worst and [row.worst.difference, row.worst.p, row.worst.p_corrected],
            "pairs, differing": [row.pairs, row.differing],
        }
        for row in answer.systems
    }
