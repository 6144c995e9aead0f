"""What systems return for questions without an answer, and what a threshold would do.

Planted best scores of 30 questions with and 20 without an answer, some empty and some missing:
shares with Wilson's intervals, the AUC of the best score with its interval, and the whole curve of
thresholds.

The AUC and the curve are checked by all pairs and all thresholds (`test_oracles_diagnosis`); the
interval of the AUC is checked in the tests of the statistics. Held-out accuracy is drawn, and not
frozen.
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, ends
from frozen.subjects.routing import share

ANSWERED, EMPTY = 30, 20


def high(n: int) -> float | None:
    """Return the best score of a question with an answer; None: it gets nothing."""
    return None if n % 11 == 10 else round(1 + (n * 7 % 13) / 5, 3)


def low(n: int) -> float | None:
    """Likewise of a question without an answer."""
    return None if n % 9 == 4 else round(0.4 + (n * 5 % 11) / 6, 3)


def golden() -> list[dict[str, Any]]:
    return [
        *({"query_id": f"a{n}", "relevant_ids": ["d"]} for n in range(ANSWERED)),
        *({"query_id": f"u{n}", "relevant_ids": [], "no_answer": True} for n in range(EMPTY)),
    ]


def run() -> dict[str, dict[str, float]]:
    scores = {f"a{n}": high(n) for n in range(ANSWERED)} | {f"u{n}": low(n) for n in range(EMPTY)}
    found = {
        query_id: {}
        if best is None
        else ({"d": best, "x": best - 1} if len(query_id) == 2 else {"x": best, "d": best - 0.5})
        for query_id, best in scores.items()
    }
    del found["u4"]  # nobody asked it
    return found


def numbers() -> Any:
    runs = {"scores": run(), "lists": {query_id: list(found) for query_id, found in run().items()}}
    answer = ask("no_answer", golden(), runs, "RR")
    return {
        "questions": {"without an answer": answer.unanswerable, "with": answer.answerable},
        "systems": {row.system: _system(row) for row in answer.systems},
    }


def _system(row: Any) -> Any:
    refusals = row.refusals
    return {
        "rightly nothing": share(row.rightly_nothing),
        "wrongly something": share(row.wrongly_something),
        "wrongly nothing": share(row.wrongly_nothing),
        "missing": row.missing,
        "AUC": refusals and [refusals.separation.auc, *ends(refusals.separation.interval)],
        "thresholds": refusals
        and [[p.threshold, p.rightly, p.wrongly, p.value] for p in refusals.curve],
        "balanced accuracy": refusals and refusals.balanced_accuracy,
    }
