"""How far raters agree: Cohen's kappa, Krippendorff's alpha, each rater and each pair.

Oracle: published examples, other tools and naive twins (statistics/test_rater_agreement.py). What
is bootstrapped or permuted is not frozen.
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import ask, collection
from frozen.subjects import subject

QUERIES, DOCUMENTS = 8, 5


def grade(query: int, document: int) -> int:
    """Return what the pair deserves, 0 to 3."""
    return (query * 7 + document * 3 + query * document) % 4


def rated() -> dict[str, dict[str, dict[str, int]]]:
    """Return grades by rater, query and document."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    for query in range(QUERIES):
        for document in range(DOCUMENTS):
            right = grade(query, document)
            number = query * DOCUMENTS + document
            given = {
                "ann": right,
                "bob": min(3, right + (number % 6 == 0)),
                "cyd": 3 - right if number % 4 else right,
                "dan": (number * 5 + 1) % 4 if number % 3 == 0 else right,
            }
            if number % 3:
                given["eve"] = max(0, right - (number % 5 == 0))
            for rater, value in given.items():
                table.setdefault(rater, {}).setdefault(f"q{query}", {})[f"d{document}"] = value
    return table


def qrels() -> dict[str, dict[str, int]]:
    return {f"q{q}": {f"d{d}": grade(q, d) for d in range(DOCUMENTS)} for q in range(QUERIES)}


def runs() -> dict[str, dict[str, list[str]]]:
    documents = [f"d{d}" for d in range(DOCUMENTS)]
    return {
        "forward": dict.fromkeys(qrels(), documents),
        "backward": dict.fromkeys(qrels(), documents[::-1]),
        "good": {
            query: sorted(documents, key=lambda d, judged=judged: (-judged[d] + (d == "d2"), d))  # type: ignore[misc]
            for query, judged in qrels().items()
        },
    }


TWICE = [
    {"query_id": f"q{n % 4}", "doc_id": f"d{n % 6}", "rater": "one", "grade": g, "repeat": repeat}
    for n in range(12)
    for repeat, g in ((1, n % 3), (2, (n + (n % 4 == 0)) % 3))
]


@subject
def raters() -> Any:
    """Five raters of 40 pairs, one careless, one with an inverted scale; and the smallest cases."""
    five = rated()
    small = {
        "two raters": {"ann": five["ann"], "bob": five["bob"]},
        "one grade": {
            name: {"q0": {"d0": 1, "d1": 1}, "q1": {"d0": 1}} for name in ("ann", "bob", "cyd")
        },
        "one item each": {"ann": {"q0": {"d0": 1}}, "bob": {"q0": {"d0": 2}, "q1": {"d0": 1}}},
    }
    whole = ask("judges", qrels(), runs(), "nDCG@3", ratings=five)
    return {
        "five raters": agreement(whole),
        "against the judgments": {
            rater: _comparison(row)
            for row in whole.comparisons
            for rater in [f"{row.judge} to {row.reference}"]
        },
        "systems": systems(whole.orders),
        "judge again": whole.disputed,
        "smallest": {
            name: agreement(ask("judges", qrels(), runs(), "nDCG@3", ratings=given))
            for name, given in small.items()
        },
        "twice": {
            row.rater: {
                "items": row.items,
                "equal": row.equal,
                "alpha": row.alpha.value,
            }
            for row in ask("judges", qrels(), runs(), "nDCG@3", ratings=TWICE).repeats
        },
    }


def agreement(answer: Any) -> Any:
    return {
        "items": answer.items,
        "ratings": answer.ratings,
        "Krippendorff's alpha": {
            "nominal": answer.agreement.nominal.value,
            "ordinal": answer.agreement.ordinal.value,
            "interval": answer.agreement.interval.value,
        },
        "raters": {
            row.rater: {
                "ratings": row.ratings,
                "mean": row.mean,
                "bias": row.bias,
            }
            for row in answer.raters
        },
    }


def _comparison(row: Any) -> Any:
    return {
        "items": row.items,
        "confusion": row.confusion,
        "accuracy": row.accuracy,
        "within one": row.within_one,
        "Cohen's kappa": row.kappa.value,
        "quadratic": row.quadratic.value,
        "always the same grade": row.constant_accuracy,
    }


def systems(orders: Any) -> Any:
    """Return means by the judgments and by each rater; and Kendall's tau."""
    return {
        "judgments": orders.means,
        "raters": {row.rater: {"means": row.means, "tau": row.tau} for row in orders.raters},
    }


@subject
def raters_electronics() -> Any:
    """Three raters of 3,188 pairs of a shop's queries and products."""
    folder = collection("electronics")
    qrels = rs.read_qrels(folder / "qrels" / "test.tsv")
    judged = qrels.to_dict()
    runs = {
        "by id": {query_id: sorted(grades) for query_id, grades in judged.items()},
        "by id, last first": {q: sorted(grades)[::-1] for q, grades in judged.items()},
        "relevant first": {
            query_id: sorted(grades, key=lambda d, g=grades: (g[d] < 2, d))  # type: ignore[misc]
            for query_id, grades in judged.items()
        },
    }
    answer = ask("judges", qrels, runs, ratings=folder / "ratings.tsv")
    return {
        "agreement": agreement(answer),
        "against the final grade": {
            row.judge: {
                "accuracy": row.accuracy,
                "Cohen's kappa": row.kappa.value,
                "quadratic": row.quadratic.value,
                "confusion": row.confusion,
            }
            for row in answer.comparisons
        },
        "systems": systems(answer.orders),
        "disputed": answer.disputed,
    }
