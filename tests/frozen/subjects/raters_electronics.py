"""The agreement of three raters of 3,188 pairs of a shop's queries and products.

Checked against krippendorff, statsmodels and scikit-learn, whose numbers are in the tests of the
analysis, and by formula (`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.diagnosed import ask, collection
from frozen.subjects.raters import agreement, systems


def numbers() -> Any:
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
        "disputed": [answer.disputed, answer.disputed_on_top],
    }
