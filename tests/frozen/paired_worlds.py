"""Inputs of the statistics: the bundled runs, and small cases whose values are set by hand.

A case gives each system a value for each query, in hundredths; `judged` makes judgments and runs
whose P@100 are these values, so that everything can be asked through the front door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import rankscope as rs

DATA = Path(rs.__file__).parent / "data"
QRELS = DATA / "recipes" / "qrels" / "test.tsv"
RUNS = {name: DATA / "runs" / f"{name}.run.gz" for name in ("lexical", "hybrid")}
"""The bundled collection: 200 recipes, 120 judged questions, two runs."""

MEASURE = "P@100"
"""The measure of cases set by hand; it has any value in hundredths."""

Runs = dict[str, dict[str, dict[str, float]]]

A = [52, 13, 77, 40, 65, 8, 91, 30, 48, 22, 59, 71, 35, 84, 17, 66, 3, 95, 44, 28]
"""Twenty values without a pattern, in hundredths."""

CASES: dict[str, dict[str, list[int]]] = {
    "seven queries": {"base": A[:7], "system": [60, 11, 88, 52, 71, 9, 85]},
    "three queries": {"base": [20, 50, 70], "system": [35, 49, 90]},
    "one query": {"base": [40], "system": [65]},
    "identical": {"base": A[:10], "system": A[:10]},
    "equal differences": {"base": A[:8], "system": [value + 5 for value in A[:8]]},
    "nearly equal differences": {
        "base": A[:6],
        "system": [value + 5 for value in A[:5]] + [A[5] + 6],
    },
    "mostly ties": {"base": A, "system": [62, 13, 70, 40, 75, *A[5:19], 58]},
    "equal sizes": {
        "base": [50] * 12,
        "system": [60, 40, 60, 60, 40, 60, 60, 60, 40, 60, 60, 60],
    },
    "binary": {
        "base": [100, 0, 100, 0, 0, 100, 0, 0, 100, 0, 0, 0, 100, 0, 100, 0, 0, 0],
        "system": [100, 100, 0, 100, 0, 100, 100, 100, 100, 0, 100, 0, 100, 100, 100, 0, 100, 0],
    },
    "one outlier": {"base": A[:12], "system": [*[value + 1 for value in A[:11]], 0]},
    "sixty queries": {
        "base": [(37 * at) % 101 for at in range(60)],
        "system": [(37 * at + (11 * at) % 9) % 101 for at in range(60)],
    },
    "all zero": {"base": [0] * 9, "system": [0, 0, 0, 0, 7, 0, 0, 0, 0]},
}
"""What statistics stumble over: few queries, no spread, ties, two values, an outlier."""

LACKING: dict[str, list[int | None]] = {
    "base": [*CASES["seven queries"]["base"]],
    "system": [60, None, 88, 52, None, 9, 85],
}
"""Seven queries, of which one system lacks two."""

SEVERAL: dict[str, list[int]] = {
    "first": A,
    "second": [min(100, value + (7 if at % 3 else -4)) for at, value in enumerate(A)],
    "third": [min(100, value + at % 5) for at, value in enumerate(A)],
    "fourth": [max(0, value - 7 * at % 17 + 4) for at, value in enumerate(A)],
    "fifth": [A[at - 1] for at in range(len(A))],
}
"""Five systems on twenty queries."""


def judged(values: Mapping[str, Sequence[int | None]]) -> tuple[Any, Runs]:
    """Return judgments and runs whose P@100 are the values; None is a query that a run lacks."""
    documents = [f"d{at:03}" for at in range(100)]
    count = max(map(len, values.values()))
    grades = {**dict.fromkeys(documents, 1), "other": 0}
    qrels = {f"q{at:03}": grades for at in range(count)}
    runs: Runs = {}
    for system, row in values.items():
        runs[system] = {
            query_id: _ranking(documents[:value])
            for query_id, value in zip(qrels, row, strict=True)
            if value is not None
        }
    return qrels, runs


def _ranking(documents: Sequence[str]) -> dict[str, float]:
    """Return a list of these documents; one that is not relevant, if there are none."""
    return {name: float(1000 - at) for at, name in enumerate(documents or ["other"])}


def differences(case: str) -> list[float]:
    """Return the differences of a case, without asking the product."""
    base, system = CASES[case].values()
    return [(after - before) / 100 for before, after in zip(base, system, strict=True)]


@cache
def bundled() -> tuple[Any, Runs]:
    """Return the bundled judgments and runs; two of the four are made of the others."""
    lexical, hybrid = (_lists(rs.read_run(path)) for path in RUNS.values())
    return rs.read_qrels(QRELS), {
        "lexical": lexical,
        "hybrid": hybrid,
        "first three": {query_id: _first(run, 3) for query_id, run in lexical.items()},
        "every second": {
            query_id: run if at % 2 else lexical[query_id]
            for at, (query_id, run) in enumerate(sorted(hybrid.items()))
        },
    }


def _lists(run: Any) -> dict[str, dict[str, float]]:
    return {query_id: dict(run[query_id]) for query_id in run.query_ids}


def _first(ranking: Mapping[str, float], count: int) -> dict[str, float]:
    best = sorted(ranking.items(), key=lambda pair: (-pair[1], pair[0]))[:count]
    return dict(best)
